//===- PartialStates.cpp - states of parts of the KV dimension ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialStates.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Values of rows as hopper.store_lanes lays them out.
static constexpr int64_t kRowsFloats = 2 * kWarp;

PartialStates::PartialStates(SpaceKernel &kernel, const PipelinedSpace &space, Value warpgroup,
                             Value warp)
    : b(kernel.builder()), outputType(space.outputFragment()),
      warpFloats(kWarp * outputType.registers() + 2 * kRowsFloats),
      warpInTile(b.add(b.mul(warpgroup, kWarpgroup / kWarp), warp)),
      warps(space.warpgroups * kWarpgroup / kWarp),
      states(kernel.workspace(b.getF32Type(), kMaxPartials * warps * warpFloats * 4)),
      counters(kernel.workspace(b.getI32Type(), kMaxPartials * warps * 4)) {}

Value PartialStates::offsetOf(Value slot) {
  return b.mul(b.add(b.mul(slot, warps), warpInTile), warpFloats);
}

void PartialStates::store(const State &state, Value slot, Value part) {
  Value offset = offsetOf(b.add(slot, part));
  StoreLanesOp::create(b, state.max, states, offset);
  StoreLanesOp::create(b, state.sum, states, b.add(offset, kRowsFloats));
  StoreLanesOp::create(b, state.output, states, b.add(offset, 2 * kRowsFloats));
}

PartialStates::State PartialStates::load(Value slot) {
  Value offset = offsetOf(slot);
  Type rows = b.rowsType(b.getF32Type());
  Value max = LoadLanesOp::create(b, rows, states, offset);
  Value sum = LoadLanesOp::create(b, rows, states, b.add(offset, kRowsFloats));
  return {LoadLanesOp::create(b, outputType, states, b.add(offset, 2 * kRowsFloats)), max, sum};
}

Value PartialStates::isLast(Value slot, Value parts) {
  Value last = b.add(parts, -1);
  FenceGlobalOp::create(b); // each lane's stores, before the ticket
  SyncWarpOp::create(b);
  Value ticket = b.ticket(counters, [&] { return b.add(b.mul(slot, warps), warpInTile); }, last);
  FenceGlobalOp::create(b); // the ticket, before each lane's loads
  return b.equal(ticket, last);
}

/// out = sum_p out_p 2^((m_p - m) exponent), and so the sums, with m the greatest maximum.
PartialStates::State PartialStates::merge(Value slot, Value parts, Value exponent) {
  State first = load(slot);
  Values merged = b.whileLoop(
      {b.i32(1), first.output, first.max, first.sum},
      [&](ValueRange v) { return b.less(v[0], parts); },
      [&](ValueRange v) {
        State next = load(b.add(slot, v[0]));
        Value max = b.maxF(v[2], next.max), top = b.finiteMax(max, max);
        Value before = b.exp2Difference(v[2], top, exponent);
        Value now = b.exp2Difference(next.max, top, exponent);
        Value sum = b.addF(b.mulF(v[3], before), b.mulF(next.sum, now));
        Value scaled = ScaleRowsOp::create(b, outputType, v[1], before);
        Value other = ScaleRowsOp::create(b, outputType, next.output, now);
        return Values{b.add(v[0], 1), AddFragmentsOp::create(b, outputType, scaled, other), max,
                      sum};
      });
  return {merged[1], merged[2], merged[3]};
}
