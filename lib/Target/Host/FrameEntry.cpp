//===- FrameEntry.cpp - the entry of a kernel -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Target/Host/Frame.h"
#include "pagefold/Target/Host/Passes.h"

namespace pagefold::host {
#define GEN_PASS_DEF_HOSTFRAMEENTRY
#include "pagefold/Target/Host/Passes.h.inc"
} // namespace pagefold::host

using namespace mlir;
using namespace pagefold;

namespace {

/// Makes `symbol(frame)`, which loads one word for each parameter of the body and calls it.
void addEntry(LLVM::LLVMFuncOp body) {
  MLIRContext *context = body.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(body);
  Location loc = body.getLoc();
  std::string symbol = body.getSymName().str();
  body.setSymName(symbol + "_body");
  body.setLinkage(LLVM::Linkage::Internal);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, symbol, type);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> words =
      loadFrame(builder, loc, block->getArgument(0), body.getArgumentTypes());
  LLVM::CallOp::create(builder, loc, body, words);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

struct HostFrameEntry : pagefold::host::impl::HostFrameEntryBase<HostFrameEntry> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        kernels.push_back(function);
    for (LLVM::LLVMFuncOp kernel : kernels)
      addEntry(kernel);
  }
};

} // namespace
