//===- TileToHopper.cpp - level 2 to level 3 on the GPU -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinedKernel.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pagefold/Conversion/Passes.h"

namespace pagefold {
#define GEN_PASS_DEF_TILETOHOPPER
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

namespace {

/// Lowers one function and writes its plan.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, gpu::GPUModuleOp module, attn::BoundsAttr bounds,
                   bool sections)
      : function(function), module(module), layout(bounds), sections(sections) {}
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  LogicalResult lowerSpace(tile::SpaceOp space);
  void buildPlan();

  func::FuncOp function;
  gpu::GPUModuleOp module;
  host::WorkspaceLayout layout;
  bool sections;
  SmallVector<Attribute> kernels;
};

LogicalResult FunctionLowering::lowerSpace(tile::SpaceOp space) {
  std::string reason;
  if (!isPipelined(space, reason))
    return space.emitOpError("has no lowering to the GPU: ") << reason;
  std::string name = (function.getName() + "_k" + Twine(kernels.size())).str();
  SpaceKernel kernel(module, function, name, layout, space.getLoc());
  emitPipelinedKernel(kernel, PipelinedSpace(space), sections);
  NamedAttrList entry = kernel.finish();
  entry.set("op", StringAttr::get(function.getContext(), space->getName().getStringRef()));
  kernels.push_back(entry.getDictionary(function.getContext()));
  return success();
}

LogicalResult FunctionLowering::lower(Operation *op) {
  if (auto space = dyn_cast<tile::SpaceOp>(op))
    return lowerSpace(space);
  if (isMemoryEffectFree(op) || isa<tile::WorkspaceOp, tile::BatchOp, func::ReturnOp>(op))
    return success();
  return op->emitOpError("has no lowering to the GPU");
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
  plan.set("workspace_head", number(layout.size())); // counters start at zero
  plan.set("scratch", number(0));
  plan.set("error_word", number(host::WorkspaceLayout::kErrorWord));
  plan.set("kernels", builder.getArrayAttr(kernels));
  tile::PlanOp::create(builder, function.getLoc(), function.getName(),
                       plan.getDictionary(builder.getContext()));
  function.erase();
}

LogicalResult FunctionLowering::run() {
  for (Operation &op : function.front())
    if (failed(lower(&op)))
      return failure();
  buildPlan();
  return success();
}

struct TileToHopper : pagefold::impl::TileToHopperBase<TileToHopper> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    for (func::FuncOp function : functions) {
      auto bounds = function->getAttrOfType<attn::BoundsAttr>("attn.bounds");
      if (!bounds || !function->hasAttr("tile.args"))
        continue;
      if (failed(FunctionLowering(function, kernels, bounds, sections).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
