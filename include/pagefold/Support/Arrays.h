//===- Arrays.h - arrays in memory ------------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An Array is a strided view of a buffer that it shares with its other views: K pages and V pages
// of one allocation are two Arrays over one buffer. Copying an Array copies the view; `clone`
// copies the elements. Files are read and written by ArrayFiles.h. No LLVM here.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_SUPPORT_ARRAYS_H
#define PAGEFOLD_SUPPORT_ARRAYS_H

#include "pagefold/runtime/Artifact.h"
#include "pagefold/runtime/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pagefold {

using runtime::DType;
using runtime::dtypeName;
using runtime::dtypeSize;
bool isFloat(DType dtype);

/// `x` rounded to nearest even as `dtype` stores it, once (not by way of another format). Floats
/// only; what lies past the largest finite value becomes infinite, or that value in a type without
/// infinities.
double roundTo(DType dtype, double x);

/// "[2, 16, 128]".
std::string shapeString(std::span<const int64_t> shape);

/// Elements of a shape, or nothing where a dimension is negative or the count does not fit 63 bits.
std::optional<int64_t> elementCount(std::span<const int64_t> shape);

/// A strided view of a shared buffer. Strides and offsets count elements, and every index within
/// the shape lies in the buffer: the constructors check it, so that `loadAt(offset(index))` is
/// always defined.
class Array {
public:
  /// An empty f32 array of shape [0].
  Array() : shape_{0}, strides_{1} {}

  /// Zero-filled and contiguous, 64-byte aligned. Fails where the size overflows or memory is not
  /// to be had.
  static runtime::Result<Array> make(DType dtype, std::vector<int64_t> shape);

  /// Another view of the same buffer, `offset` elements past this view's first one. Fails where an
  /// index would reach outside the buffer or a stride is negative.
  runtime::Result<Array> view(std::vector<int64_t> shape, std::vector<int64_t> strides,
                              int64_t offset) const;

  DType dtype() const { return dtype_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  const std::vector<int64_t> &strides() const { return strides_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t dim(int64_t i) const { return shape_[i]; }
  int64_t size() const;
  int64_t sizeInBytes() const { return size() * dtypeSize(dtype_); }
  bool isContiguous() const;

  /// The first element. Null where the array is empty.
  std::byte *data() const;

  /// Where an index stands, in elements past the first.
  int64_t offset(std::span<const int64_t> index) const;

  /// The element `at` elements past the first one, as a number; exact except for i64 past 2^53.
  double loadAt(int64_t at) const;
  /// The same for the integer types and bool.
  int64_t loadIntegerAt(int64_t at) const;
  /// Stores `x`, rounded to nearest even; integers saturate, NaN becomes 0 in them.
  void storeAt(int64_t at, double x);
  void storeIntegerAt(int64_t at, int64_t x);

  /// A contiguous copy with a buffer of its own.
  runtime::Result<Array> clone() const;
  /// Dimension i of the result is dimension `order[i]` of this view.
  Array permuted(std::span<const int64_t> order) const;
  /// The same elements in another shape; nothing where this view is not contiguous or the counts
  /// differ.
  std::optional<Array> reshaped(std::vector<int64_t> shape) const;

  /// Calls `fn(at)` for every element in row-major order, with `at` as loadAt takes it.
  template <typename Fn> void forEach(Fn &&fn) const;

private:
  struct Buffer;
  DType dtype_ = DType::F32;
  std::vector<int64_t> shape_, strides_;
  std::shared_ptr<Buffer> buffer_;
  int64_t offset_ = 0; ///< of the first element, in elements
};

template <typename Fn> void Array::forEach(Fn &&fn) const {
  if (size() == 0)
    return;
  std::vector<int64_t> index(shape_.size(), 0);
  int64_t at = 0;
  for (;;) {
    fn(at);
    int64_t dim = rank() - 1;
    for (; dim >= 0; --dim) {
      at += strides_[dim];
      if (++index[dim] < shape_[dim])
        break;
      at -= strides_[dim] * shape_[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

} // namespace pagefold

#endif // PAGEFOLD_SUPPORT_ARRAYS_H
