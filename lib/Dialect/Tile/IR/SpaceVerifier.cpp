//===- SpaceVerifier.cpp - constraints of spaces and what stands in them --===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check a constraint; the numbers are those of TileOps.td.
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace pagefold::tile;

static KVType kvOf(SpaceOp space) { return space.getKv().getType(); }

static int64_t queryHeads(SpaceOp space) {
  return kvOf(space).getHeads() * static_cast<int64_t>(space.getGroup());
}

//===----------------------------------------------------------------------===//
// The space
//===----------------------------------------------------------------------===//

LogicalResult SpaceOp::verify() {
  int64_t least = getMinQLen().value_or(1), most = getMaxQLen().value_or(least);
  if (least < 1 || most < least)
    return emitOpError("C5: expects 1 <= min_q_len <= max_q_len, got ") << least << " and " << most;
  return verifyBatchOf(*this, "C3", getBatch(), getKv());
}

LogicalResult SpaceOp::verifyRegions() {
  if (getBody().getNumArguments() != 1 || !isa<ItemType>(getBody().getArgument(0).getType()))
    return emitOpError("C1: expects a region that takes one item");
  if (getGroup() < 1 || getGroup() > 128)
    return emitOpError("C2: expects a group from 1 to 128, got ") << getGroup();
  int queries = 0, states = 0;
  for (Operation &op : getBody().front()) {
    queries += isa<LoadQOp>(op);
    states += isa<FoldOp, SoftmaxOp>(op);
  }
  if (queries > 1 || states > 1)
    return emitOpError("C4: expects at most one load_q, and one fold or softmax, got ")
           << queries << " and " << states;
  return success();
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

LogicalResult LoadQOp::verify() {
  if (failed(verifyItem(*this, "C1", getItem())))
    return failure();
  auto space = (*this)->getParentOfType<SpaceOp>();
  int64_t dim = kvOf(space).getKDim();
  if (failed(verifyBuffer(*this, "C2", "the query", getQuery(),
                          {{kAnyExtent, queryHeads(space), dim}})) ||
      failed(verifyTile(*this, "C3", "a result", getResult().getType(), {TileType::Q, dim})))
    return failure();
  double scale = getScale().convertToDouble();
  if (!std::isfinite(scale) || scale <= 0)
    return emitOpError("C4: expects a finite scale > 0, got ") << getScaleAttr();
  return success();
}

LogicalResult LoadQOp::verifyRegions() {
  return verifyRowRegion(*this, "C3", getBody(), getResult().getType().getShape()[1]);
}

template <typename LoadOp> static LogicalResult verifyLoad(LoadOp op, int64_t dim) {
  if (failed(verifyItem(op, "C1", op.getItem())) ||
      failed(verifyTileNumber(op, "C1", op.getTile())))
    return failure();
  if (op.getKv() != op->template getParentOfType<SpaceOp>().getKv())
    return op.emitOpError("C1: expects the KV of the space around it");
  int64_t keys = op.getTile() ? TileType::KV : TileType::All;
  return verifyTile(op, "C2", "a result", op.getResult().getType(), {keys, dim});
}

LogicalResult LoadKOp::verify() { return verifyLoad(*this, getKv().getType().getKDim()); }
LogicalResult LoadVOp::verify() { return verifyLoad(*this, getKv().getType().getVDim()); }

//===----------------------------------------------------------------------===//
// Scores, softmax, products
//===----------------------------------------------------------------------===//

static bool isKeys(int64_t extent) { return extent == TileType::KV || extent == TileType::All; }

LogicalResult ContractOp::verify() {
  ArrayRef<int64_t> q = getQuery().getType().getShape(), k = getKey().getType().getShape();
  TileType result = getResult().getType();
  if (q.size() != 2 || k.size() != 2 || q[0] != TileType::Q || q[1] != k[1] || !isKeys(k[0]) ||
      result.getShape() != ArrayRef<int64_t>{q[0], k[0]} || !result.getElementType().isF32())
    return emitOpError("C1: expects [q, d] x [n, d] -> [q, n] in f32, got ")
           << getQuery().getType() << " x " << getKey().getType() << " -> " << result;
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(verifyItem(*this, "C1", getItem())) ||
      failed(verifyTileNumber(*this, "C1", getTile())))
    return failure();
  int64_t keys = getTile() ? TileType::KV : TileType::All;
  if (failed(verifyTile(*this, "C2", "scores", getInput().getType(), {TileType::Q, keys})))
    return failure();
  auto fold = (*this)->getParentOfType<FoldOp>();
  Value partial = fold && fold.getBody().getNumArguments() == 3
                      ? Value(fold.getBody().getArgument(1))
                      : Value();
  if (getPartial() != partial)
    return emitOpError("C4: expects partial of the fold around it, and none outside of a fold");
  return success();
}

LogicalResult MapOp::verifyRegions() {
  return verifyScalarRegion(*this, "C3", getBody(), kScoreArgs);
}

