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
#include "pagefold/Dialect/Attn/IR/Attn.h"

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

Role roleInAttention(attn::AttentionOp op, OpOperand &use) {
  Value value = use.get();
  if (value == op.getQuery() || llvm::is_contained(op.getRowValues(), value))
    return {"tokens", ""};
  if (value == op.getKey() || value == op.getValue())
    return {"kv_tokens", ""};
  if (value == op.getRows() || value == op.getKvRows())
    return {"batch+1", ""};
  if (value == op.getBitmapStarts() || llvm::is_contained(op.getSymbols(), value))
    return {"batch", ""};
  return {};
}

Role roleOfUse(OpOperand &use, StringRef name) {
  Operation *owner = use.getOwner();
  Value value = use.get();
  if (auto op = dyn_cast<attn::CacheOp>(owner))
    return roleInCache(op, value, name);
  if (auto op = dyn_cast<attn::AttentionOp>(owner))
    return roleInAttention(op, use);
  if (auto op = dyn_cast<attn::AppendOp>(owner)) {
    if (value == op.getRows())
      return {"batch+1", ""};
    return value == op.getKey() || value == op.getValue() ? Role{"tokens", ""} : Role{};
  }
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
  for (OpOperand &use : tensor.getUses())
    if (role.first.empty())
      role = roleOfUse(use, name);
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
