//===- Workspace.cpp - the memory that a launch works in ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include "pagefold/runtime/ForkHandlers.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace pagefold::runtime;

Status pagefold::runtime::checkWorkspace(const FunctionPlan &function, const void *workspace,
                                         size_t size) {
  std::string who = "function '" + function.name + "': the workspace expects ";
  if (!workspace)
    return fail(ErrorCode::InvalidArgument, who + "memory, got null");
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment)
    return fail(ErrorCode::InvalidArgument,
                who + "an address that is a multiple of 64, got one at " +
                    std::to_string(reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment) +
                    " past it");
  if (size < static_cast<size_t>(function.workspaceSize))
    return fail(ErrorCode::InvalidArgument,
                who + "at least " + std::to_string(function.workspaceSize) + " bytes, got " +
                    std::to_string(size) + "; ask pagefold_function_workspace_size");
  return {};
}

void pagefold::runtime::fillWorkspace(const FunctionPlan &function, void *workspace) {
  for (const WorkspaceFill &fill : function.workspaceInit)
    std::memset(static_cast<std::byte *>(workspace) + fill.offset, fill.byte,
                static_cast<size_t>(fill.size));
}

//===----------------------------------------------------------------------===//
// Workspaces in use
//===----------------------------------------------------------------------===//

namespace {
struct InUse {
  struct Range {
    uintptr_t begin, end;
  };
  std::mutex mutex;
  std::vector<Range> ranges; // a handful: one for each launch under way

  static InUse &get() {
    static InUse *inUse = [] {
      auto *created = new InUse;
      created->ranges.reserve(64);
      // The launches of the parent's other threads do not go on in the child.
      onFork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
             [] {
               get().ranges.clear();
               get().mutex.unlock();
             });
      return created;
    }();
    return *inUse;
  }
};
} // namespace

Result<WorkspaceClaim> WorkspaceClaim::claim(const FunctionPlan &function, const void *workspace) {
  auto begin = reinterpret_cast<uintptr_t>(workspace);
  uintptr_t end = begin + static_cast<uintptr_t>(function.workspaceSize);
  InUse &inUse = InUse::get();
  std::lock_guard lock(inUse.mutex);
  for (const InUse::Range &range : inUse.ranges)
    if (begin < range.end && range.begin < end)
      return fail(
          ErrorCode::InvalidArgument,
          "function '" + function.name +
              "': the workspace expects one launch at a time, "
              "got a second one while the first is running; give each concurrent launch its own");
  inUse.ranges.push_back({begin, end});
  return WorkspaceClaim(begin);
}

WorkspaceClaim::~WorkspaceClaim() {
  if (!begin_)
    return;
  InUse &inUse = InUse::get();
  std::lock_guard lock(inUse.mutex);
  auto it = std::find_if(inUse.ranges.begin(), inUse.ranges.end(),
                         [&](const InUse::Range &range) { return range.begin == begin_; });
  if (it == inUse.ranges.end())
    return;
  *it = inUse.ranges.back();
  inUse.ranges.pop_back();
}

//===----------------------------------------------------------------------===//
// The function's own workspaces
//===----------------------------------------------------------------------===//

WorkspaceCache::~WorkspaceCache() {
  for (std::atomic<AlignedBuffer *> &slot : idle_)
    delete slot.load();
}

std::unique_ptr<AlignedBuffer> WorkspaceCache::take(const FunctionPlan &function) {
  for (std::atomic<AlignedBuffer *> &slot : idle_)
    if (slot.load(std::memory_order_relaxed))
      if (AlignedBuffer *buffer = slot.exchange(nullptr, std::memory_order_acquire))
        return std::unique_ptr<AlignedBuffer>(buffer);
  auto buffer = std::make_unique<AlignedBuffer>();
  if (!buffer->reserve(static_cast<size_t>(function.workspaceSize)))
    return nullptr;
  fillWorkspace(function, buffer->data());
  return buffer;
}

void WorkspaceCache::give(std::unique_ptr<AlignedBuffer> workspace) {
  for (std::atomic<AlignedBuffer *> &slot : idle_) {
    AlignedBuffer *expected = nullptr;
    if (slot.compare_exchange_strong(expected, workspace.get(), std::memory_order_release,
                                     std::memory_order_relaxed)) {
      workspace.release();
      return;
    }
  }
}
