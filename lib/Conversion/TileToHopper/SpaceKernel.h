//===- SpaceKernel.h - one kernel of level 3 and its parameters -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of the level-2 function are found again inside a kernel as its parameters: a buffer gives
// its address, extents and strides, each only when asked for, or a tensor map; a scalar its value.
// Beside each parameter stands its recipe, from which the runtime computes it at a launch
// (docs/artifact.md).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_SPACEKERNEL_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_SPACEKERNEL_H

#include "../TileToHost/Kernel.h"
#include "HopperBuilder.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace pagefold::hopper {

/// One dimension of a tensor map over a buffer.
struct MapDim {
  int64_t extent = 0;      ///< elements; 0: that of the buffer's dimension `of`
  int64_t strideBytes = 0; ///< 0: the stride of the buffer's dimension `of`
  int64_t of = 0;
  static MapDim whole(int64_t dim) { return {0, 0, dim}; }
  static MapDim fixed(int64_t extent, int64_t strideBytes) { return {extent, strideBytes, 0}; }
  /// The innermost: elements of a row of the buffer's last dimension, or of one panel of it.
  static MapDim inner(int64_t extent) { return {extent, 0, 0}; }
};

/// Rows are read and written in pairs of 16-bit elements where a lane has two neighbours.
inline constexpr int64_t kPairBytes = 4;

/// Columns of a panel, of 16-bit elements.
inline constexpr int64_t kPanelColumns = 64;
/// Panels of a head dimension, and whether it is whole panels.
int64_t panelsOf(int64_t dim);
bool isWholePanels(int64_t dim);

class SpaceKernel {
public:
  /// Starts a kernel named `name` at the end of `module`. `layout` gives the function's workspace
  /// its places.
  SpaceKernel(mlir::gpu::GPUModuleOp module, mlir::func::FuncOp function, llvm::StringRef name,
              WorkspaceLayout &layout, LaunchOrder order, mlir::Location loc);

  /// Where the kernel before it may still run: waits until it is done and its writes are visible.
  /// Every thread must get here. What no kernel of the function writes may be read before.
  void awaitPrevious();

  HopperBuilder &builder() { return b; }
  mlir::func::FuncOp getFunction() { return function; }
  WorkspaceLayout &workspaceLayout() { return layout; }

  // Buffers of the level-2 function.
  mlir::Value pointer(mlir::Value buffer);
  /// The same, of a buffer whose rows are accessed 16 bytes at a time: a launch refuses an argument
  /// that does not lie so.
  mlir::Value vectorPointer(mlir::Value buffer, int64_t bytes = 16);
  mlir::Value extent(mlir::Value buffer, int64_t dim, int64_t add = 0); ///< i32
  mlir::Value stride(mlir::Value buffer, int64_t dim);                  ///< i64, elements
  /// The first element of the row with these i32 indices, all but the innermost one; i64.
  mlir::Value rowStart(mlir::Value buffer, mlir::ValueRange indices);
  /// `readOnce`: lines beside what is asked for are of no use.
  mlir::Value map(mlir::Value buffer, llvm::ArrayRef<int64_t> box, llvm::ArrayRef<MapDim> dims,
                  bool readOnce = false);
  /// Rows [tokens, heads, dim] as boxes of `boxRows` rows of one head: all panels in one box where
  /// the dimension is whole panels, else a box for each (its last columns are zeros).
  mlir::Value rowMap(mlir::Value rows, int64_t boxRows, bool readOnce = false);
  /// Coordinates of such a box; `panel` is 0 where one box has all.
  Values rowPlace(mlir::Value rows, int64_t panel, mlir::Value token, mlir::Value head);
  /// The same of boxes with `heads` heads of each of `tokens` tokens: a token's lie side by side.
  mlir::Value headsMap(mlir::Value rows, int64_t tokens, int64_t heads);
  Values headsPlace(mlir::Value rows, int64_t panel, mlir::Value token, mlir::Value firstHead);
  /// Boxes that bring one tile of such rows: their panels, or one without a number.
  static llvm::SmallVector<std::optional<int64_t>> rowBoxes(mlir::Value rows);
  /// The same of pages [pages, page, heads, dim]: boxes of `boxRows` rows of one page and head.
  mlir::Value pageRowMap(mlir::Value pages, int64_t boxRows, bool readOnce);
  Values pageRowPlace(mlir::Value pages, int64_t panel, mlir::Value page, mlir::Value row,
                      mlir::Value head);
  /// Pages [pages, page, heads, dim] as boxes of whole octets of rows, of one head; and i32 factors
  /// by which a page and a head become coordinates: "page", "head_panel", "head_page".
  mlir::Value pageMap(mlir::Value pages, int64_t panels, int64_t boxRows);
  mlir::Value pageStep(mlir::Value pages, int64_t panels, llvm::StringRef of);
  /// A scalar of the level-2 function: an argument, or a constant.
  mlir::Value scalar(mlir::Value value);

  /// An i32 counter of the workspace, zero before the first launch.
  mlir::Value counter();
  mlir::Value errorWord();
  /// An f32 that LLVM and ptxas do not know: as an immediate it would change their schedules.
  mlir::Value hiddenConstant(double value);
  /// Memory of the workspace that belongs to this kernel.
  mlir::Value workspace(mlir::Type element, int64_t bytes);

  /// Ends the kernel: writes its signature. Returns its entry in the plan without `op`.
  mlir::NamedAttrList finish();

private:
  mlir::Value parameter(mlir::Type type, mlir::NamedAttrList recipe);
  mlir::NamedAttrList recipe(llvm::StringRef kind);
  void set(mlir::NamedAttrList &list, llvm::StringRef key, int64_t value);
  unsigned argumentOf(mlir::Value buffer);

  mlir::func::FuncOp function;
  WorkspaceLayout &layout;
  LaunchOrder order;
  HopperBuilder b;
  KernelOp kernel;
  llvm::SmallVector<mlir::Attribute> recipes;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_SPACEKERNEL_H
