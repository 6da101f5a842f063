//===- LaunchPlan.h - the workspace and plan of a function ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowerings of a level-2 function share, whatever the target: where its kernels' buffers
// lie in the workspace, and the plan that takes the function's place.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_LAUNCHPLAN_H
#define PAGEFOLD_CONVERSION_LAUNCHPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"

namespace pagefold {

/// Where things lie in the workspace of a launch. The head is the same for every function.
class WorkspaceLayout {
public:
  static constexpr int64_t kErrorWord = 0; ///< 4 x i64: request + 1, reason, value, limit
  static constexpr int64_t kCounters = 64; ///< 8 x i64
  static constexpr int64_t kHead = 256;

  explicit WorkspaceLayout(attn::BoundsAttr bounds) : bounds(bounds) {}

  /// The place of a batch's extents, max_batch x 4 x i32, or of a buffer, in bytes. Allocated on
  /// first sight.
  int64_t offsetOf(mlir::Value value, int64_t bytes);
  /// A place that no value names.
  int64_t allocate(int64_t bytes);
  int64_t extentsOf(mlir::Value batch) { return offsetOf(batch, bounds.getBatch() * 16); }
  int64_t size() const { return next; }
  attn::BoundsAttr getBounds() const { return bounds; }

private:
  attn::BoundsAttr bounds;
  llvm::DenseMap<mlir::Value, int64_t> offsets;
  int64_t next = kHead;
};

/// How a kernel of a GPU meets the kernels of its function before and behind it (programmatic
/// dependent launch).
struct LaunchOrder {
  bool early = false;    ///< it may start while the one before ends, and must wait for that
  bool releases = false; ///< the one behind is early
};

/// What the kernels of a function add up to.
struct LaunchSummary {
  llvm::ArrayRef<mlir::Attribute> kernels; ///< an entry each, in order
  int64_t scratch = 0;                     ///< bytes of a worker (host)
  int64_t zeroed =
      WorkspaceLayout::kHead; ///< bytes at the workspace's start that a fresh one zeroes
  bool counters = false;
};

/// The functions of a module that are launched: with `attn.bounds` and `tile.args`. Others are
/// kernels already, or helpers.
llvm::SmallVector<mlir::func::FuncOp> launchedFunctions(mlir::Operation *module);

/// A kernel finds what its keys and values, batches, masks and visit lists are bound to in the
/// function: an error where one of them is an argument.
mlir::LogicalResult checkSources(mlir::func::FuncOp function);

/// Kernels access several elements of an argument at once: the launch is to refuse it where its
/// address or its strides are no multiples of `bytes`.
void requireAlignment(mlir::func::FuncOp function, unsigned argument, int64_t bytes);

/// Puts the plan in the function's place. The function is erased.
void replaceByPlan(mlir::func::FuncOp function, const WorkspaceLayout &layout,
                   const LaunchSummary &summary);

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_LAUNCHPLAN_H
