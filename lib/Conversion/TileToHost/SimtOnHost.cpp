//===- SimtOnHost.cpp - simt kernels whose threads the host plays ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simt kernels share nothing between threads, so that a host worker can play them one after the
// other: which thread comes next is drawn by ticket. What runs is the kernel that the GPU gets.
//
// The threads of a team wait for each other. It is played as a team of one thread, which does the
// work of all: a barrier is nothing then, and what a warp agrees on is what the thread says.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "pagefold/Conversion/LaunchPlan.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold {
#define GEN_PASS_DEF_SIMTONHOST
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold;

namespace {

/// CTAs that are played: more than one, so that a thread's tickets are a grid apart as on the GPU.
constexpr int64_t kCtas = 2;

/// One kernel, as a host kernel over (arguments..., workspace, scratch, ticket).
class Player {
public:
  Player(func::FuncOp kernel, Operation *place)
      : kernel(kernel), b(kernel.getLoc(), kernel.getContext()) {
    b.setInsertionPoint(place);
  }
  void play();

private:
  func::FuncOp createHostKernel();
  void moveMemory();
  void mapNumbers(Value thread, int64_t threads);
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

  bool isTeam();
  void dissolveTeam(func::FuncOp host);

  func::FuncOp kernel;
  ImplicitLocOpBuilder b;
  IRMapping mapping;
};

/// The error word lies in the workspace here.
func::FuncOp Player::createHostKernel() {
  unsigned common = kernel.getNumArguments() - 1;
  SmallVector<Type> types(kernel.getArgumentTypes().take_front(common));
  types.push_back(MemRefType::get({ShapedType::kDynamic}, b.getI8Type()));
  types.push_back(MemRefType::get({1}, b.getI64Type()));
  auto host = func::FuncOp::create(b, kernel.getName(), b.getFunctionType(types, {}));
  Block *block = host.addEntryBlock();
  b.setInsertionPointToStart(block);
  for (unsigned i = 0; i < common; ++i)
    mapping.map(kernel.getArgument(i), block->getArgument(i));
  Value errorWord = memref::ViewOp::create(
      b, cast<MemRefType>(kernel.getArgument(common).getType()), block->getArgument(common - 1),
      index(WorkspaceLayout::kErrorWord), ValueRange());
  mapping.map(kernel.getArgument(common), errorWord);
  return host;
}

/// A worker has one memory for all threads that it plays: none of it outlives a thread.
void Player::moveMemory() {
  for (auto memory : kernel.front().getOps<memref::AllocaOp>())
    mapping.map(memory.getResult(), b.clone(*memory)->getResult(0));
}

void Player::mapNumbers(Value thread, int64_t threads) {
  Value number = arith::RemUIOp::create(b, thread, index(threads)),
        cta = arith::DivUIOp::create(b, thread, index(threads)), ctas = index(kCtas);
  for (Operation &op : kernel.front()) {
    if (isa<gpu::LaneIdOp>(op))
      mapping.map(op.getResult(0), index(0));
    else if (isa<gpu::BlockDimOp, gpu::SubgroupSizeOp>(op))
      mapping.map(op.getResult(0), index(1));
    else if (isa<gpu::ThreadIdOp>(op))
      mapping.map(op.getResult(0), number);
    else if (isa<gpu::BlockIdOp>(op))
      mapping.map(op.getResult(0), cta);
    else if (isa<gpu::GridDimOp>(op))
      mapping.map(op.getResult(0), ctas);
  }
}

bool Player::isTeam() {
  return kernel.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Of one thread there is nothing to wait for.
void Player::dissolveTeam(func::FuncOp host) {
  host.walk([](gpu::SubgroupReduceOp op) {
    op.replaceAllUsesWith(op.getValue());
    op.erase();
  });
  host.walk([](gpu::BarrierOp op) { op.erase(); });
}

void Player::play() {
  bool team = isTeam();
  int64_t threads =
      team ? 1
           : kernel->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getReqntidAttrName())[0];
  int64_t played = team ? 1 : kCtas * threads;
  func::FuncOp host = createHostKernel();
  moveMemory();
  Value ticket = host.getArguments().back();
  Value one = arith::ConstantIntOp::create(b, b.getI64Type(), 1), first = index(0);
  auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType()}, ValueRange());
  func::ReturnOp::create(b);
  b.createBlock(&loop.getBefore());
  Value drawn = memref::AtomicRMWOp::create(b, b.getI64Type(), arith::AtomicRMWKind::addi, one,
                                            ticket, ValueRange{first});
  Value thread = arith::IndexCastOp::create(b, b.getIndexType(), drawn);
  Value more = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, thread, index(played));
  scf::ConditionOp::create(b, more, thread);
  Block *body = b.createBlock(&loop.getAfter(), {}, b.getIndexType(), b.getLoc());
  mapNumbers(body->getArgument(0), threads);
  for (Operation &op : kernel.front().without_terminator())
    if (!mapping.contains(op.getNumResults() ? op.getResult(0) : Value()))
      b.clone(op, mapping);
  scf::YieldOp::create(b);
  dissolveTeam(host);
}

/// The entries of the kernels, for workers in place of a grid.
void rewritePlan(tile::PlanOp op) {
  Builder builder(op.getContext());
  NamedAttrList plan(op.getPlan());
  auto entries = llvm::map_to_vector(op.getPlan().getAs<ArrayAttr>("kernels"),
                                     [&](Attribute entry) -> Attribute {
                                       NamedAttrList kernel;
                                       for (StringRef key : {"symbol", "op"})
                                         kernel.set(key, cast<DictionaryAttr>(entry).get(key));
                                       kernel.set("workers", builder.getStringAttr("all"));
                                       return kernel.getDictionary(op.getContext());
                                     });
  plan.set("kernels", builder.getArrayAttr(entries));
  op.setPlanAttr(plan.getDictionary(op.getContext()));
}

struct SimtOnHost : pagefold::impl::SimtOnHostBase<SimtOnHost> {
  void runOnOperation() override {
    for (auto module : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      for (auto kernel : module.getOps<func::FuncOp>())
        Player(kernel, module).play();
      module.erase();
    }
    for (auto plan : getOperation().getOps<tile::PlanOp>())
      rewritePlan(plan);
  }
};

} // namespace
