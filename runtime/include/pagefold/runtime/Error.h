//===- Error.h - errors as values -------------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every call of the runtime that can fail returns a Result. An Error carries one sentence for a
// person: what happened, what was needed, what was had, what to do. Nothing here throws, and no
// exception crosses the C ABI.
//
//   Result<Module> module = Module::load(bytes);
//   if (!module)
//     return report(module.error().message());
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_ERROR_H
#define PAGEFOLD_RUNTIME_ERROR_H

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace pagefold::runtime {

/// What kind of error it is, for callers that act on it. The numbers are part of the C ABI.
enum class ErrorCode : int {
  Ok = 0,
  InvalidArgument = 1, ///< the caller gave something that the call's contract excludes
  OutOfCapacity = 2,   ///< pages, workspace, memory: right now there is not enough
  NotFound = 3,        ///< a file, a symbol, a device, a driver
  Unsupported = 4,     ///< meaningful, but not built: the sentence says what to do instead
  BadInput = 5,        ///< data (a page table, a length, a file's bytes) breaks its contract
  Internal = 6,        ///< a fault of Pagefold's own
};

/// A code and a sentence. Cheap to move; never "ok" once constructed.
class [[nodiscard]] Error {
public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  const std::string &message() const { return message_; }

private:
  ErrorCode code_;
  std::string message_;
};

/// Either a T or an Error.
template <typename T> using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_ERROR_H
