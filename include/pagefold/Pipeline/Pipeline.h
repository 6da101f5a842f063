//===- Pipeline.h - the whole way, level by level ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   stage   passes                                              then holds (verify pass)
//   attn    attn-cascade, attn-fuse, canonicalize               level 1, small ops in their regions
//   tile    attn-to-tile, tile-online-softmax,
//           tile-select-schedule, tile-visit-lists,
//           tile-split-kv                                       no tensor, no attn op
//   host    tile-to-host, canonicalize, cse                     no tile op but tile.plan
//   llvm    host-expand-math, upstream's conversions,
//           host-frame-entry                                    the llvm dialect and tile.plan
//
// For target cuda tile-stage-queries stands before tile-select-schedule, and the last two are
//   hopper  tile-to-hopper, hopper-overlap-products,
//           hopper-lazy-rescale                                 a gpu.module, and tile.plan
//   llvm    hopper-to-nvvm, convert-nvvm-to-llvm                there llvm and nvvm, and tile.plan
//
// A stage's output can be printed, and fed back in: compileStages starts and stops where it is
// told.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_PIPELINE_H
#define PAGEFOLD_PIPELINE_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "pagefold/Pipeline/Options.h"
#include "pagefold/Pipeline/Remarks.h"
#include "pagefold/Target/Host/HostCode.h"
#include <optional>
#include <string>

namespace pagefold {

/// Level 3 has a name for each target: host or hopper.
enum class Stage { Attn, Tile, Kernels, LLVM };
/// The stages in order, by the names that they have for the options' target.
llvm::ArrayRef<llvm::StringLiteral> stageNames(const CompileOptions &options);
std::optional<Stage> stageFromName(llvm::StringRef name, const CompileOptions &options);

/// The passes of one stage, its verify pass at the end.
void buildStage(mlir::OpPassManager &manager, Stage stage, const CompileOptions &options);

/// Runs the stages first..last. `remarks`, which collects those of the module's context, says where
/// a strict compile ends: after the first stage with a fallback. `dumpDirectory`, when not empty,
/// receives one file for each stage.
mlir::LogicalResult compileStages(mlir::ModuleOp module, Stage first, Stage last,
                                  const CompileOptions &options, Remarks &remarks,
                                  llvm::StringRef dumpDirectory = {});

/// The processor that the options name for target host.
host::HostTarget hostTarget(const CompileOptions &options);

/// What --emit=llvm shows: the optimised LLVM IR of the host's code, as text.
mlir::FailureOr<std::string> writeLLVMIR(mlir::ModuleOp module, const CompileOptions &options);

/// The artifact of a module after its last stage, with the remarks of those before. `graph` is the
/// text or bytecode that it came from, which the artifact holds where the options say so.
mlir::FailureOr<std::string> writeArtifact(mlir::ModuleOp module, const CompileOptions &options,
                                           const Remarks &remarks, llvm::StringRef graph);

/// All stages, then the artifact's bytes. Errors are diagnostics of the module's context.
mlir::FailureOr<std::string> compileToArtifact(mlir::ModuleOp module, const CompileOptions &options,
                                               Remarks &remarks, llvm::StringRef graph);

/// Names the pipelines pagefold-attn, pagefold-tile, pagefold-host, pagefold-hopper, pagefold-llvm.
void registerPagefoldPipelines();

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_PIPELINE_H
