//===- PlanJson.h - the launch plan as JSON ---------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows the keys of the plan. JSON stays behind these functions: the compiler
// links this library and is built without exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_PLANJSON_H
#define PAGEFOLD_RUNTIME_LIB_CORE_PLANJSON_H

#include "pagefold/runtime/Artifact.h"

namespace pagefold::runtime {

/// Where a code section lies: bytes from the code base.
struct CodePlace {
  std::string kind;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct ParsedPlan {
  Plan plan;
  std::vector<CodePlace> code;
};

/// Sections one after another, each at a multiple of `alignment`.
std::vector<CodePlace> placeCode(std::span<const CodeSection> code, uint64_t alignment);

std::string planToJson(const Plan &plan, const std::vector<CodePlace> &code);

/// Reads the keys and their types; the plan's own rules are verify()'s.
Result<ParsedPlan> planFromJson(std::string_view text);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_PLANJSON_H
