//===- LaunchWork.cpp - what the kernels of a launch have to do -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchWork.h"

#include "WorkProgram.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

using namespace pagefold::runtime;

namespace {
using Numbers = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Integers of the arguments
//===----------------------------------------------------------------------===//

class ArgumentReader {
public:
  ArgumentReader(const FunctionPlan &function, std::span<const DLTensor *const> args,
                 const ReadBytes &read)
      : function_(function), args_(args), read_(read) {}

  /// The elements of an i32 or i64 argument of rank 0 or 1.
  Result<Numbers> numbers(int64_t arg) const {
    const auto index = static_cast<size_t>(arg);
    const DLTensor &tensor = *args_[index];
    const ArgumentPlan &plan = function_.args[index];
    const size_t bytes = plan.dtype == DType::I64 ? 8 : 4;
    if (tensor.dtype.code != kDLInt || tensor.dtype.bits != 8 * bytes || tensor.ndim > 1)
      return fail(ErrorCode::InvalidArgument,
                  "function '" + function_.name + "', argument '" + plan.name + "': expects " +
                      std::string(dtypeName(plan.dtype)) + " in one dimension, got rank " +
                      std::to_string(tensor.ndim) + " and " + std::to_string(tensor.dtype.bits) +
                      " bits");
    const auto count = static_cast<size_t>(tensor.ndim ? tensor.shape[0] : 1);
    const auto stride =
        static_cast<size_t>(tensor.ndim && tensor.strides && count > 1 ? tensor.strides[0] : 1);
    std::vector<char> raw(count ? ((count - 1) * stride + 1) * bytes : 0);
    if (!raw.empty())
      if (Status status = read_(raw.data(), tensor, 0, raw.size()); !status)
        return tl::unexpected(status.error());
    Numbers values(count);
    for (size_t i = 0; i < count; ++i) {
      const char *place = raw.data() + i * stride * bytes;
      int32_t narrow = 0;
      std::memcpy(bytes == 8 ? static_cast<void *>(&values[i]) : &narrow, place, bytes);
      if (bytes == 4)
        values[i] = narrow;
    }
    return values;
  }

  int64_t firstExtent(int64_t arg) const {
    const DLTensor &tensor = *args_[static_cast<size_t>(arg)];
    return tensor.ndim ? tensor.shape[0] : 1;
  }

private:
  const FunctionPlan &function_;
  std::span<const DLTensor *const> args_;
  const ReadBytes &read_;
};

//===----------------------------------------------------------------------===//
// A space
//===----------------------------------------------------------------------===//

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The extents of a request that may be used, as the kernels take them.
struct Request {
  int64_t number, firstToken, qLen, kvLen;
};

/// Rows [first, first + count) of a request's packed rows, which are of the query rows low..high.
struct QueryTile {
  int64_t count, low, high;
};

/// All of one space. Numbers of items count each head; those of a request's tiles do not.
class SpaceCounter {
public:
  SpaceCounter(const FunctionPlan &function, const SpacePlan &space, const ArgumentReader &reader)
      : function_(function), space_(space), reader_(reader),
        heads_(space.packed ? space.kvHeads : space.kvHeads * space.group),
        rowsOfOne_(!space.packed     ? 1
                   : space.groupRows ? space.groupRows
                                     : space.group) {
    size_t bounds = 4 + 2 * space.rowValueArgs.size() + space.symbolArgs.size();
    visits_ = WorkProgram::parse(space.visits, bounds);
    test_ = WorkProgram::parse(space.test, bounds + 1);
    visible_ = WorkProgram::parse(space.visible, bounds - space.rowValueArgs.size());
  }

  Result<KernelWork> count() {
    if (Status status = readArguments(); !status)
      return tl::unexpected(status.error());
    const int64_t requests = std::max<int64_t>(static_cast<int64_t>(rows_.size()) - 1, 0);
    for (int64_t r = 0; r < requests; ++r)
      if (Request request = requestOf(r); takes(request))
        countRequest(request, requests);
    constexpr int64_t kOffsetBytes = 4;
    work_.bytes += static_cast<double>((2 * requests + 1) * kOffsetBytes);
    work_.loads += static_cast<double>((2 * requests + 1) * kOffsetBytes);
    return work_;
  }

private:
  Status readArguments() {
    auto take = [&](int64_t arg, Numbers &into) -> Status {
      Result<Numbers> numbers = reader_.numbers(arg);
      if (!numbers)
        return tl::unexpected(numbers.error());
      into = std::move(*numbers);
      return {};
    };
    if (Status status = take(space_.rowsArg, rows_); !status)
      return status;
    if (Status status = take(isPaged() ? space_.lensArg : space_.keyRowsArg, keys_); !status)
      return status;
    symbols_.resize(space_.symbolArgs.size());
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (Status status = take(space_.symbolArgs[i], symbols_[i]); !status)
        return status;
    rowValues_.resize(space_.rowValueArgs.size());
    for (size_t i = 0; i < rowValues_.size(); ++i)
      if (Status status = take(space_.rowValueArgs[i], rowValues_[i]); !status)
        return status;
    return {};
  }

