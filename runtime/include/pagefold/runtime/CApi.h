//===- CApi.h - how the C ABI is made ---------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the implementers of pagefold-c (this runtime, and the compiler, whose errors are freed by
// pagefold_error_free too). Callers include pagefold-c/Runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_CAPI_H
#define PAGEFOLD_RUNTIME_CAPI_H

#include "pagefold-c/Runtime.h"
#include "pagefold/runtime/Error.h"

#include <new>

struct pagefold_error {
  pagefold::runtime::Error error;
};

namespace pagefold::runtime {

/// What a call says where it needs something and got a null pointer.
inline tl::unexpected<Error> nullArgument(const char *what) {
  return fail(ErrorCode::InvalidArgument, std::string("expects ") + what + ", got null");
}

/// A C error for a Status: null for success.
inline pagefold_error *toC(Status status) {
  return status ? nullptr : new pagefold_error{std::move(status.error())};
}

#if defined(__cpp_exceptions)
/// Runs `call` (a function giving a Status); no exception leaves.
template <typename Call> pagefold_error *guarded(Call call) noexcept {
  try {
    return toC(call());
  } catch (const std::bad_alloc &) {
    return toC(fail(ErrorCode::OutOfCapacity, "no memory for this call"));
  } catch (const std::exception &exception) {
    return toC(fail(ErrorCode::Internal, std::string("a fault in Pagefold: ") + exception.what()));
  } catch (...) {
    return toC(fail(ErrorCode::Internal, "a fault in Pagefold: an unknown exception"));
  }
}
#endif

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_CAPI_H
