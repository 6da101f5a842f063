//===- ConvertRegions.cpp - score, epilogue and prologue regions ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pagefold;

//===----------------------------------------------------------------------===//
// Scalar regions
//===----------------------------------------------------------------------===//

/// Converts one op of a scalar region into `mapping`.
static void convertScalarOp(OpBuilder &builder, Operation &op, IRMapping &mapping, Block &target,
                            const ScalarArguments &arguments) {
  if (isa<attn::PositionOp>(op)) {
    mapping.map(op.getResult(0), target.getArgument(arguments.position));
  } else if (isa<attn::TokenOp>(op)) {
    mapping.map(op.getResult(0), target.getArgument(arguments.token));
  } else if (auto lookup = dyn_cast<attn::LookupOp>(op)) {
    SmallVector<Value> indices;
    for (Value index : lookup.getIndices())
      indices.push_back(mapping.lookup(index));
    Value read = tile::LookupOp::create(builder, op.getLoc(), lookup.getResult().getType(),
                                        mapping.lookup(lookup.getTable()), indices);
    mapping.map(lookup.getResult(), read);
  } else {
    builder.clone(op, mapping);
  }
}

void pagefold::convertScalarRegion(Region &source, ValueRange captures, Lookup lookup,
                                   Region &target, const ScalarArguments &arguments, Location loc) {
  Block &block = target.front();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  if (source.empty()) {
    tile::YieldOp::create(builder, loc, block.getArgument(0));
    return;
  }
  IRMapping mapping;
  Block &from = source.front();
  mapping.map(from.getArgument(0), block.getArgument(0));
  for (auto [i, argument] : llvm::enumerate(arguments.argument))
    mapping.map(from.getArgument(i + 1), block.getArgument(argument));
  unsigned firstCapture = arguments.argument.size() + 1;
  for (auto [i, capture] : llvm::enumerate(captures))
    mapping.map(from.getArgument(firstCapture + i), lookup(capture));
  for (Operation &op : from.without_terminator())
    convertScalarOp(builder, op, mapping, block, arguments);
  Value yielded = cast<attn::YieldOp>(from.getTerminator()).getValue();
  tile::YieldOp::create(builder, loc, mapping.lookup(yielded));
}

//===----------------------------------------------------------------------===//
// Elementwise ops on rows
//===----------------------------------------------------------------------===//

/// The value of a generic's operand at (token, head, d): the arguments 1.. of a row map's block.
static Value readOperand(OpBuilder &builder, Location loc, Value buffer, AffineMap map,
                         Block &block) {
  if (!isa<MemRefType>(buffer.getType()))
    return buffer; // a scalar
  SmallVector<Value> indices;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      indices.push_back(block.getArgument(1 + dim.getPosition()));
    else
      indices.push_back(arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                                     cast<AffineConstantExpr>(expr).getValue()));
  }
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Type type = isa<FloatType>(element) ? Type(builder.getF32Type()) : Type(builder.getI32Type());
  return tile::LookupOp::create(builder, loc, type, buffer, indices);
}

/// f32 to a narrower float or back, where types differ.
static Value castFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!isa<FloatType>(type))
    return arith::TruncIOp::create(builder, loc, type, value);
  if (type.getIntOrFloatBitWidth() < value.getType().getIntOrFloatBitWidth())
    return arith::TruncFOp::create(builder, loc, type, value);
  return arith::ExtFOp::create(builder, loc, type, value);
}

LogicalResult pagefold::mapCaptures(linalg::GenericOp op, Lookup lookup, IRMapping &mapping) {
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op.getRegion(), captures);
  for (Value capture : captures) {
    Value found = lookup(capture);
    if (!found)
      return op.emitOpError("expects its body to use constants and scalars from around it, got a ")
             << capture.getType();
    mapping.map(capture, found);
  }
  return success();
}

