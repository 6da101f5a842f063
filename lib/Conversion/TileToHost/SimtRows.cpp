//===- SimtRows.cpp - kernels of rows whose lanes share a row -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtRows.h"
#include "KVRows.h"
#include "LaneRow.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

using Predicate = arith::CmpIPredicate;

SmallVector<Operation *> host::rowWorks(Operation *op) {
  if (isa<tile::RowsOp, tile::AppendOp>(op))
    return {op};
  SmallVector<Operation *> works;
  if (auto together = dyn_cast<tile::TogetherOp>(op))
    for (Operation &work : together.getBody().front())
      works.push_back(&work);
  return works;
}

RowShare host::shareOfRow(int64_t dim, Region &body, int64_t maxLanes) {
  // Elements of a piece, 16 bytes of them where they have 16 bits.
  constexpr int64_t kMaxWidth = 8;
  int64_t width = std::gcd(kMaxWidth, dim);
  auto turning = [](tile::RopeOp rope) { // elements that a lane must have a whole number of
    int64_t pairs = cast<MemRefType>(rope.getCos().getType()).getDimSize(1);
    return rope.getPairing() == attn::Pairing::HalfSplit ? pairs : 2 * pairs;
  };
  for (auto rope : body.getOps<tile::RopeOp>())
    width = std::gcd(width, turning(rope));
  int64_t lanes = std::gcd(maxLanes, dim / width);
  for (auto rope : body.getOps<tile::RopeOp>())
    lanes = std::gcd(lanes, turning(rope) / width);
  return {width, lanes};
}

//===----------------------------------------------------------------------===//
// What flows from where to where
//===----------------------------------------------------------------------===//

namespace {

/// Rows of one buffer on their way through one region.
struct Stream {
  Value input;
  Region *body;
  Value batch;           ///< null where no row asks for its position
  Value output;          ///< of tile.rows
  tile::AppendOp append; ///< or what the rows are new keys or values of
  bool isKey = false;
  RowShare share = {};

  int64_t heads() const { return cast<MemRefType>(input.getType()).getDimSize(1); }
  int64_t dim() const { return cast<MemRefType>(input.getType()).getDimSize(2); }
  /// Threads of a token.
  int64_t threads() const { return heads() * share.lanes; }
};

} // namespace

static SmallVector<Stream> streamsOf(ArrayRef<Operation *> works, int64_t maxLanes) {
  SmallVector<Stream> streams;
  for (Operation *work : works) {
    if (auto rows = dyn_cast<tile::RowsOp>(work)) {
      streams.push_back({rows.getInput(), &rows.getBody(), rows.getBatch(), rows.getOutput(), {}});
      continue;
    }
    auto append = cast<tile::AppendOp>(work);
    Value batch = append.getBatch();
    streams.push_back({append.getKey(), &append.getKeyBody(), batch, {}, append, true});
    streams.push_back({append.getValue(), &append.getValueBody(), batch, {}, append, false});
  }
  for (Stream &stream : streams)
    stream.share = shareOfRow(stream.dim(), *stream.body, maxLanes);
  return streams;
}

int64_t host::rowThreads(ArrayRef<Operation *> works, int64_t tokens, int64_t maxLanes) {
  int64_t threads = 0;
  for (const Stream &stream : streamsOf(works, maxLanes))
    threads += llvm::alignTo(tokens * stream.threads(), hopper::kWarp);
  return threads;
}

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

static void storeRow(SimtKernel &kernel, const Stream &stream, LaneRow &row,
                     const RowPlace &place) {
  row.apply(*stream.body, place);
  kernel.requireAligned(stream.output, stream.share.width);
  row.store(kernel.find(stream.output), {place.token, place.head});
}

static void appendRow(SimtKernel &kernel, const Stream &stream, LaneRow &row, const RowPlace &place,
                      const Request &request) {
  HostBuilder &b = kernel.builder();
  tile::AppendOp append = stream.append;
  KVRows pages(kernel, append.getKv());
  auto paged = append.getKv().getDefiningOp<tile::PagedOp>();
  kernel.requireAligned(stream.isKey ? paged.getKPages() : paged.getVPages(), stream.share.width);
  b.ifThen(b.compare(Predicate::sge, place.position, b.index(0)), [&] {
    HostBuilder::Values where = pages.locate(request.number, place.position, place.head);
    row.apply(*stream.body, place);
    kernel.ifPageExists(request, where.front(), pages.poolSize(), [&] {
      Value scale = stream.isKey ? pages.keyScale(place.head) : pages.valueScale(place.head);
      row.store(stream.isKey ? pages.keys() : pages.values(), where, scale);
    });
  });
}

/// `thread` counts the threads of the stream: lanes of a row, rows of a token, tokens.
static void emitRow(SimtKernel &kernel, const Stream &stream, Value thread) {
  HostBuilder &b = kernel.builder();
  Value lane = b.remainder(thread, stream.share.lanes), row = b.divide(thread, stream.share.lanes);
  Value head = b.remainder(row, stream.heads()), token = b.divide(row, stream.heads());
  // Read ahead of all that depends on lengths and page tables.
  LaneRow part(kernel, stream.input, token, head, stream.share, lane);
  if (!stream.batch)
    return storeRow(kernel, stream, part, {token, head, {}});
  kernel.withRequestOf(stream.batch, token, [&](const Request &request) {
    Value before = b.sub(request.kvLen, request.qLen);
    RowPlace place{token, head, b.add(before, b.sub(token, request.firstRow))};
    if (stream.append)
      appendRow(kernel, stream, part, place, request);
    else
      storeRow(kernel, stream, part, place);
  });
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

void host::emitSimtRows(SimtKernel &kernel, ArrayRef<Operation *> works, int64_t maxLanes) {
  HostBuilder &b = kernel.builder();
  SmallVector<Stream> streams = streamsOf(works, maxLanes);
  // A stream starts at a whole warp, so that the lanes of a row are lanes of one warp.
  SmallVector<Value> starts{b.index(0)}, counts;
  SetVector<Value> batches;
  for (const Stream &stream : streams) {
    Value count = b.mul(b.dim(kernel.find(stream.input), 0), stream.threads());
    counts.push_back(count);
    Value whole = stream.threads() % hopper::kWarp
                      ? b.mul(b.ceilDivide(count, hopper::kWarp), hopper::kWarp)
                      : count;
    starts.push_back(b.add(starts.back(), whole));
    if (stream.batch)
      batches.insert(stream.batch);
  }
  kernel.forTickets(starts.back(), [&](Value ticket) {
    for (auto [stream, start, count] : llvm::zip(streams, starts, counts)) {
      Value thread = b.sub(ticket, start);
      // Unsigned: tickets before the start are none of the stream's.
      b.ifThen(b.compare(Predicate::ult, thread, count), [&] { emitRow(kernel, stream, thread); });
    }
  });
  for (Value batch : batches)
    kernel.reportRequests(batch);
}
