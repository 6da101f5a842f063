//===- KernelAbout.cpp - what a plan says of a kernel to explain it -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Conversion/KernelAbout.h"
#include "WorkProgram.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;

namespace {

/// The launch's argument that a value is, or nothing.
std::optional<int64_t> argumentOf(Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  return argument ? std::optional<int64_t>(argument.getArgNumber()) : std::nullopt;
}

template <typename Op> Op only(Block &block) {
  auto ops = block.getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

class AboutBuilder {
public:
  AboutBuilder(Operation *op, const SpaceFacts &facts) : op(op), facts(facts), b(op) {}

  DictionaryAttr build() {
    if (auto space = dyn_cast<tile::SpaceOp>(op)) {
      describeSpace(space);
      if (auto append = only<tile::AppendOp>(space.getBody().front()))
        describeTraffic(append);
    } else {
      describeTraffic(op);
    }
    if (known && !traffic.empty())
      about.set("traffic", b.getArrayAttr(traffic));
    return about.getDictionary(b.getContext());
  }

private:
  // Spaces.
  void describeSpace(tile::SpaceOp space);
  bool bindLengths(tile::SpaceOp space, NamedAttrList &list);
  bool bindMask(tile::MaskOp mask, NamedAttrList &list);
  void describeMask(tile::SpaceOp space, tile::MaskOp mask, NamedAttrList &list);
  std::optional<ArrayAttr> argumentsOf(ValueRange values);

  // All else.
  void describeTraffic(Operation *work);
  void moves(Value buffer, Value tokens = {});

  void number(NamedAttrList &list, StringRef key, int64_t value) {
    list.set(key, b.getI64IntegerAttr(value));
  }
  void flag(NamedAttrList &list, StringRef key, bool value) {
    if (value)
      list.set(key, b.getBoolAttr(true));
  }

  Operation *op;
  const SpaceFacts &facts;
  Builder b;
  NamedAttrList about;
  SmallVector<Attribute> traffic;
  bool known = true; ///< every buffer's extent is an argument's
};

} // namespace

static int64_t elementBytes(Type type) { return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }
static int64_t elementBytes(Value buffer) {
  return elementBytes(cast<MemRefType>(buffer.getType()).getElementType());
}

//===----------------------------------------------------------------------===//
// A space
//===----------------------------------------------------------------------===//

/// What is written for a query row of one head.
static int64_t outputRowBytes(tile::SpaceOp space) {
  int64_t vDim = space.getKv().getType().getVDim();
  Block &body = space.getBody().front();
  constexpr int64_t kFloat = 4;
  if (auto finish = only<tile::FinishOp>(body))
    return vDim * elementBytes(finish.getOutput()) + (finish.getLse() ? kFloat : 0);
  return (2 + vDim) * kFloat * space.getSchedule()->getSplits(); // states, merged by a later kernel
}

std::optional<ArrayAttr> AboutBuilder::argumentsOf(ValueRange values) {
  SmallVector<int64_t> arguments;
  for (Value value : values) {
    std::optional<int64_t> argument = argumentOf(value);
    if (!argument)
      return std::nullopt;
    arguments.push_back(*argument);
  }
  return b.getI64ArrayAttr(arguments);
}

/// False where lengths are computed by the graph: they are not known before the launch.
bool AboutBuilder::bindLengths(tile::SpaceOp space, NamedAttrList &list) {
  auto batch = space.getBatch().getDefiningOp<tile::BatchOp>();
  auto paged = space.getKv().getDefiningOp<tile::PagedOp>();
  auto dense = space.getKv().getDefiningOp<tile::DenseOp>();
  if (!batch || (!paged && !dense))
    return false;
  std::optional<int64_t> rows = argumentOf(batch.getRows());
  std::optional<int64_t> keys = argumentOf(paged ? paged.getLens() : dense.getRows());
  if (!rows || !keys)
    return false;
  number(list, "rows", *rows);
  number(list, paged ? "lens" : "key_rows", *keys);
  return true;
}

bool AboutBuilder::bindMask(tile::MaskOp mask, NamedAttrList &list) {
  std::optional<ArrayAttr> symbols = argumentsOf(mask.getSymbols());
  std::optional<ArrayAttr> rowValues = argumentsOf(mask.getRowValues());
  if (!symbols || !rowValues)
    return false;
  if (!symbols->empty())
    list.set("symbols", *symbols);
  if (!rowValues->empty())
    list.set("row_values", *rowValues);
  return true;
}

void AboutBuilder::describeMask(tile::SpaceOp space, tile::MaskOp mask, NamedAttrList &list) {
  int64_t kvTile = space.getSchedule()->getKvTile();
  WorkPrograms programs = writeWorkPrograms(b.getContext(), mask.getSets().getMaskSets(), kvTile);
  auto fold = only<tile::FoldOp>(space.getBody().front());
  if (fold && fold.getVisits()) {
    list.set("ranges", b.getStrArrayAttr(programs.ranges));
    list.set("visits", b.getStringAttr(programs.visits));
    list.set("test", b.getStringAttr(programs.test));
  }
  list.set("visible", b.getStringAttr(programs.visible));
  flag(list, "bitmap", bool(mask.getBitmap()));
}

void AboutBuilder::describeSpace(tile::SpaceOp space) {
  std::optional<tile::ScheduleAttr> schedule = space.getSchedule();
  if (!schedule)
    return;
  tile::KVType kv = space.getKv().getType();
  about.set("form", b.getStringAttr(tile::stringifyScheduleKind(schedule->getKind())));
  if (facts.stages)
    number(about, "stages", facts.stages);
  if (kv.getPageSize())
    about.set("pages", b.getStringAttr(facts.pages));
  if (facts.boxKeys)
    number(about, "box_keys", facts.boxKeys);
  tile::MaskOp mask;
  space.getBody().walk(
      [&](tile::MapOp map) { mask = map.getMask().getDefiningOp<tile::MaskOp>(); });
  auto load = only<tile::LoadQOp>(space.getBody().front());
  NamedAttrList list;
  if (!mask || !load || !bindLengths(space, list) || !bindMask(mask, list))
    return;
  describeMask(space, mask, list);
  number(list, "kv_heads", kv.getHeads());
  number(list, "group", space.getGroup());
  number(list, "k_dim", kv.getKDim());
  number(list, "v_dim", kv.getVDim());
  number(list, "q_tile", schedule->getQTile());
  number(list, "kv_tile", schedule->getKvTile());
  number(list, "splits", schedule->getSplits());
  // Absent flags are false.
  flag(list, "packed", facts.packed);
  flag(list, "one_range", facts.oneRange);
  flag(list, "never_empty", facts.neverEmpty);
  flag(list, "tensor_cores", facts.tensorCores);
  if (facts.groupRows)
    number(list, "group_rows", facts.groupRows);
  list.set("share", b.getStringAttr(facts.share));
  number(list, "row_unit", facts.rowUnit);
  number(list, "workers", facts.workers);
  number(list, "kv_row_bytes", (kv.getKDim() + kv.getVDim()) * elementBytes(kv.getElementType()));
  number(list, "query_row_bytes", kv.getKDim() * elementBytes(load.getQuery()));
  number(list, "output_row_bytes", outputRowBytes(space));
  number(list, "page", kv.getPageSize());
  if (space.getMinQLen())
    number(list, "min_q_len", *space.getMinQLen());
  if (space.getMaxQLen())
    number(list, "max_q_len", *space.getMaxQLen());
  about.set("space", list.getDictionary(b.getContext()));
}

//===----------------------------------------------------------------------===//
// All else
//===----------------------------------------------------------------------===//

/// Counts a buffer, of which all rows are moved: as many as its first extent, or that of `tokens`.
void AboutBuilder::moves(Value buffer, Value tokens) {
  if (!buffer)
    return;
  auto type = cast<MemRefType>(buffer.getType());
  // The one dynamic extent of a buffer counts tokens; partial states have it second.
  int64_t bytes = elementBytes(buffer), dynamic = 0;
  for (int64_t extent : type.getShape())
    ShapedType::isDynamic(extent) ? ++dynamic : bytes *= extent;
  if (tokens)
    buffer = tokens;
  std::optional<int64_t> argument = argumentOf(buffer);
  if (auto place = buffer.getDefiningOp<tile::WorkspaceOp>(); place && !place.getDims().empty())
    if (auto dim = place.getDims().front().getDefiningOp<memref::DimOp>())
      argument = argumentOf(dim.getSource());
  if (dynamic > 1 || (dynamic && !argument)) {
    known = false;
    return;
  }
  NamedAttrList entry;
  number(entry, "arg", dynamic ? *argument : -1);
  number(entry, "bytes", bytes);
  traffic.push_back(entry.getDictionary(b.getContext()));
}

void AboutBuilder::describeTraffic(Operation *work) {
  llvm::TypeSwitch<Operation *>(work)
      .Case([&](tile::TogetherOp together) {
        for (Operation &part : together.getBody().front())
          describeTraffic(&part);
      })
      .Case([&](tile::RowsOp rows) {
        moves(rows.getInput());
        moves(rows.getOutput());
      })
      .Case([&](tile::AppendOp append) {
        // Read, and written as elements of the pages.
        int64_t element = elementBytes(append.getKv().getType().getElementType());
        for (Value rows : {append.getKey(), append.getValue()}) {
          auto type = cast<MemRefType>(rows.getType());
          moves(rows);
          std::optional<int64_t> argument = argumentOf(rows);
          if (!argument) {
            known = false;
            continue;
          }
          NamedAttrList entry;
          number(entry, "arg", *argument);
          number(entry, "bytes", type.getDimSize(1) * type.getDimSize(2) * element);
          traffic.push_back(entry.getDictionary(b.getContext()));
        }
      })
      .Case([&](tile::MergeSplitsOp merge) {
        for (Value buffer : {merge.getPartials(), merge.getOutput(), merge.getLse()})
          moves(buffer);
      })
      .Case([&](tile::MergeOp merge) {
        for (Value buffer : merge->getOperands())
          moves(buffer);
      })
      .Case([&](linalg::GenericOp generic) {
        for (Value operand : generic->getOperands())
          if (isa<MemRefType>(operand.getType()))
            moves(operand);
      })
      .Default([&](Operation *) { known = false; });
}

DictionaryAttr pagefold::aboutKernel(Operation *op, const SpaceFacts &facts) {
  return AboutBuilder(op, facts).build();
}
