//===- FragmentOps.cpp - verifiers of products and fragments ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// C1 to C3 of a product whose left operand has `depth` columns of `element`.
template <typename ProductOp>
static LogicalResult verifyContract(ProductOp op, int64_t depth, Type element) {
  RingType rhs = op.getRhs().getType();
  FragmentType result = op.getType();
  bool transposed = op.getTransposed();
  int64_t rhsDepth = transposed ? rhs.depth() : rhs.getRows();
  int64_t rhsColumns = transposed ? rhs.getRows() : rhs.getColumns();
  if (depth != rhsDepth)
    return op.emitOpError("C1: expects a right operand of depth ") << depth << ", got " << rhsDepth;
  if (depth % kHopper.stepDepth)
    return op.emitOpError("C1: expects a depth that is a multiple of ")
           << kHopper.stepDepth << ", got " << depth;
  if (result.getColumns() != rhsColumns)
    return op.emitOpError("C2: expects a result of ")
           << rhsColumns << " columns, got " << result.getColumns();
  if (op.getAcc() && op.getAcc().getType() != result)
    return op.emitOpError("C2: expects an accumulator of ")
           << result << ", got " << op.getAcc().getType();
  if (!result.getElementType().isF32() || element != rhs.getElementType())
    return op.emitOpError("C3: expects equal elements of left and right and a result of f32, got ")
           << element << " x " << rhs.getElementType() << " -> " << result.getElementType();
  return success();
}

LogicalResult ContractOp::verify() {
  FragmentType lhs = getLhs().getType();
  return verifyContract(*this, lhs.getColumns(), lhs.getElementType());
}

/// A warpgroup reads rows of the tile in blocks of 64.
static bool hasWarpgroupRows(RingType type) { return type.getRows() % kHopper.fragmentRows == 0; }

LogicalResult ContractSharedOp::verify() {
  RingType lhs = getLhs().getType();
  if (!hasWarpgroupRows(lhs))
    return emitOpError("C4: expects a left tile of a multiple of ")
           << kHopper.fragmentRows << " rows, got " << lhs.getRows();
  return verifyContract(*this, lhs.depth(), lhs.getElementType());
}

/// The constraint `code` that a fragment is an accumulator.
static LogicalResult verifyAccumulator(Operation *op, FragmentType type, StringRef code) {
  if (!type.getElementType().isF32())
    return op->emitOpError() << code << ": expects a fragment of f32, got " << type;
  return success();
}

LogicalResult WaitContractsOp::verify() {
  if (getPending() < 0 || getPending() > 7)
    return emitOpError("C1: expects from 0 to 7 pending products, got ") << getPending();
  return verifyAccumulator(*this, getType(), "C2");
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

LogicalResult ZeroOp::verify() { return verifyAccumulator(*this, getType(), "C1"); }
LogicalResult RowReduceOp::verify() {
  return verifyAccumulator(*this, getFragment().getType(), "C1");
}
LogicalResult Exp2Op::verify() { return verifyAccumulator(*this, getType(), "C1"); }
LogicalResult MaskOp::verify() {
  if (!getBegin() && !getEnd())
    return emitOpError("C2: expects a limit, from or below");
  return verifyAccumulator(*this, getType(), "C1");
}
LogicalResult AddFragmentsOp::verify() { return verifyAccumulator(*this, getType(), "C1"); }
LogicalResult ScaleRowsOp::verify() { return verifyAccumulator(*this, getType(), "C1"); }

LogicalResult LoadFragmentOp::verify() {
  RingType ring = getRing().getType();
  FragmentType result = getType();
  if (result.getColumns() != ring.depth() || result.getElementType() != ring.getElementType() ||
      !hasWarpgroupRows(ring))
    return emitOpError("C1: expects a tile of a multiple of ")
           << kHopper.fragmentRows << " rows with the fragment's elements and columns (the tile's, "
           << "up to the next multiple of " << kHopper.stepDepth << "), got " << ring << " -> "
           << result;
  if (ring.getOrder() != Order::Panels)
    return emitOpError("C2: expects a tile of order panels, got ") << ring;
  return success();
}

LogicalResult ConvertOp::verify() {
  FragmentType from = getFragment().getType(), to = getType();
  if (!from.getElementType().isF32() || to.getElementType().isF32() ||
      from.getColumns() != to.getColumns())
    return emitOpError("C1: expects f32 to bf16 or f16 with the same columns, got ")
           << from << " -> " << to;
  return success();
}

LogicalResult StoreFragmentOp::verify() {
  FragmentType fragment = getFragment().getType();
  SharedType tile = getTiles().getType();
  if (fragment.getElementType().isF32())
    return emitOpError("C2: expects a fragment of bf16 or f16, got ") << fragment;
  if (tile.getRows() != kHopper.fragmentRows || tile.getColumns() != fragment.getColumns() ||
      tile.getElementType() != fragment.getElementType() || tile.getOrder() != Order::Panels)
    return emitOpError("C1: expects a tile of order panels with the fragment's rows, columns and "
                       "elements, got ")
           << fragment << " into " << tile;
  return success();
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// What the region of a map takes for the element, its rows' values and its column.
static FailureOr<SmallVector<Type>> mapArguments(MapOp op) {
  SmallVector<Type> types{Float32Type::get(op.getContext())};
  for (Type type : op.getRows().getTypes()) {
    auto vector = cast<VectorType>(type);
    if (vector.getRank() != 1 || vector.getDimSize(0) != 2 || vector.isScalable())
      return op.emitOpError("C2: expects a vector of two elements for each value of rows, got ")
             << type;
    types.push_back(vector.getElementType());
  }
  types.push_back(IntegerType::get(op.getContext(), 32));
  return types;
}

/// C4: what the lowering can write once for each element.
static LogicalResult verifyScalarOp(Operation *op) {
  bool isKnown =
      isa<LoadOp>(op) || llvm::is_contained({"arith", "math"}, op->getName().getDialectNamespace());
  auto isScalar = [](Type type) { return type.isIntOrFloat() || isa<PointerType>(type); };
  if (!isKnown || !llvm::all_of(op->getOperandTypes(), isScalar) ||
      !llvm::all_of(op->getResultTypes(), isScalar))
    return op->emitOpError("C4: expects an op of arith or math, or hopper.load, over scalars in a "
                           "hopper.map");
  return success();
}

LogicalResult MapOp::verifyRegions() {
  if (failed(verifyAccumulator(*this, getType(), "C1")))
    return failure();
  FailureOr<SmallVector<Type>> types = mapArguments(*this);
  if (failed(types))
    return failure();
  if (!llvm::equal(*types, getBody().getArgumentTypes()))
    return emitOpError("C2: expects a region that takes (")
           << *types << "), got (" << getBody().getArgumentTypes() << ")";
  Block &block = getBody().front();
  for (Operation &op : block.without_terminator())
    if (failed(verifyScalarOp(&op)))
      return failure();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue().getType().isF32())
    return emitOpError("C3: expects a region that yields f32");
  return success();
}
