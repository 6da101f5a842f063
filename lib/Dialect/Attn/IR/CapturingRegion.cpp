//===- CapturingRegion.cpp - a region and the values bound to it ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/CapturingRegion.h"

#include "pagefold/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace pagefold::attn;

BlockArgument CapturingRegion::capture(Value value) {
  for (auto [i, captured] : llvm::enumerate(OperandRange(values)))
    if (captured == value)
      return getArgument(i);
  values.append(value);
  return region->addArgument(value.getType(), value.getLoc());
}

void CapturingRegion::release(unsigned capture) {
  unsigned argument = numFixedArguments() + capture;
  region->eraseArgument(argument);
  values.erase(capture);
}

SmallVector<CapturingRegion> AppendOp::getCapturingRegions() {
  return {{"key", &getKeyPrologue(), getKeyCapturesMutable()},
          {"value", &getValuePrologue(), getValueCapturesMutable()}};
}

SmallVector<CapturingRegion> AttentionOp::getCapturingRegions() {
  return {{"query", &getQueryPrologue(), getQueryCapturesMutable()},
          {"score", &getScore(), getScoreCapturesMutable()},
          {"epilogue", &getEpilogue(), getEpilogueCapturesMutable()}};
}
