//===- Passes.td - passes on the attn dialect --------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES
#define PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AttnFuse : Pass<"attn-fuse", "::mlir::func::FuncOp"> {
  let summary = "Moves row-wise and elementwise ops into attn.attention and attn.append";
  let description = [{
    **Requires** a function on tensors (level 1).

    **Ensures** that every op that can run inside an attention or an append does: elementwise ops on an
    attention's result stand in its epilogue; `attn.rope`, `attn.rms_norm` and elementwise ops on queries, new
    keys and new values stand in their prologues. Each op moved leaves a *passed* remark; each elementwise or
    row-wise op left over leaves a *missed* one that says why, and becomes a kernel of its own later.

    **Idea.** Such an op reads a row that attention has in registers anyway; on its own it costs a trip through
    memory and a launch. An op moves when the tensor between it and the attention has no other use, and all it
    reads is that tensor at `[token, head, d]`, other tensors at places its indexing maps name (loops and
    constants), and scalars. In the epilogue everything is computed in f32: roundings between fused ops go away.
    `of %cache` of a rope becomes the newest value of that cache, whose lengths are the same.

    Before that, elementwise `arith` and `math` on tensors and named `linalg` ops become `linalg.generic`, and
    `tensor.dim` looks through results. Run `canonicalize` afterwards to clean up.

    **Example**

    ```mlir
    func.func @decode(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %weight: tensor<128xf32>,
                      %residual: tensor<?x32x128xbf16>) -> tensor<?x32x128xbf16> {
      %n = attn.rms_norm %q, %weight eps 1.0e-5 : tensor<?x32x128xbf16>, tensor<128xf32>
      %o = attn.attention %n, %cache rows(%rows) scale 0.088388 mask <causal>
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
      %r = arith.addf %o, %residual : tensor<?x32x128xbf16>
      return %r : tensor<?x32x128xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @decode(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %weight: tensor<128xf32>,
                      %residual: tensor<?x32x128xbf16>) -> tensor<?x32x128xbf16> {
      %o = attn.attention %q, %cache rows(%rows) scale 0.088388 mask <causal>
        query(%x : tensor<?x32x128xbf16>, %w = %weight : tensor<128xf32>) {
          %n = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x32x128xbf16>, tensor<128xf32>
          attn.yield %n : tensor<?x32x128xbf16>
        }
        epilogue(%o, %qi, %h, %d, %table = %residual : tensor<?x32x128xbf16>) {
          %t = attn.token %qi
          %y = attn.lookup %table[%t, %h, %d] : tensor<?x32x128xbf16> -> f32
          %z = arith.addf %o, %y : f32
          attn.yield %z : f32
        }
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
      return %o : tensor<?x32x128xbf16>
    }
    ```

    **Does not** move ops across blocks, duplicate work, look through reshapes, or fuse into the score region.
  }];
  let dependentDialects = ["::pagefold::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numFused", "num-fused", "Ops moved into an attention or an append">,
                    Statistic<"numLeft", "num-left", "Elementwise or row-wise ops left over">];
}

#endif // PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES
