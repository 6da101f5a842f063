//===- TileToSimt.cpp - level 2 to kernels of one thread a worker ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitters.h"
#include "SimtRows.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pagefold/Conversion/KernelAbout.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Target/Hopper/Chip.h"

namespace pagefold {
#define GEN_PASS_DEF_TILETOSIMT
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

bool pagefold::isSimtWork(Operation *op) { return isWork(op) || !rowWorks(op).empty(); }

/// The most tickets of an op within the function's bounds; 0 where its buffers alone say it.
static int64_t maxTickets(Operation *op, const SimtModule &module) {
  auto headsOf = [](Value buffer) { return cast<MemRefType>(buffer.getType()).getDimSize(1); };
  attn::BoundsAttr bounds = module.layout.getBounds();
  int64_t tokens = bounds.maxTokens();
  if (isa<tile::CutPrefixOp>(op))
    return hopper::kTeamLaunch.threads;
  if (SmallVector<Operation *> rows = rowWorks(op); !rows.empty())
    return rowThreads(rows, tokens, module.rowLanes);
  if (auto merge = dyn_cast<tile::MergeOp>(op)) {
    int64_t columns = cast<MemRefType>(merge.getOutput().getType()).getDimSize(2);
    return tokens * headsOf(merge.getOutput()) * (columns / SimtKernel::mergedColumns(columns));
  }
  if (auto merge = dyn_cast<tile::MergeSplitsOp>(op))
    return tokens * headsOf(merge.getOutput());
  if (auto space = dyn_cast<tile::SpaceOp>(op)) {
    tile::ScheduleAttr schedule = *space.getSchedule();
    int64_t tiles = tokens * int64_t(space.getGroup()) / schedule.getQTile() + bounds.getBatch();
    return tiles * space.getKv().getType().getHeads() * schedule.getSplits();
  }
  return 0;
}

static const hopper::SimtLaunch &launchOf(Operation *op) {
  if (isa<tile::CutPrefixOp>(op))
    return hopper::kTeamLaunch;
  return rowWorks(op).empty() ? hopper::kSimtLaunch : hopper::kRowLaunch;
}

/// As many CTAs as there can be work for, or so many for each multiprocessor.
static void setGrid(NamedAttrList &entry, Builder &builder, const hopper::SimtLaunch &launch,
                    int64_t tickets) {
  int64_t ctas = (tickets + launch.threads - 1) / launch.threads;
  if (ctas && ctas <= launch.exactCtas)
    entry.set("ctas", builder.getI64IntegerAttr(ctas));
  else
    entry.set("ctas_per_sm", builder.getI64IntegerAttr(launch.ctasPerMultiprocessor));
  entry.set("threads", builder.getI64IntegerAttr(launch.threads));
  entry.set("shared", builder.getI64IntegerAttr(0));
}

static LogicalResult emitBody(SimtKernel &kernel, Operation *op, int64_t rowLanes) {
  SmallVector<Operation *> rows = rowWorks(op);
  if (rows.empty())
    return emitWork(kernel, op);
  emitSimtRows(kernel, rows, rowLanes);
  return success();
}

FailureOr<DictionaryAttr> pagefold::emitSimtKernel(Operation *op, StringRef symbol,
                                                   const SimtModule &module) {
  const hopper::SimtLaunch &launch = launchOf(op);
  SimtKernel kernel(module, symbol, launch, op->getLoc());
  if (failed(emitBody(kernel, op, module.rowLanes)))
    return failure();
  kernel.finish();
  Builder builder(op->getContext());
  auto word = [&](StringRef kind) {
    return builder.getDictionaryAttr(builder.getNamedAttr("kind", builder.getStringAttr(kind)));
  };
  NamedAttrList entry;
  entry.set("symbol", builder.getStringAttr(symbol));
  entry.set("op", builder.getStringAttr(op->getName().getStringRef()));
  setGrid(entry, builder, launch, maxTickets(op, module));
  if (module.order.early)
    entry.set("early", builder.getUnitAttr());
  entry.set("params", builder.getArrayAttr({word("frame"), word("error_word")}));
  SpaceFacts facts;
  facts.workers = launch.ctasPerMultiprocessor * launch.threads;
  entry.set(kAboutKey, aboutKernel(op, facts));
  return entry.getDictionary(op->getContext());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct TileToSimt : pagefold::impl::TileToSimtBase<TileToSimt> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions = launchedFunctions(getOperation());
    if (functions.empty())
      return;
    OpBuilder builder(functions.front());
    auto kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    for (func::FuncOp function : functions)
      if (failed(lower(function, kernels)))
        return signalPassFailure();
  }

  LogicalResult lower(func::FuncOp function, gpu::GPUModuleOp kernels) {
    if (failed(checkSources(function)))
      return failure();
    WorkspaceLayout layout(function->getAttrOfType<attn::BoundsAttr>(attn::kBoundsName));
    SimtModule module{function, kernels, layout, counters, rowLanes};
    SmallVector<Attribute> entries;
    for (Operation &op : function.front()) {
      if (isSimtWork(&op)) {
        std::string symbol = (function.getName() + "_k" + Twine(entries.size())).str();
        FailureOr<DictionaryAttr> entry = emitSimtKernel(&op, symbol, module);
        if (failed(entry))
          return failure();
        entries.push_back(*entry);
      } else if (!isa<func::ReturnOp, tile::WorkspaceOp, tile::BatchOp>(op) &&
                 !isMemoryEffectFree(&op)) {
        return op.emitOpError("has no lowering to the GPU");
      }
    }
    replaceByPlan(function, layout, {.kernels = entries, .counters = counters});
    return success();
  }
};

} // namespace
