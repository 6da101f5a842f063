//===- Canonicalize.cpp - canonical forms of attn.attention and attn.append ===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace pagefold::attn;

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void AppendOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
