//===- Team.h - workers that do one thing together --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most kernels draw tickets and need nothing of each other. A team is for what all must agree on
// before any can go on: its *members* deal out requests, the *lanes* of a member what belongs to
// one request. On the host it is one worker; on the GPU the threads of one CTA, whose warps are the
// members.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_TEAM_H
#define PAGEFOLD_CONVERSION_TILETOHOST_TEAM_H

#include "HostBuilder.h"

namespace pagefold::host {

class Team {
public:
  using Value = mlir::Value;
  using Values = HostBuilder::Values;
  using Body = llvm::function_ref<Values(Value, mlir::ValueRange)>;
  virtual ~Team() = default;

  /// Shares out 0..count to all workers, to the members, to the lanes of this member. What a loop
  /// carries is each worker's own.
  Values forWorkers(Value count, mlir::ValueRange init, Body body) {
    return b.loop(worker, count, workers, init, body);
  }
  Values forMembers(Value count, mlir::ValueRange init, Body body) {
    return b.loop(member, count, members, init, body);
  }
  Values forLanes(Value count, mlir::ValueRange init, Body body) {
    return b.loop(lane, count, lanes, init, body);
  }

  /// The least of an index, below 2^31, over the lanes of this member, or over all workers, who
  /// then have seen each other's stores. All get there, or none.
  virtual Value minOfLanes(Value index) = 0;
  virtual Value minOfAll(Value index) = 0;

  Value isFirst() { return b.compare(mlir::arith::CmpIPredicate::eq, worker, b.index(0)); }

protected:
  explicit Team(HostBuilder &b) : b(b) {}

  HostBuilder &b;
  Value worker, workers, member, members, lane, lanes; ///< numbers and counts, index
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_TEAM_H
