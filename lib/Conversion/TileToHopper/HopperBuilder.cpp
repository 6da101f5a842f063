//===- HopperBuilder.cpp - building code of level 3 on the GPU ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HopperBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value HopperBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(*this, getI32Type(), value);
}

Value HopperBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(*this, getI64Type(), value);
}

Value HopperBuilder::boolean(bool value) {
  return arith::ConstantIntOp::create(*this, getI1Type(), value);
}

void HopperBuilder::unify(Value &a, Value &b) {
  auto broadcast = [&](Value &scalar, Value like) {
    auto shape = dyn_cast<VectorType>(like.getType());
    if (shape && !isa<VectorType>(scalar.getType()))
      scalar = vector::BroadcastOp::create(*this, shape.clone(scalar.getType()), scalar);
  };
  broadcast(a, b);
  broadcast(b, a);
}

Value HopperBuilder::add(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::AddIOp>(a, b);
}
Value HopperBuilder::add(Value a, int64_t b) { return b == 0 ? a : add(a, i32(b)); }

Value HopperBuilder::sub(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::SubIOp>(a, b);
}

Value HopperBuilder::mul(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::MulIOp>(a, b);
}
Value HopperBuilder::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, i32(b)); }

Value HopperBuilder::divide(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::DivUIOp>(a, b);
}
Value HopperBuilder::divide(Value a, int64_t b) {
  if (b == 1)
    return a;
  if (!llvm::isPowerOf2_64(b))
    return divide(a, i32(b));
  Value shift = i32(llvm::Log2_64(b));
  unify(a, shift);
  return createOrFold<arith::ShRUIOp>(a, shift);
}

Value HopperBuilder::remainder(Value a, int64_t b) {
  Value mask = i32(llvm::isPowerOf2_64(b) ? b - 1 : b);
  unify(a, mask);
  if (llvm::isPowerOf2_64(b))
    return createOrFold<arith::AndIOp>(a, mask);
  return createOrFold<arith::RemUIOp>(a, mask);
}

Value HopperBuilder::ceilDivide(Value a, int64_t b) { return divide(add(a, b - 1), b); }
Value HopperBuilder::ceilDivide(Value a, Value b) { return divide(add(a, add(b, -1)), b); }

Value HopperBuilder::min(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::MinSIOp>(a, b);
}

Value HopperBuilder::max(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::MaxSIOp>(a, b);
}

Value HopperBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::CmpIOp>(predicate, a, b);
}

Value HopperBuilder::both(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::AndIOp>(a, b);
}

Value HopperBuilder::either(Value a, Value b) {
  unify(a, b);
  return createOrFold<arith::OrIOp>(a, b);
}

Value HopperBuilder::select(Value condition, Value a, Value b) {
  unify(a, b);
  if (isa<VectorType>(condition.getType()))
    unify(condition, a);
  return createOrFold<arith::SelectOp>(condition, a, b);
}

Value HopperBuilder::widen(Value value) {
  Type type = getI64Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return createOrFold<arith::ExtSIOp>(type, value);
}

Value HopperBuilder::narrow(Value value) {
  return createOrFold<arith::TruncIOp>(getI32Type(), value);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value HopperBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(static_cast<float>(value)));
}

Value HopperBuilder::rows(double value) {
  auto attr = DenseElementsAttr::get(rowsType(getF32Type()), static_cast<float>(value));
  return arith::ConstantOp::create(*this, attr);
}

template <typename Op> static Value contracted(HopperBuilder &b, Value x, Value y) {
  b.unify(x, y);
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
  return Op::create(b, x, y, flags);
}
Value HopperBuilder::addF(Value a, Value b) { return contracted<arith::AddFOp>(*this, a, b); }
Value HopperBuilder::subF(Value a, Value b) { return contracted<arith::SubFOp>(*this, a, b); }
Value HopperBuilder::mulF(Value a, Value b) { return contracted<arith::MulFOp>(*this, a, b); }

Value HopperBuilder::maxF(Value a, Value b) {
  unify(a, b);
  return arith::MaxNumFOp::create(*this, a, b);
}

Value HopperBuilder::fma(Value a, Value x, Value y) {
  unify(a, x);
  unify(x, y);
  unify(a, x);
  return math::FmaOp::create(*this, a, x, y);
}

