//===- Operations.h - one function an op ------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ORACLE_OPERATIONS_H
#define PAGEFOLD_LIB_ORACLE_OPERATIONS_H

#include "Values.h"

#include "pagefold/Dialect/Attn/IR/PrefixOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace pagefold::oracle {

// Each evaluates its op in `env` and sets its results there.
Status evaluateCache(attn::CacheOp op, Environment &env);
Status evaluateAppend(attn::AppendOp op, Environment &env);
Status evaluateSharedPrefix(attn::SharedPrefixOp op, Environment &env);
Status evaluateCutPrefix(attn::CutPrefixOp op, Environment &env);
Status evaluateAttention(attn::AttentionOp op, Environment &env, unsigned threads);
Status evaluateMerge(attn::MergeOp op, Environment &env);
Status evaluateRope(attn::RopeOp op, Environment &env);
Status evaluateRmsNorm(attn::RmsNormOp op, Environment &env);
Status evaluateGeneric(mlir::linalg::GenericOp op, Environment &env);

/// Any op of the oracle's reach.
Status evaluateOperation(mlir::Operation *op, Environment &env, unsigned threads);

/// What a prologue yields for the tensor `input`; `input` itself where the region is empty.
Result<TensorRef> evaluatePrologue(mlir::Region &region, TensorRef input, mlir::ValueRange captures,
                                   Environment &env);

} // namespace pagefold::oracle

#endif // PAGEFOLD_LIB_ORACLE_OPERATIONS_H
