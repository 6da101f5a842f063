//===- CApi.cpp - the runtime's C ABI -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/CApi.h"

#include "pagefold/runtime/Module.h"
#include "pagefold/runtime/ThreadPool.h"

#include <cstring>

using namespace pagefold::runtime;

// The handles are the C++ objects by another name.
static pagefold_module *wrap(Module *module) { return reinterpret_cast<pagefold_module *>(module); }
static Module *unwrap(pagefold_module *module) { return reinterpret_cast<Module *>(module); }
static pagefold_function *wrap(const Function *function) {
  return reinterpret_cast<pagefold_function *>(const_cast<Function *>(function));
}
static const Function *unwrap(const pagefold_function *function) {
  return reinterpret_cast<const Function *>(function);
}

static std::string countersJson(const TileCounters &counters) {
  auto field = [](const char *name, int64_t value) {
    return std::string("\"") + name + "\":" + std::to_string(value);
  };
  return "{" + field("tiles_full", counters.tilesFull) + "," +
         field("tiles_partial", counters.tilesPartial) + "," +
         field("tiles_skipped", counters.tilesSkipped) + "," +
         field("masked_elements", counters.maskedElements) + "," +
         field("keys_visited", counters.keysVisited) + "}";
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

int pagefold_error_code(const pagefold_error *error) {
  return static_cast<int>(error ? error->error.code() : ErrorCode::Ok);
}

const char *pagefold_error_message(const pagefold_error *error) {
  return error ? error->error.message().c_str() : "";
}

void pagefold_error_free(pagefold_error *error) { delete error; }

//===----------------------------------------------------------------------===//
// Modules and functions
//===----------------------------------------------------------------------===//

pagefold_error *pagefold_module_load(const void *bytes, size_t size, pagefold_module **module) {
  return guarded([&]() -> Status {
    if (!bytes || !module)
      return nullArgument(bytes ? "a place for the module" : "an artifact's bytes");
    Result<std::unique_ptr<Module>> loaded = Module::load({static_cast<const char *>(bytes), size});
    if (!loaded)
      return tl::unexpected(loaded.error());
    *module = wrap(loaded->release());
    return {};
  });
}

void pagefold_module_free(pagefold_module *module) { delete unwrap(module); }

pagefold_error *pagefold_module_function(pagefold_module *module, const char *name,
                                         pagefold_function **function) {
  return guarded([&]() -> Status {
    if (!module || !function)
      return nullArgument(module ? "a place for the function" : "a module");
    Result<const Function *> found = unwrap(module)->function(name ? name : "");
    if (!found)
      return tl::unexpected(found.error());
    *function = wrap(*found);
    return {};
  });
}

pagefold_error *pagefold_module_function_for(pagefold_module *module, const char *graph,
                                             int64_t batch, int64_t q_len, int64_t kv_len,
                                             int64_t tokens, pagefold_function **function) {
  return guarded([&]() -> Status {
    if (!module || !function)
      return nullArgument(module ? "a place for the function" : "a module");
    Result<const Function *> found =
        unwrap(module)->functionFor(graph ? graph : "", {batch, q_len, kv_len, tokens});
    if (!found)
      return tl::unexpected(found.error());
    *function = wrap(*found);
    return {};
  });
}

const char *pagefold_function_plan_json(const pagefold_function *function) {
  return function ? unwrap(function)->planJson().c_str() : "{}";
}

size_t pagefold_function_workspace_size(const pagefold_function *function) {
  return function ? unwrap(function)->workspaceSize() : 0;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

pagefold_error *pagefold_workspace_init(const pagefold_function *function, void *workspace,
                                        size_t size, void *stream) {
  return guarded([&]() -> Status {
    if (!function)
      return nullArgument("a function");
    return unwrap(function)->initWorkspace(workspace, size, stream);
  });
}

pagefold_error *pagefold_function_launch(const pagefold_function *function,
                                         const DLTensor *const *args, size_t num_args,
                                         void *workspace, size_t size, void *stream) {
  return guarded([&]() -> Status {
    if (!function || (!args && num_args > 0))
      return nullArgument(function ? "arguments" : "a function");
    return unwrap(function)->launch({args, num_args}, workspace, size, stream);
  });
}

pagefold_error *pagefold_function_check(const pagefold_function *function) {
  return guarded([&]() -> Status {
    if (!function)
      return nullArgument("a function");
    return unwrap(function)->check();
  });
}

pagefold_error *pagefold_function_counters_json(const pagefold_function *function,
                                                const void *workspace, char **json) {
  return guarded([&]() -> Status {
    if (!function || !json)
      return nullArgument(function ? "a place for the text" : "a function");
    Result<TileCounters> counters = unwrap(function)->counters(workspace);
    if (!counters)
      return tl::unexpected(counters.error());
    *json = strdup(countersJson(*counters).c_str());
    return *json ? Status() : fail(ErrorCode::OutOfCapacity, "no memory for the counters' text");
  });
}

pagefold_error *pagefold_function_explain(const pagefold_function *function,
                                          const DLTensor *const *args, size_t num_args,
                                          double milliseconds, const char *format, char **text) {
  return guarded([&]() -> Status {
    if (!function || !text)
      return nullArgument(function ? "a place for the text" : "a function");
    Result<ExplainFormat> chosen = explainFormatFromName(format ? format : "text");
    if (!chosen)
      return tl::unexpected(chosen.error());
    Result<std::string> explained = unwrap(function)->explain(
        args != nullptr, {args, args ? num_args : 0}, milliseconds, *chosen);
    if (!explained)
      return tl::unexpected(explained.error());
    *text = strdup(explained->c_str());
    return *text ? Status() : fail(ErrorCode::OutOfCapacity, "no memory for an explanation");
  });
}

void pagefold_string_free(char *string) { std::free(string); }

pagefold_error *pagefold_set_num_threads(int threads) {
  return guarded([&]() -> Status { return ThreadPool::setSharedWorkers(threads); });
}
