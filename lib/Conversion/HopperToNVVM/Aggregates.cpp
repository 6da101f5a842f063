//===- Aggregates.cpp - elements of structs and vectors -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace pagefold::hopper;

Value pagefold::hopper::insertedAt(Value aggregate, int64_t index) {
  while (Operation *op = aggregate.getDefiningOp()) {
    if (auto insert = dyn_cast<LLVM::InsertValueOp>(op)) {
      if (insert.getPosition().size() != 1)
        return {};
      if (insert.getPosition().front() == index)
        return insert.getValue();
      aggregate = insert.getContainer();
      continue;
    }
    auto insert = dyn_cast<LLVM::InsertElementOp>(op);
    APInt position;
    if (!insert || !matchPattern(insert.getPosition(), m_ConstantInt(&position)))
      return {};
    if (position == static_cast<uint64_t>(index))
      return insert.getValue();
    aggregate = insert.getVector();
  }
  return {};
}

/// What an extraction gives where its element was inserted; else null.
static Value extracted(Operation *op) {
  if (auto extract = dyn_cast<LLVM::ExtractValueOp>(op))
    return extract.getPosition().size() == 1
               ? insertedAt(extract.getContainer(), extract.getPosition().front())
               : Value();
  APInt position;
  auto extract = dyn_cast<LLVM::ExtractElementOp>(op);
  if (extract && matchPattern(extract.getPosition(), m_ConstantInt(&position)))
    return insertedAt(extract.getVector(), position.getZExtValue());
  return {};
}

void pagefold::hopper::foldAggregates(LLVM::LLVMFuncOp function) {
  function.walk([](Operation *op) {
    if (Value value = extracted(op))
      op->getResult(0).replaceAllUsesWith(value);
  });
  for (Block &block : llvm::reverse(function.getBody()))
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}