Value HopperBuilder::negF(Value a) { return arith::NegFOp::create(*this, a); }

Value HopperBuilder::compareF(arith::CmpFPredicate predicate, Value a, Value b) {
  unify(a, b);
  return arith::CmpFOp::create(*this, predicate, a, b);
}

Value HopperBuilder::approx(ApproxKind kind, Value value) {
  return ApproxOp::create(*this, value.getType(), kind, value);
}
Value HopperBuilder::rowReduce(ReduceKind kind, Value fragment) {
  return RowReduceOp::create(*this, rowsType(getF32Type()), kind, fragment);
}
Value HopperBuilder::quadReduce(ReduceKind kind, Value rows) {
  return QuadReduceOp::create(*this, rowsType(getF32Type()), kind, rows);
}
Value HopperBuilder::columnReduce(ReduceKind kind, Value columns) {
  return ColumnReduceOp::create(*this, rowsType(getF32Type()), kind, columns);
}
Value HopperBuilder::rowNumbers() { return RowNumbersOp::create(*this, rowsType(getI32Type())); }

Value HopperBuilder::loadBlock(Value ring, Value turn, Value warp, int64_t row, int64_t column,
                               bool transposed) {
  return LoadBlockOp::create(*this, VectorType::get({4}, getI32Type()), ring, turn, warp, row,
                             column, transposed);
}
Value HopperBuilder::widenBlock(Value block, int64_t part, bool transposed) {
  return WidenBlockOp::create(*this, block.getType(), block, part, transposed);
}
Value HopperBuilder::contractBlock(Value lhs, Value rhs, Value acc, Type element) {
  return ContractBlockOp::create(*this, acc.getType(), lhs, rhs, acc, element);
}
Value HopperBuilder::roundPair(Value values, Type element) {
  return RoundPairOp::create(*this, getI32Type(), values, element);
}
Value HopperBuilder::transposePairs(Value pairs) {
  return TransposePairsOp::create(*this, getI32Type(), pairs);
}
Value HopperBuilder::loadPair(Value pointer, Value index, Value condition, double otherwise) {
  Type type = pairTypeOf(cast<PointerType>(pointer.getType()));
  FloatAttr other = otherwise ? getF32FloatAttr(otherwise) : FloatAttr();
  return LoadPairOp::create(*this, type, pointer, index, condition, other);
}
/// A bf16 is the upper half of its f32. As a conversion it would go through the unit of special
/// functions, a quarter as fast.
Value HopperBuilder::widenPair(Value pair, Type element) {
  if (element.isBF16()) {
    Value low = createOrFold<arith::ShLIOp>(pair, i32(16)), high = both(pair, i32(-0x10000));
    auto asFloat = [&](Value word) {
      return arith::BitcastOp::create(*this, getF32Type(), word).getResult();
    };
    return vectorOf({asFloat(low), asFloat(high)});
  }
  Value word = vector::BroadcastOp::create(*this, VectorType::get({1}, getI32Type()), pair);
  Value halves = vector::BitCastOp::create(*this, VectorType::get({2}, element), word);
  return arith::ExtFOp::create(*this, rowsType(getF32Type()), halves);
}

Value HopperBuilder::element(Value vector, int64_t index) {
  return createOrFold<vector::ExtractOp>(vector, index);
}

Value HopperBuilder::vectorOf(ValueRange elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())}, elements.front().getType());
  return createOrFold<vector::FromElementsOp>(type, elements);
}

Value HopperBuilder::finiteMax(Value max, Value value) {
  bool scalar = max.getType().isF32();
  auto constant = [&](double x) { return scalar ? f32(x) : rows(x); };
  Value nothing =
      compareF(arith::CmpFPredicate::OEQ, max, constant(-std::numeric_limits<double>::infinity()));
  return select(nothing, constant(0), value);
}

