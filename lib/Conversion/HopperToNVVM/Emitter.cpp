//===- Emitter.cpp - writes instructions for one hopper op ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

static constexpr unsigned kSharedSpace = static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Emitter::i32(int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                  builder.getI32IntegerAttr(value));
}
Value Emitter::add(Value a, Value b) { return LLVM::AddOp::create(builder, loc, a, b); }
Value Emitter::add(Value a, int64_t b) { return b ? add(a, i32(b)) : a; }
Value Emitter::mul(Value a, int64_t b) { return LLVM::MulOp::create(builder, loc, a, i32(b)); }
Value Emitter::bitAnd(Value a, int64_t b) { return LLVM::AndOp::create(builder, loc, a, i32(b)); }
Value Emitter::bitXor(Value a, Value b) { return LLVM::XOrOp::create(builder, loc, a, b); }
Value Emitter::shiftLeft(Value a, int64_t b) {
  return LLVM::ShlOp::create(builder, loc, a, i32(b));
}
Value Emitter::shiftRight(Value a, int64_t b) {
  return LLVM::LShrOp::create(builder, loc, a, i32(b));
}

Value Emitter::extend(Value condition) {
  return LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), condition);
}
Value Emitter::signExtend(Value a) {
  Type type = builder.getI64Type();
  return a.getType() == type ? a : LLVM::SExtOp::create(builder, loc, type, a);
}

Value Emitter::f32(double value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getF32Type(),
                                  builder.getF32FloatAttr(value));
}
Value Emitter::addF(Value a, Value b) {
  return LLVM::FAddOp::create(builder, loc, a, b, LLVM::FastmathFlags::contract);
}
Value Emitter::mulF(Value a, Value b) {
  return LLVM::FMulOp::create(builder, loc, a, b, LLVM::FastmathFlags::contract);
}
Value Emitter::maxF(Value a, Value b) { return LLVM::MaxNumOp::create(builder, loc, a, b); }
Value Emitter::minF(Value a, Value b) { return LLVM::MinNumOp::create(builder, loc, a, b); }
Value Emitter::fma(Value a, Value b, Value c) { return LLVM::FMAOp::create(builder, loc, a, b, c); }

Value Emitter::combine(ReduceKind kind, Value a, Value b) {
  switch (kind) {
  case ReduceKind::Max:
    return maxF(a, b);
  case ReduceKind::Sum:
    return addF(a, b);
  case ReduceKind::Min:
    return minF(a, b);
  }
  llvm_unreachable("all kinds are above");
}

Value Emitter::intrinsic(StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, operands.front().getType(),
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Values of several registers
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::unpack(Value aggregate) {
  SmallVector<Value> values;
  auto type = cast<LLVM::LLVMStructType>(aggregate.getType());
  for (int64_t i = 0, end = type.getBody().size(); i < end; ++i) {
    Value known = insertedAt(aggregate, i);
    values.push_back(known ? known : LLVM::ExtractValueOp::create(builder, loc, aggregate, i));
  }
  return values;
}

Value Emitter::pack(ValueRange values, Type structType) {
  Value aggregate = LLVM::PoisonOp::create(builder, loc, structType);
  for (auto [i, value] : llvm::enumerate(values))
    aggregate = LLVM::InsertValueOp::create(builder, loc, aggregate, value, i);
  return aggregate;
}

Value Emitter::element(Value vector, int64_t index) {
  Value known = insertedAt(vector, index);
  return known ? known : LLVM::ExtractElementOp::create(builder, loc, vector, i32(index));
}

Value Emitter::vector(ValueRange elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())}, elements.front().getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(builder, loc, vector, element, i32(i));
  return vector;
}

Value Emitter::pair(Value first, Value second) { return vector({first, second}); }

std::array<Value, 2> Emitter::rows(Value vector) {
  return {element(vector, 0), element(vector, 1)};
}

Value Emitter::roundPair(Type element, Value low, Value high) {
  if (isa<Float8E4M3FNType>(element))
    return assembly(builder.getI32Type(),
                    "{ .reg .b16 l; cvt.rn.satfinite.e4m3x2.f32 l, $2, $1; cvt.u32.u16 $0, l; }",
                    "=r,f,f", {low, high});
  auto type = VectorType::get({2}, element);
  Value halves;
  if (element.isBF16())
    halves = NVVM::ConvertF32x2ToBF16x2Op::create(
        builder, loc, type, high, low, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
  else
    halves = NVVM::ConvertF32x2ToF16x2Op::create(builder, loc, type, high, low,
                                                 /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), halves);
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

Value Emitter::assembly(Type results, StringRef text, StringRef constraints, ValueRange operands) {
  auto dialect = LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT);
  auto op = LLVM::InlineAsmOp::create(builder, loc, results ? TypeRange(results) : TypeRange(),
                                      operands, text, constraints, /*has_side_effects=*/true,
                                      /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect,
                                      /*operand_attrs=*/ArrayAttr());
  return results ? op.getResult(0) : Value();
}

