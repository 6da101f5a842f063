//===- TileOrder.h - which query tile comes when ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A persistent grid: CTA c starts with tile c and draws the next one by ticket, so that the tiles
// that a CTA gets have growing numbers. What number is which tile (request, head, rows) is the
// order, computed by the producer's warp from the lengths alone:
//
//   natural   request by request, head by head, rows upwards;
//   sections  request by request; in it sections of heads whose K and V stay in the L2 together;
//             in a section the last rows first, which under a causal mask are the longest.
//
// The tail of the batch, the last requests that together give every multiprocessor a few tiles, is
// one section: the longest tiles of all its requests first, so that the CTAs end together.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILEORDER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILEORDER_H

#include "Requests.h"

namespace pagefold::hopper {

/// One query tile, the same values in all lanes.
struct QueryTile {
  Request request;
  mlir::Value head;  ///< TileNote::Head
  mlir::Value block; ///< of the request's rows
};

class TileOrder {
public:
  TileOrder(SpaceKernel &kernel, const PipelinedSpace &space, RequestReader &requests,
            bool sections);

  /// For each tile of this CTA: body(tile, carried). Draws tickets.
  void forEachTile(mlir::ValueRange init,
                   llvm::function_ref<Values(const QueryTile &, mlir::ValueRange)> body,
                   llvm::function_ref<void(mlir::ValueRange)> end);

private:
  /// What the lanes hold of a chunk.
  struct Chunk {
    mlir::Value number, base; ///< base: tiles before it
    Request requests;
    mlir::Value blocks, upTo; ///< tiles of this chunk up to and with the lane's request
    mlir::Value tiles;        ///< of the chunk
    Values values() const;
  };
  Chunk readChunk(mlir::Value number, mlir::Value base, bool report);
  Chunk chunkOf(mlir::ValueRange values);
  QueryTile decode(const Chunk &chunk, mlir::Value number);
  QueryTile place(const Request &request, mlir::Value blocks, mlir::Value inRequest);
  mlir::Value draw();

  SpaceKernel &kernel;
  HopperBuilder &b;
  const PipelinedSpace &space;
  RequestReader &requests;
  bool sections;
  mlir::Value total, counter, ctas;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILEORDER_H
