//===- PagingTest.cpp - the oracle's caches, rope and merge ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OracleFixture.h"

#include <cmath>
#include <cstring>

using namespace pagefold;
using namespace pagefold::oracle;

namespace {
class Paging : public OracleTest {};
class Rope : public OracleTest {};
class Merge : public OracleTest {};
} // namespace

static const char kDecode[] = R"(
!cache = !attn.paged_kv<2 heads, 8 x 16, f32, page 4>
func.func @decode(%q: tensor<?x4x8xf32>, %cache: !cache, %rows: tensor<?xi32>) -> (tensor<?x4x16xf32>, tensor<?x4xf32>) {
  %o, %lse = attn.attention %q, %cache rows(%rows) scale 0.5 mask <causal>
    : tensor<?x4x8xf32>, !cache, tensor<?xi32> -> tensor<?x4x16xf32>, tensor<?x4xf32>
  return %o, %lse : tensor<?x4x16xf32>, tensor<?x4xf32>
})";

/// Ten pages; request 0 has length 5 in pages 7 and 2, request 1 none, request 2 length 4 in
/// page 9.
static CacheArrays smallCache() {
  CacheArrays cache{
      noise(DType::F32, {10, 4, 2, 8}, 1), noise(DType::F32, {10, 4, 2, 16}, 2),
      filled(DType::I32, {3, 3},
             [](int64_t i) { return std::vector<double>{7, 2, -1, -1, -1, -1, 9, 1e9, -1}[i]; }),
      list(DType::I32, {5, 0, 4})};
  return cache;
}

/// Slots that no request owns become NaN.
static void poison(CacheArrays &cache) {
  auto owned = [](int64_t page, int64_t slot) {
    return page == 7 || page == 9 || (page == 2 && slot < 1);
  };
  for (Array *pages : {&cache.kPages, &cache.vPages})
    for (int64_t at = 0; at < pages->size(); ++at)
      if (int64_t slot = at / (pages->dim(2) * pages->dim(3)); !owned(slot / 4, slot % 4))
        pages->storeAt(at, NAN);
}

TEST_F(Paging, A01_A44_ReadsWhatItOwnsThroughTheTable) {
  CacheArrays cache = smallCache();
  poison(cache);
  std::vector<Argument> paged{noise(DType::F32, {3, 4, 8}, 3), cache,
                              list(DType::I32, {0, 1, 2, 3})};
  Evaluation got = run(kDecode, paged);

  // The same keys, dense.
  Array key = *Array::make(DType::F32, {9, 2, 8}), value = *Array::make(DType::F32, {9, 2, 16});
  const int64_t places[9][2] = {{7, 0}, {7, 1}, {7, 2}, {7, 3}, {2, 0},
                                {9, 0}, {9, 1}, {9, 2}, {9, 3}};
  for (int64_t k = 0; k < 9; ++k) {
    int64_t slot = places[k][0] * 4 + places[k][1];
    std::memcpy(key.data() + k * 64, cache.kPages.data() + slot * 64, 64);
    std::memcpy(value.data() + k * 128, cache.vPages.data() + slot * 128, 128);
  }
  std::vector<Argument> plain{std::get<Array>(paged[0]), key, value, std::get<Array>(paged[2]),
                              list(DType::I32, {0, 5, 5, 9})};
  std::string text = dense(4, 2, 16, "mask <causal>");
  text.replace(text.find("scale 1.0"), 9, "scale 0.5");
  Evaluation want = run(text, plain);
  EXPECT_EQ(elements(got.outputs[0].values), elements(want.outputs[0].values));
  EXPECT_EQ(elements(got.outputs[1].values), elements(want.outputs[1].values));
}

TEST_F(Paging, A06_EmptyRequestsGiveZeroAndMinusInfinity) {
  std::vector<Argument> arguments{noise(DType::F32, {3, 4, 8}, 3), smallCache(),
                                  list(DType::I32, {0, 1, 2, 3})};
  Evaluation got = run(kDecode, arguments);
  for (int64_t i = 4 * 16; i < 2 * 4 * 16; ++i)
    EXPECT_EQ(got.outputs[0].values.loadAt(i), 0);
  for (int64_t i = 4; i < 8; ++i)
    EXPECT_EQ(got.outputs[1].values.loadAt(i), -INFINITY);
}

