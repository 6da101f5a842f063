//===- PtxCode.cpp - PTX of a module of kernels ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Hopper/PtxCode.h"
#include "PtxParts.h"
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
#include "pagefold/Target/Hopper/LaunchRecipe.h"
#include "pagefold/Target/OptimizeModule.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <mutex>
#include <thread>

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

namespace {

/// Of what kind the kernels of a module are, all of them: how much there is to do for LLVM.
enum class Kernels {
  Any,
  Rings, ///< of rings and roles, which level 3 has written as they shall be
  Wgmma, ///< those among them around whose asynchronous products ptxas orders all else
};

/// The code generator's passes, of ring kernels without those over LLVM IR that find nothing to do
/// behind ours: the strength reduction of straight lines, and numbering values and reassociating
/// behind it; and, where it does not matter how ptxas finds the loops, without the strength
/// reduction of loops. They were up to half of its time, and it has no option to leave them out.
class CodePasses : public llvm::legacy::PassManager {
public:
  explicit CodePasses(Kernels kernels) : kernels(kernels) {}

  void add(llvm::Pass *pass) override {
    if (kernels == Kernels::Any || !isIdle(pass->getPassName()))
      return llvm::legacy::PassManager::add(pass);
    delete pass;
  }

private:
  bool isIdle(llvm::StringRef name) {
    bool loops = kernels == Kernels::Wgmma;
    if (name == "Global Value Numbering") // the second one follows the strength reduction of loops
      return numberings++ == 0 || !loops;
    if (name == "Loop Strength Reduction" || name == "Canonicalize Freeze Instructions in Loops")
      return !loops;
    return name == "Straight line strength reduction" || name == "Nary reassociation" ||
           name == "Early CSE";
  }
  Kernels kernels;
  int numberings = 0;
};

} // namespace

/// Of kPasses, for ring kernels: ptxas gives their loops the same instructions, or a few less.
/// Without indvars those with wgmma get longer ones, and all others shorter ones.
static std::string ringPasses(Kernels kernels) {
  llvm::StringRef variables = kernels == Kernels::Wgmma ? "indvars," : "";
  return ("function(simplifycfg,early-cse,instcombine<no-verify-fixpoint>,"
          "early-cse<memssa>,simplifycfg<switch-range-to-icmp>,reassociate,"
          "loop-mssa(licm<no-allowspeculation>,loop-rotate<header-duplication>,licm),"
          "loop(" +
          variables +
          "loop-unroll-full),gvn,simplifycfg<switch-range-to-icmp;"
          "switch-to-arithmetic;hoist-common-insts;sink-common-insts>,"
          "instcombine<no-verify-fixpoint>,simplifycfg<switch-range-to-icmp;switch-to-arithmetic;"
          "hoist-loads-stores-with-cond-faulting;speculate-unpredictables>)")
      .str();
}

static FailureOr<std::string> emitAssembly(llvm::Module &module, llvm::TargetMachine &machine,
                                           Kernels kernels) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  CodePasses passes(kernels);
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

namespace {

/// What becomes PTX by itself, on a thread of its own.
struct Part {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  Kernels kernels = Kernels::Any;
  FailureOr<std::string> text = failure();

  bool translate(gpu::GPUModuleOp source);
  void emit();
};

Kernels kindOf(gpu::GPUModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() && !function->hasAttr(kLaunchRecipe))
      return Kernels::Any;
  WalkResult result = module.walk([](LLVM::InlineAsmOp op) {
    return op.getAsmString().contains("wgmma") ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted() ? Kernels::Wgmma : Kernels::Rings;
}

bool Part::translate(gpu::GPUModuleOp source) {
  context.setDiscardValueNames(true); // nobody reads them
  module = translateModuleToLLVMIR(source, context);
  if (!module)
    return false;
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  markConvergent(*module);
  kernels = kindOf(source);
  return true;
}

void Part::emit() {
  pagefold::optimizeModule(*module, *machine,
                           kernels == Kernels::Any ? kPasses.str() : ringPasses(kernels));
  text = emitAssembly(*module, *machine, kernels);
}

} // namespace

/// On as many threads as there are parts and processors.
static void emitAll(llvm::MutableArrayRef<std::unique_ptr<Part>> parts) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < parts.size(); i = next++)
      parts[i]->emit();
  };
  llvm::SmallVector<std::thread, 8> others;
  size_t threads = std::min<size_t>(parts.size(), std::thread::hardware_concurrency());
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
}

FailureOr<std::string> pagefold::hopper::emitPtx(gpu::GPUModuleOp module) {
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  // One after the other: the MLIR context has no locks.
  llvm::SmallVector<std::unique_ptr<Part>> parts;
  for (OwningOpRef<gpu::GPUModuleOp> &kernel : modulesOfKernels(module)) {
    auto &part = parts.emplace_back(std::make_unique<Part>());
    std::string error;
    part->machine = createMachine(error);
    if (!part->machine)
      return module.emitError("no code generator for ") << kHopper.triple << ": " << error,
             failure();
    if (!part->translate(*kernel))
      return failure();
  }
  emitAll(parts);
  llvm::SmallVector<std::string> texts;
  for (const std::unique_ptr<Part> &part : parts) {
    if (failed(part->text))
      return module.emitError("the code generator cannot write PTX"), failure();
    texts.push_back(std::move(*part->text));
  }
  return joinPtx(texts);
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
