//===- SharedMemoryMap.h - where a kernel's shared memory lies --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles first, in the order of their allocations, each aligned to the period of the swizzle; then
// words, and the rings' barriers and notes. The verifier asks whether it fits, the lowering where
// things are.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_SHAREDMEMORYMAP_H
#define PAGEFOLD_DIALECT_HOPPER_IR_SHAREDMEMORYMAP_H

#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "llvm/ADT/DenseMap.h"

namespace pagefold::hopper {

inline constexpr int64_t kBarrierBytes = 8; ///< of an mbarrier

/// Byte offsets of one allocation in the kernel's shared memory.
struct SharedPlace {
  int64_t tiles = 0;           ///< the first tile, or word; the others follow it
  int64_t full = 0, empty = 0; ///< a ring's barriers, 8 bytes a stage; empty where it is released
  int64_t notes = 0, noteBytes = 0; ///< a ring's notes
};

class SharedMemoryMap {
public:
  explicit SharedMemoryMap(KernelOp kernel);

  const SharedPlace &of(mlir::Operation *allocation) const { return places.at(allocation); }
  int64_t bytes() const { return end; }

private:
  void placeTiles(mlir::Operation *allocation, int64_t bytes);
  void placeWords(AllocWordsOp words);
  void placeBarriers(AllocRingOp ring);

  llvm::DenseMap<mlir::Operation *, SharedPlace> places;
  int64_t end = 0;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_DIALECT_HOPPER_IR_SHAREDMEMORYMAP_H
