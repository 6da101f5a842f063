//===- AttnDialect.cpp - the attn dialect -------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
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

/// What is ours on ops of others; a misspelt name would otherwise silently declare nothing.
LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name != kBoundsName && name != kGraphName)
    return op->emitError() << "expects no attribute '" << name
                           << "' of the attn dialect, which knows '" << kBoundsName << "' and '"
                           << kGraphName << "' only";
  if (!isa<FunctionOpInterface>(op))
    return op->emitError() << "expects '" << name << "' on a function, got it on '" << op->getName()
                           << "'";
  if (name == kGraphName)
    return isa<StringAttr>(attribute.getValue()) ? success()
                                                 : op->emitError() << "expects '" << name
                                                                   << "' to be a string, got "
                                                                   << attribute.getValue();
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (list && llvm::all_of(list, llvm::IsaPred<BoundsAttr>))
    return verifyBoundsList([&] { return op->emitError(); }, declaredBounds(op));
  if (!isa<BoundsAttr>(attribute.getValue()))
    return op->emitError() << "expects '" << name
                           << "' to be an #attn.bounds attribute or a list of them, got "
                           << attribute.getValue();
  return success();
}
