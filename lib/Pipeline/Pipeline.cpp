//===- Pipeline.cpp - the whole way, level by level -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Attn/Transforms/Passes.h"
#include "pagefold/Dialect/Hopper/Transforms/Passes.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Pipeline/Passes.h"
#include "pagefold/Target/Artifact.h"
#include "pagefold/Target/Hopper/Passes.h"
#include "pagefold/Target/Host/Passes.h"
#include "pagefold/Target/ScheduleTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <functional>

using namespace mlir;
using namespace pagefold;

static constexpr llvm::StringLiteral kHostStages[] = {"attn", "tile", "host", "llvm"};
static constexpr llvm::StringLiteral kCudaStages[] = {"attn", "tile", "hopper", "llvm"};

llvm::ArrayRef<llvm::StringLiteral> pagefold::stageNames(const CompileOptions &options) {
  return options.isCuda() ? llvm::ArrayRef(kCudaStages) : llvm::ArrayRef(kHostStages);
}

std::optional<Stage> pagefold::stageFromName(llvm::StringRef name, const CompileOptions &options) {
  llvm::ArrayRef<llvm::StringLiteral> names = stageNames(options);
  const auto *found = llvm::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<Stage>(found - names.begin());
}

static llvm::StringRef stageName(Stage stage, const CompileOptions &options) {
  return stageNames(options)[static_cast<int>(stage)];
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void buildAttn(OpPassManager &manager, const CompileOptions &options) {
  manager.addPass(attn::createAttnExpandBounds({options.bounds}));
  if (options.cascade != "off") {
    attn::AttnCascadeOptions cascade;
    cascade.force = options.cascade == "always";
    cascade.batchInvariant = options.batchInvariant;
    cascade.launchBytes = scheduleTableOf(options.target)->launchBytes;
    manager.addNestedPass<func::FuncOp>(attn::createAttnCascade(cascade));
  }
  if (options.fuse)
    manager.addNestedPass<func::FuncOp>(attn::createAttnFuse());
  manager.addPass(createCanonicalizerPass());
}

static void buildTile(OpPassManager &manager, const CompileOptions &options) {
  manager.addPass(createAttnToTile());
  if (options.onlineSoftmax)
    manager.addPass(tile::createTileOnlineSoftmax());
  // Before the schedule, which asks what the queries' region does; not for the form that takes any.
  if (options.isCuda() && options.stageQueries && options.form != "simt")
    manager.addPass(tile::createTileStageQueries({options.form}));
  // Not where a schedule is given: it would be that of both spaces.
  bool isGiven = !options.form.empty() || options.qTile || options.kvTile || options.splits;
  if (options.isCuda() && options.splitRows && !isGiven)
    manager.addPass(tile::createTileSplitRows());
  tile::TileSelectScheduleOptions schedule;
  schedule.qTile = options.qTile;
  schedule.kvTile = options.kvTile;
  schedule.splits = options.splits;
  schedule.form = options.form;
  schedule.target = options.target;
  schedule.packGroups = options.packGroups;
  schedule.batchInvariant = options.batchInvariant;
  manager.addPass(tile::createTileSelectSchedule(schedule));
  if (options.isCuda() && options.fuseAppend) // now that it is known who streams
    manager.addPass(tile::createTileFuseAppend());
  if (options.isCuda() && options.joinRows) // what is left
    manager.addPass(tile::createTileJoinRows());
  manager.addPass(tile::createTileVisitLists()); // after the fold exists
  manager.addPass(tile::createTileSplitKV());    // after the schedule says how many
}

static void buildHost(OpPassManager &manager, const CompileOptions &options) {
  if (options.form == "simt") { // the GPU's kernels, whose threads are played
    TileToSimtOptions simt;
    simt.counters = options.counters;
    manager.addPass(createTileToSimt(simt));
    manager.addPass(createSimtOnHost());
  } else {
    TileToHostOptions host;
    host.counters = options.counters;
    manager.addPass(createTileToHost(host));
  }
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// Without the pattern that joins equal carried values of a loop: it compares all with all, which
/// takes half of the pass's time, and LLVM does it. Where MLIR's compiler spells the pattern's name
/// otherwise it stays in.
static std::unique_ptr<Pass> createCanonicalizeLoops() {
  return createCanonicalizerPass(GreedyRewriteConfig(),
                                 {"(anonymous namespace)::RemoveDuplicateSuccessorInputUses"});
}

static void buildHopper(OpPassManager &manager, const CompileOptions &options) {
  TileToHopperOptions lowering;
  lowering.sections = options.sections;
  lowering.counters = options.counters;
  lowering.overlapLaunches = options.overlapLaunches;
  manager.addPass(createTileToHopper(lowering));
  manager.addPass(createCSEPass());           // half as much is left for the patterns to look at
  manager.addPass(createCanonicalizeLoops()); // what the emitter wrote twice costs registers
  manager.addPass(createCSEPass());
  if (options.overlapProducts) // of kernels as tile-to-hopper writes them
    manager.addPass(hopper::createHopperOverlapProducts());
  if (options.lazyRescale)
    manager.addPass(hopper::createHopperLazyRescale());
}

static void buildKernels(OpPassManager &manager, const CompileOptions &options) {
  options.isCuda() ? buildHopper(manager, options) : buildHost(manager, options);
}

static void buildLLVM(OpPassManager &manager, const CompileOptions &options) {
  if (!options.isCuda())
    return host::buildHostToLLVM(manager);
  hopper::HopperToLLVMOptions lowering;
  lowering.pollLimit = options.pollLimit;
  hopper::buildHopperToLLVM(manager, lowering);
}

void pagefold::buildStage(OpPassManager &manager, Stage stage, const CompileOptions &options) {
  static constexpr decltype(&buildAttn) kBuilders[] = {buildAttn, buildTile, buildKernels,
                                                       buildLLVM};
  kBuilders[static_cast<int>(stage)](manager, options);
  VerifyLevelOptions verify;
  verify.level = stageName(stage, options).str();
  if (stage == Stage::LLVM && options.isCuda())
    verify.level = "nvvm";
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
                                      const CompileOptions &options, Remarks &remarks,
                                      llvm::StringRef dumpDirectory) {
  remarks.take(module);
  for (int stage = static_cast<int>(first); stage <= static_cast<int>(last); ++stage) {
    PassManager manager(module.getContext());
    manager.enableVerifier(false); // once a stage is enough: pagefold-opt verifies after every pass
    buildStage(manager, static_cast<Stage>(stage), options);
    if (failed(manager.run(module)) || failed(verify(module)))
      return failure();
    if (options.strict && failed(remarks.refuseFallbacks()))
      return failure();
    remarks.keep(module);
    if (!dumpDirectory.empty() &&
        failed(dump(module, stage + 1, stageNames(options)[stage], dumpDirectory)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

host::HostTarget pagefold::hostTarget(const CompileOptions &options) {
  return options.cpu.empty() ? host::HostTarget::ofThisMachine()
                             : host::HostTarget::ofCpu(options.cpu);
}

FailureOr<std::string> pagefold::writeLLVMIR(ModuleOp module, const CompileOptions &options) {
  return writeLLVMIR(module, hostTarget(options));
}

FailureOr<std::string> pagefold::writeArtifact(ModuleOp module, const CompileOptions &options,
                                               const Remarks &remarks, llvm::StringRef graph) {
  ArtifactNotes notes{changedOptions(options), {}, options.keepGraph ? graph : llvm::StringRef()};
  for (const PlacedRemark &placed : remarks.all())
    notes.remarks[placed.function].push_back(placed.remark);
  if (!options.isCuda())
    return writeHostArtifact(module, hostTarget(options), notes);
  return writeCudaArtifact(
      module, options.code == "cubin" ? CudaCodeKind::Cubin : CudaCodeKind::Ptx, notes);
}

FailureOr<std::string> pagefold::compileToArtifact(ModuleOp module, const CompileOptions &options,
                                                   Remarks &remarks, llvm::StringRef graph) {
  if (failed(compileStages(module, Stage::Attn, Stage::LLVM, options, remarks)))
    return failure();
  return writeArtifact(module, options, remarks, graph);
}

//===----------------------------------------------------------------------===//
// Names for pagefold-opt
//===----------------------------------------------------------------------===//

namespace {

/// The options of the table as those of a pipeline.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  PipelineOptions() {
    const CompileOptions defaults;
    for (const OptionRow &row : optionTable())
      if (row.scope == OptionRow::All)
        std::visit([&](auto field) { add(row, field, defaults); }, row.field);
  }

  CompileOptions get() const {
    CompileOptions options;
    for (const std::function<void(CompileOptions &)> &set : setters)
      set(options);
    return options;
  }

private:
  template <typename T>
  void add(const OptionRow &row, T CompileOptions::*field, const CompileOptions &defaults) {
    auto option = std::make_shared<Option<T>>(*this, row.name, llvm::cl::desc(row.help),
                                              llvm::cl::init(defaults.*field));
    setters.push_back([option, field](CompileOptions &options) { options.*field = *option; });
  }
  std::vector<std::function<void(CompileOptions &)>> setters; ///< own the options
};

struct PipelineRow {
  const char *name;
  Stage last;
  const char *target; ///< or null: what the options say
  const char *summary;
};

} // namespace

static void buildPipeline(OpPassManager &manager, const PipelineRow &row,
                          const PipelineOptions &chosen) {
  CompileOptions options = chosen.get();
  if (row.target)
    options.target = row.target;
  if (std::string error = checkCompileOptions(options); !error.empty())
    llvm::report_fatal_error(llvm::StringRef(error), /*gen_crash_diag=*/false);
  for (int stage = 0; stage <= static_cast<int>(row.last); ++stage)
    buildStage(manager, static_cast<Stage>(stage), options);
}

void pagefold::registerPagefoldPipelines() {
  static constexpr PipelineRow kPipelines[] = {
      {"pagefold-attn", Stage::Attn, nullptr, "Stage attn: cut shared prefixes, fuse small ops"},
      {"pagefold-tile", Stage::Tile, nullptr,
       "Stages up to tile: buffers, the fold, schedules, visit lists"},
      {"pagefold-host", Stage::Kernels, "host", "Stages up to host: vectors and loops"},
      {"pagefold-hopper", Stage::Kernels, "cuda", "Stages up to hopper: roles and rings"},
      {"pagefold-llvm", Stage::LLVM, nullptr, "All stages: the llvm dialect and the launch plan"}};
  for (const PipelineRow &row : kPipelines)
    PassPipelineRegistration<PipelineOptions>(
        row.name, row.summary, [row](OpPassManager &manager, const PipelineOptions &options) {
          buildPipeline(manager, row, options);
        });
}
