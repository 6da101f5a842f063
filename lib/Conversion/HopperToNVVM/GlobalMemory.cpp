//===- GlobalMemory.cpp - loads, stores, errors ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

namespace {

/// How inline assembly moves an element: PTX type, constraint, and the type of the register.
struct Access {
  StringRef type, constraint;
  Type word;
};

} // namespace

static Access accessOf(Type element) {
  MLIRContext *context = element.getContext();
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return {"u8", "r", IntegerType::get(context, 32)};
  case 16:
    return {"b16", "h", IntegerType::get(context, 16)};
  case 64:
    return {"b64", "l", element};
  default:
    return {"b32", element.isF32() ? "f" : "r", element};
  }
}

/// An element as its register, and back.
static Value toWord(Emitter &emitter, Value value, Type word) {
  if (value.getType() == word)
    return value;
  if (value.getType().isInteger())
    return LLVM::ZExtOp::create(emitter.builder, emitter.loc, word, value);
  return LLVM::BitcastOp::create(emitter.builder, emitter.loc, word, value);
}
static Value fromWord(Emitter &emitter, Value word, Type element) {
  if (word.getType() == element)
    return word;
  if (element.isInteger())
    return LLVM::TruncOp::create(emitter.builder, emitter.loc, element, word);
  return LLVM::BitcastOp::create(emitter.builder, emitter.loc, element, word);
}

static Value lowerLoad(LoadOp op, LoadOp::Adaptor adaptor, Emitter &emitter) {
  Type element = op.getType();
  Value address = emitter.elementAddress(adaptor.getPointer(), element, adaptor.getIndex());
  if (!adaptor.getCondition())
    return LLVM::LoadOp::create(emitter.builder, emitter.loc, element, address);
  Access access = accessOf(element);
  Value loaded = emitter.assembly(
      access.word,
      ("{ .reg .pred p; setp.ne.b32 p, $2, 0; @p ld.global." + access.type + " $0, [$1]; }").str(),
      ("=" + access.constraint + ",l,r,0,~{memory}").str(),
      {address, emitter.extend(adaptor.getCondition()),
       toWord(emitter, adaptor.getOtherwise(), access.word)});
  return fromWord(emitter, loaded, element);
}

static void lowerStore(StoreOp op, StoreOp::Adaptor adaptor, Emitter &emitter) {
  Type element = op.getValue().getType();
  Value address = emitter.elementAddress(adaptor.getPointer(), element, adaptor.getIndex());
  if (!adaptor.getCondition()) {
    LLVM::StoreOp::create(emitter.builder, emitter.loc, adaptor.getValue(), address);
    return;
  }
  Access access = accessOf(element);
  emitter.assembly(
      {},
      ("{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global." + access.type + " [$0], $1; }").str(),
      ("l," + access.constraint + ",r,~{memory}").str(),
      {address, toWord(emitter, adaptor.getValue(), access.word),
       emitter.extend(adaptor.getCondition())});
}

//===----------------------------------------------------------------------===//
// Registers as they lie
//===----------------------------------------------------------------------===//

/// Values of one 16-byte (fragments) or 8-byte (rows) access.
static constexpr int64_t kLaneVector = 4, kRowsVector = 2;

/// The address of a lane's first value.
static Value laneAddress(Emitter &emitter, Value pointer, Value offset, int64_t vector) {
  Value index = emitter.add(offset, emitter.mul(emitter.lane(), vector));
  return emitter.elementAddress(pointer, emitter.builder.getF32Type(), index);
}

static void lowerStoreLanes(StoreLanesOp op, StoreLanesOp::Adaptor adaptor, Emitter &emitter) {
  bool rows = isa<VectorType>(op.getValue().getType());
  int64_t vector = rows ? kRowsVector : kLaneVector;
  Value address = laneAddress(emitter, adaptor.getPointer(), adaptor.getOffset(), vector);
  if (rows) {
    emitter.assembly(
        {}, "st.global.v2.f32 [$0], {$1, $2};", "l,f,f,~{memory}",
        {address, emitter.element(adaptor.getValue(), 0), emitter.element(adaptor.getValue(), 1)});
    return;
  }
  SmallVector<Value> values = emitter.unpack(adaptor.getValue());
  for (size_t i = 0; i < values.size(); i += kLaneVector)
    emitter.assembly(
        {}, "st.global.v4.f32 [$0+" + std::to_string(4 * kWarp * i) + "], {$1, $2, $3, $4};",
        "l,f,f,f,f,~{memory}", {address, values[i], values[i + 1], values[i + 2], values[i + 3]});
}

