//===- OuterForm.cpp - products over many query rows ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores are [key, row]: S^T = K Q^T with the query transposed once an item, so that the rows of
// the query tile run along the lanes. Both products are outer products kept in registers:
//
//   S^T[n, m] = sum_d K[n, d] Q^T[d, m]     broadcast K[n, d], vectors of Q^T[d, :]
//   O[m, e]   = sum_n S^T[n, m] V[n, e]     broadcast S^T[n, m], vectors of V[n, :]
//
// so nothing is transposed per tile, and the max and the sum over keys are plain vector ops.
//
//===----------------------------------------------------------------------===//

#include "ProductForm.h"
#include "ScalarRegions.h"
#include <limits>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

namespace {

/// A block of accumulators that stays in registers: `rows` broadcast operands by `vectors` of 16
/// lanes.
struct RegisterBlock {
  int64_t rows, vectors;
};

/// The block with the most products, and among these the fewest loads, that divides the tile. 32
/// registers hold 24 accumulators and their operands.
RegisterBlock chooseBlock(int64_t rows, int64_t vectors) {
  constexpr int64_t kAccumulators = 24;
  RegisterBlock best{1, 1};
  auto better = [&](RegisterBlock block) {
    int64_t size = block.rows * block.vectors, bestSize = best.rows * best.vectors;
    return size > bestSize ||
           (size == bestSize && block.rows + block.vectors < best.rows + best.vectors);
  };
  for (int64_t v = 1; v <= vectors && v <= kAccumulators; ++v)
    for (int64_t r = 1; r <= rows && r * v <= kAccumulators; ++r)
      if (vectors % v == 0 && rows % r == 0 && better({r, v}))
        best = {r, v};
  return best;
}

class OuterForm final : public ProductForm {
public:
  OuterForm(Kernel &kernel, tile::SpaceOp space)
      : ProductForm(kernel, space, space.getSchedule()->getQTile()), rowVectors(qTile / kLanes),
        valueVectors(vectorsOf(vDim)), scoreBlock(chooseBlock(kvTile, rowVectors)),
        valueBlock(chooseBlock(qTile, valueVectors)), query(kernel.scratch({kDim, qTile})),
        keys(kernel.scratch({kvTile, paddedTo16(kDim)})),
        values(kernel.scratch({kvTile, paddedTo16(vDim)})) {
    clearPadding();
  }

  MemRefType scoreType(int64_t keyCount) override {
    return MemRefType::get({keyCount, qTile}, b.getF32Type());
  }
  Value roundedKeys(Value count) override {
    return b.mul(b.ceilDivide(count, scoreBlock.rows), scoreBlock.rows);
  }
  void scores(const Item &item, const KVTile &tile, Value buffer) override;
  void map(const Item &item, const KVTile &tile, Value buffer, Region &region,
           MaskEmitter *mask) override;
  void softmaxStep(Value keyCount, Value buffer) override;
  void accumulate(const Item &item, const KVTile &tile, Value buffer, bool rescale) override;

private:
  void clearQuery() override { b.fill(query, 0); }
  void storeQueryRow(Value m, Value row, Value scale) override;
  void clearPadding();
  void copyRows(const Item &item, const KVTile &tile, Value source, int64_t extent, Value target);

