//===- Fragments.cpp - arithmetic on fragments and rows -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/IR/IRMapping.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Which row and column a register of an accumulator is
//===----------------------------------------------------------------------===//

/// 0 for the lane's upper row, 1 for the one eight below.
static int64_t rowOf(int64_t i) { return i % 4 / 2; }
/// The column less 2 (lane mod 4).
static int64_t columnOf(int64_t i) { return i / 4 * 8 + i % 2; }

/// The lane's part of each column: 2 (lane mod 4).
static Value firstColumn(Emitter &emitter) {
  return emitter.shiftLeft(emitter.bitAnd(emitter.lane(), 3), 1);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// A tree: the shortest chain.
static Value reduceTree(Emitter &emitter, ReduceKind kind, SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> halved;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      halved.push_back(emitter.combine(kind, values[i], values[i + 1]));
    if (values.size() % 2)
      halved.push_back(values.back());
    values = std::move(halved);
  }
  return values.front();
}

static Value lowerRowReduce(RowReduceOp op, RowReduceOp::Adaptor adaptor, Emitter &emitter) {
  SmallVector<Value> byRow[2];
  for (auto [i, value] : llvm::enumerate(emitter.unpack(adaptor.getFragment())))
    byRow[rowOf(i)].push_back(value);
  Value upper = reduceTree(emitter, op.getKind(), byRow[0]);
  return emitter.pair(upper, reduceTree(emitter, op.getKind(), byRow[1]));
}

static Value lowerQuadReduce(QuadReduceOp op, QuadReduceOp::Adaptor adaptor, Emitter &emitter) {
  std::array<Value, 2> rows = emitter.rows(adaptor.getRows());
  for (Value &row : rows)
    for (int64_t distance : {1, 2}) {
      Value other = emitter.shuffleXor(row, distance);
      row = emitter.combine(op.getKind(), row, other);
    }
  return emitter.pair(rows[0], rows[1]);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// The fragment of f(element, its number).
static Value mapElements(Emitter &emitter, Value fragment,
                         llvm::function_ref<Value(Value, int64_t)> f) {
  SmallVector<Value> results;
  for (auto [i, value] : llvm::enumerate(emitter.unpack(fragment)))
    results.push_back(f(value, i));
  return emitter.pack(results, fragment.getType());
}

static Value lowerExp2(Exp2Op, Exp2Op::Adaptor adaptor, Emitter &emitter) {
  std::array<Value, 2> offsets = emitter.rows(adaptor.getOffset());
  return mapElements(emitter, adaptor.getFragment(), [&](Value x, int64_t i) {
    return emitter.intrinsic(kExp2, emitter.fma(x, adaptor.getScale(), offsets[rowOf(i)]));
  });
}

/// The limits less the lane's first column, so that each element compares with a constant.
static std::array<Value, 2> columnLimits(Emitter &emitter, Value limits, Value first) {
  std::array<Value, 2> rows = emitter.rows(limits);
  for (Value &limit : rows)
    limit = LLVM::SubOp::create(emitter.builder, emitter.loc, limit, first);
  return rows;
}

/// Elements whose column does not stand in `predicate` to its row's limit become -inf.
static Value maskBy(Emitter &emitter, Value fragment, LLVM::ICmpPredicate predicate, Value limits) {
  std::array<Value, 2> rows = columnLimits(emitter, limits, firstColumn(emitter));
  Value excluded = emitter.f32(-std::numeric_limits<double>::infinity());
  return mapElements(emitter, fragment, [&](Value x, int64_t i) -> Value {
    Value visible = LLVM::ICmpOp::create(emitter.builder, emitter.loc, predicate, rows[rowOf(i)],
                                         emitter.i32(columnOf(i)));
    return LLVM::SelectOp::create(emitter.builder, emitter.loc, visible, x, excluded);
  });
}

static Value lowerMask(MaskOp, MaskOp::Adaptor adaptor, Emitter &emitter) {
  Value fragment = adaptor.getFragment();
  if (adaptor.getEnd())
    fragment = maskBy(emitter, fragment, LLVM::ICmpPredicate::sgt, adaptor.getEnd());
  if (adaptor.getBegin())
    fragment = maskBy(emitter, fragment, LLVM::ICmpPredicate::sle, adaptor.getBegin());
  return fragment;
}

/// The region once for each element: arith, math and loads in it are lowered after.
static Value lowerMap(MapOp op, MapOp::Adaptor adaptor, Emitter &emitter) {
  Block &body = op.getBody().front();
  SmallVector<std::array<Value, 2>> rows;
  for (Value value : adaptor.getRows())
    rows.push_back(emitter.rows(value));
  Value first = firstColumn(emitter);
  return mapElements(emitter, adaptor.getFragment(), [&](Value x, int64_t i) {
    IRMapping mapping;
    mapping.map(body.getArgument(0), x);
    for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(), rows))
      mapping.map(argument, value[rowOf(i)]);
    mapping.map(body.getArguments().back(), emitter.add(first, columnOf(i)));
    for (Operation &inner : body.without_terminator())
      emitter.builder.clone(inner, mapping);
    return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValue());
  });
}

