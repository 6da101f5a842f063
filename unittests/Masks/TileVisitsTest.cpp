//===- TileVisitsTest.cpp - emitted visit lists against enumeration -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmittedVisits.h"
#include "Enumeration.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

namespace {

const int64_t kTileSizes[] = {1, 3, 4, 8, 16};

/// A mask's programs by tile size.
class Programs {
public:
  Programs(MLIRContext *context, const TileBounds &bounds, bool useIndex) : bounds(bounds) {
    type = useIndex ? Type(IndexType::get(context)) : IntegerType::get(context, 32);
  }
  VisitProgram &of(int64_t tileSize) {
    auto known = programs.find(tileSize);
    if (known == programs.end())
      known = programs.try_emplace(tileSize, type, bounds, tileSize).first;
    return known->second;
  }

private:
  const TileBounds &bounds;
  Type type;
  std::map<int64_t, VisitProgram> programs;
};

/// Walks a visit list as a kernel would; says how often each tile was visited and called full.
void compareVisits(Tally &tally, VisitProgram &program, const NamedMask &named, const Case &c,
                   const Enumeration::Sees &sees) {
  Enumeration truth(c, sees);
  int64_t numTiles = c.numKVTiles();
  for (auto [qlo, qhi] : c.queryTiles()) {
    SmallVector<int64_t> symbols = symbolValues(c, qlo, qhi, named);
    std::vector<int64_t> visits(numTiles), full(numTiles);
    int64_t last = 0;
    for (auto [begin, end, kind] : program.visits(symbols)) {
      ASSERT_LE(begin, end);
      if (begin == end)
        continue;
      ASSERT_GE(begin, last) << "ranges expect ascending order";
      ASSERT_LE(end, numTiles);
      last = end;
      for (int64_t tile = begin; tile < end; ++tile) {
        auto [visit, partial] = program.test(symbols, tile);
        bool tested = kind == VisitKind::Test;
        visits[tile] += tested ? visit : 1;
        full[tile] = tested ? !partial : kind == VisitKind::Full;
      }
    }
    for (int64_t tile = 0; tile < numTiles; ++tile)
      count(tally, truth.any(qlo, qhi, tile), truth.full(qlo, qhi, tile), visits[tile], full[tile]);
  }
}

Tally compareNamed(const NamedMask &named, bool useIndex) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  MaskSets mask = parseOrFail(named.text, &context);
  TileBounds bounds = deriveTileBounds(mask);
  Programs programs(&context, bounds, useIndex);
  std::mt19937 random(11);
  Tally tally;
  for (int i = 0; i < 600; ++i) {
    Case c = randomCase(random, mask, kTileSizes);
    compareVisits(tally, programs.of(c.tileSize), named, c,
                  [&](int64_t q, int64_t k) { return named.sees({q, k, c.env}); });
  }
  return tally;
}

void expectSound(const Tally &tally, const NamedMask &named) {
  EXPECT_GT(tally.tiles, 0);
  EXPECT_EQ(tally.missed, 0) << named.text;
  EXPECT_EQ(tally.twice, 0) << named.text;
  EXPECT_EQ(tally.falselyFull, 0) << named.text;
}

TEST(TileVisitsTest, A19_A20_SpelledMasksAreVisitedExactly) {
  for (const NamedMask &named : spelledMasks())
    for (bool useIndex : {false, true}) {
      Tally tally = compareNamed(named, useIndex);
      expectSound(tally, named);
      EXPECT_EQ(tally.extra, 0) << named.text;
      // Where the window reaches back to the sink, the tile of the sink's end may be full, and is
      // called partial.
      EXPECT_LE(tally.cautious, named.name == "sink_window" ? tally.tiles / 50 : 0) << named.text;
    }
}

TEST(TileVisitsTest, NamedMasksAreVisitedOnce) {
  for (const NamedMask &named : namedMasks()) {
    Tally tally = compareNamed(named, /*useIndex=*/false);
    expectSound(tally, named);
    if (named.exactVisits)
      EXPECT_EQ(tally.extra, 0) << named.text;
  }
}