Value HopperBuilder::exp2Difference(Value own, Value top, Value factor) {
  return approx(ApproxKind::Exp2, mulF(subF(own, top), factor));
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

Value HopperBuilder::lane() { return LaneOp::create(*this, getI32Type()); }
Value HopperBuilder::cta() { return CtaOp::create(*this, getI32Type()); }
Value HopperBuilder::ctas() { return CtasOp::create(*this, getI32Type()); }
Value HopperBuilder::warpReduce(ReduceKind kind, Value value) {
  return WarpReduceOp::create(*this, getI32Type(), kind, value);
}
Value HopperBuilder::warpScan(Value value) {
  return WarpScanOp::create(*this, getI32Type(), value);
}
Value HopperBuilder::shuffle(Value value, Value lane) {
  return ShuffleOp::create(*this, getI32Type(), value, lane);
}
Value HopperBuilder::ticket(Value counter, llvm::function_ref<Value()> index, Value last) {
  Value zero = i32(0);
  Values drawn = ifThenElse(
      equal(lane(), zero), getI32Type(),
      [&] {
        return Values{TicketOp::create(*this, getI32Type(), counter, index(), last).getResult()};
      },
      [&] { return Values{zero}; });
  return shuffle(drawn[0], zero);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void HopperBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

Values HopperBuilder::ifThenElse(Value condition, TypeRange types, llvm::function_ref<Values()> yes,
                                 llvm::function_ref<Values()> no) {
  auto op = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  auto fill = [&](Block *block, llvm::function_ref<Values()> body) {
    setInsertionPointToStart(block);
    Values results = body();
    // Without results the block has its terminator already.
    if (!types.empty())
      scf::YieldOp::create(*this, results);
  };
  fill(op.thenBlock(), yes);
  fill(op.elseBlock(), no);
  return Values(op.getResults());
}

Values
HopperBuilder::whileLoopWithHead(ValueRange init,
                                 llvm::function_ref<std::pair<Value, Values>(ValueRange)> head,
                                 llvm::function_ref<Values(ValueRange)> body) {
  SmallVector<Type> carried(init.getTypes());
  SmallVector<Location> locs(carried.size(), getLoc());
  // The types of what the head gives are known once it is built: build it first.
  OperationState state(getLoc(), scf::WhileOp::getOperationName());
  auto before = std::make_unique<Region>(), after = std::make_unique<Region>();
  Block *headBlock = new Block();
  before->push_back(headBlock);
  headBlock->addArguments(carried, locs);
  SmallVector<Type> forwarded;
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(headBlock);
    auto [condition, values] = head(headBlock->getArguments());
    Values all(headBlock->getArguments());
    all.append(values.begin(), values.end());
    scf::ConditionOp::create(*this, condition, all);
    for (Value value : all)
      forwarded.push_back(value.getType());
    Block *bodyBlock = new Block();
    after->push_back(bodyBlock);
    bodyBlock->addArguments(forwarded, SmallVector<Location>(forwarded.size(), getLoc()));
    setInsertionPointToStart(bodyBlock);
    scf::YieldOp::create(*this, body(bodyBlock->getArguments()));
  }
  state.addOperands(init);
  state.addTypes(forwarded);
  state.addRegion(std::move(before));
  state.addRegion(std::move(after));
  Operation *loop = create(state);
  return Values(loop->getResults().take_front(carried.size()));
}

Values HopperBuilder::whileLoop(ValueRange init, llvm::function_ref<Value(ValueRange)> condition,
                                llvm::function_ref<Values(ValueRange)> body) {
  auto head = [&](ValueRange carried) { return std::pair(condition(carried), Values()); };
  return whileLoopWithHead(init, head, body);
}

Values HopperBuilder::countDown(Value first, Value last, ValueRange init,
                                llvm::function_ref<Values(Value, ValueRange)> body) {
  Values carried{first};
  carried.append(init.begin(), init.end());
  Values results = whileLoop(
      carried, [&](ValueRange values) { return atLeast(values[0], last); },
      [&](ValueRange values) {
        Values next{sub(values[0], i32(1))};
        next.append(body(values[0], values.drop_front()));
        return next;
      });
  results.erase(results.begin());
  return results;
}

void HopperBuilder::firstLane(llvm::function_ref<void()> body) {
  ifThen(equal(lane(), i32(0)), body);
}

void HopperBuilder::singleThread(llvm::function_ref<void()> body) {
  auto op = SingleThreadOp::create(*this);
  OpBuilder::InsertionGuard guard(*this);
  Block *block = op.getBody().empty() ? &op.getBody().emplaceBlock() : &op.getBody().front();
  setInsertionPointToStart(block);
  body();
  SingleThreadOp::ensureTerminator(op.getBody(), *this, getLoc());
}