  bool isPaged() const { return space_.lensArg >= 0; }
  int64_t boundOf(const char *name) const {
    auto found = function_.bounds.find(name);
    return found == function_.bounds.end() ? INT64_MAX : found->second;
  }

  Request requestOf(int64_t r) const {
    const auto i = static_cast<size_t>(r);
    Request request{r, rows_[i], rows_[i + 1] - rows_[i], 0};
    if (isPaged())
      request.kvLen = i < keys_.size() ? keys_[i] : 0;
    else if (i + 1 < keys_.size())
      request.kvLen = keys_[i + 1] - keys_[i];
    if (request.qLen < 0 || request.qLen > boundOf("q_len") || request.firstToken < 0)
      request.qLen = 0;
    if (request.kvLen < 0 || request.kvLen > boundOf("kv_len"))
      request.kvLen = 0;
    return request;
  }

  bool takes(const Request &request) const {
    return request.qLen > 0 && (!space_.minQLen || request.qLen >= *space_.minQLen) &&
           (!space_.maxQLen || request.qLen <= *space_.maxQLen);
  }

  static int64_t at(const Numbers &numbers, int64_t i) {
    if (numbers.empty())
      return 0;
    return numbers[static_cast<size_t>(
        std::clamp<int64_t>(i, 0, static_cast<int64_t>(numbers.size()) - 1))];
  }
  int64_t symbol(size_t i, const Request &request) const {
    bool isScalar = function_.args[static_cast<size_t>(space_.symbolArgs[i])].shape.empty();
    return at(symbols_[i], isScalar ? 0 : request.number);
  }

  void countRequest(const Request &request, int64_t requests) {
    const int64_t packed = request.qLen * rowsOfOne_,
                  all = ceilDivide(request.kvLen, space_.kvTile);
    std::vector<bool> touched(static_cast<size_t>(all));
    for (int64_t first = 0; first < packed; first += space_.qTile) {
      QueryTile tile{std::min(space_.qTile, packed - first), first / rowsOfOne_, 0};
      tile.high = (first + tile.count - 1) / rowsOfOne_;
      countTile(request, tile, touched);
    }
    const double kvBytes = static_cast<double>(space_.kvRowBytes * space_.kvHeads);
    int64_t keys = 0;
    for (int64_t tile = 0; tile < all; ++tile)
      if (touched[static_cast<size_t>(tile)])
        keys += std::min(space_.kvTile, request.kvLen - tile * space_.kvTile);
    constexpr int64_t kIdBytes = 4;
    const int64_t rowBytes = space_.queryRowBytes + space_.outputRowBytes;
    double beside = static_cast<double>(request.qLen * space_.kvHeads * space_.group * rowBytes);
    if (space_.pageSize)
      beside += static_cast<double>(ceilDivide(request.kvLen, space_.pageSize) * kIdBytes);
    work_.bytes += static_cast<double>(keys) * kvBytes + beside;
    work_.loads += beside;
    work_.flops += 2.0 * static_cast<double>(space_.kDim + space_.vDim) *
                   static_cast<double>(space_.kvHeads * space_.group) *
                   visiblePairs(request, requests);
  }

  /// The values of a program's inputs: its first two, and the row values at query rows.
  Numbers inputsOf(const Request &request, int64_t first, int64_t second,
                   std::initializer_list<int64_t> rows) const {
    Numbers inputs{first, second};
    for (const Numbers &values : rowValues_)
      for (int64_t row : rows)
        inputs.push_back(at(values, request.firstToken + row));
    inputs.insert(inputs.end(), {request.qLen, request.kvLen});
    for (size_t i = 0; i < symbols_.size(); ++i)
      inputs.push_back(symbol(i, request));
    return inputs;
  }

