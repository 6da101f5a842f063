//===- Values.h - what SSA values stand for in the oracle -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ORACLE_VALUES_H
#define PAGEFOLD_LIB_ORACLE_VALUES_H

#include "pagefold/Oracle/Oracle.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace pagefold::oracle {

using runtime::Result;
using runtime::Status;

/// A scalar: `real` where its type is a float, else `integer`, sign-extended from its width.
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

/// A tensor in float64, row-major. Integers are exact up to 2^53, past every index and length.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
  bool isLse = false;
  std::shared_ptr<const Requests> requests;

  explicit Tensor(std::vector<int64_t> dims, double fill = 0)
      : shape(std::move(dims)), values(elementCount(shape).value_or(0), fill) {}
  int64_t dim(int64_t i) const { return shape[i]; }
  /// Of a rank-3 tensor: the row of (token, head).
  double *row(int64_t token, int64_t head) {
    return values.data() + (token * shape[1] + head) * shape[2];
  }
  const double *row(int64_t token, int64_t head) const {
    return const_cast<Tensor *>(this)->row(token, head);
  }
};
using TensorRef = std::shared_ptr<const Tensor>;

/// Pages of keys or of values. They are storage: an append writes them, at their type. An element
/// of a head stands for itself times the head's scale.
struct Pages {
  Array array;                ///< [pages, page, heads, dim], whatever the layout in memory
  std::vector<double> scales; ///< by head
};

/// A paged cache.
struct Cache {
  Pages k, v;
  Array table; ///< [batch, width], or one list with `starts`
  std::optional<std::vector<int64_t>> starts;
  std::vector<int64_t> lens;

  int64_t batch() const { return static_cast<int64_t>(lens.size()); }
  int64_t pages() const { return k.array.dim(0); }
  int64_t pageSize() const { return k.array.dim(1); }
  int64_t kvHeads() const { return k.array.dim(2); }
};
using CacheRef = std::shared_ptr<const Cache>;

/// An Array is an argument not read yet: pages are never widened.
using Value = std::variant<Array, TensorRef, CacheRef, Scalar>;

/// The values of a block so far.
class Environment {
public:
  void set(mlir::Value value, Value held) { values_.insert_or_assign(value, std::move(held)); }
  const Value &get(mlir::Value value) const { return values_.find(value)->second; }
  /// The value as a tensor in float64; an argument is widened once. A scalar becomes a tensor of
  /// rank 0.
  TensorRef tensor(mlir::Value value);
  CacheRef cache(mlir::Value value) const { return std::get<CacheRef>(get(value)); }
  Scalar scalar(mlir::Value value) const { return std::get<Scalar>(get(value)); }

private:
  llvm::DenseMap<mlir::Value, Value> values_;
};

/// The elements of a tensor of integers.
std::vector<int64_t> toIntegers(const Tensor &tensor);

/// An error of `op`: its name and place before the sentence.
tl::unexpected<runtime::Error> failAt(mlir::Operation *op, runtime::ErrorCode code,
                                      const std::string &what);

/// Runs body(i) for i in [0, count) on `threads` threads; i is drawn in order.
void parallelFor(int64_t count, unsigned threads, llvm::function_ref<void(int64_t)> body);

} // namespace pagefold::oracle

#endif // PAGEFOLD_LIB_ORACLE_VALUES_H
