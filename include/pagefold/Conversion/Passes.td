//===- Passes.td - conversions between the levels ----------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_PASSES
#define PAGEFOLD_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def AttnToTile : Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "From values on tensors to work on buffers (level 1 to level 2)";
  let description = [{
    **Requires** functions of attn ops, elementwise `linalg.generic` and reshapes, each with `attn.bounds`.

    **Ensures** that no attn op and no tensor is left: tensors are buffers that the caller owns, results
    are trailing arguments, a cache is its pages, table, lengths and scales. Attention stands in its standard
    form, contract, softmax, contract, over all keys of a request: it runs, and is the baseline.

    **Idea.** This is bufferisation: every tensor has one producer and the caches are linear, so that a
    value's buffer is known without analysis. A returned value is written straight into the caller's
    buffer; what only lives between two kernels gets a place in the workspace.

    **Example**

    ```mlir
    func.func @f(%x: tensor<?x2x64xf32>, %weight: tensor<64xf32>) -> tensor<?x2x64xf32>
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
      %y = attn.rms_norm %x, %weight eps 1.0e-5 : tensor<?x2x64xf32>, tensor<64xf32>
      return %y : tensor<?x2x64xf32>
    }
    ```

    becomes

    ```mlir
    !rows = memref<?x2x64xf32, strided<[?, ?, 1], offset: ?>>
    !weight = memref<64xf32, strided<[1], offset: ?>>
    func.func @f(%x: !rows, %weight: !weight, %out: !rows) attributes {
        attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>,
        tile.args = [{access = "read", dtype = "f32", name = "arg0", shape = ["tokens", 2, 64]},
                     {access = "read", dtype = "f32", name = "arg1", shape = [64]},
                     {access = "write", dtype = "f32", name = "out0", shape = ["tokens", 2, 64]} ]} {
      tile.rows %x into %out {
      ^bb0(%row: !tile.tile<q x 64, f32>):
        %y = tile.rms_norm %row, %weight eps 1.0e-5 : !tile.tile<q x 64, f32>, !weight
        tile.yield %y : !tile.tile<q x 64, f32>
      } : !rows, !rows
      return
    }
    ```

    **Does not** choose tile sizes, nor visit fewer keys than all.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::pagefold::tile::TileDialect", "::mlir::linalg::LinalgDialect"];
}

def TileToHost : Pass<"tile-to-host", "::mlir::ModuleOp"> {
  let summary = "From tiles to vectors and loops for the host (level 2 to level 3)";
  let description = [{
    **Requires** spaces with a schedule, and folds over visit lists or the standard form.

    **Ensures** that no tile op but `tile.plan` is left: every kernel is a function of `scf`, `vector`, `memref` and `arith` over
    (arguments..., workspace, scratch, ticket), and the plan names them in order.

    **Idea.** Each worker thread runs every kernel and draws items by ticket, so that ragged batches
    balance themselves. An item keeps its tiles in the worker's scratch. Two forms of the products:
    *outer* copies a KV tile and vectorises over query rows, so that neither operand is transposed and the
    row reductions have no horizontal steps; *dot* reads K and V where they lie, once, for few rows.

    **Example.** `test/Conversion/TileToHost`, a file for each kind of kernel; `docs/levels/host.md`.

    **Does not** know any instruction set: vectors are 16 wide and LLVM fits them to the machine.
  }];
  let options = [Option<"counters", "counters", "bool", /*default=*/"false",
      "Count visited, partial and skipped tiles and masked elements (default: false)">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect"];
}

def TileToHopper : Pass<"tile-to-hopper", "::mlir::ModuleOp"> {
  let summary = "From tiles to rings, roles and fragments for the GPU (level 2 to level 3)";
  let description = [{
    **Requires** spaces with a schedule, and folds over visit lists.

    **Ensures** that no tile op but `tile.plan` is left: every space is a `hopper.kernel` in the `gpu.module` named `kernels`, what
    these do not take and all other work a simt kernel (`tile-to-simt`), and the plan says how each is launched: threads, shared
    bytes, grid, and for each parameter how the runtime computes it.

    **Idea.** `pipelined`: one producer warp brings K and V tiles of the visit list by TMA into rings of shared memory; two warpgroups
    fold, 64 query rows each; a CTA draws query tiles by ticket. Here every product is waited for: `hopper-overlap-products` and
    `hopper-lazy-rescale` make it fast. `streaming`: every warp folds its share of all keys through a ring of its own, and CTAs hand
    states over. Either way the grid is persistent, and who does what is computed on the device from row offsets and lengths, so
    that a captured launch is right for any batch up to the declared maxima.

    **Example.** `test/Conversion/TileToHopper`; `docs/hopper-prefill.md`, `docs/hopper-decode.md`.

    **Does not** change what a fold computes: mask, score region and epilogue are emitted as they stand.
  }];
  let options = [Option<"sections", "sections", "bool", /*default=*/"true",
      "Order query tiles by sections of heads, longest first; off: as they are numbered (default: true)">,
    Option<"counters", "counters", "bool", /*default=*/"false",
      "Count what simt kernels visit and skip (default: false)">,
    Option<"overlapLaunches", "overlap-launches", "bool", /*default=*/"true",
      "Start a kernel of a function while the one before it ends (default: true)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::gpu::GPUDialect", "::pagefold::hopper::HopperDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect"];
}

def TileToSimt : Pass<"tile-to-simt", "::mlir::ModuleOp"> {
  let summary = "From tiles to kernels of one thread a worker on the GPU (level 2 to level 3, the general form)";
  let description = [{
    **Requires** spaces with a schedule, and folds over visit lists or the standard form.

    **Ensures** that no tile op but `tile.plan` is left: every op with work is a function in the `gpu.module` `@kernels`, of `scf`,
    `vector`, `memref` and `arith` over (arguments..., workspace, error word), and the plan names them in order.

    **Idea.** The emitters of `tile-to-host`, with a thread of the GPU for a worker: its tickets are its number in
    the grid and every so many after it, its scratch is its own memory, and it checks the requests that it
    passes, so that no launch is spent on a check. What runs on the host in the tests is what runs here.

    **Example.** `test/Conversion/TileToSimt`, a file for each kind of kernel; `docs/levels/hopper.md`.

    **Does not** share anything between threads, but with `row-lanes` of a warp.
  }];
  let options = [Option<"counters", "counters", "bool", /*default=*/"false",
      "Count visited, partial and skipped tiles and masked elements (default: false)">,
      Option<"rowLanes", "row-lanes", "int64_t", /*default=*/"1",
      "At most so many lanes share a row, a power of two up to 32; 1, the default: each thread has rows of its own, "
      "so that the host can play it">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect"];
}

def SimtOnHost : Pass<"simt-on-host", "::mlir::ModuleOp"> {
  let summary = "Makes simt kernels host kernels whose workers play the threads";
  let description = [{
    **Requires** what `tile-to-simt` leaves.

    **Ensures** that each kernel is a host kernel over (arguments..., workspace, scratch, ticket), and that the plan says so.

    **Idea.** Threads of a simt kernel share nothing, so that a worker can play one after the other; which is next, it
    draws by ticket. So the kernels of the GPU, their checks and their items are executed by the tests of a
    machine without one (`form=simt` on target host).

    **Example.** `test/Conversion/TileToSimt/on-host.mlir`.

    **Does not** make anything fast.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::func::FuncDialect"];
}

def HopperToNVVM : Pass<"hopper-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "From roles, rings and fragments to instructions (level 3 to level 4)";
  let description = [{
    **Requires** a `gpu.module` of `hopper.kernel`s, with `arith`, `math`, `vector` and `scf` in them; what else it has stays.

    **Ensures** that each kernel is an `llvm.func` of the `llvm` and `nvvm` dialects, with the attribute `hopper.launch`: shared bytes,
    threads, and for each tensor map its box, element and swizzle.

    **Idea.** Roles become branches by the thread's number, structured control flow becomes blocks, and then each op
    becomes its instructions, always the same. Functions of `math` are sequences for the special function unit
    (`lib/Conversion/HopperToNVVM/Math.cpp` has the table and the errors). What upstream lacks (a left operand of wgmma in registers, predicated
    arrivals, polls that end a basic block) is inline assembly.

    **Does not** move, merge or drop anything: the order of a kernel is its schedule. The one exception is asked for: `hopper.release`
    with `after` stands behind the instruction that computes the element it waits for.
  }];
  let options = [Option<"pollLimit", "poll-limit", "int64_t", /*default=*/"0",
                        "Polls after which a wait prints where it stands and ends the kernel; "
                        "0, the default: waits are endless and print nothing">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect"];
}

#endif // PAGEFOLD_CONVERSION_PASSES
