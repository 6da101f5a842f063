//===- PipelinedKernel.cpp - a space on the pipelined schedule ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinedKernel.h"
#include "Consumer.h"
#include "Producer.h"
#include "Scheduler.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// What barriers, notes and alignment may take beside the tiles.
static constexpr int64_t kSharedSlack = 4096;

/// Registers of the producer's and the scheduler's threads. Looking up pages takes more.
static constexpr int64_t kProducerRegisters = 40, kPageProducerRegisters = 56;

/// The output has tiles of its own where there is room: the next tile's queries come meanwhile.
/// Rows of packed tiles, few for many keys, are stored from registers.
static bool hasOutputTiles(const PipelinedSpace &space) {
  if (space.packed)
    return false;
  auto ringBytes = [](RingType ring) { return ring.getStages() * ring.tileBytes(); };
  int64_t bytes = ringBytes(space.queryRing()) + ringBytes(space.keyRing()) +
                  ringBytes(space.valueRing()) +
                  space.outputTiles().getCount() * space.outputTiles().tileBytes();
  return bytes + kSharedSlack <= kHopper.sharedMemory;
}

static SharedAllocations allocate(HopperBuilder &b, const PipelinedSpace &space) {
  int64_t readers = space.warpgroups * (kWarpgroup / kWarp);
  auto ring = [&](RingType type) { return AllocRingOp::create(b, type, readers, 1); };
  SharedAllocations shared;
  if (hasOutputTiles(space))
    shared.output = AllocOp::create(b, space.outputTiles());
  shared.tiles = AllocRingOp::create(b, space.tileRing(), 1, 1);
  shared.valueTiles = AllocRingOp::create(b, space.tileRing(), 1, 1);
  shared.query = ring(space.queryRing());
  shared.keys = ring(space.keyRing());
  shared.values = ring(space.valueRing());
  return shared;
}

void pagefold::hopper::emitPipelinedKernel(SpaceKernel &kernel, const PipelinedSpace &space,
                                           bool sections) {
  HopperBuilder &b = kernel.builder();
  SharedAllocations shared = allocate(b, space);
  kernel.awaitPrevious();
  // Producer and consumers share exactly what the launch gave to all threads.
  int64_t producer = space.paged ? kPageProducerRegisters : kProducerRegisters;
  int64_t pool =
      kHopper.launchRegisters((1 + space.warpgroups) * kWarpgroup) * (1 + space.warpgroups);
  auto roles = RolesOp::create(
      b, b.getStrArrayAttr({"producer", "consumer"}), b.getDenseI64ArrayAttr({1, space.warpgroups}),
      b.getDenseI64ArrayAttr({producer, (pool - producer) / space.warpgroups}), 2);
  ReturnOp::create(b);
  auto fill = [&](unsigned role, llvm::function_ref<void(Value, Value)> emit) {
    Block &block = roles.getBodies()[role].emplaceBlock();
    Value warpgroup = block.addArgument(b.getI32Type(), b.getLoc());
    Value warp = block.addArgument(b.getI32Type(), b.getLoc());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    emit(warpgroup, warp);
    EndOp::create(b);
  };
  fill(0, [&](Value, Value warp) {
    auto onWarp = [&](int64_t number, llvm::function_ref<void()> emit) {
      b.ifThen(b.equal(warp, b.i32(number)), emit);
    };
    onWarp(0, [&] { emitKeyProducer(kernel, space, shared); });
    onWarp(1, [&] { emitValueProducer(kernel, space, shared); });
    onWarp(2, [&] { emitScheduler(kernel, space, shared, sections); });
  });
  fill(1,
       [&](Value warpgroup, Value warp) { emitConsumer(kernel, space, shared, warpgroup, warp); });
}
