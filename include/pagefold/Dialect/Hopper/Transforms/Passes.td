//===- Passes.td - passes on the hopper dialect ------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_TRANSFORMS_PASSES
#define PAGEFOLD_DIALECT_HOPPER_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def HopperOverlapProducts : Pass<"hopper-overlap-products"> {
  let summary = "Starts the scores of a KV tile before the output of the tile before it (software pipelining)";
  let description = [{
    **Requires** kernels as `tile-to-hopper` writes them: a step (scores, softmax, output) for the first KV tile, then loops whose
    body is a step.

    **Ensures** that in every loop the product of the scores of tile n is started first, then the product of the output of the tile
    before it; softmax of tile n runs while the second is in flight. The last output product stands behind the loops. Two
    consumer warpgroups take turns on the tensor cores, by named barriers 1 and 2.

    **Idea.** A step depends on the one before it through the accumulator and the row maximum only. Its output half (rescale,
    product) is delayed by one step: the loops carry the rounded weights and the rescale factor of the step whose output is
    still to come. The release of K's stage is held back behind the first exponentials, which keeps the next wait below them.

    **Example**

    ```
    wait k[t]; s = contract q, k[t]; wait s; release k[t]; softmax
    wait v[t]; o = contract p, v[t] into o; wait o; release v[t]
    ```

    becomes

    ```
    wait k[t]; s = contract q, k[t]; wait v[t-1]; o = contract p', v[t-1] into o
    wait s (o in flight); softmax; release k[t]; wait o; release v[t-1]
    ```

    **Does not** change which tiles are visited, nor the order of sums.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::pagefold::hopper::HopperDialect"];
}

def HopperLazyRescale : Pass<"hopper-lazy-rescale"> {
  let summary = "Rescales the accumulator only where a row maximum has grown by much";
  let description = [{
    **Requires** steps of the online softmax in which the factor of `hopper.scale_rows` comes from the old and the new row maximum.

    **Ensures** that a row keeps its old maximum unless the new one is larger by more than 2^8 in the exponent's base, that the
    factor is then exactly 1, and that `scale_rows` runs only if some row of the warp has another factor.

    **Idea.** The maximum is there to keep exponentials finite; any number near it serves. Weights then stay below 2^8, sums
    below 2^8 kv_len, which f32 holds with room. Most tiles do not raise a maximum by that much, and a warp's vote skips half of the
    arithmetic on the accumulator.

    **Does not** change results beyond rounding, nor kernels without such a `scale_rows`: those of the streaming schedule rescale on
    the way into a product, at no cost.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::pagefold::hopper::HopperDialect"];
}

#endif // PAGEFOLD_DIALECT_HOPPER_TRANSFORMS_PASSES
