//===- FuseAppend.cpp - appends that a streaming kernel does itself -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "RowWork.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Target/Hopper/StreamingForm.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILEFUSEAPPEND
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold;
using namespace pagefold::tile;

namespace {

Value rowsOf(Value batch) {
  auto op = batch.getDefiningOp<BatchOp>();
  return op ? op.getRows() : Value();
}

/// An append before a space, and why it cannot move into it; empty if it can.
struct Candidate {
  AppendOp append;
  std::string refusal;
};

/// The last append to the space's cache. Only kernels of rows may stand between the two.
Candidate findAppend(SpaceOp space) {
  SmallVector<Operation *> between;
  for (Operation *op = space->getPrevNode(); op; op = op->getPrevNode()) {
    auto append = dyn_cast<AppendOp>(op);
    if (append && append.getKv() == space.getKv()) {
      if (rowsOf(append.getBatch()) != rowsOf(space.getBatch()))
        return {append, "its tokens are those of other row offsets"};
      if (llvm::any_of(between, [&](Operation *other) { return conflict(append, other); }))
        return {append, "a kernel between the two reads or writes what it does"};
      return {append, ""};
    }
    if (isRowWork(op))
      between.push_back(op);
    else if (!isPassed(op))
      break; // another reader of the cache, perhaps
  }
  return {};
}

struct TileFuseAppend : pagefold::tile::impl::TileFuseAppendBase<TileFuseAppend> {
  void runOnOperation() override {
    getOperation()->walk([&](SpaceOp space) {
      std::optional<ScheduleAttr> schedule = space.getSchedule();
      if (schedule && schedule->getKind() == ScheduleKind::Streaming)
        run(space);
    });
  }

  static void run(SpaceOp space) {
    Candidate found = findAppend(space);
    attn::BoundsAttr bounds = boundsOf(space);
    if (!found.append || !bounds)
      return;
    if (found.refusal.empty())
      found.refusal = hopper::appendRefusal(space, found.append, bounds);
    auto options = remarkOf(space, "FuseAppend", "tile-fuse-append");
    if (!found.refusal.empty()) {
      remark::analysis(found.append.getLoc(), options)
          << "the append stays a kernel of its own" << remark::reason("{0}", found.refusal);
      return;
    }
    remark::passed(found.append.getLoc(), options)
        << "the kernel that streams keys appends the new ones itself";
    Block &body = space.getBody().front();
    found.append->moveBefore(&body, body.begin());
  }
};

} // namespace
