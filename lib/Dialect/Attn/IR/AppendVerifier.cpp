//===- AppendVerifier.cpp - the constraints of attn.append --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers are those of AttnOps.td.
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "pagefold/Dialect/Attn/IR/PrefixOps.h"

using namespace mlir;
using namespace pagefold::attn;

/// C1
static LogicalResult verifyRows(AppendOp op, StringRef name, Value rows, int64_t headDim) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(rows.getType()).getShape();
  int64_t heads = op.getCache().getType().getHeads();
  if (shape.drop_front() != ArrayRef<int64_t>{heads, headDim})
    return op.emitOpError("expects ") << name << " rows of the cache's " << heads << " heads of "
                                      << headDim << ", got " << rows.getType();
  return success();
}

LogicalResult AppendOp::verify() {
  PagedKVType cache = getCache().getType();
  if (failed(verifyRows(*this, "key", getKey(), cache.getKDim())) ||
      failed(verifyRows(*this, "value", getValue(), cache.getVDim())))
    return failure();
  int64_t keyTokens = cast<RankedTensorType>(getKey().getType()).getDimSize(0);
  int64_t valueTokens = cast<RankedTensorType>(getValue().getType()).getDimSize(0);
  if (!sizesAgree(keyTokens, valueTokens))
    return emitOpError("expects as many tokens of values as of keys, ")
           << keyTokens << ", got " << valueTokens;
  return success();
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

/// A loop around the append in which the cache is not defined: its next turn would append to a
/// value that this turn has used up.
static Operation *getLoopThatReappends(AppendOp op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (parent->isProperAncestor(op.getCache().getParentRegion()->getParentOp()) ||
        op.getCache().getParentRegion()->getParentOp() == parent)
      return nullptr;
    if (isa<LoopLikeOpInterface>(parent))
      return parent;
  }
  return nullptr;
}

/// C5, and C2 of attn.cut_prefix
static LogicalResult verifyLinear(AppendOp op) {
  if (op.getCache().getDefiningOp<CutPrefixOp>())
    return op.emitOpError("expects a whole cache, got a part that attn.cut_prefix has cut out");
  DominanceInfo dominance;
  for (Value alias : getAliases(op.getCache()))
    for (Operation *user : alias.getUsers()) {
      if (!dominance.properlyDominates(op, user, /*enclosingOpOk=*/false))
        continue;
      InFlightDiagnostic diagnostic = user->emitOpError(
          "expects the newest value of the cache, got one that an append has used up");
      diagnostic.attachNote(op.getLoc()) << "appended here: use this op's result instead";
      return diagnostic;
    }
  if (Operation *loop = getLoopThatReappends(op)) {
    InFlightDiagnostic diagnostic = op.emitOpError(
        "expects the cache to be carried through the loop around it, got one from outside");
    diagnostic.attachNote(loop->getLoc()) << "the loop is here";
    return diagnostic;
  }
  return success();
}

/// C2 to C5
LogicalResult AppendOp::verifyRegions() {
  struct Rows {
    StringRef name;
    Value rows;
    Region &prologue;
    ValueRange captures;
  };
  for (const Rows &r : {Rows{"key", getKey(), getKeyPrologue(), getKeyCaptures()},
                        Rows{"value", getValue(), getValuePrologue(), getValueCaptures()}}) {
    auto type = cast<RankedTensorType>(r.rows.getType());
    if (failed(verifyPrologue(*this, r.name, r.prologue, type, r.captures)))
      return failure();
    Type element = getPrologueElementType(r.prologue, type),
         want = getCache().getType().getElementType();
    if (element != want && !getCache().getType().isScaled())
      return emitOpError("expects ")
             << r.name << " rows of the cache's element type " << want << ", got " << element;
  }
  return verifyLinear(*this);
}
