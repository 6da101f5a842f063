//===- Passes.h - passes on the attn dialect --------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each pass requires, ensures and leaves alone stands in Passes.td, and generated in
// docs/reference/attn-passes.md.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES_H
#define PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"

namespace pagefold::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pagefold/Dialect/Attn/Transforms/Passes.h.inc"

} // namespace pagefold::attn

#endif // PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES_H