SmallVector<Value> Emitter::tie(ValueRange values) {
  std::string outputs, inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    outputs += "=f,";
    inputs += std::to_string(i) + ",";
  }
  inputs.pop_back();
  SmallVector<Type> types(values.getTypes());
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  return unpack(assembly(type, "", outputs + inputs, values));
}

//===----------------------------------------------------------------------===//
// A warp
//===----------------------------------------------------------------------===//

Value Emitter::shuffleXor(Value value, int64_t distance) {
  return NVVM::ShflOp::create(builder, loc, value.getType(), i32(-1), value, i32(distance),
                              i32(kWarp - 1), NVVM::ShflKind::bfly, UnitAttr());
}

void Emitter::syncWarp() { assembly({}, "bar.warp.sync 0xffffffff;", "~{memory}", {}); }

//===----------------------------------------------------------------------===//
// Where this thread is
//===----------------------------------------------------------------------===//

Value Emitter::thread() { return NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type()); }
Value Emitter::lane() { return bitAnd(thread(), kWarp - 1); }
Value Emitter::warp() {
  return bitAnd(shiftRight(thread(), llvm::Log2_64(kWarp)), kWarpgroup / kWarp - 1);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::elementAddress(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value Emitter::sharedAddress(int64_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc, pointer, kSharedSymbol);
  return add(LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base), offset);
}

Value Emitter::sharedPointer(Value address) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

Value Emitter::stage(RingType ring, Value turn, Value warp) {
  int64_t stages = ring.getStages();
  Value own = llvm::isPowerOf2_64(stages)
                  ? bitAnd(turn, stages - 1)
                  : LLVM::URemOp::create(builder, loc, turn, i32(stages)).getResult();
  return warp ? add(own, mul(warp, stages)) : own;
}

Value Emitter::phase(RingType ring, Value turn) {
  int64_t stages = ring.getStages();
  Value round = llvm::isPowerOf2_64(stages)
                    ? shiftRight(turn, llvm::Log2_64(stages))
                    : LLVM::UDivOp::create(builder, loc, turn, i32(stages)).getResult();
  return bitAnd(round, 1);
}

Value Emitter::tileAddress(TypedValue<SharedType> tiles, Value index) {
  return add(mul(index, tiles.getType().tileBytes()), sharedAddress(placeOf(tiles).tiles));
}
Value Emitter::tileAddress(TypedValue<RingType> ring, Value turn, Value warp) {
  RingType type = ring.getType();
  return add(mul(stage(type, turn, warp), type.tileBytes()), sharedAddress(placeOf(ring).tiles));
}

/// The swizzle permutes the units of a panel's row. Octets and panels are multiples of 1024 bytes
/// apart, as tiles are aligned, so that the row in its octet is exclusive-ored onto the address: it
/// gives the offset and permutes at once.
Value Emitter::unitAddress(RingType type, Value tile, Value row, Value unit) {
  Value octet = shiftRight(row, llvm::Log2_64(kHopper.octetRows));
  Value panel = shiftRight(unit, llvm::Log2_64(kUnitsPerPanel));
  Value inPanel = bitAnd(unit, kUnitsPerPanel - 1);
  Value address = add(tile, mul(panel, type.panelStride()));
  address = add(address, mul(inPanel, kUnitBytes));
  address = add(address, mul(octet, type.octetStride()));
  Value inOctet = bitAnd(row, kHopper.octetRows - 1);
  return bitXor(address, mul(inOctet, kHopper.swizzleBytes + kUnitBytes));
}

Value Emitter::fullBarrier(TypedValue<RingType> ring, Value turn, Value warp) {
  return add(mul(stage(ring.getType(), turn, warp), kBarrierBytes),
             sharedAddress(placeOf(ring).full));
}
Value Emitter::emptyBarrier(TypedValue<RingType> ring, Value turn) {
  return add(mul(stage(ring.getType(), turn), kBarrierBytes), sharedAddress(placeOf(ring).empty));
}
Value Emitter::noteAddress(TypedValue<RingType> ring, Value turn) {
  const SharedPlace &place = placeOf(ring);
  return add(mul(stage(ring.getType(), turn), place.noteBytes), sharedAddress(place.notes));
}