TEST_F(Paging, A44_BadTablesNameTheRequest) {
  auto message = [&](CacheArrays cache) {
    std::vector<Argument> arguments{noise(DType::F32, {3, 4, 8}, 3), cache,
                                    list(DType::I32, {0, 1, 2, 3})};
    return error(kDecode, arguments);
  };
  CacheArrays cache = smallCache();
  cache.table.storeAt(6, 10);
  EXPECT_NE(message(cache).find("request 2 expects page ids in [0, 10), got 10 as page 0"),
            std::string::npos);
  cache.table.storeAt(6, -1);
  EXPECT_NE(message(cache).find("got -1 as page 0"), std::string::npos);
  cache = smallCache();
  cache.lens.storeAt(0, 13);
  EXPECT_NE(message(cache).find("request 0 needs 4 pages of 4 tokens for its length 13, got 3"),
            std::string::npos);
  cache.lens.storeAt(0, -2);
  EXPECT_NE(message(cache).find("request 0 expects a length of at least 0, got -2"),
            std::string::npos);
  cache.lens = list(DType::I32, {5, 0});
  EXPECT_NE(message(cache).find("a row for each of 2 lengths"), std::string::npos);
}

/// Pages as tensors, with the layout and table form of the cache op.
static std::string builder(const std::string &k, const std::string &v, const std::string &table,
                           const std::string &clauses, const std::string &operands) {
  return "!cache = !attn.paged_kv<2 heads, 8 x 16, f32, page 4>\n"
         "func.func @f(%q: tensor<?x4x8xf32>, %kp: " +
         k + ", %vp: " + v + ", %table: " + table + ", %lens: tensor<?xi32>, %rows: tensor<?xi32>" +
         operands +
         ") -> tensor<?x4x16xf32> {\n"
         "  %cache = attn.cache %kp, %vp table(%table) " +
         clauses + " : " + k + ", " + v + ", " + table +
         ", tensor<?xi32> -> !cache\n"
         "  %o = attn.attention %q, %cache rows(%rows) scale 0.5 mask <causal> : "
         "tensor<?x4x8xf32>, !cache, "
         "tensor<?xi32> -> tensor<?x4x16xf32>\n  return %o : tensor<?x4x16xf32>\n}\n";
}

TEST_F(Paging, LayoutsAndFormsOfTheTableAgree) {
  CacheArrays cache = smallCache();
  Array query = noise(DType::F32, {3, 4, 8}, 3), rows = list(DType::I32, {0, 1, 2, 3});
  std::vector<Argument> arguments{query, cache, rows};
  std::vector<double> want = elements(run(kDecode, arguments).outputs[0].values);

  const int64_t order[] = {0, 2, 1, 3};
  std::vector<Argument> hnd{query,
                            *cache.kPages.permuted(order).clone(),
                            *cache.vPages.permuted(order).clone(),
                            cache.table,
                            cache.lens,
                            rows};
  EXPECT_EQ(elements(run(builder("tensor<?x2x4x8xf32>", "tensor<?x2x4x16xf32>", "tensor<?x?xi32>",
                                 "lens(%lens) layout(hnd)", ""),
                         hnd)
                         .outputs[0]
                         .values),
            want);

  std::vector<Argument> starts{query,
                               cache.kPages,
                               cache.vPages,
                               list(DType::I32, {7, 2, 9}),
                               cache.lens,
                               rows,
                               list(DType::I32, {0, 2, 2, 3})};
  std::string text = builder("tensor<?x4x2x8xf32>", "tensor<?x4x2x16xf32>", "tensor<?xi32>",
                             "starts(%starts : tensor<?xi32>) lens(%lens) layout(nhd)",
                             ", %starts: tensor<?xi32>");
  EXPECT_EQ(elements(run(text, starts).outputs[0].values), want);
  starts.back() = list(DType::I32, {0, 1, 2, 3});
  EXPECT_NE(error(text, starts).find("request 0 needs 2 pages"), std::string::npos);
}

