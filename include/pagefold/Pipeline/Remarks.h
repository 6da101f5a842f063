//===- Remarks.h - what the passes say of their choices --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_REMARKS_H
#define PAGEFOLD_PIPELINE_REMARKS_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

namespace pagefold {

/// Writes every remark of the context's passes to `os`, which must outlive the context, a line
/// each: "Passed tile-select-schedule: in decode: ...".
void streamRemarks(mlir::MLIRContext &context, llvm::raw_ostream &os);

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_REMARKS_H
