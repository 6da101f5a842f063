//===- ExpandMath.cpp - transcendental functions as polynomials -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "pagefold/Target/Host/Passes.h"

namespace pagefold::host {
#define GEN_PASS_DEF_HOSTEXPANDMATH
#include "pagefold/Target/Host/Passes.h.inc"
} // namespace pagefold::host

using namespace mlir;

namespace {

struct HostExpandMath : pagefold::host::impl::HostExpandMathBase<HostExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // rsqrt and its kind stay: upstream would make them x86 intrinsics.
    populateMathPolynomialApproximationPatterns(
        patterns, [](StringRef name) { return name != "math.rsqrt"; });
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
