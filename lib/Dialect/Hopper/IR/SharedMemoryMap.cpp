//===- SharedMemoryMap.cpp - where a kernel's shared memory lies ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Hopper/IR/SharedMemoryMap.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

static constexpr int64_t kWordBytes = 4, kNoteAlignment = 16;

SharedMemoryMap::SharedMemoryMap(KernelOp kernel) {
  kernel.walk(
      [&](AllocOp op) { placeTiles(op, op.getType().getCount() * op.getType().tileBytes()); });
  kernel.walk(
      [&](AllocRingOp op) { placeTiles(op, op.getType().allStages() * op.getType().tileBytes()); });
  kernel.walk([&](AllocWordsOp op) { placeWords(op); });
  kernel.walk([&](AllocRingOp op) { placeBarriers(op); });
}

void SharedMemoryMap::placeTiles(Operation *allocation, int64_t bytes) {
  end = llvm::alignTo(end, kHopper.tileAlignment);
  places[allocation].tiles = end;
  end += bytes;
}

void SharedMemoryMap::placeWords(AllocWordsOp words) {
  int64_t begin = words.getOver() ? places[words.getOver().getDefiningOp()].tiles : end;
  places[words].tiles = begin;
  end = std::max(end, begin + kWordBytes * words.getType().getCount());
}

void SharedMemoryMap::placeBarriers(AllocRingOp ring) {
  SharedPlace &place = places[ring];
  int64_t stages = ring.getType().allStages();
  place.full = end;
  place.empty = end + kBarrierBytes * stages;
  end += (ring.getReaders() ? 2 : 1) * kBarrierBytes * stages;
  place.noteBytes = ring.getType().getNote() * kWordBytes;
  if (!place.noteBytes)
    return;
  place.notes = llvm::alignTo(end, kNoteAlignment);
  end = place.notes + place.noteBytes * stages;
}
