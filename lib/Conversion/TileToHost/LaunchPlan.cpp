//===- LaunchPlan.cpp - the workspace and plan of a function --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Conversion/LaunchPlan.h"
#include "pagefold/Conversion/KernelAbout.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

int64_t WorkspaceLayout::offsetOf(Value value, int64_t bytes) {
  auto [it, inserted] = offsets.try_emplace(value, next);
  if (inserted)
    allocate(bytes);
  return it->second;
}

int64_t WorkspaceLayout::allocate(int64_t bytes) {
  int64_t place = next;
  next += llvm::alignTo(bytes, 64);
  return place;
}

SmallVector<func::FuncOp> pagefold::launchedFunctions(Operation *module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module->getRegion(0).getOps<func::FuncOp>())
    if (function->hasAttrOfType<attn::BoundsAttr>(attn::kBoundsName) &&
        function->hasAttr("tile.args"))
      functions.push_back(function);
  return functions;
}

LogicalResult pagefold::checkSources(func::FuncOp function) {
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

void pagefold::requireAlignment(func::FuncOp function, unsigned argument, int64_t bytes) {
  SmallVector<Attribute> args(function->getAttrOfType<ArrayAttr>("tile.args").getValue());
  if (argument >= args.size()) // IR by hand may describe none
    return;
  NamedAttrList entry(cast<DictionaryAttr>(args[argument]));
  auto known = dyn_cast_or_null<IntegerAttr>(entry.get("align"));
  Builder builder(function.getContext());
  entry.set("align", builder.getI64IntegerAttr(std::max(bytes, known ? known.getInt() : 1)));
  args[argument] = entry.getDictionary(function.getContext());
  function->setAttr("tile.args", builder.getArrayAttr(args));
}

void pagefold::replaceByPlan(func::FuncOp function, const WorkspaceLayout &layout,
                             const LaunchSummary &summary) {
  OpBuilder builder(function);
  attn::BoundsAttr bounds = layout.getBounds();
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  NamedAttrList limits, plan;
  limits.set("batch", number(bounds.getBatch()));
  limits.set("q_len", number(bounds.getQLen()));
  limits.set("kv_len", number(bounds.getKvLen()));
  limits.set("tokens", number(bounds.maxTokens()));
  if (Attribute graph = function->getAttr(attn::kGraphName))
    plan.set("graph", graph);
  plan.set("bounds", limits.getDictionary(builder.getContext()));
  plan.set("args", function->getAttr("tile.args"));
  plan.set("workspace", number(layout.size()));
  plan.set("workspace_head", number(summary.zeroed));
  plan.set("scratch", number(summary.scratch));
  plan.set("error_word", number(WorkspaceLayout::kErrorWord));
  if (summary.counters)
    plan.set("counters", number(WorkspaceLayout::kCounters));
  // What explains kernels stands apart from what launches them.
  SmallVector<Attribute> kernels, abouts;
  for (Attribute kernel : summary.kernels) {
    NamedAttrList entry(cast<DictionaryAttr>(kernel));
    Attribute about = entry.erase(kAboutKey);
    abouts.push_back(about ? about : builder.getDictionaryAttr({}));
    kernels.push_back(entry.getDictionary(builder.getContext()));
  }
  plan.set("kernels", builder.getArrayAttr(kernels));
  plan.set(kAboutKey, builder.getArrayAttr(abouts));
  tile::PlanOp::create(builder, function.getLoc(), function.getName(),
                       plan.getDictionary(builder.getContext()));
  function.erase();
}
