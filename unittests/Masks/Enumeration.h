//===- Enumeration.h - what is true of every tile, by looking at every key -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_MASKS_ENUMERATION_H
#define PAGEFOLD_UNITTESTS_MASKS_ENUMERATION_H

#include "NamedMasks.h"
#include "pagefold/Analysis/TileBounds.h"
#include <random>

namespace pagefold::test {

/// One request under one tiling.
struct Case {
  MaskEnv env;
  int64_t tileRows = 1; ///< rows of a Q tile after packing (BM)
  int64_t tileSize = 1; ///< keys of a KV tile (BN)
  int64_t group = 1;    ///< query heads packed for each row of the request

  int64_t numKVTiles() const { return (env.kvLen + tileSize - 1) / tileSize; }
  /// First and last row of each Q tile.
  std::vector<std::pair<int64_t, int64_t>> queryTiles() const;
};

/// A small random case; symbols at or a little above their lower bounds.
Case randomCase(std::mt19937 &random, const MaskSets &mask, llvm::ArrayRef<int64_t> tileSizes);

/// The mask of one case, counted tile by tile.
class Enumeration {
public:
  using Sees = std::function<bool(int64_t q, int64_t k)>;
  Enumeration(const Case &c, const Sees &sees);
  bool any(int64_t qlo, int64_t qhi, int64_t tile) const { return visible(qlo, qhi, tile) > 0; }
  bool full(int64_t qlo, int64_t qhi, int64_t tile) const {
    return visible(qlo, qhi, tile) == (qhi - qlo + 1) * tileSize;
  }

private:
  int64_t visible(int64_t qlo, int64_t qhi, int64_t tile) const {
    return sums[(qhi + 1) * numTiles + tile] - sums[qlo * numTiles + tile];
  }
  int64_t tileSize, numTiles;
  std::vector<int64_t> sums; ///< visible elements of a tile in all rows before
};

/// Values for the symbols of TileBounds.
llvm::SmallVector<int64_t> symbolValues(const Case &c, int64_t qlo, int64_t qhi,
                                        const NamedMask &mask);

/// Whether the interval holds a key of the tile, by the definition of KeyInterval.
bool touches(const KeyInterval &interval, llvm::ArrayRef<int64_t> symbols, int64_t firstKey,
             int64_t lastKey);

/// What a comparison with enumeration found.
struct Tally {
  int64_t tiles = 0;
  int64_t missed = 0;      ///< visible, not visited
  int64_t twice = 0;       ///< visited more than once
  int64_t falselyFull = 0; ///< called full and not full
  int64_t extra = 0;       ///< visited without a visible key
  int64_t cautious = 0;    ///< full, and called partial
  bool operator==(const Tally &) const = default;
};

inline void PrintTo(const Tally &tally, std::ostream *os) {
  *os << tally.tiles << " tiles, " << tally.missed << " missed, " << tally.twice << " twice, "
      << tally.falselyFull << " falsely full, " << tally.extra << " extra, " << tally.cautious
      << " cautious";
}

/// Adds one tile to the tally.
inline void count(Tally &tally, bool any, bool full, int64_t visits, bool calledFull) {
  ++tally.tiles;
  tally.missed += any && visits == 0;
  tally.twice += visits > 1;
  tally.falselyFull += visits > 0 && calledFull && !full;
  tally.extra += visits > 0 && !any;
  tally.cautious += visits > 0 && full && !calledFull;
}

/// A random mask of up to three sets of up to three conditions.
std::string randomMaskText(std::mt19937 &random);

} // namespace pagefold::test

#endif // PAGEFOLD_UNITTESTS_MASKS_ENUMERATION_H
