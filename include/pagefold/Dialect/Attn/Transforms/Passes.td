//===- Passes.td - passes on the attn dialect --------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES
#define PAGEFOLD_DIALECT_ATTN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AttnCascade : Pass<"attn-cascade", "::mlir::func::FuncOp"> {
  let summary = "Reads the keys that all requests share once for the whole batch";
  let description = [{
    **Requires** a function on tensors (level 1) whose ops are not fused yet: `attn-fuse` comes after.

    **Ensures** that where it pays, attention over a cache with an `attn.shared_prefix` is three ops: attention of all
    rows of the batch, as one request, over the shared keys; attention of each request over its own; `attn.merge`.

    **Idea.** A batch of `B` requests reads its common prefix `B` times, each time for few rows; read once for all, it is
    prefill's kind of work. The shared keys come before all rows, so that no row needs a mask there, and positions
    behind the cut count from the end: what is causal stays so. Each part is softmaxed by itself, and states fold.

    Two things may stand against it. The graph: a mask other than none and `causal`, a bitmap, a score region that
    reads where it is (row, key, request, position), an epilogue (which belongs on the merged result), a query prologue
    that turns by the cache's positions. And the price: with the declared maxima, and the expected length of the
    prefix, the bytes of the prefix that are read once less must be more than those that are added: the two states
    and their merge, queries read twice, page tables, and what the launches of three kernels more are worth
    (`launch-bytes`, a number of the target). Each attention leaves a remark that gives both numbers, *passed* or *missed*.

    **Example**

    ```mlir
    func.func @decode(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>)
        -> tensor<?x32x128xbf16> attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
      %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
      %o = attn.attention %q, %c rows(%rows) scale 0.088388 mask <causal>
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
      return %o : tensor<?x32x128xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @decode(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>)
        -> tensor<?x32x128xbf16> attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
      %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
      %shared, %all, %rest = attn.cut_prefix %c, %n rows(%rows) tokens(%q)
        : !cache, tensor<1xi32>, tensor<?xi32>, tensor<?x32x128xbf16> -> tensor<2xi32>
      %oa, %la = attn.attention %q, %shared rows(%all) scale 0.088388
        : tensor<?x32x128xbf16>, !cache, tensor<2xi32> -> tensor<?x32x128xbf16>, tensor<?x32xf32>
      %ob, %lb = attn.attention %q, %rest rows(%rows) scale 0.088388 mask <causal>
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>, tensor<?x32xf32>
      %o, %l = attn.merge (%oa, %la), (%ob, %lb) : tensor<?x32x128xbf16>, tensor<?x32xf32>
      return %o : tensor<?x32x128xbf16>
    }
    ```

    **Does not** find prefixes: the graph says that there is one, and the device how long it is.
  }];
  let options = [
    Option<"force", "force", "bool", "false", "Cut whatever it costs">,
    Option<"launchBytes", "launch-bytes", "int64_t", "0", "Bytes that memory brings while a kernel is launched">,
    Option<"batchInvariant", "batch-invariant", "bool", "false",
           "Leave all attentions: where the cut lies depends on the whole batch">];
  let dependentDialects = ["::pagefold::attn::AttnDialect"];
  let statistics = [Statistic<"numCut", "num-cut", "Attentions in two parts">];
}

def AttnExpandBounds : Pass<"attn-expand-bounds", "::mlir::ModuleOp"> {
  let summary = "Makes a variant of a graph for each of its declared maxima";
  let description = [{
    **Requires** functions on tensors (level 1), before anything is decided by their bounds.

    **Ensures** that each function declares one `#attn.bounds`. A function with a list of them becomes a function for each, in
    the list's order, that names the graph it came from (`attn.graph`). The option `bounds` puts a list in place of what the
    functions declare: `batch 64, q_len 1, kv_len 8192; batch 8, q_len 512, kv_len 8192, tokens 1024`.

    **Idea.** A schedule, its workspace and its tables are chosen for declared maxima. A graph that is used for single tokens and for
    prompts is compiled for both, into one artifact; whoever launches knows its batch and takes the first variant that holds it
    (`pagefold_module_function_for`). So smaller maxima stand first, and an entry that an earlier one covers is refused.

    **Example**

    ```mlir
    func.func @layer(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x32x128xbf16>
        attributes {attn.bounds = [#attn.bounds<batch 64, q_len 1, kv_len 8192>,
                                   #attn.bounds<batch 8, q_len 512, kv_len 8192, tokens 1024>]} {
      %o = attn.attention %q, %cache rows(%rows) scale 0.088388 mask <causal>
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
      return %o : tensor<?x32x128xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @layer_b64_q1_kv8192(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x32x128xbf16>
        attributes {attn.bounds = #attn.bounds<batch 64, q_len 1, kv_len 8192>, attn.graph = "layer"} {
      %o = attn.attention %q, %cache rows(%rows) scale 0.088388 mask <causal>
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
      return %o : tensor<?x32x128xbf16>
    }
    func.func @layer_b8_q512_kv8192_t1024(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x32x128xbf16>
        attributes {attn.bounds = #attn.bounds<batch 8, q_len 512, kv_len 8192, tokens 1024>, attn.graph = "layer"} {
      %o = attn.attention %q, %cache rows(%rows) scale 0.088388 mask <causal>
        : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
      return %o : tensor<?x32x128xbf16>
    }
    ```

    **Does not** share code between variants, and makes none by itself.
  }];
  let options = [
    Option<"bounds", "bounds", "std::string", "\"\"", "What all functions declare, in place of their own">];
  let dependentDialects = ["::pagefold::attn::AttnDialect"];
  let statistics = [Statistic<"numVariants", "num-variants", "Functions made for an entry of a list">];
}

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
