//===- Kernel.h - one kernel and its surroundings ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a function of (the launch's arguments..., workspace, what its target adds). Values of
// the level-2 function are found again inside it: arguments are its own, pure ops are cloned,
// buffers of the workspace are views. Any number of workers run it; each draws tickets, which only
// grow, so that it walks the requests with a cursor.
//
// What a worker is, is the target's: a thread of the host (HostKernel) or of the GPU (SimtKernel).
// They differ in where tickets and scratch come from and in who checks the requests; the emitters
// know nothing of it.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_KERNEL_H
#define PAGEFOLD_CONVERSION_TILETOHOST_KERNEL_H

#include "HostBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pagefold/Conversion/LaunchPlan.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::host {

/// The extents of a request, as index values.
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
  KVRows = 7,
  PrefixLength = 8,
  PrefixPages = 9
};

/// What is known to be wrong with a request: a reason (0 if nothing), value, limit; index values.
struct Finding {
  mlir::Value reason, value, limit;
};

/// Counters of a launch, in their order.
enum class Counter : int64_t { TilesFull, TilesPartial, TilesSkipped, MaskedElements, KeysVisited };

class Team;

class Kernel {
public:
  virtual ~Kernel() = default;

  HostBuilder &builder() { return b; }
  WorkspaceLayout &workspaceLayout() { return layout; }

  /// The value inside this kernel of a value of the level-2 function: a memref, index or scalar.
  mlir::Value find(mlir::Value outer);

  /// A view of the workspace.
  mlir::Value workspaceView(int64_t offset, mlir::MemRefType type, mlir::ValueRange dynamicSizes);

  /// Draws tickets over all items of a batch: `itemsOf(request)` says how many a request has,
  /// `body` gets the request and the item's number within it, and the ticket.
  void forItems(mlir::Value batch, llvm::function_ref<mlir::Value(Request)> itemsOf,
                llvm::function_ref<void(Request, mlir::Value item, mlir::Value ticket)> body);

  /// Draws tickets over the tokens of a batch, `parts` for each: the token's request and number,
  /// and which part. `tokens` says how many tokens there are.
  virtual void
  forTokens(mlir::Value batch, mlir::Value tokens, int64_t parts,
            llvm::function_ref<void(Request, mlir::Value token, mlir::Value part)> body);

  /// Draws tickets 0 <= t < count.
  void forTickets(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);

  mlir::Value batchSize(mlir::Value batch);

  /// Adds to a counter, where the function is compiled with counters.
  void count(Counter counter, llvm::function_ref<mlir::Value()> amount);

  /// Claims the error word for a request, unless another has it: the first finding wins.
  void report(mlir::Value request, const Finding &finding);

  /// Ends the function. Returns its symbol.
  mlir::StringAttr finish();

  //===--------------------------------------------------------------------===//
  // What the target decides
  //===--------------------------------------------------------------------===//

  /// f32 or i32 memory of this worker, as a static memref. Allocated at compile time.
  virtual mlir::Value scratch(llvm::ArrayRef<int64_t> shape, mlir::Type element = {}) = 0;

  /// The extents of a request that may be used: no rows where its row offsets are broken, no keys
  /// where anything else is.
  virtual Request readRequest(mlir::Value batch, mlir::Value number) = 0;

  /// The request of an item that reads keys: none where a page id lies outside the pool.
  virtual Request withPagesChecked(mlir::Value batch, const Request &request) = 0;

  /// `body` writes to `page` of a pool of `pages`: it runs if there is such a page.
  virtual void ifPageExists(const Request &request, mlir::Value page, mlir::Value pages,
                            llvm::function_ref<void()> body) = 0;

  /// How many of the `heads` of a token one ticket covers.
  virtual int64_t headsOfTicket(int64_t heads) = 0;
  /// How many of the `columns` of a row one ticket of a merge covers.
  virtual int64_t columnsOfTicket(int64_t columns) = 0;

  /// The forms of a space that this target has.
  virtual llvm::ArrayRef<tile::ScheduleKind> forms() = 0;

  /// Workers that do one thing together: all that there are of this kernel.
  virtual std::unique_ptr<Team> createTeam() = 0;

  /// Whether asking the memory for a row ahead of its use is worth its instructions.
  virtual bool prefetches() = 0;

protected:
  /// Starts a kernel for `function` at `place`, with parameters of the types `more` at the end.
  Kernel(mlir::func::FuncOp function, mlir::OpBuilder::InsertPoint place, llvm::StringRef name,
         WorkspaceLayout &layout, bool counters, mlir::Location loc,
         llvm::ArrayRef<mlir::Type> more);

  /// The error word, memref<4xi64>.
  virtual mlir::Value errorWord() = 0;

  // Tickets: what a loop over them carries at its start (nothing, or an index), the ticket drawn
  // with what is carried, and what the next round carries.
  virtual HostBuilder::Values firstDraw() = 0;
  virtual mlir::Value draw(mlir::ValueRange carried) = 0;
  virtual HostBuilder::Values nextDraw(mlir::Value ticket) = 0;

  /// The parameter `i` after the workspace.
  mlir::Value parameter(unsigned i);

  mlir::func::FuncOp outer, kernel;
  WorkspaceLayout &layout;
  HostBuilder b;
  llvm::DenseMap<mlir::Value, mlir::Value> found;
  mlir::Operation *prologueEnd = nullptr; ///< clones and views go before this op

private:
  bool counters;
  mlir::Value workspace;
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_KERNEL_H
