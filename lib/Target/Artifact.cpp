//===- Artifact.cpp - from the launch plan in the IR to bytes -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Artifact.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/runtime/Artifact.h"

using namespace mlir;
using namespace pagefold;

static int64_t number(DictionaryAttr plan, StringRef key) {
  return plan.getAs<IntegerAttr>(key).getInt();
}
static StringRef text(DictionaryAttr plan, StringRef key) {
  return plan.getAs<StringAttr>(key).getValue();
}

/// A string is a symbol, or symbol+1.
static runtime::Extent convertExtent(Attribute attr) {
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return runtime::Extent::fixed(integer.getInt());
  auto name = dyn_cast<StringAttr>(attr);
  if (!name)
    return runtime::Extent::any();
  auto [symbol, plus] = name.getValue().split('+');
  int64_t offset = 0;
  plus.getAsInteger(10, offset);
  return runtime::Extent::symbolic(symbol.str(), offset);
}

static runtime::Access convertAccess(StringRef access) {
  if (access == "write")
    return runtime::Access::Write;
  return access == "readwrite" ? runtime::Access::ReadWrite : runtime::Access::Read;
}

static FailureOr<runtime::ArgumentPlan> convertArgument(tile::PlanOp op, DictionaryAttr entry) {
  runtime::ArgumentPlan argument;
  argument.name = text(entry, "name").str();
  std::optional<runtime::DType> dtype = runtime::dtypeFromName(text(entry, "dtype").str());
  if (!dtype)
    return op.emitError("argument ")
               << argument.name
               << " has an element type that the runtime does not know: " << text(entry, "dtype"),
           failure();
  argument.dtype = *dtype;
  for (Attribute extent : entry.getAs<ArrayAttr>("shape"))
    argument.shape.push_back(convertExtent(extent));
  argument.access = convertAccess(text(entry, "access"));
  argument.scalar = entry.contains("scalar");
  argument.contiguous = entry.contains("contiguous");
  return argument;
}

static FailureOr<runtime::FunctionPlan> convertFunction(tile::PlanOp op) {
  DictionaryAttr plan = op.getPlan();
  runtime::FunctionPlan function;
  function.name = op.getSymName().str();
  for (NamedAttribute bound : plan.getAs<DictionaryAttr>("bounds"))
    function.bounds[bound.getName().str()] = cast<IntegerAttr>(bound.getValue()).getInt();
  for (Attribute entry : plan.getAs<ArrayAttr>("args")) {
    FailureOr<runtime::ArgumentPlan> argument = convertArgument(op, cast<DictionaryAttr>(entry));
    if (failed(argument))
      return failure();
    function.args.push_back(std::move(*argument));
  }
  function.workspaceSize = number(plan, "workspace");
  function.workspaceInit.push_back({0, number(plan, "workspace_head"), 0});
  function.scratchSize = number(plan, "scratch");
  function.errorWord = number(plan, "error_word");
  if (plan.contains("counters"))
    function.counters = number(plan, "counters");
  for (Attribute entry : plan.getAs<ArrayAttr>("kernels")) {
    auto kernel = cast<DictionaryAttr>(entry);
    bool one = text(kernel, "workers") == "one";
    function.kernels.push_back(
        {text(kernel, "symbol").str(),
         one ? runtime::KernelPlan::Workers::One : runtime::KernelPlan::Workers::All});
  }
  return function;
}

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

FailureOr<std::string> pagefold::writeArtifact(ModuleOp module, const host::HostTarget &target) {
  runtime::Plan plan;
  plan.compiler = "pagefold " PAGEFOLD_VERSION;
  plan.target = {"host", target.triple, target.cpu, target.features};
  SmallVector<tile::PlanOp> plans(module.getOps<tile::PlanOp>());
  if (plans.empty())
    return module.emitError("expects a function with attn.bounds to compile, got none"), failure();
  for (tile::PlanOp op : plans) {
    FailureOr<runtime::FunctionPlan> function = convertFunction(op);
    if (failed(function))
      return failure();
    plan.functions.push_back(std::move(*function));
  }
  FailureOr<std::string> object = host::emitSharedObject(*codeOf(module), target);
  if (failed(object))
    return failure();
  runtime::CodeSection section{"elf-shared", *object};
  auto bytes = runtime::serialize(plan, {&section, 1});
  if (!bytes)
    return module.emitError(bytes.error().message()), failure();
  return std::move(*bytes);
}
