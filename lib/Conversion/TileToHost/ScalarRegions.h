//===- ScalarRegions.h - regions over scalars, on vectors -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_SCALARREGIONS_H
#define PAGEFOLD_CONVERSION_TILETOHOST_SCALARREGIONS_H

#include "Kernel.h"

namespace pagefold::host {

/// Gives an argument of a region when it is first used: a scalar, or a vector of the lanes at hand.
using LazyArgument = std::function<mlir::Value()>;

/// Emits a score, epilogue or row-map region. Each op becomes the same op, on vectors where one of
/// its operands is a vector. Returns what it yields, as f32 of `lanes` lanes.
mlir::Value emitScalarRegion(Kernel &kernel, mlir::Region &region,
                             llvm::ArrayRef<LazyArgument> arguments, int64_t lanes);

/// Reads table[indices], clamped; a vector where one of the indices is a vector.
mlir::Value emitLookup(HostBuilder &b, mlir::Value table, mlir::ValueRange indices, int64_t lanes);

/// first, first + 1, ...: i32.
mlir::Value iota(HostBuilder &b, mlir::Value first, int64_t lanes);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_SCALARREGIONS_H
