//===- Attention.cpp - attn.attention -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row by row: the visible keys, their scores, the softmax over just these, the weighted sum of just
// their values. What a row does not see is never read, so that no NaN of it can matter.
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "Operations.h"
#include "ScalarProgram.h"
#include "pagefold/Oracle/MaskEvaluator.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;

namespace {
/// One request of the batch.
struct Request {
  int64_t begin, qLen; ///< its rows
  int64_t kvLen;
  std::vector<int64_t> pages; ///< paged keys
  int64_t keyBegin = 0;       ///< dense keys
  MaskEvaluator mask;
  int64_t bitmapStart = 0;
};

/// K and V rows of one KV head of a request, [kv_len, dim].
struct KeysAndValues {
  std::vector<double> k, v;
};

/// A thread's view of a scalar region.
struct RegionRun {
  const ScalarProgram &program;
  ScalarFrame frame;
};

class AttentionEvaluator {
public:
  AttentionEvaluator(attn::AttentionOp op, Environment &env) : op_(op), env_(env) {}
  Status run(unsigned threads);

private:
  Status readInputs();
  Status readBatch();
  Result<Request> readRequest(int64_t r);
  Result<std::vector<int64_t>> readSymbols(int64_t r, int64_t qLen, int64_t kvLen);
  Result<int64_t> readBitmapStart(int64_t r, int64_t qLen, int64_t kvLen);
  Status buildRegions();

  KeysAndValues gather(const Request &request, int64_t kvHead) const;
  std::vector<int64_t> visibleKeys(const Request &request, int64_t q) const;
  /// All rows of a request in the heads of one KV head.
  void runTask(int64_t r, int64_t kvHead);
  void runRow(int64_t r, int64_t q, int64_t head, const std::vector<int64_t> &keys,
              const KeysAndValues &kv, RegionRun *score);
  void finishRow(int64_t r, int64_t q, int64_t head, RegionRun *epilogue);
  std::optional<RegionRun> startRegion(const std::optional<ScalarProgram> &program,
                                       mlir::ValueRange captures, unsigned firstCapture) const;
  void setPlace(RegionRun &run, int64_t r, int64_t q) const;

