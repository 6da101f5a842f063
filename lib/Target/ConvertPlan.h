//===- ConvertPlan.h - tile.plan to the runtime's plan ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_TARGET_CONVERTPLAN_H
#define PAGEFOLD_LIB_TARGET_CONVERTPLAN_H

#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/runtime/Artifact.h"

namespace pagefold {

/// The launch plan of a function as the runtime has it. An element type that the runtime does not
/// know is an error; every other rule is the runtime's verify().
mlir::FailureOr<runtime::FunctionPlan> convertPlan(tile::PlanOp op);

} // namespace pagefold

#endif // PAGEFOLD_LIB_TARGET_CONVERTPLAN_H
