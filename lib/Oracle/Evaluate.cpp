//===- Evaluate.cpp - functions, op by op ---------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operations.h"
#include "ScalarProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;

//===----------------------------------------------------------------------===//
// Reshapes, constants, scalars
//===----------------------------------------------------------------------===//

/// Sets `result` to `source` in another shape. Arguments not read yet stay so, for pages are
/// storage.
static Status reshape(Operation *op, mlir::Value source, std::vector<int64_t> shape,
                      Environment &env) {
  if (auto *array = std::get_if<Array>(&env.get(source)))
    if (std::optional<Array> view = array->reshaped(shape)) {
      env.set(op->getResult(0), *view);
      return {};
    }
  TensorRef tensor = env.tensor(source);
  if (elementCount(shape) != static_cast<int64_t>(tensor->values.size()))
    return failAt(op, ErrorCode::BadInput,
                  "cannot give " + shapeString(tensor->shape) + " the shape " + shapeString(shape));
  auto result = std::make_shared<Tensor>(*tensor);
  if (shape.empty() || tensor->shape.empty() || shape[0] != tensor->shape[0])
    result->requests = nullptr; // the rows are no longer tokens
  result->shape = std::move(shape);
  env.set(op->getResult(0), TensorRef(std::move(result)));
  return {};
}

static std::vector<int64_t> shapeOf(mlir::Value value, Environment &env) {
  if (auto *array = std::get_if<Array>(&env.get(value)))
    return array->shape();
  return env.tensor(value)->shape;
}

static Status evaluateCollapse(tensor::CollapseShapeOp op, Environment &env) {
  std::vector<int64_t> source = shapeOf(op.getSrc(), env), shape;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    shape.push_back(1);
    for (int64_t dim : group)
      shape.back() *= source[dim];
  }
  return reshape(op, op.getSrc(), std::move(shape), env);
}

/// A mix of attributes and index values as numbers.
static std::vector<int64_t> readSizes(ArrayRef<OpFoldResult> sizes, Environment &env) {
  std::vector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(isa<Attribute>(size) ? cast<IntegerAttr>(cast<Attribute>(size)).getInt()
                                         : env.scalar(cast<mlir::Value>(size)).integer);
  return shape;
}

static Status evaluateEmpty(tensor::EmptyOp op, Environment &env) {
  std::vector<int64_t> shape = readSizes(op.getMixedSizes(), env);
  if (!elementCount(shape))
    return failAt(op, ErrorCode::BadInput,
                  "expects sizes of at least 0, got " + shapeString(shape));
  env.set(op.getResult(), TensorRef(std::make_shared<Tensor>(std::move(shape))));
  return {};
}

static Status evaluateDim(tensor::DimOp op, Environment &env) {
  std::vector<int64_t> shape = shapeOf(op.getSource(), env);
  int64_t index = env.scalar(op.getIndex()).integer;
  if (index < 0 || index >= static_cast<int64_t>(shape.size()))
    return failAt(op, ErrorCode::BadInput,
                  "expects a dimension below " + std::to_string(shape.size()) + ", got " +
                      std::to_string(index));
  env.set(op.getResult(), Scalar{0, shape[index]});
  return {};
}

/// One scalar op outside any region, or a constant.
static Status evaluateScalar(Operation *op, Environment &env) {
  Result<ScalarProgram> program = ScalarProgram::build(op);
  if (!program)
    return tl::unexpected(program.error());
  ScalarFrame frame = program->makeFrame();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!std::holds_alternative<Scalar>(env.get(operand)))
      return failAt(op, ErrorCode::Unsupported, "the oracle evaluates this op on scalars only");
    program->setInput(frame, i, env.scalar(operand));
  }
  program->run(frame);
  env.set(op->getResult(0), program->output(frame, 0));
  return {};
}

