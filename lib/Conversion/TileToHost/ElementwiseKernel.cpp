//===- ElementwiseKernel.cpp - elementwise ops that fused into nothing ----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitters.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

/// Operands, and the constants and scalars that the body uses, as they are found in the kernel.
static IRMapping mapOperands(Kernel &kernel, linalg::GenericOp op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, kernel.find(operand));
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op.getRegion(), captures);
  for (Value capture : captures)
    mapping.map(capture, kernel.find(capture));
  return mapping;
}

void host::cloneElementwise(Kernel &kernel, linalg::GenericOp op) {
  IRMapping mapping = mapOperands(kernel, op);
  kernel.builder().clone(*op, mapping);
}

/// The extent of every loop: that of the result, whose map is a permutation.
static HostBuilder::Values loopExtents(HostBuilder &b, linalg::GenericOp op, Value result) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  HostBuilder::Values extents(op.getNumLoops());
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    extents[cast<AffineDimExpr>(expr).getPosition()] = b.dim(result, i);
  return extents;
}

/// The indices of the loops in ticket number `rest`, the last loop fastest.
static HostBuilder::Values delinearize(HostBuilder &b, Value rest, ValueRange extents) {
  HostBuilder::Values indices(extents.size());
  for (size_t i = extents.size(); i-- > 1;) {
    indices[i] = b.remainder(rest, extents[i]);
    rest = b.divide(rest, extents[i]);
  }
  if (!indices.empty())
    indices.front() = rest;
  return indices;
}

/// Where an operand is read or written at `loops`: its map has dimensions and constants.
static HostBuilder::Values applyMap(HostBuilder &b, AffineMap map, ValueRange loops) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) -> Value {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return loops[dim.getPosition()];
    return b.index(cast<AffineConstantExpr>(expr).getValue());
  });
}

void host::emitElementwise(Kernel &kernel, linalg::GenericOp op) {
  HostBuilder &b = kernel.builder();
  IRMapping mapping = mapOperands(kernel, op);
  OpOperand *init = op.getDpsInitOperand(0);
  Value result = mapping.lookup(init->get());
  HostBuilder::Values extents = loopExtents(b, op, result);
  Value count = b.index(1);
  for (Value extent : extents)
    count = b.mul(count, extent);
  kernel.forTickets(count, [&](Value ticket) {
    HostBuilder::Values loops = delinearize(b, ticket, extents);
    auto placeOf = [&](OpOperand &operand) {
      return applyMap(b, op.getMatchingIndexingMap(&operand), loops);
    };
    for (OpOperand &operand : op->getOpOperands())
      if (Value argument = op.getMatchingBlockArgument(&operand); !argument.use_empty()) {
        Value buffer = mapping.lookup(operand.get());
        bool isBuffer = isa<MemRefType>(buffer.getType());
        mapping.map(argument, isBuffer ? b.load(buffer, placeOf(operand)) : buffer);
      }
    for (Operation &inner : op.getBody()->without_terminator()) {
      auto index = dyn_cast<linalg::IndexOp>(inner);
      if (index)
        mapping.map(index.getResult(), loops[index.getDim()]);
      else
        b.clone(inner, mapping);
    }
    Value value = mapping.lookup(op.getBody()->getTerminator()->getOperand(0));
    memref::StoreOp::create(b, value, result, placeOf(*init));
  });
}
