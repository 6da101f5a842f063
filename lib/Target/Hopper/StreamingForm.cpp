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

/// Of a batch: i32 also holds two places more for each segment, and all rounded up to one for each
/// warp of a CTA.
static constexpr int64_t kMaxSlices = std::numeric_limits<int32_t>::max() / 3 - 8;

static bool isByte(Type element) { return isa<Float8E4M3FNType>(element); }

int64_t hopper::sliceKeys(Type element) { return isByte(element) ? 2 * kBlockKeys : kBlockKeys; }

static int64_t sliceBytes(int64_t dim, Type element) {
  int64_t rowBytes = dim * element.getIntOrFloatBitWidth() / 8;
  return llvm::alignTo(rowBytes, hopper::kHopper.swizzleBytes) * hopper::sliceKeys(element);
}

std::optional<hopper::StreamingShape> hopper::streamingShape(tile::KVType kv, int64_t packedRows) {
  constexpr int64_t kWordBytes = 4, kNotes = 2;
  int64_t keys = sliceBytes(kv.getKDim(), kv.getElementType());
  int64_t values = sliceBytes(kv.getVDim(), kv.getElementType());
  for (int64_t warps : {8, 4}) {
    // A warp's second state lies in the ring of its keys.
    int64_t stateBytes = packedRows * stateWords(kv.getVDim()) * kWordBytes;
    int64_t beside = warps * (stateBytes + kNotes * kPieceWords * kWordBytes);
    int64_t stages = (kHopper.sharedMemory - kSharedSlack - beside) / (warps * (keys + values));
    stages = std::min(stages, kMaxStages);
    if (stages >= kMinStages && stages * keys >= stateBytes)
      return StreamingShape{warps, stages};
  }
  return std::nullopt;
}

int64_t hopper::fixedPieces(tile::SpaceOp space, attn::BoundsAttr bounds) {
  // A warp merges all pieces of a segment, one after another: more cost more than they save.
  constexpr int64_t kMaxBytes = 64 << 20, kMost = 16, kFloatBytes = 4;
  tile::KVType kv = space.getKv().getType();
  int64_t rows = llvm::alignTo(space.mostQueryRows(bounds.getQLen()) * space.getGroup(), 8);
  int64_t stateBytes = rows * (llvm::alignTo(kv.getVDim(), 16) + 16) * kFloatBytes;
  int64_t fitting = kMaxBytes / (stateBytes * bounds.getBatch() * kv.getHeads());
  int64_t useful = llvm::divideCeil(bounds.getKvLen(), kMinPieceSlices * kBlockKeys);
  return std::clamp<int64_t>(std::min(fitting, useful), 2, kMost); // 1 stands for cuts anywhere
}

static std::string keyRefusal(tile::SpaceOp space) {
  tile::KVType kv = space.getKv().getType();
  Type element = kv.getElementType(), query = hopper::queryElement(space);
  if (!isByte(element) && !element.isBF16() && !element.isF16())
    return "keys are of none of bf16, f16 and f8E4M3FN";
  if (!isByte(element))
    return !query || query == element ? "" : "queries, keys and results differ in their elements";
  constexpr int64_t kMaxByteDim = 128;
  if (int64_t dim = std::max(kv.getKDim(), kv.getVDim()); dim > kMaxByteDim)
    return ("head dimensions above " + llvm::Twine(kMaxByteDim) + " of 8 bits").str();
  constexpr int64_t kUnit = 16; // TMA's rows
  return kv.getKDim() % kUnit || kv.getVDim() % kUnit
             ? "head dimensions of 8 bits that are no multiple of 16"
             : "";
}

static bool isStreamed(tile::SpaceOp space) {
  std::optional<tile::ScheduleAttr> chosen = space.getSchedule();
  return chosen && chosen->getKind() == tile::ScheduleKind::Streaming;
}

std::string hopper::streamingRefusal(tile::SpaceOp space, attn::BoundsAttr bounds,
                                     QueryRegion region) {
  tile::KVType kv = space.getKv().getType();
  int64_t packed = space.mostQueryRows(bounds.getQLen()) * space.getGroup();
  // Once this schedule is chosen, its query tile holds them all.
  int64_t rows = isStreamed(space) ? space.getSchedule()->getQTile() : kMaxStreamedRows;
  if (packed > rows)
    return (llvm::Twine(packed) + " packed rows, it takes " + llvm::Twine(rows)).str();
  if (std::string refusal = keyRefusal(space); !refusal.empty())
    return refusal;
  if (!streamingShape(kv, packed))
    return "its rings and states do not fit in shared memory";
  int64_t slices = llvm::divideCeil(bounds.getKvLen(), kBlockKeys);
  if (bounds.getBatch() * kv.getHeads() > kMaxSlices / slices)
    return "more slices of keys than 32 bits count";
  return ringRefusal(space, region);
}
