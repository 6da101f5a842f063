//===- DeclaredBounds.cpp - the maxima that a graph declares --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"

using namespace mlir;
using namespace pagefold::attn;

SmallVector<BoundsAttr> pagefold::attn::declaredBounds(Operation *function) {
  Attribute declared = function->getAttr(kBoundsName);
  if (auto single = dyn_cast_or_null<BoundsAttr>(declared))
    return {single};
  auto list = dyn_cast_or_null<ArrayAttr>(declared);
  return list ? llvm::to_vector(list.getAsRange<BoundsAttr>()) : SmallVector<BoundsAttr>();
}

bool pagefold::attn::holds(BoundsAttr outer, BoundsAttr inner) {
  return inner.getBatch() <= outer.getBatch() && inner.getQLen() <= outer.getQLen() &&
         inner.getKvLen() <= outer.getKvLen() && inner.maxTokens() <= outer.maxTokens();
}

LogicalResult pagefold::attn::verifyBoundsList(function_ref<InFlightDiagnostic()> emitError,
                                               ArrayRef<BoundsAttr> list) {
  if (list.empty())
    return emitError() << "expects at least one #attn.bounds in the list of '" << kBoundsName
                       << "', got none";
  for (size_t i = 0; i < list.size(); ++i)
    for (BoundsAttr before : list.take_front(i))
      if (holds(before, list[i]))
        return emitError()
               << "expects each entry of '" << kBoundsName
               << "' to hold calls that those before it do not, as the first that fits is "
                  "taken; "
               << list[i] << " comes after " << before;
  return success();
}