TEST_F(Paging, A16_InterleavedPagesAreViewsOfOneAllocation) {
  CacheArrays cache = smallCache();
  Array query = noise(DType::F32, {3, 4, 8}, 3), rows = list(DType::I32, {0, 1, 2, 3});
  std::vector<Argument> arguments{query, cache, rows};
  std::vector<double> want = elements(run(kDecode, arguments).outputs[0].values);
  // [page, slot, head, 8 of K and 16 of V].
  Array pool = *Array::make(DType::F32, {10, 4, 2, 24});
  CacheArrays views = cache;
  views.kPages = *pool.view({10, 4, 2, 8}, {192, 48, 24, 1}, 0);
  views.vPages = *pool.view({10, 4, 2, 16}, {192, 48, 24, 1}, 8);
  auto copy = [](const Array &from, Array to) {
    std::vector<int64_t> places;
    to.forEach([&](int64_t at) { places.push_back(at); });
    for (int64_t i = 0; i < from.size(); ++i)
      to.storeAt(places[i], from.loadAt(i));
  };
  copy(cache.kPages, views.kPages);
  copy(cache.vPages, views.vPages);
  arguments[1] = views;
  EXPECT_EQ(elements(run(kDecode, arguments).outputs[0].values), want);
}

static const char kAppend[] = R"(
!cache = !attn.paged_kv<1 heads, 8 x 8, bf16, page 4>
func.func @append(%k: tensor<?x1x8xbf16>, %v: tensor<?x1x8xbf16>, %cache: !cache, %rows: tensor<?xi32>, %w: tensor<8xf32>) {
  %c = attn.append %k, %v to %cache rows(%rows)
    key(%x : tensor<?x1x8xbf16>, %weight = %w : tensor<8xf32>) {
      %n = attn.rms_norm %x, %weight eps 1.0e-5 : tensor<?x1x8xbf16>, tensor<8xf32>
      attn.yield %n : tensor<?x1x8xbf16>
    }
    : tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, !cache, tensor<?xi32>
  return
})";

TEST_F(Paging, A39_AppendWritesItsSlotsAndNoOthers) {
  // Request 0 appends 3 tokens that end at length 5; request 1 is padding: one row, length 0.
  Array key = noise(DType::BF16, {4, 1, 8}, 1), value = noise(DType::BF16, {4, 1, 8}, 2);
  CacheArrays cache{
      noise(DType::BF16, {6, 4, 1, 8}, 3), noise(DType::BF16, {6, 4, 1, 8}, 4),
      filled(DType::I32, {2, 2}, [](int64_t i) { return std::vector<double>{5, 1, -1, -1}[i]; }),
      list(DType::I32, {5, 0})};
  Array weight = noise(DType::F32, {8}, 5);
  std::vector<Argument> arguments{key, value, cache, list(DType::I32, {0, 3, 4}), weight};
  std::vector<double> before = elements(cache.vPages);
  Evaluation got = run(kAppend, arguments);
  CacheArrays after = std::get<CacheArrays>(got.arguments[2]);
  EXPECT_EQ(elements(cache.vPages), before) << "the caller's pages are not written";

  std::vector<double> want = before, wantKey = elements(cache.kPages);
  const int64_t slots[] = {5 * 4 + 2, 5 * 4 + 3, 1 * 4 + 0}; // positions 2, 3, 4
  for (int64_t token = 0; token < 3; ++token) {
    double squares = 0;
    for (int64_t d = 0; d < 8; ++d)
      squares += key.loadAt(token * 8 + d) * key.loadAt(token * 8 + d);
    for (int64_t d = 0; d < 8; ++d) {
      want[slots[token] * 8 + d] = value.loadAt(token * 8 + d);
      wantKey[slots[token] * 8 + d] =
          roundTo(DType::BF16, key.loadAt(token * 8 + d) * (1 / std::sqrt(squares / 8 + 1e-5)) *
                                   weight.loadAt(d));
    }
  }
  EXPECT_EQ(elements(after.vPages), want);
  EXPECT_EQ(elements(after.kPages), wantKey);
}

