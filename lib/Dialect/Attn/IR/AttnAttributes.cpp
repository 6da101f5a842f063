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

MaskAttr MaskAttr::getNone(MLIRContext *context) {
  return get(context, {IntegerSet::get(2, 2, {getAffineDimExpr(1, context)}, {false})}, {}, {});
}

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  StringRef spelling;
  if (parser.parseLess() || parser.parseKeyword(&spelling) || parser.parseGreater())
    return {};
  AffineExpr q = getAffineDimExpr(0, context), k = getAffineDimExpr(1, context);
  AffineExpr qLen = getAffineSymbolExpr(0, context), kvLen = getAffineSymbolExpr(1, context);
  IntegerSet set = spelling == "causal" ? IntegerSet::get(2, 2, {q + kvLen - qLen - k}, {false})
                                        : IntegerSet::get(2, 2, {k}, {false});
  return MaskAttr::get(context, {set}, {}, {});
}

void MaskAttr::print(AsmPrinter &printer) const {
  AffineExpr first = getSets().front().getConstraint(0);
  printer << (isa<AffineDimExpr>(first) ? "<none>" : "<causal>");
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
