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
//   pagefold-compile layer.mlir --target=cuda --emit=ptx
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
#include "pagefold/runtime/Explain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include <deque>
#include <functional>

using namespace mlir;
using namespace pagefold;
namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

namespace {

enum class Emit { MLIR, LLVM, Ptx, Cubin, Bundle };

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
                 clEnumValN(Emit::LLVM, "llvm", "the optimised LLVM IR of target host, to read"),
                 clEnumValN(Emit::Ptx, "ptx", "the assembly of target cuda"),
                 clEnumValN(Emit::Cubin, "cubin", "what CUDA's ptxas makes of it"),
                 clEnumValN(Emit::Bundle, "bundle", "code and launch plan, for the runtime")),
      cl::init(Emit::Bundle), cl::cat(category)};

  cl::opt<std::string> startFrom{
      "start-from",
      cl::desc("First stage to run: the input is what the stage before it wrote (default: attn)"),
      cl::value_desc("attn, tile, host or hopper, llvm"), cl::init("attn"), cl::cat(category)};
  cl::opt<std::string> stopAfter{"stop-after", cl::desc("Last stage to run (default: llvm)"),
                                 cl::value_desc("stage"), cl::init("llvm"), cl::cat(category)};
  cl::opt<std::string> dumpStages{"dump-stages",
                                  cl::desc("Write the module after each stage to this folder"),
                                  cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> explain{
      "explain", cl::ValueOptional, cl::value_desc("text or json"),
      cl::desc("Say on standard error what was chosen, and why (default: text)"),
      cl::cat(category)};

  Options();
  /// Puts in what depends on other options; false, having said why, where options contradict.
  bool check();

  CompileOptions compile;                            ///< filled by check()
  Stage first = Stage::Attn, last = Stage::LLVM;     ///< by check()
  std::optional<runtime::ExplainFormat> explanation; ///< by check()

private:
  template <typename T> void add(const OptionRow &row, T CompileOptions::*field);
  void addNegated(const OptionRow &row, bool CompileOptions::*field);
  bool check(const cl::opt<std::string> &stage, Stage &found) const;
  bool checkEmit() const;
  bool checkExplain();

  /// Fill `compile` from the options of the table, which they own.
  std::vector<std::function<void()>> setters;
  std::deque<std::string> texts; ///< names and helps that are not the table's
};

} // namespace

template <typename T> void Options::add(const OptionRow &row, T CompileOptions::*field) {
  auto option =
      std::make_shared<cl::opt<T>>(StringRef(row.name), cl::desc(row.help), cl::cat(category));
  setters.push_back([this, field, option] {
    if (option->getNumOccurrences())
      compile.*field = option->getValue();
  });
}

/// What is on by itself is turned off by --no-name.
void Options::addNegated(const OptionRow &row, bool CompileOptions::*field) {
  const std::string &name = texts.emplace_back("no-" + row.name.str());
  const std::string &help = texts.emplace_back("do not " + row.help.str());
  auto option = std::make_shared<cl::opt<bool>>(StringRef(name), cl::desc(help), cl::cat(category));
  setters.push_back([this, field, option] { compile.*field = !*option; });
}

Options::Options() {
  for (const OptionRow &row : optionTable()) {
    if (row.scope == OptionRow::Cache) // a file is written whatever was compiled before
      continue;
    const auto *flag = std::get_if<bool CompileOptions::*>(&row.field);
    if (flag && compile.**flag)
      addNegated(row, *flag);
    else
      std::visit([&](auto field) { add(row, field); }, row.field);
  }
}

bool Options::check(const cl::opt<std::string> &stage, Stage &found) const {
  std::optional<Stage> named = stageFromName(stage, compile);
  if (named)
    found = *named;
  else
    llvm::WithColor::error() << "expects --" << stage.ArgStr << " to be one of "
                             << llvm::join(stageNames(compile), ", ") << " for target "
                             << compile.target << ", got " << stage << '\n';
  return named.has_value();
}

bool Options::checkEmit() const {
  static constexpr StringLiteral kNames[] = {"mlir", "llvm", "ptx", "cubin", "bundle"};
  const Emit what = emit.getValue();
  StringRef name = kNames[static_cast<int>(what)];
  if (what != Emit::MLIR && last != Stage::LLVM) {
    llvm::WithColor::error() << "--emit=" << name
                             << " needs all stages, got --stop-after=" << stopAfter
                             << "; use --emit=mlir\n";
    return false;
  }
  const bool cuda = what == Emit::Ptx || what == Emit::Cubin;
  if (cuda ? compile.isCuda() : what != Emit::LLVM || !compile.isCuda())
    return true;
  llvm::WithColor::error() << "--emit=" << name << " needs --target=" << (cuda ? "cuda" : "host")
                           << ", got " << compile.target << '\n';
  return false;
}

