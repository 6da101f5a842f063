//===- Graph.cpp - a graph and the arrays it takes ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "Roles.h"

#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/InitAll.h"
#include "pagefold/Pipeline/ParseGraph.h"
#include "pagefold/Support/ArrayFiles.h"
#include "pagefold/runtime/Artifact.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::run;

std::string Parameter::typeText() const {
  std::string text(dtypeName(dtype));
  text += " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + (shape[i] == kDynamic ? "?" : std::to_string(shape[i]));
  return text + "]";
}

tl::unexpected<runtime::Error> Graph::failAt(const Parameter &parameter,
                                             const std::string &what) const {
  return fail(ErrorCode::InvalidArgument,
              parameter.place + ": argument '" + parameter.name + "' " + what);
}

std::optional<int64_t> Graph::find(std::string_view name) const {
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].name == name)
      return static_cast<int64_t>(i);
  return std::nullopt;
}

void Graph::addBounds() {
  if (artifact_.empty()) {
    llvm::append_range(declared_, attn::declaredBounds(function_));
    return;
  }
  const runtime::Artifact artifact = *runtime::parse(artifact_); // read before, by openBundle
  for (const runtime::FunctionPlan &plan : artifact.plan.functions) {
    auto bound = [&](const char *name) {
      auto found = plan.bounds.find(name);
      return found == plan.bounds.end() ? int64_t{1} : found->second;
    };
    if (plan.graphName() == function_.getName())
      declared_.push_back(attn::BoundsAttr::get(context_.get(), bound("batch"), bound("q_len"),
                                                bound("kv_len"), bound("tokens")));
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Graph::Graph() {
  DialectRegistry registry;
  registerPagefold(registry);
  context_ = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
}

Result<std::unique_ptr<Graph>> Graph::read(const std::string &path,
                                           const std::string &functionName) {
  std::unique_ptr<Graph> graph(new Graph());
  if (Status status = graph->parse(path); !status)
    return tl::unexpected(status.error());
  if (Status status = graph->pick(functionName); !status)
    return tl::unexpected(status.error());
  if (Status status = graph->addParameters(); !status)
    return tl::unexpected(status.error());
  graph->addBounds();
  return graph;
}

Status Graph::parse(const std::string &path) {
  Result<std::string> text = readFile(path);
  if (!text)
    return tl::unexpected(text.error());
  text_ = std::move(*text);
  if (text_.starts_with("PAGEFOLD"))
    if (Status status = openBundle(path); !status)
      return status;
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text_, path), SMLoc());
  SourceMgrDiagnosticHandler diagnostics(*source, context_.get());
  module_ = parseGraph(source, context_.get());
  if (!module_)
    return fail(ErrorCode::BadInput, "'" + path + "' is not a graph that can be read");
  return {};
}

/// Takes the graph out of a bundle.
Status Graph::openBundle(const std::string &path) {
  artifact_ = std::move(text_);
  Result<runtime::Artifact> artifact = runtime::parse(artifact_);
  if (!artifact)
    return tl::unexpected(artifact.error());
  for (const runtime::CodeSection &section : artifact->code)
    if (section.kind == "graph") {
      text_ = section.bytes;
      return {};
    }
  return fail(ErrorCode::BadInput,
              "'" + path + "' keeps no graph to make inputs by; compile it with --keep-graph");
}