static Value lowerLoadLanes(LoadLanesOp op, LoadLanesOp::Adaptor adaptor, Emitter &emitter) {
  Type f32 = emitter.builder.getF32Type();
  auto structOf = [&](size_t count) {
    return LLVM::LLVMStructType::getLiteral(op.getContext(), SmallVector<Type>(count, f32));
  };
  auto fragment = dyn_cast<FragmentType>(op.getValue().getType());
  int64_t vector = fragment ? kLaneVector : kRowsVector;
  Value address = laneAddress(emitter, adaptor.getPointer(), adaptor.getOffset(), vector);
  if (!fragment) {
    SmallVector<Value> both = emitter.unpack(emitter.assembly(
        structOf(2), "ld.global.cg.v2.f32 {$0, $1}, [$2];", "=f,=f,l,~{memory}", address));
    return emitter.pair(both[0], both[1]);
  }
  SmallVector<Value> values;
  for (int64_t i = 0; i < fragment.registers(); i += kLaneVector)
    values.append(emitter.unpack(emitter.assembly(structOf(kLaneVector),
                                                  "ld.global.cg.v4.f32 {$0, $1, $2, $3}, [$4+" +
                                                      std::to_string(4 * kWarp * i) + "];",
                                                  "=f,=f,=f,=f,l,~{memory}", address)));
  return emitter.pack(values, structOf(values.size()));
}

static void lowerFenceGlobal(FenceGlobalOp, FenceGlobalOp::Adaptor, Emitter &emitter) {
  emitter.assembly({}, "fence.acq_rel.gpu;", "~{memory}", {});
}

static void lowerPrefetchMap(PrefetchMapOp, PrefetchMapOp::Adaptor adaptor, Emitter &emitter) {
  emitter.assembly({}, "prefetch.tensormap [$0];", "l,~{memory}", adaptor.getMap());
}

/// The reason is stored last, with release: the host reads the word while kernels run.
static void lowerReport(ReportOp op, ReportOp::Adaptor adaptor, Emitter &emitter) {
  Value claim = emitter.signExtend(emitter.add(adaptor.getRequest(), 1));
  emitter.assembly(
      {},
      "{ .reg .pred p; .reg .b64 old; setp.ne.b32 p, $4, 0; mov.b64 old, 1; "
      "@p atom.relaxed.sys.global.cas.b64 old, [$0], 0, $1; setp.eq.and.b64 p, old, 0, p; "
      "@p st.relaxed.sys.global.b64 [$0+16], $2; @p st.relaxed.sys.global.b64 [$0+24], $3; "
      "@p st.release.sys.global.b64 [$0+8], " +
          std::to_string(op.getReason()) + "; }",
      "l,l,l,l,r,~{memory}",
      {adaptor.getWord(), claim, emitter.signExtend(adaptor.getValue()),
       emitter.signExtend(adaptor.getLimit()), emitter.extend(adaptor.getCondition())});
}

//===----------------------------------------------------------------------===//
// Rows and matrices
//===----------------------------------------------------------------------===//

/// start + stride * row, in the type of `start`, or in i64 where there is a stride.
static Value rowIndex(Emitter &emitter, Value start, Value stride, Value row) {
  if (!stride && start.getType().isInteger(32))
    return emitter.add(start, row);
  Value index = emitter.signExtend(row);
  if (stride)
    index = LLVM::MulOp::create(emitter.builder, emitter.loc, index, stride);
  return emitter.add(emitter.signExtend(start), index);
}

/// Predicated, not branched: a block of its own costs more than the store.
static void lowerStoreRows(StoreRowsOp op, StoreRowsOp::Adaptor adaptor, Emitter &emitter) {
  std::array<Value, 2> values = emitter.rows(adaptor.getValues()),
                       rows = emitter.rows(adaptor.getRows());
  Value inQuad = emitter.bitAnd(emitter.lane(), 3);
  for (int64_t i : {0, 1}) {
    Value index = rowIndex(emitter, adaptor.getStart(), adaptor.getStride(), rows[i]);
    Value address =
        emitter.elementAddress(adaptor.getPointer(), emitter.builder.getF32Type(), index);
    emitter.assembly({},
                     "{ .reg .pred p; setp.lt.s32 p, $2, $3; setp.eq.and.s32 p, $4, 0, p; "
                     "@p st.global.f32 [$0], $1; }",
                     "l,f,r,r,r,~{memory}",
                     {address, values[i], rows[i], adaptor.getLimit(), inQuad});
  }
}

namespace {

/// Stores the part of a fragment that lies in one of the lane's two rows.
class RowStores {
public:
  RowStores(Emitter &emitter, Value address, Value row, Value limit, Value inQuad)
      : emitter(emitter), address(address), row(row), limit(limit), inQuad(inQuad) {}

