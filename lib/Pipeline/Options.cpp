//===- Options.cpp - what can be chosen about a compile -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/Options.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace pagefold;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr OptionRow kOptions[] = {
    {"target", "", &CompileOptions::target, "what to compile for: host or cuda (default: host)"},
    {"cpu", "", &CompileOptions::cpu, "processor of the host, by LLVM's name (default: this one)"},
    {"code", "", &CompileOptions::code,
     "code of target cuda: ptx, or cubin where ptxas is on the PATH (default: ptx)"},
    {"bounds", "", &CompileOptions::bounds,
     "declared maxima of all functions in place of their own: 'batch 64, q_len 1, kv_len 8192', "
     "several with ';' between make a variant each"},
    {"cascade", "", &CompileOptions::cascade,
     "read the keys that all requests share once: auto (where it pays), always or off (default: "
     "auto)"},
    {"fuse", "", &CompileOptions::fuse, "move small ops into attention"},
    {"online-softmax", "", &CompileOptions::onlineSoftmax, "rewrite softmax into the fold"},
    {"overlap-products", "", &CompileOptions::overlapProducts,
     "start the scores of a KV tile before the output of the one before (cuda)"},
    {"lazy-rescale", "", &CompileOptions::lazyRescale,
     "leave a row's maximum until it has grown by much (cuda)"},
    {"sections", "", &CompileOptions::sections,
     "order query tiles by sections of heads, longest first (cuda)"},
    {"overlap-launches", "", &CompileOptions::overlapLaunches,
     "start a kernel of a function while the one before it ends (cuda)"},
    {"stage-queries", "", &CompileOptions::stageQueries,
     "apply the ops of queries in a kernel of its own where attention can then be pipelined "
     "(cuda)"},
    {"fuse-append", "", &CompileOptions::fuseAppend,
     "let the kernel that streams keys append the new ones itself (cuda)"},
    {"join-rows", "", &CompileOptions::joinRows,
     "append and change rows in one kernel where they need nothing of each other (cuda)"},
    {"split-rows", "", &CompileOptions::splitRows,
     "give requests of few query rows a kernel of their own beside those of many (cuda)"},
    {"pack-groups", "", &CompileOptions::packGroups,
     "let the heads of a group share query tiles where requests have few rows (cuda)"},
    {"batch-invariant", "", &CompileOptions::batchInvariant,
     "a request's bits do not depend on its neighbours: keys are split at fixed places, or not at "
     "all"},
    {"counters", "", &CompileOptions::counters, "count tiles in the workspace"},
    {"poll-limit", "", &CompileOptions::pollLimit,
     "polls after which a wait prints where it stands and ends the kernel (cuda; default: none)"},
    {"strict", "", &CompileOptions::strict,
     "refuse what is slower than need be: each fallback is an error with its reason",
     OptionRow::Compile},
    {"keep-graph", "", &CompileOptions::keepGraph,
     "keep the graph in the bundle, so that pagefold-run can make inputs and check results"},
    {"q-tile", "schedule", &CompileOptions::qTile,
     "rows of a query tile (default: from the table)"},
    {"kv-tile", "schedule", &CompileOptions::kvTile, "keys of a KV tile (default: from the table)"},
    {"splits", "schedule", &CompileOptions::splits,
     "parts of the KV dimension (default: from the table)"},
    {"form", "schedule", &CompileOptions::form,
     "form of the products: outer or dot (host), streaming or pipelined (cuda), or simt (default: "
     "from the table)"},
    {"cache", "", &CompileOptions::cache,
     "where artifacts are kept: disk (and memory), memory, or off (default: PAGEFOLD_CACHE, else "
     "disk)",
     OptionRow::Cache},
    {"cache-dir", "", &CompileOptions::cacheDir,
     "directory of kept artifacts (default: PAGEFOLD_CACHE_DIR, else pagefold in the user's cache "
     "directory)",
     OptionRow::Cache},
    {"cache-max-bytes", "", &CompileOptions::cacheMaxBytes,
     "bytes that the directory may hold (default: PAGEFOLD_CACHE_MAX_BYTES, else 1 GiB)",
     OptionRow::Cache},
};

ArrayRef<OptionRow> pagefold::optionTable() { return kOptions; }

static std::string printed(bool value) { return value ? "true" : "false"; }
static std::string printed(int64_t value) { return std::to_string(value); }
static std::string printed(const std::string &value) { return value; }

