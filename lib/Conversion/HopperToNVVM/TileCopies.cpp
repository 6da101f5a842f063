//===- TileCopies.cpp - between global memory and shared tiles -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

// The L2's policies, as createpolicy would make them.
static constexpr int64_t kEvictFirst = 0x12F0000000000000, kEvictLast = 0x14F0000000000000;

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

static void lowerFill(FillOp op, FillOp::Adaptor adaptor, Emitter &emitter) {
  OpBuilder &builder = emitter.builder;
  RingType ring = op.getRing().getType();
  Value address = emitter.tileAddress(op.getRing(), adaptor.getTurn(), adaptor.getWarp());
  address = emitter.add(address, op.getPanel().value_or(0) * ring.panelStride());
  int64_t rowBytes = (op.getPanel() ? ring.panelBytes() : ring.tileBytes()) / ring.getRows();
  if (Value row = adaptor.getRow())
    address = emitter.add(address, emitter.mul(row, rowBytes));
  auto cluster = LLVM::LLVMPointerType::get(
      op.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  Value target =
      LLVM::AddrSpaceCastOp::create(builder, emitter.loc, cluster, emitter.sharedPointer(address));
  Value barrier = emitter.sharedPointer(
      emitter.fullBarrier(op.getRing(), adaptor.getTurn(), adaptor.getWarp()));
  Value policy =
      LLVM::ConstantOp::create(builder, emitter.loc, builder.getI64Type(),
                               builder.getI64IntegerAttr(op.getKeep() ? kEvictLast : kEvictFirst));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      builder, emitter.loc, target, adaptor.getMap(), adaptor.getCoordinates(), barrier,
      /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), policy, NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, /*group=*/{},
      /*predicate=*/Value());
}

static void lowerStoreTile(StoreTileOp op, StoreTileOp::Adaptor adaptor, Emitter &emitter) {
  int64_t panel = op.getPanel().value_or(0) * op.getTiles().getType().panelStride();
  Value source = emitter.sharedPointer(
      emitter.add(emitter.tileAddress(op.getTiles(), adaptor.getIndex()), panel));
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      emitter.builder, emitter.loc, adaptor.getMap(), source, adaptor.getCoordinates(),
      /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
  NVVM::CpAsyncBulkCommitGroupOp::create(emitter.builder, emitter.loc);
}

static void lowerWaitStores(WaitStoresOp op, WaitStoresOp::Adaptor, Emitter &emitter) {
  NVVM::CpAsyncBulkWaitGroupOp::create(emitter.builder, emitter.loc, 0, op.getReadAttr());
}

static void lowerFenceShared(FenceSharedOp, FenceSharedOp::Adaptor adaptor, Emitter &emitter) {
  if (!adaptor.getCondition())
    return (void)emitter.assembly({}, "fence.proxy.async.shared::cta;", "~{memory}", {});
  emitter.assembly({}, "{ .reg .pred p; setp.ne.b32 p, $0, 0; @p fence.proxy.async.shared::cta; }",
                   "r,~{memory}", emitter.extend(adaptor.getCondition()));
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

static void lowerGather(GatherOp op, GatherOp::Adaptor adaptor, Emitter &emitter) {
  RingType type = op.getRing().getType();
  Value tile = emitter.tileAddress(op.getRing(), adaptor.getTurn(), adaptor.getWarp());
  Value target = emitter.unitAddress(type, tile, adaptor.getRow(), adaptor.getUnit());
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  Type element = emitter.builder.getIntegerType(bits);
  // The unit's part first: it is the same in all rows, and need not be added to each.
  Value units = emitter.elementAddress(adaptor.getPointer(), element,
                                       emitter.mul(adaptor.getUnit(), kUnitBytes * 8 / bits));
  Value source = emitter.elementAddress(units, element, adaptor.getOffset());
  // Of the 16 bytes so many are read; the others become zeros.
  Value bytes = LLVM::SelectOp::create(emitter.builder, emitter.loc, adaptor.getCondition(),
                                       emitter.i32(kUnitBytes), emitter.i32(0));
  emitter.assembly({}, "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}",
                   {target, source, bytes});
}

/// wgmma reads through the async proxy: each lane's fence, then one arrival for all of them. What a
/// warp gathers for itself it reads as it was written, and has other slices to multiply meanwhile:
/// each lane's arrival follows its copies, and is among those that the barrier counts (noinc).
static void lowerArriveGathered(ArriveGatheredOp op, ArriveGatheredOp::Adaptor adaptor,
                                Emitter &emitter) {
  Value barrier = emitter.fullBarrier(op.getRing(), adaptor.getTurn(), adaptor.getWarp());
  if (adaptor.getWarp()) {
    emitter.assembly({}, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "r,~{memory}",
                     barrier);
    return;
  }
  emitter.assembly({},
                   "{ .reg .pred p; cp.async.wait_all; fence.proxy.async.shared::cta; "
                   "bar.warp.sync 0xffffffff; setp.eq.u32 p, $1, 0; "
                   "@p mbarrier.arrive.shared::cta.b64 _, [$0]; }",
                   "r,r,~{memory}", {barrier, emitter.lane()});
}

void pagefold::hopper::addTileCopyLowerings(const LoweringContext &context) {
  addLowering(context, lowerFill);
  addLowering(context, lowerStoreTile);
  addLowering(context, lowerWaitStores);
  addLowering(context, lowerFenceShared);
  addLowering(context, lowerGather);
  addLowering(context, lowerArriveGathered);
}
