//===- TileOrder.cpp - which query tile comes when ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileOrder.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Bytes of K and V that a section of heads may have: with the queries they stay in the L2.
static constexpr int64_t kSectionBytes = 8 << 20;

//===----------------------------------------------------------------------===//
// Chunks of the batch
//===----------------------------------------------------------------------===//

Values TileOrder::Chunk::values() const {
  Values all{number, base, blocks, upTo, tiles, requests.number};
  all.append(requests.fields());
  return all;
}

TileOrder::Chunk TileOrder::chunkOf(ValueRange values) {
  return {values[0], values[1], Request::of(values[5], values.drop_front(6)),
          values[2], values[3], values[4]};
}

TileOrder::Chunk TileOrder::readChunk(Value number, Value base, bool report) {
  Chunk chunk{number, base, requests.read(number, report), {}, {}, {}};
  chunk.blocks = b.ceilDivide(chunk.requests.qLen, space.queriesPerTile());
  chunk.upTo = b.warpScan(b.mul(chunk.blocks, space.tileHeads()));
  chunk.tiles = b.shuffle(chunk.upTo, b.i32(kWarp - 1));
  return chunk;
}

TileOrder::TileOrder(SpaceKernel &kernel, const PipelinedSpace &space, RequestReader &requests,
                     bool sections)
    : kernel(kernel), b(kernel.builder()), space(space), requests(requests), sections(sections),
      counter(kernel.counter()), ctas(b.ctas()) {}

//===----------------------------------------------------------------------===//
// From a number to a tile
//===----------------------------------------------------------------------===//

QueryTile TileOrder::place(const Request &request, Value blocks, Value inRequest) {
  if (!sections) {
    Value head = b.divide(inRequest, blocks);
    return {request, head, b.sub(inRequest, b.mul(head, blocks))};
  }
  int64_t rowBytes = (space.kDim + space.vDim) * space.element.getIntOrFloatBitWidth() / 8;
  int64_t sharing = space.packed ? 1 : space.group; // tile heads that read one KV head
  Value heads = b.i32(space.tileHeads()), width;
  bool causal = llvm::any_of(space.bounds.any, [](const KeyInterval &interval) {
    return !interval.upper.empty();
  });
  if (causal) {
    Value kvBytes = b.mul(b.max(request.kvLen, b.i32(1)), rowBytes);
    Value kvHeads = b.max(b.divide(b.i32(kSectionBytes), kvBytes), b.i32(1));
    width = b.min(b.mul(b.min(kvHeads, heads), sharing), heads);
  } else {
    width = b.i32(1); // all tiles are equally long: one head after another
  }
  Value sectionTiles = b.mul(width, blocks);
  Value section = b.divide(inRequest, sectionTiles);
  Value in = b.sub(inRequest, b.mul(section, sectionTiles));
  Value firstHead = b.mul(section, width);
  Value wide = b.min(width, b.sub(heads, firstHead));
  Value order = b.divide(in, wide);
  Value head = b.add(firstHead, b.sub(in, b.mul(order, wide)));
  return {request, head, b.sub(b.add(blocks, -1), order)};
}

QueryTile TileOrder::decode(const Chunk &chunk, Value number) {
  Value inChunk = b.sub(number, chunk.base);
  // The requests that end at or before this tile are as many as the lane's number.
  Value ended = b.select(b.compare(arith::CmpIPredicate::sle, chunk.upTo, inChunk), b.i32(1), b.i32(0));
  Value lane = b.warpReduce(ReduceKind::Sum, ended);
  Request request = requests.broadcast(chunk.requests, chunk.number, lane);
  Value blocks = b.shuffle(chunk.blocks, lane);
  Value before = b.sub(b.shuffle(chunk.upTo, lane), b.mul(blocks, space.tileHeads()));
  return place(request, blocks, b.sub(inChunk, before));
}

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

/// The next number: one lane draws, all lanes get it.
Value TileOrder::draw() {
  Value first = b.equal(b.lane(), b.i32(0));
  Value last = b.add(total, -1);
  Values drawn = b.ifThenElse(
      first, b.getI32Type(),
      [&] { return Values{TicketOp::create(b, b.getI32Type(), counter, last).getResult()}; },
      [&] { return Values{b.i32(0)}; });
  return b.add(b.shuffle(drawn[0], b.i32(0)), ctas);
}

void TileOrder::forEachTile(ValueRange init,
                            llvm::function_ref<Values(const QueryTile &, ValueRange)> body,
                            llvm::function_ref<void(ValueRange)> end) {
  bool one = requests.maxChunks() == 1;
  Value zero = b.i32(0), chunks = b.ceilDivide(requests.batchSize(), kWarp);
  Chunk first = readChunk(zero, zero, /*report=*/true);
  if (one) {
    total = first.tiles;
  } else {
    // All chunks are read once: their sum says how many tickets this launch draws.
    Values counted = b.whileLoop(
        {b.i32(1), first.tiles}, [&](ValueRange v) { return b.less(v[0], chunks); },
        [&](ValueRange v) {
          Chunk chunk = readChunk(v[0], v[1], /*report=*/true);
          return Values{b.add(v[0], 1), b.add(v[1], chunk.tiles)};
        });
    total = counted[1];
  }
  size_t carried = init.size();
  Values start(init);
  start.push_back(b.cta());
  if (!one)
    start.append(first.values());
  Values last = b.whileLoop(
      start, [&](ValueRange v) { return b.less(v[carried], total); },
      [&](ValueRange v) {
        Value number = v[carried];
        Chunk chunk = first;
        if (!one) {
          Values found = b.whileLoop(
              v.drop_front(carried + 1),
              [&](ValueRange w) {
                Chunk now = chunkOf(w);
                return b.atLeast(number, b.add(now.base, now.tiles));
              },
              [&](ValueRange w) {
                Chunk now = chunkOf(w);
                return readChunk(b.add(now.number, 1), b.add(now.base, now.tiles), false).values();
              });
          chunk = chunkOf(found);
        }
        Value next = draw();
        Values results = body(decode(chunk, number), v.take_front(carried));
        results.push_back(next);
        if (!one)
          results.append(chunk.values());
        return results;
      });
  end(ValueRange(last).take_front(carried));
}
