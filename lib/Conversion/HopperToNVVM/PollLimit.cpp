//===- PollLimit.cpp - waits that give up and say where -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For kernels that hang. Each wait counts its polls; beyond the limit it calls one function of the
// module, which prints where the warp stands and ends the kernel.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

/// On a wait: the string that says which it is, and the limit.
static constexpr StringLiteral kSite = "hopper.wait_site", kLimit = "hopper.poll_limit";
static constexpr StringLiteral kGiveUp = "pagefold_give_up";

//===----------------------------------------------------------------------===//
// Before the ops are lowered
//===----------------------------------------------------------------------===//

static StringRef roleOf(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto roles = dyn_cast_or_null<RolesOp>(op->getParentOp()))
      return cast<StringAttr>(roles.getNames()[op->getParentRegion()->getRegionNumber()])
          .getValue();
  return "none";
}

/// Names of values are lost after parsing: a ring is known by its place among the kernel's.
static int64_t numberOf(KernelOp kernel, Value ring) {
  auto rings = kernel.getBody().front().getOps<AllocRingOp>();
  return std::distance(rings.begin(), llvm::find(rings, ring.getDefiningOp<AllocRingOp>()));
}

/// The sentence about a wait, as a format for vprintf: CTA, warp, and the two numbers of giveUpIf.
static std::string describe(KernelOp kernel, Operation *wait, int64_t limit) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "pagefold: kernel " << kernel.getSymName() << ", role " << roleOf(wait) << ", "
         << wait->getName();
  StringRef numbers = "turn %d, phase %d";
  if (auto collect = dyn_cast<CollectOp>(wait)) {
    stream << " of " << collect.getPackets() << " packets (stride " << collect.getStride() << ')';
    numbers = "packet %d of those from word %d on";
  } else {
    Value ring = wait->getOperand(0);
    stream << " of ring " << numberOf(kernel, ring) << " (" << ring.getType() << ')';
  }
  stream << ": cta %d, warp %d still waits for " << numbers << " after " << limit << " polls\n";
  return text;
}

/// A constant string of the module, in global memory.
static void addString(OpBuilder &builder, Location loc, StringRef name, std::string text) {
  text.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                         builder.getStringAttr(text), /*alignment=*/1,
                         static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
}

static Value stringAddress(OpBuilder &builder, Location loc, StringRef name) {
  MLIRContext *context = builder.getContext();
  auto global =
      LLVM::LLVMPointerType::get(context, static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  Value address = LLVM::AddressOfOp::create(builder, loc, global, name);
  return LLVM::AddrSpaceCastOp::create(builder, loc, LLVM::LLVMPointerType::get(context), address);
}

//===----------------------------------------------------------------------===//
// The function that gives up
//===----------------------------------------------------------------------===//

namespace {

/// Writes pagefold_give_up(late, sentence, two numbers of it): nothing where `late` is 0.
class GiveUpWriter {
public:
  GiveUpWriter(OpBuilder builder, Location loc) : builder(builder), loc(loc) {}

  void write();

private:
  Value assembly(StringRef text, StringRef constraints);
  void print(Value sentence, ValueRange numbers);
  Value isZero(Value value) {
    Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, value, zero);
  }

  OpBuilder builder;
  Location loc;
};

} // namespace

static constexpr StringLiteral kPrint = "vprintf";

Value GiveUpWriter::assembly(StringRef text, StringRef constraints) {
  SharedPlaces none;
  return Emitter(builder, loc, none).assembly(builder.getI32Type(), text, constraints, {});
}

