//===- SpaceKernel.cpp - one kernel of level 3 and its parameters ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpaceKernel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "pagefold/Dialect/Hopper/IR/SharedMemoryMap.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static int64_t dimOf(Value rows) { return cast<MemRefType>(rows.getType()).getShape().back(); }

/// Elements of a panel of 128 bytes, and how rows of a buffer lie in panels.
static int64_t panelColumnsOf(Value rows) {
  int64_t bits = cast<MemRefType>(rows.getType()).getElementTypeBitWidth();
  return kHopper.swizzleBytes * 8 / bits;
}
static int64_t panelsOf(Value rows) { return llvm::divideCeil(dimOf(rows), panelColumnsOf(rows)); }
static bool isWholePanels(Value rows) { return dimOf(rows) % panelColumnsOf(rows) == 0; }

int64_t pagefold::hopper::panelsOf(int64_t dim) { return llvm::divideCeil(dim, kPanelColumns); }
bool pagefold::hopper::isWholePanels(int64_t dim) { return dim % kPanelColumns == 0; }

SpaceKernel::SpaceKernel(gpu::GPUModuleOp module, func::FuncOp function, StringRef name,
                         WorkspaceLayout &layout, LaunchOrder order, Location loc)
    : function(function), layout(layout), order(order), b(loc, function.getContext()) {
  b.setInsertionPointToEnd(module.getBody());
  kernel = KernelOp::create(b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType({}, {})),
                            ArrayAttr(), ArrayAttr());
  Block *block = &kernel.getBody().emplaceBlock();
  b.setInsertionPointToStart(block);
  if (order.releases)
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

void SpaceKernel::awaitPrevious() {
  if (order.early)
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

NamedAttrList SpaceKernel::recipe(StringRef kind) {
  NamedAttrList list;
  list.set("kind", b.getStringAttr(kind));
  return list;
}

void SpaceKernel::set(NamedAttrList &list, StringRef key, int64_t value) {
  list.set(key, b.getI64IntegerAttr(value));
}

/// One parameter for each recipe.
Value SpaceKernel::parameter(Type type, NamedAttrList list) {
  Attribute attr = list.getDictionary(b.getContext());
  Block &block = kernel.getBody().front();
  auto known = llvm::find(recipes, attr);
  if (known != recipes.end())
    return block.getArgument(known - recipes.begin());
  recipes.push_back(attr);
  return block.addArgument(type, b.getLoc());
}

/// The function's argument from which a buffer has its run-time extents: itself, or the one whose
/// extent sized its place in the workspace.
unsigned SpaceKernel::argumentOf(Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return argument.getArgNumber();
  auto place = buffer.getDefiningOp<tile::WorkspaceOp>();
  auto dim = place.getDims().front().getDefiningOp<memref::DimOp>();
  return cast<BlockArgument>(dim.getSource()).getArgNumber();
}

Value SpaceKernel::pointer(Value buffer) {
  auto type = PointerType::get(b.getContext(), cast<MemRefType>(buffer.getType()).getElementType());
  if (auto place = buffer.getDefiningOp<tile::WorkspaceOp>()) {
    NamedAttrList list = recipe("workspace");
    set(list, "offset", layout.offsetOf(buffer, place.getBytes()));
    return parameter(type, list);
  }
  NamedAttrList list = recipe("pointer");
  set(list, "arg", argumentOf(buffer));
  return parameter(type, list);
}

/// Places in the workspace lie so already.
Value SpaceKernel::vectorPointer(Value buffer, int64_t bytes) {
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    requireAlignment(function, argument.getArgNumber(), bytes);
  return pointer(buffer);
}

Value SpaceKernel::extent(Value buffer, int64_t dim, int64_t add) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return b.i32(type.getDimSize(dim) + add);
  NamedAttrList list = recipe("extent");
  set(list, "arg", argumentOf(buffer));
  set(list, "dim", dim);
  if (add)
    set(list, "add", add);
  return parameter(b.getI32Type(), list);
}

