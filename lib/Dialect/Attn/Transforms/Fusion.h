//===- Fusion.h - decisions on what moves into an attention -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass asks for a decision on each op: either how to move it, or why it stays. Nothing is
// changed until a decision is applied.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_DIALECT_ATTN_TRANSFORMS_FUSION_H
#define PAGEFOLD_LIB_DIALECT_ATTN_TRANSFORMS_FUSION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"
#include <functional>
#include <optional>
#include <string>

namespace pagefold::attn {

/// Why an op stays where it is; nothing where it may move.
using Refusal = std::optional<std::string>;

struct Decision {
  /// Where the op goes, for the remark: "the epilogue of attn.attention".
  std::string place;
  /// Moves it and erases the original.
  std::function<void(mlir::RewriterBase &)> apply;
  Refusal refusal;

  static Decision refuse(std::string why) { return {{}, {}, std::move(why)}; }
};

/// On an elementwise op that reads `attention`'s result.
Decision decideEpilogue(mlir::linalg::GenericOp op, AttentionOp attention,
                        mlir::DominanceInfo &dominance);

/// On a row-wise or elementwise op whose result `use` is the query of an attention, or the key or
/// value of an append.
Decision decidePrologue(mlir::Operation *op, mlir::OpOperand &use, mlir::DominanceInfo &dominance);

/// Whether `operand` is one that a prologue maps: the query of an attention, the key or value of an
/// append.
bool hasPrologue(mlir::OpOperand &operand);

/// The value that `cache` has become by `at`: appends before it are followed. Their results have
/// the same lengths.
mlir::Value getNewestCache(mlir::Value cache, mlir::Operation *at, mlir::DominanceInfo &dominance);

/// What both kinds of fusion ask of an elementwise op: loops over [token, head, d] that write by
/// the identity, tensors read by look-up maps, a body of the white list.
Refusal checkElementwise(mlir::linalg::GenericOp op);

} // namespace pagefold::attn

#endif // PAGEFOLD_LIB_DIALECT_ATTN_TRANSFORMS_FUSION_H
