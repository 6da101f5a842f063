//===- ConvertPlan.cpp - tile.plan to the runtime's plan ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of tile.plan has seen to it that the keys are there and of their types.
//
//===----------------------------------------------------------------------===//

#include "ConvertPlan.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace pagefold;

static int64_t number(DictionaryAttr plan, StringRef key) {
  return plan.getAs<IntegerAttr>(key).getInt();
}
static std::optional<int64_t> optionalNumber(DictionaryAttr plan, StringRef key) {
  auto value = plan.getAs<IntegerAttr>(key);
  return value ? std::optional<int64_t>(value.getInt()) : std::nullopt;
}
static StringRef text(DictionaryAttr plan, StringRef key) {
  return plan.getAs<StringAttr>(key).getValue();
}
static auto dictionaries(DictionaryAttr plan, StringRef key) {
  return plan.getAs<ArrayAttr>(key).getAsRange<DictionaryAttr>();
}

static FailureOr<runtime::DType> convertDType(tile::PlanOp op, StringRef name, const Twine &where) {
  if (std::optional<runtime::DType> dtype = runtime::dtypeFromName(name.str()))
    return *dtype;
  return op.emitError() << where << " has an element type that the runtime does not know: " << name,
         failure();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

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
  FailureOr<runtime::DType> dtype =
      convertDType(op, text(entry, "dtype"), "argument " + argument.name);
  if (failed(dtype))
    return failure();
  argument.dtype = *dtype;
  for (Attribute extent : entry.getAs<ArrayAttr>("shape"))
    argument.shape.push_back(convertExtent(extent));
  argument.access = convertAccess(text(entry, "access"));
  argument.scalar = entry.contains("scalar");
  argument.contiguous = entry.contains("contiguous");
  argument.align = optionalNumber(entry, "align").value_or(1);
  return argument;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static runtime::ParameterPlan::Kind convertKind(StringRef kind) {
  using Kind = runtime::ParameterPlan::Kind;
  return llvm::StringSwitch<Kind>(kind)
      .Case("map", Kind::Map)
      .Case("pointer", Kind::Pointer)
      .Case("extent", Kind::Extent)
      .Case("stride", Kind::Stride)
      .Case("scalar", Kind::Scalar)
      .Case("workspace", Kind::Workspace)
      .Case("error_word", Kind::ErrorWord)
      .Case("constant", Kind::Constant)
      .Case("page_map", Kind::PageMap)
      .Case("page_step", Kind::PageStep)
      .Default(Kind::Frame);
}

static runtime::ParameterPlan::Step convertStep(StringRef step) {
  using Step = runtime::ParameterPlan::Step;
  return llvm::StringSwitch<Step>(step)
      .Case("head_panel", Step::HeadPanel)
      .Case("page", Step::Page)
      .Default(Step::HeadPage);
}

static FailureOr<runtime::ParameterPlan> convertParameter(tile::PlanOp op, DictionaryAttr entry) {
  using Kind = runtime::ParameterPlan::Kind;
  runtime::ParameterPlan parameter;
  parameter.kind = convertKind(text(entry, "kind"));
  parameter.arg = optionalNumber(entry, "arg").value_or(0);
  parameter.dim = optionalNumber(entry, "dim").value_or(0);
  parameter.add = optionalNumber(entry, "add").value_or(0);
  parameter.offset = optionalNumber(entry, "offset").value_or(0);
  parameter.bits = optionalNumber(entry, "bits").value_or(0);
  parameter.panels = optionalNumber(entry, "panels").value_or(0);
  parameter.boxRows = optionalNumber(entry, "box_rows").value_or(0);
  if (parameter.kind == Kind::PageStep)
    parameter.of = convertStep(text(entry, "of"));
  if (parameter.kind != Kind::Map && parameter.kind != Kind::PageMap)
    return parameter;
  FailureOr<runtime::DType> element = convertDType(op, text(entry, "element"), "a tensor map");
  if (failed(element))
    return failure();
  parameter.element = *element;
  if (parameter.kind == Kind::PageMap)
    return parameter;
  parameter.workspace = optionalNumber(entry, "workspace");
  parameter.readOnce = entry.contains("read_once");
  for (auto extent : entry.getAs<ArrayAttr>("box").getAsRange<IntegerAttr>())
    parameter.box.push_back(extent.getInt());
  for (DictionaryAttr dim : dictionaries(entry, "dims"))
    parameter.dims.push_back({optionalNumber(dim, "extent"), optionalNumber(dim, "extent_of"),
                              optionalNumber(dim, "stride"), optionalNumber(dim, "stride_of")});
  return parameter;
}

static FailureOr<runtime::KernelPlan> convertKernel(tile::PlanOp op, DictionaryAttr entry) {
  using Workers = runtime::KernelPlan::Workers;
  runtime::KernelPlan kernel;
  kernel.symbol = text(entry, "symbol").str();
  if (!entry.contains("threads")) {
    kernel.workers = text(entry, "workers") == "one" ? Workers::One : Workers::All;
    return kernel;
  }
  runtime::CudaKernelPlan &cuda = kernel.cuda.emplace();
  cuda.threads = number(entry, "threads");
  cuda.shared = number(entry, "shared");
  cuda.ctas = optionalNumber(entry, "ctas").value_or(0);
  cuda.ctasPerSm = optionalNumber(entry, "ctas_per_sm").value_or(0);
  cuda.early = entry.contains("early");
  for (DictionaryAttr parameter : dictionaries(entry, "params")) {
    FailureOr<runtime::ParameterPlan> converted = convertParameter(op, parameter);
    if (failed(converted))
      return failure();
    cuda.params.push_back(std::move(*converted));
  }
  return kernel;
}

//===----------------------------------------------------------------------===//
// What explains kernels
//===----------------------------------------------------------------------===//

static llvm::json::Value toJson(Attribute attr) {
  if (auto flag = dyn_cast<BoolAttr>(attr))
    return flag.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getInt();
  if (auto string = dyn_cast<StringAttr>(attr))
    return string.getValue();
  if (auto array = dyn_cast<ArrayAttr>(attr)) {
    llvm::json::Array json;
    for (Attribute entry : array)
      json.push_back(toJson(entry));
    return json;
  }
  llvm::json::Object json;
  for (NamedAttribute entry : cast<DictionaryAttr>(attr))
    json[entry.getName().getValue()] = toJson(entry.getValue());
  return json;
}

/// The keys are the runtime's own: it says what is wrong with them.
static LogicalResult convertAbouts(tile::PlanOp op, runtime::FunctionPlan &function) {
  auto abouts = op.getPlan().getAs<ArrayAttr>("about");
  for (auto [i, entry] : llvm::enumerate(dictionaries(op.getPlan(), "kernels"))) {
    if (i >= function.kernels.size() || !abouts || i >= abouts.size())
      break;
    std::string json;
    llvm::raw_string_ostream(json) << toJson(abouts[i]);
    runtime::Result<runtime::KernelAbout> about = runtime::parseAbout(json);
    if (!about)
      return op.emitError(about.error().message());
    if (auto name = entry.getAs<StringAttr>("op"))
      about->op = name.str();
    function.kernels[i].about = std::move(*about);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static void convertWorkspace(DictionaryAttr plan, runtime::FunctionPlan &function) {
  function.workspaceSize = number(plan, "workspace");
  function.workspaceInit.push_back({0, number(plan, "workspace_head"), 0});
  if (plan.contains("init"))
    for (DictionaryAttr fill : dictionaries(plan, "init"))
      function.workspaceInit.push_back({number(fill, "offset"), number(fill, "size"),
                                        static_cast<uint8_t>(number(fill, "byte"))});
  function.scratchSize = optionalNumber(plan, "scratch").value_or(0);
  // A GPU's error word lies outside the workspace.
  bool onGpu = llvm::any_of(dictionaries(plan, "kernels"),
                            [](DictionaryAttr kernel) { return kernel.contains("threads"); });
  if (!onGpu)
    function.errorWord = number(plan, "error_word");
  function.counters = optionalNumber(plan, "counters");
}

FailureOr<runtime::FunctionPlan> pagefold::convertPlan(tile::PlanOp op) {
  DictionaryAttr plan = op.getPlan();
  runtime::FunctionPlan function;
  function.name = op.getSymName().str();
  if (auto graph = plan.getAs<StringAttr>("graph"))
    function.graph = graph.str();
  for (NamedAttribute bound : plan.getAs<DictionaryAttr>("bounds"))
    function.bounds[bound.getName().str()] = cast<IntegerAttr>(bound.getValue()).getInt();
  for (DictionaryAttr entry : dictionaries(plan, "args")) {
    FailureOr<runtime::ArgumentPlan> argument = convertArgument(op, entry);
    if (failed(argument))
      return failure();
    function.args.push_back(std::move(*argument));
  }
  convertWorkspace(plan, function);
  for (DictionaryAttr entry : dictionaries(plan, "kernels")) {
    FailureOr<runtime::KernelPlan> kernel = convertKernel(op, entry);
    if (failed(kernel))
      return failure();
    function.kernels.push_back(std::move(*kernel));
  }
  if (failed(convertAbouts(op, function)))
    return failure();
  return function;
}
