//===- PtxCode.cpp - PTX of a module of kernels ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Hopper/PtxCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/OptimizeModule.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using namespace pagefold::hopper;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

static std::unique_ptr<llvm::TargetMachine> createMachine(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple(kHopper.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, kHopper.name, kHopper.features, llvm::TargetOptions(),
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Inline assembly may synchronise a warp (barriers, matrix loads, wgmma), and the dialect's op
/// cannot say so: without the mark LLVM may move it under a branch that lanes take apart.
static void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
        call->setConvergent();
}

// What default<O3> does to our kernels, without the passes that change none of their instructions:
// found by leaving out one after another while ptxas gave the same code for each kernel of
// pagefold-bench prefill. The whole of O3 takes two and a half times as long.
static constexpr llvm::StringLiteral kPasses =
    "function(simplifycfg,early-cse,sccp,instcombine<no-verify-fixpoint>),always-inline,"
    "function(sroa,early-cse<memssa>,correlated-propagation,simplifycfg<switch-range-to-icmp>,"
    "instcombine<no-verify-fixpoint>,reassociate,loop-mssa(licm<no-allowspeculation>,"
    "loop-rotate<header-duplication>,licm),instcombine<no-verify-fixpoint>,"
    "loop(indvars,loop-unroll-full),sroa,vector-combine,gvn,correlated-propagation,"
    "simplifycfg<switch-range-to-icmp;switch-to-arithmetic;hoist-common-insts;sink-common-insts>,"
    "infer-alignment,loop-unroll<O3>,sroa<preserve-cfg>,instcombine<no-verify-fixpoint>,"
    "div-rem-pairs,simplifycfg<switch-range-to-icmp;switch-to-arithmetic;"
    "hoist-loads-stores-with-cond-faulting;speculate-unpredictables>)";

static FailureOr<std::string> emitAssembly(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return failure();
  passes.run(module);
  return text.str().str();
}

static void registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

FailureOr<std::string> pagefold::hopper::emitPtx(gpu::GPUModuleOp module) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(error);
  if (!machine)
    return module.emitError("no code generator for ") << kHopper.triple << ": " << error, failure();
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  context.setDiscardValueNames(true); // nobody reads them
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context);
  if (!translated)
    return failure();
  translated->setDataLayout(machine->createDataLayout());
  translated->setTargetTriple(machine->getTargetTriple());
  markConvergent(*translated);
  optimizeModule(*translated, *machine, kPasses);
  FailureOr<std::string> text = emitAssembly(*translated, *machine);
  if (failed(text))
    return module.emitError("the code generator cannot write PTX"), failure();
  return text;
}

//===----------------------------------------------------------------------===//
// The translation
//===----------------------------------------------------------------------===//

static LogicalResult translate(ModuleOp module, llvm::raw_ostream &output) {
  auto kernels = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (kernels.size() != 1)
    return module.emitError("expects one gpu.module, got ") << kernels.size();
  FailureOr<std::string> text = emitPtx(kernels.front());
  if (failed(text))
    return failure();
  output << *text;
  return success();
}

void pagefold::hopper::registerPtxTranslation() {
  TranslateFromMLIRRegistration registration(
      "hopper-to-ptx", "PTX for sm_90a of a gpu.module of the llvm and nvvm dialects", translate,
      [](DialectRegistry &registry) {
        registry.insert<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
        registry.insert<pagefold::tile::TileDialect>(); // plans stand beside the gpu.module
        registerTranslations(registry);
      });
}
