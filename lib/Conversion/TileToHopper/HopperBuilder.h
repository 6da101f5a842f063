//===- HopperBuilder.h - building code of level 3 on the GPU ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vocabulary in which the lowering to the GPU is written: arithmetic on i32 and on what a lane
// holds for its two rows (vectors of two), and structured control flow with values. An operand
// that is a scalar meets a vector of two by broadcast.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_HOPPERBUILDER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_HOPPERBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "pagefold/Dialect/Hopper/IR/Hopper.h"

namespace pagefold::hopper {

using Values = llvm::SmallVector<mlir::Value>;

class HopperBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;

  // Integers: i32, or i64 where both operands are.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value boolean(bool value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value divide(Value a, Value b); ///< a >= 0, b > 0
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  Value ceilDivide(Value a, int64_t b); ///< a >= 0
  Value ceilDivide(Value a, Value b);   ///< a >= 0, b > 0
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value less(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::slt, a, b); }
  Value atLeast(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::sge, a, b); }
  Value equal(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::eq, a, b); }
  Value both(Value a, Value b);
  Value either(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value widen(Value i32);  ///< to i64, with its sign
  Value narrow(Value i64); ///< to i32, of which it is one

  // f32, and rows of it.
  Value f32(double value);
  Value rows(double value); ///< the same in both rows
  Value addF(Value a, Value b);
  Value subF(Value a, Value b);
  Value mulF(Value a, Value b);
  Value maxF(Value a, Value b); ///< a NaN loses
  Value negF(Value a);
  Value fma(Value a, Value x, Value y); ///< a x + y
  Value compareF(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  Value approx(ApproxKind kind, Value rows);
  Value rowReduce(ReduceKind kind, Value fragment);
  Value quadReduce(ReduceKind kind, Value rows);
  Value columnReduce(ReduceKind kind, Value columns);
  Value rowNumbers();
  /// `value`, and 0 in rows whose maximum is -inf: such a row has seen nothing yet, so that any
  /// finite number serves as its maximum.
  Value finiteMax(Value max, Value value);
  /// 2^((own - top) factor), of row maxima and a finite `top` that is at least `own`. The
  /// difference comes first: a score region may give any f32, whose product with the factor may be
  /// infinite, and the difference of two such products is NaN.
  Value exp2Difference(Value own, Value top, Value factor);

  // Products of a warp.
  Value loadBlock(Value ring, Value turn, Value warp, int64_t row, int64_t column, bool transposed);
  Value widenBlock(Value block, int64_t part, bool transposed);
  Value contractBlock(Value lhs, Value rhs, Value acc, mlir::Type element);
  Value roundPair(Value values, mlir::Type element);
  Value widenPair(Value pair, mlir::Type element); ///< of 16 bits, to two f32
  Value transposePairs(Value pairs);
  /// `otherwise`: both of f32 where the condition does not hold.
  Value loadPair(Value pointer, Value index, Value condition, double otherwise = 0);

  // Vectors of registers.
  Value element(Value vector, int64_t index);
  Value vectorOf(mlir::ValueRange elements);

  // Warps; i32.
  Value lane();
  Value cta();
  Value ctas();
  Value warpReduce(ReduceKind kind, Value value);
  Value warpScan(Value value);
  Value shuffle(Value value, Value lane);
  /// A ticket that one lane draws from a counter (hopper.ticket), in all lanes. `index` is built
  /// where that lane alone runs.
  Value ticket(Value counter, llvm::function_ref<Value()> index, Value last);

  /// Brings two operands to one shape.
  void unify(Value &a, Value &b);

  // Control.
  void ifThen(Value condition, llvm::function_ref<void()> body);
  Values ifThenElse(Value condition, mlir::TypeRange types, llvm::function_ref<Values()> yes,
                    llvm::function_ref<Values()> no);
  /// While `condition(carried)`: carried = body(carried). Returns the last ones.
  Values whileLoop(mlir::ValueRange init, llvm::function_ref<Value(mlir::ValueRange)> condition,
                   llvm::function_ref<Values(mlir::ValueRange)> body);
  /// As whileLoop, where the head computes values for the body: `head` gives the condition first,
  /// then those values; the body gets (carried..., values...). Returns the last carried ones.
  Values whileLoopWithHead(mlir::ValueRange init,
                           llvm::function_ref<std::pair<Value, Values>(mlir::ValueRange)> head,
                           llvm::function_ref<Values(mlir::ValueRange)> body);
  /// For i = first; i >= last; --i, with carried values.
  Values countDown(Value first, Value last, mlir::ValueRange init,
                   llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  /// Lane 0 of a warp.
  void firstLane(llvm::function_ref<void()> body);
  /// One thread of each warpgroup.
  void singleThread(llvm::function_ref<void()> body);

  /// The number of a panel as ops take it; null for none.
  mlir::IntegerAttr panelAttr(std::optional<int64_t> panel) {
    return panel ? getI64IntegerAttr(*panel) : mlir::IntegerAttr();
  }
  mlir::VectorType rowsType(mlir::Type element) { return mlir::VectorType::get({2}, element); }
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_HOPPERBUILDER_H