/// vprintf takes its arguments in memory, as a structure.
void GiveUpWriter::print(Value sentence, ValueRange numbers) {
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type =
      LLVM::LLVMStructType::getLiteral(context, llvm::to_vector_of<Type>(numbers.getTypes()));
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  Value memory = LLVM::AllocaOp::create(builder, loc, pointer, type, one);
  for (auto [i, value] : llvm::enumerate(numbers)) {
    Value field = LLVM::GEPOp::create(builder, loc, pointer, type, memory,
                                      ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    LLVM::StoreOp::create(builder, loc, value, field);
  }
  LLVM::CallOp::create(builder, loc, builder.getI32Type(), kPrint, ValueRange{sentence, memory});
}

/// One lane of those that come here together prints; all sleep before the trap, so that other
/// warps can print too.
void GiveUpWriter::write() {
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = builder.getI32Type();
  LLVM::LLVMFuncOp::create(builder, loc, kPrint,
                           LLVM::LLVMFunctionType::get(i32, {pointer, pointer}));
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, kGiveUp,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {i32, pointer, i32, i32}),
      LLVM::Linkage::Internal);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(builder);
  Block *late = function.addBlock(), *first = function.addBlock(), *end = function.addBlock(),
        *done = function.addBlock();
  builder.setInsertionPointToStart(entry);
  LLVM::CondBrOp::create(builder, loc, isZero(entry->getArgument(0)), done, late);
  builder.setInsertionPointToStart(late);
  Value before = assembly("{ .reg .b32 a, b; activemask.b32 a; mov.u32 b, %lanemask_lt; "
                          "and.b32 $0, a, b; }",
                          "=r");
  LLVM::CondBrOp::create(builder, loc, isZero(before), first, end);
  builder.setInsertionPointToStart(first);
  Value cta = NVVM::BlockIdXOp::create(builder, loc, i32);
  Value warp = LLVM::LShrOp::create(
      builder, loc, NVVM::ThreadIdXOp::create(builder, loc, i32),
      LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(llvm::Log2_64(kWarp))));
  print(entry->getArgument(1), {cta, warp, entry->getArgument(2), entry->getArgument(3)});
  LLVM::BrOp::create(builder, loc, end);
  builder.setInsertionPointToStart(end);
  SharedPlaces none;
  Emitter(builder, loc, none).assembly({}, "nanosleep.u32 1000000; trap;", "~{memory}", {});
  LLVM::BrOp::create(builder, loc, done);
  builder.setInsertionPointToStart(done);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void pagefold::hopper::limitPolls(gpu::GPUModuleOp module, int64_t limit) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  GiveUpWriter(builder, module.getLoc()).write();
  int64_t sites = 0;
  for (KernelOp kernel : module.getOps<KernelOp>())
    kernel.walk([&](Operation *op) {
      if (!isa<AcquireOp, WaitOp, ClearRowsOp, CollectOp>(op))
        return;
      std::string name = "pagefold_wait_" + std::to_string(sites++);
      addString(builder, op->getLoc(), name, describe(kernel, op, limit));
      op->setAttr(kSite, builder.getStringAttr(name));
      op->setAttr(kLimit, builder.getI64IntegerAttr(limit));
    });
}

//===----------------------------------------------------------------------===//
// A wait with a limit
//===----------------------------------------------------------------------===//

int64_t pagefold::hopper::pollLimitOf(Operation *wait) {
  auto limit = wait->getAttrOfType<IntegerAttr>(kLimit);
  return limit ? limit.getInt() : 0;
}

void pagefold::hopper::giveUpIf(Emitter &emitter, Operation *wait, Value late, Value first,
                                Value second) {
  StringRef site = wait->getAttrOfType<StringAttr>(kSite).getValue();
  Value sentence = stringAddress(emitter.builder, emitter.loc, site);
  LLVM::CallOp::create(emitter.builder, emitter.loc, TypeRange(), kGiveUp,
                       ValueRange{late, sentence, first, second});
}

void pagefold::hopper::waitWithLimit(Emitter &emitter, Operation *wait, const Poll &poll,
                                     Value isNeeded) {
  std::string text = "{ .reg .pred p; .reg .b64 n; mov.b32 $0, 0; setp.eq.u32 p, $3, 0; @p bra "
                     "DONE; mov.b64 n, " +
                     std::to_string(pollLimitOf(wait)) +
                     "; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; @p bra DONE; "
                     "sub.s64 n, n, 1; setp.ne.s64 p, n, 0; @p bra WAIT; mov.b32 $0, 1; DONE: }";
  Value late = emitter.assembly(emitter.builder.getI32Type(), text, "=&r,r,r,r,~{memory}",
                                {poll.barrier, poll.phase, isNeeded});
  giveUpIf(emitter, wait, late, poll.turn, poll.phase);
}