static const char kScaled[] = R"(
!cache = !attn.paged_kv<2 heads, 8 x 8, f8E4M3FN, page 4>
func.func @layer(%q: tensor<?x2x8xf32>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x2x8xf32> {
  %c = attn.append %q, %q to %cache rows(%rows) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, !cache, tensor<?xi32>
  %o = attn.attention %q, %c rows(%rows) scale 1.0 : tensor<?x2x8xf32>, !cache, tensor<?xi32> -> tensor<?x2x8xf32>
  return %o : tensor<?x2x8xf32>
})";

TEST_F(Paging, A32_ScalesDivideWhatIsAppendedAndMultiplyWhatIsRead) {
  CacheArrays cache{*Array::make(DType::F8E4M3, {1, 4, 2, 8}),
                    *Array::make(DType::F8E4M3, {1, 4, 2, 8}), *Array::make(DType::I32, {1, 1}),
                    list(DType::I32, {1})};
  cache.kScale = list(DType::F32, {1, 2});
  cache.vScale = list(DType::F32, {0.5, 4});
  // One key, whose value is the result.
  Array row = filled(DType::F32, {1, 2, 8}, [](int64_t i) {
    return std::vector<double>{1000, -1000, 448, 464, NAN, -0.0, 17, INFINITY}[i % 8];
  });
  std::vector<Argument> arguments{row, cache, list(DType::I32, {0, 1})};
  Evaluation got = run(kScaled, arguments);
  CacheArrays after = std::get<CacheArrays>(got.arguments[1]);
  auto expect = [](const Array &pages, std::vector<double> want) {
    for (size_t i = 0; i < want.size(); ++i)
      if (double stored = pages.loadAt(static_cast<int64_t>(i)); std::isnan(want[i]))
        EXPECT_TRUE(std::isnan(stored));
      else
        EXPECT_EQ(stored, want[i]) << i;
  };
  expect(after.kPages, {448, -448, 448, 448, NAN, 0, 16, 448, //
                        448, -448, 224, 224, NAN, 0, 8, 448});
  expect(after.vPages, {448, -448, 448, 448, NAN, 0, 32, 448, //
                        256, -256, 112, 112, NAN, 0, 4, 448});
  cache.kScale.reset();
  arguments[1] = cache;
  EXPECT_NE(error(kScaled, arguments).find("argument 1 expects scales of 2 heads"),
            std::string::npos);
}

