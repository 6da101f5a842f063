//===- Roles.cpp - what arguments are to the ops that use them ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Roles.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "pagefold/Dialect/Attn/IR/PrefixOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::run;

static Role roleInCache(attn::CacheOp op, Value value) {
  if (value == op.getKPages())
    return Role::KPages;
  if (value == op.getVPages())
    return Role::VPages;
  if (value == op.getTable())
    return op.getStarts() ? Role::PageList : Role::Table;
  if (value == op.getKScale() || value == op.getVScale())
    return Role::Scales;
  return value == op.getStarts() ? Role::ListStarts : Role::Lens;
}

/// Where an op captures `value`: the role of the region's argument.
template <typename Op> static Role roleInRegions(Op op, Value value) {
  for (attn::CapturingRegion &region : op.getCapturingRegions())
    for (auto [i, operand] : llvm::enumerate(region.values))
      if (operand.get() == value)
        if (Role role = roleOf(region.getArgument(i)); role != Role::Data)
          return role;
  return Role::Data;
}

static Role roleInAttention(attn::AttentionOp op, Value value) {
  if (value == op.getRows())
    return Role::Rows;
  if (value == op.getKvRows())
    return Role::KvRows;
  if (value == op.getKey() || value == op.getValue())
    return Role::DenseKeys;
  if (value == op.getBitmap())
    return Role::Bitmap;
  if (value == op.getBitmapStarts())
    return Role::BitmapStarts;
  if (llvm::is_contained(op.getSymbols(), value))
    return Role::Symbol;
  if (llvm::is_contained(op.getRowValues(), value))
    return Role::RowValue;
  return roleInRegions(op, value);
}

static Role roleInRope(attn::RopeOp op, Value value) {
  if (value == op.getCos())
    return Role::Cos;
  if (value == op.getSin())
    return Role::Sin;
  if (value == op.getPositions())
    return Role::Positions;
  return value == op.getRows() ? Role::Rows : Role::Data;
}

Role run::roleOf(Value value) {
  for (OpOperand &use : value.getUses()) {
    Role role = llvm::TypeSwitch<Operation *, Role>(use.getOwner())
                    .Case([&](attn::CacheOp op) { return roleInCache(op, value); })
                    .Case([&](attn::AttentionOp op) { return roleInAttention(op, value); })
                    .Case([&](attn::AppendOp op) {
                      return value == op.getRows() ? Role::Rows : roleInRegions(op, value);
                    })
                    .Case([&](attn::SharedPrefixOp op) {
                      return value == op.getLength() ? Role::SharedPrefix : Role::Data;
                    })
                    .Case([&](attn::CutPrefixOp op) {
                      return value == op.getLength() ? Role::SharedPrefix
                             : value == op.getRows() ? Role::Rows
                                                     : Role::Data;
                    })
                    .Case([&](attn::RopeOp op) { return roleInRope(op, value); })
                    .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
                        [&](Operation *op) { return roleOf(op->getResult(0)); })
                    .Default([](Operation *) { return Role::Data; });
    if (role != Role::Data)
      return role;
  }
  return value.getType().isIntOrFloat() ? Role::Scalar : Role::Data;
}

std::optional<unsigned> run::argumentOf(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value).getArgNumber();
}

std::optional<int64_t> run::cacheOf(Value value, const std::vector<CacheParameters> &caches,
                                    const std::vector<Parameter> &parameters) {
  while (isa_and_nonnull<attn::AppendOp, attn::SharedPrefixOp>(value.getDefiningOp())) {
    auto append = value.getDefiningOp<attn::AppendOp>();
    value = append ? append.getCache() : value.getDefiningOp<attn::SharedPrefixOp>().getCache();
  }
  Value kPages = value;
  if (auto op = value.getDefiningOp<attn::CacheOp>())
    kPages = op.getKPages();
  std::optional<unsigned> argument = argumentOf(kPages);
  for (size_t i = 0; argument && i < caches.size(); ++i)
    if (caches[i].kPages >= 0 && parameters[caches[i].kPages].argument == *argument)
      return static_cast<int64_t>(i);
  return std::nullopt;
}
