//===- Rings.cpp - allocations, arrivals, notes ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

static Value lowerAlloc(AllocOp op, AllocOp::Adaptor, Emitter &emitter) {
  return emitter.sharedAddress(emitter.placeOf(op).tiles);
}

/// Each warp's by its first lane: one thread for all of them would take its time.
static void initialiseOfWarps(AllocRingOp op, Emitter &emitter) {
  int64_t stages = op.getType().getStages();
  Value warp = emitter.shiftRight(emitter.thread(), llvm::Log2_64(kWarp));
  Value address = emitter.add(emitter.mul(warp, kBarrierBytes * stages),
                              emitter.sharedAddress(emitter.placeOf(op).full));
  std::string text = "{ .reg .pred p; setp.eq.u32 p, $1, 0; ";
  for (int64_t stage = 0; stage < stages; ++stage)
    text += "@p mbarrier.init.shared::cta.b64 [$0+" + std::to_string(kBarrierBytes * stage) +
            "], " + std::to_string(op.getWriters()) + "; ";
  emitter.assembly({}, text + "}", "r,r,~{memory}", {address, emitter.lane()});
}

/// Thread 0 initialises the barriers: predicated, since a lowering makes no blocks.
static Value lowerAllocRing(AllocRingOp op, AllocRingOp::Adaptor, Emitter &emitter) {
  const SharedPlace &place = emitter.placeOf(op);
  if (op.getType().isOfWarps()) {
    initialiseOfWarps(op, emitter);
    return emitter.sharedAddress(place.tiles);
  }
  auto initialise = [&](int64_t offset, int64_t arrivals) {
    emitter.assembly(
        {},
        "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.init.shared::cta.b64 [$0], " +
            std::to_string(arrivals) + "; }",
        "r,r,~{memory}", {emitter.sharedAddress(offset), emitter.thread()});
  };
  for (int64_t stage = 0; stage < op.getType().getStages(); ++stage) {
    initialise(place.full + kBarrierBytes * stage, op.getWriters());
    initialise(place.empty + kBarrierBytes * stage, op.getReaders());
  }
  return emitter.sharedAddress(place.tiles);
}

//===----------------------------------------------------------------------===//
// Barriers of a ring
//===----------------------------------------------------------------------===//

static void lowerExpect(ExpectOp op, ExpectOp::Adaptor adaptor, Emitter &emitter) {
  Value barrier = emitter.sharedPointer(
      emitter.fullBarrier(op.getRing(), adaptor.getTurn(), adaptor.getWarp()));
  Value bytes = emitter.i32(op.getRing().getType().tileBytes());
  NVVM::MBarrierArriveExpectTxOp::create(emitter.builder, emitter.loc, Type(), barrier, bytes,
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                         /*predicate=*/Value());
}

static void lowerArrive(ArriveOp op, ArriveOp::Adaptor adaptor, Emitter &emitter) {
  emitter.assembly({}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}",
                   emitter.fullBarrier(op.getRing(), adaptor.getTurn()));
}

/// Elements of the exponentials that hold a release back, one of each row: with one of them alone
/// ptxas computes that one first, and the wait behind the release before all the others.
static constexpr int64_t kPinnedElements[] = {16, 18};

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

/// Arrives once the pinned elements are known, and stands right behind the last of them among the
/// other elements' instructions.
static void releaseBehind(Emitter &emitter, TypedValue<RingType> ring, Value turn, Value fragment) {
  OpBuilder::InsertionGuard guard(emitter.builder);
  Value last = insertedElement(fragment, kPinnedElements[1]);
  bool between = last && canArriveBehind(last.getDefiningOp(), turn, emitter.builder);
  if (between)
    emitter.builder.setInsertionPointAfterValue(last);
  SmallVector<Value> operands{emitter.emptyBarrier(ring, turn), emitter.lane()};
  // 2^x >= 0, or NaN: always true, which ptxas cannot know.
  std::string text = "{ .reg .pred p; setp.eq.u32 p, $1, 0; ", constraints = "r,r,";
  for (int64_t element : kPinnedElements) {
    Value pin = between ? insertedElement(fragment, element) : Value();
    if (!pin)
      pin = LLVM::ExtractValueOp::create(emitter.builder, emitter.loc, fragment, element);
    text += "setp.geu.and.f32 p, $" + std::to_string(operands.size()) + ", 0f00000000, p; ";
    constraints += "f,";
    operands.push_back(pin);
  }
  text += "@p mbarrier.arrive.shared::cta.b64 _, [$0]; }";
  emitter.assembly({}, text, constraints + "~{memory}", operands);
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

void pagefold::hopper::addRingLowerings(const LoweringContext &context) {
  addLowering(context, lowerAlloc);
  addLowering(context, lowerAllocRing);
  addLowering(context, lowerExpect);
  addLowering(context, lowerArrive);
  addLowering(context, lowerRelease);
  addLowering(context, lowerWriteNote);
  addLowering(context, lowerReadNote);
}
