//===- TileToHost.cpp - level 2 to level 3 on the host --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel op of a function becomes a function of its own, in order; then the launch plan takes
// the function's place. The kernels: BatchKernel, RowKernels, SpaceKernel.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitters.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pagefold/Conversion/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace pagefold {
#define GEN_PASS_DEF_TILETOHOST
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

namespace {

/// Lowers one function and writes its plan.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, attn::BoundsAttr bounds, bool counters)
      : function(function), layout(bounds), counters(counters) {}
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  LogicalResult addKernel(Operation *op, StringRef workers,
                          llvm::function_ref<LogicalResult(Kernel &)> emit);
  LogicalResult emitElementwise(Kernel &kernel, linalg::GenericOp op);
  void buildPlan();

  func::FuncOp function;
  WorkspaceLayout layout;
  bool counters;
  int64_t scratch = 0;
  SmallVector<Attribute> kernels;
};

LogicalResult FunctionLowering::addKernel(Operation *op, StringRef workers,
                                          llvm::function_ref<LogicalResult(Kernel &)> emit) {
  std::string name = (function.getName() + "_k" + Twine(kernels.size())).str();
  Kernel kernel(function, name, layout, counters, op->getLoc());
  if (failed(emit(kernel)))
    return failure();
  StringAttr symbol = kernel.finish();
  scratch = std::max(scratch, kernel.scratchBytes());
  Builder builder(function.getContext());
  NamedAttrList entry;
  entry.set("symbol", symbol);
  entry.set("op", builder.getStringAttr(op->getName().getStringRef()));
  entry.set("workers", builder.getStringAttr(workers));
  kernels.push_back(entry.getDictionary(function.getContext()));
  return success();
}

/// An elementwise op that fused into nothing. One worker: it is small, or should have been fused.
LogicalResult FunctionLowering::emitElementwise(Kernel &kernel, linalg::GenericOp op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, kernel.find(operand));
  llvm::SetVector<Value> captures; // constants and scalars that its body uses
  getUsedValuesDefinedAbove(op.getRegion(), captures);
  for (Value capture : captures)
    mapping.map(capture, kernel.find(capture));
  kernel.builder().clone(*op, mapping);
  return success();
}

LogicalResult FunctionLowering::lower(Operation *op) {
  auto all = [&](auto emit) { return addKernel(op, "all", emit); };
  auto done = [](auto emitter) {
    return [=](Kernel &kernel) { return emitter(kernel), success(); };
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::BatchOp batch) {
        return addKernel(op, "one", done([=](Kernel &kernel) { emitBatch(kernel, batch); }));
      })
      .Case([&](tile::AppendOp append) {
        return all(done([=](Kernel &k) { emitAppend(k, append); }));
      })
      .Case([&](tile::RowsOp rows) { return all(done([=](Kernel &k) { emitRows(k, rows); })); })
      .Case([&](tile::MergeOp merge) { return all(done([=](Kernel &k) { emitMerge(k, merge); })); })
      .Case([&](tile::MergeSplitsOp merge) {
        return all(done([=](Kernel &k) { emitMergeSplits(k, merge); }));
      })
      .Case([&](tile::SpaceOp space) -> LogicalResult {
        if (!space.getSchedule())
          return space.emitOpError("expects a schedule: tile-select-schedule should have set it");
        return all([=](Kernel &kernel) { return emitSpace(kernel, space); });
      })
      .Case([&](linalg::GenericOp generic) {
        return addKernel(op, "one",
                         [&](Kernel &kernel) { return emitElementwise(kernel, generic); });
      })
      .Case([](func::ReturnOp) { return success(); })
      // Everything else is found by the kernels that use it.
      .Default([](Operation *other) -> LogicalResult {
        if (isMemoryEffectFree(other) || isa<tile::WorkspaceOp>(other))
          return success();
        return other->emitOpError("has no lowering to the host");
      });
}

void FunctionLowering::buildPlan() {
  OpBuilder builder(function);
  attn::BoundsAttr bounds = layout.getBounds();
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  NamedAttrList limits, plan;
  limits.set("batch", number(bounds.getBatch()));
  limits.set("q_len", number(bounds.getQLen()));
  limits.set("kv_len", number(bounds.getKvLen()));
  limits.set("tokens", number(bounds.maxTokens()));
  plan.set("bounds", limits.getDictionary(builder.getContext()));
  plan.set("args", function->getAttr("tile.args"));
  plan.set("workspace", number(layout.size()));
  plan.set("workspace_head", number(WorkspaceLayout::kHead));
  plan.set("scratch", number(scratch));
  plan.set("error_word", number(WorkspaceLayout::kErrorWord));
  if (counters)
    plan.set("counters", number(WorkspaceLayout::kCounters));
  plan.set("kernels", builder.getArrayAttr(kernels));
  tile::PlanOp::create(builder, function.getLoc(), function.getName(),
                       plan.getDictionary(builder.getContext()));
  function.erase();
}

/// The lowering reads what keys and values, batches, masks and visit lists are bound to.
static LogicalResult checkSources(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<tile::KVType, tile::BatchType, tile::MaskType, tile::VisitsType>(operand.getType()) &&
          !operand.getDefiningOp()) {
        op->emitOpError("expects its ")
            << operand.getType() << " to come from an op of this function, got an argument";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult FunctionLowering::run() {
  if (failed(checkSources(function)))
    return failure();
  for (Operation &op : function.front())
    if (failed(lower(&op)))
      return failure();
  buildPlan();
  return success();
}

struct TileToHost : pagefold::impl::TileToHostBase<TileToHost> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      auto bounds = function->getAttrOfType<attn::BoundsAttr>("attn.bounds");
      if (!bounds || !function->hasAttr("tile.args"))
        continue; // not a launchable function: a kernel already, or a helper
      if (failed(FunctionLowering(function, bounds, counters).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
