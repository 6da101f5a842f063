//===- Passes.td - what holds after each level -------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_PASSES
#define PAGEFOLD_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def VerifyLevel : Pass<"verify-level", "::mlir::ModuleOp"> {
  let summary = "Checks that a module holds only what its level may hold";
  let description = [{
    **Requires** nothing.

    **Ensures** that every op is of a dialect that the level knows: for each other op an error
    that names the pass which should have removed it.

    **Idea.** A level never looks back up. The contract is a table of dialects in `lib/Pipeline/VerifyLevel.cpp`.

    **Example.** `test/Pipeline/verify-level.mlir`.

    **Does not** change anything.
  }];
  let options = [Option<"level", "level", "std::string", /*default=*/"\"attn\"",
                        "attn, tile, host, llvm, hopper or nvvm (default: attn)">];
}

#endif // PAGEFOLD_PIPELINE_PASSES
