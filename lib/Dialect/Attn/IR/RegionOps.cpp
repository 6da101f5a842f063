//===- RegionOps.cpp - what may stand in an attn region -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/RegionOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace pagefold::attn;

ArrayRef<StringLiteral> pagefold::attn::getScalarRegionOps() {
  static constexpr StringLiteral names[] = {
      "arith.addf",     "arith.addi",     "arith.andi",    "arith.cmpf",   "arith.cmpi",
      "arith.constant", "arith.divf",     "arith.divsi",   "arith.extf",   "arith.extui",
      "arith.fptosi",   "arith.maximumf", "arith.maxnumf", "arith.maxsi",  "arith.minimumf",
      "arith.minnumf",  "arith.minsi",    "arith.mulf",    "arith.muli",   "arith.negf",
      "arith.ori",      "arith.remsi",    "arith.select",  "arith.shli",   "arith.shrsi",
      "arith.sitofp",   "arith.subf",     "arith.subi",    "arith.truncf", "arith.xori",
      "math.absf",      "math.ceil",      "math.cos",      "math.erf",     "math.exp",
      "math.exp2",      "math.floor",     "math.fma",      "math.log",     "math.log2",
      "math.rsqrt",     "math.sin",       "math.sqrt",     "math.tanh",
  };
  return names;
}

bool pagefold::attn::isRegionScalar(Type type) {
  return type.isInteger(1) || type.isInteger(32) ||
         isa<Float32Type, Float16Type, BFloat16Type>(type);
}

bool pagefold::attn::isScalarRegionOp(Operation *op) {
  return llvm::binary_search(getScalarRegionOps(), op->getName().getStringRef()) &&
         llvm::all_of(op->getOperandTypes(), isRegionScalar) &&
         llvm::all_of(op->getResultTypes(), isRegionScalar);
}

bool pagefold::attn::isLookupMap(AffineMap map) {
  return llvm::all_of(map.getResults(), [](AffineExpr expr) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    return isa<AffineDimExpr>(expr) || (constant && constant.getValue() >= 0);
  });
}

/// All loops parallel, and the result written where the loop stands.
static bool isElementwiseOverTokens(linalg::GenericOp generic) {
  return generic.getNumLoops() == 3 && generic.getNumParallelLoops() == 3 &&
         generic.getNumDpsInits() == 1 && generic.getNumResults() == 1 &&
         generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)).isIdentity() &&
         llvm::all_of(generic.getIndexingMapsArray(), isLookupMap);
}

bool pagefold::attn::isRowWiseOp(Operation *op) {
  if (isa<RowWiseOpInterface>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isElementwiseOverTokens(generic))
    return false;
  return llvm::all_of(generic.getBody()->without_terminator(),
                      [](Operation &inner) { return isScalarRegionOp(&inner); });
}
