//===- Elementwise.cpp - linalg.generic with parallel loops ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operations.h"
#include "ScalarProgram.h"
#include "pagefold/Oracle/MaskEvaluator.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;

namespace {
/// One operand of the op: its tensor and how the loops index it.
struct Access {
  TensorRef tensor;
  AffineMap map;
  std::vector<AffineEvaluator> indices;

  Access(TensorRef held, AffineMap indexing)
      : tensor(std::move(held)), map(indexing),
        indices(map.getResults().begin(), map.getResults().end()) {}

  /// The row-major offset at these loop indices, or -1 outside the tensor.
  int64_t offset(ArrayRef<int64_t> loops) const {
    int64_t at = 0;
    for (auto [evaluator, dim] : llvm::zip_equal(indices, tensor->shape)) {
      int64_t index = evaluator.evaluate(loops, {});
      if (index < 0 || index >= dim)
        return -1;
      at = at * dim + index;
    }
    return at;
  }
};
} // namespace

/// A loop runs over the dimension that some operand indexes by it alone; all such have to agree.
static Result<SmallVector<int64_t>> loopBounds(linalg::GenericOp op, ArrayRef<Access> accesses) {
  SmallVector<int64_t> bounds(op.getNumLoops(), -1);
  for (const Access &access : accesses)
    for (auto [expr, dim] : llvm::zip_equal(access.map.getResults(), access.tensor->shape)) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      int64_t &bound = bounds[loop.getPosition()];
      if (bound >= 0 && bound != dim)
        return failAt(op, ErrorCode::BadInput,
                      "expects operands that agree on loop " + std::to_string(loop.getPosition()) +
                          ", got extents " + std::to_string(bound) + " and " + std::to_string(dim));
      bound = dim;
    }
  if (llvm::is_contained(bounds, -1))
    return failAt(op, ErrorCode::Unsupported,
                  "the oracle wants every loop to index a dimension by itself");
  return bounds;
}

static bool nextIndex(MutableArrayRef<int64_t> index, ArrayRef<int64_t> bounds) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < bounds[i])
      return true;
    index[i] = 0;
  }
  return false;
}

/// Runs the body at one point of the loops.
static Status runBody(linalg::GenericOp op, const ScalarProgram &program, ScalarFrame &frame,
                      ArrayRef<Access> accesses, ArrayRef<std::shared_ptr<Tensor>> results,
                      ArrayRef<int64_t> loops) {
  SmallVector<int64_t> offsets;
  for (auto [i, access] : llvm::enumerate(accesses)) {
    offsets.push_back(access.offset(loops));
    if (offsets.back() < 0)
      return failAt(op, ErrorCode::BadInput,
                    "operand " + std::to_string(i) + " is indexed outside its shape " +
                        shapeString(access.tensor->shape));
    double x = access.tensor->values[offsets.back()];
    program.setInput(frame, i, {x, std::isfinite(x) ? static_cast<int64_t>(x) : 0});
  }
  program.run(frame);
  for (auto [i, result] : llvm::enumerate(results)) {
    Scalar scalar = program.output(frame, i);
    bool real = isa<FloatType>(getElementTypeOrSelf(op.getResult(i).getType()));
    result->values[offsets[op.getNumDpsInputs() + i]] =
        real ? scalar.real : static_cast<double>(scalar.integer);
  }
  return {};
}

/// Elementwise ops keep their rows with their requests.
static void inheritRequests(ArrayRef<Access> accesses, Tensor &result) {
  for (const Access &access : accesses)
    if (access.tensor->requests && !result.shape.empty() &&
        access.tensor->dim(0) == result.dim(0) && !result.requests)
      result.requests = access.tensor->requests;
}

Status oracle::evaluateGeneric(linalg::GenericOp op, Environment &env) {
  if (op.getNumParallelLoops() != op.getNumLoops())
    return failAt(op, ErrorCode::Unsupported, "the oracle evaluates parallel loops only");
  Result<ScalarProgram> program = ScalarProgram::build(*op.getBody());
  if (!program)
    return tl::unexpected(program.error());
  SmallVector<Access> accesses;
  for (OpOperand &operand : op->getOpOperands())
    accesses.emplace_back(env.tensor(operand.get()), op.getMatchingIndexingMap(&operand));
  Result<SmallVector<int64_t>> bounds = loopBounds(op, accesses);
  if (!bounds)
    return tl::unexpected(bounds.error());
  SmallVector<std::shared_ptr<Tensor>> results;
  for (const Access &access : ArrayRef(accesses).drop_front(op.getNumDpsInputs())) {
    results.push_back(std::make_shared<Tensor>(*access.tensor));
    inheritRequests(accesses, *results.back());
  }
  ScalarFrame frame = program->makeFrame();
  SmallVector<int64_t> loops(bounds->size(), 0);
  bool any = llvm::all_of(*bounds, [](int64_t bound) { return bound > 0; });
  for (bool more = any; more; more = nextIndex(loops, *bounds))
    if (Status status = runBody(op, *program, frame, accesses, results, loops); !status)
      return status;
  for (auto [value, result] : llvm::zip_equal(op.getResults(), results))
    env.set(value, TensorRef(result));
  return {};
}
