//===- Finish.cpp - from the state of a fold to its result ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Finish.h"

using namespace mlir;
using namespace pagefold::hopper;

Finished pagefold::hopper::finishState(HopperBuilder &b, const FoldSpace &space, Value max,
                                       Value sum, Value sink) {
  auto constant = [&](double x) { return max.getType().isF32() ? b.f32(x) : b.rows(x); };
  Value zero = constant(0), factor, naturalTop = max;
  if (sink) {
    Value own = b.mulF(max, constant(space.naturalScale()));
    naturalTop = b.maxF(own, sink);
    Value finite = b.finiteMax(naturalTop, naturalTop), log2e = constant(M_LOG2E);
    factor = b.exp2Difference(own, finite, log2e);
    Value share = b.exp2Difference(sink, finite, log2e);
    sum = b.addF(b.mulF(sum, factor), share);
  }
  Value empty = b.compareF(arith::CmpFPredicate::OEQ, sum, zero);
  Value inverse = b.approx(ApproxKind::Reciprocal, sum);
  if (factor)
    inverse = b.mulF(inverse, factor);
  Finished finished{b.select(empty, zero, inverse), {}};
  if (!space.lse)
    return finished;
  Value log = b.mulF(b.approx(ApproxKind::Log2, sum), constant(M_LN2));
  Value lse = b.addF(b.mulF(naturalTop, constant(sink ? 1 : space.naturalScale())), log);
  finished.lse = b.select(empty, constant(-std::numeric_limits<double>::infinity()), lse);
  return finished;
}