std::vector<std::string> pagefold::changedOptions(const CompileOptions &options) {
  const CompileOptions defaults;
  std::vector<std::string> changed;
  for (const OptionRow &row : optionTable()) {
    bool isTarget = row.name == "target" || row.name == "cpu" || row.name == "code";
    if (row.scope != OptionRow::All || isTarget || row.name == "keep-graph")
      continue;
    std::visit(
        [&](auto field) {
          if (options.*field != defaults.*field)
            changed.push_back(row.name.str() + "=" + printed(options.*field));
        },
        row.field);
  }
  return changed;
}

std::string pagefold::checkCompileOptions(const CompileOptions &options) {
  if (options.target != "host" && options.target != "cuda")
    return "expects target host or cuda, got " + options.target;
  if (options.code != "ptx" && options.code != "cubin")
    return "expects code ptx or cubin, got " + options.code;
  if (!llvm::is_contained({"auto", "always", "off"}, options.cascade))
    return "expects cascade auto, always or off, got " + options.cascade;
  if (!llvm::is_contained({"", "disk", "memory", "off"}, options.cache))
    return "expects cache disk, memory or off, got " + options.cache;
  return {};
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

/// Reads the rows of one object into the options, and remembers the first thing that does not fit.
class Reader {
public:
  Reader(CompileOptions &options, std::string &error) : options(options), error(error) {}

  /// `name` is the object's in the table, "" for the outermost one, which holds the others.
  void read(const llvm::json::Object &object, StringRef name) {
    SmallVector<std::string> known;
    for (const OptionRow &row : optionTable()) {
      bool here = row.object == name;
      if (!here && (!name.empty() || llvm::is_contained(known, row.object)))
        continue;
      known.push_back(here ? keyOf(row) : row.object.str());
      if (const llvm::json::Value *value = object.get(known.back()))
        here ? readField(row, *value) : readObject(row.object, *value);
    }
    for (auto &member : object)
      if (!llvm::is_contained(known, StringRef(member.first)))
        complain("unknown option " + where(name) + StringRef(member.first).str() + "; known are " +
                 llvm::join(known, ", "));
  }

private:
  static std::string keyOf(const OptionRow &row) {
    std::string key = row.name.str();
    llvm::replace(key, '-', '_');
    return key;
  }
  static std::string where(StringRef object) { return object.empty() ? "" : object.str() + "."; }

  void readObject(StringRef name, const llvm::json::Value &value) {
    if (const llvm::json::Object *object = value.getAsObject())
      return read(*object, name);
    complain("expects option " + name.str() + " to be an object");
  }

  void readField(const OptionRow &row, const llvm::json::Value &value) {
    const char *expected = std::visit([&](auto field) { return assign(field, value); }, row.field);
    if (expected)
      complain("expects option " + where(row.object) + keyOf(row) + " to be " + expected);
  }
  /// Null, or what was expected.
  const char *assign(bool CompileOptions::*field, const llvm::json::Value &value) {
    auto found = value.getAsBoolean();
    if (!found)
      return "true or false";
    options.*field = *found;
    return nullptr;
  }
  const char *assign(int64_t CompileOptions::*field, const llvm::json::Value &value) {
    auto found = value.getAsInteger();
    if (!found || *found < 0)
      return "a number of at least 0";
    options.*field = *found;
    return nullptr;
  }
  const char *assign(std::string CompileOptions::*field, const llvm::json::Value &value) {
    auto found = value.getAsString();
    if (!found)
      return "a string";
    options.*field = found->str();
    return nullptr;
  }

  void complain(std::string sentence) {
    if (error.empty())
      error = std::move(sentence);
  }

  CompileOptions &options;
  std::string &error;
};

} // namespace

FailureOr<CompileOptions> pagefold::parseCompileOptions(StringRef json, std::string &error) {
  CompileOptions options;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json.trim().empty() ? "{}" : json);
  if (!parsed) {
    error = "options are not JSON: " + llvm::toString(parsed.takeError());
    return failure();
  }
  const llvm::json::Object *object = parsed->getAsObject();
  if (!object) {
    error = "expects options to be a JSON object";
    return failure();
  }
  Reader(options, error).read(*object, "");
  if (error.empty())
    error = checkCompileOptions(options);
  if (!error.empty())
    return failure();
  return options;
}
