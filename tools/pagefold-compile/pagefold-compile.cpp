//===- pagefold-compile.cpp - from a graph to a bundle --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   pagefold-compile layer.mlir -o layer.bundle        a bundle, for the runtime
//   pagefold-compile layer.mlir --stop-after=tile      the module after a stage, as text
//   pagefold-compile layer.mlir --dump-stages=stages -o layer.bundle
//   pagefold-compile stages/2-tile.mlir --start-from=host -o layer.bundle
//
// An error leaves no output file, and the file that was there as it was.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "pagefold/InitAll.h"
#include "pagefold/Pipeline/ParseGraph.h"
#include "pagefold/Pipeline/Pipeline.h"
#include "pagefold/Pipeline/Remarks.h"
#include "pagefold/Target/Artifact.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace pagefold;
namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

namespace {

enum class Emit { MLIR, LLVM, Bundle };

auto stages() {
  return cl::values(clEnumValN(Stage::Attn, "attn", "small ops fuse"),
                    clEnumValN(Stage::Tile, "tile", "buffers, the fold, schedules, visit lists"),
                    clEnumValN(Stage::Host, "host", "vectors and loops"),
                    clEnumValN(Stage::LLVM, "llvm", "the llvm dialect"));
}

/// What the command line says.
struct Options {
  cl::OptionCategory category{"pagefold-compile"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<graph.mlir, or - for standard input>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file, - for standard output"),
                              cl::value_desc("file"), cl::init("-"), cl::cat(category)};
  cl::opt<Emit> emit{
      "emit", cl::desc("What to write (default: bundle; mlir with --stop-after)"),
      cl::values(clEnumValN(Emit::MLIR, "mlir", "the module after the last stage that ran"),
                 clEnumValN(Emit::LLVM, "llvm", "the optimised LLVM IR, to read"),
                 clEnumValN(Emit::Bundle, "bundle", "code and launch plan, for the runtime")),
      cl::init(Emit::Bundle), cl::cat(category)};

  cl::opt<Stage> startFrom{
      "start-from",
      cl::desc("First stage to run: the input is what the stage before it wrote (default: attn)"),
      stages(), cl::init(Stage::Attn), cl::cat(category)};
  cl::opt<Stage> stopAfter{"stop-after", cl::desc("Last stage to run (default: llvm)"), stages(),
                           cl::init(Stage::LLVM), cl::cat(category)};
  cl::opt<std::string> dumpStages{"dump-stages",
                                  cl::desc("Write the module after each stage to this folder"),
                                  cl::value_desc("folder"), cl::cat(category)};
  cl::opt<bool> explain{"explain", cl::desc("Say on standard error what was chosen, and why"),
                        cl::cat(category)};

  cl::opt<std::string> cpu{"cpu", cl::desc("Processor, by LLVM's name (default: this one)"),
                           cl::value_desc("name"), cl::cat(category)};
  cl::opt<bool> noFuse{"no-fuse", cl::desc("Leave small ops as kernels of their own"),
                       cl::cat(category)};
  cl::opt<bool> noOnlineSoftmax{
      "no-online-softmax", cl::desc("Keep all scores in memory: the baseline"), cl::cat(category)};
  cl::opt<bool> counters{"counters", cl::desc("Count tiles in the workspace"), cl::cat(category)};
  cl::opt<int64_t> qTile{"q-tile", cl::desc("Rows of a query tile"), cl::cat(category)};
  cl::opt<int64_t> kvTile{"kv-tile", cl::desc("Keys of a KV tile"), cl::cat(category)};
  cl::opt<int64_t> splits{"splits", cl::desc("Parts of the KV dimension"), cl::cat(category)};
  cl::opt<std::string> form{"form", cl::desc("Form of the products: outer or dot"),
                            cl::cat(category)};

  CompileOptions compileOptions() const;
  bool check();
};

} // namespace

CompileOptions Options::compileOptions() const {
  CompileOptions options;
  options.cpu = cpu;
  options.fuse = !noFuse;
  options.onlineSoftmax = !noOnlineSoftmax;
  options.counters = counters;
  options.qTile = qTile;
  options.kvTile = kvTile;
  options.splits = splits;
  options.form = form;
  return options;
}

