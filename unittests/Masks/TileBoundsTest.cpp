//===- TileBoundsTest.cpp - derived bounds against enumeration ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Enumeration.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

namespace {

const int64_t kTileSizes[] = {1, 2, 3, 4, 8, 16};

bool calledPartial(const TileBounds &bounds, ArrayRef<int64_t> symbols, int64_t first,
                   int64_t last) {
  return llvm::all_of(bounds.notFull, [&](const auto &alternative) {
    return llvm::any_of(alternative, [&](const KeyInterval &interval) {
      return touches(interval, symbols, first, last);
    });
  });
}

/// Compares the intervals themselves, evaluated by their definition, with enumeration.
void compareBounds(Tally &tally, const TileBounds &bounds, const NamedMask &named, const Case &c,
                   const Enumeration::Sees &sees) {
  Enumeration truth(c, sees);
  for (auto [qlo, qhi] : c.queryTiles()) {
    SmallVector<int64_t> symbols = symbolValues(c, qlo, qhi, named);
    for (int64_t tile = 0; tile < c.numKVTiles(); ++tile) {
      int64_t first = tile * c.tileSize, last = first + c.tileSize - 1;
      bool visited = llvm::any_of(bounds.any, [&](const KeyInterval &interval) {
        return touches(interval, symbols, first, last);
      });
      count(tally, truth.any(qlo, qhi, tile), truth.full(qlo, qhi, tile), visited,
            !calledPartial(bounds, symbols, first, last));
    }
  }
}

Tally compareNamed(const TileBounds &bounds, const NamedMask &named, const MaskSets &mask,
                   int numCases) {
  std::mt19937 random(7);
  Tally tally;
  for (int i = 0; i < numCases; ++i) {
    Case c = randomCase(random, mask, kTileSizes);
    compareBounds(tally, bounds, named, c,
                  [&](int64_t q, int64_t k) { return named.sees({q, k, c.env}); });
  }
  return tally;
}

std::vector<NamedMask> allNamed() {
  std::vector<NamedMask> all = spelledMasks();
  all.insert(all.end(), namedMasks().begin(), namedMasks().end());
  return all;
}

std::string dump(const TileBounds &bounds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  bounds.print(os);
  return text;
}

class NamedMaskTest : public testing::TestWithParam<NamedMask> {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_P(NamedMaskTest, BoundsAgreeWithEnumeration) {
  MaskSets mask = parseOrFail(GetParam().text, &context);
  TileBounds bounds = deriveTileBounds(mask);
  Tally tally = compareNamed(bounds, GetParam(), mask, 800);
  EXPECT_EQ(tally.missed, 0) << dump(bounds);
  EXPECT_EQ(tally.falselyFull, 0) << dump(bounds);
  if (GetParam().exactVisits)
    EXPECT_EQ(tally.extra, 0) << dump(bounds);
  RecordProperty("extra", std::to_string(tally.extra));
  RecordProperty("cautious", std::to_string(tally.cautious));
  if (getenv("PAGEFOLD_MASK_DUMP"))
    llvm::outs() << maskText(mask) << "\n"
                 << dump(bounds) << tally.tiles << " tiles, " << tally.extra << " extra, "
                 << tally.cautious << " cautious\n";
}

std::string testName(const testing::TestParamInfo<NamedMask> &info) {
  std::string name = info.param.name;
  for (char &c : name)
    c = isalnum(c) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Masks, NamedMaskTest, testing::ValuesIn(allNamed()), testName);

class MovedBoundsTest : public NamedMaskTest {
protected:
  /// Whether a moved end names the same tiles: there is no key below 0, nor a tile from kv_len on.
  static bool isSame(const TileBounds &bounds, AffineExpr end, int64_t by) {
    unsigned kvLen = llvm::find(bounds.symbolNames, "kv_len") - bounds.symbolNames.begin();
    return (by < 0 && end == getAffineConstantExpr(0, end.getContext())) ||
           (by > 0 && end == getAffineSymbolExpr(kvLen, end.getContext()) - 1);
  }
};

/// Moving any end of any interval by one must show, or the comparison proves nothing.
TEST_P(MovedBoundsTest, AreNoticed) {
  MaskSets mask = parseOrFail(GetParam().text, &context);
  TileBounds bounds = deriveTileBounds(mask);
  Tally right = compareNamed(bounds, GetParam(), mask, 300);
  auto expectNoticed = [&](AffineExpr &end) {
    AffineExpr original = end;
    for (int64_t by : {-1, 1}) {
      if (isSame(bounds, original, by))
        continue;
      end = original + by;
      EXPECT_NE(compareNamed(bounds, GetParam(), mask, 300), right) << "moved by " << by << " in\n"
                                                                    << dump(bounds);
    }
    end = original;
  };
  auto moveEnds = [&](SmallVectorImpl<KeyInterval> &intervals) {
    for (KeyInterval &interval : intervals) {
      llvm::for_each(interval.lower, expectNoticed);
      llvm::for_each(interval.upper, expectNoticed);
    }
  };
  moveEnds(bounds.any);
  moveEnds(bounds.notFull.front());
}

/// Masks whose intervals do not overlap: an end inside another interval would decide nothing.
std::vector<NamedMask> disjointMasks() {
  const StringRef names[] = {"none",
                             "causal",
                             "window",
                             "prefix",
                             "chunked",
                             "chunk without causal",
                             "outside a window",
                             "a triangle"};
  std::vector<NamedMask> disjoint = allNamed();
  llvm::erase_if(disjoint, [&](const NamedMask &mask) {
    return !llvm::is_contained(names, StringRef(mask.name));
  });
  return disjoint;
}

INSTANTIATE_TEST_SUITE_P(Masks, MovedBoundsTest, testing::ValuesIn(disjointMasks()), testName);

TEST(TileBoundsTest, RandomMasksAreNeverUnsound) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::mt19937 random(2024);
  std::map<StringRef, int> methods;
  for (int i = 0; i < 250; ++i) {
    std::string text = randomMaskText(random);
    MaskSets mask = parseOrFail(text, &context);
    TileBounds bounds = deriveTileBounds(mask);
    ++methods[stringify(bounds.worstMethod())];
    Tally tally;
    for (int j = 0; j < 25; ++j) {
      Case c = randomCase(random, mask, kTileSizes);
      compareBounds(tally, bounds, {}, c,
                    [&](int64_t q, int64_t k) { return isVisible(mask, c.env, q, k); });
    }
    EXPECT_EQ(tally.missed, 0) << text << "\n" << dump(bounds);
    EXPECT_EQ(tally.falselyFull, 0) << text << "\n" << dump(bounds);
  }
  // The seeds reach every step of the ladder but the last.
  for (BoundMethod method :
       {BoundMethod::Exact, BoundMethod::Lifted, BoundMethod::Residue, BoundMethod::RealShadow})
    EXPECT_GT(methods[stringify(method)], 0) << stringify(method).str();
}

/// Eliminating the tables multiplies coefficients of 31 bits three times.
TEST(TileBoundsTest, NumbersBeyond64BitsGiveAHull) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  NamedMask named{"huge",
                  "2147483647 * q + 2147483629 * s >= 2147483587 * k + 2147483579 * e and "
                  "2147483563 * e >= 2147483549 * s + 2147483543 * q - 5 and "
                  "2147483489 * s >= 2147483477 * q where s per_row, e per_row",
                  {}};
  named.rows = [](int64_t q, const MaskEnv &) { return std::vector<int64_t>{q, 2 * q}; };
  MaskSets mask = parseOrFail(named.text, &context);
  TileBounds bounds = deriveTileBounds(mask);
  EXPECT_EQ(bounds.worstMethod(), BoundMethod::Hull) << dump(bounds);
  std::mt19937 random(1);
  Tally tally;
  for (int i = 0; i < 100; ++i) {
    Case c = randomCase(random, mask, kTileSizes);
    compareBounds(tally, bounds, named, c, [&](int64_t q, int64_t k) {
      return isVisible(mask, c.env, q, k, named.rows(q, c.env));
    });
  }
  EXPECT_EQ(tally.missed, 0);
  EXPECT_EQ(tally.falselyFull, 0);
}

} // namespace
