//===- ProductForm.h - how the products of an item are formed ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a fold on the host. Both forms hold the state as row max, row sum and accumulator
// [rows, v_dim] in scratch; they differ in how scores lie in memory and what is vectorised:
//
//   outer  scores are [key, row]; query rows run along the lanes. Row max and sum need no
//   horizontal
//          step, and with the query transposed once an item, keys and values are used as they lie.
//   dot    scores are [row, key]; a key's elements run along the lanes. K and V are read in place.
//
// Scores of one tile start at key `base` of a score buffer: 0 in the fold, the tile's first key in
// the standard form, whose buffer holds all keys.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_PRODUCTFORM_H
#define PAGEFOLD_CONVERSION_TILETOHOST_PRODUCTFORM_H

#include "KVRows.h"
#include "RowEmitter.h"
#include <memory>

namespace pagefold::host {

/// One item of a space; index values, vectors read from scratch per row of the tile.
struct Item {
  Request request;
  mlir::Value head;        ///< KV head
  mlir::Value firstRow;    ///< of the tile, in packed rows
  mlir::Value rows;        ///< packed rows that exist, 1 <= rows <= q_tile
  mlir::Value qLow, qHigh; ///< first and last query row
  mlir::Value split;
  mlir::Value ticket;
};

/// One KV tile of an item.
struct KVTile {
  mlir::Value firstKey; ///< in the request
  mlir::Value keys;     ///< that exist, 0 <= keys <= kv_tile
  mlir::Value base;     ///< where its scores start in the score buffer
};

/// What is bound to a mask: the sets, symbols and bitmap.
class MaskEmitter;

class ProductForm {
public:
  static std::unique_ptr<ProductForm> create(Kernel &kernel, tile::SpaceOp space);
  virtual ~ProductForm() = default;

  /// Per-row facts of the tile, in scratch as i32: query row, head, position, token.
  void setRows(const Item &item);
  void loadQuery(tile::LoadQOp op);
  void initState();
  /// Once all values are in the accumulator, which holds them as they are stored: times their
  /// scale.
  void scaleValues();

  /// A score buffer for `keys` keys (scratch for one tile, the workspace for all).
  virtual mlir::MemRefType scoreType(int64_t keys) = 0;
  virtual void scores(const Item &item, const KVTile &tile, mlir::Value buffer) = 0;
  /// Applies the region (if it is not the identity) and, with `mask`, the mask.
  virtual void map(const Item &item, const KVTile &tile, mlir::Value buffer, mlir::Region &region,
                   MaskEmitter *mask) = 0;
  /// Scores [0, keys) become weights; updates max, sum, and the factor for the accumulator.
  virtual void softmaxStep(mlir::Value keys, mlir::Value buffer) = 0;
  /// acc = (rescale ? acc * factor : acc) + weights x values.
  virtual void accumulate(const Item &item, const KVTile &tile, mlir::Value buffer,
                          bool rescale) = 0;

  /// How many keys of scores a tile with `keys` keys has: rounded up to what is computed at once.
  virtual mlir::Value roundedKeys(mlir::Value keys) = 0;

  mlir::Value max, sum, factor,
      acc; ///< state: [q_tile padded], [..], [..], [q_tile padded, v_dim padded]
  mlir::Value queryRow, queryHead, position, token; ///< i32 [q_tile padded]
  int64_t qTile, kvTile;

protected:
  ProductForm(Kernel &kernel, tile::SpaceOp space, int64_t paddedRows);
  /// Puts row `m` of the query, f32 in `row`, scaled, where the form wants it.
  virtual void storeQueryRow(mlir::Value m, mlir::Value row, mlir::Value scale) = 0;
  virtual void clearQuery() = 0;

  Kernel &kernel;
  HostBuilder &b;
  tile::SpaceOp space;
  KVRows kv;
  int64_t group, kDim, vDim, paddedRows;
  Item current;
};

/// The mask of a map op, emitted on a vector of points.
class MaskEmitter {
public:
  MaskEmitter(Kernel &kernel, tile::MaskOp op, const Item &item);
  /// i1 per lane: whether the row sees the key. One of q and k is a vector of i32, or both.
  mlir::Value visible(mlir::Value q, mlir::Value k, int64_t lanes);

private:
  mlir::Value bit(mlir::Value q, mlir::Value k, int64_t lanes);

  Kernel &kernel;
  HostBuilder &b;
  tile::MaskOp op;
  const Item &item;
};

std::unique_ptr<ProductForm> createOuterForm(Kernel &kernel, tile::SpaceOp space);
std::unique_ptr<ProductForm> createDotForm(Kernel &kernel, tile::SpaceOp space);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_PRODUCTFORM_H