Value SpaceKernel::stride(Value buffer, int64_t dim) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(buffer.getType());
  bool strided = succeeded(type.getStridesAndOffset(strides, offset));
  assert(strided && "level 2 has strided buffers only");
  (void)strided;
  if (!ShapedType::isDynamic(strides[dim]))
    return b.i64(strides[dim]);
  NamedAttrList list = recipe("stride");
  set(list, "arg", argumentOf(buffer));
  set(list, "dim", dim);
  return parameter(b.getI64Type(), list);
}

Value SpaceKernel::rowStart(Value buffer, ValueRange indices) {
  Value start;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value part = b.mul(b.widen(index), stride(buffer, dim));
    start = start ? b.add(start, part) : part;
  }
  return start;
}

/// As the plan spells it.
static StringRef elementName(Type type) {
  return isa<Float8E4M3FNType>(type) ? "f8e4m3" : type.isBF16() ? "bf16" : "f16";
}

Value SpaceKernel::map(Value buffer, ArrayRef<int64_t> box, ArrayRef<MapDim> dims, bool readOnce) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  NamedAttrList list = recipe("map");
  set(list, "arg", argumentOf(buffer));
  if (auto place = buffer.getDefiningOp<tile::WorkspaceOp>())
    set(list, "workspace", layout.offsetOf(buffer, place.getBytes()));
  list.set("element", b.getStringAttr(elementName(type.getElementType())));
  if (readOnce)
    list.set("read_once", b.getUnitAttr());
  list.set("box", b.getI64ArrayAttr(box));
  SmallVector<Attribute> entries;
  for (auto [number, dim] : llvm::enumerate(dims)) {
    NamedAttrList entry;
    if (dim.extent)
      set(entry, "extent", dim.extent);
    else if (!type.isDynamicDim(dim.of))
      set(entry, "extent", type.getDimSize(dim.of));
    else
      set(entry, "extent_of", dim.of);
    if (number > 0 && dim.strideBytes)
      set(entry, "stride", dim.strideBytes);
    else if (number > 0 && !ShapedType::isDynamic(strides[dim.of]))
      set(entry, "stride", strides[dim.of] * bytes);
    else if (number > 0)
      set(entry, "stride_of", dim.of);
    entries.push_back(entry.getDictionary(b.getContext()));
  }
  list.set("dims", b.getArrayAttr(entries));
  return parameter(TensorMapType::get(b.getContext(), box, type.getElementType()), list);
}

Value SpaceKernel::rowMap(Value rows, int64_t boxRows, bool readOnce) {
  int64_t dim = dimOf(rows), panels = ::panelsOf(rows), columns = panelColumnsOf(rows);
  if (!::isWholePanels(rows))
    return map(rows, {columns, boxRows, 1},
               {MapDim::inner(dim), MapDim::whole(0), MapDim::whole(1)}, readOnce);
  return map(rows, {columns, boxRows, panels, 1},
             {MapDim::inner(columns), MapDim::whole(0), MapDim::fixed(panels, kHopper.swizzleBytes),
              MapDim::whole(1)},
             readOnce);
}

Values SpaceKernel::rowPlace(Value rows, int64_t panel, Value token, Value head) {
  Value column = b.i32(panel * panelColumnsOf(rows));
  return ::isWholePanels(rows) ? Values{column, token, b.i32(0), head}
                               : Values{column, token, head};
}

Value SpaceKernel::headsMap(Value rows, int64_t tokens, int64_t heads) {
  int64_t dim = dimOf(rows), panels = ::panelsOf(rows), columns = panelColumnsOf(rows);
  SmallVector<int64_t> box{columns, heads, tokens};
  SmallVector<MapDim> dims{MapDim::inner(dim), MapDim::whole(1), MapDim::whole(0)};
  if (::isWholePanels(rows)) {
    box.push_back(panels);
    dims.front() = MapDim::inner(columns);
    dims.push_back(MapDim::fixed(panels, kHopper.swizzleBytes));
  }
  return map(rows, box, dims);
}

Values SpaceKernel::headsPlace(Value rows, int64_t panel, Value token, Value firstHead) {
  Values place{b.i32(panel * panelColumnsOf(rows)), firstHead, token};
  if (::isWholePanels(rows))
    place.push_back(b.i32(0));
  return place;
}