Status Graph::pick(const std::string &functionName) {
  std::vector<func::FuncOp> functions(module_->getOps<func::FuncOp>().begin(),
                                      module_->getOps<func::FuncOp>().end());
  std::string names;
  for (func::FuncOp function : functions) {
    names += (names.empty() ? "" : ", ") + function.getName().str();
    if (function.getName() == functionName || (functionName.empty() && functions.size() == 1))
      function_ = function;
  }
  if (function_)
    return {};
  if (functionName.empty())
    return fail(ErrorCode::InvalidArgument,
                "expects a graph of one function, or --function with one of: " +
                    (names.empty() ? "(there is none)" : names));
  return fail(ErrorCode::NotFound, "there is no function '" + functionName + "', only: " + names);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static std::optional<DType> dtypeOf(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (isa<Float8E4M3FNType>(type))
    return DType::F8E4M3;
  if (type.isF64())
    return DType::F64;
  if (type.isInteger(8))
    return DType::I8;
  if (type.isInteger(32))
    return DType::I32;
  return type.isInteger(64) ? std::optional(DType::I64) : std::nullopt;
}

static std::string placeOf(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
        .str();
  return "(unknown place)";
}

Status Graph::addParameters() {
  for (BlockArgument argument : function_.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::string name = "arg" + std::to_string(number);
    if (auto attribute = function_.getArgAttrOfType<StringAttr>(number, kNameAttr))
      name = attribute.getValue().str();
    if (Status status = addArgument(argument, name, placeOf(argument.getLoc())); !status)
      return status;
  }
  function_.walk([&](attn::CacheOp op) { addCacheOp(op); });
  function_.walk([&](attn::AppendOp op) {
    if (std::optional<int64_t> cache = cacheOf(op.getCache(), caches_, parameters_))
      caches_[*cache].appended = true;
  });
  return checkNames();
}

Status Graph::addArgument(BlockArgument argument, const std::string &name,
                          const std::string &place) {
  Parameter parameter{name, DType::F32, {}, roleOf(argument), -1, argument.getArgNumber(), place};
  if (auto cache = dyn_cast<attn::PagedKVType>(argument.getType())) {
    addCacheArgument(argument, cache, parameter);
    return {};
  }
  std::optional<DType> dtype = dtypeOf(getElementTypeOrSelf(argument.getType()));
  if (!dtype)
    return failAt(parameter, "has a type that no array has");
  parameter.dtype = *dtype;
  if (auto tensor = dyn_cast<RankedTensorType>(argument.getType()))
    for (int64_t dim : tensor.getShape())
      parameter.shape.push_back(ShapedType::isDynamic(dim) ? Parameter::kDynamic : dim);
  else if (!argument.getType().isIntOrFloat())
    return failAt(parameter, "has a type that no array has");
  parameters_.push_back(std::move(parameter));
  return {};
}

void Graph::addCacheArgument(BlockArgument argument, attn::PagedKVType type,
                             const Parameter &base) {
  constexpr int64_t kAny = Parameter::kDynamic;
  int64_t index = static_cast<int64_t>(parameters_.size());
  auto add = [&](const char *suffix, DType dtype, std::vector<int64_t> shape, Role role) {
    Parameter part = base;
    part.name += suffix;
    part.dtype = dtype;
    part.shape = std::move(shape);
    part.role = role;
    part.cache = static_cast<int64_t>(caches_.size());
    parameters_.push_back(std::move(part));
  };
  DType element = *dtypeOf(type.getElementType());
  add(".k_pages", element, {kAny, type.getPageSize(), type.getHeads(), type.getKDim()},
      Role::KPages);
  add(".v_pages", element, {kAny, type.getPageSize(), type.getHeads(), type.getVDim()},
      Role::VPages);
  add(".table", DType::I32, {kAny, kAny}, Role::Table);
  add(".lens", DType::I32, {kAny}, Role::Lens);
  for (const char *scales : {".k_scale", ".v_scale"})
    if (type.isScaled())
      add(scales, DType::F32, {type.getHeads()}, Role::Scales);
  caches_.push_back({type, index, index + 1, index + 2, -1, index + 3});
}

void Graph::addCacheOp(attn::CacheOp op) {
  CacheParameters cache;
  cache.type = op.getCache().getType();
  cache.layout = op.getLayout();
  auto bind = [&](Value operand, int64_t &index) {
    std::optional<unsigned> argument = operand ? argumentOf(operand) : std::nullopt;
    for (size_t i = 0; argument && i < parameters_.size(); ++i)
      if (parameters_[i].argument == *argument) {
        index = static_cast<int64_t>(i);
        parameters_[i].cache = static_cast<int64_t>(caches_.size());
      }
  };
  bind(op.getKPages(), cache.kPages);
  bind(op.getVPages(), cache.vPages);
  bind(op.getTable(), cache.table);
  bind(op.getStarts(), cache.starts);
  bind(op.getLens(), cache.lens);
  if (op.getStarts() && cache.starts < 0) // a list is of no use without its starts
    cache.table = -1;
  caches_.push_back(cache);
}

Status Graph::checkNames() const {
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (parameters_[i].name == parameters_[j].name)
        return failAt(parameters_[i],
                      "has the name of another argument, at " + parameters_[j].place);
  return {};
}
