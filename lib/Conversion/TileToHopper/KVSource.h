//===- KVSource.h - how the producer finds keys and values ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A KV tile comes as one box (dense keys), as one box for each page and panel, spread over the
// lanes of the producer's warp, or row by row, where pages and boxes do not fit (GatherSource.h). A
// page's number is read one tile ahead of its use: the table's latency would otherwise stand before
// every tile.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_KVSOURCE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_KVSOURCE_H

#include "PipelinedSpace.h"
#include "Requests.h"

namespace pagefold::hopper {

class KVSource {
public:
  static std::unique_ptr<KVSource> create(SpaceKernel &kernel, const PipelinedSpace &space);
  virtual ~KVSource() = default;

  /// Null where no map is used.
  mlir::Value keyMap() const { return keys.map; }
  mlir::Value valueMap() const { return values.map; }
  /// Values that a tile's copies need and that take time to read; one list for K and V.
  virtual Values lookUp(const Request &request, mlir::Value tile) = 0;
  /// Whether one lane starts all copies, and alone calls what follows; else all lanes do.
  virtual bool usesOneLane() const = 0;
  /// Whether the warp copies rows by itself, which takes its registers: queries are brought before
  /// the keys, so that their note is out of the way.
  virtual bool copiesRows() const { return false; }
  /// Acquires the turn's stage and starts the copies.
  void bringKeys(mlir::Value ring, mlir::Value turn, const Request &request, mlir::Value kvHead,
                 mlir::Value tile, mlir::ValueRange found) {
    bring(keys, ring, turn, request, kvHead, tile, found);
  }
  void bringValues(mlir::Value ring, mlir::Value turn, const Request &request, mlir::Value kvHead,
                   mlir::Value tile, mlir::ValueRange found) {
    bring(values, ring, turn, request, kvHead, tile, found);
  }

protected:
  /// K or V as the copies see them.
  struct Side {
    mlir::Value buffer, map;
    int64_t dim = 0;
    /// Of octets of short pages: what a head adds to the panel and to the page, and what a page is.
    mlir::Value headPanel, headPage, pageStep;
    bool isOctets() const { return bool(pageStep); }
  };
  KVSource(SpaceKernel &kernel, const PipelinedSpace &space);
  /// Acquires the turn's stage and starts the copies.
  virtual void bring(const Side &side, mlir::Value ring, mlir::Value turn, const Request &request,
                     mlir::Value kvHead, mlir::Value tile, mlir::ValueRange found) = 0;

  SpaceKernel &kernel;
  HopperBuilder &b;
  const PipelinedSpace &space;
  mlir::Value lane;
  Side keys, values;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_KVSOURCE_H
