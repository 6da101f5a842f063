//===- NamedMasks.h - masks with what they should mean ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_MASKS_NAMEDMASKS_H
#define PAGEFOLD_UNITTESTS_MASKS_NAMEDMASKS_H

#include "pagefold/Support/MaskSets.h"
#include <functional>
#include <ostream>
#include <vector>

namespace pagefold::test {

/// A query, a key and the values of everything else, as a reference predicate sees them.
struct Point {
  int64_t q, k;
  const MaskEnv &env;
  int64_t position() const { return q + env.kvLen - env.qLen; }
  int64_t symbol(unsigned i) const { return env.symbols[i]; }
};

/// A mask's text, and what it should mean, written without any of the code under test.
struct NamedMask {
  std::string name, text;
  std::function<bool(const Point &)> sees; ///< for 0 <= k < kv_len
  /// Whether the derivation is expected to visit no tile without a visible key.
  bool exactVisits = true;
  /// The row variables at row q; nothing for masks without.
  std::function<std::vector<int64_t>(int64_t q, const MaskEnv &)> rows = {};
};

inline void PrintTo(const NamedMask &mask, std::ostream *os) { *os << mask.text; }

const std::vector<NamedMask> &namedMasks();
/// What each spelling should mean, with its sizes as symbols (or 5, where only a constant will do).
const std::vector<NamedMask> &spelledMasks();

/// Parses; fails the test where that fails.
MaskSets parseOrFail(const std::string &text, mlir::MLIRContext *context);

} // namespace pagefold::test

#endif // PAGEFOLD_UNITTESTS_MASKS_NAMEDMASKS_H
