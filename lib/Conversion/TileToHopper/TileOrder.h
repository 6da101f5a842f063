//===- TileOrder.h - which query tile comes when ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A persistent grid: CTA c starts with tile c and draws the next one by ticket, so that the tiles
// that a CTA gets have growing numbers. What number is which tile (request, head, rows) is the
// order, computed by the scheduler's warp from the lengths alone:
//
//   natural   request by request, head by head, rows upwards;
//   sections  request by request; in it sections of heads whose K and V stay in the L2 together;
//             in a section the last rows first, which under a causal mask are the longest. The tail
//             of the batch, sections that together give every CTA a few tiles, is one section over
//             all its requests, the longest tiles first: so the CTAs end together.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILEORDER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILEORDER_H

#include "PipelinedSpace.h"
#include "Requests.h"

namespace pagefold::hopper {

/// One query tile, the same values in all lanes.
struct QueryTile {
  Request request;
  mlir::Value head;              ///< TileNote::Head
  mlir::Value block;             ///< of the request's rows
  mlir::Value part, parts, slot; ///< TileNote::Part and so on; null where tiles are not split

  Values values() const;
  static QueryTile of(mlir::ValueRange values);
};

class TileOrder {
public:
  TileOrder(SpaceKernel &kernel, const PipelinedSpace &space, RequestReader &requests,
            bool sections);

  /// For each tile of this CTA: carried = body(tile, carried). The next ticket is drawn behind the
  /// body. Returns the last carried ones.
  Values forEachTile(mlir::ValueRange init,
                     llvm::function_ref<Values(const QueryTile &, mlir::ValueRange)> body);

private:
  /// What the lanes hold of a chunk.
  struct Chunk {
    mlir::Value number, base; ///< base: tiles before it
    Request requests;
    mlir::Value blocks, upTo; ///< tiles of this chunk up to and with the lane's request
    mlir::Value tiles;        ///< of the chunk
    Values values() const;
  };
  Chunk readChunk(mlir::Value number, mlir::Value base);
  Chunk chunkOf(mlir::ValueRange values);
  /// The chunk that holds a tile, from the one that held a tile before it.
  Chunk advance(const Chunk &chunk, mlir::Value number);
  QueryTile decode(const Chunk &chunk, mlir::Value number);
  QueryTile decodeBody(const Chunk &chunk, mlir::Value inChunk);
  QueryTile place(const Request &request, mlir::Value blocks, mlir::Value inRequest);

  // Sections.
  mlir::Value sectionWidth(mlir::Value kvLen);
  /// Longer tiles have higher levels: a request's row block m has level m + this.
  mlir::Value lowestLevel(const Request &request);
  void findTail(const Chunk &chunk);
  QueryTile decodeTail(const Chunk &chunk, mlir::Value inTail);
  mlir::Value draw();

  HopperBuilder &b;
  const PipelinedSpace &space;
  RequestReader &requests;
  bool sections;
  bool longestFirst;                        ///< tiles differ in length: the mask hides later keys
  mlir::Value total, counter, ctas, chunks; ///< total: of tiles
  mlir::Value lastTicket;
  mlir::Value parts; ///< of each tile; null: tiles are not split
  /// Where the tail starts: its request's lane, head and first tile. Null: there is none.
  mlir::Value tailLane, tailHead, tailStart;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILEORDER_H
