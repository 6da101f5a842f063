//===- Waits.cpp - polls of mbarriers --------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

/// The loop that ends at DONE once the barrier's phase is over: inside an asm block, so that what
/// stands before the wait stays there (it ends ptxas's basic block).
static std::string pollLoop(StringRef barrier, StringRef phase) {
  return ("WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [" + barrier + "], " + phase +
          "; @p bra DONE; bra WAIT; DONE: ")
      .str();
}

static void waitFor(Emitter &emitter, Value barrier, Value phase) {
  emitter.assembly({}, "{ .reg .pred p; " + pollLoop("$0", "$1") + "}", "r,r,~{memory}",
                   {barrier, phase});
}

static void lowerAcquire(AcquireOp op, AcquireOp::Adaptor adaptor, Emitter &emitter) {
  Value phase = emitter.phase(op.getRing().getType(), adaptor.getTurn());
  // A fresh barrier counts as having completed the phase before its first: parity 1.
  waitFor(emitter, emitter.emptyBarrier(op.getRing(), adaptor.getTurn()),
          emitter.bitXor(phase, emitter.i32(1)));
}

static void lowerWait(WaitOp op, WaitOp::Adaptor adaptor, Emitter &emitter) {
  waitFor(emitter, emitter.fullBarrier(op.getRing(), adaptor.getTurn()),
          emitter.phase(op.getRing().getType(), adaptor.getTurn()));
}

//===----------------------------------------------------------------------===//
// Clearing rows
//===----------------------------------------------------------------------===//

static constexpr int64_t kUnitBytes = 16;
static constexpr int64_t kUnitsPerRow = kHopper.swizzleBytes / kUnitBytes; ///< of a panel
static constexpr int64_t kRowsPerStep = kWarpgroup / kUnitsPerRow; ///< of a warpgroup's stores

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

/// One block with inner branches: a branch in the IR would cost ptxas its uniform registers.
static void lowerClearRows(ClearRowsOp op, ClearRowsOp::Adaptor adaptor, Emitter &emitter) {
  RingType type = op.getRing().getType();
  Value thread = emitter.bitAnd(emitter.thread(), kWarpgroup - 1);
  Value ownRow = emitter.shiftRight(thread, llvm::Log2_64(kUnitsPerRow));
  Value octet = emitter.shiftRight(ownRow, llvm::Log2_64(kHopper.octetRows));
  Value inOctet = emitter.bitAnd(ownRow, kHopper.octetRows - 1);
  Value unit = emitter.bitAnd(thread, kUnitsPerRow - 1);
  Value own = emitter.add(emitter.mul(octet, type.octetStride()),
                          emitter.mul(inOctet, kHopper.swizzleBytes));
  own = emitter.add(own, emitter.mul(unit, kUnitBytes)); // zeros need no swizzle
  Value address = emitter.add(emitter.tileAddress(op.getRing(), adaptor.getTurn()), own);
  std::string text = "{ .reg .pred p; .reg .b32 r, z; setp.ge.s32 p, $0, " +
                     std::to_string(type.getRows()) + "; @p bra NONE; " + pollLoop("$1", "$2") +
                     "mov.b32 z, 0; max.s32 r, $0, 0; sub.s32 r, r, $4; " + clearingStores(type) +
                     "fence.proxy.async.shared::cta; bar.sync $5, " + std::to_string(kWarpgroup) +
                     "; NONE: }";
  emitter.assembly({}, text, "r,r,r,r,r,r,~{memory}",
                   {adaptor.getRow(), emitter.fullBarrier(op.getRing(), adaptor.getTurn()),
                    emitter.phase(type, adaptor.getTurn()), address, ownRow, adaptor.getBarrier()});
}

void pagefold::hopper::addWaitLowerings(const LoweringContext &context) {
  addLowering(context, lowerAcquire);
  addLowering(context, lowerWait);
  addLowering(context, lowerClearRows);
}
