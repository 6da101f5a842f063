//===- Warps.cpp - exchanges in a warp -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

static NVVM::ReduxKind reduction(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Max:
    return NVVM::ReduxKind::MAX;
  case ReduceKind::Sum:
    return NVVM::ReduxKind::ADD;
  case ReduceKind::Min:
    return NVVM::ReduxKind::MIN;
  }
  llvm_unreachable("all kinds are above");
}

static Value lowerWarpReduce(WarpReduceOp op, WarpReduceOp::Adaptor adaptor, Emitter &emitter) {
  return NVVM::ReduxOp::create(emitter.builder, emitter.loc, emitter.builder.getI32Type(),
                               adaptor.getValue(), reduction(op.getKind()), emitter.i32(-1));
}

/// Adds what the lanes 1, 2, 4, 8 and 16 before have; the shuffle's predicate says whether there
/// is one.
static Value lowerWarpScan(WarpScanOp, WarpScanOp::Adaptor adaptor, Emitter &emitter) {
  std::string text = "{ .reg .pred p; .reg .b32 t; ";
  for (int64_t distance = 1; distance < kWarp; distance *= 2)
    text += "shfl.sync.up.b32 t|p, $0, " + std::to_string(distance) +
            ", 0, 0xffffffff; @p add.s32 $0, $0, t; ";
  return emitter.assembly(emitter.builder.getI32Type(), text + "}", "=r,0", adaptor.getValue());
}

static Value lowerShuffle(ShuffleOp, ShuffleOp::Adaptor adaptor, Emitter &emitter) {
  return NVVM::ShflOp::create(emitter.builder, emitter.loc, emitter.builder.getI32Type(),
                              emitter.i32(-1), adaptor.getValue(), adaptor.getLane(),
                              emitter.i32(kWarp - 1), NVVM::ShflKind::idx, UnitAttr());
}

static Value lowerBallot(BallotOp, BallotOp::Adaptor adaptor, Emitter &emitter) {
  return NVVM::VoteSyncOp::create(emitter.builder, emitter.loc, emitter.builder.getI32Type(),
                                  emitter.i32(-1), adaptor.getCondition(),
                                  NVVM::VoteSyncKind::ballot);
}

static void lowerSyncWarp(SyncWarpOp, SyncWarpOp::Adaptor, Emitter &emitter) { emitter.syncWarp(); }

void pagefold::hopper::addWarpLowerings(const LoweringContext &context) {
  addLowering(context, lowerWarpReduce);
  addLowering(context, lowerWarpScan);
  addLowering(context, lowerShuffle);
  addLowering(context, lowerBallot);
  addLowering(context, lowerSyncWarp);
}
