//===- PipelinedForm.cpp - which spaces the pipeline takes ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Hopper/PipelinedForm.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

template <typename Op> static Op only(Block &block) {
  auto ops = block.getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

int64_t hopper::groupRows(int64_t group) { return llvm::PowerOf2Ceil(group); }

bool hopper::packingPays(int64_t group, int64_t queryRows, int64_t qTile) {
  if (group == 1 || groupRows(group) > qTile)
    return false;
  int64_t packed = llvm::divideCeil(queryRows * groupRows(group), qTile);
  return 2 * packed <= group * static_cast<int64_t>(llvm::divideCeil(queryRows, qTile));
}

std::string hopper::packedRefusal(tile::SpaceOp space) {
  int64_t rows = groupRows(space.getGroup()), qTile = space.getSchedule()->getQTile();
  if (!space->hasAttr(kPackedAttr) || rows <= qTile)
    return "";
  return "a group has " + std::to_string(rows) + " rows, a query tile " + std::to_string(qTile);
}

bool hopper::isPlainBuffer(Value buffer) {
  if (isa<BlockArgument>(buffer))
    return true;
  auto place = buffer.getDefiningOp<tile::WorkspaceOp>();
  if (!place || place.getDims().size() != 1)
    return false;
  auto dim = place.getDims().front().getDefiningOp<memref::DimOp>();
  return dim && isa<BlockArgument>(dim.getSource()) && isConstantIntValue(dim.getDimension(), 0);
}

static std::string bufferRefusal(tile::LoadQOp load, tile::FinishOp finish) {
  for (Value buffer : {Value(load.getQuery()), Value(finish.getOutput()), Value(finish.getLse())})
    if (buffer && !hopper::isPlainBuffer(buffer))
      return "queries or results are reshaped views";
  auto elementOf = [](Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); };
  Type query = elementOf(load.getQuery());
  if (!query.isBF16() && !query.isF16())
    return "queries are neither bf16 nor f16";
  return elementOf(finish.getOutput()) == query ? ""
                                                : "queries and results differ in their elements";
}

std::string hopper::ringRefusal(tile::SpaceOp space, QueryRegion region) {
  Block &body = space.getBody().front();
  auto fold = only<tile::FoldOp>(body);
  auto load = only<tile::LoadQOp>(body);
  auto finish = only<tile::FinishOp>(body);
  if (!fold || !load || !finish)
    return "it is not one fold from queries to results";
  if (std::string refusal = bufferRefusal(load, finish); !refusal.empty())
    return refusal;
  if (region == QueryRegion::InSpace && !tile::isIdentity(load.getBody()))
    return "queries are changed as they are loaded";
  auto map = only<tile::MapOp>(fold.getBody().front());
  auto mask = map ? map.getMask().getDefiningOp<tile::MaskOp>() : tile::MaskOp();
  if (!mask)
    return "its scores have no mask of this function";
  return mask.getBitmap() ? "the mask is a bitmap" : "";
}

Type hopper::queryElement(tile::SpaceOp space) {
  auto load = only<tile::LoadQOp>(space.getBody().front());
  return load ? cast<MemRefType>(load.getQuery().getType()).getElementType() : Type();
}

std::string hopper::pipelinedRefusal(tile::SpaceOp space, QueryRegion region) {
  Type element = space.getKv().getType().getElementType();
  if (!element.isBF16() && !element.isF16())
    return "keys are neither bf16 nor f16";
  if (Type query = queryElement(space); query && query != element)
    return "queries, keys and results differ in their elements";
  if (only<tile::AppendOp>(space.getBody().front()))
    return "it appends new keys and values";
  return ringRefusal(space, region);
}
