//===- DotForm.cpp - products over few query rows -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decode: bound by reading K and V, so each row is read once, where it lies, for all query rows of
// its group. Scores are [row, key]; along the lanes run a key's elements (scores), the keys
// (softmax), and a value's elements (accumulation).
//
//===----------------------------------------------------------------------===//

#include "ProductForm.h"
#include "ScalarRegions.h"
#include <limits>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

namespace {

class DotForm final : public ProductForm {
public:
  DotForm(Kernel &kernel, tile::SpaceOp space)
      : ProductForm(kernel, space, space.getSchedule()->getQTile()),
        query(kernel.scratch({qTile, paddedTo16(kDim)})) {}

  MemRefType scoreType(int64_t keyCount) override {
    return MemRefType::get({qTile, keyCount}, b.getF32Type());
  }
  Value roundedKeys(Value count) override { return b.mul(b.ceilDivide(count, kLanes), kLanes); }
  void scores(const Item &item, const KVTile &tile, Value buffer) override;
  void map(const Item &item, const KVTile &tile, Value buffer, Region &region,
           MaskEmitter *mask) override;
  void softmaxStep(Value keyCount, Value buffer) override;
  void accumulate(const Item &item, const KVTile &tile, Value buffer, bool rescale) override;

private:
  void clearQuery() override { b.fill(query, 0); }
  void storeQueryRow(Value m, Value row, Value scale) override;
  HostBuilder::Values dotProducts(ValueRange key);
  void accumulateColumns(const Item &item, const KVTile &tile, Value buffer, bool rescale, Value e,
                         int64_t lanes, int64_t vectors);
  void
  forKeys(const Item &item, const KVTile &tile, ValueRange init,
          llvm::function_ref<HostBuilder::Values(Value n, ValueRange at, ValueRange carried)> body,
          HostBuilder::Values *results);
  void prefetch(const Item &item, const KVTile &tile, Value n, Value buffer, Value first,
                int64_t elements);

  Value query;
};

void DotForm::storeQueryRow(Value m, Value row, Value scale) {
  b.forVectors(kDim, [&](Value offset, int64_t lanes) {
    b.storeVector(b.fmul(b.loadVector(row, {offset}, lanes), b.splat(scale, lanes)), query,
                  {m, offset});
  });
}

/// `body(n, indices of the row, carried)` for every key of the tile.
void DotForm::forKeys(const Item &item, const KVTile &tile, ValueRange init,
                      llvm::function_ref<HostBuilder::Values(Value, ValueRange, ValueRange)> body,
                      HostBuilder::Values *results) {
  HostBuilder::Values ends =
      b.loop(b.index(0), tile.keys, 1, init, [&](Value n, ValueRange carried) {
        HostBuilder::Values at = kv.locate(item.request.number, b.add(tile.firstKey, n), item.head);
        return body(n, at, carried);
      });
  if (results)
    *results = ends;
}

/// Asks for `elements` of the row some keys ahead. Rows of one KV head are apart in memory (another
/// head between them, another page after a few), which the processor's own prefetching does not
/// follow.
void DotForm::prefetch(const Item &item, const KVTile &tile, Value n, Value buffer, Value first,
                       int64_t elements) {
  if (!kernel.prefetches())
    return;
  constexpr int64_t kAhead = 12, kLineBytes = 64, kKeepInAllCaches = 3;
  Value last = b.sub(item.request.kvLen, b.index(1));
  Value key = b.min(b.add(b.add(tile.firstKey, n), kAhead), last);
  HostBuilder::Values at = kv.locate(item.request.number, key, item.head);
  at.push_back(Value());
  int64_t step = kLineBytes * 8 / kv.type.getElementType().getIntOrFloatBitWidth();
  for (int64_t element = 0; element < elements; element += step) {
    at.back() = b.add(first, element);
    memref::PrefetchOp::create(b, buffer, at, b.getBoolAttr(false),
                               b.getI32IntegerAttr(kKeepInAllCaches), b.getBoolAttr(true));
  }
}

/// The product of one key, at indices `key`, with every query row.
HostBuilder::Values DotForm::dotProducts(ValueRange key) {
  int64_t whole = kDim / kLanes * kLanes;
  HostBuilder::Values at(key), sums(qTile, b.splat(b.f32(0), kLanes));
  at.push_back(Value());
  auto step = [&](Value d, int64_t lanes, ValueRange sums) {
    at.back() = d;
    Value k = b.loadVector(kv.keys(), at, lanes);
    HostBuilder::Values next;
    for (int64_t r = 0; r < qTile; ++r)
      next.push_back(b.fma(k, b.loadVector(query, {b.index(r), d}, lanes), sums[r]));
    return next;
  };
  if (whole)
    sums = b.loop(b.index(0), b.index(whole), kLanes, sums,
                  [&](Value d, ValueRange carried) { return step(d, kLanes, carried); });
  HostBuilder::Values products;
  for (Value sum : sums)
    products.push_back(
        whole ? Value(vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum)) : b.f32(0));
  if (whole == kDim)
    return products;
  HostBuilder::Values tail(qTile, b.splat(b.f32(0), kHalfLanes));
  tail = step(b.index(whole), kHalfLanes, tail);
  for (int64_t r = 0; r < qTile; ++r)
    products[r] = vector::ReductionOp::create(b, vector::CombiningKind::ADD, tail[r], products[r]);
  return products;
}