TEST_F(Paging, A32_ScalesOfEachHeadAndOfKeysAndValues) {
  const std::string text = R"(
!cache = !attn.paged_kv<2 heads, 8 x 8, f8E4M3FN, page 4>
func.func @f(%q: tensor<?x2x8xf32>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x2x8xf32> {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : tensor<?x2x8xf32>, !cache, tensor<?xi32> -> tensor<?x2x8xf32>
  return %o : tensor<?x2x8xf32>
})";
  CacheArrays cache{noise(DType::F8E4M3, {2, 4, 2, 8}, 1), noise(DType::F8E4M3, {2, 4, 2, 8}, 2),
                    filled(DType::I32, {1, 2}, [](int64_t i) { return i; }), list(DType::I32, {7})};
  cache.kScale = list(DType::F32, {0.25, 2});
  cache.vScale = list(DType::F32, {8, 0.5});
  Array query = noise(DType::F32, {1, 2, 8}, 3), rows = list(DType::I32, {0, 1});
  std::vector<Argument> arguments{query, cache, rows};
  std::vector<double> got = elements(run(text, arguments).outputs[0].values);

  // The same numbers in pages of f32, which need no scales.
  auto dequantised = [](const Array &pages, const Array &scale) {
    return filled(DType::F32, pages.shape(),
                  [&](int64_t i) { return pages.loadAt(i) * scale.loadAt(i / 8 % 2); });
  };
  std::string wide = text;
  wide.replace(wide.find("f8E4M3FN"), 8, "f32");
  arguments[1] = CacheArrays{dequantised(cache.kPages, *cache.kScale),
                             dequantised(cache.vPages, *cache.vScale), cache.table, cache.lens};
  EXPECT_EQ(got, elements(run(wide, arguments).outputs[0].values));
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

static std::string rope(const std::string &style, int64_t pairs) {
  std::string table = "tensor<?x" + std::to_string(pairs) + "xf32>";
  return "func.func @rope(%x: tensor<?x1x128xf32>, %cos: " + table + ", %sin: " + table +
         ", %p: tensor<?xi64>) -> tensor<?x1x128xf32> {\n  %y = attn.rope %x, %cos, %sin "
         "positions(%p) " +
         style + " : tensor<?x1x128xf32>, " + table +
         ", tensor<?xi64>\n  return %y : tensor<?x1x128xf32>\n}\n";
}

TEST_F(Rope, A45_PartialRotaryOfBothStylesAtLargePositions) {
  const std::vector<double> positions{0, 1, 255, 256, 257, 4095, 15962};
  int64_t tokens = static_cast<int64_t>(positions.size());
  for (int64_t pairs : {32, 16})
    for (double theta : {1e4, 1e6}) {
      auto angle = [&](double p, int64_t j) {
        return p * std::pow(theta, -static_cast<double>(j) / static_cast<double>(pairs));
      };
      auto table = [&](double (*of)(double)) {
        return filled(DType::F32, {16384, pairs}, [&](int64_t i) {
          return of(angle(static_cast<double>(i / pairs), i % pairs));
        });
      };
      Array x = noise(DType::F32, {tokens, 1, 128}, 1);
      std::vector<Argument> arguments{x, table(std::cos), table(std::sin),
                                      list(DType::I64, positions)};
      for (bool half : {true, false}) {
        Evaluation got = run(rope(half ? "half_split" : "interleaved", pairs), arguments);
        const Array &y = got.outputs[0].values;
        for (int64_t t = 0; t < tokens; ++t) {
          for (int64_t j = 0; j < pairs; ++j) {
            int64_t a = t * 128 + (half ? j : 2 * j), b = t * 128 + (half ? j + pairs : 2 * j + 1);
            double turn = angle(positions[t], j), xa = x.loadAt(a), xb = x.loadAt(b);
            EXPECT_NEAR(y.loadAt(a), xa * std::cos(turn) - xb * std::sin(turn), 1e-6);
            EXPECT_NEAR(y.loadAt(b), xb * std::cos(turn) + xa * std::sin(turn), 1e-6);
          }
          for (int64_t d = 2 * pairs; d < 128; ++d)
            EXPECT_EQ(y.loadAt(t * 128 + d), x.loadAt(t * 128 + d)) << "past the rotary part";
        }
      }
    }
}

TEST_F(Rope, PositionsOutsideTheTable) {
  Array x = noise(DType::F32, {2, 1, 128}, 1),
        table = filled(DType::F32, {4, 8}, [](int64_t) { return 0.5; });
  std::vector<Argument> arguments{x, table, table, list(DType::I64, {-1, 3})};
  Evaluation got = run(rope("half_split", 8), arguments);
  for (int64_t d = 0; d < 128; ++d) // a negative position passes through
    EXPECT_EQ(got.outputs[0].values.loadAt(d), x.loadAt(d));
  arguments[3] = list(DType::I64, {0, 4});
  EXPECT_NE(error(rope("half_split", 8), arguments)
                .find("token 1 expects positions below the table's 4 rows, got 4"),
            std::string::npos);
  arguments[3] = list(DType::I64, {0});
  EXPECT_NE(error(rope("half_split", 8), arguments).find("expects 2 positions, got 1"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

static const char kMerge[] = R"(
!o = tensor<?x1x8xf32>
!l = tensor<?x1xf32>
func.func @merge(%oa: !o, %la: !l, %ob: !o, %lb: !l) -> (!o, !l) {
  %o, %l = attn.merge (%oa, %la), (%ob, %lb) : !o, !l
  return %o, %l : !o, !l
})";

TEST_F(Merge, A33_TheLogarithmIsNatural) {
  // A prefix of 3072 keys with V = 0, a suffix of 64 with V = 1, all scores 0.
  Array zeros = filled(DType::F32, {1, 1, 8}, [](int64_t) { return 0; }),
        ones = filled(DType::F32, {1, 1, 8}, [](int64_t) { return 1; });
  auto lse = [](double keys) {
    return filled(DType::F32, {1, 1}, [&](int64_t) { return std::log(keys); });
  };
  for (bool swapped : {false, true}) {
    std::vector<Argument> arguments{zeros, lse(3072), ones, lse(64)};
    if (swapped)
      arguments = {ones, lse(64), zeros, lse(3072)};
    Evaluation got = run(kMerge, arguments);
    EXPECT_NEAR(got.outputs[0].values.loadAt(0), 64.0 / 3136, 1e-8);
    EXPECT_NEAR(got.outputs[1].values.loadAt(0), std::log(3136.0), 1e-6);
  }
}

TEST_F(Merge, A33_OfAttentionsInTheGraph) {
  // Masks k < 3072 and k >= 3072 of one attention; the merge of both is the whole.
  std::string attention =
      "attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 1.0 mask <";
  std::string types = "> : tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?xi32>, "
                      "tensor<?xi32> -> tensor<?x1x8xf32>, tensor<?x1xf32>\n";
  std::string text =
      "func.func @f(%q: tensor<?x1x8xf32>, %k: tensor<?x1x8xf32>, %v: tensor<?x1x8xf32>, %rows: "
      "tensor<?xi32>, "
      "%kv_rows: tensor<?xi32>) -> (tensor<?x1x8xf32>, tensor<?x1xf32>) {\n  %oa, %la = " +
      attention + "k < 3072" + types + "  %ob, %lb = " + attention + "k >= 3072" + types +
      "  %o, %l = attn.merge (%oa, %la), (%ob, %lb) : tensor<?x1x8xf32>, tensor<?x1xf32>\n"
      "  return %o, %l : tensor<?x1x8xf32>, tensor<?x1xf32>\n}\n";
  std::vector<Argument> arguments{
      *Array::make(DType::F32, {1, 1, 8}), noise(DType::F32, {3136, 1, 8}, 1),
      filled(DType::F32, {3136, 1, 8}, [](int64_t i) { return i / 8 >= 3072; }),
      list(DType::I32, {0, 1}), list(DType::I32, {0, 3136})};
  Evaluation got = run(text, arguments);
  EXPECT_NEAR(got.outputs[0].values.loadAt(0), 64.0 / 3136, 1e-15);
  EXPECT_NEAR(got.outputs[1].values.loadAt(0), std::log(3136.0), 1e-14);
  EXPECT_TRUE(got.outputs[1].isLse);
  EXPECT_EQ(got.outputs[0].requests->kvLens, std::vector<int64_t>{2 * 3136});
}

TEST_F(Merge, A06_AnEmptyStateIsTheIdentity) {
  Array state = noise(DType::F32, {1, 1, 8}, 1),
        lse = filled(DType::F32, {1, 1}, [](int64_t) { return 1.25; });
  Array stale = filled(DType::F32, {1, 1, 8}, [](int64_t) { return NAN; }),
        none = filled(DType::F32, {1, 1}, [](int64_t) { return -INFINITY; });
  std::vector<Argument> right{state, lse, stale, none}, left{stale, none, state, lse},
      both{stale, none, stale, none};
  for (const auto &arguments : {right, left}) {
    Evaluation got = run(kMerge, arguments);
    EXPECT_EQ(elements(got.outputs[0].values), elements(state));
    EXPECT_EQ(got.outputs[1].values.loadAt(0), 1.25);
  }
  Evaluation got = run(kMerge, both);
  EXPECT_EQ(elements(got.outputs[0].values), std::vector<double>(8, 0));
  EXPECT_EQ(got.outputs[1].values.loadAt(0), -INFINITY);
}
