//===- Options.cpp - the command line -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/Support/CommandLine.h"

using namespace pagefold;
using namespace pagefold::run;
namespace cl = llvm::cl;

namespace {

/// What the command line says. Made when it is read: a library that holds this tool among others
/// registers nothing by being loaded.
struct CommandLine {
  cl::OptionCategory category{"pagefold-run"};
  cl::opt<std::string> graphPath{cl::Positional, cl::Required,
                                 cl::desc("<graph.mlir, or a bundle compiled with --keep-graph>"),
                                 cl::cat(category)};
  cl::list<std::string> inputItems{
      "inputs", cl::value_desc("items"),
      cl::desc(
          "q=file.npy, file.npz, file.safetensors, or a description such as 'lens=17,300 q_len=1'"),
      cl::cat(category)};
  cl::opt<std::string> outputPath{
      "outputs", cl::value_desc("path"),
      cl::desc("a .npz or .safetensors file, a .npy file, or a directory"), cl::cat(category)};
  cl::opt<std::string> functionName{"function", cl::value_desc("name"),
                                    cl::desc("which function, where there are several"),
                                    cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare with the float64 oracle"), cl::cat(category)};
  cl::opt<std::string> explain{
      "explain", cl::ValueOptional, cl::value_desc("text or json"),
      cl::desc("print what was compiled and why, and what this launch does (text)"),
      cl::cat(category)};
  cl::opt<bool> strict{"strict", cl::desc("refuse what is slower than need be"), cl::cat(category)};
  cl::opt<bool> timing{"time", cl::desc("print the median time and the rates"), cl::cat(category)};
  cl::opt<unsigned> runs{"runs", cl::init(10), cl::desc("launches that --time measures (10)"),
                         cl::cat(category)};
  cl::opt<bool> counters{"counters", cl::desc("count tiles, and print the counts"),
                         cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::init("host"),
      cl::desc("host, cuda, or oracle: the float64 reference in the compiler's place"),
      cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::value_desc("kind"),
      cl::desc("write ptx, cubin or bundle to --outputs, or to the screen, and run nothing"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::init(0), cl::desc("of generated inputs (0)"),
                         cl::cat(category)};
  cl::opt<std::string> schedule{"schedule", cl::value_desc("key=value,..."),
                                cl::desc("overrides of the schedule table"), cl::cat(category)};
  cl::opt<bool> noOnlineSoftmax{
      "no-online-softmax", cl::desc("keep the scores in memory: the baseline"), cl::cat(category)};
  cl::opt<std::string> cascade{
      "cascade", cl::init("auto"), cl::value_desc("when"),
      cl::desc("read a shared prefix once for all requests: auto (where it pays), always or off"),
      cl::cat(category)};
};

} // namespace

Options run::parseOptions(int argc, char **argv) {
  static CommandLine line; // lld, inside, goes through all options later
  cl::HideUnrelatedOptions(line.category);
  cl::ParseCommandLineOptions(
      argc, argv, "Runs an attention graph: files in, files out, timing, explanation\n");
  Options options;
  options.graph = line.graphPath;
  options.inputs.assign(line.inputItems.begin(), line.inputItems.end());
  options.outputs = line.outputPath;
  options.function = line.functionName;
  options.emit = line.emit;
  const char *code = line.emit == "cubin" ? "cubin" : "";
  options.compile = {line.target,  code,          line.schedule, !line.noOnlineSoftmax,
                     line.cascade, line.counters, line.strict};
  options.check = line.check;
  if (line.explain.getNumOccurrences())
    options.explain = line.explain.empty() ? "text" : line.explain.getValue();
  options.time = line.timing;
  options.runs = line.runs;
  options.seed = line.seed;
  return options;
}
