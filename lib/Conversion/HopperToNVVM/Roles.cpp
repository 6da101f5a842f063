//===- Roles.cpp - roles as branches --------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

namespace {

/// Writes the branches of one op with arith and scf, before scf itself is lowered.
class BranchBuilder {
public:
  BranchBuilder(OpBuilder builder, Location loc) : builder(builder), loc(loc) {}

  void roles(RolesOp op);
  void singleThread(SingleThreadOp op);

private:
  void role(RolesOp op, size_t index, int64_t firstWarpgroup);
  void setRegisters(int64_t registers, int64_t launch);

  Value i32(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  Value thread() { return NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type()); }
  Value below(Value a, int64_t b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, i32(b));
  }
  void moveBody(Region &from, ValueRange arguments);

  OpBuilder builder;
  Location loc;
};

} // namespace

/// Moves the only block of a region, without its terminator, to the insertion point.
void BranchBuilder::moveBody(Region &from, ValueRange arguments) {
  Block &source = from.front();
  source.getTerminator()->erase();
  for (auto [parameter, argument] : llvm::zip_equal(source.getArguments(), arguments))
    parameter.replaceAllUsesWith(argument);
  Block *target = builder.getInsertionBlock();
  target->getOperations().splice(builder.getInsertionPoint(), source.getOperations());
}

/// Frees registers, or takes those that other roles free.
void BranchBuilder::setRegisters(int64_t registers, int64_t launch) {
  if (registers == launch)
    return;
  auto action = registers < launch ? NVVM::SetMaxRegisterAction::decrease
                                   : NVVM::SetMaxRegisterAction::increase;
  NVVM::SetMaxRegisterOp::create(builder, loc, registers, action);
}

void BranchBuilder::role(RolesOp op, size_t index, int64_t firstWarpgroup) {
  setRegisters(op.getRegisters()[index], kHopper.launchRegisters(op.threads()));
  // The shuffle tells ptxas that the warp's number is the same in all lanes: descriptors live in
  // uniform registers.
  Value ownWarp = arith::ShRUIOp::create(builder, loc, thread(), i32(llvm::Log2_64(kWarp)));
  Value warp = NVVM::ShflOp::create(builder, loc, builder.getI32Type(), i32(-1), ownWarp, i32(0),
                                    i32(kWarp - 1), NVVM::ShflKind::idx, UnitAttr());
  int64_t warps = kWarpgroup / kWarp;
  Value inRole = arith::SubIOp::create(builder, loc, warp, i32(firstWarpgroup * warps));
  Value warpgroup = arith::ShRUIOp::create(builder, loc, inRole, i32(llvm::Log2_64(warps)));
  Value inWarpgroup = arith::AndIOp::create(builder, loc, inRole, i32(warps - 1));
  moveBody(op.getBodies()[index], {warpgroup, inWarpgroup});
}

void BranchBuilder::roles(RolesOp op) {
  NVVM::FenceMbarrierInitOp::create(builder, loc);
  NVVM::BarrierOp::create(builder, loc);
  int64_t firstWarpgroup = 0;
  size_t last = op.getBodies().size() - 1;
  for (size_t index = 0; index < last; ++index) {
    int64_t end = firstWarpgroup + op.getWarpgroups()[index];
    auto branch =
        scf::IfOp::create(builder, loc, below(thread(), end * kWarpgroup), /*withElseRegion=*/true);
    builder.setInsertionPoint(branch.thenYield());
    role(op, index, firstWarpgroup);
    builder.setInsertionPoint(branch.elseYield());
    firstWarpgroup = end;
  }
  role(op, last, firstWarpgroup);
  op.erase();
}

void BranchBuilder::singleThread(SingleThreadOp op) {
  Value inWarpgroup = arith::AndIOp::create(builder, loc, thread(), i32(kWarpgroup - 1));
  Value firstWarp = below(inWarpgroup, kWarp);
  Value elected = NVVM::ElectSyncOp::create(builder, loc, builder.getI1Type(), Value());
  Value both = arith::AndIOp::create(builder, loc, firstWarp, elected);
  auto branch = scf::IfOp::create(builder, loc, both, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenYield());
  moveBody(op.getBody(), {});
  op.erase();
}

void pagefold::hopper::lowerRoles(KernelOp kernel) {
  kernel.walk(
      [](SingleThreadOp op) { BranchBuilder(OpBuilder(op), op.getLoc()).singleThread(op); });
  kernel.walk([](RolesOp op) { BranchBuilder(OpBuilder(op), op.getLoc()).roles(op); });
}
