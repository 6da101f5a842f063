//===- TileToHopper.cpp - level 2 to level 3 on the GPU -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinedKernel.h"
#include "StreamingKernel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "pagefold/Conversion/KernelAbout.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Conversion/SimtKernels.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/Hopper/PipelinedForm.h"
#include "pagefold/Target/Hopper/StreamingForm.h"

namespace pagefold {
#define GEN_PASS_DEF_TILETOHOPPER
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

namespace {

SpaceFacts factsOf(const PipelinedSpace &space) {
  SpaceFacts facts;
  facts.packed = space.packed;
  facts.groupRows = space.packed ? space.groupRows : 0;
  facts.oneRange = space.hull;
  facts.share = "parts";
  facts.rowUnit = space.qTile;
  facts.tensorCores = true;
  facts.stages = space.stages;
  facts.boxKeys = space.boxRows();
  facts.pages = facts.boxKeys ? "boxes" : "gather";
  return facts;
}

SpaceFacts factsOf(const StreamedSpace &space) {
  constexpr int64_t kColumns = 8; // of a result block: packed rows
  SpaceFacts facts;
  facts.oneRange = space.hull;
  facts.neverEmpty = true;
  facts.share = "slices";
  facts.rowUnit = kColumns;
  facts.workers = space.warps;
  facts.tensorCores = true;
  facts.stages = space.stages;
  facts.boxKeys = space.boxKeys();
  facts.pages = space.isGathered() ? "gather" : "boxes";
  return facts;
}

/// Lowers one function and writes its plan.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, gpu::GPUModuleOp module,
                   const TileToHopperOptions &options)
      : function(function), module(module),
        layout(function->getAttrOfType<attn::BoundsAttr>(attn::kBoundsName)), options(options) {}
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  FailureOr<DictionaryAttr> lowerSpace(tile::SpaceOp space, StringRef symbol);
  LaunchOrder order();
  void remarkOn(tile::SpaceOp space, const SpaceFacts &facts);

  func::FuncOp function;
  gpu::GPUModuleOp module;
  WorkspaceLayout layout;
  TileToHopperOptions options;
  size_t works = 0; ///< kernels that there will be
  SmallVector<Attribute> kernels;
};

/// Of the next kernel. The first one of a function is not early: what the stream held before a
/// launch knows nothing of releasing it.
LaunchOrder FunctionLowering::order() {
  if (!options.overlapLaunches)
    return {};
  return {.early = !kernels.empty(), .releases = kernels.size() + 1 < works};
}

FailureOr<DictionaryAttr> FunctionLowering::lowerSpace(tile::SpaceOp space, StringRef symbol) {
  bool streams = space.getSchedule()->getKind() == tile::ScheduleKind::Streaming;
  attn::BoundsAttr bounds = tile::boundsOf(space);
  std::string refusal = streams ? streamingRefusal(space, bounds) : pipelinedRefusal(space);
  if (refusal.empty() && !streams)
    refusal = packedRefusal(space);
  auto folds = space.getBody().front().getOps<tile::FoldOp>();
  if (refusal.empty() && !(*folds.begin()).getVisits())
    refusal = "its fold has no visit list (tile-visit-lists)";
  if (!refusal.empty())
    return space.emitOpError("cannot be ") << (streams ? "streamed: " : "pipelined: ") << refusal,
           failure();
  SpaceKernel kernel(module, function, symbol, layout, order(), space.getLoc());
  SpaceFacts facts;
  if (streams) {
    StreamedSpace streamed(space, bounds);
    facts = factsOf(streamed);
    emitStreamingKernel(kernel, streamed);
  } else {
    PipelinedSpace pipelined(space);
    facts = factsOf(pipelined);
    emitPipelinedKernel(kernel, pipelined, options.sections);
  }
  remarkOn(space, facts);
  NamedAttrList entry = kernel.finish();
  entry.set("op", StringAttr::get(function.getContext(), space->getName().getStringRef()));
  entry.set(kAboutKey, aboutKernel(space, facts));
  return entry.getDictionary(function.getContext());
}

/// What is slower than the schedule can be: for the explanation, and for strict compiles.
void FunctionLowering::remarkOn(tile::SpaceOp space, const SpaceFacts &facts) {
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name).category("tile-to-hopper").function(function.getName());
  };
  if (facts.pages == "gather") {
    // Decode waits for memory, not for who copies from there.
    bool streams = space.getSchedule()->getKind() == tile::ScheduleKind::Streaming;
    (streams ? remark::analysis(space.getLoc(), options("Gather"))
             : remark::missed(space.getLoc(), options("Gather")))
        << "keys and values are gathered row by row"
        << remark::reason("no box of TMA brings a multiple of 8 keys of a page: pages of {0} keys, "
                          "KV tiles of {1}",
                          space.getKv().getType().getPageSize(), space.getSchedule()->getKvTile());
  }
  if (facts.oneRange)
    remark::missed(space.getLoc(), options("OneRange"))
        << "all KV tiles from the first visible one to the last are visited, and masked"
        << remark::reason("the mask's visit list has tiles to test one by one, or more ranges than "
                          "the kernel walks");
}

/// Spaces with a pipelined or a streaming schedule become kernels of rings and roles, all other
/// work kernels of one thread a worker.
LogicalResult FunctionLowering::lower(Operation *op) {
  std::string symbol = (function.getName() + "_k" + Twine(kernels.size())).str();
  auto space = dyn_cast<tile::SpaceOp>(op);
  FailureOr<DictionaryAttr> entry;
  if (space && space.getSchedule() && tile::splitsOnDevice(space.getSchedule()->getKind()))
    entry = lowerSpace(space, symbol);
  else if (isSimtWork(op))
    entry =
        emitSimtKernel(op, symbol, {function, module, layout, options.counters, kWarp, order()});
  else if (isa<tile::BatchOp, tile::WorkspaceOp, func::ReturnOp>(op) || isMemoryEffectFree(op))
    return success(); // found by the kernels that use it
  else
    return op->emitOpError("has no lowering to the GPU");
  if (failed(entry))
    return failure();
  kernels.push_back(*entry);
  return success();
}

LogicalResult FunctionLowering::run() {
  if (failed(checkSources(function)))
    return failure();
  works = llvm::count_if(function.front(), [](Operation &op) { return isSimtWork(&op); });
  for (Operation &op : function.front())
    if (failed(lower(&op)))
      return failure();
  replaceByPlan(
      function, layout,
      {.kernels = kernels, .zeroed = layout.size(), .counters = options.counters}); // tickets are 0
  return success();
}

struct TileToHopper : pagefold::impl::TileToHopperBase<TileToHopper> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions = launchedFunctions(getOperation());
    if (functions.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    for (func::FuncOp function : functions)
      if (failed(FunctionLowering(function, kernels, {sections, counters, overlapLaunches}).run()))
        return signalPassFailure();
  }
};

} // namespace