static Status evaluateConstant(arith::ConstantOp op, Environment &env) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return evaluateScalar(op, env);
  auto tensor = std::make_shared<Tensor>(dense.getType().getShape().vec());
  bool real = isa<FloatType>(dense.getElementType());
  for (auto [i, element] : llvm::enumerate(dense.getValues<Attribute>()))
    tensor->values[i] =
        real ? cast<FloatAttr>(element).getValueAsDouble()
             : static_cast<double>(cast<IntegerAttr>(element).getValue().getSExtValue());
  env.set(op.getResult(), TensorRef(std::move(tensor)));
  return {};
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Status oracle::evaluateOperation(Operation *op, Environment &env, unsigned threads) {
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](attn::CacheOp op) { return evaluateCache(op, env); })
      .Case([&](attn::AppendOp op) { return evaluateAppend(op, env); })
      .Case([&](attn::SharedPrefixOp op) { return evaluateSharedPrefix(op, env); })
      .Case([&](attn::CutPrefixOp op) { return evaluateCutPrefix(op, env); })
      .Case([&](attn::AttentionOp op) { return evaluateAttention(op, env, threads); })
      .Case([&](attn::MergeOp op) { return evaluateMerge(op, env); })
      .Case([&](attn::RopeOp op) { return evaluateRope(op, env); })
      .Case([&](attn::RmsNormOp op) { return evaluateRmsNorm(op, env); })
      .Case([&](linalg::GenericOp op) { return evaluateGeneric(op, env); })
      .Case([&](tensor::CollapseShapeOp op) { return evaluateCollapse(op, env); })
      .Case([&](tensor::ExpandShapeOp op) {
        return reshape(op, op.getSrc(), readSizes(op.getMixedOutputShape(), env), env);
      })
      .Case([&](tensor::EmptyOp op) { return evaluateEmpty(op, env); })
      .Case([&](tensor::DimOp op) { return evaluateDim(op, env); })
      .Case([&](arith::ConstantOp op) { return evaluateConstant(op, env); })
      .Default([&](Operation *op) { return evaluateScalar(op, env); });
}

static Status evaluateBlock(Block &block, Environment &env, unsigned threads) {
  for (Operation &op : block.without_terminator())
    if (Status status = evaluateOperation(&op, env, threads); !status)
      return status;
  return {};
}

Result<TensorRef> oracle::evaluatePrologue(Region &region, TensorRef input,
                                           mlir::ValueRange captures, Environment &env) {
  if (region.empty())
    return input;
  Block &block = region.front();
  Environment inner;
  inner.set(block.getArgument(0), std::move(input));
  for (auto [argument, capture] : llvm::zip_equal(block.getArguments().drop_front(), captures))
    inner.set(argument, env.get(capture));
  if (Status status = evaluateBlock(block, inner, /*threads=*/1); !status)
    return tl::unexpected(status.error());
  return inner.tensor(block.getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether a value is pages of some cache, perhaps through reshapes.
static bool isPages(mlir::Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    if (auto cache = dyn_cast<attn::CacheOp>(use.getOwner()))
      return use.get() == cache.getKPages() || use.get() == cache.getVPages();
    return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(use.getOwner()) &&
           isPages(use.getOwner()->getResult(0));
  });
}

/// Copies the pages, since an append writes them.
static Result<Argument> ownPages(BlockArgument value, const Argument &argument) {
  if (auto *arrays = std::get_if<CacheArrays>(&argument)) {
    Result<Array> kPages = arrays->kPages.clone(), vPages = arrays->vPages.clone();
    if (!kPages || !vPages)
      return tl::unexpected((kPages ? vPages : kPages).error());
    return Argument(
        CacheArrays{*kPages, *vPages, arrays->table, arrays->lens, arrays->kScale, arrays->vScale});
  }
  if (!isPages(value))
    return argument;
  Result<Array> pages = std::get<Array>(argument).clone();
  if (!pages)
    return tl::unexpected(pages.error());
  return Argument(*pages);
}

/// Pages of a cache argument with their scales.
static Result<Pages> bindPages(func::FuncOp function, BlockArgument value, const Array &pages,
                               const std::optional<Array> &scale) {
  auto type = cast<attn::PagedKVType>(value.getType());
  if (scale.has_value() != type.isScaled() || (scale && scale->size() != type.getHeads()))
    return failAt(function, ErrorCode::InvalidArgument,
                  "argument " + std::to_string(value.getArgNumber()) + " expects " +
                      (type.isScaled() ? "scales of " + std::to_string(type.getHeads()) + " heads"
                                       : "no scales"));
  Pages bound{pages, std::vector<double>(type.getHeads(), 1.0)};
  if (scale) {
    bound.scales.clear();
    scale->forEach([&](int64_t at) { bound.scales.push_back(scale->loadAt(at)); });
  }
  return bound;
}