  attn::AttentionOp op_;
  Environment &env_;
  TensorRef query_, key_, value_, sinks_, bitmap_;
  std::vector<TensorRef> rowValues_; ///< [tokens] each
  CacheRef cache_;
  std::vector<int64_t> rows_, kvRows_;
  std::vector<Request> requests_;
  std::optional<ScalarProgram> score_, epilogue_;
  std::shared_ptr<Tensor> out_, lse_;
  std::vector<double> maxScores_; ///< [batch * KV heads]
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading the operands
//===----------------------------------------------------------------------===//

Status AttentionEvaluator::readInputs() {
  Result<TensorRef> query = evaluatePrologue(op_.getQueryPrologue(), env_.tensor(op_.getQuery()),
                                             op_.getQueryCaptures(), env_);
  if (!query)
    return tl::unexpected(query.error());
  query_ = *query;
  if (op_.getCache()) {
    cache_ = env_.cache(op_.getCache());
  } else {
    key_ = env_.tensor(op_.getKey());
    value_ = env_.tensor(op_.getValue());
    if (key_->dim(0) != value_->dim(0))
      return failAt(op_, ErrorCode::BadInput,
                    "expects as many value rows as key rows, got " +
                        std::to_string(value_->dim(0)) + " and " + std::to_string(key_->dim(0)));
  }
  for (mlir::Value operand : op_.getRowValues()) {
    rowValues_.push_back(env_.tensor(operand));
    if (rowValues_.back()->dim(0) != query_->dim(0))
      return failAt(op_, ErrorCode::BadInput,
                    "expects row values for " + std::to_string(query_->dim(0)) + " tokens, got " +
                        std::to_string(rowValues_.back()->dim(0)));
  }
  if (op_.getSinks())
    sinks_ = env_.tensor(op_.getSinks());
  if (op_.getBitmap())
    bitmap_ = env_.tensor(op_.getBitmap());
  return {};
}

Status AttentionEvaluator::readBatch() {
  TensorRef rows = env_.tensor(op_.getRows());
  Result<std::vector<int64_t>> read = cache_ ? readRows(op_, *rows, query_->dim(0), *cache_)
                                             : readOffsets(op_, *rows, query_->dim(0), "rows");
  if (!read)
    return tl::unexpected(read.error());
  rows_ = std::move(*read);
  if (!cache_) {
    Result<std::vector<int64_t>> kvRows =
        readOffsets(op_, *env_.tensor(op_.getKvRows()), key_->dim(0), "kv_rows");
    if (!kvRows)
      return tl::unexpected(kvRows.error());
    kvRows_ = std::move(*kvRows);
    if (kvRows_.size() != rows_.size())
      return failAt(op_, ErrorCode::BadInput,
                    "expects as many kv_rows as rows, got " + std::to_string(kvRows_.size()) +
                        " and " + std::to_string(rows_.size()));
  }
  for (size_t r = 0; r + 1 < rows_.size(); ++r) {
    Result<Request> request = readRequest(static_cast<int64_t>(r));
    if (!request)
      return tl::unexpected(request.error());
    requests_.push_back(std::move(*request));
  }
  return {};
}

Result<Request> AttentionEvaluator::readRequest(int64_t r) {
  int64_t qLen = rows_[r + 1] - rows_[r];
  int64_t kvLen = cache_ ? cache_->lens[r] : kvRows_[r + 1] - kvRows_[r];
  Result<std::vector<int64_t>> symbols = readSymbols(r, qLen, kvLen);
  if (!symbols)
    return tl::unexpected(symbols.error());
  Request request{rows_[r], qLen, kvLen,
                  {},       0,    MaskEvaluator(op_.getMask().getSets(), std::move(*symbols))};
  if (qLen == 0) // nothing of it is read
    return request;
  if (cache_) {
    Result<std::vector<int64_t>> pages = readPages(op_, *cache_, r);
    if (!pages)
      return tl::unexpected(pages.error());
    request.pages = std::move(*pages);
  } else {
    request.keyBegin = kvRows_[r];
  }
  if (bitmap_) {
    Result<int64_t> start = readBitmapStart(r, qLen, kvLen);
    if (!start)
      return tl::unexpected(start.error());
    request.bitmapStart = *start;
  }
  return request;
}

Result<std::vector<int64_t>> AttentionEvaluator::readSymbols(int64_t r, int64_t qLen,
                                                             int64_t kvLen) {
  std::vector<int64_t> symbols{qLen, kvLen};
  for (auto [i, operand] : llvm::enumerate(op_.getSymbols())) {
    TensorRef bound = env_.tensor(operand);
    if (!bound->shape.empty() && bound->dim(0) <= r)
      return failAt(op_, ErrorCode::BadInput,
                    "expects a value of symbol " + op_.getMask().getSymbols()[i].str() +
                        " for each request, got " + std::to_string(bound->dim(0)));
    int64_t value = static_cast<int64_t>(bound->values[bound->shape.empty() ? 0 : r]);
    if (value < op_.getMask().getLowerBounds()[i])
      return failAt(op_, ErrorCode::BadInput,
                    "request " + std::to_string(r) + " expects " +
                        op_.getMask().getSymbols()[i].str() + " of at least " +
                        std::to_string(op_.getMask().getLowerBounds()[i]) +
                        ", as the mask declares, got " + std::to_string(value));
    symbols.push_back(value);
  }
  return symbols;
}

Result<int64_t> AttentionEvaluator::readBitmapStart(int64_t r, int64_t qLen, int64_t kvLen) {
  TensorRef starts = env_.tensor(op_.getBitmapStarts());
  int64_t bits = static_cast<int64_t>(bitmap_->values.size()) * 8;
  int64_t start = r < starts->dim(0) ? static_cast<int64_t>(starts->values[r]) : -1;
  if (start < 0 || start > bits || qLen * kvLen > bits - start)
    return failAt(op_, ErrorCode::BadInput,
                  "request " + std::to_string(r) + " needs " + std::to_string(qLen * kvLen) +
                      " mask bits from bit " + std::to_string(start) + ", got a bitmap of " +
                      std::to_string(bits));
  return start;
}

static Result<std::optional<ScalarProgram>> buildRegion(mlir::Region &region) {
  if (region.empty())
    return std::optional<ScalarProgram>();
  Result<ScalarProgram> program = ScalarProgram::build(region.front());
  if (!program)
    return tl::unexpected(program.error());
  return std::optional(std::move(*program));
}

Status AttentionEvaluator::buildRegions() {
  Result<std::optional<ScalarProgram>> score = buildRegion(op_.getScore()),
                                       epilogue = buildRegion(op_.getEpilogue());
  if (!score || !epilogue)
    return tl::unexpected((score ? epilogue : score).error());
  score_ = std::move(*score);
  epilogue_ = std::move(*epilogue);
  // Captured tensors are widened here, since the tasks only read the environment.
  for (mlir::ValueRange captures :
       {mlir::ValueRange(op_.getScoreCaptures()), mlir::ValueRange(op_.getEpilogueCaptures())})
    for (mlir::Value capture : captures)
      if (llvm::isa<mlir::ShapedType>(capture.getType()))
        env_.tensor(capture);
  return {};
}

//===----------------------------------------------------------------------===//
// Keys, values and what is visible of them
//===----------------------------------------------------------------------===//

/// Appends one row of pages, widened and times its scale.
static void gatherRow(const Pages &pages, int64_t page, int64_t slot, int64_t head,
                      std::vector<double> &to) {
  const int64_t index[] = {page, slot, head, 0};
  int64_t at = pages.array.offset(index), stride = pages.array.strides()[3];
  for (int64_t d = 0; d < pages.array.dim(3); ++d)
    to.push_back(pages.array.loadAt(at + d * stride) * pages.scales[head]);
}

KeysAndValues AttentionEvaluator::gather(const Request &request, int64_t kvHead) const {
  KeysAndValues kv;
  for (int64_t k = 0; k < request.kvLen; ++k) {
    if (cache_) {
      int64_t page = request.pages[k / cache_->pageSize()], slot = k % cache_->pageSize();
      gatherRow(cache_->k, page, slot, kvHead, kv.k);
      gatherRow(cache_->v, page, slot, kvHead, kv.v);
    } else {
      const double *key = key_->row(request.keyBegin + k, kvHead),
                   *value = value_->row(request.keyBegin + k, kvHead);
      kv.k.insert(kv.k.end(), key, key + key_->dim(2));
      kv.v.insert(kv.v.end(), value, value + value_->dim(2));
    }
  }
  return kv;
}

std::vector<int64_t> AttentionEvaluator::visibleKeys(const Request &request, int64_t q) const {
  std::vector<int64_t> keys, dims{q};
  for (const TensorRef &value : rowValues_)
    dims.push_back(static_cast<int64_t>(value->values[request.begin + q]));
  dims.push_back(0);
  for (int64_t k = 0; k < request.kvLen; ++k) {
    dims.back() = k;
    if (!request.mask.visible(dims))
      continue;
    if (bitmap_) {
      int64_t bit = request.bitmapStart + q * request.kvLen + k;
      auto byte = static_cast<uint8_t>(static_cast<int64_t>(bitmap_->values[bit / 8]));
      if (!((byte >> (bit % 8)) & 1))
        continue;
    }
    keys.push_back(k);
  }
  return keys;
}

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// Eight sums side by side, which the compiler turns into vectors; head dims are multiples of 8.
static double dot(const double *a, const double *b, int64_t dim) {
  double sums[8] = {};
  for (int64_t d = 0; d < dim; d += 8)
    for (int64_t i = 0; i < 8; ++i)
      sums[i] += a[d + i] * b[d + i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// A NaN stays, where fmax would drop it.
static double maxWithNaN(double a, double b) { return std::isnan(a) || a > b ? a : b; }

static void noteScore(double score, double &greatest) {
  if (std::isfinite(score))
    greatest = std::max(greatest, std::fabs(score));
}

void AttentionEvaluator::runRow(int64_t r, int64_t q, int64_t head,
                                const std::vector<int64_t> &keys, const KeysAndValues &kv,
                                RegionRun *score) {
  int64_t kDim = query_->dim(2), vDim = out_->dim(2), kvHeads = op_.getKVHeads();
  int64_t token = requests_[r].begin + q, kvHead = head / op_.getGroup();
  double scale = op_.getScale().convertToDouble(), sink = sinks_ ? sinks_->values[head] : -INFINITY;
  double &maxScore = maxScores_[r * kvHeads + kvHead];
  std::vector<double> scores(keys.size());
  double m = sink;
  for (auto [i, k] : llvm::enumerate(keys)) {
    double s = scale * dot(query_->row(token, head), &kv.k[k * kDim], kDim);
    noteScore(s, maxScore);
    if (score) {
      score->program.setReal(score->frame, 0, s);
      score->program.setInteger(score->frame, 2, k);
      score->program.setInteger(score->frame, 3, head);
      score->program.run(score->frame);
      s = score->program.output(score->frame, 0).real;
      noteScore(s, maxScore);
    }
    scores[i] = s;
    m = maxWithNaN(m, s);
  }
  double &lse = lse_->values[token * lse_->dim(1) + head];
  if (m == -INFINITY) // nothing is visible: out and lse stay 0 and -inf
    return;
  double *out = out_->row(token, head), l = std::exp(sink - m);
  for (auto [i, k] : llvm::enumerate(keys)) {
    if (scores[i] == -INFINITY) // removes its key, whatever its value holds
      continue;
    double weight = std::exp(scores[i] - m);
    l += weight;
    for (int64_t d = 0; d < vDim; ++d)
      out[d] += weight * kv.v[k * vDim + d];
  }
  for (int64_t d = 0; d < vDim; ++d)
    out[d] /= l;
  lse = m + std::log(l);
}

void AttentionEvaluator::finishRow(int64_t r, int64_t q, int64_t head, RegionRun *epilogue) {
  double *out = out_->row(requests_[r].begin + q, head);
  for (int64_t d = 0; d < out_->dim(2); ++d) {
    epilogue->program.setReal(epilogue->frame, 0, out[d]);
    epilogue->program.setInteger(epilogue->frame, 1, q);
    epilogue->program.setInteger(epilogue->frame, 2, head);
    epilogue->program.setInteger(epilogue->frame, 3, d);
    epilogue->program.run(epilogue->frame);
    out[d] = epilogue->program.output(epilogue->frame, 0).real;
  }
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

std::optional<RegionRun>
AttentionEvaluator::startRegion(const std::optional<ScalarProgram> &program,
                                mlir::ValueRange captures, unsigned firstCapture) const {
  if (!program)
    return std::nullopt;
  RegionRun run{*program, program->makeFrame()};
  for (auto [i, capture] : llvm::enumerate(captures)) {
    const Value &held = env_.get(capture);
    if (auto *table = std::get_if<TensorRef>(&held))
      program->setTable(run.frame, firstCapture + i, *table);
    else if (auto *scalar = std::get_if<Scalar>(&held))
      program->setInput(run.frame, firstCapture + i, *scalar);
  }
  return run;
}

/// attn.position and attn.token of row q.
void AttentionEvaluator::setPlace(RegionRun &run, int64_t r, int64_t q) const {
  run.frame.position = q + requests_[r].kvLen - requests_[r].qLen;
  run.frame.token = requests_[r].begin + q;
}

void AttentionEvaluator::runTask(int64_t r, int64_t kvHead) {
  const Request &request = requests_[r];
  if (request.qLen == 0)
    return;
  KeysAndValues kv = gather(request, kvHead);
  std::optional<RegionRun> score = startRegion(score_, op_.getScoreCaptures(), 5);
  std::optional<RegionRun> epilogue = startRegion(epilogue_, op_.getEpilogueCaptures(), 4);
  int64_t group = op_.getGroup();
  for (int64_t q = 0; q < request.qLen; ++q) {
    std::vector<int64_t> keys = visibleKeys(request, q);
    if (score) {
      setPlace(*score, r, q);
      score->program.setInteger(score->frame, 1, q);
      score->program.setInteger(score->frame, 4, r);
    }
    if (epilogue)
      setPlace(*epilogue, r, q);
    for (int64_t head = kvHead * group; head < (kvHead + 1) * group; ++head) {
      runRow(r, q, head, keys, kv, score ? &*score : nullptr);
      if (epilogue)
        finishRow(r, q, head, &*epilogue);
    }
  }
}

static DType dtypeOf(mlir::Type type) {
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return DType::F8E4M3;
  return type.isF16() ? DType::F16 : type.isBF16() ? DType::BF16 : DType::F32;
}

Status AttentionEvaluator::run(unsigned threads) {
  for (auto step : {&AttentionEvaluator::readInputs, &AttentionEvaluator::readBatch,
                    &AttentionEvaluator::buildRegions})
    if (Status status = (this->*step)(); !status)
      return status;
  int64_t heads = op_.getQueryHeads(), kvHeads = op_.getKVHeads(),
          batch = static_cast<int64_t>(requests_.size());
  out_ = std::make_shared<Tensor>(std::vector<int64_t>{query_->dim(0), heads, op_.getVDim()});
  lse_ = std::make_shared<Tensor>(std::vector<int64_t>{query_->dim(0), heads}, -INFINITY);
  maxScores_.assign(batch * kvHeads, 0);
  parallelFor(batch * kvHeads, threads,
              [&](int64_t task) { runTask(task / kvHeads, task % kvHeads); });

  auto shared = std::make_shared<Requests>();
  shared->rows = rows_;
  shared->precision = dtypeOf(op_.getKVElementType());
  for (int64_t r = 0; r < batch; ++r) {
    shared->kvLens.push_back(requests_[r].kvLen);
    shared->maxScores.push_back(*std::max_element(maxScores_.begin() + r * kvHeads,
                                                  maxScores_.begin() + (r + 1) * kvHeads));
  }
  out_->requests = lse_->requests = shared;
  lse_->isLse = true;
  env_.set(op_.getResult(), TensorRef(out_));
  if (op_.getLse())
    env_.set(op_.getLse(), TensorRef(lse_));
  return {};
}

Status oracle::evaluateAttention(attn::AttentionOp op, Environment &env, unsigned threads) {
  return AttentionEvaluator(op, env).run(threads);
}
