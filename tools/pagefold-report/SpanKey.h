//===- SpanKey.h - a span and who may share it ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_SPANKEY_H
#define PAGEFOLD_REPORT_SPANKEY_H

#include "Trace.h"

#include <compare>
#include <cstddef>
#include <cstdint>

namespace pagefold::report {

/// Spans do not cross tenants or adapters: the identity is part of the key.
struct SpanKey {
  uint64_t span;
  uint32_t tenant, adapter;
  bool operator==(const SpanKey &) const = default;
  auto operator<=>(const SpanKey &) const = default;
};

inline SpanKey spanKey(const TraceRequest &request, size_t span) {
  return {request.spans[span], request.tenant, request.adapter};
}

struct SpanKeyHash {
  size_t operator()(const SpanKey &key) const {
    uint64_t h = key.span * 0x9e3779b97f4a7c15;
    h ^= (uint64_t(key.tenant) << 32 | key.adapter) * 0xbf58476d1ce4e5b9;
    return h ^ h >> 29;
  }
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_SPANKEY_H
