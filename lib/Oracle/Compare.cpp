//===- Compare.cpp - results against the oracle ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Oracle/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;
using runtime::fail;

namespace {
/// What the bounds of one request depend on.
struct Tolerance {
  DType precision;
  int64_t kvLen;
  double maxScore;

  double relative() const {
    if (precision == DType::F8E4M3)
      return 8e-3;
    if (precision == DType::BF16)
      return 4e-3;
    if (precision == DType::F16)
      return 1e-3;
    return 1e-6 * (std::sqrt(static_cast<double>(std::max<int64_t>(kvLen, 1))) + maxScore);
  }
  double lse() const { return precision == DType::F32 ? 1e-5 + 1e-6 * maxScore : 1e-3; }
};

/// Sums over the elements of one request.
class Accumulator {
public:
  Accumulator(DType stored) : stored_(stored) {}
  /// One element; `at` is its row-major number.
  void add(int64_t at, double got, double want);
  RequestComparison finish(const Tolerance &tolerance, bool isLse,
                           const std::vector<int64_t> &shape) const;

private:
  bool matches(double got, double want) const;
  /// The most that rounding to the stored type moves an element, relative to it.
  double unitRoundoff() const;

  DType stored_;
  double squares_ = 0, differences_ = 0, greatest_ = 0, worst_ = 0;
  int64_t count_ = 0, nonFinite_ = 0, worstAt_ = -1, nonFiniteAt_ = -1;
};
} // namespace

/// Of two elements of which one is not finite.
bool Accumulator::matches(double got, double want) const {
  if (std::isnan(want))
    return std::isnan(got);
  return got == (std::isinf(want) ? want : roundTo(stored_, want));
}

double Accumulator::unitRoundoff() const {
  switch (stored_) {
  case DType::F8E4M3:
    return 0x1p-4;
  case DType::BF16:
    return 0x1p-8;
  case DType::F16:
    return 0x1p-11;
  case DType::F32:
    return 0x1p-24;
  default:
    return 0;
  }
}

void Accumulator::add(int64_t at, double got, double want) {
  if (!std::isfinite(got) || !std::isfinite(want)) {
    if (matches(got, want))
      return;
    if (nonFinite_++ == 0)
      nonFiniteAt_ = at;
    return;
  }
  double difference = std::fabs(got - want);
  ++count_;
  greatest_ = std::max(greatest_, difference);
  squares_ += want * want;
  differences_ += difference * difference;
  double beyondRounding = std::max(difference - unitRoundoff() * std::fabs(want), 0.0);
  if (worstAt_ < 0 || beyondRounding > worst_) {
    worst_ = beyondRounding;
    worstAt_ = at;
  }
}

static std::vector<int64_t> indexOf(int64_t at, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t i = shape.size(); at >= 0 && i-- > 0; at /= shape[i])
    index[i] = at % shape[i];
  return index;
}

RequestComparison Accumulator::finish(const Tolerance &tolerance, bool isLse,
                                      const std::vector<int64_t> &shape) const {
  RequestComparison outcome;
  outcome.nonFinite = nonFinite_;
  outcome.firstIndex = indexOf(nonFiniteAt_, shape);
  outcome.worst = worst_;
  outcome.worstIndex = indexOf(worstAt_, shape);
  if (isLse) {
    outcome.error = greatest_;
    outcome.bound = outcome.worstBound = tolerance.lse();
    return outcome;
  }
  // Where the reference is all zeros, nothing but zeros will do.
  if (differences_ > 0)
    outcome.error = squares_ > 0 ? std::sqrt(differences_ / squares_) : INFINITY;
  outcome.bound = tolerance.relative();
  outcome.worstBound =
      8 * outcome.bound * std::sqrt(squares_ / static_cast<double>(std::max<int64_t>(count_, 1)));
  return outcome;
}

bool Comparison::ok() const {
  return std::all_of(requests.begin(), requests.end(),
                     [](const RequestComparison &r) { return r.ok(); });
}

static std::string format(const char *pattern, double a, double b) {
  char text[96];
  std::snprintf(text, sizeof(text), pattern, a, b);
  return text;
}