TEST(TileVisitsTest, RandomMasksAreVisitedOnce) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::mt19937 random(99);
  std::map<StringRef, int> orders;
  for (int i = 0; i < 150; ++i) {
    NamedMask named{"random", randomMaskText(random), {}};
    MaskSets mask = parseOrFail(named.text, &context);
    TileBounds bounds = deriveTileBounds(mask);
    ++orders[stringify(bounds.order)];
    Programs programs(&context, bounds, /*useIndex=*/false);
    Tally tally;
    for (int j = 0; j < 25; ++j) {
      Case c = randomCase(random, mask, kTileSizes);
      compareVisits(tally, programs.of(c.tileSize), named, c,
                    [&](int64_t q, int64_t k) { return isVisible(mask, c.env, q, k); });
    }
    expectSound(tally, named);
  }
  EXPECT_GT(orders["proved"], 0);
  EXPECT_GT(orders["sorted at run time"], 0);
}

/// Too many unordered intervals for a sort, and too many disjuncts for one complement.
TEST(TileVisitsTest, ManyBandsFallBackToTests) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  NamedMask named{"bands", "", {}};
  for (int i = 0; i < 6; ++i) {
    std::string a = "a" + std::to_string(i), p = "q + kv_len - q_len";
    named.text +=
        (i ? " or k <= " : "k <= ") + p + " - " + a + " and k > " + p + " - " + a + " - 3";
  }
  named.text += " where a0 >= 0, a1 >= 0, a2 >= 0, a3 >= 0, a4 >= 0, a5 >= 0";
  MaskSets mask = parseOrFail(named.text, &context);
  TileBounds bounds = deriveTileBounds(mask);
  EXPECT_EQ(bounds.order, VisitOrder::Hull);
  EXPECT_EQ(bounds.notFull.size(), 6u);
  EXPECT_EQ(visitKinds(bounds), SmallVector<VisitKind>{VisitKind::Test});
  Programs programs(&context, bounds, /*useIndex=*/false);
  std::mt19937 random(5);
  Tally tally;
  for (int i = 0; i < 200; ++i) {
    Case c = randomCase(random, mask, kTileSizes);
    compareVisits(tally, programs.of(c.tileSize), named, c,
                  [&](int64_t q, int64_t k) { return isVisible(mask, c.env, q, k); });
  }
  expectSound(tally, named);
  EXPECT_EQ(tally.extra, 0);
}

/// The sizes of real tiles, at and around their edges.
TEST(TileVisitsTest, RealTileSizes) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  for (const NamedMask &named : spelledMasks()) {
    MaskSets mask = parseOrFail(named.text, &context);
    TileBounds bounds = deriveTileBounds(mask);
    Programs programs(&context, bounds, /*useIndex=*/false);
    Tally tally;
    for (int64_t qLen : {0, 1, 63, 64, 65, 130})
      for (int64_t kvLen : {0, 1, 64, 65, 128, 257})
        for (auto [tileRows, tileSize, group] :
             {std::tuple(64, 64, 1), {128, 64, 4}, {128, 128, 3}}) {
          Case c{{qLen, kvLen, SmallVector<int64_t>(mask.symbols.size(), 70)},
                 tileRows,
                 tileSize,
                 group};
          compareVisits(tally, programs.of(c.tileSize), named, c,
                        [&](int64_t q, int64_t k) { return named.sees({q, k, c.env}); });
        }
    expectSound(tally, named);
    EXPECT_EQ(tally.extra, 0) << named.text;
  }
}

TEST(TileVisitsTest, EmptyQueryTileVisitsNothing) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::vector<NamedMask> all = spelledMasks();
  all.insert(all.end(), namedMasks().begin(), namedMasks().end());
  for (const NamedMask &named : all) {
    MaskSets mask = parseOrFail(named.text, &context);
    TileBounds bounds = deriveTileBounds(mask);
    VisitProgram program(IntegerType::get(&context, 32), bounds, 4);
    for (auto [qlo, qhi] : {std::pair(0, -1), {5, 3}, {8, 7}}) {
      SmallVector<int64_t> symbols{qlo, qhi};
      symbols.append(2 * bounds.numRowVars, 20);
      symbols.append({int64_t(qhi + 1), 40});
      symbols.append(mask.symbols.size(), 9);
      for (auto [begin, end, kind] : program.visits(symbols))
        EXPECT_EQ(begin, end) << named.text;
    }
  }
}

//===----------------------------------------------------------------------===//
// The element predicate
//===----------------------------------------------------------------------===//

