//===- Batch.h - requests of a ragged batch and their pages -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ORACLE_BATCH_H
#define PAGEFOLD_LIB_ORACLE_BATCH_H

#include "Values.h"

namespace pagefold::oracle {

/// The offsets of a ragged batch of `tokens` rows: they may not fall, and stay in [0, tokens].
/// `what` is the operand's name, for messages.
Result<std::vector<int64_t>> readOffsets(mlir::Operation *op, const Tensor &offsets, int64_t tokens,
                                         const std::string &what);

/// The same for the rows of a cache, which has as many requests.
Result<std::vector<int64_t>> readRows(mlir::Operation *op, const Tensor &rows, int64_t tokens,
                                      const Cache &cache);

/// The pages that hold the first lens[request] tokens of a request, in order, each within the pool.
Result<std::vector<int64_t>> readPages(mlir::Operation *op, const Cache &cache, int64_t request);

/// The position of every token: lens[r] - n + i. Tokens of no request get -1.
std::vector<int64_t> tokenPositions(const std::vector<int64_t> &rows,
                                    const std::vector<int64_t> &lens, int64_t tokens);

/// Which request a token belongs to, or -1.
int64_t requestOf(const std::vector<int64_t> &rows, int64_t token);

} // namespace pagefold::oracle

#endif // PAGEFOLD_LIB_ORACLE_BATCH_H
