//===- JoinRows.cpp - one kernel for several ops of rows ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "RowWork.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILEJOINROWS
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold::tile;

namespace {

using Works = SmallVector<Operation *>;

/// Sequences of works that need nothing of each other, with nothing but definitions in between.
SmallVector<Works> findTogether(Block &block) {
  SmallVector<Works> found(1);
  for (Operation &op : block) {
    if (!isRowWork(&op) && isPassed(&op))
      continue;
    bool joins = isRowWork(&op) &&
                 llvm::none_of(found.back(), [&](Operation *work) { return conflict(work, &op); });
    if (!joins)
      found.emplace_back();
    if (isRowWork(&op))
      found.back().push_back(&op);
  }
  llvm::erase_if(found, [](const Works &works) { return works.size() < 2; });
  return found;
}

struct TileJoinRows : pagefold::tile::impl::TileJoinRowsBase<TileJoinRows> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](FunctionOpInterface function) {
      for (Block &block : function.getFunctionBody())
        blocks.push_back(&block);
    });
    for (Block *block : blocks)
      for (const Works &works : findTogether(*block))
        join(works);
  }

  /// Where the last of them stands: everything that they use is defined before it.
  static void join(const Works &works) {
    remark::passed(works.back()->getLoc(), remarkOf(works.back(), "JoinRows", "tile-join-rows"))
        << (Twine(works.size()) + " kernels of rows are one launch").str();
    OpBuilder builder(works.back());
    auto together = TogetherOp::create(builder, works.front()->getLoc());
    Block &block = together.getBody().emplaceBlock();
    for (Operation *work : works)
      work->moveBefore(&block, block.end());
  }
};

} // namespace
