//===- Options.cpp - compile options from JSON ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/Pipeline.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace pagefold;

namespace {

/// Reads members into fields, and remembers the first that does not fit.
class Reader {
public:
  Reader(const llvm::json::Object &object, StringRef where, std::string &error)
      : object(object), where(where), error(error) {}

  void text(StringRef key, std::string &field) {
    if (const llvm::json::Value *value = take(key)) {
      if (auto found = value->getAsString())
        field = found->str();
      else
        complain(key, "a string");
    }
  }
  void flag(StringRef key, bool &field) {
    if (const llvm::json::Value *value = take(key)) {
      if (auto found = value->getAsBoolean())
        field = *found;
      else
        complain(key, "true or false");
    }
  }
  void count(StringRef key, int64_t &field) {
    if (const llvm::json::Value *value = take(key)) {
      auto found = value->getAsInteger();
      if (found && *found >= 0)
        field = *found;
      else
        complain(key, "a number of at least 0");
    }
  }
  const llvm::json::Object *nested(StringRef key) {
    const llvm::json::Value *value = take(key);
    if (value && !value->getAsObject())
      complain(key, "an object");
    return value ? value->getAsObject() : nullptr;
  }
  /// Every member must have been asked for.
  void finish() {
    for (auto &member : object)
      if (!llvm::is_contained(known, StringRef(member.first)) && error.empty())
        error = ("unknown option " + where + StringRef(member.first) + "; known are " +
                 llvm::join(known, ", "))
                    .str();
  }

private:
  const llvm::json::Value *take(StringRef key) {
    known.push_back(key);
    return object.get(key);
  }
  void complain(StringRef key, StringRef expected) {
    if (error.empty())
      error = ("expects option " + where + key + " to be " + expected).str();
  }

  const llvm::json::Object &object;
  StringRef where;
  std::string &error;
  SmallVector<StringRef> known;
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
  Reader reader(*object, "", error);
  reader.text("target", options.target);
  reader.text("cpu", options.cpu);
  reader.flag("fuse", options.fuse);
  reader.flag("online_softmax", options.onlineSoftmax);
  reader.flag("counters", options.counters);
  if (const llvm::json::Object *schedule = reader.nested("schedule")) {
    Reader inner(*schedule, "schedule.", error);
    inner.count("q_tile", options.qTile);
    inner.count("kv_tile", options.kvTile);
    inner.count("splits", options.splits);
    inner.text("form", options.form);
    inner.finish();
  }
  reader.finish();
  if (error.empty() && options.target != "host")
    error = "expects target host, got " + options.target;
  if (!error.empty())
    return failure();
  return options;
}
