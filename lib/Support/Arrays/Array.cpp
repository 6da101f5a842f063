//===- Array.cpp - arrays in memory ---------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/Arrays.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace pagefold;
using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;

static constexpr size_t kAlignment = 64;

struct Array::Buffer {
  std::byte *bytes = nullptr;
  int64_t elements = 0;
  ~Buffer() { std::free(bytes); }
};

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

bool pagefold::isFloat(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 ||
         dtype == DType::F8E4M3 || dtype == DType::F64;
}

namespace {
/// A binary float format narrower than double: sign, exponent, fraction.
struct Format {
  int precision;     ///< bits of the significand, the hidden one included
  int leastExponent; ///< the least subnormal is 2^leastExponent
  double largest;    ///< finite
  uint32_t sign;     ///< its bit
  uint32_t nan;      ///< the bits of the NaN that is written
  bool hasInfinity = true;

  int fractionBits() const { return precision - 1; }
  /// The bits of 2^fractionBits() units: the least normal, or the hidden bit.
  uint32_t hidden() const { return 1U << fractionBits(); }
  /// The bits of infinity, where there is one; larger ones are NaN.
  uint32_t infinity() const { return sign - hidden(); }
};
constexpr Format kF16{11, -24, 65504.0, 0x8000, 0x7E00};
constexpr Format kBF16{8, -133, 0x1.FEp127, 0x8000, 0x7FC0};
constexpr Format kF8E4M3{4, -9, 448.0, 0x80, 0x7F, /*hasInfinity=*/false};
} // namespace

/// To nearest even in one step: x is scaled so that the last place of the format is 1.
static double roundToFormat(const Format &format, double x) {
  if (std::isinf(x) && !format.hasInfinity)
    return std::copysign(format.largest, x);
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent;
  std::frexp(x, &exponent);
  int lastPlace = std::max(exponent - format.precision, format.leastExponent);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -lastPlace)), lastPlace);
  if (std::fabs(rounded) > format.largest)
    return std::copysign(
        format.hasInfinity ? std::numeric_limits<double>::infinity() : format.largest, x);
  return rounded;
}

double pagefold::roundTo(DType dtype, double x) {
  switch (dtype) {
  case DType::F32:
    return static_cast<float>(x);
  case DType::F16:
    return roundToFormat(kF16, x);
  case DType::BF16:
    return roundToFormat(kBF16, x);
  case DType::F8E4M3:
    return roundToFormat(kF8E4M3, x);
  default:
    return x;
  }
}

static float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

static uint16_t bf16FromDouble(double x) {
  if (std::isnan(x))
    return kBF16.nan;
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (static_cast<double>(static_cast<float>(x)) == x) // a float: rounding its bits is quicker
    return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  return static_cast<uint16_t>(
      std::bit_cast<uint32_t>(static_cast<float>(roundTo(DType::BF16, x))) >> 16);
}

static double fromBits(const Format &format, uint32_t bits) {
  uint32_t magnitude = bits & (format.sign - 1);
  uint32_t exponent = magnitude >> format.fractionBits(),
           fraction = magnitude & (format.hidden() - 1);
  double value = exponent == 0 ? std::ldexp(fraction, format.leastExponent)
                               : std::ldexp(format.hidden() + fraction,
                                            static_cast<int>(exponent) - 1 + format.leastExponent);
  if (format.hasInfinity && magnitude == format.infinity())
    value = std::numeric_limits<double>::infinity();
  if (format.hasInfinity ? magnitude > format.infinity() : magnitude == format.nan)
    value = std::numeric_limits<double>::quiet_NaN();
  return bits & format.sign ? -value : value;
}

