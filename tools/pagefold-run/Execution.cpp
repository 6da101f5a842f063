//===- Execution.cpp - launches of a program on arrays --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <chrono>

using namespace pagefold;
using namespace pagefold::run;

static DLDataType dlType(DType dtype) {
  auto bits = static_cast<uint8_t>(8 * dtypeSize(dtype));
  constexpr uint8_t kDLFloat8E4M3FNCode = 10; // in DLPack since 1.1; Debian's header is older
  if (dtype == DType::F8E4M3)
    return {kDLFloat8E4M3FNCode, bits, 1};
  if (dtype == DType::BF16)
    return {kDLBfloat, bits, 1};
  if (isFloat(dtype))
    return {kDLFloat, bits, 1};
  return {static_cast<uint8_t>(dtype == DType::U8 || dtype == DType::Bool ? kDLUInt : kDLInt), bits,
          1};
}

std::vector<DLTensor> run::dlTensors(const std::vector<Array> &arguments,
                                     const std::vector<Array> &results) {
  std::vector<DLTensor> tensors;
  for (const auto *arrays : {&arguments, &results})
    for (const Array &array : *arrays)
      tensors.push_back({array.data(),
                         {kDLCPU, 0},
                         static_cast<int>(array.rank()),
                         dlType(array.dtype()),
                         const_cast<int64_t *>(array.shape().data()),
                         const_cast<int64_t *>(array.strides().data()),
                         0});
  return tensors;
}

Status Execution::launch(const std::vector<DLTensor> &tensors) {
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  return toStatus(pagefold_function_launch(program_.function(), pointers.data(), pointers.size(),
                                           workspace_, workspaceSize_, /*stream=*/nullptr));
}

Result<std::string> Execution::counters() const {
  char *text = nullptr;
  if (Status status =
          toStatus(pagefold_function_counters_json(program_.function(), workspace_, &text));
      !status)
    return tl::unexpected(status.error());
  std::string counters = text;
  pagefold_string_free(text);
  return counters;
}

Result<std::string> Execution::explain(const std::string &format, double milliseconds) const {
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors())
    pointers.push_back(&tensor);
  char *text = nullptr;
  if (Status status =
          toStatus(pagefold_function_explain(program_.function(), pointers.data(), pointers.size(),
                                             milliseconds, format.c_str(), &text));
      !status)
    return tl::unexpected(status.error());
  std::string explanation = text;
  pagefold_string_free(text);
  return explanation;
}

namespace {

class HostExecution final : public Execution {
public:
  HostExecution(const Program &program, const std::vector<Array> &arguments,
                const std::vector<Array> &results)
      : Execution(program), arguments_(arguments), results_(results),
        tensors_(dlTensors(arguments_, results_)) {}

  Status prepareWorkspace() {
    workspaceSize_ = pagefold_function_workspace_size(program_.function());
    Result<Array> memory = Array::make(DType::U8, {static_cast<int64_t>(workspaceSize_)});
    if (!memory)
      return tl::unexpected(memory.error());
    memory_ = *memory;
    workspace_ = memory_.data();
    return toStatus(
        pagefold_workspace_init(program_.function(), workspace_, workspaceSize_, nullptr));
  }

  Status run() override { return launch(tensors_); }

  Result<std::vector<double>> time(unsigned launches) override {
    std::vector<double> seconds;
    for (unsigned i = 0; i < launches; ++i) {
      auto start = std::chrono::steady_clock::now();
      if (Status status = run(); !status)
        return tl::unexpected(status.error());
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return seconds;
  }

protected:
  const std::vector<DLTensor> &tensors() const override { return tensors_; }

private:
  const std::vector<Array> arguments_, results_;
  const std::vector<DLTensor> tensors_; ///< point into the arrays
  Array memory_;
};

} // namespace

Result<std::unique_ptr<Execution>> Execution::prepare(const Program &program,
                                                      const std::vector<Array> &arguments,
                                                      const std::vector<Array> &results) {
  if (program.onGpu())
    return prepareOnGpu(program, arguments, results);
  auto execution = std::make_unique<HostExecution>(program, arguments, results);
  if (Status status = execution->prepareWorkspace(); !status)
    return tl::unexpected(status.error());
  return execution;
}
