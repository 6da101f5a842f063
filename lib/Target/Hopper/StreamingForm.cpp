//===- StreamingForm.cpp - which spaces are streamed ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Hopper/StreamingForm.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/Hopper/PipelinedForm.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

/// Beside rings and states: barriers.
static constexpr int64_t kSharedSlack = 512;
/// Slices that a warp has under way; more bring nothing.
static constexpr int64_t kMinStages = 2, kMaxStages = 3;

static int64_t sliceBytes(int64_t dim) {
  return llvm::alignTo(2 * dim, hopper::kHopper.swizzleBytes) * hopper::kSliceKeys;
}

std::optional<hopper::StreamingShape> hopper::streamingShape(int64_t kDim, int64_t vDim,
                                                             int64_t packedRows) {
  constexpr int64_t kWordBytes = 4, kNotes = 2;
  for (int64_t warps : {8, 4}) {
    // A warp's second state lies in the ring of its keys.
    int64_t stateBytes = packedRows * stateWords(vDim) * kWordBytes;
    int64_t beside = warps * (stateBytes + kNotes * kPieceWords * kWordBytes);
    int64_t sliceOfAll = warps * (sliceBytes(kDim) + sliceBytes(vDim));
    int64_t stages = (kHopper.sharedMemory - kSharedSlack - beside) / sliceOfAll;
    stages = std::min(stages, kMaxStages);
    if (stages >= kMinStages && stages * sliceBytes(kDim) >= stateBytes)
      return StreamingShape{warps, stages};
  }
  return std::nullopt;
}

int64_t hopper::fixedPieces(tile::SpaceOp space, attn::BoundsAttr bounds) {
  constexpr int64_t kMaxBytes = 64 << 20, kMinSlices = 32, kMost = 64, kFloatBytes = 4;
  tile::KVType kv = space.getKv().getType();
  int64_t rows = llvm::alignTo(space.mostQueryRows(bounds.getQLen()) * space.getGroup(), 8);
  int64_t stateBytes = rows * (llvm::alignTo(kv.getVDim(), 16) + 16) * kFloatBytes;
  int64_t fitting = kMaxBytes / (stateBytes * bounds.getBatch() * kv.getHeads());
  int64_t useful = llvm::divideCeil(bounds.getKvLen(), kMinSlices * kSliceKeys);
  return std::clamp<int64_t>(std::min(fitting, useful), 2, kMost); // 1 stands for cuts anywhere
}

std::string hopper::streamingRefusal(tile::SpaceOp space, attn::BoundsAttr bounds) {
  tile::KVType kv = space.getKv().getType();
  int64_t packed = space.mostQueryRows(bounds.getQLen()) * space.getGroup(),
          page = kv.getPageSize();
  if (packed > kMaxStreamedRows)
    return (llvm::Twine(packed) + " packed rows, it takes " + llvm::Twine(kMaxStreamedRows)).str();
  if (page % kSliceKeys)
    return ("pages of " + llvm::Twine(page) + " keys, no multiple of " + llvm::Twine(kSliceKeys))
        .str();
  if (!streamingShape(kv.getKDim(), kv.getVDim(), packed))
    return "its rings and states do not fit in shared memory";
  int64_t slices = llvm::divideCeil(bounds.getKvLen(), kSliceKeys);
  if (bounds.getBatch() * kv.getHeads() > std::numeric_limits<int32_t>::max() / slices)
    return "more slices of keys than 32 bits count";
  return pipelinedRefusal(space);
}
