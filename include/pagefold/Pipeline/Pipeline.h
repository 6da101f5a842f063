//===- Pipeline.h - the whole way, level by level ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   stage  passes                                                        then holds (verify pass)
//   attn   attn-fuse, canonicalize                                       level 1, small ops in
//   their regions tile   attn-to-tile, tile-online-softmax, tile-select-schedule,
//          tile-visit-lists, tile-split-kv                               no tensor, no attn op
//   host   tile-to-host, canonicalize, cse                               no tile op but tile.plan
//   llvm   host-expand-math, upstream's conversions, host-frame-entry    the llvm dialect and
//   tile.plan
//
// A stage's output can be printed, and fed back in: compileStages starts and stops where it is
// told.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_PIPELINE_H
#define PAGEFOLD_PIPELINE_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "pagefold/Target/Host/HostCode.h"
#include <string>

namespace pagefold {

/// What can be chosen about a compile. Zeros and empty strings mean: from the schedule table.
struct CompileOptions {
  std::string target = "host";
  std::string cpu;           ///< of the host target; empty: this machine
  bool fuse = true;          ///< attn-fuse
  bool onlineSoftmax = true; ///< off: the materialised baseline
  bool counters = false;     ///< count tiles in the workspace
  int64_t qTile = 0, kvTile = 0, splits = 0;
  std::string form;
};

/// Reads the JSON of pagefold-c/Compiler.h. An unknown key or a wrong type is an error with a
/// sentence.
mlir::FailureOr<CompileOptions> parseCompileOptions(llvm::StringRef json, std::string &error);

enum class Stage { Attn, Tile, Host, LLVM };
llvm::ArrayRef<llvm::StringLiteral> stageNames();
std::optional<Stage> stageFromName(llvm::StringRef name);

/// The passes of one stage, its verify pass at the end.
void buildStage(mlir::OpPassManager &manager, Stage stage, const CompileOptions &options);

/// Runs the stages first..last. `dumpDirectory`, when not empty, receives one file for each stage.
mlir::LogicalResult compileStages(mlir::ModuleOp module, Stage first, Stage last,
                                  const CompileOptions &options,
                                  llvm::StringRef dumpDirectory = {});

/// The processor that the options name.
host::HostTarget targetOf(const CompileOptions &options);

/// All stages, then the artifact's bytes. Errors are diagnostics of the module's context.
mlir::FailureOr<std::string> compileToArtifact(mlir::ModuleOp module,
                                               const CompileOptions &options);

/// Names the pipelines pagefold-attn, pagefold-tile, pagefold-host, pagefold-llvm.
void registerPagefoldPipelines();

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_PIPELINE_H
