//===- Passes.td - the last steps on Hopper ----------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_PASSES
#define PAGEFOLD_TARGET_HOPPER_PASSES

include "mlir/Pass/PassBase.td"

def SimtToNVVM : Pass<"simt-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Converts simt kernels to the llvm and nvvm dialects";
  let description = [{
    **Requires** functions of blocks and branches (`convert-scf-to-cf`), with views made offset arithmetic
    (`expand-strided-metadata`), transcendental functions made polynomials (`host-expand-math`) and floats of 8 bits
    converted by integers (`host-expand-f8`).

    **Ensures** that every `func.func` of the `gpu.module` is an `llvm.func`.

    **Idea.** Upstream's conversions, as on the host, and numbers of threads as special registers. Floats of 16 bits
    stay: their conversions are instructions here. What has neither an instruction nor a polynomial
    is an error, since a GPU has no math library to call.

    **Example.** `test/Target/Hopper/simt-to-nvvm.mlir`.

    **Does not** touch `hopper.kernel`s.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect"];
}

def SimtFrameEntry : Pass<"simt-frame-entry", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Gives every simt kernel the entry that the runtime launches";
  let description = [{
    **Requires** simt kernels as `llvm.func` over unpacked memref descriptors, the last that of the error word.

    **Ensures** that each kernel's symbol is a kernel of two parameters: the frame by value, 8-byte words as on the host
    (`docs/artifact.md`), which stay in parameter memory, and the address of the error word. The body is inlined.

    **Example.** `test/Target/Hopper/simt-frame-entry.mlir`.

    **Does not** touch a function that is a kernel already.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

#endif // PAGEFOLD_TARGET_HOPPER_PASSES
