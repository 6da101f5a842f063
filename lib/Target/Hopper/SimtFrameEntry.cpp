//===- SimtFrameEntry.cpp - the entry of a simt kernel --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "pagefold/Target/Hopper/Passes.h"
#include "pagefold/Target/Host/Frame.h"

namespace pagefold::hopper {
#define GEN_PASS_DEF_SIMTFRAMEENTRY
#include "pagefold/Target/Hopper/Passes.h.inc"
} // namespace pagefold::hopper

using namespace mlir;
using namespace pagefold;

namespace {

/// The parameters of a memref of rank 1: address, address, offset, extent, stride.
constexpr unsigned kErrorWordParams = 5;
constexpr int64_t kErrorWordExtent = 4;

/// The frame is read in place: with grid_constant no copy of it is made.
void describeFrame(LLVM::LLVMFuncOp entry, int64_t words) {
  Builder builder(entry.getContext());
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), words);
  entry.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
  entry.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(8));
  entry.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
}

LLVM::LLVMFuncOp createEntry(OpBuilder &builder, LLVM::LLVMFuncOp body, StringRef symbol) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, pointer});
  auto entry = LLVM::LLVMFuncOp::create(builder, body.getLoc(), symbol, type);
  entry->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  entry->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  for (StringRef name :
       {NVVM::NVVMDialect::getReqntidAttrName(), NVVM::NVVMDialect::getMinctasmAttrName()})
    if (Attribute value = body->removeAttr(name))
      entry->setAttr(name, value);
  return entry;
}

void addEntry(LLVM::LLVMFuncOp body) {
  OpBuilder builder(body.getContext());
  builder.setInsertionPointAfter(body);
  Location loc = body.getLoc();
  std::string symbol = body.getSymName().str();
  body.setSymName(symbol + "_body");
  body.setLinkage(LLVM::Linkage::Internal);
  body.setAlwaysInline(true);
  LLVM::LLVMFuncOp entry = createEntry(builder, body, symbol);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  ArrayRef<Type> types = body.getArgumentTypes().drop_back(kErrorWordParams);
  describeFrame(entry, types.size());
  SmallVector<Value> arguments = loadFrame(builder, loc, block->getArgument(0), types);
  Value errorWord = block->getArgument(1);
  auto number = [&](int64_t value) {
    return Value(
        LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getIndexAttr(value)));
  };
  arguments.append({errorWord, errorWord, number(0), number(kErrorWordExtent), number(1)});
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

struct SimtFrameEntry : pagefold::hopper::impl::SimtFrameEntryBase<SimtFrameEntry> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> bodies;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && !function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
        bodies.push_back(function);
    for (LLVM::LLVMFuncOp body : bodies)
      addEntry(body);
  }
};

} // namespace