static uint32_t toBits(const Format &format, double x) {
  if (std::isnan(x))
    return format.nan;
  uint32_t sign = std::signbit(x) ? format.sign : 0;
  double magnitude = std::fabs(roundToFormat(format, x));
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | format.infinity();
  // Subnormals count units, and so do normals from the least of their exponent on.
  int exponent;
  std::frexp(magnitude, &exponent);
  int binade = std::max(exponent - format.precision - format.leastExponent, 0);
  auto units = static_cast<uint32_t>(std::ldexp(magnitude, -(format.leastExponent + binade)));
  return sign | (units + static_cast<uint32_t>(binade) * format.hidden());
}

//===----------------------------------------------------------------------===//
// Shapes and views
//===----------------------------------------------------------------------===//

std::string pagefold::shapeString(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<int64_t> pagefold::elementCount(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, dim, &count))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

static std::vector<int64_t> rowMajorStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

Result<Array> Array::make(DType dtype, std::vector<int64_t> shape) {
  std::optional<int64_t> count = elementCount(shape);
  int64_t bytes;
  if (!count || __builtin_mul_overflow(*count, dtypeSize(dtype), &bytes))
    return fail(ErrorCode::InvalidArgument,
                "expects a shape whose bytes can be counted, got " + shapeString(shape));
  auto buffer = std::make_shared<Buffer>();
  // Not operator new: a process with LLVM in it has a new-handler that ends it.
  size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  buffer->bytes = static_cast<std::byte *>(std::aligned_alloc(kAlignment, rounded));
  if (!buffer->bytes)
    return fail(ErrorCode::OutOfCapacity, "cannot allocate " + std::to_string(bytes) +
                                              " bytes for an array of shape " + shapeString(shape));
  std::memset(buffer->bytes, 0, bytes);
  buffer->elements = *count;
  Array array;
  array.dtype_ = dtype;
  array.strides_ = rowMajorStrides(shape);
  array.shape_ = std::move(shape);
  array.buffer_ = std::move(buffer);
  return array;
}

