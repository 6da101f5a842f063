//===- GpuExecution.cpp - launches of a program on a GPU ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "pagefold/runtime/Cuda.h"

#include <algorithm>
#include <optional>

using namespace pagefold;
using namespace pagefold::run;
using runtime::CudaDriver;
using runtime::CudaEvent;
using runtime::DeviceMemory;

namespace {

/// Bytes of the host that a launch uses.
struct Span {
  std::byte *begin, *end;
};

/// A span and its copy on the GPU. Arrays that share memory (K and V of a page in one allocation)
/// share a region, so that they lie there as they lie here.
struct Region {
  Span host;
  DeviceMemory copy;

  size_t size() const { return static_cast<size_t>(host.end - host.begin); }
  bool holds(const void *data) const { return data >= host.begin && data < host.end; }
};

/// From the first byte of a tensor to past its last; nothing where it has no element.
std::optional<Span> spanOf(const DLTensor &tensor) {
  auto *begin = static_cast<std::byte *>(tensor.data);
  int64_t last = 0; // element
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0)
      return std::nullopt;
    last += (tensor.shape[i] - 1) * tensor.strides[i]; // an Array's strides are not negative
  }
  return Span{begin, begin + (last + 1) * (tensor.dtype.bits / 8)};
}

std::vector<Span> mergeOverlapping(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.begin < b.begin; });
  std::vector<Span> merged;
  for (const Span &span : spans) {
    if (!merged.empty() && span.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, span.end);
    else
      merged.push_back(span);
  }
  return merged;
}

class GpuExecution final : public Execution {
public:
  GpuExecution(const Program &program, CudaDriver driver, const std::vector<Array> &arguments,
               const std::vector<Array> &results)
      : Execution(program), driver_(std::move(driver)), arguments_(arguments), results_(results),
        tensors_(dlTensors(arguments_, results_)) {}

  Status prepare() {
    if (Status status = upload(); !status)
      return status;
    workspaceSize_ = pagefold_function_workspace_size(program_.function());
    Result<DeviceMemory> memory = DeviceMemory::allocate(driver_, workspaceSize_);
    if (!memory)
      return tl::unexpected(memory.error());
    memory_.emplace(std::move(*memory));
    workspace_ = memory_->data();
    return toStatus(
        pagefold_workspace_init(program_.function(), workspace_, workspaceSize_, nullptr));
  }

  Status run() override {
    if (Status status = launchAndWait(); !status)
      return status;
    for (const Region &region : regions_)
      if (Status status = copyToHost(driver_, region.host.begin, region.copy.data(), region.size());
          !status)
        return status;
    return {};
  }

  Result<std::vector<double>> time(unsigned launches) override {
    Result<CudaEvent> start = CudaEvent::create(driver_), end = CudaEvent::create(driver_);
    if (!start || !end)
      return tl::unexpected((start ? end : start).error());
    std::vector<double> seconds;
    for (unsigned i = 0; i < launches; ++i) {
      // Behind another launch, so that what a launch costs the host is not in it.
      Status status = launch(tensors_);
      if (status)
        status = start->record(nullptr);
      if (status)
        status = launch(tensors_);
      if (status)
        status = end->record(nullptr);
      if (!status)
        return tl::unexpected(status.error());
      Result<double> spent = end->secondsSince(*start);
      if (!spent)
        return tl::unexpected(spent.error());
      seconds.push_back(*spent);
    }
    return seconds;
  }

protected:
  const std::vector<DLTensor> &tensors() const override { return tensors_; }

private:
  /// Copies the arrays and points the tensors at the copies. Scalars stay.
  Status upload() {
    std::vector<Span> spans;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!program_.scalars()[i])
        if (std::optional<Span> span = spanOf(tensors_[i]))
          spans.push_back(*span);
    for (const Span &span : mergeOverlapping(std::move(spans))) {
      auto bytes = static_cast<size_t>(span.end - span.begin);
      Result<DeviceMemory> memory = DeviceMemory::allocate(driver_, bytes);
      if (!memory)
        return tl::unexpected(memory.error());
      regions_.push_back({span, std::move(*memory)});
      if (Status status = copyToDevice(driver_, regions_.back().copy.data(), span.begin, bytes);
          !status)
        return status;
    }
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!program_.scalars()[i])
        moveToGpu(tensors_[i]);
    return {};
  }

  void moveToGpu(DLTensor &tensor) const {
    tensor.device = {kDLCUDA, 0};
    auto region = std::find_if(regions_.begin(), regions_.end(),
                               [&](const Region &region) { return region.holds(tensor.data); });
    if (region != regions_.end()) // else it has no element
      tensor.data =
          region->copy.data() + (static_cast<std::byte *>(tensor.data) - region->host.begin);
  }

  Status launchAndWait() {
    if (Status status = launch(tensors_); !status)
      return status;
    if (Status status = synchronize(driver_, nullptr); !status)
      return status;
    return toStatus(pagefold_function_check(program_.function()));
  }

  const CudaDriver driver_;
  const std::vector<Array> arguments_, results_;
  std::vector<DLTensor> tensors_; ///< of the GPU's copies
  std::vector<Region> regions_;
  std::optional<DeviceMemory> memory_; ///< the workspace
};

} // namespace

Status run::checkGpu() {
  Result<CudaDriver> driver = CudaDriver::open();
  return driver ? driver->useDevice(0) : tl::unexpected(driver.error());
}

Result<std::unique_ptr<Execution>> run::prepareOnGpu(const Program &program,
                                                     const std::vector<Array> &arguments,
                                                     const std::vector<Array> &results) {
  Result<CudaDriver> driver = CudaDriver::open();
  if (!driver)
    return tl::unexpected(driver.error());
  if (Status status = driver->useDevice(0); !status)
    return tl::unexpected(status.error());
  auto execution = std::make_unique<GpuExecution>(program, *driver, arguments, results);
  if (Status status = execution->prepare(); !status)
    return tl::unexpected(status.error());
  return execution;
}
