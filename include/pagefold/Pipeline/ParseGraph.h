//===- ParseGraph.h - graphs from text or bytecode --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_PARSEGRAPH_H
#define PAGEFOLD_PIPELINE_PARSEGRAPH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace pagefold {

/// The argument attribute that holds an argument's name: the launch plan and its errors use it.
inline constexpr llvm::StringLiteral kNameAttr = "pagefold.name";

/// Parses the manager's main buffer, MLIR text or bytecode. The arguments of functions get their
/// names in the source (`%lens` is `lens`) as `pagefold.name`, unless they have one. Null after an
/// error, which goes to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseGraph(const std::shared_ptr<llvm::SourceMgr> &source,
                                             mlir::MLIRContext *context);

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_PARSEGRAPH_H
