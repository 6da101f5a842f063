//===- NamedMasks.cpp - masks with what they should mean ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedMasks.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

/// Rounds down; the reference shares no code with the library.
static int64_t floorOf(int64_t value, int64_t divisor) {
  int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

static bool causal(const Point &p) { return p.k <= p.position(); }
static bool inWindow(const Point &p, int64_t window) { return p.k > p.position() - window; }
static bool sameChunk(const Point &p, int64_t chunk) {
  return floorOf(p.k, chunk) == floorOf(p.position(), chunk);
}

/// Documents of 11 tokens, packed one after the other: start and end of the row's own.
static std::vector<int64_t> documentOf(int64_t q, const MaskEnv &env) {
  int64_t start = std::max<int64_t>(0, q + env.kvLen - env.qLen) / 11 * 11;
  return {start, start + 11};
}

const std::vector<NamedMask> &pagefold::test::spelledMasks() {
  static const std::vector<NamedMask> masks = {
      {"none", "none", [](const Point &) { return true; }},
      {"causal", "causal", causal},
      {"window", "window(w) where w >= 1",
       [](const Point &p) { return causal(p) && inWindow(p, p.symbol(0)); }},
      {"prefix", "prefix(n) where n >= 0", [](const Point &p) { return p.k < p.symbol(0); }},
      {"sink_window", "sink_window(s, w) where s >= 0, w >= 1",
       [](const Point &p) { return causal(p) && (p.k < p.symbol(0) || inWindow(p, p.symbol(1))); }},
      {"chunked", "chunked(5)", [](const Point &p) { return causal(p) && sameChunk(p, 5); }},
  };
  return masks;
}

const std::vector<NamedMask> &pagefold::test::namedMasks() {
  const std::string window = "k > q + kv_len - q_len - w";
  static const std::vector<NamedMask> masks = {
      {"prefix or causal", "causal or prefix(n) where n >= 0",
       [](const Point &p) { return causal(p) || p.k < p.symbol(0); }},
      {"chunk without causal", "(q + kv_len - q_len) floordiv 7 == k floordiv 7",
       [](const Point &p) { return sameChunk(p, 7); }},
      {"chunk-causal", "k floordiv 5 <= (q + kv_len - q_len) floordiv 5",
       [](const Point &p) { return floorOf(p.k, 5) <= floorOf(p.position(), 5); }},
      {"chunk band",
       "k floordiv 5 <= (q + kv_len - q_len) floordiv 5 and "
       "k floordiv 5 + n >= (q + kv_len - q_len) floordiv 5 where n >= 0",
       [](const Point &p) {
         int64_t back = floorOf(p.position(), 5) - floorOf(p.k, 5);
         return back >= 0 && back <= p.symbol(0);
       }},
      {"documents", "causal and k >= start and k < end where start per_row, end per_row",
       [](const Point &p) {
         auto document = documentOf(p.q, p.env);
         return causal(p) && p.k >= document[0] && p.k < document[1];
       },
       true, documentOf},
      {"documents, window or preamble",
       "k >= start and k < end and window(w) or k >= start and k < end and k < start + n "
       "where w >= 1, n >= 0, start per_row, end per_row",
       [](const Point &p) {
         auto document = documentOf(p.q, p.env);
         bool inside = p.k >= document[0] && p.k < document[1];
         bool preamble = p.k < document[0] + p.symbol(1);
         return inside && ((causal(p) && inWindow(p, p.symbol(0))) || preamble);
       },
       false, documentOf},
      {"every fourth key", "causal and k mod 4 == 0",
       [](const Point &p) { return causal(p) && p.k % 4 == 0; }},
      {"every fourth before the query",
       "window(w) and (q + kv_len - q_len - k) mod 4 == 0 where w >= 1",
       [](const Point &p) {
         return causal(p) && inWindow(p, p.symbol(0)) && (p.position() - p.k) % 4 == 0;
       },
       false},
      {"window or stride", "window(w) or causal and k mod 12 >= 7 where w >= 1",
       [](const Point &p) { return causal(p) && (inWindow(p, p.symbol(0)) || p.k % 12 >= 7); }},
      {"every third block of four", "causal and (k floordiv 4) mod 3 == 0",
       [](const Point &p) { return causal(p) && p.k / 4 % 3 == 0; }},
      {"chunk or its summary", "chunked(8) or causal and k mod 8 >= 6",
       [](const Point &p) { return causal(p) && (sameChunk(p, 8) || p.k % 8 >= 6); }},
      {"outside a window", "k <= q + kv_len - q_len - w or k > q + kv_len - q_len where w >= 1",
       [](const Point &p) { return !(causal(p) && inWindow(p, p.symbol(0))); }},
      {"outside sink and window",
       "k > q + kv_len - q_len or k >= s and k <= q + kv_len - q_len - w where s >= 0, w >= 1",
       [](const Point &p) {
         return !(causal(p) && (p.k < p.symbol(0) || inWindow(p, p.symbol(1))));
       }},
      {"global rows and columns, and a band",
       "k < n or q < n or k >= q + kv_len - q_len - w and k <= q + kv_len - q_len + w "
       "where n >= 0, w >= 1",
       [](const Point &p) {
         int64_t back = p.position() - p.k, n = p.symbol(0), w = p.symbol(1);
         return p.k < n || p.q < n || (back <= w && back >= -w);
       }},
      {"sink, window and chunk", "sink_window(s, w) or chunked(7) where s >= 0, w >= 1",
       [](const Point &p) {
         return causal(p) && (p.k < p.symbol(0) || inWindow(p, p.symbol(1)) || sameChunk(p, 7));
       }},
      {"a triangle", "3 * k <= 2 * q", [](const Point &p) { return 3 * p.k <= 2 * p.q; }},
      {"half of the rows", "causal and q mod 4 >= 2",
       [](const Point &p) { return causal(p) && p.q % 4 >= 2; }, false},
      {"rows of four heads",
       "k <= kv_len - 10 + q floordiv 4 and k > kv_len - 10 + q floordiv 4 - w "
       "where w >= 1",
       [](const Point &p) {
         int64_t at = p.env.kvLen - 10 + p.q / 4;
         return p.k <= at && p.k > at - p.symbol(0);
       }},
      {"nested divisions", "k floordiv 6 <= ((q + kv_len - q_len) floordiv 3 + 1) floordiv 2",
       [](const Point &p) { return p.k / 6 <= floorOf(floorOf(p.position(), 3) + 1, 2); }},
  };
  return masks;
}

MaskSets pagefold::test::parseOrFail(const std::string &text, MLIRContext *context) {
  FailureOr<MaskSets> mask =
      parseMaskSets(text, context, [&](size_t offset, const llvm::Twine &message) {
        ADD_FAILURE() << text << "\n" << std::string(offset, ' ') << "^ " << message.str();
      });
  return succeeded(mask) ? *mask : noMask(context);
}
