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
/// Tiles for each CTA that the tail has at least.
static constexpr int64_t kTailTiles = 3;

Values QueryTile::values() const {
  Values all{head, block, request.number};
  all.append(request.fields());
  return all;
}

QueryTile QueryTile::of(ValueRange values) {
  return {Request::of(values[2], values.drop_front(3)), values[0], values[1], {}, {}, {}};
}

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

TileOrder::Chunk TileOrder::readChunk(Value number, Value base) {
  Chunk chunk{number, base, requests.read(number), {}, {}, {}};
  chunk.blocks = b.ceilDivide(chunk.requests.qLen, space.tileQueries());
  chunk.upTo = b.warpScan(b.mul(chunk.blocks, space.tileHeads()));
  chunk.tiles = b.shuffle(chunk.upTo, b.i32(kWarp - 1));
  return chunk;
}

TileOrder::TileOrder(SpaceKernel &kernel, const PipelinedSpace &space, RequestReader &requests,
                     bool sections)
    : b(kernel.builder()), space(space), requests(requests), sections(sections),
      counter(kernel.counter()), ctas(b.ctas()) {
  longestFirst = llvm::any_of(space.bounds.any,
                              [](const KeyInterval &interval) { return !interval.upper.empty(); });
}

//===----------------------------------------------------------------------===//
// From a number to a tile
//===----------------------------------------------------------------------===//

/// Heads of a section. Where all tiles are equally long: one head after another.
Value TileOrder::sectionWidth(Value kvLen) {
  if (!longestFirst)
    return b.i32(1);
  int64_t rowBytes = (space.kDim + space.vDim) * space.element.getIntOrFloatBitWidth() / 8;
  Value kvBytes = b.mul(b.max(kvLen, b.i32(1)), rowBytes);
  Value kvHeads = b.max(b.divide(b.i32(kSectionBytes), kvBytes), b.i32(1));
  Value heads = b.i32(space.tileHeads());
  return b.min(b.mul(b.min(kvHeads, heads), space.tileHeadsOfKeys()), heads);
}

Value TileOrder::lowestLevel(const Request &request) {
  Value before = b.max(b.sub(request.kvLen, request.qLen), b.i32(0));
  return b.divide(before, space.tileQueries());
}

/// The tail starts with the section that holds the last tile from which on there are enough.
void TileOrder::findTail(const Chunk &chunk) {
  if (!sections || !longestFirst)
    return;
  Value wanted = b.mul(ctas, kTailTiles), heads = b.i32(space.tileHeads());
  // Lanes whose requests and all after them hold enough tiles; the tail starts in the last one.
  Value before = b.sub(chunk.upTo, b.mul(chunk.blocks, space.tileHeads()));
  Value enough = b.atLeast(b.sub(chunk.tiles, before), wanted);
  Value count = b.warpReduce(ReduceKind::Sum, b.select(enough, b.i32(1), b.i32(0)));
  tailLane = b.max(b.add(count, -1), b.i32(0));
  Value ownBlocks = b.shuffle(chunk.blocks, tailLane), blocks = b.max(ownBlocks, b.i32(1));
  Value end = b.shuffle(chunk.upTo, tailLane), kvLen = b.shuffle(chunk.requests.kvLen, tailLane);
  Value own = b.max(b.sub(wanted, b.sub(chunk.tiles, end)), b.i32(1));
  Value ownHeads = b.min(b.divide(b.add(b.add(own, blocks), -1), blocks), heads);
  Value width = sectionWidth(kvLen);
  tailHead = b.mul(b.divide(b.sub(heads, ownHeads), width), width);
  tailStart = b.sub(end, b.mul(b.sub(heads, tailHead), ownBlocks)); // it may have no rows
}

QueryTile TileOrder::decodeTail(const Chunk &chunk, Value inTail) {
  // What each lane's request has in the tail: how many heads, from which on, at which levels.
  Value lane = b.lane(), zero = b.i32(0), heads = b.i32(space.tileHeads());
  Value starts = b.equal(lane, tailLane), inIt = b.atLeast(lane, tailLane);
  Value firstHead = b.select(starts, tailHead, zero);
  Value width = b.select(inIt, b.sub(heads, firstHead), zero);
  Value lowest = lowestLevel(chunk.requests), top = b.add(lowest, chunk.blocks);
  // Tiles of the tail whose level is at least `level`.
  auto atLeast = [&](Value level) {
    Value blocks = b.min(b.max(b.sub(top, level), zero), chunk.blocks);
    return b.warpReduce(ReduceKind::Sum, b.mul(blocks, width));
  };
  // The highest level at which they are more than `inTail`.
  Value highest = b.warpReduce(ReduceKind::Max, b.select(inIt, top, zero));
  Values bounds = b.whileLoop(
      {zero, highest}, [&](ValueRange v) { return b.less(b.add(v[0], 1), v[1]); },
      [&](ValueRange v) {
        Value middle = b.divide(b.add(v[0], v[1]), 2);
        Value more = b.less(inTail, atLeast(middle));
        return Values{b.select(more, middle, v[0]), b.select(more, v[1], middle)};
      });
  Value level = bounds[0], block = b.sub(level, lowest);
  Value inLevel = b.sub(inTail, atLeast(b.add(level, 1)));
  Value present = b.both(b.atLeast(block, zero), b.less(block, chunk.blocks));
  Value upTo = b.warpScan(b.select(present, width, zero));
  Value ended = b.compare(arith::CmpIPredicate::sle, upTo, inLevel);
  Value from = b.warpReduce(ReduceKind::Sum, b.select(ended, b.i32(1), zero));
  Value before = b.sub(b.shuffle(upTo, from), b.shuffle(width, from));
  Value head = b.add(b.shuffle(firstHead, from), b.sub(inLevel, before));
  Request request = requests.broadcast(chunk.requests, chunk.number, from);
  return {request, head, b.shuffle(block, from), {}, {}, {}};
}