static Value lowerScaleRows(ScaleRowsOp, ScaleRowsOp::Adaptor adaptor, Emitter &emitter) {
  std::array<Value, 2> factors = emitter.rows(adaptor.getFactors());
  return mapElements(emitter, adaptor.getFragment(),
                     [&](Value x, int64_t i) { return emitter.mulF(x, factors[rowOf(i)]); });
}

static Value lowerAddFragments(AddFragmentsOp, AddFragmentsOp::Adaptor adaptor, Emitter &emitter) {
  SmallVector<Value> others = emitter.unpack(adaptor.getRhs());
  return mapElements(emitter, adaptor.getLhs(),
                     [&](Value x, int64_t i) { return emitter.addF(x, others[i]); });
}

static Value lowerZero(ZeroOp op, ZeroOp::Adaptor, Emitter &emitter) {
  SmallVector<Value> zeros(op.getType().registers(), emitter.f32(0));
  auto type = LLVM::LLVMStructType::getLiteral(
      op.getContext(), SmallVector<Type>(zeros.size(), emitter.builder.getF32Type()));
  return emitter.pack(zeros, type);
}

static Value lowerConvert(ConvertOp op, ConvertOp::Adaptor adaptor, Emitter &emitter) {
  SmallVector<Value> values = emitter.unpack(adaptor.getFragment()), halves;
  for (size_t i = 0; i < values.size(); i += 2)
    halves.push_back(emitter.roundPair(op.getType().getElementType(), values[i], values[i + 1]));
  auto type = LLVM::LLVMStructType::getLiteral(
      op.getContext(), SmallVector<Type>(halves.size(), emitter.builder.getI32Type()));
  return emitter.pack(halves, type);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static Value lowerRowNumbers(RowNumbersOp, RowNumbersOp::Adaptor, Emitter &emitter) {
  Value upper =
      emitter.add(emitter.shiftLeft(emitter.warp(), 4), emitter.shiftRight(emitter.lane(), 2));
  return emitter.pair(upper, emitter.add(upper, 8));
}

static StringRef approximation(ApproxKind kind) {
  switch (kind) {
  case ApproxKind::Exp2:
    return kExp2;
  case ApproxKind::Log2:
    return kLog2;
  case ApproxKind::Reciprocal:
    return kReciprocal;
  }
  llvm_unreachable("all kinds are above");
}

static Value lowerApprox(ApproxOp op, ApproxOp::Adaptor adaptor, Emitter &emitter) {
  if (op.getType().isF32())
    return emitter.intrinsic(approximation(op.getKind()), adaptor.getRows());
  std::array<Value, 2> rows = emitter.rows(adaptor.getRows());
  Value upper = emitter.intrinsic(approximation(op.getKind()), rows[0]);
  return emitter.pair(upper, emitter.intrinsic(approximation(op.getKind()), rows[1]));
}

static Value lowerOpaque(OpaqueOp, OpaqueOp::Adaptor adaptor, Emitter &emitter) {
  SmallVector<Value> tied = emitter.tie(emitter.rows(adaptor.getRows()));
  return emitter.pair(tied[0], tied[1]);
}

static Value lowerAny(AnyOp, AnyOp::Adaptor adaptor, Emitter &emitter) {
  std::array<Value, 2> rows = emitter.rows(adaptor.getCondition());
  Value either = LLVM::OrOp::create(emitter.builder, emitter.loc, rows[0], rows[1]);
  return NVVM::VoteSyncOp::create(emitter.builder, emitter.loc, emitter.builder.getI1Type(),
                                  emitter.i32(-1), either, NVVM::VoteSyncKind::any);
}

void pagefold::hopper::addFragmentLowerings(const LoweringContext &context) {
  addLowering(context, lowerRowReduce);
  addLowering(context, lowerQuadReduce);
  addLowering(context, lowerExp2);
  addLowering(context, lowerMask);
  addLowering(context, lowerMap);
  addLowering(context, lowerScaleRows);
  addLowering(context, lowerAddFragments);
  addLowering(context, lowerZero);
  addLowering(context, lowerConvert);
  addLowering(context, lowerRowNumbers);
  addLowering(context, lowerApprox);
  addLowering(context, lowerOpaque);
  addLowering(context, lowerAny);
}
