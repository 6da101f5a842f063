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
static bool isHalf(Type element) { return element.isBF16() || element.isF16(); }

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
  if (!isByte(element) && !isHalf(element))
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

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

static std::string ropeRefusal(tile::RopeOp rope, int64_t span) {
  for (Value buffer : {Value(rope.getCos()), Value(rope.getSin()), Value(rope.getPositions())})
    if (buffer && !hopper::isPlainBuffer(buffer))
      return "a table of their rope is a reshaped view";
  int64_t pairs = typeOf(rope.getCos()).getDimSize(1);
  int64_t turning = rope.getPairing() == attn::Pairing::HalfSplit ? pairs : 2 * pairs;
  if (turning % span)
    return ("rope turns " + llvm::Twine(2 * pairs) +
            " elements, in parts that are no multiple of " + llvm::Twine(span))
        .str();
  return "";
}

static std::string normRefusal(tile::RmsNormOp norm) {
  if (!hopper::isPlainBuffer(norm.getWeight()))
    return "the weight of their norm is a reshaped view";
  Type element = typeOf(norm.getWeight()).getElementType();
  return isHalf(element) || element.isF32() ? "" : "the weight of their norm has 8 bits";
}

static std::string mapRefusal(tile::RowMapOp map) {
  WalkResult result = map.getBody().walk([](tile::LookupOp lookup) {
    return hopper::isPlainBuffer(lookup.getTable()) ? WalkResult::advance()
                                                    : WalkResult::interrupt();
  });
  return result.wasInterrupted() ? "a table of their elementwise op is a reshaped view" : "";
}

std::string hopper::pairsRefusal(Region &body, int64_t span) {
  for (Operation &op : body.front().without_terminator()) {
    std::string refusal;
    if (auto rope = dyn_cast<tile::RopeOp>(op))
      refusal = ropeRefusal(rope, span);
    else if (auto norm = dyn_cast<tile::RmsNormOp>(op))
      refusal = normRefusal(norm);
    else if (auto map = dyn_cast<tile::RowMapOp>(op))
      refusal = mapRefusal(map);
    else
      refusal = "their region has an op that is none of rows";
    if (!refusal.empty())
      return refusal;
  }
  return "";
}

int64_t hopper::newRowLanes(int64_t dim, Region &body) {
  for (int64_t lanes = kWarp; lanes; lanes /= 2)
    if (dim % (2 * lanes) == 0 && pairsRefusal(body, 2 * lanes).empty())
      return lanes;
  return 0;
}

std::string hopper::appendRefusal(tile::SpaceOp space, tile::AppendOp append,
                                  attn::BoundsAttr bounds) {
  if (space.getMinQLen() || space.getMaxQLen())
    return "requests of other numbers of query rows are another space's";
  for (Value rows : {Value(append.getKey()), Value(append.getValue())}) {
    if (!isPlainBuffer(rows))
      return "new keys or values are a reshaped view";
    if (!isHalf(typeOf(rows).getElementType()))
      return "new keys or values are neither bf16 nor f16";
  }
  // A warp holds the words over its fold.
  constexpr int64_t kMostWords = 16;
  int64_t words = 0, tokens = space.mostQueryRows(bounds.getQLen());
  for (auto [rows, body] : {std::pair(append.getKey(), &append.getKeyBody()),
                            std::pair(append.getValue(), &append.getValueBody())}) {
    int64_t dim = typeOf(rows).getDimSize(2), lanes = newRowLanes(dim, *body);
    if (!lanes)
      return pairsRefusal(*body, 2);
    words += llvm::divideCeil(tokens * lanes, kWarp) * (dim / (2 * lanes));
  }
  if (words > kMostWords)
    return ("the rows of " + llvm::Twine(tokens) + " new tokens are " + llvm::Twine(words) +
            " registers, a warp keeps " + llvm::Twine(kMostWords))
        .str();
  return "";
}

//===----------------------------------------------------------------------===//
// The space
//===----------------------------------------------------------------------===//

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
  if (std::string refusal = ringRefusal(space, QueryRegion::Staged);
      !refusal.empty() || region == QueryRegion::Staged)
    return refusal;
  constexpr int64_t kQuerySpan = 16;
  auto loads = space.getBody().getOps<tile::LoadQOp>();
  return pairsRefusal((*loads.begin()).getBody(), kQuerySpan);
}
