//===- Passes.td - the last steps on the host --------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOST_PASSES
#define PAGEFOLD_TARGET_HOST_PASSES

include "mlir/Pass/PassBase.td"

def HostExpandMath : Pass<"host-expand-math"> {
  let summary = "Replaces transcendental functions by polynomials on vectors";
  let description = [{
    **Requires** math ops on f32 scalars and vectors.

    **Ensures** that exp, log, tanh, sin, cos, erf and their kind are arithmetic; sqrt, fma, floor and the
    like stay: they are instructions.

    **Idea.** What LLVM would turn into one library call for each lane becomes a handful of vector ops: upstream's
    polynomial approximations, and for exp2, which has none, a power of two times one of exp.

    **Example.** `test/Target/Host/host-expand-math.mlir`.

    **Does not** touch the fold's own exp, which is arithmetic already.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def HostExpandF8 : Pass<"host-expand-f8"> {
  let summary = "Replaces conversions of f8E4M3FN by integer arithmetic";
  let description = [{
    **Requires** `arith.extf` of f8E4M3FN to f32 and `arith.truncf` back, on scalars and vectors.

    **Ensures** that none is left: LLVM knows no such type.

    **Idea.** Exponent and fraction are moved in place, subnormals come from their integer. Rounding is to the nearest,
    ties to even; what lies beyond 448 and a half unit becomes NaN, as MLIR has it: who wants it to saturate clamps before.

    **Example.** `test/Target/Host/host-expand-f8.mlir`.

    **Does not** convert to or from other floats than f32.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def HostToLLVM : Pass<"host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Converts vectors, buffers, arithmetic and functions to the llvm dialect";
  let description = [{
    **Requires** blocks and branches (`convert-scf-to-cf`), and views made offset arithmetic (`expand-strided-metadata`).

    **Ensures** that every op but `tile.plan` is of the llvm dialect.

    **Idea.** Upstream's conversions, in one walk: each alone sets up and visits the whole module, which
    would be most of the compile time of a small kernel. What has neither an instruction nor a polynomial becomes a
    call of the C library's math.

    **Example.** `test/Target/Host/host-to-llvm.mlir`.

    **Does not** hold a pattern of its own.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect", "::mlir::vector::VectorDialect"];
}

def HostFrameEntry : Pass<"host-frame-entry", "::mlir::ModuleOp"> {
  let summary = "Gives every kernel the entry that the runtime calls";
  let description = [{
    **Requires** kernels as `llvm.func` over unpacked memref descriptors.

    **Ensures** that each kernel's symbol is a function of one pointer, the frame: 8-byte words, one for
    each parameter (`docs/artifact.md`). The body becomes internal.

    **Example**

    ```mlir
    llvm.func @kernel(%data: !llvm.ptr, %size: i64) {
      llvm.return
    }
    ```

    becomes

    ```mlir
    llvm.func internal @kernel_body(%data: !llvm.ptr, %size: i64) {
      llvm.return
    }
    llvm.func @kernel(%frame: !llvm.ptr) {
      %0 = llvm.getelementptr %frame[0] : (!llvm.ptr) -> !llvm.ptr, i64
      %data = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %1 = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %size = llvm.load %1 : !llvm.ptr -> i64
      llvm.call @kernel_body(%data, %size) : (!llvm.ptr, i64) -> ()
      llvm.return
    }
    ```

    **Does not** change the body.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // PAGEFOLD_TARGET_HOST_PASSES