void DotForm::scores(const Item &item, const KVTile &tile, Value buffer) {
  forKeys(
      item, tile, {},
      [&](Value n, ValueRange at, ValueRange) {
        prefetch(item, tile, n, kv.keys(), b.index(0), kDim);
        for (auto [r, product] : llvm::enumerate(dotProducts(at)))
          b.store(product, buffer, {b.index(r), b.add(tile.base, n)});
        return HostBuilder::Values{};
      },
      nullptr);
  // Scores up to the next whole vector are no keys; a tile that ends there is partial only by its
  // length.
  Value nothing = b.f32(-std::numeric_limits<double>::infinity());
  b.loop(tile.keys, roundedKeys(tile.keys), 1, [&](Value n) {
    for (int64_t r = 0; r < qTile; ++r)
      b.store(nothing, buffer, {b.index(r), b.add(tile.base, n)});
  });
}

void DotForm::map(const Item &item, const KVTile &tile, Value buffer, Region &region,
                  MaskEmitter *mask) {
  Value request = b.toI32(item.request.number);
  b.loop(b.index(0), b.index(qTile), 1, [&](Value m) {
    auto fact = [&](Value facts) { return [&, facts] { return b.load(facts, {m}); }; };
    b.loop(b.index(0), roundedKeys(tile.keys), kLanes, [&](Value n) {
      Value at = b.add(tile.base, n);
      auto key = [&] { return iota(b, b.toI32(b.add(tile.firstKey, n)), kLanes); };
      LazyArgument arguments[] = {[&] { return b.loadVector(buffer, {m, at}, kLanes); },
                                  fact(queryRow),
                                  key,
                                  fact(queryHead),
                                  [&] { return request; },
                                  fact(position),
                                  fact(token)};
      Value score = tile::isIdentity(region) ? arguments[0]()
                                             : emitScalarRegion(kernel, region, arguments, kLanes);
      Value nothing = b.like(-std::numeric_limits<double>::infinity(), score);
      if (mask)
        score = b.select(mask->visible(arguments[1](), key(), kLanes), score, nothing);
      b.storeVector(score, buffer, {m, at});
    });
  });
}

void DotForm::softmaxStep(Value keyCount, Value buffer) {
  double infinity = std::numeric_limits<double>::infinity();
  b.loop(b.index(0), b.index(qTile), 1, [&](Value m) {
    Value oldMax = b.load(max, {m});
    Value tops =
        b.loop(b.index(0), keyCount, kLanes, b.splat(b.f32(-infinity), kLanes),
               [&](Value n, ValueRange best) {
                 return HostBuilder::Values{b.fmax(best[0], b.loadVector(buffer, {m, n}, kLanes))};
               })[0];
    Value top =
        b.fmax(oldMax, vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, tops));
    Value finite = b.finiteMax(top), scale = b.exp(b.fsub(oldMax, finite));
    Value lanes = b.splat(finite, kLanes);
    Value parts = b.loop(
        b.index(0), keyCount, kLanes, b.splat(b.f32(0), kLanes), [&](Value n, ValueRange part) {
          Value weight = b.exp(b.fsub(b.loadVector(buffer, {m, n}, kLanes), lanes));
          b.storeVector(weight, buffer, {m, n});
          return HostBuilder::Values{b.fadd(part[0], weight)};
        })[0];
    Value total = vector::ReductionOp::create(b, vector::CombiningKind::ADD, parts);
    Value poison = b.fsub(finite, finite); // see OuterForm::softmaxStep
    b.store(top, max, {m});
    b.store(scale, factor, {m});
    b.store(b.fadd(b.fma(b.load(sum, {m}), scale, total), poison), sum, {m});
  });
}

/// acc[:, e ...] for `vectors` vectors of `lanes`.
void DotForm::accumulateColumns(const Item &item, const KVTile &tile, Value buffer, bool rescale,
                                Value e, int64_t lanes, int64_t vectors) {
  auto column = [&](int64_t v) { return b.add(e, v * lanes); };
  HostBuilder::Values sums;
  for (int64_t r = 0; r < qTile; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value old = b.loadVector(acc, {b.index(r), column(v)}, lanes);
      sums.push_back(rescale ? b.fmul(old, b.splat(b.load(factor, {b.index(r)}), lanes)) : old);
    }
  forKeys(
      item, tile, HostBuilder::Values(sums),
      [&](Value n, ValueRange at, ValueRange carried) {
        HostBuilder::Values next, values, indices(at);
        indices.push_back(Value());
        prefetch(item, tile, n, kv.values(), e, vectors * lanes);
        for (int64_t v = 0; v < vectors; ++v) {
          indices.back() = column(v);
          values.push_back(b.loadVector(kv.values(), indices, lanes));
        }
        for (int64_t r = 0; r < qTile; ++r) {
          Value weight = b.splat(b.load(buffer, {b.index(r), b.add(tile.base, n)}), lanes);
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(b.fma(weight, values[v], carried[r * vectors + v]));
        }
        return next;
      },
      &sums);
  for (int64_t r = 0; r < qTile; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      b.storeVector(sums[r * vectors + v], acc, {b.index(r), column(v)});
}

void DotForm::accumulate(const Item &item, const KVTile &tile, Value buffer, bool rescale) {
  constexpr int64_t kAccumulators = 24;
  int64_t whole = vDim / kLanes;
  int64_t vectors = std::max<int64_t>(1, std::min(whole, kAccumulators / qTile));
  while (whole % vectors)
    --vectors;
  if (whole)
    b.loop(b.index(0), b.index(whole * kLanes), vectors * kLanes,
           [&](Value e) { accumulateColumns(item, tile, buffer, rescale, e, kLanes, vectors); });
  if (vDim % kLanes)
    accumulateColumns(item, tile, buffer, rescale, b.index(whole * kLanes), kHalfLanes, 1);
}

} // namespace

std::unique_ptr<ProductForm> host::createDotForm(Kernel &kernel, tile::SpaceOp space) {
  return std::make_unique<DotForm>(kernel, space);
}
