//===- Compare.h - results against the oracle -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tolerances per request, as ||result - reference|| / ||reference||:
//
//   f32   1e-6 (sqrt(kv_len) + max |score|)        lse: 1e-5 + 1e-6 max |score|, absolute
//   f16   1e-3                                     lse: 1e-3
//   bf16  4e-3                                     lse: 1e-3
//   fp8   8e-3                                     lse: 1e-3
//
// The coarser of the result's type and that of keys and values decides. No element may be off by
// more than 8 x the bound x the root mean square of the request's reference. Non-finite elements
// have to match: NaN where the reference is NaN, infinities of one sign, infinity where the
// reference is past the largest number of the result's type. They enter no norm.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_ORACLE_COMPARE_H
#define PAGEFOLD_ORACLE_COMPARE_H

#include "pagefold/Oracle/Oracle.h"

namespace pagefold::oracle {

/// The outcome for one request, or for the whole result where rows belong to no known requests.
struct RequestComparison {
  int64_t request = -1;  ///< -1: the whole result
  double error = 0;      ///< relative norm; for lse the greatest difference
  double bound = 0;      ///< of `error`
  double worst = 0;      ///< greatest difference of an element, beyond its rounding
  double worstBound = 0; ///< of `worst`
  std::vector<int64_t> worstIndex;
  int64_t nonFinite = 0;           ///< elements whose non-finite value does not match
  int64_t overwritten = 0;         ///< elements of pages that the call had no business to write
  std::vector<int64_t> firstIndex; ///< the first element that is non-finite or overwritten
  bool ok() const {
    return nonFinite == 0 && overwritten == 0 && error <= bound && worst <= worstBound;
  }
};

struct Comparison {
  std::vector<RequestComparison> requests;
  bool ok() const;
  /// One line: the request nearest to its bound where all is well, else what is wrong in the first
  /// bad one.
  std::string summary() const;
};

/// `result` has the shape of the reference. Rows that belong to no request are not compared.
Comparison compare(const Array &result, const Output &reference);

/// Pages after a call: slots that the oracle left as `before` have to be bit-equal, and what it
/// appended has to agree within the tolerance of the pages' type. All three have one shape.
runtime::Result<Comparison> comparePages(const Array &result, const Array &reference,
                                         const Array &before);

} // namespace pagefold::oracle

#endif // PAGEFOLD_ORACLE_COMPARE_H
