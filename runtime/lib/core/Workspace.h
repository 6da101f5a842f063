//===- Workspace.h - the memory that a launch works in ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_WORKSPACE_H
#define PAGEFOLD_RUNTIME_LIB_CORE_WORKSPACE_H

#include "AlignedBuffer.h"
#include "pagefold/runtime/Artifact.h"

#include <array>
#include <atomic>
#include <memory>

namespace pagefold::runtime {

/// Checks a caller's workspace: not null, 64-byte aligned, large enough.
Status checkWorkspace(const FunctionPlan &function, const void *workspace, size_t size);

/// Writes the initial bytes of the plan.
void fillWorkspace(const FunctionPlan &function, void *workspace);

/// A workspace in use by a launch, until this dies. Two launches in one workspace at the same time
/// would write over each other's partial results: claim() refuses the second.
class WorkspaceClaim {
public:
  static Result<WorkspaceClaim> claim(const FunctionPlan &function, const void *workspace);
  WorkspaceClaim(WorkspaceClaim &&other) noexcept : begin_(std::exchange(other.begin_, 0)) {}
  WorkspaceClaim &operator=(WorkspaceClaim &&) = delete;
  ~WorkspaceClaim();

private:
  explicit WorkspaceClaim(uintptr_t begin) : begin_(begin) {}
  uintptr_t begin_;
};

/// Workspaces of the function's own, for launches that bring none. Without locks, so that a child
/// of fork() finds it usable whatever other threads were doing.
class WorkspaceCache {
public:
  ~WorkspaceCache();
  /// A prepared workspace, or null where there is no memory.
  std::unique_ptr<AlignedBuffer> take(const FunctionPlan &function);
  void give(std::unique_ptr<AlignedBuffer> workspace);

private:
  // As many as launches of one function usually run at once; beyond that they are freed.
  std::array<std::atomic<AlignedBuffer *>, 16> idle_{};
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_WORKSPACE_H
