//===- HostBuilder.h - building vector and loop code ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vocabulary in which the host lowering is written: index arithmetic, counted loops, vectors of
// f32 read from and written to memory of any float type, exp. All values are f32 once loaded.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_HOSTBUILDER_H
#define PAGEFOLD_CONVERSION_TILETOHOST_HOSTBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace pagefold::host {

/// Lanes of a full vector. Head dims are multiples of 8, so a row may end in half a vector.
inline constexpr int64_t kLanes = 16, kHalfLanes = 8;

class HostBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  int64_t unrolledVectors = 1;

  // Constants and integers (index or i32, whatever the operands are).
  Value index(int64_t value);
  Value i32(int64_t value);
  Value f32(double value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value divide(Value a, int64_t b);    ///< floor, a >= 0
  Value remainder(Value a, int64_t b); ///< a >= 0
  Value divide(Value a, Value b);
  Value remainder(Value a, Value b);
  Value ceilDivide(Value a, int64_t b); ///< a >= 0
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value toIndex(Value i32);
  Value toI32(Value index);

  // Control.
  void loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body);
  Values loop(Value lower, Value upper, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  Values loop(Value lower, Value upper, Value step, mlir::ValueRange init,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void ifThenElse(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);
  /// What `yes` gives where the condition holds, else `others`.
  Values ifThenElse(Value condition, mlir::ValueRange others, llvm::function_ref<Values()> yes);
  /// `body(offset, lanes)` for the vectors of a row of `extent` elements, a multiple of 8: a loop,
  /// or the body again and again for at most `unrolledVectors` of them.
  void forVectors(int64_t extent, llvm::function_ref<void(Value, int64_t)> body);

  // Memory.
  mlir::VectorType vectorType(int64_t lanes, mlir::Type element = {});
  Value load(Value memref, mlir::ValueRange indices);    ///< any element, unconverted
  Value loadF32(Value memref, mlir::ValueRange indices); ///< one float, as f32
  /// Floats, as f32. `alignment` in bytes; 0: that of an element.
  Value loadVector(Value memref, mlir::ValueRange indices, int64_t lanes, int64_t alignment = 0);
  Value loadInts(Value memref, mlir::ValueRange indices, int64_t lanes); ///< i32
  void store(Value value, Value memref,
             mlir::ValueRange indices); ///< f32 or integer; converts floats
  void storeVector(Value vector, Value memref, mlir::ValueRange indices,
                   int64_t alignment = 0); ///< f32; converts
  void fill(Value memref,
            double value); ///< a static f32 buffer whose extents multiply to whole vectors
  Value dim(Value memref, int64_t dim);

  // Floats: scalars or vectors.
  Value splat(Value scalar, int64_t lanes);
  Value like(double value, Value shape); ///< a constant of the type of `shape`
  Value fadd(Value a, Value b);
  Value fsub(Value a, Value b);
  Value fmul(Value a, Value b);
  Value fdiv(Value a, Value b);
  Value fma(Value a, Value b, Value c); ///< a b + c
  Value fmax(Value a, Value b);         ///< NaN wins
  Value fcompare(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  /// exp(x) for x <= 0 or so: relative error below 3e-7, exactly 0 below -87.3, undefined for NaN.
  Value exp(Value x);
  /// m, or 0 where m is -inf: what may be subtracted from scores.
  Value finiteMax(Value m);
};

/// Vectors of 16 in a row of `extent` elements, a last half one counted whole.
inline int64_t vectorsOf(int64_t extent) { return (extent + kLanes - 1) / kLanes; }
inline int64_t paddedTo16(int64_t extent) { return vectorsOf(extent) * kLanes; }

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_HOSTBUILDER_H
