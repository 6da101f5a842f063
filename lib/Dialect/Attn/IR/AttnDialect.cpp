//===- AttnDialect.cpp - the attn dialect -------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/PrefixOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold::attn;

#include "pagefold/Dialect/Attn/IR/AttnDialect.cpp.inc"
#include "pagefold/Dialect/Attn/IR/AttnEnums.cpp.inc"
#include "pagefold/Dialect/Attn/IR/AttnInterfaces.cpp.inc"

void AttnDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "pagefold/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "pagefold/Dialect/Attn/IR/PrefixOps.cpp.inc"
      >();
}

/// `attn.bounds` is the only attribute of ours that other ops may carry: a misspelt one would
/// otherwise silently declare nothing.
LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != "attn.bounds")
    return op->emitError() << "expects no attribute '" << attribute.getName().getValue()
                           << "' of the attn dialect, which knows 'attn.bounds' only";
  if (!isa<FunctionOpInterface>(op))
    return op->emitError() << "expects 'attn.bounds' on a function, got it on '" << op->getName()
                           << "'";
  if (!isa<BoundsAttr>(attribute.getValue()))
    return op->emitError() << "expects 'attn.bounds' to be an #attn.bounds attribute, got "
                           << attribute.getValue();
  return success();
}
