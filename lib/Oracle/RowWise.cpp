//===- RowWise.cpp - attn.rope, attn.rms_norm, attn.merge -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "Operations.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;

//===----------------------------------------------------------------------===//
// attn.rope
//===----------------------------------------------------------------------===//

/// The position of every token, with a message for those past the table.
static Result<std::vector<int64_t>> ropePositions(attn::RopeOp op, int64_t tokens, int64_t limit,
                                                  Environment &env) {
  std::vector<int64_t> positions, rows;
  if (op.getPositions()) {
    positions = toIntegers(*env.tensor(op.getPositions()));
    if (static_cast<int64_t>(positions.size()) != tokens)
      return failAt(op, ErrorCode::BadInput,
                    "expects " + std::to_string(tokens) + " positions, got " +
                        std::to_string(positions.size()));
  } else {
    CacheRef cache = env.cache(op.getCache());
    Result<std::vector<int64_t>> read = readRows(op, *env.tensor(op.getRows()), tokens, *cache);
    if (!read)
      return read;
    rows = std::move(*read);
    positions = tokenPositions(rows, cache->lens, tokens);
  }
  for (int64_t token = 0; token < tokens; ++token)
    if (positions[token] >= limit) {
      int64_t r = requestOf(rows, token);
      return failAt(op, ErrorCode::BadInput,
                    (r < 0 ? "token " + std::to_string(token) : "request " + std::to_string(r)) +
                        " expects positions below the table's " + std::to_string(limit) +
                        " rows, got " + std::to_string(positions[token]));
    }
  return positions;
}

/// Turns the pairs of one row by the angles of a position.
static void rotate(attn::Pairing pairing, double *row, const double *cos, const double *sin,
                   int64_t pairs) {
  for (int64_t j = 0; j < pairs; ++j) {
    bool half = pairing == attn::Pairing::HalfSplit;
    double &a = row[half ? j : 2 * j], &b = row[half ? j + pairs : 2 * j + 1];
    double turned = a * cos[j] - b * sin[j];
    b = b * cos[j] + a * sin[j];
    a = turned;
  }
}

Status oracle::evaluateRope(attn::RopeOp op, Environment &env) {
  TensorRef input = env.tensor(op.getInput()), cos = env.tensor(op.getCos()),
            sin = env.tensor(op.getSin());
  if (cos->shape != sin->shape)
    return failAt(op, ErrorCode::BadInput,
                  "expects cos and sin of one shape, got " + shapeString(cos->shape) + " and " +
                      shapeString(sin->shape));
  int64_t tokens = input->dim(0), pairs = cos->dim(1);
  Result<std::vector<int64_t>> positions = ropePositions(op, tokens, cos->dim(0), env);
  if (!positions)
    return tl::unexpected(positions.error());
  auto result = std::make_shared<Tensor>(*input);
  for (int64_t token = 0; token < tokens; ++token) {
    int64_t position = (*positions)[token];
    for (int64_t head = 0; position >= 0 && head < input->dim(1); ++head)
      rotate(op.getPairing(), result->row(token, head), &cos->values[position * pairs],
             &sin->values[position * pairs], pairs);
  }
  env.set(op.getResult(), TensorRef(std::move(result)));
  return {};
}

//===----------------------------------------------------------------------===//
// attn.rms_norm
//===----------------------------------------------------------------------===//

Status oracle::evaluateRmsNorm(attn::RmsNormOp op, Environment &env) {
  TensorRef weight = env.tensor(op.getWeight());
  auto result = std::make_shared<Tensor>(*env.tensor(op.getInput()));
  int64_t dim = result->dim(2);
  double eps = op.getEps().convertToDouble();
  for (int64_t token = 0; token < result->dim(0); ++token)
    for (int64_t head = 0; head < result->dim(1); ++head) {
      double *row = result->row(token, head), squares = 0;
      for (int64_t d = 0; d < dim; ++d)
        squares += row[d] * row[d];
      double scale = 1 / std::sqrt(squares / static_cast<double>(dim) + eps);
      for (int64_t d = 0; d < dim; ++d)
        row[d] = row[d] * scale * weight->values[d];
    }
  env.set(op.getResult(), TensorRef(std::move(result)));
  return {};
}

//===----------------------------------------------------------------------===//
// attn.merge
//===----------------------------------------------------------------------===//

/// One (token, head): a state with lse = -inf is the identity, its row is not read.
static void mergeRow(const double *a, double lseA, const double *b, double lseB, double *out,
                     double &lse, int64_t dim) {
  lse = lseA == -INFINITY ? lseB : lseA;
  if (lseA == -INFINITY || lseB == -INFINITY) {
    const double *only = lseA == -INFINITY ? b : a;
    std::fill_n(out, dim, 0.0);
    if (lse != -INFINITY)
      std::copy_n(only, dim, out);
    return;
  }
  double greatest = std::fmax(lseA, lseB), wa = std::exp(lseA - greatest),
         wb = std::exp(lseB - greatest);
  for (int64_t d = 0; d < dim; ++d)
    out[d] = (wa * a[d] + wb * b[d]) / (wa + wb);
  lse = greatest + std::log(wa + wb);
}

/// The two states' requests as one: all keys, and the greater scores.
static std::shared_ptr<const Requests> joinRequests(const Tensor &a, const Tensor &b) {
  if (!a.requests || !b.requests || a.requests->rows != b.requests->rows)
    return a.requests ? a.requests : b.requests;
  auto joined = std::make_shared<Requests>(*a.requests);
  for (size_t r = 0; r < joined->kvLens.size(); ++r) {
    joined->kvLens[r] += b.requests->kvLens[r];
    joined->maxScores[r] = std::max(joined->maxScores[r], b.requests->maxScores[r]);
  }
  return joined;
}

Status oracle::evaluateMerge(attn::MergeOp op, Environment &env) {
  TensorRef a = env.tensor(op.getOutA()), b = env.tensor(op.getOutB());
  TensorRef lseA = env.tensor(op.getLseA()), lseB = env.tensor(op.getLseB());
  if (a->shape != b->shape || lseA->shape != lseB->shape || lseA->dim(0) != a->dim(0))
    return failAt(op, ErrorCode::BadInput,
                  "expects two states of one shape, got " + shapeString(a->shape) + " and " +
                      shapeString(b->shape));
  auto out = std::make_shared<Tensor>(a->shape), lse = std::make_shared<Tensor>(lseA->shape);
  int64_t dim = a->dim(2);
  for (size_t i = 0; i < lse->values.size(); ++i)
    mergeRow(&a->values[i * dim], lseA->values[i], &b->values[i * dim], lseB->values[i],
             &out->values[i * dim], lse->values[i], dim);
  lse->isLse = true;
  out->requests = lse->requests = joinRequests(*a, *b);
  env.set(op.getResult(), TensorRef(std::move(out)));
  env.set(op.getLse(), TensorRef(std::move(lse)));
  return {};
}
