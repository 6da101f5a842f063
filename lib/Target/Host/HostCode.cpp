//===- HostCode.cpp - machine code for the host ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Host/HostCode.h"
#include "lld/Common/Driver.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "pagefold/Target/OptimizeModule.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace pagefold::host;

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

HostTarget HostTarget::ofThisMachine() {
  HostTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    if (feature.getValue())
      target.features.push_back(feature.getKey().str());
  llvm::sort(target.features);
  return target;
}

HostTarget HostTarget::ofCpu(llvm::StringRef cpu) {
  HostTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = cpu.str();
  llvm::SmallVector<llvm::StringRef> features;
  if (llvm::X86::parseArchX86(cpu) != llvm::X86::CK_None)
    llvm::X86::getFeaturesForCPU(cpu, features);
  for (llvm::StringRef feature : features)
    target.features.push_back(feature.str());
  llvm::sort(target.features);
  return target;
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const HostTarget &target,
                                                          std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  std::string features;
  for (const std::string &feature : target.features)
    features += (features.empty() ? "+" : ",+") + feature;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, target.cpu, features, options, llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Default));
}

//===----------------------------------------------------------------------===//
// From LLVM IR to an object
//===----------------------------------------------------------------------===//

// The loops and vectors are ours already: what is left is cleaning up, moving out of loops, and
// unrolling short ones. The default O2 pipeline takes three times as long for the same code.
// Named in text, instcombine would end the process where one run does not reach its fixpoint.
static constexpr llvm::StringLiteral kPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,early-cse<memssa>,"
    "loop-unroll<O2>,instcombine<no-verify-fixpoint>,simplifycfg)";

static FailureOr<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module,
                                                        llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return failure();
  passes.run(module);
  return object;
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

/// Runs lld, which keeps global state, on temporary files.
static FailureOr<std::string> link(llvm::ArrayRef<char> object, std::string &error) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  llvm::SmallString<128> input, output;
  int descriptor;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("pagefold", "o", descriptor, input)) {
    error =
        "cannot write a temporary file: " + code.message() + "; set TMPDIR to a writable directory";
    return failure();
  }
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true)
      << llvm::StringRef(object.data(), object.size());
  output = input;
  output += ".so";
  llvm::scope_exit remove([&] {
    llvm::sys::fs::remove(input);
    llvm::sys::fs::remove(output);
  });
  const char *arguments[] = {"ld.lld", "-shared",      "--threads=1",
                             "-o",     output.c_str(), input.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  auto bytes = llvm::MemoryBuffer::getFile(output);
  if (result.retCode != 0 || !bytes) {
    error = "linking failed: " + messages;
    return failure();
  }
  return (*bytes)->getBuffer().str();
}

//===----------------------------------------------------------------------===//
// All together
//===----------------------------------------------------------------------===//

namespace {

/// LLVM IR, optimised for a machine.
struct Translation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;

  LogicalResult run(ModuleOp source, const HostTarget &target);
};

LogicalResult Translation::run(ModuleOp source, const HostTarget &target) {
  std::string error;
  machine = createMachine(target, error);
  if (!machine)
    return source.emitError("no code generator for ") << target.triple << ": " << error;
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(target.cpu))
    return source.emitError("expects a processor that LLVM knows for ")
           << target.triple << ", got " << target.cpu;
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  source.getContext()->appendDialectRegistry(registry);
  module = translateModuleToLLVMIR(source, context);
  if (!module)
    return failure();
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  pagefold::optimizeModule(*module, *machine, kPasses);
  return success();
}

} // namespace

FailureOr<std::string> pagefold::host::emitLLVMIR(ModuleOp module, const HostTarget &target) {
  Translation translation;
  if (failed(translation.run(module, target)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  translation.module->print(os, nullptr);
  return text;
}

FailureOr<std::string> pagefold::host::emitSharedObject(ModuleOp module, const HostTarget &target) {
  Translation translation;
  translation.context.setDiscardValueNames(true); // nobody reads them
  if (failed(translation.run(module, target)))
    return failure();
  FailureOr<llvm::SmallVector<char, 0>> object =
      emitObject(*translation.module, *translation.machine);
  if (failed(object))
    return module.emitError("the code generator cannot write an object file for ") << target.triple,
           failure();
  std::string error;
  FailureOr<std::string> linked = link(*object, error);
  if (failed(linked))
    return module.emitError(error), failure();
  return linked;
}