  /// `values` are the row's pairs of f32, two columns of every eight.
  void floats(ValueRange values);
  /// `words` are pairs of 16-bit elements, two columns of every eight.
  void halves(ArrayRef<Value> words);

private:
  void exchange(Value &low, Value &high, int64_t distance);
  void transposeInQuad(MutableArrayRef<Value> words);

  Emitter &emitter;
  Value address, row, limit, inQuad;
};

} // namespace

static constexpr StringLiteral kIsStored =
    "{ .reg .pred p; setp.lt.s32 p, $0, $1; setp.ge.and.s32 p, $0, 0, p; ";

void RowStores::floats(ValueRange values) {
  for (size_t i = 0; i < values.size(); i += 2)
    emitter.assembly({},
                     kIsStored.str() + "@p st.global.v2.f32 [$2+" + std::to_string(16 * i) +
                         "], {$3, $4}; }",
                     "r,r,l,f,f,~{memory}", {row, limit, address, values[i], values[i + 1]});
}

/// `low` of the lanes with the bit and `high` of those without change places.
void RowStores::exchange(Value &low, Value &high, int64_t distance) {
  OpBuilder &builder = emitter.builder;
  Value bit = LLVM::ICmpOp::create(builder, emitter.loc, LLVM::ICmpPredicate::ne,
                                   emitter.bitAnd(inQuad, distance), emitter.i32(0));
  Value sent = LLVM::SelectOp::create(builder, emitter.loc, bit, low, high);
  Value received = emitter.shuffleXor(sent, distance);
  low = LLVM::SelectOp::create(builder, emitter.loc, bit, received, low);
  high = LLVM::SelectOp::create(builder, emitter.loc, bit, high, received);
}

/// Word j of lane i becomes word i of lane j: a lane then has all of one unit of 8 columns.
void RowStores::transposeInQuad(MutableArrayRef<Value> words) {
  exchange(words[0], words[1], 1);
  exchange(words[2], words[3], 1);
  exchange(words[0], words[2], 2);
  exchange(words[1], words[3], 2);
}

void RowStores::halves(ArrayRef<Value> words) {
  constexpr size_t quad = 4;
  for (size_t first = 0; first < words.size(); first += quad) {
    size_t units = std::min(quad, words.size() - first);
    SmallVector<Value> own(words.slice(first, units));
    own.resize(quad, emitter.i32(0));
    transposeInQuad(own);
    std::string text = kIsStored.str();
    if (units < quad)
      text += "setp.lt.and.s32 p, $7, " + std::to_string(units) + ", p; ";
    text += "@p st.global.v4.b32 [$2+" + std::to_string(16 * first) + "], {$3, $4, $5, $6}; }";
    emitter.assembly({}, text, "r,r,l,r,r,r,r,r,~{memory}",
                     {row, limit, address, own[0], own[1], own[2], own[3], inQuad});
  }
}

static void lowerStoreMatrix(StoreMatrixOp op, StoreMatrixOp::Adaptor adaptor, Emitter &emitter) {
  Type element = op.getFragment().getType().getElementType();
  bool isFloat = element.isF32();
  SmallVector<Value> registers = emitter.unpack(adaptor.getFragment());
  std::array<Value, 2> rows = emitter.rows(adaptor.getRows());
  Value inQuad = emitter.bitAnd(emitter.lane(), 3);
  for (int64_t half : {0, 1}) {
    Value index = rowIndex(emitter, adaptor.getOffset(), adaptor.getStride(), rows[half]);
    // This lane's columns: two of every unit, or after the exchange a unit of every four.
    Value column = emitter.signExtend(emitter.mul(inQuad, isFloat ? 2 : 8));
    Value address =
        emitter.elementAddress(adaptor.getPointer(), element, emitter.add(index, column));
    RowStores stores(emitter, address, rows[half], adaptor.getLimit(), inQuad);
    SmallVector<Value> own;
    int64_t perUnit = isFloat ? 2 : 1; // registers of a row in each unit of 8 columns
    for (size_t i = half * perUnit; i < registers.size(); i += 2 * perUnit)
      llvm::append_range(own, ArrayRef(registers).slice(i, perUnit));
    isFloat ? stores.floats(own) : stores.halves(own);
  }
}

void pagefold::hopper::addGlobalMemoryLowerings(const LoweringContext &context) {
  addLowering(context, lowerLoad);
  addLowering(context, lowerStore);
  addLowering(context, lowerStoreLanes);
  addLowering(context, lowerLoadLanes);
  addLowering(context, lowerFenceGlobal);
  addLowering(context, lowerPrefetchMap);
  addLowering(context, lowerReport);
  addLowering(context, lowerStoreRows);
  addLowering(context, lowerStoreMatrix);
}
