//===- Compiler.cpp - the compiler's C ABI --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold-c/Compiler.h"
#include "pagefold/Jit/Compile.h"
#include "pagefold/runtime/CApi.h"
#include <cstring>

using namespace pagefold;
using llvm::StringRef;
using runtime::ErrorCode;

/// A copy for the caller, who frees it with free().
static void *copyOut(StringRef bytes, bool terminate) {
  char *copy = static_cast<char *>(malloc(bytes.size() + terminate));
  if (!copy)
    return nullptr;
  memcpy(copy, bytes.data(), bytes.size());
  if (terminate)
    copy[bytes.size()] = 0;
  return copy;
}

pagefold_error *pagefold_compile(const char *mlir, size_t length, const char *options, void **bytes,
                                 size_t *size, char **remarks) {
  if (!mlir || !bytes || !size)
    return runtime::toC(runtime::fail(ErrorCode::InvalidArgument,
                                      "pagefold_compile expects mlir, bytes and size, got null"));
  std::string error;
  mlir::FailureOr<CompileOptions> parsed = parseCompileOptions(options ? options : "", error);
  if (mlir::failed(parsed))
    return runtime::toC(runtime::fail(ErrorCode::InvalidArgument, error));
  runtime::Result<jit::Compiled> compiled = jit::compile(StringRef(mlir, length), *parsed);
  if (!compiled)
    return runtime::toC(runtime::Status(tl::unexpected(compiled.error())));
  *size = compiled->artifact.size();
  *bytes = copyOut(compiled->artifact, /*terminate=*/false);
  if (remarks)
    *remarks = static_cast<char *>(copyOut(compiled->remarks, /*terminate=*/true));
  if (!*bytes || (remarks && !*remarks))
    return runtime::toC(runtime::fail(ErrorCode::OutOfCapacity, "no memory for the artifact"));
  return nullptr;
}

void pagefold_bytes_free(void *bytes) { free(bytes); }
