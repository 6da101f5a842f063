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

/// Beside rings and states: barriers and alignment.
static constexpr int64_t kSharedSlack = 2048;
/// Slices that a warp has under way; more bring nothing.
static constexpr int64_t kMinStages = 2, kMaxStages = 3;

/// Of a batch: i32 also holds them rounded up to one for each warp of a CTA.
static constexpr int64_t kMaxSlices = std::numeric_limits<int32_t>::max() - 8;

static int64_t sliceBytes(int64_t dim) {
  return llvm::alignTo(2 * dim, hopper::kHopper.swizzleBytes) * hopper::kSliceKeys;
}

std::optional<hopper::StreamingShape> hopper::streamingShape(int64_t kDim, int64_t vDim,
                                                             int64_t packedRows) {
  constexpr int64_t kWordBytes = 4, kAreas = 2;
  for (int64_t warps : {8, 4}) {
    int64_t area = (packedRows * stateWords(vDim) + kPieceWords) * kWordBytes;
    int64_t room = kHopper.sharedMemory - kSharedSlack - kAreas * warps * area;
    int64_t stages = room / (warps * (sliceBytes(kDim) + sliceBytes(vDim)));
    if (stages >= kMinStages)
      return StreamingShape{warps, std::min(stages, kMaxStages)};
  }
  return std::nullopt;
}

std::string hopper::streamingRefusal(tile::SpaceOp space, attn::BoundsAttr bounds) {
  tile::KVType kv = space.getKv().getType();
  int64_t packed = bounds.getQLen() * space.getGroup(), page = kv.getPageSize();
  // Once this schedule is chosen, its query tile holds them all.
  std::optional<tile::ScheduleAttr> chosen = space.getSchedule();
  bool isChosen = chosen && chosen->getKind() == tile::ScheduleKind::Streaming;
  int64_t rows = isChosen ? chosen->getQTile() : kMaxStreamedRows;
  if (packed > rows)
    return (llvm::Twine(packed) + " packed rows, it takes " + llvm::Twine(rows)).str();
  if (page % kSliceKeys)
    return ("pages of " + llvm::Twine(page) + " keys, no multiple of " + llvm::Twine(kSliceKeys))
        .str();
  if (!streamingShape(kv.getKDim(), kv.getVDim(), packed))
    return "its rings and states do not fit in shared memory";
  int64_t slices = llvm::divideCeil(bounds.getKvLen(), kSliceKeys);
  if (bounds.getBatch() * kv.getHeads() > kMaxSlices / slices)
    return "more slices of keys than 32 bits count";
  return pipelinedRefusal(space);
}
