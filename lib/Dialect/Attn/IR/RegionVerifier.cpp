//===- RegionVerifier.cpp - verifies regions of attn ops and what stands in them ===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"
#include "pagefold/Dialect/Attn/IR/RegionOps.h"

using namespace mlir;
using namespace pagefold::attn;

//===----------------------------------------------------------------------===//
// What both kinds of region share
//===----------------------------------------------------------------------===//

static LogicalResult verifyArguments(Operation *op, StringRef clause, Region &region,
                                     TypeRange fixedTypes, ValueRange captures) {
  SmallVector<Type> expected(fixedTypes);
  llvm::append_range(expected, captures.getTypes());
  TypeRange got = region.getArgumentTypes();
  if (got.size() != expected.size())
    return op->emitOpError() << "expects the " << clause << " region to take " << expected.size()
                             << " arguments (" << fixedTypes.size() << " and " << captures.size()
                             << " captures), got " << got.size();
  for (auto [i, want, have] : llvm::enumerate(expected, got))
    if (want != have)
      return op->emitOpError() << "expects argument " << i << " of the " << clause
                               << " region to be " << want << ", got " << have;
  return success();
}

static FailureOr<YieldOp> getYield(Operation *op, StringRef clause, Region &region) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield)
    return op->emitOpError() << "expects the " << clause << " region to end in attn.yield, got '"
                             << region.front().getTerminator()->getName() << "'";
  return yield;
}

//===----------------------------------------------------------------------===//
// Prologues
//===----------------------------------------------------------------------===//

/// A generic reads the rows it maps at the place it writes; only captures may be read elsewhere.
static LogicalResult verifyReadsOwnRows(linalg::GenericOp generic, StringRef clause) {
  for (OpOperand *input : generic.getDpsInputOperands()) {
    auto argument = dyn_cast<BlockArgument>(input->get());
    bool isCapture = argument && argument.getArgNumber() > 0;
    AffineMap map = generic.getMatchingIndexingMap(input);
    if (!isCapture && isa<RankedTensorType>(input->get().getType()) && !map.isIdentity())
      return generic.emitOpError()
             << "expects to read the rows of the " << clause
             << " prologue at (token, head, d), got " << AffineMapAttr::get(map);
  }
  return success();
}

LogicalResult pagefold::attn::verifyPrologue(Operation *op, StringRef clause, Region &region,
                                             RankedTensorType rowType, ValueRange captures) {
  if (region.empty())
    return success();
  if (failed(verifyArguments(op, clause, region, rowType, captures)))
    return failure();
  for (Operation &inner : region.front().without_terminator()) {
    if (isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(inner))
      continue;
    if (!isRowWiseOp(&inner))
      return inner.emitOpError()
             << "expects row-wise ops in the " << clause
             << " prologue (attn.rope, attn.rms_norm, elementwise linalg.generic)";
    if (auto generic = dyn_cast<linalg::GenericOp>(inner);
        generic && failed(verifyReadsOwnRows(generic, clause)))
      return failure();
  }
  FailureOr<YieldOp> yield = getYield(op, clause, region);
  if (failed(yield))
    return failure();
  auto yielded = dyn_cast<RankedTensorType>(yield->getValue().getType());
  if (!yielded || yielded.getShape() != rowType.getShape())
    return yield->emitOpError() << "expects the " << clause
                                << " prologue to yield a tensor of the shape of " << rowType
                                << ", got " << yield->getValue().getType();
  return success();
}

Type pagefold::attn::getPrologueElementType(Region &region, RankedTensorType rowType) {
  if (region.empty())
    return rowType.getElementType();
  auto yield = cast<YieldOp>(region.front().getTerminator());
  return cast<RankedTensorType>(yield.getValue().getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Score and epilogue
//===----------------------------------------------------------------------===//

LogicalResult pagefold::attn::verifyScalarRegion(Operation *op, StringRef clause, Region &region,
                                                 TypeRange fixedTypes, ValueRange captures) {
  if (region.empty())
    return success();
  if (failed(verifyArguments(op, clause, region, fixedTypes, captures)))
    return failure();
  for (Type type : captures.getTypes())
    if (isa<PagedKVType>(type))
      return op->emitOpError() << "expects the " << clause
                               << " region to capture f32, i32 and tensors, got " << type;
  for (Operation &inner : region.front().without_terminator())
    if (!isa<LookupOp, PositionOp, TokenOp>(inner) && !isScalarRegionOp(&inner))
      return inner.emitOpError()
             << "expects an op of the white list over scalars (f32, i32, i1, and f16 "
                "and bf16 between conversions) in the "
             << clause << " region; docs/howto/add-an-epilogue-op.md lists them";
  FailureOr<YieldOp> yield = getYield(op, clause, region);
  if (failed(yield))
    return failure();
  if (!yield->getValue().getType().isF32())
    return yield->emitOpError() << "expects the " << clause << " region to yield f32, got "
                                << yield->getValue().getType();
  return success();
}

/// The argument of a score or epilogue region that `value` is, if the op stands in one.
static BlockArgument getScalarRegionArgument(Operation *op, Value value) {
  auto attention = dyn_cast_or_null<AttentionOp>(op->getParentOp());
  Region *region = op->getParentRegion();
  if (!attention || region == &attention.getQueryPrologue())
    return {};
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getParentRegion() == region ? argument : BlockArgument();
}

/// Both kinds of region have the row's index as their second argument.
static LogicalResult verifyRowIndex(Operation *op, Value row) {
  BlockArgument argument = getScalarRegionArgument(op, row);
  if (!argument || argument.getArgNumber() != 1)
    return op->emitOpError(
        "expects to stand in a score or epilogue region with that region's row index "
        "(its second argument) as operand");
  return success();
}

LogicalResult PositionOp::verify() { return verifyRowIndex(*this, getRow()); }

LogicalResult TokenOp::verify() { return verifyRowIndex(*this, getRow()); }

LogicalResult LookupOp::verify() {
  auto table = cast<RankedTensorType>(getTable().getType());
  if (table.getRank() != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "expects " << table.getRank() << " indices for " << table << ", got "
                         << getIndices().size();
  Type element = table.getElementType();
  bool isFloat = isa<Float32Type, Float16Type, BFloat16Type>(element);
  if (!isFloat && !element.isInteger(32) && !element.isInteger(8))
    return emitOpError() << "expects a table of f32, f16, bf16, i32 or i8, got " << element;
  if (getResult().getType().isF32() != isFloat)
    return emitOpError() << "expects " << (isFloat ? "f32" : "i32") << " from a table of "
                         << element << ", got " << getResult().getType();
  if (!getScalarRegionArgument(*this, getTable()))
    return emitOpError(
        "expects to stand in a score or epilogue region, with a capture of it as table");
  return success();
}