bool Options::checkExplain() {
  if (!explain.getNumOccurrences())
    return true;
  runtime::Result<runtime::ExplainFormat> format =
      runtime::explainFormatFromName(explain.empty() ? "text" : explain.getValue());
  if (format)
    explanation = *format;
  else
    llvm::WithColor::error() << format.error().message() << '\n';
  return format.has_value();
}

bool Options::check() {
  for (const std::function<void()> &set : setters)
    set();
  if (std::string error = checkCompileOptions(compile); !error.empty()) {
    llvm::WithColor::error() << error << '\n';
    return false;
  }
  if (stopAfter.getNumOccurrences() && !emit.getNumOccurrences())
    emit = Emit::MLIR;
  if (!check(startFrom, first) || !check(stopAfter, last))
    return false;
  if (compile.keepGraph && first != Stage::Attn) {
    llvm::WithColor::error() << "--keep-graph needs a graph, got --start-from=" << startFrom
                             << '\n';
    return false;
  }
  if (last < first) {
    llvm::WithColor::error() << "expects --stop-after not to be before --start-from\n";
    return false;
  }
  return checkExplain() && checkEmit();
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
static FailureOr<std::string> compile(ModuleOp module, const Options &options, Remarks &remarks,
                                      StringRef source) {
  if (failed(compileStages(module, options.first, options.last, options.compile, remarks,
                           options.dumpStages)))
    return failure();
  switch (options.emit.getValue()) {
  case Emit::Bundle:
    return writeArtifact(module, options.compile, remarks, source);
  case Emit::LLVM:
    return writeLLVMIR(module, options.compile);
  case Emit::Ptx:
    return writeCudaCode(module, CudaCodeKind::Ptx);
  case Emit::Cubin:
    return writeCudaCode(module, CudaCodeKind::Cubin);
  case Emit::MLIR:
    break;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// The explanation of every function of an artifact: text, or an array of JSON.
static std::string explainArtifact(StringRef bytes, runtime::ExplainFormat format) {
  const runtime::Artifact artifact = *runtime::parse(bytes); // as serialize() has just written it
  SmallVector<std::string> all;
  for (const runtime::FunctionPlan &function : artifact.plan.functions)
    all.push_back(*runtime::explainFunction(artifact.plan, function, nullptr, format));
  return format == runtime::ExplainFormat::Text ? llvm::join(all, "")
                                                : "[" + llvm::join(all, ",\n") + "]\n";
}

/// Where there is no artifact there are remarks.
static void explain(const FailureOr<std::string> &artifact, runtime::ExplainFormat format,
                    const Remarks &remarks) {
  if (succeeded(artifact)) {
    llvm::errs() << explainArtifact(*artifact, format);
    return;
  }
  if (format == runtime::ExplainFormat::Text) {
    llvm::errs() << remarks.lines();
    return;
  }
  llvm::json::Array all;
  for (const PlacedRemark &placed : remarks.all()) {
    const runtime::Remark &remark = placed.remark;
    all.push_back(llvm::json::Object{{"function", placed.function},
                                     {"kind", remark.kind},
                                     {"pass", remark.pass},
                                     {"name", remark.name},
                                     {"text", remark.text},
                                     {"reason", remark.reason}});
  }
  llvm::errs() << llvm::json::Value(llvm::json::Object{{"remarks", std::move(all)}}) << '\n';
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
  Remarks remarks; // outlives the context
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  remarks.collect(context);
  context.printOpOnDiagnostic(false); // a sentence and its place, not the op
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*source, &context);
  OwningOpRef<ModuleOp> module = parse(source, context, options.first);
  if (!module)
    return 1;
  const std::string output = options.output; // lld, inside, sets every option back to its default
  const bool isArtifact = options.emit == Emit::Bundle;
  FailureOr<std::string> bytes = compile(
      *module, options, remarks, source->getMemoryBuffer(source->getMainFileID())->getBuffer());
  if (options.explanation)
    explain(isArtifact ? bytes : FailureOr<std::string>(failure()), *options.explanation, remarks);
  return succeeded(bytes) && write(*bytes, output) ? 0 : 1;
}
