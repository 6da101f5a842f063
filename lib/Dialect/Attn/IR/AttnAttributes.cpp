//===- AttnAttributes.cpp - attributes of the attn dialect --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::attn;

#define GET_ATTRDEF_CLASSES
#include "pagefold/Dialect/Attn/IR/AttnAttributes.cpp.inc"

void AttnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pagefold/Dialect/Attn/IR/AttnAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// #attn.mask
//===----------------------------------------------------------------------===//

static SmallVector<std::string> toStrings(ArrayRef<StringAttr> names) {
  return llvm::map_to_vector(names, [](StringAttr name) { return name.str(); });
}

static SmallVector<StringAttr> toAttributes(MLIRContext *context, ArrayRef<std::string> names) {
  return llvm::map_to_vector(names, [&](StringRef name) { return StringAttr::get(context, name); });
}

MaskAttr MaskAttr::get(MLIRContext *context, const MaskSets &mask) {
  return get(context, mask.sets, toAttributes(context, mask.symbols), mask.lowerBounds,
             toAttributes(context, mask.rowVars));
}

MaskAttr MaskAttr::getNone(MLIRContext *context) { return get(context, noMask(context)); }

static MaskSets toMaskSets(ArrayRef<IntegerSet> sets, ArrayRef<StringAttr> symbols,
                           ArrayRef<int64_t> lowerBounds, ArrayRef<StringAttr> rowValues) {
  MaskSets mask;
  mask.sets.assign(sets.begin(), sets.end());
  mask.symbols = toStrings(symbols);
  mask.lowerBounds.assign(lowerBounds.begin(), lowerBounds.end());
  mask.rowVars = toStrings(rowValues);
  return mask;
}

MaskSets MaskAttr::getMaskSets() const {
  return toMaskSets(getSets(), getSymbols(), getLowerBounds(), getRowValues());
}

LogicalResult MaskAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<IntegerSet> sets, ArrayRef<StringAttr> symbols,
                               ArrayRef<int64_t> lowerBounds, ArrayRef<StringAttr> rowValues) {
  return verifyMaskSets(emitError, toMaskSets(sets, symbols, lowerBounds, rowValues));
}

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  FailureOr<MaskSets> mask = parseMaskSets(parser);
  return succeeded(mask) ? get(parser.getContext(), *mask) : MaskAttr();
}

void MaskAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(maskText(getMaskSets()));
  printer << '>';
}

void MaskAttr::printBare(AsmPrinter &printer) const {
  printer << '<' << maskText(getMaskSets()) << '>';
}

//===----------------------------------------------------------------------===//
// #attn.bounds
//===----------------------------------------------------------------------===//

LogicalResult BoundsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t batch,
                                 int64_t qLen, int64_t kvLen, int64_t tokens) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  for (auto [name, bound] :
       {std::pair{"batch", batch}, std::pair{"q_len", qLen}, std::pair{"kv_len", kvLen},
        // 0 stands for "left out".
        std::pair{"tokens", tokens ? tokens : 1}})
    if (bound < 1 || bound > kMax)
      return emitError() << "expects " << name << " from 1 to " << kMax << ", got " << bound;
  if (tokens > batch * qLen)
    return emitError() << "expects tokens of at most batch x q_len = " << batch * qLen << ", got "
                       << tokens;
  return success();
}
