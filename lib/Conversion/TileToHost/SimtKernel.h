//===- SimtKernel.h - a kernel whose workers are GPU threads ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters: (arguments..., workspace, error word). A thread's first ticket is its number in the
// grid, the next is as many further as the grid has threads: any grid does all the work. There is
// no batch kernel, whose launch would cost more than the checks do: every kernel checks the
// requests that it passes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_SIMTKERNEL_H
#define PAGEFOLD_CONVERSION_TILETOHOST_SIMTKERNEL_H

#include "Kernel.h"
#include "pagefold/Conversion/SimtKernels.h"
#include "pagefold/Target/Hopper/Chip.h"
#include <numeric>

namespace pagefold::host {

class SimtKernel final : public Kernel {
public:
  /// Starts a kernel at the end of the gpu.module.
  SimtKernel(const SimtModule &module, llvm::StringRef name, const hopper::SimtLaunch &launch,
             mlir::Location loc);

  /// Memory of the thread: registers, where LLVM can keep it there.
  mlir::Value scratch(llvm::ArrayRef<int64_t> shape, mlir::Type element = {}) override;
  Request readRequest(mlir::Value batch, mlir::Value number) override;
  Request withPagesChecked(mlir::Value batch, const Request &request) override;
  void ifPageExists(const Request &request, mlir::Value page, mlir::Value pages,
                    llvm::function_ref<void()> body) override;
  /// A thread's tickets lie far apart: it searches the requests in place of walking past them.
  void forTokens(mlir::Value batch, mlir::Value tokens, int64_t parts,
                 llvm::function_ref<void(Request, mlir::Value, mlir::Value)> body) override;

  /// `body` with the request that has the row `token`, if there is one.
  void withRequestOf(mlir::Value batch, mlir::Value token,
                     llvm::function_ref<void(const Request &)> body);
  /// Checks all requests, a thread each, and reports what is wrong: for kernels that search them.
  void reportRequests(mlir::Value batch);

  /// The f32 sum over groups of so many neighbouring lanes, a power of two, in each of them. All
  /// lanes of a group get here, or none.
  mlir::Value sumOfLanes(mlir::Value x, int64_t lanes);

  /// Columns of a row that one thread merges: few, so that the threads of a warp read whole lines.
  static int64_t mergedColumns(int64_t columns) { return std::gcd(columns, int64_t(8)); }

  /// Bytes at which an access to so many elements starts, of a buffer with requireAligned.
  static int64_t alignment(mlir::Value buffer, int64_t elements);
  /// Rows of a buffer of the function are accessed by so many elements at once: a launch with
  /// addresses or strides that do not allow it is refused.
  void requireAligned(mlir::Value buffer, int64_t elements);

  int64_t headsOfTicket(int64_t) override { return 1; }
  int64_t columnsOfTicket(int64_t columns) override { return mergedColumns(columns); }
  llvm::ArrayRef<tile::ScheduleKind> forms() override;
  std::unique_ptr<Team> createTeam() override;
  bool prefetches() override { return false; } // other threads hide the latency

private:
  mlir::Value lastRequest();
  mlir::Value searchRequest(mlir::Value rows, mlir::Value size, mlir::Value token);
  mlir::Value errorWord() override { return parameter(0); }
  HostBuilder::Values firstDraw() override { return {thread}; }
  mlir::Value draw(mlir::ValueRange carried) override { return carried.front(); }
  HostBuilder::Values nextDraw(mlir::Value ticket) override { return {b.add(ticket, gridThreads)}; }

  mlir::Value lastRequestMemory;
  mlir::Value thread, gridThreads; ///< this thread's number in the grid, and how many there are
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_SIMTKERNEL_H