static std::string describe(const RequestComparison &r) {
  std::string where = r.request < 0 ? "" : "request " + std::to_string(r.request) + ": ";
  if (r.nonFinite)
    return where + std::to_string(r.nonFinite) +
           " elements do not match the reference's NaN or infinity (or lack of it), the first at " +
           shapeString(r.firstIndex);
  if (r.overwritten)
    return std::to_string(r.overwritten) +
           " elements of pages changed that the call does not write, the first at " +
           shapeString(r.firstIndex);
  std::string text = where + format("error %.2e (bound %.2e)", r.error, r.bound);
  if (r.worst > r.worstBound)
    text += format(", the worst element is off by %.2e (bound %.2e) at ", r.worst, r.worstBound) +
            shapeString(r.worstIndex);
  return text;
}

std::string Comparison::summary() const {
  auto bad = std::find_if(requests.begin(), requests.end(),
                          [](const RequestComparison &r) { return !r.ok(); });
  if (bad != requests.end())
    return describe(*bad);
  auto nearest =
      std::max_element(requests.begin(), requests.end(), [](const auto &a, const auto &b) {
        return a.error * b.bound < b.error * a.bound;
      });
  return nearest == requests.end() ? "nothing to compare" : describe(*nearest);
}

static DType coarser(DType a, DType b) {
  auto rank = [](DType dtype) {
    return dtype == DType::F8E4M3 ? 3 : dtype == DType::BF16 ? 2 : dtype == DType::F16 ? 1 : 0;
  };
  return rank(a) > rank(b) ? a : b;
}

/// Compares the rows [begin, end) of dimension 0; both arrays are contiguous.
static RequestComparison compareRows(const Array &got, const Output &want, int64_t begin,
                                     int64_t end, const Tolerance &tolerance) {
  Accumulator accumulator(want.dtype);
  int64_t rows = got.rank() ? got.dim(0) : 1, width = rows ? got.size() / rows : 0;
  for (int64_t at = begin * width; at < end * width; ++at)
    accumulator.add(at, got.loadAt(at), want.values.loadAt(at));
  return accumulator.finish(tolerance, want.isLse, got.shape());
}

Comparison oracle::compare(const Array &result, const Output &reference) {
  Comparison comparison;
  runtime::Result<Array> got = result.clone();
  if (!got || result.shape() != reference.values.shape()) {
    RequestComparison mismatch;
    mismatch.error = INFINITY;
    comparison.requests.push_back(mismatch);
    return comparison;
  }
  if (!reference.requests) {
    DType precision = coarser(reference.dtype, DType::F32);
    int64_t rows = got->rank() ? got->dim(0) : 1;
    comparison.requests.push_back(compareRows(*got, reference, 0, rows, {precision, 1, 0}));
    return comparison;
  }
  const Requests &requests = *reference.requests;
  for (size_t r = 0; r < requests.kvLens.size(); ++r) {
    Tolerance tolerance{coarser(reference.isLse ? DType::F32 : reference.dtype, requests.precision),
                        requests.kvLens[r], requests.maxScores[r]};
    comparison.requests.push_back(
        compareRows(*got, reference, requests.rows[r], requests.rows[r + 1], tolerance));
    comparison.requests.back().request = static_cast<int64_t>(r);
  }
  return comparison;
}

runtime::Result<Comparison> oracle::comparePages(const Array &result, const Array &reference,
                                                 const Array &before) {
  runtime::Result<Array> got = result.clone(), want = reference.clone(), old = before.clone();
  if (!got || !want || !old)
    return tl::unexpected((!got ? got : !want ? want : old).error());
  if (got->shape() != want->shape() || old->shape() != want->shape() ||
      got->dtype() != want->dtype())
    return fail(ErrorCode::InvalidArgument,
                "expects pages of one shape, got " + shapeString(got->shape()) + ", " +
                    shapeString(want->shape()) + " and " + shapeString(old->shape()));
  int64_t width = dtypeSize(want->dtype());
  auto same = [&](const Array &a, const Array &b, int64_t at) {
    return std::memcmp(a.data() + at * width, b.data() + at * width, width) == 0;
  };
  Accumulator appended(want->dtype());
  RequestComparison touched;
  for (int64_t at = 0; at < want->size(); ++at) {
    if (!same(*want, *old, at))
      appended.add(at, got->loadAt(at), want->loadAt(at));
    else if (!same(*got, *old, at) && touched.overwritten++ == 0)
      touched.firstIndex = indexOf(at, want->shape());
  }
  Comparison comparison;
  if (touched.overwritten)
    comparison.requests.push_back(touched);
  comparison.requests.push_back(
      appended.finish({coarser(want->dtype(), DType::F32), 1, 0}, false, want->shape()));
  return comparison;
}