LogicalResult SoftmaxOp::verify() {
  return verifyTile(*this, "C1", "scores", getScores().getType(), {TileType::Q, TileType::All});
}

LogicalResult SoftmaxStepOp::verify() {
  return verifyTile(*this, "C1", "scores", getScores().getType(), {TileType::Q, TileType::KV});
}

LogicalResult AccumulateOp::verify() {
  ArrayRef<int64_t> p = getWeights().getType().getShape(), v = getValues().getType().getShape();
  if (p.size() != 2 || v.size() != 2 || p[0] != TileType::Q || p[1] != v[0] || !isKeys(v[0]) ||
      v[1] != getState().getType().getVDim())
    return emitOpError("C1: expects [q, n] x [n, v_dim] into a state of v_dim, got ")
           << getWeights().getType() << " x " << getValues().getType() << " into "
           << getState().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// The fold
//===----------------------------------------------------------------------===//

LogicalResult VisitsOp::verify() { return verifyItem(*this, "C1", getItem()); }
LogicalResult FoldOp::verify() { return verifyItem(*this, "C2", getItem()); }

LogicalResult FoldOp::verifyRegions() {
  Block &block = getBody().front();
  bool takes = block.getNumArguments() == 3 && block.getArgument(0).getType().isIndex() &&
               block.getArgument(1).getType().isInteger(1) &&
               block.getArgument(2).getType() == getInit().getType();
  if (!takes)
    return emitOpError("C1: expects a region that takes (index, i1, ")
           << getInit().getType() << "), got (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || yield.getValue().getType() != getInit().getType())
    return emitOpError("C1: expects its region to yield ") << getInit().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// lse [?, heads] and sinks [heads], where there are any.
static LogicalResult verifyExtras(Operation *op, StringRef constraint, Value lse, Value sinks,
                                  int64_t heads) {
  Type f32 = Float32Type::get(op->getContext());
  if (lse && failed(verifyBuffer(op, constraint, "lse", lse, {{kAnyExtent, heads}, f32})))
    return failure();
  if (sinks && failed(verifyBuffer(op, constraint, "sinks", sinks, {{heads}, f32})))
    return failure();
  return success();
}

static LogicalResult verifyState(Operation *op, StringRef constraint, StateType state,
                                 SpaceOp space) {
  int64_t dim = kvOf(space).getVDim();
  if (state.getVDim() == dim)
    return success();
  return op->emitOpError(constraint)
         << ": expects a state of the KV's v_dim " << dim << ", got " << state;
}

LogicalResult FinishOp::verify() {
  if (failed(verifyItem(*this, "C1", getItem())))
    return failure();
  auto space = (*this)->getParentOfType<SpaceOp>();
  int64_t heads = queryHeads(space);
  if (failed(verifyState(*this, "C2", getState().getType(), space)) ||
      failed(verifyBuffer(*this, "C2", "the output", getOutput(),
                          {{kAnyExtent, heads, kvOf(space).getVDim()}})))
    return failure();
  return verifyExtras(*this, "C3", getLse(), getSinks(), heads);
}

LogicalResult FinishOp::verifyRegions() {
  return verifyScalarRegion(*this, "C4", getBody(), kEpilogueArgs);
}

LogicalResult StorePartialOp::verify() {
  if (failed(verifyItem(*this, "C1", getItem())))
    return failure();
  auto space = (*this)->getParentOfType<SpaceOp>();
  if (failed(verifyState(*this, "C2", getState().getType(), space)))
    return failure();
  int64_t splits = space.getSchedule() ? space.getSchedule()->getSplits() : 1;
  return verifyBuffer(*this, "C2", "partials", getPartials(),
                      {{splits, kAnyExtent, queryHeads(space), 2 + kvOf(space).getVDim()},
                       Float32Type::get(getContext())});
}

LogicalResult MergeSplitsOp::verify() {
  auto output = cast<MemRefType>(getOutput().getType());
  if (output.getRank() != 3 || output.isDynamicDim(1) || output.isDynamicDim(2))
    return emitOpError("C1: expects an output [?, heads, v_dim] with static heads and v_dim, got ")
           << output;
  int64_t heads = output.getDimSize(1), dim = output.getDimSize(2);
  if (failed(verifyBuffer(*this, "C1", "the output", getOutput(), {{kAnyExtent, heads, dim}})) ||
      failed(
          verifyBuffer(*this, "C1", "partials", getPartials(),
                       {{kAnyExtent, kAnyExtent, heads, 2 + dim}, Float32Type::get(getContext())})))
    return failure();
  if (cast<MemRefType>(getPartials().getType()).isDynamicDim(0))
    return emitOpError("C1: expects a static number of splits, got ") << getPartials().getType();
  return verifyExtras(*this, "C2", getLse(), getSinks(), heads);
}

LogicalResult MergeSplitsOp::verifyRegions() {
  return verifyScalarRegion(*this, "C3", getBody(), kEpilogueArgs);
}