Result<Array> Array::view(std::vector<int64_t> shape, std::vector<int64_t> strides,
                          int64_t offset) const {
  std::optional<int64_t> count = elementCount(shape);
  int64_t last = 0;
  bool fits = count && strides.size() == shape.size() &&
              !__builtin_add_overflow(offset_, offset, &last) && last >= 0;
  for (size_t i = 0; fits && *count != 0 && i < shape.size(); ++i) {
    int64_t reach;
    fits = strides[i] >= 0 && !__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  int64_t have = buffer_ ? buffer_->elements : 0;
  if (!fits || (*count != 0 && last >= have))
    return fail(ErrorCode::InvalidArgument,
                "a view of shape " + shapeString(shape) + " and strides " + shapeString(strides) +
                    " at element " + std::to_string(offset) + " reaches outside its buffer of " +
                    std::to_string(have) + " elements");
  Array array = *this;
  array.shape_ = std::move(shape);
  array.strides_ = std::move(strides);
  array.offset_ += offset;
  return array;
}

int64_t Array::size() const { return *elementCount(shape_); }

bool Array::isContiguous() const {
  int64_t expected = 1;
  for (size_t i = shape_.size(); i-- > 0;) {
    if (shape_[i] != 1 && strides_[i] != expected)
      return size() == 0;
    expected *= std::max<int64_t>(shape_[i], 1);
  }
  return true;
}

std::byte *Array::data() const {
  return buffer_ && size() != 0 ? buffer_->bytes + offset_ * dtypeSize(dtype_) : nullptr;
}

int64_t Array::offset(std::span<const int64_t> index) const {
  int64_t at = 0;
  for (size_t i = 0; i < index.size(); ++i)
    at += index[i] * strides_[i];
  return at;
}

Array Array::permuted(std::span<const int64_t> order) const {
  Array array = *this;
  for (size_t i = 0; i < order.size(); ++i) {
    array.shape_[i] = shape_[order[i]];
    array.strides_[i] = strides_[order[i]];
  }
  return array;
}

std::optional<Array> Array::reshaped(std::vector<int64_t> shape) const {
  if (!isContiguous() || elementCount(shape) != size())
    return std::nullopt;
  Array array = *this;
  array.strides_ = rowMajorStrides(shape);
  array.shape_ = std::move(shape);
  return array;
}

Result<Array> Array::clone() const {
  Result<Array> copy = make(dtype_, shape_);
  if (!copy || size() == 0)
    return copy;
  if (isContiguous()) {
    std::memcpy(copy->data(), data(), sizeInBytes());
    return copy;
  }
  int64_t width = dtypeSize(dtype_);
  std::byte *to = copy->data(), *from = data();
  forEach([&](int64_t at) {
    std::memcpy(to, from + at * width, width);
    to += width;
  });
  return copy;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T> static T get(const std::byte *data, int64_t at) {
  T value;
  std::memcpy(&value, data + at * int64_t{sizeof(T)}, sizeof(T));
  return value;
}
template <typename T> static void put(std::byte *data, int64_t at, T value) {
  std::memcpy(data + at * int64_t{sizeof(T)}, &value, sizeof(T));
}

double Array::loadAt(int64_t at) const {
  const std::byte *data = buffer_->bytes + offset_ * dtypeSize(dtype_);
  switch (dtype_) {
  case DType::F32:
    return get<float>(data, at);
  case DType::F16:
    return fromBits(kF16, get<uint16_t>(data, at));
  case DType::BF16:
    return bf16ToFloat(get<uint16_t>(data, at));
  case DType::F8E4M3:
    return fromBits(kF8E4M3, get<uint8_t>(data, at));
  case DType::F64:
    return get<double>(data, at);
  default:
    return static_cast<double>(loadIntegerAt(at));
  }
}

int64_t Array::loadIntegerAt(int64_t at) const {
  const std::byte *data = buffer_->bytes + offset_ * dtypeSize(dtype_);
  switch (dtype_) {
  case DType::I8:
    return get<int8_t>(data, at);
  case DType::I32:
    return get<int32_t>(data, at);
  case DType::I64:
    return get<int64_t>(data, at);
  case DType::U8:
    return get<uint8_t>(data, at);
  case DType::Bool:
    return get<uint8_t>(data, at) != 0;
  default:
    return static_cast<int64_t>(loadAt(at));
  }
}

/// NaN to 0, everything else to the nearest integer that an int64 holds.
static int64_t toInteger(double x) {
  if (std::isnan(x))
    return 0;
  if (x >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  return x < -0x1p63 ? std::numeric_limits<int64_t>::min()
                     : static_cast<int64_t>(std::nearbyint(x));
}

void Array::storeAt(int64_t at, double x) {
  std::byte *data = buffer_->bytes + offset_ * dtypeSize(dtype_);
  switch (dtype_) {
  case DType::F32:
    return put(data, at, static_cast<float>(x));
  case DType::F16:
    return put(data, at, static_cast<uint16_t>(toBits(kF16, x)));
  case DType::BF16:
    return put(data, at, bf16FromDouble(x));
  case DType::F8E4M3:
    return put(data, at, static_cast<uint8_t>(toBits(kF8E4M3, x)));
  case DType::F64:
    return put(data, at, x);
  default:
    return storeIntegerAt(at, toInteger(x));
  }
}

template <typename T> static T saturate(int64_t x) {
  return static_cast<T>(
      std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

void Array::storeIntegerAt(int64_t at, int64_t x) {
  std::byte *data = buffer_->bytes + offset_ * dtypeSize(dtype_);
  switch (dtype_) {
  case DType::I8:
    return put(data, at, saturate<int8_t>(x));
  case DType::I32:
    return put(data, at, saturate<int32_t>(x));
  case DType::I64:
    return put(data, at, x);
  case DType::U8:
    return put(data, at, saturate<uint8_t>(x));
  case DType::Bool:
    return put(data, at, static_cast<uint8_t>(x != 0));
  default:
    return storeAt(at, static_cast<double>(x));
  }
}
