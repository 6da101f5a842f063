//===- Waits.cpp - polls of mbarriers --------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

/// The loop that ends at DONE once the barrier's phase is over: inside an asm block, so that what
/// stands before the wait stays there (it ends ptxas's basic block).
static std::string pollLoop(StringRef barrier, StringRef phase) {
  return ("WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [" + barrier + "], " + phase +
          "; @p bra DONE; bra WAIT; DONE: ")
      .str();
}

static void waitFor(Emitter &emitter, Operation *op, Value barrier, Value turn, Value phase) {
  if (pollLimitOf(op))
    return waitWithLimit(emitter, op, {barrier, turn, phase}, /*isNeeded=*/emitter.i32(1));
  emitter.assembly({}, "{ .reg .pred p; " + pollLoop("$0", "$1") + "}", "r,r,~{memory}",
                   {barrier, phase});
}

static void lowerAcquire(AcquireOp op, AcquireOp::Adaptor adaptor, Emitter &emitter) {
  Value turn = adaptor.getTurn(), phase = emitter.phase(op.getRing().getType(), turn);
  // A fresh barrier counts as having completed the phase before its first: parity 1.
  waitFor(emitter, op, emitter.emptyBarrier(op.getRing(), turn), turn,
          emitter.bitXor(phase, emitter.i32(1)));
}

static void lowerWait(WaitOp op, WaitOp::Adaptor adaptor, Emitter &emitter) {
  Value turn = adaptor.getTurn();
  Value barrier = emitter.fullBarrier(op.getRing(), turn, adaptor.getWarp());
  waitFor(emitter, op, barrier, turn, emitter.phase(op.getRing().getType(), turn));
}

//===----------------------------------------------------------------------===//
// Clearing rows
//===----------------------------------------------------------------------===//

static constexpr int64_t kRowsPerStep = kWarpgroup / kUnitsPerPanel; ///< of a warpgroup's stores

/// Stores of a thread that clears one unit of every 16th row: row `first` of the tile (register r:
/// the first row to clear, less the thread's own) at [$3], and the others from there.
static std::string clearingStores(RingType type) {
  std::string text;
  for (int64_t row = 0; row < type.getRows(); row += kRowsPerStep) {
    text += "setp.le.s32 p, r, " + std::to_string(row) + "; ";
    if (row + kRowsPerStep > type.getRows()) // the last octet has only half the threads' rows
      text += "setp.lt.and.s32 p, $4, " + std::to_string(type.getRows() - row) + ", p; ";
    for (int64_t panel = 0; panel < type.panels(); ++panel)
      text += "@p st.shared.v4.b32 [$3+" +
              std::to_string(row / kHopper.octetRows * type.octetStride() +
                             panel * type.panelStride()) +
              "], {z, z, z, z}; ";
  }
  return text;
}

/// The row of the tile that is the thread's first.
static Value ownRow(Emitter &emitter) {
  Value thread = emitter.bitAnd(emitter.thread(), kWarpgroup - 1);
  return emitter.shiftRight(thread, llvm::Log2_64(kUnitsPerPanel));
}

/// Where the thread's unit of that row lies; zeros need no swizzle.
static Value ownUnit(Emitter &emitter, RingType type, Value row) {
  Value octet = emitter.shiftRight(row, llvm::Log2_64(kHopper.octetRows));
  Value inOctet = emitter.bitAnd(row, kHopper.octetRows - 1);
  Value unit = emitter.bitAnd(emitter.thread(), kUnitsPerPanel - 1);
  Value address = emitter.add(emitter.mul(octet, type.octetStride()),
                              emitter.mul(inOctet, kHopper.swizzleBytes));
  return emitter.add(address, emitter.mul(unit, kUnitBytes));
}

/// Whether a row is left to clear, as 0 or 1.
static Value hasRows(Emitter &emitter, RingType type, Value from) {
  return emitter.extend(LLVM::ICmpOp::create(emitter.builder, emitter.loc, LLVM::ICmpPredicate::slt,
                                             from, emitter.i32(type.getRows())));
}

/// One block with inner branches: a branch in the IR would cost ptxas its uniform registers.
static void lowerClearRows(ClearRowsOp op, ClearRowsOp::Adaptor adaptor, Emitter &emitter) {
  RingType type = op.getRing().getType();
  Value turn = adaptor.getTurn(), from = adaptor.getRow(), row = ownRow(emitter);
  Value address = emitter.add(emitter.tileAddress(op.getRing(), turn), ownUnit(emitter, type, row));
  Value barrier = emitter.fullBarrier(op.getRing(), turn), phase = emitter.phase(type, turn);
  std::string wait = pollLoop("$1", "$2");
  if (pollLimitOf(op)) {
    waitWithLimit(emitter, op, {barrier, turn, phase}, hasRows(emitter, type, from));
    wait.clear();
  }
  std::string text = "{ .reg .pred p; .reg .b32 r, z; setp.ge.s32 p, $0, " +
                     std::to_string(type.getRows()) + "; @p bra NONE; " + wait +
                     "mov.b32 z, 0; max.s32 r, $0, 0; sub.s32 r, r, $4; " + clearingStores(type) +
                     "fence.proxy.async.shared::cta; bar.sync $5, " + std::to_string(kWarpgroup) +
                     "; NONE: }";
  emitter.assembly({}, text, "r,r,r,r,r,r,~{memory}",
                   {from, barrier, phase, address, row, adaptor.getBarrier()});
}

void pagefold::hopper::addWaitLowerings(const LoweringContext &context) {
  addLowering(context, lowerAcquire);
  addLowering(context, lowerWait);
  addLowering(context, lowerClearRows);
}