TEST(ElementMaskTest, AgreesWithReference) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::vector<NamedMask> all = spelledMasks();
  all.insert(all.end(), namedMasks().begin(), namedMasks().end());
  std::mt19937 random(3);
  for (const NamedMask &named : all) {
    MaskSets mask = parseOrFail(named.text, &context);
    TileBounds bounds = deriveTileBounds(mask);
    unsigned numRows = mask.rowVars.size();
    EmittedFunction function(&context, IntegerType::get(&context, 32), bounds, 1, 2 + numRows);
    MaskPoint point{function.extra[0], function.extra[1], {}};
    point.rows.append(function.extra.begin() + 2, function.extra.end());
    ArithProgram program(
        function.finish(emitVisible(function.builder, function.loc, mask, point, function.visits)));
    for (int i = 0; i < 20; ++i) {
      Case c = randomCase(random, mask, {1});
      for (int64_t q = 0; q < c.env.qLen; ++q) {
        SmallVector<int64_t> rows;
        if (named.rows)
          llvm::append_range(rows, named.rows(q, c.env));
        for (int64_t k = 0; k < c.env.kvLen + 3; ++k) {
          bool sees = k < c.env.kvLen && named.sees({q, k, c.env});
          SmallVector<int64_t> arguments = symbolValues(c, q, q, named);
          arguments.append({q, k});
          arguments.append(rows);
          ASSERT_EQ(program.run(arguments)[0] != 0, sees) << named.text;
          ASSERT_EQ(isVisible(mask, c.env, q, k, rows), sees) << named.text;
        }
      }
    }
  }
}

/// With constant operands and a vector of keys the predicate folds to a constant vector.
TEST(ElementMaskTest, VectorOfKeysFolds) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, vector::VectorDialect>();
  NamedMask named = spelledMasks()[4];
  ASSERT_EQ(named.name, "sink_window");
  MaskSets mask = parseOrFail(named.text, &context);
  MaskEnv env{5, 30, {4, 8}};
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto constant = [&](TypedAttr value) -> Value {
    return arith::ConstantOp::create(builder, loc, value);
  };
  auto scalar = [&](int64_t value) { return constant(builder.getI32IntegerAttr(value)); };
  SmallVector<int32_t> keys = llvm::to_vector(llvm::seq<int32_t>(0, 32));
  VisitContext visits;
  visits.qLen = scalar(env.qLen);
  visits.kvLen = scalar(env.kvLen);
  visits.symbols = {scalar(4), scalar(8)};
  for (int64_t q = 0; q < env.qLen; ++q) {
    MaskPoint point{scalar(q), constant(builder.getI32VectorAttr(keys)), {}};
    Value visible = emitVisible(builder, loc, mask, point, visits);
    DenseIntElementsAttr folded;
    ASSERT_TRUE(matchPattern(visible, m_Constant(&folded)));
    for (auto [k, bit] : llvm::enumerate(folded.getValues<bool>()))
      EXPECT_EQ(bit, int64_t(k) < env.kvLen && named.sees({q, int64_t(k), env}));
  }
}

/// Where only k is a vector, the bounds of k stay scalar: one comparison a side.
TEST(ElementMaskTest, VectorOfKeysComparesOnceASide) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<vector::VectorDialect>();
  Type i32 = IntegerType::get(&context, 32);
  for (auto [text, numVectorOps] :
       {std::pair("none", 1), {"causal", 1}, {"window(8)", 3}, {"sink_window(4, 8)", 5}}) {
    MaskSets mask = parseOrFail(text, &context);
    EmittedFunction function(&context, i32, deriveTileBounds(mask), 64, 2);
    Value keys = vector::BroadcastOp::create(function.builder, function.loc,
                                             VectorType::get({16}, i32), function.extra[1]);
    MaskPoint point{function.extra[0], keys, {}};
    Value visible = emitVisible(function.builder, function.loc, mask, point, function.visits);
    EXPECT_EQ(visible.getType(), VectorType::get({16}, IntegerType::get(&context, 1)));
    int vectorOps = 0;
    for (Operation &op : *visible.getParentBlock())
      vectorOps += isa<VectorType>(op.getResult(0).getType()) && !isa<vector::BroadcastOp>(op);
    EXPECT_EQ(vectorOps, numVectorOps) << text;
    function.finish(visible);
  }
}

} // namespace