  void countTile(const Request &request, const QueryTile &tile, std::vector<bool> &touched) {
    const auto all = static_cast<int64_t>(touched.size());
    int64_t full = 0, partial = 0, keys = 0;
    auto visit = [&](int64_t kvTile, bool isPartial) {
      if (kvTile < 0 || kvTile >= all)
        return;
      ++(isPartial || space_.bitmap ? partial : full);
      keys += std::min(space_.kvTile, request.kvLen - kvTile * space_.kvTile);
      touched[static_cast<size_t>(kvTile)] = true;
    };
    forEachVisit(request, tile, all, visit);
    work_.tilesSkipped += (all - full - partial) * heads_;
    if (full + partial == 0 && space_.neverEmpty)
      partial = 1;
    work_.tilesFull += full * heads_;
    work_.tilesPartial += partial * heads_;
    const int64_t rows = ceilDivide(tile.count, space_.rowUnit) * space_.rowUnit;
    work_.executedFlops += 2.0 * static_cast<double>(space_.kDim + space_.vDim) *
                           static_cast<double>(rows * space_.kvTile) *
                           static_cast<double>((full + partial) * heads_);
    work_.loads += static_cast<double>(keys * heads_) * static_cast<double>(space_.kvRowBytes);
    const bool slices = space_.share == "slices", parts = space_.share == "parts";
    work_.shares += static_cast<double>(heads_ * (slices  ? full + partial
                                                  : parts ? 1
                                                          : space_.splits));
  }

  template <typename Visit>
  void forEachVisit(const Request &request, const QueryTile &tile, int64_t all, Visit visit) {
    if (!visits_) {
      for (int64_t kvTile = 0; kvTile < all; ++kvTile)
        visit(kvTile, true);
      return;
    }
    Numbers inputs = inputsOf(request, tile.low, tile.high, {tile.low, tile.high});
    std::span<const int64_t> ends = visits_->run(inputs);
    if (space_.oneRange) {
      int64_t first = all, end = 0;
      for (size_t i = 0; i < space_.ranges.size(); ++i)
        if (ends[2 * i] < ends[2 * i + 1]) {
          first = std::min(first, ends[2 * i]);
          end = std::max(end, ends[2 * i + 1]);
        }
      for (int64_t kvTile = std::max<int64_t>(first, 0); kvTile < std::min(end, all); ++kvTile)
        visit(kvTile, true);
      return;
    }
    inputs.push_back(0);
    for (size_t i = 0; i < space_.ranges.size(); ++i) {
      const bool isPartial = space_.ranges[i] == "partial", isTest = space_.ranges[i] == "test";
      const int64_t end = std::min(ends[2 * i + 1], all);
      for (int64_t kvTile = std::max<int64_t>(ends[2 * i], 0); kvTile < end; ++kvTile) {
        if (!isTest) {
          visit(kvTile, isPartial);
          continue;
        }
        inputs.back() = kvTile;
        std::span<const int64_t> found = test_->run(inputs);
        if (found[0])
          visit(kvTile, found[1] != 0);
      }
    }
  }

  /// Of one head. Of a long request a part of the rows stands for all.
  double visiblePairs(const Request &request, int64_t requests) {
    if (!visible_)
      return static_cast<double>(request.qLen) * static_cast<double>(request.kvLen);
    constexpr int64_t kPairs = 1 << 24, kLeast = 1 << 14, kMost = 1 << 22;
    const int64_t budget = std::clamp(kPairs / std::max<int64_t>(requests, 1), kLeast, kMost);
    const int64_t step = std::max<int64_t>(1, request.qLen * request.kvLen / budget);
    int64_t seen = 0, rows = 0;
    for (int64_t i = 0; i * step < request.qLen; ++i, ++rows) {
      // From the middle of each step, in turn from before and after it: causal rows come out exact.
      const int64_t q = std::min(i * step + (step - 1 + i % 2) / 2, request.qLen - 1);
      Numbers inputs = inputsOf(request, q, 0, {q});
      for (inputs[1] = 0; inputs[1] < request.kvLen; ++inputs[1])
        seen += visible_->run(inputs)[0] != 0;
    }
    work_.sampled |= step > 1;
    return rows ? static_cast<double>(seen) * static_cast<double>(request.qLen) /
                      static_cast<double>(rows)
                : 0;
  }

  const FunctionPlan &function_;
  const SpacePlan &space_;
  const ArgumentReader &reader_;
  const int64_t heads_;     ///< items of a query tile
  const int64_t rowsOfOne_; ///< rows of a tile that a query row takes
  std::optional<WorkProgram> visits_, test_, visible_;
  Numbers rows_, keys_;
  std::vector<Numbers> symbols_, rowValues_;
  KernelWork work_;
};
} // namespace

Result<KernelWork> pagefold::runtime::workOf(const FunctionPlan &function, const KernelAbout &about,
                                             std::span<const DLTensor *const> args,
                                             const ReadBytes &read) {
  ArgumentReader reader(function, args, read);
  double moved = 0;
  for (const TrafficPlan &traffic : about.traffic) {
    int64_t count = traffic.arg < 0 ? 1 : reader.firstExtent(traffic.arg);
    moved += static_cast<double>(traffic.bytes) * static_cast<double>(count);
  }
  Result<KernelWork> work{KernelWork{}};
  if (about.space)
    work = SpaceCounter(function, *about.space, reader).count();
  if (work) {
    work->bytes += moved;
    work->loads += moved;
  }
  return work;
}
