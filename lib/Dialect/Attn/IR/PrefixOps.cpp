//===- PrefixOps.cpp - shared prefixes in the attn dialect ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/PrefixOps.h"

using namespace mlir;
using namespace pagefold::attn;

#define GET_OP_CLASSES
#include "pagefold/Dialect/Attn/IR/PrefixOps.cpp.inc"

static bool hasElements(Value vector, int64_t count) {
  return cast<RankedTensorType>(vector.getType()).getDimSize(0) == count;
}

LogicalResult SharedPrefixOp::verify() {
  if (!hasElements(getLength(), 1))
    return emitOpError("expects a length of one element, got ") << getLength().getType();
  if (std::optional<int64_t> expected = getExpected(); expected && *expected < 1)
    return emitOpError("expects an expected length of at least 1, got ") << *expected;
  return success();
}

LogicalResult CutPrefixOp::verify() {
  if (!hasElements(getLength(), 1))
    return emitOpError("expects a length of one element, got ") << getLength().getType();
  if (!hasElements(getAll(), 2))
    return emitOpError("expects two row offsets of all rows, got ") << getAll().getType();
  return success();
}

SharedPrefixOp pagefold::attn::getSharedPrefix(Value cache) {
  while (auto append = cache.getDefiningOp<AppendOp>())
    cache = append.getCache();
  return cache.getDefiningOp<SharedPrefixOp>();
}

SmallVector<Value> pagefold::attn::getAliases(Value cache) {
  while (auto same = cache.getDefiningOp<SharedPrefixOp>())
    cache = same.getCache();
  SmallVector<Value> aliases{cache};
  for (size_t i = 0; i < aliases.size(); ++i)
    for (Operation *user : aliases[i].getUsers())
      if (isa<SharedPrefixOp, CutPrefixOp>(user))
        for (Value result : user->getResults())
          if (isa<PagedKVType>(result.getType()))
            aliases.push_back(result);
  return aliases;
}
