//===- HostCode.h - a shared object in memory -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_HOSTCODE_H
#define PAGEFOLD_RUNTIME_LIB_CORE_HOSTCODE_H

#include "pagefold/runtime/Error.h"
#include "pagefold/runtime/Launch.h"

#include <string_view>
#include <utility>

namespace pagefold::runtime {

/// Host code mapped into the process by the dynamic loader, so that debuggers, profilers and
/// unwinders know it. Unmapped when this dies.
class HostCode {
public:
  /// Maps an ELF shared object given as bytes.
  static Result<HostCode> load(std::string_view elf);
  HostCode(HostCode &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  HostCode &operator=(HostCode &&) = delete;
  ~HostCode();

  Result<HostKernel> kernel(const std::string &symbol) const;

private:
  explicit HostCode(void *handle) : handle_(handle) {}
  void *handle_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_HOSTCODE_H
