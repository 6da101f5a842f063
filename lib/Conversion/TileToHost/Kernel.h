//===- Kernel.h - one host kernel and its surroundings ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a function of (the launch's arguments..., workspace, scratch, ticket). Values of the
// level-2 function are found again inside it: arguments are its own, pure ops are cloned, buffers
// of the workspace are views. Work is drawn by ticket: every worker walks the requests with a
// cursor, since the tickets that it draws only grow.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_KERNEL_H
#define PAGEFOLD_CONVERSION_TILETOHOST_KERNEL_H

#include "HostBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::host {

/// Where things lie in the workspace of a launch. The head is the same for every function.
class WorkspaceLayout {
public:
  static constexpr int64_t kErrorWord = 0; ///< 4 x i64: request + 1, reason, value, limit
  static constexpr int64_t kCounters = 64; ///< 8 x i64
  static constexpr int64_t kHead = 256;

  explicit WorkspaceLayout(attn::BoundsAttr bounds) : bounds(bounds) {}

  /// The place of a batch's extents, max_batch x 4 x i32, or of a buffer. Allocated on first sight.
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

/// What a request's row of the extents holds, as index values.
struct Request {
  mlir::Value number, firstRow, qLen, kvLen;
};

/// Reasons of the error word; the runtime turns them into sentences (docs/artifact.md).
enum class Reason : int64_t {
  Rows = 1,
  QueryLength = 2,
  KVLength = 3,
  TableWidth = 4,
  PageId = 5,
  RopePosition = 6,
  KVRows = 7
};

/// Counters of a launch, in their order.
enum class Counter : int64_t { TilesFull, TilesPartial, TilesSkipped, MaskedElements, KeysVisited };

class Kernel {
public:
  /// Starts a kernel for `function`, before it in the module.
  Kernel(mlir::func::FuncOp function, llvm::StringRef name, WorkspaceLayout &layout, bool counters,
         mlir::Location loc);

  HostBuilder &builder() { return b; }
  WorkspaceLayout &workspaceLayout() { return layout; }

  /// The value inside this kernel of a value of the level-2 function: a memref, index or scalar.
  mlir::Value find(mlir::Value outer);

  /// f32 or i32 scratch of this worker, as a static memref. Allocated at compile time.
  mlir::Value scratch(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  int64_t scratchBytes() const { return scratchNext; }

  /// A view of the workspace.
  mlir::Value workspaceView(int64_t offset, mlir::MemRefType type, mlir::ValueRange dynamicSizes);

  /// The next ticket of this launch of the kernel.
  mlir::Value drawTicket();

  /// Draws tickets over all items of a batch: `itemsOf(request)` says how many a request has,
  /// `body` gets the request and the item's number within it, and the ticket.
  void forItems(mlir::Value batch, llvm::function_ref<mlir::Value(Request)> itemsOf,
                llvm::function_ref<void(Request, mlir::Value item, mlir::Value ticket)> body);

  /// Draws tickets 0 <= t < count.
  void forTickets(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);

  Request readRequest(mlir::Value batch, mlir::Value number);
  mlir::Value batchSize(mlir::Value batch);
  mlir::Value extents(mlir::Value batch);

  /// Adds to a counter, where the function is compiled with counters.
  void count(Counter counter, llvm::function_ref<mlir::Value()> amount);

  /// Ends the function. Returns its symbol.
  mlir::StringAttr finish();

private:
  mlir::func::FuncOp outer, kernel;
  WorkspaceLayout &layout;
  bool counters;
  HostBuilder b;
  mlir::Value workspace, scratchMemory, ticket;
  llvm::DenseMap<mlir::Value, mlir::Value> found;
  mlir::Operation *prologueEnd = nullptr; ///< clones and views go before this op
  int64_t scratchNext = 0;
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_KERNEL_H