SmallVector<std::optional<int64_t>> SpaceKernel::rowBoxes(Value rows) {
  if (::isWholePanels(rows))
    return {std::nullopt};
  SmallVector<std::optional<int64_t>> boxes;
  for (int64_t panel = 0; panel < ::panelsOf(rows); ++panel)
    boxes.push_back(panel);
  return boxes;
}

Value SpaceKernel::pageRowMap(Value pages, int64_t boxRows, bool readOnce) {
  int64_t dim = dimOf(pages), panels = ::panelsOf(pages), columns = panelColumnsOf(pages);
  SmallVector<int64_t> box{columns, boxRows, 1, 1};
  SmallVector<MapDim> dims{MapDim::inner(dim), MapDim::whole(1), MapDim::whole(2),
                           MapDim::whole(0)};
  if (::isWholePanels(pages)) {
    box.insert(box.begin() + 2, panels);
    dims.front() = MapDim::inner(columns);
    dims.insert(dims.begin() + 2, MapDim::fixed(panels, kHopper.swizzleBytes));
  }
  return map(pages, box, dims, readOnce);
}

Values SpaceKernel::pageRowPlace(Value pages, int64_t panel, Value page, Value row, Value head) {
  Value column = b.i32(panel * panelColumnsOf(pages));
  return ::isWholePanels(pages) ? Values{column, row, b.i32(0), head, page}
                                : Values{column, row, head, page};
}

Value SpaceKernel::pageMap(Value pages, int64_t panels, int64_t boxRows) {
  Type element = cast<MemRefType>(pages.getType()).getElementType();
  NamedAttrList list = recipe("page_map");
  set(list, "arg", argumentOf(pages));
  list.set("element", b.getStringAttr(elementName(element)));
  set(list, "panels", panels);
  set(list, "box_rows", boxRows);
  SmallVector<int64_t> box{kPanelColumns, kHopper.octetRows, panels, boxRows / kHopper.octetRows,
                           1};
  return parameter(TensorMapType::get(b.getContext(), box, element), list);
}

Value SpaceKernel::pageStep(Value pages, int64_t panels, StringRef of) {
  NamedAttrList list = recipe("page_step");
  set(list, "arg", argumentOf(pages));
  set(list, "panels", panels);
  list.set("of", b.getStringAttr(of));
  return parameter(b.getI32Type(), list);
}

Value SpaceKernel::scalar(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    NamedAttrList list = recipe("scalar");
    set(list, "arg", argument.getArgNumber());
    return parameter(value.getType(), list);
  }
  return b.clone(*value.getDefiningOp())->getResult(0);
}

Value SpaceKernel::workspace(Type element, int64_t bytes) {
  NamedAttrList list = recipe("workspace");
  set(list, "offset", layout.allocate(bytes));
  return parameter(PointerType::get(b.getContext(), element), list);
}

Value SpaceKernel::counter() { return workspace(b.getI32Type(), 4); }

Value SpaceKernel::hiddenConstant(double value) {
  NamedAttrList list = recipe("constant");
  set(list, "bits", llvm::bit_cast<uint32_t>(static_cast<float>(value)));
  return parameter(b.getF32Type(), list);
}

Value SpaceKernel::errorWord() {
  return parameter(PointerType::get(b.getContext(), b.getI64Type()), recipe("error_word"));
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

NamedAttrList SpaceKernel::finish() {
  kernel.setFunctionType(
      b.getFunctionType(TypeRange(kernel.getBody().front().getArgumentTypes()), {}));
  NamedAttrList entry;
  entry.set("symbol", kernel.getSymNameAttr());
  RolesOp roles = *kernel.getBody().front().getOps<RolesOp>().begin();
  set(entry, "threads", roles.threads());
  set(entry, "shared", SharedMemoryMap(kernel).bytes());
  set(entry, "ctas_per_sm", 1);
  if (order.early)
    entry.set("early", b.getUnitAttr());
  entry.set("params", b.getArrayAttr(recipes));
  return entry;
}
