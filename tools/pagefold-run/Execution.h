//===- Execution.h - launches of a program on arrays ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arrays are the host's; where the program is for a GPU, copies of them lie on it.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_EXECUTION_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_EXECUTION_H

#include "Program.h"

namespace pagefold::run {

class Execution {
public:
  virtual ~Execution() = default;

  /// Puts arguments and results where the program wants them. The program must outlive this.
  static Result<std::unique_ptr<Execution>> prepare(const Program &program,
                                                    const std::vector<Array> &arguments,
                                                    const std::vector<Array> &results);

  /// Launches once. Results, and pages that were written, are in the arrays when this returns.
  virtual Status run() = 0;
  /// Launches again (appending again writes the same rows); the seconds of each launch.
  virtual Result<std::vector<double>> time(unsigned launches) = 0;
  /// Counters of the last launch, as JSON.
  Result<std::string> counters() const;
  /// What was compiled and what a launch does, as "text" or "json"; `milliseconds` that one took,
  /// or 0.
  Result<std::string> explain(const std::string &format, double milliseconds) const;

protected:
  /// The arguments as a launch gets them.
  virtual const std::vector<DLTensor> &tensors() const = 0;
  explicit Execution(const Program &program) : program_(program) {}
  Status launch(const std::vector<DLTensor> &tensors);

  const Program &program_;
  void *workspace_ = nullptr; ///< set by the derived class, which owns it
  size_t workspaceSize_ = 0;
};

/// DLTensors that point into the arrays, which must live as long.
std::vector<DLTensor> dlTensors(const std::vector<Array> &arguments,
                                const std::vector<Array> &results);

/// The execution of a program for a GPU, on device 0. Its error where there is no driver.
Result<std::unique_ptr<Execution>> prepareOnGpu(const Program &program,
                                                const std::vector<Array> &arguments,
                                                const std::vector<Array> &results);
/// Whether there is a driver for that: asked before anything long.
Status checkGpu();

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_EXECUTION_H
