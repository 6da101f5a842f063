//===- Artifact.cpp - from the launch plan in the IR to bytes -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Artifact.h"
#include "ConvertPlan.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/Hopper/Cubin.h"
#include "pagefold/Target/Hopper/PtxCode.h"
#include "pagefold/Target/Hopper/Roofline.h"

using namespace mlir;
using namespace pagefold;

/// The plans of all functions, for a target.
static FailureOr<runtime::Plan> convertPlans(ModuleOp module, runtime::TargetPlan target,
                                             const ArtifactNotes &notes) {
  runtime::Plan plan;
  plan.options = notes.options;
  plan.compiler = "pagefold " PAGEFOLD_VERSION;
  plan.target = std::move(target);
  for (tile::PlanOp op : module.getOps<tile::PlanOp>()) {
    FailureOr<runtime::FunctionPlan> function = convertPlan(op);
    if (failed(function))
      return failure();
    if (auto remarks = notes.remarks.find(function->name); remarks != notes.remarks.end())
      function->remarks = remarks->second;
    plan.functions.push_back(std::move(*function));
  }
  if (plan.functions.empty())
    return module.emitError("expects a function with attn.bounds to compile, got none"), failure();
  return plan;
}

static FailureOr<std::string> serialize(ModuleOp module, const runtime::Plan &plan,
                                        const char *kind, StringRef code, StringRef graph) {
  SmallVector<runtime::CodeSection, 2> sections{{kind, code}};
  if (!graph.empty())
    sections.push_back({"graph", graph});
  auto bytes = runtime::serialize(plan, {sections.data(), sections.size()});
  if (!bytes)
    return module.emitError(bytes.error().message()), failure();
  return std::move(*bytes);
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

/// The module without its plans: what becomes code.
static OwningOpRef<ModuleOp> codeOf(ModuleOp module) {
  OwningOpRef<ModuleOp> code(module.clone());
  for (tile::PlanOp op : llvm::make_early_inc_range(code->getOps<tile::PlanOp>()))
    op.erase();
  return code;
}

FailureOr<std::string> pagefold::writeLLVMIR(ModuleOp module, const host::HostTarget &target) {
  return host::emitLLVMIR(*codeOf(module), target);
}

FailureOr<std::string> pagefold::writeHostArtifact(ModuleOp module, const host::HostTarget &target,
                                                   const ArtifactNotes &notes) {
  FailureOr<runtime::Plan> plan =
      convertPlans(module, {"host", target.triple, target.cpu, target.features}, notes);
  if (failed(plan))
    return failure();
  FailureOr<std::string> object = host::emitSharedObject(*codeOf(module), target);
  if (failed(object))
    return failure();
  return serialize(module, *plan, "elf-shared", *object, notes.graph);
}

//===----------------------------------------------------------------------===//
// A GPU
//===----------------------------------------------------------------------===//

static FailureOr<std::string> writeCode(ModuleOp module, CudaCodeKind kind,
                                        hopper::RegisterUses *registers) {
  auto kernels = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (kernels.size() != 1)
    return module.emitError("expects one gpu.module with the kernels, got ") << kernels.size(),
           failure();
  FailureOr<std::string> ptx = hopper::emitPtx(kernels.front());
  if (failed(ptx) || kind == CudaCodeKind::Ptx)
    return ptx;
  return hopper::assembleCubin(*ptx, module.getLoc(), registers);
}

FailureOr<std::string> pagefold::writeCudaCode(ModuleOp module, CudaCodeKind kind) {
  return writeCode(module, kind, nullptr);
}

/// Each kernel of the plans stands in the gpu.module: the driver would miss it only at a launch.
static LogicalResult checkKernels(ModuleOp module) {
  SymbolTable symbols(*module.getOps<gpu::GPUModuleOp>().begin());
  for (tile::PlanOp op : module.getOps<tile::PlanOp>())
    for (auto kernel : op.getPlan().getAs<ArrayAttr>("kernels").getAsRange<DictionaryAttr>())
      if (auto symbol = kernel.getAs<StringAttr>("symbol"); !symbols.lookup(symbol))
        return op.emitError("expects a kernel ") << symbol << " in the gpu.module, got none";
  return success();
}

FailureOr<std::string> pagefold::writeCudaArtifact(ModuleOp module, CudaCodeKind kind,
                                                   const ArtifactNotes &notes) {
  const hopper::Chip &chip = hopper::kHopper;
  FailureOr<runtime::Plan> plan = convertPlans(
      module, {"cuda", chip.triple.str(), chip.name.str(), {}, hopper::kRoofline}, notes);
  if (failed(plan))
    return failure();
  hopper::RegisterUses registers;
  FailureOr<std::string> code = writeCode(module, kind, &registers);
  if (failed(code) || failed(checkKernels(module)))
    return failure();
  for (runtime::FunctionPlan &function : plan->functions)
    for (runtime::KernelPlan &kernel : function.kernels)
      if (auto use = registers.find(kernel.symbol); use != registers.end() && kernel.about)
        kernel.about->registers = {use->second.registers, use->second.spilled};
  return serialize(module, *plan, kind == CudaCodeKind::Ptx ? "ptx" : "cubin", *code, notes.graph);
}