  int64_t rowVectors, valueVectors;
  RegisterBlock scoreBlock, valueBlock;
  Value query, keys, values;
};

/// A head dim that ends in half a vector leaves columns that are computed along: they must be
/// numbers.
void OuterForm::clearPadding() {
  if (vDim % kLanes)
    b.fill(values, 0);
}

void OuterForm::storeQueryRow(Value m, Value row, Value scale) {
  b.loop(b.index(0), b.index(kDim), 1,
         [&](Value d) { b.store(b.fmul(b.loadF32(row, {d}), scale), query, {d, m}); });
}

/// Copies the tile's rows as f32; rows beyond them, as far as is computed at once, become zero.
void OuterForm::copyRows(const Item &item, const KVTile &tile, Value source, int64_t extent,
                         Value target) {
  b.loop(b.index(0), tile.keys, 1, [&](Value n) {
    HostBuilder::Values at = kv.locate(item.request.number, b.add(tile.firstKey, n), item.head);
    at.push_back(Value());
    b.forVectors(extent, [&](Value offset, int64_t lanes) {
      at.back() = offset;
      b.storeVector(b.loadVector(source, at, lanes), target, {n, offset});
    });
  });
  b.loop(tile.keys, roundedKeys(tile.keys), 1, [&](Value n) {
    b.forVectors(extent, [&](Value offset, int64_t lanes) {
      b.storeVector(b.splat(b.f32(0), lanes), target, {n, offset});
    });
  });
}

void OuterForm::scores(const Item &item, const KVTile &tile, Value buffer) {
  copyRows(item, tile, kv.keys(), kDim, keys);
  auto [rows, vectors] = scoreBlock;
  Value zero = b.splat(b.f32(0), kLanes);
  b.loop(b.index(0), b.index(qTile), vectors * kLanes, [&](Value m) {
    b.loop(b.index(0), roundedKeys(tile.keys), rows, [&](Value n) {
      HostBuilder::Values products =
          b.loop(b.index(0), b.index(kDim), 1, HostBuilder::Values(rows * vectors, zero),
                 [&](Value d, ValueRange sums) {
                   HostBuilder::Values next, q;
                   for (int64_t v = 0; v < vectors; ++v)
                     q.push_back(b.loadVector(query, {d, b.add(m, v * kLanes)}, kLanes));
                   for (int64_t r = 0; r < rows; ++r) {
                     Value k = b.splat(b.load(keys, {b.add(n, r), d}), kLanes);
                     for (int64_t v = 0; v < vectors; ++v)
                       next.push_back(b.fma(k, q[v], sums[r * vectors + v]));
                   }
                   return next;
                 });
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          b.storeVector(products[r * vectors + v], buffer,
                        {b.add(b.add(tile.base, n), r), b.add(m, v * kLanes)});
    });
  });
}

void OuterForm::map(const Item &item, const KVTile &tile, Value buffer, Region &region,
                    MaskEmitter *mask) {
  Value request = b.toI32(item.request.number);
  b.loop(b.index(0), roundedKeys(tile.keys), 1, [&](Value n) {
    Value key = b.toI32(b.add(tile.firstKey, n)), at = b.add(tile.base, n);
    b.loop(b.index(0), b.index(qTile), kLanes, [&](Value m) {
      auto fact = [&, this](Value facts) {
        return [&, facts] { return b.loadInts(facts, {m}, kLanes); };
      };
      LazyArgument arguments[] = {[&] { return b.loadVector(buffer, {at, m}, kLanes); },
                                  fact(queryRow),
                                  [&] { return key; },
                                  fact(queryHead),
                                  [&] { return request; },
                                  fact(position),
                                  fact(token)};
      Value score = tile::isIdentity(region) ? arguments[0]()
                                             : emitScalarRegion(kernel, region, arguments, kLanes);
      if (mask)
        score = b.select(mask->visible(arguments[1](), key, kLanes), score,
                         b.like(-std::numeric_limits<double>::infinity(), score));
      b.storeVector(score, buffer, {at, m});
    });
  });
}

void OuterForm::softmaxStep(Value keyCount, Value buffer) {
  b.loop(b.index(0), b.index(qTile), kLanes, [&](Value m) {
    Value oldMax = b.loadVector(max, {m}, kLanes);
    Value top = b.loop(b.index(0), keyCount, 1, oldMax, [&](Value n, ValueRange best) {
      return HostBuilder::Values{b.fmax(best[0], b.loadVector(buffer, {n, m}, kLanes))};
    })[0];
    Value finite = b.finiteMax(top), scale = b.exp(b.fsub(oldMax, finite));
    Value total =
        b.loop(b.index(0), keyCount, 1, b.splat(b.f32(0), kLanes), [&](Value n, ValueRange part) {
          Value weight = b.exp(b.fsub(b.loadVector(buffer, {n, m}, kLanes), finite));
          b.storeVector(weight, buffer, {n, m});
          return HostBuilder::Values{b.fadd(part[0], weight)};
        })[0];
    // 0 for a finite maximum; NaN where a row sees NaN or +inf, which exp would have hidden.
    Value poison = b.fsub(finite, finite);
    b.storeVector(top, max, {m});
    b.storeVector(scale, factor, {m});
    b.storeVector(b.fadd(b.fma(b.loadVector(sum, {m}, kLanes), scale, total), poison), sum, {m});
  });
}

void OuterForm::accumulate(const Item &item, const KVTile &tile, Value buffer, bool rescale) {
  copyRows(item, tile, kv.values(), vDim, values);
  auto [rows, vectors] = valueBlock;
  b.loop(b.index(0), b.index(qTile), rows, [&](Value m) {
    b.loop(b.index(0), b.index(valueVectors * kLanes), vectors * kLanes, [&](Value e) {
      HostBuilder::Values start;
      for (int64_t r = 0; r < rows; ++r) {
        Value scale = rescale ? b.splat(b.load(factor, {b.add(m, r)}), kLanes) : Value();
        for (int64_t v = 0; v < vectors; ++v) {
          Value old = b.loadVector(acc, {b.add(m, r), b.add(e, v * kLanes)}, kLanes);
          start.push_back(rescale ? b.fmul(old, scale) : old);
        }
      }
      HostBuilder::Values sums =
          b.loop(b.index(0), tile.keys, 1, start, [&](Value n, ValueRange sums) {
            HostBuilder::Values next, v;
            for (int64_t i = 0; i < vectors; ++i)
              v.push_back(b.loadVector(values, {n, b.add(e, i * kLanes)}, kLanes));
            for (int64_t r = 0; r < rows; ++r) {
              Value p = b.splat(b.load(buffer, {b.add(tile.base, n), b.add(m, r)}), kLanes);
              for (int64_t i = 0; i < vectors; ++i)
                next.push_back(b.fma(p, v[i], sums[r * vectors + i]));
            }
            return next;
          });
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          b.storeVector(sums[r * vectors + v], acc, {b.add(m, r), b.add(e, v * kLanes)});
    });
  });
}

} // namespace

std::unique_ptr<ProductForm> host::createOuterForm(Kernel &kernel, tile::SpaceOp space) {
  return std::make_unique<OuterForm>(kernel, space);
}
