//===- Artifact.h - from the launch plan in the IR to bytes -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch plan is held in the IR (tile.plan) until the last step. Here it becomes the runtime's
// Plan and, with the code, an artifact: the bytes that the runtime loads, in this process or
// another.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_ARTIFACT_H
#define PAGEFOLD_TARGET_ARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Target/Host/HostCode.h"
#include "pagefold/runtime/Artifact.h"
#include <map>
#include <string>

namespace pagefold {

/// What an artifact holds besides code and plans.
struct ArtifactNotes {
  std::vector<std::string> options; ///< of the compile, where not the defaults
  std::map<std::string, std::vector<runtime::Remark>> remarks; ///< by function
  llvm::StringRef graph;                                       ///< empty: not kept
};

/// Emits code for a module of the llvm dialect with tile.plan ops, and serialises both.
mlir::FailureOr<std::string> writeHostArtifact(mlir::ModuleOp module,
                                               const host::HostTarget &target,
                                               const ArtifactNotes &notes);

/// The optimised LLVM IR, as text, of the code that writeHostArtifact would emit: to read.
mlir::FailureOr<std::string> writeLLVMIR(mlir::ModuleOp module, const host::HostTarget &target);

/// Text that the driver assembles for its GPU, or what CUDA's ptxas makes of it beforehand.
enum class CudaCodeKind { Ptx, Cubin };

/// As writeHostArtifact, of a module with a gpu.module of the llvm and nvvm dialects.
mlir::FailureOr<std::string> writeCudaArtifact(mlir::ModuleOp module, CudaCodeKind kind,
                                               const ArtifactNotes &notes);

/// The code alone.
mlir::FailureOr<std::string> writeCudaCode(mlir::ModuleOp module, CudaCodeKind kind);

} // namespace pagefold

#endif // PAGEFOLD_TARGET_ARTIFACT_H
