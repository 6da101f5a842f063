//===- Blocks.cpp - products of one warp -----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

/// A struct of `count` registers as inline assembly returns it.
static Type registersOf(Type type, size_t count) {
  return LLVM::LLVMStructType::getLiteral(type.getContext(), SmallVector<Type>(count, type));
}

static SmallVector<Value> elementsOf(Emitter &emitter, Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < cast<VectorType>(vector.getType()).getNumElements(); ++i)
    elements.push_back(emitter.element(vector, i));
  return elements;
}

/// Four 8 x 8 matrices; lane l gives the address of row l mod 8 of matrix l floordiv 8. As they
/// lie: the rows 0 and 8 on, then the second unit of both. Transposed, the units come first: the
/// block's rows are columns of the tile.
static Value lowerLoadBlock(LoadBlockOp op, LoadBlockOp::Adaptor adaptor, Emitter &emitter) {
  RingType type = op.getRing().getType();
  Value lane = emitter.lane(), low = emitter.bitAnd(lane, 7);
  Value eight = emitter.bitAnd(emitter.shiftRight(lane, 3), 1); // bit 3
  Value sixteen = emitter.shiftRight(lane, 4);                  // bit 4
  bool transposed = op.getTransposed();
  Value octet = transposed ? sixteen : eight;
  Value row = emitter.add(low, emitter.shiftLeft(octet, 3));
  Value unit = emitter.bitXor(transposed ? eight : sixteen, low); // the swizzle, of unit 0 or 1
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t first = op.getColumn() * bytes / kUnitBytes;
  Value inPanel = emitter.bitXor(unit, emitter.i32(first % kUnitsPerPanel));
  Value offset = emitter.add(emitter.mul(row, kHopper.swizzleBytes),
                             emitter.shiftLeft(inPanel, llvm::Log2_64(kUnitBytes)));
  // In order octets the other panels of the first eight rows lie before the second ones.
  if (int64_t between = type.octetStride() - kHopper.octetRows * kHopper.swizzleBytes)
    offset = emitter.add(offset, emitter.mul(octet, between));
  Value address = emitter.add(
      emitter.add(emitter.tileAddress(op.getRing(), adaptor.getTurn(), adaptor.getWarp()), offset),
      first / kUnitsPerPanel * type.panelStride() +
          op.getRow() / kHopper.octetRows * type.octetStride());
  std::string text = "ldmatrix.sync.aligned.m8n8.x4" + std::string(transposed ? ".trans" : "") +
                     ".shared.b16 {$0, $1, $2, $3}, [$4];";
  return emitter.vector(emitter.unpack(emitter.assembly(
      registersOf(emitter.builder.getI32Type(), 4), text, "=r,=r,=r,=r,r,~{memory}", address)));
}

/// A pair of bytes is a pair of f16 in one instruction.
static Value lowerWidenBlock(WidenBlockOp op, WidenBlockOp::Adaptor adaptor, Emitter &emitter) {
  SmallVector<Value> loaded = elementsOf(emitter, adaptor.getBlock());
  auto halves = [&](Value word, bool transposed) {
    // Transposed, a word has two columns of one token and two of the next: tokens are paired.
    std::string order = transposed ? "prmt.b32 w, $2, 0, 0x3120; " : "mov.b32 w, $2; ";
    return emitter.unpack(emitter.assembly(
        registersOf(emitter.builder.getI32Type(), 2),
        "{ .reg .b32 w; .reg .b16 l, h; " + order +
            "mov.b32 {l, h}, w; cvt.rn.f16x2.e4m3x2 $0, l; cvt.rn.f16x2.e4m3x2 $1, h; }",
        "=r,=r,r", word));
  };
  int64_t part = op.getPart();
  if (op.getTransposed()) {
    SmallVector<Value> first = halves(loaded[part], true), second = halves(loaded[2 + part], true);
    return emitter.vector({first[0], first[1], second[0], second[1]});
  }
  SmallVector<Value> upper = halves(loaded[2 * part], false);
  SmallVector<Value> lower = halves(loaded[2 * part + 1], false);
  return emitter.vector({upper[0], lower[0], upper[1], lower[1]});
}

static Value lowerContractBlock(ContractBlockOp op, ContractBlockOp::Adaptor adaptor,
                                Emitter &emitter) {
  std::string element = op.getElement().isBF16() ? "bf16" : "f16";
  SmallVector<Value> operands = elementsOf(emitter, adaptor.getLhs());
  llvm::append_range(operands, elementsOf(emitter, adaptor.getRhs()));
  llvm::append_range(operands, elementsOf(emitter, adaptor.getAcc()));
  std::string text = "mma.sync.aligned.m16n8k16.row.col.f32." + element + "." + element +
                     ".f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};";
  return emitter.vector(
      emitter.unpack(emitter.assembly(registersOf(emitter.builder.getF32Type(), 4), text,
                                      "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3", operands)));
}

