//===- ArgumentShapes.cpp - names for the dynamic sizes of arguments ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentShapes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "pagefold/Dialect/Attn/IR/PrefixOps.h"

using namespace mlir;
using namespace pagefold;

namespace {

/// The symbol of dim 0 and, for a page table, of dim 1.
struct Role {
  std::string first, second;
};

Role roleInCache(attn::CacheOp op, Value value, StringRef name) {
  if (value == op.getLens())
    return {"batch", ""};
  if (value == op.getStarts())
    return {"batch+1", ""};
  if (value == op.getTable())
    return op.getStarts() ? Role{} : Role{"batch", (name + ".width").str()};
  return {(op->getName().stripDialect() + ".pages").str(), ""};
}

Role roleOfUse(OpOperand &use, StringRef name);

/// What the region does with a value that it captures: its arguments are `fixed` ones, then the
/// captures.
Role roleInRegion(Region &region, ValueRange captures, unsigned fixed, Value value,
                  StringRef name) {
  for (auto [i, capture] : llvm::enumerate(captures))
    if (capture == value && !region.empty())
      for (OpOperand &use : region.getArgument(fixed + i).getUses())
        if (Role role = roleOfUse(use, name); !role.first.empty())
          return role;
  return {};
}

/// A table that is read at the row of the batch, or of the request, has as many rows.
Role roleOfLookup(attn::LookupOp op, Value value) {
  if (op.getTable() != value || op.getIndices().empty())
    return {};
  return op.getIndices()[0].getDefiningOp<attn::TokenOp>() ? Role{"tokens", ""} : Role{};
}

/// An elementwise op runs over [tokens, ...].
Role roleInGeneric(linalg::GenericOp op, OpOperand &use) {
  AffineMap map = op.getMatchingIndexingMap(&use);
  bool first = map.getNumResults() && map.getResult(0) == getAffineDimExpr(0, op.getContext());
  return first ? Role{"tokens", ""} : Role{};
}

Role roleInAttention(attn::AttentionOp op, OpOperand &use, StringRef name) {
  Value value = use.get();
  if (value == op.getQuery() || llvm::is_contained(op.getRowValues(), value))
    return {"tokens", ""};
  if (value == op.getKey() || value == op.getValue())
    return {"kv_tokens", ""};
  if (value == op.getRows() || value == op.getKvRows())
    return {"batch+1", ""};
  if (value == op.getBitmapStarts() || llvm::is_contained(op.getSymbols(), value))
    return {"batch", ""};
  if (Role role = roleInRegion(op.getQueryPrologue(), op.getQueryCaptures(), 1, value, name);
      !role.first.empty())
    return role;
  if (Role role = roleInRegion(op.getScore(), op.getScoreCaptures(), 5, value, name);
      !role.first.empty())
    return role;
  return roleInRegion(op.getEpilogue(), op.getEpilogueCaptures(), 4, value, name);
}

Role roleInAppend(attn::AppendOp op, Value value, StringRef name) {
  if (value == op.getRows())
    return {"batch+1", ""};
  if (value == op.getKey() || value == op.getValue())
    return {"tokens", ""};
  Role role = roleInRegion(op.getKeyPrologue(), op.getKeyCaptures(), 1, value, name);
  return role.first.empty()
             ? roleInRegion(op.getValuePrologue(), op.getValueCaptures(), 1, value, name)
             : role;
}

Role roleOfUse(OpOperand &use, StringRef name) {
  Operation *owner = use.getOwner();
  Value value = use.get();
  if (auto op = dyn_cast<attn::CacheOp>(owner))
    return roleInCache(op, value, name);
  if (auto op = dyn_cast<attn::AttentionOp>(owner))
    return roleInAttention(op, use, name);
  if (auto op = dyn_cast<attn::AppendOp>(owner))
    return roleInAppend(op, value, name);
  if (auto op = dyn_cast<attn::CutPrefixOp>(owner))
    return value == op.getRows()     ? Role{"batch+1", ""}
           : value == op.getTokens() ? Role{"tokens", ""}
                                     : Role{};
  if (auto op = dyn_cast<attn::LookupOp>(owner))
    return roleOfLookup(op, value);
  if (auto op = dyn_cast<linalg::GenericOp>(owner))
    return roleInGeneric(op, use);
  if (auto op = dyn_cast<attn::RopeOp>(owner)) {
    if (value == op.getRows())
      return {"batch+1", ""};
    if (value == op.getInput() || value == op.getPositions())
      return {"tokens", ""};
    return {"rope_positions", ""};
  }
  if (isa<attn::RmsNormOp>(owner) && use.getOperandNumber() == 0)
    return {"tokens", ""};
  if (isa<attn::MergeOp>(owner))
    return {"tokens", ""};
  return {};
}

} // namespace

ArrayAttr pagefold::describeShape(Value tensor, StringRef name) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Role role;
  for (OpOperand &use : tensor.getUses()) {
    Role found = roleOfUse(use, name);
    // What small ops make of it is a buffer of [tokens, ...], so that tokens win over kv_tokens.
    if (role.first.empty() || found.first == "tokens")
      role = found;
  }
  Builder builder(type.getContext());
  SmallVector<Attribute> dims;
  for (auto [i, extent] : llvm::enumerate(type.getShape())) {
    StringRef symbol = i == 0 ? role.first : i == 1 ? role.second : StringRef();
    if (!ShapedType::isDynamic(extent))
      dims.push_back(builder.getI64IntegerAttr(extent));
    else if (!symbol.empty())
      dims.push_back(builder.getStringAttr(symbol));
    else
      dims.push_back(builder.getUnitAttr());
  }
  return builder.getArrayAttr(dims);
}

ArrayAttr pagefold::describeTokens(RankedTensorType type) {
  Builder builder(type.getContext());
  SmallVector<Attribute> dims;
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(extent))
      dims.push_back(builder.getI64IntegerAttr(extent));
    else if (i == 0)
      dims.push_back(builder.getStringAttr("tokens"));
    else
      dims.push_back(builder.getUnitAttr());
  return builder.getArrayAttr(dims);
}