static Value convertGeneric(OpBuilder &builder, linalg::GenericOp op, Value input,
                            Value inputTensor, Lookup lookup) {
  Location loc = op.getLoc();
  DenseMap<Value, Value> buffers; // found before the row map, so that constants stand before it
  for (OpOperand *operand : op.getDpsInputOperands())
    if (operand->get() != inputTensor)
      buffers[operand->get()] = lookup(operand->get());
  IRMapping mapping;
  if (failed(mapCaptures(op, lookup, mapping)))
    return {};
  auto map = tile::RowMapOp::create(builder, loc, input.getType(), input);
  Block *block = tile::addScalarBlock(map.getBody(), tile::kRowMapArgs, loc);
  OpBuilder inner = OpBuilder::atBlockEnd(block);
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(operand);
    Value read = operand->get() == inputTensor
                     ? Value(block->getArgument(0))
                     : readOperand(inner, loc, buffers.lookup(operand->get()),
                                   op.getMatchingIndexingMap(operand), *block);
    mapping.map(arg, castFloat(inner, loc, read, arg.getType()));
  }
  for (Operation &inside : op.getBody()->without_terminator())
    inner.clone(inside, mapping);
  Value result = mapping.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0));
  tile::YieldOp::create(inner, loc, castFloat(inner, loc, result, inner.getF32Type()));
  return map.getResult();
}

//===----------------------------------------------------------------------===//
// Prologues
//===----------------------------------------------------------------------===//

/// The tensor that a row-wise op maps, where it is `row` or derived from it.
static Value rowOperand(Operation *op, const DenseMap<Value, Value> &rows) {
  for (Value operand : op->getOperands())
    if (rows.contains(operand))
      return operand;
  return {};
}

static Value convertRowOpOn(OpBuilder &builder, Operation *op, Value input, Value inputTensor,
                            Lookup lookup) {
  Location loc = op->getLoc();
  if (auto rope = dyn_cast<attn::RopeOp>(op)) {
    Value positions = rope.getPositions() ? lookup(rope.getPositions()) : Value();
    return tile::RopeOp::create(builder, loc, input.getType(), input, lookup(rope.getCos()),
                                lookup(rope.getSin()), positions, rope.getPairing());
  }
  if (auto norm = dyn_cast<attn::RmsNormOp>(op))
    return tile::RmsNormOp::create(builder, loc, input.getType(), input, lookup(norm.getWeight()),
                                   norm.getEpsAttr());
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return convertGeneric(builder, generic, input, inputTensor, lookup);
  op->emitOpError("expects a row-wise op here");
  return {};
}

Value pagefold::convertRowOp(OpBuilder &builder, Operation *op, Value input, Lookup lookup) {
  return convertRowOpOn(builder, op, input, op->getOperand(0), lookup);
}

LogicalResult pagefold::convertPrologue(Region &source, ValueRange captures, Lookup lookup,
                                        Region &target, tile::TileType type,
                                        llvm::function_ref<bool(Value, Value)> checkPositions,
                                        Location loc) {
  Block &block = target.emplaceBlock();
  block.addArgument(type, loc);
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  if (source.empty()) {
    tile::YieldOp::create(builder, loc, block.getArgument(0));
    return success();
  }
  Block &from = source.front();
  DenseMap<Value, Value> outside, rows;
  rows[from.getArgument(0)] = block.getArgument(0);
  for (auto [i, capture] : llvm::enumerate(captures))
    outside[from.getArgument(i + 1)] = capture;
  auto inner = [&](Value value) -> Value {
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      return builder.clone(*constant)->getResult(0);
    return lookup(outside.lookup(value));
  };
  for (Operation &op : from.without_terminator()) {
    if (isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(op))
      continue; // destinations, and constants that are cloned where they are used
    Value input = rowOperand(&op, rows);
    auto rope = dyn_cast<attn::RopeOp>(op);
    if (rope && rope.getRows() &&
        !checkPositions(outside.lookup(rope.getRows()), outside.lookup(rope.getCache())))
      return rope.emitOpError(
          "expects the rows and the cache lengths of the op that it is part of");
    Value converted =
        input ? convertRowOpOn(builder, &op, rows.lookup(input), input, inner) : Value();
    if (!converted)
      return failure();
    rows[op.getResult(0)] = converted;
  }
  tile::YieldOp::create(builder, loc,
                        rows.lookup(cast<attn::YieldOp>(from.getTerminator()).getValue()));
  return success();
}
