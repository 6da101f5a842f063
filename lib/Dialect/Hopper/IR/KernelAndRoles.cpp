//===- KernelAndRoles.cpp - syntax and budgets of kernels and roles -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "pagefold/Dialect/Hopper/IR/SharedMemoryMap.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

static bool isParameter(Type type) {
  return isa<TensorMapType, PointerType>(type) || type.isInteger(32) || type.isInteger(64) ||
         type.isF32();
}

/// Shared memory is known by its allocation: no other op and no block gives such a value.
static LogicalResult verifyAllocations(KernelOp kernel) {
  auto isShared = [](Type type) { return isa<SharedType, RingType, WordsType>(type); };
  WalkResult result = kernel.walk([&](Operation *op) {
    bool allocates = isa<AllocOp, AllocRingOp, AllocWordsOp>(op);
    if (allocates && op->getParentOp() != kernel)
      return kernel.emitOpError("C3: expects allocations in its own block, got one inside ")
                 << op->getParentOp()->getName(),
             WalkResult::interrupt();
    if (!allocates && llvm::any_of(op->getResultTypes(), isShared))
      return op->emitOpError("C4: expects shared memory to be results of allocations only"),
             WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (llvm::any_of(block.getArgumentTypes(), isShared))
          return op->emitOpError("C4: expects no block argument that is shared memory"),
                 WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The warp that an op names whose ring it uses.
static Value namedWarp(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<ExpectOp, WaitOp, FillOp, GatherOp, ArriveGatheredOp, LoadBlockOp, PutPairOp>(
          [](auto use) { return use.getWarp(); })
      .Default([](Operation *) { return Value(); });
}

static LogicalResult verifyRingUses(KernelOp kernel) {
  for (auto ring : kernel.getBody().front().getOps<AllocRingOp>())
    for (Operation *use : ring->getUsers()) {
      bool ofWarps = ring.getType().isOfWarps();
      if (!isa<AllocWordsOp>(use) && ofWarps != bool(namedWarp(use)))
        return use->emitOpError("C5: expects a warp to be named for a ring of warps, and for no "
                                "other, got ")
               << ring.getType();
      if (ofWarps && isa<ArriveGatheredOp>(use) && ring.getWriters() != kWarp)
        return use->emitOpError("C7: expects a ring of ")
               << kWarp << " writers, got " << ring.getWriters();
    }
  return success();
}

/// The lowering has a thread initialise each of their barriers.
static LogicalResult verifyRingWarps(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  int64_t warps = (*body.getOps<RolesOp>().begin()).threads() / kWarp;
  for (auto ring : body.getOps<AllocRingOp>())
    if (ring.getType().getWarps() > warps)
      return ring.emitOpError("C6: expects a ring of at most the roles' ")
             << warps << " warps, got " << ring.getType();
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (getBody().empty())
    return emitOpError("C1: expects a body, got a declaration");
  for (Type type : getArgumentTypes())
    if (!isParameter(type))
      return emitOpError("C1: expects parameters to be tensor maps, pointers, i32, i64 or f32, "
                         "got ")
             << type;
  if (!getResultTypes().empty())
    return emitOpError("C1: expects no result, got ") << getResultTypes().size();
  int64_t bytes = SharedMemoryMap(*this).bytes();
  if (bytes > kHopper.sharedMemory)
    return emitOpError("C2: expects at most ")
           << kHopper.sharedMemory << " bytes of shared memory, got " << bytes
           << "; take fewer stages or smaller tiles";
  int64_t roles = llvm::count_if(getBody().front(), [](Operation &op) { return isa<RolesOp>(op); });
  if (roles != 1)
    return emitOpError("C3: expects exactly one hopper.roles, got ") << roles;
  return failure(failed(verifyAllocations(*this)) || failed(verifyRingUses(*this)) ||
                 failed(verifyRingWarps(*this)));
}

//===----------------------------------------------------------------------===//
// RolesOp
//===----------------------------------------------------------------------===//

/// `name warpgroups 1 registers 24 (%wg: i32, %warp: i32) { ... }`, of which the name is read.
static ParseResult parseRole(OpAsmParser &parser, OperationState &result,
                             SmallVectorImpl<int64_t> &warpgroups,
                             SmallVectorImpl<int64_t> &registers) {
  SmallVector<OpAsmParser::Argument> arguments;
  Region *body = result.addRegion();
  if (parser.parseKeyword("warpgroups") || parser.parseInteger(warpgroups.emplace_back()) ||
      parser.parseKeyword("registers") || parser.parseInteger(registers.emplace_back()) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseRegion(*body, arguments))
    return failure();
  RolesOp::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

ParseResult RolesOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<StringRef> names;
  SmallVector<int64_t> warpgroups, registers;
  if (parser.parseLBrace())
    return failure();
  while (failed(parser.parseOptionalRBrace()))
    if (parser.parseKeyword(&names.emplace_back()) ||
        parseRole(parser, result, warpgroups, registers))
      return failure();
  Builder &builder = parser.getBuilder();
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.names = builder.getStrArrayAttr(names);
  properties.warpgroups = builder.getDenseI64ArrayAttr(warpgroups);
  properties.registers = builder.getDenseI64ArrayAttr(registers);
  return success();
}

void RolesOp::print(OpAsmPrinter &printer) {
  printer << " {";
  printer.increaseIndent();
  for (auto [name, warpgroups, registers, body] :
       llvm::zip_equal(getNames().getAsValueRange<StringAttr>(), getWarpgroups(), getRegisters(),
                       getBodies())) {
    printer.printNewline();
    printer << name << " warpgroups " << warpgroups << " registers " << registers << " (";
    llvm::interleaveComma(body.getArguments(), printer,
                          [&](BlockArgument argument) { printer.printRegionArgument(argument); });
    printer << ") ";
    printer.printRegion(body, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
  }
  printer.decreaseIndent();
  printer.printNewline();
  printer << '}';
}

int64_t RolesOp::threads() {
  int64_t warpgroups = 0;
  for (int64_t count : getWarpgroups())
    warpgroups += count;
  return warpgroups * kWarpgroup;
}

/// The registers that all roles ask for fit what the launch gave to all threads.
static LogicalResult verifyRegisters(RolesOp op) {
  int64_t asked = 0;
  for (auto [warpgroups, registers] : llvm::zip_equal(op.getWarpgroups(), op.getRegisters())) {
    if (registers < kHopper.minThreadRegisters || registers > kHopper.maxThreadRegisters ||
        registers % kHopper.registerUnit)
      return op.emitOpError("C2: expects registers to be a multiple of ")
             << kHopper.registerUnit << " from " << kHopper.minThreadRegisters << " to "
             << kHopper.maxThreadRegisters << ", got " << registers;
    asked += warpgroups * kWarpgroup * registers;
  }
  int64_t threads = op.threads(), launch = kHopper.launchRegisters(threads);
  if (asked > launch * threads)
    return op.emitOpError("C3: expects at most ") << launch * threads << " registers (" << threads
                                                  << " threads of " << launch << "), got " << asked;
  return success();
}

LogicalResult RolesOp::verifyRegions() {
  size_t roles = getBodies().size();
  if (getNames().size() != roles || getWarpgroups().size() != roles ||
      getRegisters().size() != roles)
    return emitOpError("expects a name, warpgroups and registers for each of its ")
           << roles << " regions";
  int64_t maximum = kHopper.maxWarpgroups, all = threads() / kWarpgroup;
  if (all < 1 || all > maximum ||
      llvm::any_of(getWarpgroups(), [](int64_t count) { return count < 1; }))
    return emitOpError("C1: expects roles of 1 to ")
           << maximum << " warpgroups in all, got " << getWarpgroups();
  for (Region &body : getBodies())
    if (body.getNumArguments() != 2 || !body.getArgument(0).getType().isInteger(32) ||
        !body.getArgument(1).getType().isInteger(32))
      return emitOpError("expects regions that take (i32, i32), got (")
             << body.getArgumentTypes() << ")";
  return verifyRegisters(*this);
}
