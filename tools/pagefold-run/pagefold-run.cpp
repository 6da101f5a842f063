//===- pagefold-run.cpp - runs a graph: files in, files out ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/tools/pagefold-run.md is its page. Exit codes: 0 all is well, 1 an error (nothing is
// written), 2 the results do not agree with the oracle (nothing is written).
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "Generate.h"
#include "Options.h"
#include "Outputs.h"
#include "Reference.h"
#include "Timing.h"

#include "pagefold/Support/ArrayFiles.h"
#include "pagefold/runtime/Explain.h"

#include "llvm/Support/InitLLVM.h"

using namespace pagefold;
using namespace pagefold::run;

namespace {
/// What a run has produced.
struct Outcome {
  std::vector<Array> results;
  std::vector<Array> arguments; ///< with appended pages
  bool agrees = true;
};
} // namespace

/// The arguments before the call: pages that it writes are copied.
static Result<std::vector<Array>> copyPages(Graph &graph, const std::vector<Array> &arguments) {
  std::vector<Array> before = arguments;
  for (const CacheParameters &cache : graph.caches())
    for (int64_t part : {cache.kPages, cache.vPages}) {
      if (!cache.appended || part < 0)
        continue;
      Result<Array> copy = arguments[part].clone();
      if (!copy)
        return tl::unexpected(copy.error());
      before[part] = *copy;
    }
  return before;
}

static Result<Outcome> runOracle(Graph &graph, const std::vector<Array> &arguments) {
  Result<Reference> reference = evaluateReference(graph, arguments);
  if (!reference)
    return tl::unexpected(reference.error());
  Outcome outcome;
  outcome.arguments = std::move(reference->arguments);
  for (const oracle::Output &output : reference->outputs)
    outcome.results.push_back(output.values);
  return outcome;
}

/// The bundle that the graph was kept in, or what the compiler makes of it now.
static Result<std::string> makeArtifact(Graph &graph, const Options &options) {
  if (!graph.artifact().empty())
    return graph.artifact();
  Result<std::string> json = options.compile.json();
  if (!json)
    return tl::unexpected(json.error());
  return compileArtifact(graph.text(), *json);
}

static Result<Program> makeProgram(Graph &graph, const Options &options) {
  if (options.compile.target == "cuda")
    if (Status status = checkGpu(); !status)
      return tl::unexpected(status.error());
  Result<std::string> artifact = makeArtifact(graph, options);
  if (!artifact)
    return tl::unexpected(artifact.error());
  return Program::load(*artifact, graph);
}

static Status printCounters(const Execution &execution) {
  Result<std::string> text = execution.counters();
  if (!text)
    return tl::unexpected(text.error());
  llvm::outs() << "counters: " << *text << "\n";
  return {};
}

static Status printExplanation(const Execution &execution, const Options &options, double seconds) {
  Result<std::string> text = execution.explain(options.explain, seconds * 1e3);
  if (!text)
    return tl::unexpected(text.error());
  llvm::outs() << *text << (options.explain == "json" ? "\n" : "");
  return {};
}

static Result<Outcome> runCompiled(Graph &graph, const Options &options,
                                   const std::vector<Array> &arguments) {
  Result<Program> program = makeProgram(graph, options);
  if (!program)
    return tl::unexpected(program.error());
  Result<std::vector<Array>> before = options.check ? copyPages(graph, arguments) : arguments;
  Result<std::vector<Array>> results = makeResults(graph, arguments);
  if (!before || !results)
    return tl::unexpected((before ? results : before).error());
  auto execution = Execution::prepare(*program, arguments, *results);
  if (!execution)
    return tl::unexpected(execution.error());
  Status status = (*execution)->run();
  if (status && options.compile.counters)
    status = printCounters(**execution);
  Outcome outcome{*results, arguments, true};
  if (status && options.check) {
    Result<Reference> reference = evaluateReference(graph, *before);
    if (!reference)
      return tl::unexpected(reference.error());
    outcome.agrees = printComparison(graph, *reference, *results, *before, arguments, llvm::outs());
  }
  double seconds = 0;
  if (status && options.time) {
    Result<double> median =
        printTiming(graph, **execution, arguments, *results, options.runs, llvm::outs());
    if (!median)
      return tl::unexpected(median.error());
    seconds = *median;
  }
  if (status && !options.explain.empty())
    status = printExplanation(**execution, options, seconds);
  if (!status)
    return tl::unexpected(status.error());
  return outcome;
}

/// Writes the code, or all of the bundle, to --outputs or the screen.
static Status emit(Graph &graph, const Options &options) {
  Result<std::string> artifact = makeArtifact(graph, options);
  if (!artifact)
    return tl::unexpected(artifact.error());
  std::string_view bytes = *artifact;
  const std::string &kind = options.emit;
  if (kind != "bundle") {
    const runtime::Artifact parsed = *runtime::parse(*artifact);
    auto section = llvm::find_if(parsed.code, [&](const auto &s) { return s.kind == kind; });
    if (section == parsed.code.end())
      return fail(ErrorCode::InvalidArgument, "--emit=" + kind + " expects " + kind +
                                                  " in what was compiled, got " +
                                                  parsed.code.front().kind +
                                                  "; --emit takes ptx, cubin (with --target=cuda) "
                                                  "or bundle");
    bytes = section->bytes;
  }
  if (!options.outputs.empty()) {
    FileContents file{options.outputs, std::string(bytes)};
    return writeFiles({&file, 1});
  }
  llvm::outs() << bytes;
  return {};
}

/// Gives whether the results agree with the oracle, where that was asked.
static Result<bool> runGraph(const Options &options) {
  Result<std::unique_ptr<Graph>> graph = Graph::read(options.graph, options.function);
  if (!graph)
    return tl::unexpected(graph.error());
  if (!options.explain.empty())
    if (auto format = runtime::explainFormatFromName(options.explain); !format)
      return tl::unexpected(format.error());
  if (!options.emit.empty()) {
    Status status = emit(**graph, options);
    return status ? Result<bool>(true) : tl::unexpected(status.error());
  }
  Result<Inputs> inputs = readInputs(**graph, options.inputs, options.seed);
  if (!inputs)
    return tl::unexpected(inputs.error());
  Result<std::vector<Array>> arguments = makeArrays(**graph, *inputs);
  if (!arguments)
    return tl::unexpected(arguments.error());
  Result<Outcome> outcome = options.compile.target == "oracle"
                                ? runOracle(**graph, *arguments)
                                : runCompiled(**graph, options, *arguments);
  if (!outcome)
    return tl::unexpected(outcome.error());
  std::vector<NamedArray> outputs = nameOutputs(**graph, outcome->results, outcome->arguments);
  printOutputs(outputs, llvm::outs());
  if (outcome->agrees && !options.outputs.empty())
    if (Status status = writeOutputs(options.outputs, outputs); !status)
      return tl::unexpected(status.error());
  return outcome->agrees;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Result<bool> agrees = runGraph(parseOptions(argc, argv));
  if (!agrees) {
    llvm::outs().flush();
    llvm::errs() << "error: " << agrees.error().message() << "\n";
    return 1;
  }
  return *agrees ? 0 : 2;
}
