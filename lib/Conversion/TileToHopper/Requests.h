//===- Requests.h - the requests of a batch, one for each lane --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel reads row offsets and lengths itself: a launch of its own that prepared them would cost
// more than reading them again in every CTA. The lanes of the scheduler's warp hold 32 requests at
// a time (a chunk of the batch). What breaks the contract is reported to the error word, and the
// request then has no keys, or no rows where the row offsets themselves are broken.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_REQUESTS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_REQUESTS_H

#include "FoldSpace.h"
#include "TileNotes.h"

namespace pagefold::hopper {

/// What a lane holds of its request, or what all lanes hold of one; i32.
struct Request {
  mlir::Value number;
  mlir::Value firstToken; ///< row of the query
  mlir::Value qLen, kvLen;
  mlir::Value keys; ///< where its keys start: a row of dense keys, an entry of a page table with
                    ///< row starts; null where the request's number says it

  Values fields() const; ///< all but the number
  static Request of(mlir::Value number, mlir::ValueRange fields);

  /// As a query tile's note has it.
  static Request ofNote(const FoldSpace &space, mlir::ValueRange note);
  void putInto(Values &note) const;
};

class RequestReader {
public:
  RequestReader(SpaceKernel &kernel, const FoldSpace &space);

  /// The number of requests, and of chunks that the declared maximum has.
  mlir::Value batchSize() { return size; }
  int64_t maxChunks() const;

  /// Lane l reads request 32 chunk + l; past the batch it has no rows.
  Request read(mlir::Value chunk) { return check(chunk, load(chunk)); }
  /// Its two halves, for who has the loads of several chunks under way together: what stands in
  /// memory of the lanes' requests, as values of a loop, and what of it can be trusted.
  Values load(mlir::Value chunk);
  Request check(mlir::Value chunk, mlir::ValueRange loaded) {
    return check(chunk, loaded, /*report=*/false);
  }
  /// Reports what is broken, a chunk a CTA; for one warp of each, behind all else, so that no tile
  /// waits for it.
  void report();
  /// The request that lane `lane` holds, in all lanes.
  Request broadcast(const Request &lanes, mlir::Value chunk, mlir::Value lane);

private:
  /// What has been found wrong with the lanes' requests so far.
  struct Finding {
    mlir::Value number, broken;
    bool report;
  };
  void check(Finding &finding, mlir::Value wrong, host::Reason reason, mlir::Value value,
             mlir::Value limit);
  Request check(mlir::Value chunk, mlir::ValueRange loaded, bool report);
  mlir::Value numberOf(mlir::Value chunk);
  mlir::Value tableColumns(const Request &request, mlir::Value end);
  mlir::Value load(mlir::Value buffer, mlir::Value index, mlir::Value valid);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const FoldSpace &space;
  mlir::Value size, lane;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_REQUESTS_H
