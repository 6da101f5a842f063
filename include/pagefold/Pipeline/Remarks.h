//===- Remarks.h - what the passes say of their choices --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collected once, told three ways: as lines (--explain while a graph does not get as far as a
// plan), in the artifact (runtime/Artifact.h), and as errors, where a compile is strict and a
// remark is of a fallback.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_REMARKS_H
#define PAGEFOLD_PIPELINE_REMARKS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "pagefold/runtime/Artifact.h"
#include <string>
#include <vector>

namespace pagefold {

/// What a pass said, and where.
struct PlacedRemark {
  std::string function;
  mlir::Location location;
  runtime::Remark remark;
};

/// The remarks of a context's passes.
class Remarks {
public:
  Remarks() = default;
  Remarks(const Remarks &) = delete;
  Remarks &operator=(const Remarks &) = delete;

  /// Collects from now on what the passes of `context` say. This must outlive the context, which
  /// has no other collector of remarks.
  void collect(mlir::MLIRContext &context);

  const std::vector<PlacedRemark> &all() const { return remarks; }

  /// Remarks stand in the module between stages, so that a stage's output can be fed back in:
  /// takes those of the stages before, without their places, and writes all down.
  void take(mlir::ModuleOp module);
  void keep(mlir::ModuleOp module) const;

  /// A line each: "Passed tile-select-schedule: in decode: ...".
  std::string lines() const;

  /// An error for each fallback since the last call, at its place: what was done, why, and what to
  /// do instead.
  mlir::LogicalResult refuseFallbacks();

private:
  class Streamer;
  std::vector<PlacedRemark> remarks;
  size_t refused = 0; ///< remarks that refuseFallbacks() has seen
};

/// A remark that tells of a fallback: the compiler does what is slower, which nobody asked for.
struct FallbackRow {
  llvm::StringLiteral pass, name; ///< of the remark
  llvm::StringLiteral instead;    ///< what to change
};
llvm::ArrayRef<FallbackRow> fallbackTable();

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_REMARKS_H
