//===- Options.h - what can be chosen about a compile -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every way in takes the same options by the same names: pagefold-opt's pipelines
// ("online-softmax=false q-tile=16"), pagefold-compile (--no-online-softmax --q-tile=16) and the
// JSON of pagefold-c/Compiler.h ({"online_softmax": false, "schedule": {"q_tile": 16}}). The table
// of rows is what they are made from: a new option is a field and a row, which makes it part of the
// key that an artifact is kept by (Jit/CompileKey.h).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_OPTIONS_H
#define PAGEFOLD_PIPELINE_OPTIONS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <variant>
#include <vector>

namespace pagefold {

/// Zeros and empty strings mean: from the schedule table.
struct CompileOptions {
  std::string target = "host"; ///< or "cuda"
  std::string cpu;             ///< of the host target; empty: this machine
  std::string code = "ptx";    ///< of the cuda target; or "cubin"
  std::string bounds;          ///< attn-expand-bounds: in place of what the functions declare
  bool fuse = true;            ///< attn-fuse
  bool onlineSoftmax = true;   ///< off: the materialised baseline
  bool overlapProducts = true; ///< hopper-overlap-products
  bool lazyRescale = true;     ///< hopper-lazy-rescale
  bool sections = true;        ///< of tile-to-hopper: query tiles in an order made for the L2
  bool overlapLaunches = true; ///< of tile-to-hopper: a kernel starts while the one before ends
  bool stageQueries = true;    ///< tile-stage-queries, of the cuda target
  bool fuseAppend = true;      ///< tile-fuse-append, of the cuda target
  bool joinRows = true;        ///< tile-join-rows, of the cuda target
  bool packGroups = true;      ///< of tile-select-schedule, of the cuda target
  bool batchInvariant = false; ///< of a request's bits
  bool splitRows = true;       ///< tile-split-rows, of the cuda target
  bool counters = false;       ///< count tiles in the workspace
  bool keepGraph = false;      ///< the artifact holds the graph too, for pagefold-run
  bool strict = false;         ///< fallbacks (Remarks.h) are errors
  int64_t qTile = 0, kvTile = 0, splits = 0;
  int64_t pollLimit = 0; ///< polls after which a wait of the cuda target gives up and says so
  std::string form;
  std::string cascade = "auto"; ///< attn-cascade: where it pays, "always" or "off"

  // How the JIT keeps artifacts: not what they are. Empty and zero: what the environment says.
  std::string cache;         ///< "disk", "memory" or "off"
  std::string cacheDir;      ///< the directory on disk
  int64_t cacheMaxBytes = 0; ///< of the files in it

  bool isCuda() const { return target == "cuda"; }
};

struct OptionRow {
  using Field = std::variant<bool CompileOptions::*, int64_t CompileOptions::*,
                             std::string CompileOptions::*>;
  llvm::StringLiteral name;   ///< on a command line; in JSON with '_' for '-'
  llvm::StringLiteral object; ///< the JSON object that holds it, or ""
  Field field;
  llvm::StringLiteral help; ///< what it does when it is on, or says
  /// Who takes it: all ways in; those that compile to an artifact, and so no pipeline of
  /// pagefold-opt; those that keep artifacts, of whose key it is no part.
  enum Scope { All, Compile, Cache } scope = All;
};
llvm::ArrayRef<OptionRow> optionTable();

/// What differs from the defaults and decides what the code is, "name=value" in the table's order.
std::vector<std::string> changedOptions(const CompileOptions &options);

/// What is wrong with the options as a whole; empty where nothing is.
std::string checkCompileOptions(const CompileOptions &options);

/// Reads JSON. An unknown key or a wrong type is an error with a sentence.
mlir::FailureOr<CompileOptions> parseCompileOptions(llvm::StringRef json, std::string &error);

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_OPTIONS_H
