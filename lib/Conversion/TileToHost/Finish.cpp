//===- Finish.cpp - from a state to output and log-sum-exp ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Finish.h"
#include "ScalarRegions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

Finish::Finish(Kernel &kernel, Value output, Value lse, Value sinks, Region &epilogue)
    : kernel(kernel), b(kernel.builder()), output(kernel.find(output)),
      lse(lse ? kernel.find(lse) : Value()), sinks(sinks ? kernel.find(sinks) : Value()),
      epilogue(epilogue) {}

void Finish::emit(const RowState &state, const OutputPlace &place) {
  Value top = state.max, sum = state.sum, scale = b.f32(1);
  if (sinks) {
    // The sink is one more score, of a key without value.
    Value sink = b.loadF32(sinks, {place.head});
    top = b.fmax(state.max, sink);
    Value finite = b.finiteMax(top);
    scale = b.exp(b.fsub(state.max, finite));
    sum = b.fma(state.sum, scale, b.exp(b.fsub(sink, finite)));
  }
  // A row that sees nothing has sum 0 and accumulator 0.
  Value empty = b.fcompare(arith::CmpFPredicate::OEQ, sum, b.f32(0));
  Value inverse = b.select(empty, b.f32(0), b.fdiv(scale, sum));
  if (lse) {
    Value log = b.fadd(top, math::LogOp::create(b, sum));
    Value nothing = b.f32(-std::numeric_limits<double>::infinity());
    b.store(b.select(empty, nothing, log), lse, {place.token, place.head});
  }
  int64_t width = cast<MemRefType>(output.getType()).getDimSize(2);
  b.forVectors(width, [&](Value offset, int64_t lanes) {
    HostBuilder::Values at(state.accIndices);
    at.push_back(offset);
    auto value = [&] {
      return b.fmul(b.loadVector(state.acc, at, lanes), b.splat(inverse, lanes));
    };
    LazyArgument arguments[] = {value,
                                [&] { return b.toI32(place.row); },
                                [&] { return b.toI32(place.head); },
                                [&] { return iota(b, b.toI32(offset), lanes); },
                                [&] { return b.toI32(place.position); },
                                [&] { return b.toI32(place.token); }};
    b.storeVector(emitScalarRegion(kernel, epilogue, arguments, lanes), output,
                  {place.token, place.head, offset});
  });
}
