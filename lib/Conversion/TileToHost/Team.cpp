//===- Team.cpp - workers that do one thing together ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Team.h"
#include "HostKernel.h"
#include "SimtKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

namespace {

/// One worker, alone.
class SingleTeam final : public Team {
public:
  explicit SingleTeam(HostBuilder &b) : Team(b) {
    worker = member = lane = b.index(0);
    workers = members = lanes = b.index(1);
  }
  Value minOfLanes(Value index) override { return index; }
  Value minOfAll(Value index) override { return index; }
};

/// The threads of the kernel's only CTA.
class CtaTeam final : public Team {
public:
  explicit CtaTeam(SimtKernel &kernel) : Team(kernel.builder()), kernel(kernel) {
    worker = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
    workers = gpu::BlockDimOp::create(b, gpu::Dimension::x);
    lane = gpu::LaneIdOp::create(b, /*upper_bound=*/IntegerAttr());
    lanes = gpu::SubgroupSizeOp::create(b, /*upper_bound=*/IntegerAttr());
    member = b.divide(worker, lanes);
    members = b.divide(workers, lanes);
  }

  Value minOfLanes(Value index) override {
    auto least = gpu::SubgroupReduceOp::create(b, b.toI32(index), gpu::AllReduceOperation::MINSI,
                                               /*uniform=*/true);
    return b.toIndex(least);
  }

  /// Every reduction has words of its own, so that one barrier is enough.
  Value minOfAll(Value index) override {
    constexpr int64_t kMaxMembers = hopper::kTeamLaunch.threads / hopper::kWarp;
    auto type = MemRefType::get({kMaxMembers}, b.getI32Type());
    int64_t place = kernel.workspaceLayout().allocate(kMaxMembers * int64_t(sizeof(int32_t)));
    Value words = kernel.workspaceView(place, type, {});
    b.store(b.toI32(minOfLanes(index)), words, {member});
    gpu::BarrierOp::create(b);
    Value has = b.compare(arith::CmpIPredicate::slt, lane, members);
    return minOfLanes(b.toIndex(b.load(words, {b.select(has, lane, b.index(0))})));
  }

private:
  SimtKernel &kernel;
};

} // namespace

std::unique_ptr<Team> HostKernel::createTeam() { return std::make_unique<SingleTeam>(b); }
std::unique_ptr<Team> SimtKernel::createTeam() { return std::make_unique<CtaTeam>(*this); }
