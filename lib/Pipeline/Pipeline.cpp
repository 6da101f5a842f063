//===- Pipeline.cpp - the whole way, level by level -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Attn/Transforms/Passes.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Pipeline/Passes.h"
#include "pagefold/Target/Artifact.h"
#include "pagefold/Target/Host/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace pagefold;

static constexpr llvm::StringLiteral kStageNames[] = {"attn", "tile", "host", "llvm"};

llvm::ArrayRef<llvm::StringLiteral> pagefold::stageNames() { return kStageNames; }

std::optional<Stage> pagefold::stageFromName(llvm::StringRef name) {
  const auto *found = llvm::find(kStageNames, name);
  if (found == std::end(kStageNames))
    return std::nullopt;
  return static_cast<Stage>(found - kStageNames);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void buildAttn(OpPassManager &manager, const CompileOptions &options) {
  if (options.fuse)
    manager.addNestedPass<func::FuncOp>(attn::createAttnFuse());
  manager.addPass(createCanonicalizerPass());
}

static void buildTile(OpPassManager &manager, const CompileOptions &options) {
  manager.addPass(createAttnToTile());
  if (options.onlineSoftmax)
    manager.addPass(tile::createTileOnlineSoftmax());
  tile::TileSelectScheduleOptions schedule;
  schedule.qTile = options.qTile;
  schedule.kvTile = options.kvTile;
  schedule.splits = options.splits;
  schedule.form = options.form;
  manager.addPass(tile::createTileSelectSchedule(schedule));
  manager.addPass(tile::createTileVisitLists()); // after the fold exists
  manager.addPass(tile::createTileSplitKV());    // after the schedule says how many
}

static void buildHost(OpPassManager &manager, const CompileOptions &options) {
  TileToHostOptions host;
  host.counters = options.counters;
  manager.addPass(createTileToHost(host));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void pagefold::buildStage(OpPassManager &manager, Stage stage, const CompileOptions &options) {
  switch (stage) {
  case Stage::Attn:
    buildAttn(manager, options);
    break;
  case Stage::Tile:
    buildTile(manager, options);
    break;
  case Stage::Host:
    buildHost(manager, options);
    break;
  case Stage::LLVM:
    host::buildHostToLLVM(manager);
    break;
  }
  VerifyLevelOptions verify;
  verify.level = kStageNames[static_cast<int>(stage)].str();
  manager.addPass(createVerifyLevel(verify));
}

//===----------------------------------------------------------------------===//
// Running them
//===----------------------------------------------------------------------===//

static LogicalResult dump(ModuleOp module, int number, llvm::StringRef name,
                          llvm::StringRef directory) {
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return module.emitError("cannot make the directory ") << directory << ": " << code.message();
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, std::to_string(number) + "-" + name + ".mlir");
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (code)
    return module.emitError("cannot write ") << path << ": " << code.message();
  module.print(file);
  return success();
}

LogicalResult pagefold::compileStages(ModuleOp module, Stage first, Stage last,
                                      const CompileOptions &options,
                                      llvm::StringRef dumpDirectory) {
  for (int stage = static_cast<int>(first); stage <= static_cast<int>(last); ++stage) {
    PassManager manager(module.getContext());
    manager.enableVerifier(false); // once a stage is enough: pagefold-opt verifies after every pass
    buildStage(manager, static_cast<Stage>(stage), options);
    if (failed(manager.run(module)) || failed(verify(module)))
      return failure();
    if (!dumpDirectory.empty() &&
        failed(dump(module, stage + 1, kStageNames[stage], dumpDirectory)))
      return failure();
  }
  return success();
}

host::HostTarget pagefold::targetOf(const CompileOptions &options) {
  return options.cpu.empty() ? host::HostTarget::ofThisMachine()
                             : host::HostTarget::ofCpu(options.cpu);
}

FailureOr<std::string> pagefold::compileToArtifact(ModuleOp module, const CompileOptions &options) {
  if (failed(compileStages(module, Stage::Attn, Stage::LLVM, options)))
    return failure();
  return writeArtifact(module, targetOf(options));
}

//===----------------------------------------------------------------------===//
// Names for pagefold-opt
//===----------------------------------------------------------------------===//

namespace {

/// The options of the pipelines, as on a command line.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<bool> fuse{*this, "fuse", llvm::cl::desc("move small ops into attention (default: true)"),
                    llvm::cl::init(true)};
  Option<bool> onlineSoftmax{
      *this, "online-softmax",
      llvm::cl::desc("rewrite into the fold; off: the materialised baseline (default: true)"),
      llvm::cl::init(true)};
  Option<bool> counters{*this, "counters", llvm::cl::desc("count tiles (default: false)"),
                        llvm::cl::init(false)};
  Option<int64_t> qTile{*this, "q-tile",
                        llvm::cl::desc("rows of a query tile (default: from the table)"),
                        llvm::cl::init(0)};
  Option<int64_t> kvTile{*this, "kv-tile",
                         llvm::cl::desc("keys of a KV tile (default: from the table)"),
                         llvm::cl::init(0)};
  Option<int64_t> splits{*this, "splits",
                         llvm::cl::desc("parts of the KV dimension (default: from the table)"),
                         llvm::cl::init(0)};
  Option<std::string> form{*this, "form", llvm::cl::desc("outer or dot (default: from the table)"),
                           llvm::cl::init("")};

  CompileOptions get() const {
    CompileOptions options;
    options.fuse = fuse;
    options.onlineSoftmax = onlineSoftmax;
    options.counters = counters;
    options.qTile = qTile;
    options.kvTile = kvTile;
    options.splits = splits;
    options.form = form;
    return options;
  }
};

} // namespace

void pagefold::registerPagefoldPipelines() {
  static const char *const kSummaries[] = {
      "Stage attn: fuse small ops", "Stages up to tile: buffers, the fold, schedules, visit lists",
      "Stages up to host: vectors and loops", "All stages: the llvm dialect and the launch plan"};
  for (int last = 0; last < 4; ++last)
    PassPipelineRegistration<PipelineOptions>(
        ("pagefold-" + kStageNames[last]).str(), kSummaries[last],
        [last](OpPassManager &manager, const PipelineOptions &options) {
          for (int stage = 0; stage <= last; ++stage)
            buildStage(manager, static_cast<Stage>(stage), options.get());
        });
}
