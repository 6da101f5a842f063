//===- ScheduleTable.cpp - Hopper's schedules -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/ScheduleTable.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/Hopper/PipelinedForm.h"
#include "pagefold/Target/Hopper/StreamingForm.h"

using namespace pagefold;

/// The pipeline's tiles of these head dims must fit in shared memory and registers.
template <int64_t max> static std::string pipelined(const SpaceShape &shape) {
  if (std::max(shape.kDim, shape.vDim) > max)
    return ("head dimensions above " + llvm::Twine(max)).str();
  return hopper::pipelinedRefusal(shape.space);
}

/// Enough parts that every thread of the grid has a row, each of keys enough that their merge costs
/// little beside them. The standard form is not split.
static int64_t simtSplits(const SpaceShape &shape) {
  constexpr int64_t kMinKeys = 256, kMaxSplits = 128;
  if (tile::SpaceOp(shape.space).getBody().front().getOps<tile::FoldOp>().empty())
    return 1;
  int64_t threads = hopper::kSimtLaunch.exactCtas * hopper::kSimtLaunch.threads;
  int64_t wanted = std::min(threads / shape.allRows, shape.kvLen / kMinKeys);
  return std::clamp<int64_t>(wanted, 1, kMaxSplits);
}

/// The most parts of a query tile's keys: where fewer than half as many tiles as multiprocessors
/// are there, the kernel splits them (it decides on the device). A space that may have many times
/// as many tiles is compiled without: it will hardly ever be that small.
static int64_t pipelinedParts(const SpaceShape &shape) {
  constexpr int64_t kQTile = 128, kMaxTiles = 2048, kMinKeys = 512, kMaxParts = 32;
  if (shape.allRows > kMaxTiles * kQTile)
    return 1;
  return std::clamp<int64_t>(shape.kvLen / kMinKeys, 1, kMaxParts);
}

/// One part: where there are several, how many depends on the batch.
static int64_t onePart(const SpaceShape &) { return 1; }

template <bool bytes> static std::string streaming(const SpaceShape &shape) {
  mlir::Type element = tile::SpaceOp(shape.space).getKv().getType().getElementType();
  if (mlir::isa<mlir::Float8E4M3FNType>(element) != bytes)
    return bytes ? "keys are not of 8 bits" : "keys are of 8 bits";
  return hopper::streamingRefusal(shape.space, tile::boundsOf(tile::SpaceOp(shape.space)));
}

static int64_t streamingPieces(const SpaceShape &shape) {
  return hopper::fixedPieces(shape.space, tile::boundsOf(tile::SpaceOp(shape.space)));
}

static constexpr ScheduleRow kTable[] = {
    {"streaming", hopper::kMaxStreamedRows, streaming<false>, tile::ScheduleKind::Streaming, 16, 16,
     nullptr, streamingPieces,
     "few query rows: every warp reads its share of all keys through a ring of its own"},
    {"streaming-bytes", hopper::kMaxStreamedRows, streaming<true>, tile::ScheduleKind::Streaming,
     16, 32, nullptr, streamingPieces, "as streaming, with as many bytes of keys of 8 bits"},
    {"pipelined", kAnyRows, pipelined<128>, tile::ScheduleKind::Pipelined, 128, 128, pipelinedParts,
     onePart, "16-bit elements: tiles by TMA into rings, products by two warpgroups"},
    {"pipelined-wide", kAnyRows, pipelined<256>, tile::ScheduleKind::Pipelined, 128, 64,
     pipelinedParts, onePart, "as pipelined, with KV tiles of wide rows that fit in shared memory"},
    {"simt", kAnyRows, nullptr, tile::ScheduleKind::Simt, 1, 16, simtSplits, nullptr,
     "any element and any query region: one thread a row, whose state stays in registers"},
};

/// Not at memory's rate but at that of the L2, which serves a prefix to all requests but the first,
/// and with what small attention kernels cost besides their launch. Measured on the three kernels
/// of a cascade (docs/performance.md): they are worth it from about 192 MiB on.
static constexpr int64_t kLaunchBytes = 64 << 20;

const ScheduleTable &hopper::scheduleTable() {
  static const ScheduleTable table = {"cuda", "streaming, pipelined or simt", kTable,
                                      /*maxHeadDim=*/256,
                                      /*launchBytes=*/kLaunchBytes};
  return table;
}
