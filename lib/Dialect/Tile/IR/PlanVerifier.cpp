//===- PlanVerifier.cpp - constraints of the launch plan in the IR --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check a constraint; the numbers are those of TileOps.td.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace pagefold::tile;

static bool isCount(Attribute value) {
  auto integer = dyn_cast_or_null<IntegerAttr>(value);
  return integer && !integer.getValue().isNegative();
}

static bool isOneOf(Attribute value, ArrayRef<StringRef> words) {
  auto text = dyn_cast_or_null<StringAttr>(value);
  return text && llvm::is_contained(words, text.getValue());
}

static bool isText(DictionaryAttr entry, StringRef key) {
  return isa_and_nonnull<StringAttr>(entry.get(key));
}

static bool isArgument(Attribute value) {
  auto entry = dyn_cast<DictionaryAttr>(value);
  auto shape = entry ? entry.getAs<ArrayAttr>("shape") : ArrayAttr();
  return shape && isText(entry, "name") && isText(entry, "dtype") &&
         isOneOf(entry.get("access"), {"read", "write", "readwrite"}) &&
         llvm::all_of(shape, llvm::IsaPred<IntegerAttr, StringAttr, UnitAttr>);
}

static bool isKernel(Attribute value) {
  auto entry = dyn_cast<DictionaryAttr>(value);
  return entry && isText(entry, "symbol") && isOneOf(entry.get("workers"), {"one", "all"});
}

/// Every element of the array `key` passes.
static LogicalResult verifyEntries(PlanOp op, StringRef constraint, StringRef key,
                                   StringRef expected, llvm::function_ref<bool(Attribute)> passes) {
  auto entries = op.getPlan().getAs<ArrayAttr>(key);
  if (!entries)
    return op.emitOpError(constraint) << ": expects an array " << key;
  for (Attribute entry : entries)
    if (!passes(entry))
      return op.emitOpError(constraint)
             << ": expects each of " << key << " to have " << expected << ", got " << entry;
  return success();
}

LogicalResult PlanOp::verify() {
  DictionaryAttr plan = getPlan();
  for (StringRef key : {"workspace", "workspace_head", "scratch", "error_word"})
    if (!isCount(plan.get(key)))
      return emitOpError("C1: expects an integer of at least 0 as ") << key;
  if (plan.contains("counters") && !isCount(plan.get("counters")))
    return emitOpError("C1: expects an integer of at least 0 as counters");
  auto bounds = plan.getAs<DictionaryAttr>("bounds");
  if (!bounds || !llvm::all_of(bounds, [](NamedAttribute b) { return isCount(b.getValue()); }))
    return emitOpError("C2: expects bounds to map names to integers");
  if (failed(
          verifyEntries(*this, "C3", "args", "a name, a dtype, a shape and an access", isArgument)))
    return failure();
  return verifyEntries(*this, "C4", "kernels", "a symbol and workers, one or all", isKernel);
}
