//===- Rings.cpp - shared tiles, mbarriers, TMA ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

// The L2's policies, as createpolicy would make them.
static constexpr int64_t kEvictFirst = 0x12F0000000000000, kEvictLast = 0x14F0000000000000;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

static Value lowerAlloc(AllocOp op, AllocOp::Adaptor, Emitter &emitter) {
  return emitter.sharedAddress(emitter.placeOf(op).tiles);
}

/// Thread 0 initialises the barriers: predicated, since a lowering makes no blocks.
static Value lowerAllocRing(AllocRingOp op, AllocRingOp::Adaptor, Emitter &emitter) {
  const SharedPlace &place = emitter.placeOf(op);
  auto initialise = [&](int64_t offset, int64_t arrivals) {
    emitter.assembly(
        {},
        "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.init.shared::cta.b64 [$0], " +
            std::to_string(arrivals) + "; }",
        "r,r,~{memory}", {emitter.sharedAddress(offset), emitter.thread()});
  };
  for (int64_t stage = 0; stage < op.getType().getStages(); ++stage) {
    initialise(place.full + 8 * stage, 1);
    initialise(place.empty + 8 * stage, op.getReaders());
  }
  return emitter.sharedAddress(place.tiles);
}

//===----------------------------------------------------------------------===//
// Barriers of a ring
//===----------------------------------------------------------------------===//

/// Polls inside one asm block: the loop ends ptxas's basic block, so that what stands before the
/// wait stays there.
static void waitFor(Emitter &emitter, Value barrier, Value phase) {
  emitter.assembly(
      {},
      "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra DONE; "
      "bra WAIT; DONE: }",
      "r,r,~{memory}", {barrier, phase});
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

static void lowerExpect(ExpectOp op, ExpectOp::Adaptor adaptor, Emitter &emitter) {
  Value barrier = emitter.sharedPointer(emitter.fullBarrier(op.getRing(), adaptor.getTurn()));
  Value bytes = emitter.i32(op.getRing().getType().tileBytes());
  NVVM::MBarrierArriveExpectTxOp::create(emitter.builder, emitter.loc, Type(), barrier, bytes,
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                         /*predicate=*/Value());
}

static void lowerArrive(ArriveOp op, ArriveOp::Adaptor adaptor, Emitter &emitter) {
  emitter.assembly({}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}",
                   emitter.fullBarrier(op.getRing(), adaptor.getTurn()));
}

/// Element of the exponentials that holds a release back: a quarter of them are done then.
static constexpr int64_t kPinnedElement = 16;

/// The scalar that was put into a struct, or null where it is not to be seen.
static Value insertedElement(Value aggregate, int64_t position) {
  while (auto insert = aggregate.getDefiningOp<LLVM::InsertValueOp>()) {
    if (insert.getPosition().front() == position)
      return insert.getValue();
    aggregate = insert.getContainer();
  }
  return {};
}

/// Whether an arrival with this turn may stand right behind `op`: the turn is known there, and
/// between it and the insertion point there is arithmetic only.
static bool canArriveBehind(Operation *op, Value turn, OpBuilder &builder) {
  Block *block = builder.getInsertionBlock();
  if (!op || op->getBlock() != block)
    return false;
  if (Operation *known = turn.getDefiningOp();
      known && known->getBlock() == block && !known->isBeforeInBlock(op))
    return false;
  for (auto it = std::next(op->getIterator()); it != builder.getInsertionPoint(); ++it)
    if (!isa<LLVM::CallIntrinsicOp>(*it) && !isMemoryEffectFree(&*it))
      return false;
  return true;
}

static void releaseStage(Emitter &emitter, TypedValue<RingType> ring, Value turn) {
  emitter.assembly(
      {}, "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }",
      "r,r,~{memory}", {emitter.emptyBarrier(ring, turn), emitter.lane()});
}

/// Arrives once element 16 is known, and stands right behind it among the other elements'
/// instructions.
static void releaseBehind(Emitter &emitter, TypedValue<RingType> ring, Value turn, Value fragment) {
  OpBuilder::InsertionGuard guard(emitter.builder);
  Value pin = insertedElement(fragment, kPinnedElement);
  if (pin && canArriveBehind(pin.getDefiningOp(), turn, emitter.builder))
    emitter.builder.setInsertionPointAfterValue(pin);
  else
    pin = LLVM::ExtractValueOp::create(emitter.builder, emitter.loc, fragment, kPinnedElement);
  // 2^x >= 0, or NaN: always true, which ptxas cannot know.
  emitter.assembly({},
                   "{ .reg .pred p; setp.eq.u32 p, $1, 0; setp.geu.and.f32 p, $2, 0f00000000, p; "
                   "@p mbarrier.arrive.shared::cta.b64 _, [$0]; }",
                   "r,r,f,~{memory}", {emitter.emptyBarrier(ring, turn), emitter.lane(), pin});
}

