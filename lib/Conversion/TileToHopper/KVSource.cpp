//===- KVSource.cpp - how the producer finds keys and values --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KVSource.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static constexpr int64_t kPanel = 64; // 16-bit elements

KVSource::KVSource(SpaceKernel &kernel, const PipelinedSpace &space)
    : kernel(kernel), b(kernel.builder()), space(space), lane(b.lane()) {}

void KVSource::bringKeys(Value ring, Value turn, const Request &request, Value kvHead, Value tile,
                         ValueRange found) {
  AcquireOp::create(b, ring, turn);
  copy(keys, ring, turn, request, kvHead, tile, found);
}

void KVSource::bringValues(Value ring, Value turn, const Request &request, Value kvHead, Value tile,
                           ValueRange found) {
  AcquireOp::create(b, ring, turn);
  copy(values, ring, turn, request, kvHead, tile, found);
}

namespace {

//===----------------------------------------------------------------------===//
// Dense rows
//===----------------------------------------------------------------------===//

class DenseSource : public KVSource {
public:
  DenseSource(SpaceKernel &kernel, const PipelinedSpace &space) : KVSource(kernel, space) {
    tile::DenseOp dense = space.dense;
    keys = side(dense.getKey(), space.kDim);
    values = side(dense.getValue(), space.vDim);
  }
  bool usesOneLane() const override { return true; }
  Values lookUp(const Request &, Value) override { return {}; }

private:
  Side side(Value buffer, int64_t dim) {
    int64_t panels = panelsOf(dim);
    if (isWholePanels(dim)) {
      int64_t panelBytes = kHopper.swizzleBytes;
      return {buffer,
              kernel.map(buffer, {kPanel, space.kvTile, panels, 1},
                         {MapDim::inner(kPanel), MapDim::whole(0),
                          MapDim::fixed(panels, panelBytes), MapDim::whole(1)}),
              dim, true, {}, {}, {}};
    }
    return {buffer,
            kernel.map(buffer, {kPanel, space.kvTile, 1},
                       {MapDim::inner(dim), MapDim::whole(0), MapDim::whole(1)}),
            dim, false, {}, {}, {}};
  }

  void copy(const Side &side, Value ring, Value turn, const Request &request, Value kvHead,
            Value tile, ValueRange) override {
    Value row = b.add(request.keys, b.mul(tile, space.kvTile)), zero = b.i32(0);
    ExpectOp::create(b, ring, turn);
    if (side.panelsInMap) {
      FillOp::create(b, ring, turn, IntegerAttr(), Value(), side.map,
                     ValueRange{zero, row, zero, kvHead}, b.getUnitAttr());
      return;
    }
    for (int64_t panel = 0; panel < panelsOf(side.dim); ++panel)
      FillOp::create(b, ring, turn, b.getI64IntegerAttr(panel), Value(), side.map,
                     ValueRange{b.i32(panel * kPanel), row, kvHead}, b.getUnitAttr());
  }
};

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// Lane i brings rows i x boxRows and on. A page past the length has the number -1: TMA fills
/// zeros.
class PageSource : public KVSource {
public:
  PageSource(SpaceKernel &kernel, const PipelinedSpace &space)
      : KVSource(kernel, space), page(space.pageSize),
        boxRows(space.boxRows()), boxes(space.kvTile / boxRows) {
    tile::PagedOp paged = space.paged;
    keys = side(paged.getKPages(), space.kDim);
    values = side(paged.getVPages(), space.vDim);
    pages = b.min(kernel.extent(paged.getKPages(), 0), kernel.extent(paged.getVPages(), 0));
    firstRow = b.mul(lane, boxRows);
    hasBox = b.less(lane, b.i32(boxes));
  }

  bool usesOneLane() const override { return false; }

  Values lookUp(const Request &request, Value tile) override {
    tile::PagedOp paged = space.paged;
    Value key = b.add(b.mul(tile, space.kvTile), firstRow);
    Value wanted = b.both(b.both(b.atLeast(key, b.i32(0)), b.less(key, request.kvLen)), hasBox);
    Value column = b.divide(key, page), index;
    if (request.keys)
      index = b.widen(b.add(request.keys, column));
    else
      index = b.add(b.mul(b.widen(request.number), kernel.stride(paged.getTable(), 0)),
                    b.widen(column));
    Value number = LoadOp::create(b, b.getI32Type(), kernel.pointer(paged.getTable()), index,
                                  wanted, b.i32(-1));
    Value outside = b.compare(arith::CmpIPredicate::uge, number, pages);
    ReportOp::create(b, kernel.errorWord(), request.number, number, pages,
                     static_cast<int64_t>(host::Reason::PageId), b.both(wanted, outside));
    return {b.select(outside, b.i32(-1), number)};
  }

private:
  Side side(Value buffer, int64_t dim) {
    int64_t panels = panelsOf(dim);
    if (space.orderOf(dim) == Order::Octets) {
      auto step = [&](StringRef of) { return kernel.pageStep(buffer, panels, of); };
      return {buffer, kernel.pageMap(buffer, panels, boxRows), dim, true, step("head_panel"),
              step("head_page"), step("page")};
    }
    if (isWholePanels(dim))
      return {buffer,
              kernel.map(buffer, {kPanel, boxRows, 1, 1, 1},
                         {MapDim::inner(kPanel), MapDim::whole(1),
                          MapDim::fixed(panels, kHopper.swizzleBytes), MapDim::whole(2),
                          MapDim::whole(0)}),
              dim, true, {}, {}, {}};
    return {buffer,
            kernel.map(buffer, {kPanel, boxRows, 1, 1},
                       {MapDim::inner(dim), MapDim::whole(1), MapDim::whole(2), MapDim::whole(0)}),
            dim, false, {}, {}, {}};
  }

  void copy(const Side &side, Value ring, Value turn, const Request &, Value kvHead, Value tile,
            ValueRange found) override {
    b.ifThen(b.equal(lane, b.i32(0)), [&] { ExpectOp::create(b, ring, turn); });
    SyncWarpOp::create(b);
    Value slot = page > boxRows
                     ? b.remainder(b.add(b.mul(tile, space.kvTile), firstRow), page)
                     : b.i32(0);
    b.ifThen(hasBox, [&] {
      if (side.isOctets()) {
        Value at = b.add(b.mul(found[0], side.pageStep), b.mul(kvHead, side.headPage));
        FillOp::create(b, ring, turn, IntegerAttr(), firstRow, side.map,
                       ValueRange{b.i32(0), b.i32(0), b.mul(kvHead, side.headPanel),
                                  b.divide(slot, kHopper.octetRows), at},
                       b.getUnitAttr());
        return;
      }
      for (int64_t panel = 0; panel < panelsOf(side.dim); ++panel) {
        Values at = side.panelsInMap ? Values{b.i32(0), slot, b.i32(panel), kvHead, found[0]}
                                     : Values{b.i32(panel * kPanel), slot, kvHead, found[0]};
        FillOp::create(b, ring, turn, b.getI64IntegerAttr(panel), firstRow, side.map, at,
                       b.getUnitAttr());
      }
    });
    SyncWarpOp::create(b);
  }

  int64_t page, boxRows, boxes;
  Value pages, firstRow, hasBox;
};

} // namespace

std::unique_ptr<KVSource> KVSource::create(SpaceKernel &kernel, const PipelinedSpace &space) {
  if (space.dense)
    return std::make_unique<DenseSource>(kernel, space);
  return std::make_unique<PageSource>(kernel, space);
}