static Value lowerRoundPair(RoundPairOp op, RoundPairOp::Adaptor adaptor, Emitter &emitter) {
  std::array<Value, 2> values = emitter.rows(adaptor.getValues());
  return emitter.roundPair(op.getElement(), values[0], values[1]);
}

static Value lowerTransposePairs(TransposePairsOp, TransposePairsOp::Adaptor adaptor,
                                 Emitter &emitter) {
  return emitter.assembly(emitter.builder.getI32Type(),
                          "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
                          adaptor.getPairs());
}

static Value lowerColumnReduce(ColumnReduceOp op, ColumnReduceOp::Adaptor adaptor,
                               Emitter &emitter) {
  std::array<Value, 2> columns = emitter.rows(adaptor.getColumns());
  for (int64_t distance : {4, 8, 16})
    for (Value &column : columns)
      column = emitter.combine(op.getKind(), column, emitter.shuffleXor(column, distance));
  return emitter.pair(columns[0], columns[1]);
}

//===----------------------------------------------------------------------===//
// Pairs in memory
//===----------------------------------------------------------------------===//

static Value pairAddress(Emitter &emitter, TypedValue<PointerType> typed, Value pointer,
                         Value index) {
  int64_t bits = typed.getType().getElementType().getIntOrFloatBitWidth();
  return emitter.elementAddress(pointer, emitter.builder.getIntegerType(bits), index);
}

static Value lowerLoadPair(LoadPairOp op, LoadPairOp::Adaptor adaptor, Emitter &emitter) {
  Value address = pairAddress(emitter, op.getPointer(), adaptor.getPointer(), adaptor.getIndex());
  Value condition = emitter.extend(adaptor.getCondition());
  if (isa<VectorType>(op.getType())) {
    Value other = emitter.f32(op.getOtherwise().value_or(APFloat(0.0f)).convertToDouble());
    return emitter.vector(emitter.unpack(
        emitter.assembly(registersOf(emitter.builder.getF32Type(), 2),
                         "{ .reg .pred p; setp.ne.b32 p, $3, 0; "
                         "@p ld.global.v2.f32 {$0, $1}, [$2]; }",
                         "=&f,=&f,l,r,0,1,~{memory}", {address, condition, other, other})));
  }
  return emitter.assembly(
      emitter.builder.getI32Type(),
      "{ .reg .pred p; mov.b32 $0, 0; setp.ne.b32 p, $2, 0; @p ld.global.b32 $0, [$1]; }",
      "=&r,l,r,~{memory}", {address, condition});
}

/// The instruction `store` to the memory that `address` names, of a pair of `element`.
static void storePair(Emitter &emitter, StringRef store, Type element, Value address, Value pair,
                      Value condition) {
  std::string constraint = isa<IntegerType>(address.getType()) ? "r" : "l";
  std::string text = "{ .reg .pred p; setp.ne.b32 p, $2, 0; ";
  if (element.getIntOrFloatBitWidth() == 8)
    text += "{ .reg .b16 l; cvt.u16.u32 l, $1; @p " + store.str() + ".b16 [$0], l; } }";
  else
    text += "@p " + store.str() + ".b32 [$0], $1; }";
  emitter.assembly({}, text, constraint + ",r,r,~{memory}",
                   {address, pair, emitter.extend(condition)});
}

static void lowerStorePair(StorePairOp op, StorePairOp::Adaptor adaptor, Emitter &emitter) {
  storePair(emitter, "st.global", op.getPointer().getType().getElementType(),
            pairAddress(emitter, op.getPointer(), adaptor.getPointer(), adaptor.getIndex()),
            adaptor.getPair(), adaptor.getCondition());
}

static void lowerPutPair(PutPairOp op, PutPairOp::Adaptor adaptor, Emitter &emitter) {
  RingType type = op.getRing().getType();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  Value tile = emitter.tileAddress(op.getRing(), adaptor.getTurn(), adaptor.getWarp());
  Value byte = emitter.mul(adaptor.getColumn(), bytes);
  Value unit = emitter.shiftRight(byte, llvm::Log2_64(kUnitBytes));
  Value address = emitter.add(emitter.unitAddress(type, tile, adaptor.getRow(), unit),
                              emitter.bitAnd(byte, kUnitBytes - 1));
  storePair(emitter, "st.shared", type.getElementType(), address, adaptor.getPair(),
            adaptor.getCondition());
}

void pagefold::hopper::addBlockLowerings(const LoweringContext &context) {
  addLowering(context, lowerLoadBlock);
  addLowering(context, lowerWidenBlock);
  addLowering(context, lowerContractBlock);
  addLowering(context, lowerRoundPair);
  addLowering(context, lowerTransposePairs);
  addLowering(context, lowerColumnReduce);
  addLowering(context, lowerLoadPair);
  addLowering(context, lowerStorePair);
  addLowering(context, lowerPutPair);
}