/// Puts in defaults that depend on other options; false, having said why, where options contradict.
bool Options::check() {
  if (stopAfter.getNumOccurrences() && !emit.getNumOccurrences())
    emit = Emit::MLIR;
  if (stopAfter < startFrom) {
    llvm::WithColor::error() << "expects --stop-after not to be before --start-from\n";
    return false;
  }
  if (emit != Emit::MLIR && stopAfter != Stage::LLVM) {
    llvm::WithColor::error() << "--emit=" << (emit == Emit::LLVM ? "llvm" : "bundle")
                             << " needs all stages, got --stop-after="
                             << stageNames()[static_cast<int>(stopAfter.getValue())]
                             << "; use --emit=mlir\n";
    return false;
  }
  return true;
}

/// LLVM's libraries register options for LLVM's own tools, some under the names of ours
/// (stop-after).
static void forgetOptionsOfLLVM() {
  SmallVector<cl::Option *> options(llvm::make_second_range(cl::getRegisteredOptions()));
  for (cl::Option *option : options)
    if (option->Categories.empty() || option->Categories[0]->getName() != "Generic Options")
      option->removeArgument();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static OwningOpRef<ModuleOp> parse(const std::shared_ptr<llvm::SourceMgr> &source,
                                   MLIRContext &context, Stage startFrom) {
  // Arguments of a graph get names; those of a later stage have them in its plan.
  if (startFrom == Stage::Attn)
    return parseGraph(source, &context);
  return parseSourceFile<ModuleOp>(source, ParserConfig(&context));
}

/// What goes into the output file. Errors are diagnostics.
static FailureOr<std::string> compile(ModuleOp module, const Options &options) {
  CompileOptions chosen = options.compileOptions();
  if (failed(
          compileStages(module, options.startFrom, options.stopAfter, chosen, options.dumpStages)))
    return failure();
  if (options.emit == Emit::Bundle)
    return writeArtifact(module, targetOf(chosen));
  if (options.emit == Emit::LLVM)
    return writeLLVMIR(module, targetOf(chosen));
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Through a temporary file beside the output, renamed at the end: an error leaves the output as it
/// was.
static llvm::Error writeFile(llvm::StringRef bytes, llvm::StringRef path) {
  llvm::Expected<llvm::sys::fs::TempFile> file = llvm::sys::fs::TempFile::create(
      path + ".%%%%%%", llvm::sys::fs::all_read | llvm::sys::fs::all_write);
  if (!file)
    return file.takeError();
  llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  os << bytes;
  os.flush();
  if (!os.has_error())
    return file->keep(path);
  llvm::Error error = llvm::errorCodeToError(os.error());
  os.clear_error();
  return llvm::joinErrors(std::move(error), file->discard());
}

static bool write(llvm::StringRef bytes, llvm::StringRef path) {
  if (path == "-") {
    llvm::outs() << bytes;
    return true;
  }
  llvm::Error error = writeFile(bytes, path);
  if (!error)
    return true;
  llvm::WithColor::error() << "cannot write " << path << ": " << llvm::toString(std::move(error))
                           << '\n';
  return false;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  forgetOptionsOfLLVM();
  Options options;
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles an attention graph to a bundle for Pagefold's runtime\n");
  if (!options.check())
    return 1;
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.input, /*IsText=*/true);
  if (!buffer) {
    llvm::WithColor::error() << "cannot read " << options.input << ": "
                             << buffer.getError().message() << '\n';
    return 1;
  }
  DialectRegistry registry;
  registerPagefold(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  if (options.explain)
    streamRemarks(context, llvm::errs());
  context.printOpOnDiagnostic(false); // a sentence and its place, not the op
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*source, &context);
  OwningOpRef<ModuleOp> module = parse(source, context, options.startFrom);
  if (!module)
    return 1;
  const std::string output = options.output; // lld, inside, sets every option back to its default
  FailureOr<std::string> bytes = compile(*module, options);
  return succeeded(bytes) && write(*bytes, output) ? 0 : 1;
}