static void lowerRelease(ReleaseOp op, ReleaseOp::Adaptor adaptor, Emitter &emitter) {
  if (op.getAfter())
    releaseBehind(emitter, op.getRing(), adaptor.getTurn(), adaptor.getAfter());
  else
    releaseStage(emitter, op.getRing(), adaptor.getTurn());
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

static constexpr int64_t kNoteVector = 4; ///< words of one access

static void lowerWriteNote(WriteNoteOp op, WriteNoteOp::Adaptor adaptor, Emitter &emitter) {
  Value address = emitter.noteAddress(op.getRing(), adaptor.getTurn());
  ValueRange words = adaptor.getWords();
  for (size_t i = 0; i < words.size(); i += kNoteVector)
    emitter.assembly(
        {}, "st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}",
        {emitter.add(address, 4 * i), words[i], words[i + 1], words[i + 2], words[i + 3]});
}

static SmallVector<Value> lowerReadNote(ReadNoteOp op, ReadNoteOp::Adaptor adaptor,
                                        Emitter &emitter) {
  Value address = emitter.noteAddress(op.getRing(), adaptor.getTurn());
  auto four = LLVM::LLVMStructType::getLiteral(
      op.getContext(), SmallVector<Type>(kNoteVector, emitter.builder.getI32Type()));
  SmallVector<Value> words;
  for (size_t i = 0; i < op.getWords().size(); i += kNoteVector)
    llvm::append_range(words, emitter.unpack(emitter.assembly(
                                  four, "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];",
                                  "=r,=r,=r,=r,r,~{memory}", emitter.add(address, 4 * i))));
  return words;
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

static void lowerFill(FillOp op, FillOp::Adaptor adaptor, Emitter &emitter) {
  OpBuilder &builder = emitter.builder;
  RingType ring = op.getRing().getType();
  Value address = emitter.tileAddress(op.getRing(), adaptor.getTurn());
  if (Value row = adaptor.getRow())
    address = emitter.add(address, emitter.mul(row, ring.tileBytes() / ring.getRows()));
  auto cluster = LLVM::LLVMPointerType::get(
      op.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  Value target =
      LLVM::AddrSpaceCastOp::create(builder, emitter.loc, cluster, emitter.sharedPointer(address));
  Value barrier = emitter.sharedPointer(emitter.fullBarrier(op.getRing(), adaptor.getTurn()));
  Value policy =
      LLVM::ConstantOp::create(builder, emitter.loc, builder.getI64Type(),
                               builder.getI64IntegerAttr(op.getKeep() ? kEvictLast : kEvictFirst));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      builder, emitter.loc, target, adaptor.getMap(), adaptor.getCoordinates(), barrier,
      /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), policy, NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, /*group=*/{},
      /*predicate=*/Value());
}

static void lowerStoreTile(StoreTileOp op, StoreTileOp::Adaptor adaptor, Emitter &emitter) {
  Value source = emitter.sharedPointer(emitter.tileAddress(op.getTiles(), adaptor.getIndex()));
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      emitter.builder, emitter.loc, adaptor.getMap(), source, adaptor.getCoordinates(),
      /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
  NVVM::CpAsyncBulkCommitGroupOp::create(emitter.builder, emitter.loc);
}

static void lowerWaitStores(WaitStoresOp op, WaitStoresOp::Adaptor, Emitter &emitter) {
  NVVM::CpAsyncBulkWaitGroupOp::create(emitter.builder, emitter.loc, 0, op.getReadAttr());
}

static void lowerFenceShared(FenceSharedOp, FenceSharedOp::Adaptor, Emitter &emitter) {
  emitter.assembly({}, "fence.proxy.async.shared::cta;", "~{memory}", {});
}

void pagefold::hopper::addRingLowerings(const LoweringContext &context) {
  addLowering(context, lowerAlloc);
  addLowering(context, lowerAllocRing);
  addLowering(context, lowerAcquire);
  addLowering(context, lowerWait);
  addLowering(context, lowerExpect);
  addLowering(context, lowerArrive);
  addLowering(context, lowerRelease);
  addLowering(context, lowerWriteNote);
  addLowering(context, lowerReadNote);
  addLowering(context, lowerFill);
  addLowering(context, lowerStoreTile);
  addLowering(context, lowerWaitStores);
  addLowering(context, lowerFenceShared);
}