/// Tile `inRequest` of a request: sections of heads, in a section the last rows first.
QueryTile TileOrder::place(const Request &request, Value blocks, Value inRequest) {
  if (!sections) {
    Value head = b.divide(inRequest, blocks);
    return {request, head, b.sub(inRequest, b.mul(head, blocks)), {}, {}, {}};
  }
  Value heads = b.i32(space.tileHeads()), width = sectionWidth(request.kvLen);
  Value sectionTiles = b.mul(width, blocks);
  Value section = b.divide(inRequest, sectionTiles);
  Value in = b.sub(inRequest, b.mul(section, sectionTiles));
  Value firstHead = b.mul(section, width);
  Value wide = b.min(width, b.sub(heads, firstHead));
  Value order = b.divide(in, wide);
  Value head = b.add(firstHead, b.sub(in, b.mul(order, wide)));
  return {request, head, b.sub(b.add(blocks, -1), order), {}, {}, {}};
}

QueryTile TileOrder::decodeBody(const Chunk &chunk, Value inChunk) {
  // The requests that end at or before this tile are as many as the lane's number.
  Value ended = b.compare(arith::CmpIPredicate::sle, chunk.upTo, inChunk);
  Value lane = b.warpReduce(ReduceKind::Sum, b.select(ended, b.i32(1), b.i32(0)));
  Request request = requests.broadcast(chunk.requests, chunk.number, lane);
  Value blocks = b.shuffle(chunk.blocks, lane);
  Value before = b.sub(b.shuffle(chunk.upTo, lane), b.mul(blocks, space.tileHeads()));
  return place(request, blocks, b.sub(inChunk, before));
}

QueryTile TileOrder::decode(const Chunk &chunk, Value number) {
  Value inChunk = b.sub(number, chunk.base);
  if (!tailStart)
    return decodeBody(chunk, inChunk);
  SmallVector<Type> types(3 + chunk.requests.fields().size(), b.getI32Type());
  return QueryTile::of(b.ifThenElse(
      b.less(inChunk, tailStart), types, [&] { return decodeBody(chunk, inChunk).values(); },
      [&] { return decodeTail(chunk, b.sub(inChunk, tailStart)).values(); }));
}

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

/// The next number, in all lanes.
Value TileOrder::draw() {
  return b.add(b.ticket(counter, [] { return Value(); }, lastTicket), ctas);
}

TileOrder::Chunk TileOrder::advance(const Chunk &chunk, Value number) {
  Values found = b.whileLoop(
      chunk.values(),
      [&](ValueRange v) {
        Chunk now = chunkOf(v);
        Value past = b.atLeast(number, b.add(now.base, now.tiles));
        return b.both(past, b.less(b.add(now.number, 1), chunks));
      },
      [&](ValueRange v) {
        Chunk now = chunkOf(v);
        Value base = b.add(now.base, now.tiles);
        return readChunk(b.add(now.number, 1), base).values();
      });
  return chunkOf(found);
}

Values TileOrder::forEachTile(ValueRange init,
                              llvm::function_ref<Values(const QueryTile &, ValueRange)> body) {
  bool one = requests.maxChunks() == 1;
  Value zero = b.i32(0);
  chunks = b.ceilDivide(requests.batchSize(), kWarp);
  Chunk first = readChunk(zero, zero);
  if (one) {
    total = first.tiles;
    findTail(first);
  } else {
    // All chunks are read once: their sum says how many tickets this launch draws.
    total = b.whileLoop(
        {b.i32(1), first.tiles}, [&](ValueRange v) { return b.less(v[0], chunks); },
        [&](ValueRange v) {
          Chunk chunk = readChunk(v[0], v[1]);
          return Values{b.add(v[0], 1), b.add(v[1], chunk.tiles)};
        })[1];
  }
  Value items = total;
  if (space.maxParts > 1) {
    // Few tiles: as many parts of each as fill the grid, at most as many as partial states fit.
    Value fitting = b.divide(b.min(ctas, b.i32(kMaxPartials)), b.max(total, b.i32(1)));
    parts = b.max(b.min(fitting, b.i32(space.maxParts)), b.i32(1));
    items = b.mul(total, parts);
  }
  lastTicket = b.add(items, -1);
  // Carried: the caller's values, the item's number, and the chunk where there are many.
  size_t callers = init.size();
  Values carried(init);
  carried.push_back(b.cta());
  if (!one)
    carried.append(first.values());
  Values last = b.whileLoop(
      carried, [&](ValueRange v) { return b.less(v[callers], items); },
      [&](ValueRange v) {
        Value item = v[callers], number = parts ? b.divide(item, parts) : item;
        Chunk chunk = one ? first : advance(chunkOf(v.drop_front(callers + 1)), number);
        QueryTile tile = decode(chunk, number);
        if (parts) {
          tile.parts = parts;
          tile.slot = b.mul(number, parts);
          tile.part = b.sub(item, tile.slot);
        }
        Values results = body(tile, v.take_front(callers));
        results.push_back(draw());
        if (!one)
          results.append(chunk.values());
        return results;
      });
  last.resize(callers);
  return last;
}
