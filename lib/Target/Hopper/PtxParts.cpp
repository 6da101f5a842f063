//===- PtxParts.cpp - kernels that become PTX side by side ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxParts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static bool isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
}

/// Whether two copies of it may stand in one text: it leaves none, or is a declaration.
static bool isRepeatable(Operation &op) {
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    return function.isExternal() || (function.getLinkage() == LLVM::Linkage::Internal &&
                                     function.getAlwaysInline().value_or(false));
  auto variable = dyn_cast<LLVM::GlobalOp>(op);
  return variable && variable.getLinkage() == LLVM::Linkage::External &&
         !variable.getValueOrNull() && variable.getInitializerRegion().empty();
}

/// The functions that `kernel` calls, and what those call.
static void addCalled(LLVM::LLVMFuncOp kernel, SymbolTable &symbols,
                      llvm::SmallPtrSetImpl<Operation *> &called) {
  kernel.walk([&](LLVM::CallOp call) {
    std::optional<StringRef> name = call.getCallee();
    auto callee = name ? symbols.lookup<LLVM::LLVMFuncOp>(*name) : LLVM::LLVMFuncOp();
    if (callee && called.insert(callee).second)
      addCalled(callee, symbols, called);
  });
}

SmallVector<OwningOpRef<gpu::GPUModuleOp>>
pagefold::hopper::modulesOfKernels(gpu::GPUModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  bool repeatable = true;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && isKernel(function))
      kernels.push_back(function);
    else
      repeatable &= isRepeatable(op);
  }
  SmallVector<OwningOpRef<gpu::GPUModuleOp>> modules;
  if (kernels.size() < 2 || !repeatable) {
    modules.push_back(module.clone());
    return modules;
  }
  SymbolTable symbols(module);
  for (LLVM::LLVMFuncOp kernel : kernels) {
    llvm::SmallPtrSet<Operation *, 4> needed{kernel};
    addCalled(kernel, symbols, needed);
    auto copy = cast<gpu::GPUModuleOp>(module->cloneWithoutRegions());
    copy.getBodyRegion().emplaceBlock();
    OpBuilder builder = OpBuilder::atBlockBegin(copy.getBody());
    for (Operation &op : *module.getBody())
      if (!isa<LLVM::LLVMFuncOp>(op) || needed.contains(&op))
        builder.clone(op);
    modules.push_back(copy);
  }
  return modules;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// What stands before the first function: the header and declarations.
static StringRef headOf(StringRef text) {
  return text.take_front(std::min(text.find("\n.visible "), text.find("\n.entry ")));
}

std::string pagefold::hopper::joinPtx(ArrayRef<std::string> texts) {
  std::string joined = texts.front();
  llvm::StringSet<> known;
  auto lines = [](StringRef text) {
    SmallVector<StringRef> all;
    text.split(all, '\n', -1, /*KeepEmpty=*/false);
    return all;
  };
  for (StringRef line : lines(headOf(texts.front())))
    known.insert(line);
  for (StringRef text : texts.drop_front()) {
    StringRef head = headOf(text);
    joined += '\n';
    for (StringRef line : lines(head))
      if (known.insert(line).second)
        (joined += line) += '\n';
    joined += text.drop_front(head.size());
  }
  return joined;
}
