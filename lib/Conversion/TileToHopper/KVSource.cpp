//===- KVSource.cpp - how the producer finds keys and values --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatherSource.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

KVSource::KVSource(SpaceKernel &kernel, const PipelinedSpace &space)
    : kernel(kernel), b(kernel.builder()), space(space), lane(b.lane()) {}

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
    return {buffer, kernel.rowMap(buffer, space.kvTile), dim, {}, {}, {}};
  }

  void bring(const Side &side, Value ring, Value turn, const Request &request, Value kvHead,
             Value tile, ValueRange) override {
    AcquireOp::create(b, ring, turn);
    Value row = b.add(request.keys, b.mul(tile, space.kvTile));
    ExpectOp::create(b, ring, turn);
    for (std::optional<int64_t> panel : SpaceKernel::rowBoxes(side.buffer))
      FillOp::create(b, ring, turn, b.panelAttr(panel), Value(), side.map,
                     kernel.rowPlace(side.buffer, panel.value_or(0), row, kvHead), b.getUnitAttr());
  }
};

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// Lane i brings rows i x boxRows and on. What is no page has the number -1: TMA fills zeros.
class PageSource : public PagedSource {
public:
  PageSource(SpaceKernel &kernel, const PipelinedSpace &space)
      : PagedSource(kernel, space), page(space.pageSize), boxRows(space.boxRows()),
        boxes(space.kvTile / boxRows) {
    tile::PagedOp paged = space.paged;
    keys = side(paged.getKPages(), space.kDim);
    values = side(paged.getVPages(), space.vDim);
    firstRow = b.mul(lane, boxRows);
    hasBox = b.less(lane, b.i32(boxes));
  }

  Values lookUp(const Request &request, Value tile) override {
    return {table.find(request, b.add(b.mul(tile, space.kvTile), firstRow), hasBox)};
  }

private:
  Side side(Value buffer, int64_t dim) {
    int64_t panels = panelsOf(dim);
    if (space.orderOf(dim) == Order::Octets) {
      auto step = [&](StringRef of) { return kernel.pageStep(buffer, panels, of); };
      return {buffer,
              kernel.pageMap(buffer, panels, boxRows),
              dim,
              step("head_panel"),
              step("head_page"),
              step("page")};
    }
    SmallVector<int64_t> box{kPanelColumns, boxRows, 1, 1};
    SmallVector<MapDim> dims{MapDim::inner(dim), MapDim::whole(1), MapDim::whole(2),
                             MapDim::whole(0)};
    if (isWholePanels(dim)) {
      box.push_back(1);
      dims.front() = MapDim::inner(kPanelColumns);
      dims.insert(dims.begin() + 2, MapDim::fixed(panels, kHopper.swizzleBytes));
    }
    return {buffer, kernel.map(buffer, box, dims), dim, {}, {}, {}};
  }

  void bring(const Side &side, Value ring, Value turn, const Request &request, Value kvHead,
             Value tile, ValueRange found) override {
    auto [id, isBroken] = table.check(found[0]);
    table.report(request, found[0], isBroken);
    AcquireOp::create(b, ring, turn);
    // Bytes may arrive before they are expected: the stage is not full before the expectation.
    b.firstLane([&] { ExpectOp::create(b, ring, turn); });
    Value slot =
        page > boxRows ? b.remainder(b.add(b.mul(tile, space.kvTile), firstRow), page) : b.i32(0);
    b.ifThen(hasBox, [&] {
      if (side.isOctets()) {
        Value at = b.add(b.mul(id, side.pageStep), b.mul(kvHead, side.headPage));
        FillOp::create(b, ring, turn, IntegerAttr(), firstRow, side.map,
                       ValueRange{b.i32(0), b.i32(0), b.mul(kvHead, side.headPanel),
                                  b.divide(slot, kHopper.octetRows), at},
                       b.getUnitAttr());
        return;
      }
      for (int64_t panel = 0; panel < panelsOf(side.dim); ++panel) {
        Values at = isWholePanels(side.dim)
                        ? Values{b.i32(0), slot, b.i32(panel), kvHead, id}
                        : Values{b.i32(panel * kPanelColumns), slot, kvHead, id};
        FillOp::create(b, ring, turn, b.getI64IntegerAttr(panel), firstRow, side.map, at,
                       b.getUnitAttr());
      }
    });
  }

  int64_t page, boxRows, boxes;
  Value firstRow, hasBox;
};

} // namespace

std::unique_ptr<KVSource> KVSource::create(SpaceKernel &kernel, const PipelinedSpace &space) {
  if (space.dense)
    return std::make_unique<DenseSource>(kernel, space);
  if (space.boxRows())
    return std::make_unique<PageSource>(kernel, space);
  return std::make_unique<GatherSource>(kernel, space);
}
