//===- AttnTypes.cpp - types of the attn dialect ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold::attn;

#define GET_TYPEDEF_CLASSES
#include "pagefold/Dialect/Attn/IR/AttnTypes.cpp.inc"

void AttnDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "pagefold/Dialect/Attn/IR/AttnTypes.cpp.inc"
      >();
}

bool PagedKVType::isElement(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type) || isScaled(type);
}

LogicalResult PagedKVType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                                  int64_t kDim, int64_t vDim, Type elementType, int64_t pageSize) {
  if (heads < 1)
    return emitError() << "expects at least 1 head, got " << heads;
  for (auto [name, dim] : {std::pair{"k_dim", kDim}, std::pair{"v_dim", vDim}})
    if (!isHeadDim(dim))
      return emitError() << "expects " << name << " to be a multiple of 8 from 8 to 512, got "
                         << dim;
  if (!isElement(elementType))
    return emitError() << "expects f32, f16, bf16 or f8E4M3FN elements, got " << elementType;
  if (pageSize < 1 || pageSize > 1024)
    return emitError() << "expects a page of 1 to 1024 tokens, got " << pageSize;
  return success();
}
