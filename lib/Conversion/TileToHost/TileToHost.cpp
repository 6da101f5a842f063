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

#include "HostKernel.h"
#include "KernelEmitters.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pagefold/Conversion/KernelAbout.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"

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
  FunctionLowering(func::FuncOp function, bool counters)
      : function(function), layout(function->getAttrOfType<attn::BoundsAttr>(attn::kBoundsName)),
        counters(counters) {}
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  LogicalResult addKernel(Operation *op, StringRef workers,
                          llvm::function_ref<LogicalResult(HostKernel &)> emit);

  func::FuncOp function;
  WorkspaceLayout layout;
  bool counters;
  int64_t scratch = 0;
  SmallVector<Attribute> kernels;
};

LogicalResult FunctionLowering::addKernel(Operation *op, StringRef workers,
                                          llvm::function_ref<LogicalResult(HostKernel &)> emit) {
  std::string name = (function.getName() + "_k" + Twine(kernels.size())).str();
  HostKernel kernel(function, name, layout, counters, op->getLoc());
  if (failed(emit(kernel)))
    return failure();
  StringAttr symbol = kernel.finish();
  scratch = std::max(scratch, kernel.scratchBytes());
  Builder builder(function.getContext());
  NamedAttrList entry;
  entry.set("symbol", symbol);
  entry.set("op", builder.getStringAttr(op->getName().getStringRef()));
  entry.set("workers", builder.getStringAttr(workers));
  entry.set(kAboutKey, aboutKernel(op));
  kernels.push_back(entry.getDictionary(function.getContext()));
  return success();
}

LogicalResult FunctionLowering::lower(Operation *op) {
  if (auto batch = dyn_cast<tile::BatchOp>(op))
    return addKernel(op, "one",
                     [&](HostKernel &kernel) { return emitBatch(kernel, batch), success(); });
  // An elementwise op that fused into nothing is small, or should have been fused: one worker.
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return addKernel(op, "one", [&](HostKernel &kernel) {
      return cloneElementwise(kernel, generic), success();
    });
  if (auto together = dyn_cast<tile::TogetherOp>(op)) { // a launch costs the host next to nothing
    for (Operation &work : together.getBody().front())
      if (failed(lower(&work)))
        return failure();
    return success();
  }
  if (isa<tile::CutPrefixOp>(op)) // a team of one
    return addKernel(op, "one", [&](HostKernel &kernel) { return emitWork(kernel, op); });
  if (isWork(op))
    return addKernel(op, "all", [&](HostKernel &kernel) { return emitWork(kernel, op); });
  // Everything else is found by the kernels that use it.
  if (isa<func::ReturnOp, tile::WorkspaceOp>(op) || isMemoryEffectFree(op))
    return success();
  return op->emitOpError("has no lowering to the host");
}

LogicalResult FunctionLowering::run() {
  if (failed(checkSources(function)))
    return failure();
  for (Operation &op : function.front())
    if (failed(lower(&op)))
      return failure();
  replaceByPlan(function, layout, {.kernels = kernels, .scratch = scratch, .counters = counters});
  return success();
}

struct TileToHost : pagefold::impl::TileToHostBase<TileToHost> {
  using Base::Base;
  void runOnOperation() override {
    for (func::FuncOp function : launchedFunctions(getOperation()))
      if (failed(FunctionLowering(function, counters).run()))
        return signalPassFailure();
  }
};

} // namespace