static Status bindCache(func::FuncOp function, BlockArgument value, const CacheArrays &arrays,
                        Environment &env) {
  std::vector<int64_t> lens;
  arrays.lens.forEach([&](int64_t at) { lens.push_back(arrays.lens.loadIntegerAt(at)); });
  if (arrays.table.rank() != 2 || arrays.table.dim(0) != static_cast<int64_t>(lens.size()))
    return failAt(function, ErrorCode::BadInput,
                  "argument " + std::to_string(value.getArgNumber()) +
                      " expects a page table with a row for each of " +
                      std::to_string(lens.size()) + " lengths, got " +
                      shapeString(arrays.table.shape()));
  Result<Pages> k = bindPages(function, value, arrays.kPages, arrays.kScale),
                v = bindPages(function, value, arrays.vPages, arrays.vScale);
  if (!k || !v)
    return tl::unexpected((k ? v : k).error());
  env.set(value, CacheRef(std::make_shared<Cache>(
                     Cache{*k, *v, arrays.table, std::nullopt, std::move(lens)})));
  return {};
}

static Status bindArgument(func::FuncOp function, BlockArgument value, const Argument &argument,
                           Environment &env) {
  bool wantsCache = isa<attn::PagedKVType>(value.getType());
  if (wantsCache != std::holds_alternative<CacheArrays>(argument))
    return failAt(function, ErrorCode::InvalidArgument,
                  "argument " + std::to_string(value.getArgNumber()) + " expects " +
                      (wantsCache ? "the arrays of a cache" : "one array"));
  if (wantsCache)
    return bindCache(function, value, std::get<CacheArrays>(argument), env);
  const Array &array = std::get<Array>(argument);
  if (isa<RankedTensorType>(value.getType())) {
    env.set(value, array);
  } else {
    if (array.size() != 1)
      return failAt(function, ErrorCode::InvalidArgument,
                    "argument " + std::to_string(value.getArgNumber()) +
                        " expects one element, got " + shapeString(array.shape()));
    env.set(value,
            Scalar{array.loadAt(0), pagefold::isFloat(array.dtype()) ? 0 : array.loadIntegerAt(0)});
  }
  return {};
}

static DType storageOf(Type element) {
  if (isa<Float8E4M3FNType>(element))
    return DType::F8E4M3;
  if (element.isF16())
    return DType::F16;
  if (element.isBF16())
    return DType::BF16;
  if (element.isF64())
    return DType::F64;
  if (element.isInteger(8))
    return DType::I8;
  if (element.isInteger(64))
    return DType::I64;
  return element.isInteger(32) ? DType::I32 : DType::F32;
}

static Result<Output> makeOutput(mlir::Value value, Environment &env) {
  TensorRef tensor = env.tensor(value);
  Result<Array> values = Array::make(DType::F64, tensor->shape);
  if (!values)
    return tl::unexpected(values.error());
  for (size_t i = 0; i < tensor->values.size(); ++i)
    values->storeAt(static_cast<int64_t>(i), tensor->values[i]);
  return Output{*values, storageOf(getElementTypeOrSelf(value.getType())), tensor->isLse,
                tensor->requests};
}

Result<Evaluation> oracle::evaluate(func::FuncOp function, std::span<const Argument> arguments,
                                    unsigned threads) {
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return failAt(function, ErrorCode::Unsupported, "the oracle evaluates functions of one block");
  if (arguments.size() != function.getNumArguments())
    return failAt(function, ErrorCode::InvalidArgument,
                  "expects " + std::to_string(function.getNumArguments()) + " arguments, got " +
                      std::to_string(arguments.size()));
  Environment env;
  Evaluation evaluation;
  for (auto [value, argument] : llvm::zip_equal(function.getArguments(), arguments)) {
    Result<Argument> own = ownPages(value, argument);
    if (!own)
      return tl::unexpected(own.error());
    if (Status status = bindArgument(function, value, *own, env); !status)
      return tl::unexpected(status.error());
    evaluation.arguments.push_back(std::move(*own));
  }
  Block &block = function.getBody().front();
  if (Status status = evaluateBlock(block, env, threads); !status)
    return tl::unexpected(status.error());
  for (mlir::Value result : block.getTerminator()->getOperands()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    Result<Output> output = makeOutput(result, env);
    if (!output)
      return tl::unexpected(output.error());
    evaluation.outputs.push_back(std::move(*output));
  }
  return evaluation;
}
