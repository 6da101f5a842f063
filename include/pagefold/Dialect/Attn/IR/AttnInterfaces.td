//===- AttnInterfaces.td - interfaces of the attn dialect --*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_ATTNINTERFACES
#define PAGEFOLD_DIALECT_ATTN_IR_ATTNINTERFACES

include "mlir/IR/OpBase.td"

def RowWiseOpInterface : OpInterface<"RowWiseOpInterface"> {
  let cppNamespace = "::pagefold::attn";
  let description = [{
    An op that maps each (token, head) row of one operand to the row of its result, and reads nothing else
    of that operand. Such ops may stand in the prologues of `attn.attention` and `attn.append`.
  }];
  let methods = [InterfaceMethod<"The operand whose rows it maps", "::mlir::OpOperand &", "getRowOperand">];
}

#endif // PAGEFOLD_DIALECT_ATTN_IR_ATTNINTERFACES
