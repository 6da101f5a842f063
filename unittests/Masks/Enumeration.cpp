//===- Enumeration.cpp - what is true of every tile, by looking at every key ===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Enumeration.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

static int64_t below(std::mt19937 &random, int64_t limit) { return random() % limit; }

std::vector<std::pair<int64_t, int64_t>> Case::queryTiles() const {
  std::vector<std::pair<int64_t, int64_t>> tiles;
  for (int64_t first = 0; first < env.qLen * group; first += tileRows)
    tiles.push_back({first / group, std::min((first + tileRows - 1) / group, env.qLen - 1)});
  return tiles;
}

Case pagefold::test::randomCase(std::mt19937 &random, const MaskSets &mask,
                                ArrayRef<int64_t> tileSizes) {
  const int64_t tileRows[] = {1, 2, 3, 4, 5, 8, 16}, groups[] = {1, 1, 2, 3, 5};
  Case c;
  c.env.qLen = below(random, 40);
  c.env.kvLen = below(random, 48);
  for (int64_t bound : mask.lowerBounds)
    c.env.symbols.push_back((bound == kNoLowerBound ? -5 : bound) + below(random, 30));
  c.tileRows = tileRows[below(random, 7)];
  c.tileSize = tileSizes[below(random, tileSizes.size())];
  c.group = groups[below(random, 5)];
  return c;
}

Enumeration::Enumeration(const Case &c, const Sees &sees)
    : tileSize(c.tileSize), numTiles(c.numKVTiles()) {
  sums.assign((c.env.qLen + 1) * numTiles, 0);
  for (int64_t q = 0; q < c.env.qLen; ++q)
    for (int64_t tile = 0; tile < numTiles; ++tile) {
      int64_t visible = 0, end = std::min(c.env.kvLen, (tile + 1) * tileSize);
      for (int64_t k = tile * tileSize; k < end; ++k)
        visible += sees(q, k);
      sums[(q + 1) * numTiles + tile] = sums[q * numTiles + tile] + visible;
    }
}

SmallVector<int64_t> pagefold::test::symbolValues(const Case &c, int64_t qlo, int64_t qhi,
                                                  const NamedMask &mask) {
  SmallVector<int64_t> values{qlo, qhi};
  if (mask.rows)
    for (auto [low, high] : llvm::zip(mask.rows(qlo, c.env), mask.rows(qhi, c.env)))
      values.append({low, high});
  values.append({c.env.qLen, c.env.kvLen});
  values.append(c.env.symbols);
  return values;
}

bool pagefold::test::touches(const KeyInterval &interval, ArrayRef<int64_t> symbols,
                             int64_t firstKey, int64_t lastKey) {
  for (AffineExpr guard : interval.guards)
    if (evaluateAffine(guard, {}, symbols) < 0)
      return false;
  for (AffineExpr low : interval.lower)
    firstKey = std::max(firstKey, evaluateAffine(low, {}, symbols));
  for (AffineExpr high : interval.upper)
    lastKey = std::min(lastKey, evaluateAffine(high, {}, symbols));
  if (!interval.residue)
    return firstKey <= lastKey;
  const auto &[modulus, phase, width] = *interval.residue;
  for (int64_t k = firstKey; k <= lastKey; ++k)
    if (((k - phase) % modulus + modulus) % modulus < width)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Random masks
//===----------------------------------------------------------------------===//

static std::string randomCondition(std::mt19937 &random) {
  auto number = [&](int64_t limit) { return std::to_string(below(random, limit)); };
  auto positive = [&](int64_t limit) { return std::to_string(1 + below(random, limit)); };
  const std::string p = "(q + kv_len - q_len)";
  switch (below(random, 14)) {
  case 0:
    return "k <= " + p + " + " + number(5);
  case 1:
    return "k > " + p + " - " + positive(12);
  case 2:
    return "k < " + number(30);
  case 3:
    return "k >= " + number(20);
  case 4:
    return "q < " + number(20);
  case 5:
    return "q >= " + number(10);
  case 6:
    return "k mod " + std::to_string(6 + below(random, 4)) + " >= " + positive(5);
  case 7:
    return p + " floordiv " + positive(9) + " == k floordiv " + positive(9);
  case 8:
    return p + " floordiv " + positive(9) + " >= k floordiv " + positive(9) + " - " + number(3);
  case 9:
    return positive(4) + " * q + " + number(9) + " >= " + positive(4) + " * k";
  case 10:
    return "(k floordiv " + positive(5) + ") mod " + std::to_string(2 + below(random, 3)) +
           " == " + number(2);
  case 11:
    return "k >= kv_len - " + positive(15);
  case 12:
    return "k <= q ceildiv " + positive(3) + " + a";
  default:
    return "k + b >= " + p;
  }
}

std::string pagefold::test::randomMaskText(std::mt19937 &random) {
  std::string text;
  for (int64_t sets = 1 + below(random, 3); sets > 0; --sets) {
    text += text.empty() ? "" : " or ";
    text += randomCondition(random);
    for (int64_t more = below(random, 3); more > 0; --more)
      text += " and " + randomCondition(random);
  }
  return text + " where a, b >= 0";
}
