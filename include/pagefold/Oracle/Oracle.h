//===- Oracle.h - what a graph computes, in float64 -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a function of the attn dialect directly from the equations of its ops. Every stored
// input is read at its storage type and widened to float64; all values in between stay float64,
// where a kernel rounds them. Only `attn.append` rounds, since pages are storage.
//
// The oracle shares no code with the compiler: it reads the IR through the ops' accessors and
// evaluates masks, page walks and scalar regions by plain loops of its own. It is the reference of
// every test.
//
//   Result<Evaluation> want = oracle::evaluate(function, arguments);
//   Comparison outcome = oracle::compare(got, want->outputs[0]);
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_ORACLE_ORACLE_H
#define PAGEFOLD_ORACLE_ORACLE_H

#include "pagefold/Support/Arrays.h"

#include <optional>
#include <variant>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace pagefold::oracle {

/// What a `!attn.paged_kv` argument consists of.
struct CacheArrays {
  Array kPages; ///< [pages, page, heads, k_dim]
  Array vPages; ///< [pages, page, heads, v_dim]
  Array table;  ///< i32 [batch, width]
  Array lens;   ///< i32 [batch]
  std::optional<Array> kScale = std::nullopt,
                       vScale = std::nullopt; ///< f32 [heads], where the elements have scales
};

/// A function's argument: a tensor, a scalar as an array of rank 0, or a cache.
using Argument = std::variant<Array, CacheArrays>;

/// How the rows of a ragged result belong to requests, and what the tolerances of it depend on.
struct Requests {
  std::vector<int64_t> rows;   ///< [batch + 1] offsets into dimension 0
  std::vector<int64_t> kvLens; ///< [batch]
  std::vector<double>
      maxScores; ///< [batch] greatest |score| of a visible key, before or after the score region
  DType precision = DType::F32; ///< of the stored keys and values
};

/// One tensor result of the function.
struct Output {
  Array values; ///< f64
  DType dtype;  ///< of the result's type: what a kernel stores
  bool isLse = false;
  std::shared_ptr<const Requests> requests; ///< null where the rows belong to no known requests
};

struct Evaluation {
  std::vector<Output> outputs; ///< the tensor results in order; a cache result is in `arguments`
  /// The arguments as the call leaves them. Pages that the graph can reach through a cache are
  /// copies with the appended rows in them; all else shares the caller's buffers.
  std::vector<Argument> arguments;
};

/// Evaluates `function`. Uses `threads` threads over (request, KV head). Data that breaks its
/// contract (rows that fall, a length past the table, a page id out of range, a position past the
/// rope table) is an error that names the op and the request; an op outside the oracle's reach is
/// one that names the op.
runtime::Result<Evaluation> evaluate(mlir::func::FuncOp function,
                                     std::span<const Argument> arguments, unsigned threads = 2);

} // namespace pagefold::oracle

#endif // PAGEFOLD_ORACLE_ORACLE_H
