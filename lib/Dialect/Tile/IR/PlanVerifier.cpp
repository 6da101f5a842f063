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
#include "llvm/ADT/StringSwitch.h"

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
         (!entry.contains("align") || isCount(entry.get("align"))) &&
         llvm::all_of(shape, llvm::IsaPred<IntegerAttr, StringAttr, UnitAttr>);
}

/// Every key holds an integer.
static bool haveIntegers(DictionaryAttr entry, ArrayRef<StringRef> keys) {
  return llvm::all_of(keys,
                      [&](StringRef key) { return isa_and_nonnull<IntegerAttr>(entry.get(key)); });
}

static bool isOnGpu(Attribute kernel) {
  auto entry = dyn_cast<DictionaryAttr>(kernel);
  return entry && entry.contains("threads");
}

static bool isKernel(Attribute value) {
  auto entry = dyn_cast<DictionaryAttr>(value);
  if (!entry || !isText(entry, "symbol"))
    return false;
  if (!isOnGpu(entry))
    return isOneOf(entry.get("workers"), {"one", "all"});
  StringRef grid = entry.contains("ctas") ? "ctas" : "ctas_per_sm";
  return entry.getAs<ArrayAttr>("params") && haveIntegers(entry, {"threads", "shared", grid});
}

/// The integers that a kind of parameter has; none for a kind that there is not.
static std::optional<ArrayRef<StringRef>> keysOfKind(StringRef kind) {
  static constexpr StringRef arg[] = {"arg"}, dim[] = {"arg", "dim"}, offset[] = {"offset"},
                             bits[] = {"bits"}, pageMap[] = {"arg", "panels", "box_rows"},
                             pageStep[] = {"arg", "panels"};
  return llvm::StringSwitch<std::optional<ArrayRef<StringRef>>>(kind)
      .Cases({"map", "pointer", "scalar"}, ArrayRef<StringRef>(arg))
      .Cases({"extent", "stride"}, ArrayRef<StringRef>(dim))
      .Case("workspace", ArrayRef<StringRef>(offset))
      .Case("constant", ArrayRef<StringRef>(bits))
      .Case("page_map", ArrayRef<StringRef>(pageMap))
      .Case("page_step", ArrayRef<StringRef>(pageStep))
      .Cases({"error_word", "frame"}, ArrayRef<StringRef>())
      .Default(std::nullopt);
}

/// What a tensor map has besides.
static bool isMap(DictionaryAttr entry) {
  auto box = entry.getAs<ArrayAttr>("box"), dims = entry.getAs<ArrayAttr>("dims");
  return box && dims && isText(entry, "element") && llvm::all_of(box, llvm::IsaPred<IntegerAttr>) &&
         llvm::all_of(dims, [](Attribute dim) {
           auto numbers = dyn_cast<DictionaryAttr>(dim);
           return numbers && llvm::all_of(numbers, [](NamedAttribute number) {
                    return isa<IntegerAttr>(number.getValue());
                  });
         });
}

static bool isParameter(Attribute value) {
  auto entry = dyn_cast<DictionaryAttr>(value);
  if (!entry || !isText(entry, "kind"))
    return false;
  StringRef kind = entry.getAs<StringAttr>("kind").getValue();
  std::optional<ArrayRef<StringRef>> keys = keysOfKind(kind);
  if (!keys || !haveIntegers(entry, *keys))
    return false;
  if (kind == "map")
    return isMap(entry);
  if (kind == "page_map")
    return isText(entry, "element");
  return kind != "page_step" || isOneOf(entry.get("of"), {"head_panel", "page", "head_page"});
}

static bool isFill(Attribute value) {
  auto entry = dyn_cast<DictionaryAttr>(value);
  return entry && isCount(entry.get("offset")) && isCount(entry.get("size")) &&
         isCount(entry.get("byte"));
}

/// Every element of the array `key` of `entries` passes.
static LogicalResult verifyEntries(PlanOp op, DictionaryAttr plan, StringRef constraint,
                                   StringRef key, StringRef expected,
                                   llvm::function_ref<bool(Attribute)> passes) {
  auto entries = plan.getAs<ArrayAttr>(key);
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
  auto kernels = plan.getAs<ArrayAttr>("kernels");
  SmallVector<StringRef> counts{"workspace", "workspace_head"};
  if (!kernels || !llvm::any_of(kernels, isOnGpu))
    counts.append({"scratch", "error_word"});
  if (plan.contains("counters"))
    counts.push_back("counters");
  for (StringRef key : counts)
    if (!isCount(plan.get(key)))
      return emitOpError("C1: expects an integer of at least 0 as ") << key;
  auto bounds = plan.getAs<DictionaryAttr>("bounds");
  if (!bounds || !llvm::all_of(bounds, [](NamedAttribute b) { return isCount(b.getValue()); }))
    return emitOpError("C2: expects bounds to map names to integers");
  if (Attribute graph = plan.get("graph"); graph && !isa<StringAttr>(graph))
    return emitOpError("C2: expects graph to be the name of a graph");
  if (failed(verifyEntries(*this, plan, "C3", "args", "a name, a dtype, a shape and an access",
                           isArgument)) ||
      failed(verifyEntries(*this, plan, "C4", "kernels",
                           "a symbol and workers, one or all, or threads, shared, params and ctas "
                           "or ctas_per_sm",
                           isKernel)))
    return failure();
  if (!kernels.empty() && cast<DictionaryAttr>(kernels[0]).contains("early"))
    return emitOpError("C4: expects the first of kernels to start after all that was before the "
                       "launch, got one that is early");
  for (Attribute kernel : kernels)
    if (isOnGpu(kernel) && failed(verifyEntries(*this, cast<DictionaryAttr>(kernel), "C5", "params",
                                                "a kind and its keys", isParameter)))
      return failure();
  if (!plan.contains("init"))
    return success();
  return verifyEntries(*this, plan, "C6", "init", "an offset, a size and a byte", isFill);
}
