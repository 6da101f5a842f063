//===- HostKernel.h - a kernel whose workers are host threads ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters: (arguments..., workspace, scratch, ticket). A ticket is drawn by an atomic add.
// Requests were checked by the batch's kernel, which left their extents in the workspace.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_HOSTKERNEL_H
#define PAGEFOLD_CONVERSION_TILETOHOST_HOSTKERNEL_H

#include "Kernel.h"

namespace pagefold::host {

class HostKernel final : public Kernel {
public:
  /// Starts a kernel for `function`, before it in the module.
  HostKernel(mlir::func::FuncOp function, llvm::StringRef name, WorkspaceLayout &layout,
             bool counters, mlir::Location loc);

  int64_t scratchBytes() const { return scratchNext; }

  /// The batch's extents in the workspace: max batch x 4 x i32.
  mlir::Value extents(mlir::Value batch);

  mlir::Value scratch(llvm::ArrayRef<int64_t> shape, mlir::Type element = {}) override;
  Request readRequest(mlir::Value batch, mlir::Value number) override;
  Request withPagesChecked(mlir::Value, const Request &request) override { return request; }
  void ifPageExists(const Request &, mlir::Value, mlir::Value,
                    llvm::function_ref<void()> body) override {
    body();
  }
  int64_t headsOfTicket(int64_t heads) override { return heads; }
  int64_t columnsOfTicket(int64_t columns) override { return columns; }
  llvm::ArrayRef<tile::ScheduleKind> forms() override;
  std::unique_ptr<Team> createTeam() override;
  bool prefetches() override { return true; }

private:
  mlir::Value errorWord() override;
  HostBuilder::Values firstDraw() override { return {}; }
  mlir::Value draw(mlir::ValueRange carried) override;
  HostBuilder::Values nextDraw(mlir::Value) override { return {}; }

  int64_t scratchNext = 0;
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_HOSTKERNEL_H
