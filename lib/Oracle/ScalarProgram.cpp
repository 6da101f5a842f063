//===- ScalarProgram.cpp - scalar regions, ready to run -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarProgram.h"

#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::oracle;
using Instruction = ScalarInstruction;
using Frame = ScalarFrame;

int64_t oracle::wrap(int64_t x, unsigned width) {
  return width >= 64
             ? x
             : static_cast<int64_t>(static_cast<uint64_t>(x) << (64 - width)) >> (64 - width);
}

/// The same bits as an unsigned integer of `width` bits.
static uint64_t zeroExtend(int64_t x, unsigned width) {
  return width >= 64 ? x : static_cast<uint64_t>(x) & ((uint64_t{1} << width) - 1);
}

//===----------------------------------------------------------------------===//
// Arithmetic: a row an op
//===----------------------------------------------------------------------===//

static double propagateMax(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
}
static double propagateMin(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}

namespace {
struct RealRow {
  StringLiteral name;
  double (*function)(double a, double b, double c);
};
struct IntegerRow {
  StringLiteral name;
  int64_t (*function)(int64_t a, int64_t b);
};
} // namespace

static const RealRow kRealRows[] = {
    {"arith.addf", [](double a, double b, double) { return a + b; }},
    {"arith.subf", [](double a, double b, double) { return a - b; }},
    {"arith.mulf", [](double a, double b, double) { return a * b; }},
    {"arith.divf", [](double a, double b, double) { return a / b; }},
    {"arith.remf", [](double a, double b, double) { return std::fmod(a, b); }},
    {"arith.negf", [](double a, double, double) { return -a; }},
    {"arith.maximumf", [](double a, double b, double) { return propagateMax(a, b); }},
    {"arith.minimumf", [](double a, double b, double) { return propagateMin(a, b); }},
    {"arith.maxnumf", [](double a, double b, double) { return std::fmax(a, b); }},
    {"arith.minnumf", [](double a, double b, double) { return std::fmin(a, b); }},
    {"arith.extf", [](double a, double, double) { return a; }},
    {"arith.truncf", [](double a, double, double) { return a; }},
    {"math.absf", [](double a, double, double) { return std::fabs(a); }},
    {"math.ceil", [](double a, double, double) { return std::ceil(a); }},
    {"math.floor", [](double a, double, double) { return std::floor(a); }},
    {"math.copysign", [](double a, double b, double) { return std::copysign(a, b); }},
    {"math.cos", [](double a, double, double) { return std::cos(a); }},
    {"math.sin", [](double a, double, double) { return std::sin(a); }},
    {"math.tanh", [](double a, double, double) { return std::tanh(a); }},
    {"math.erf", [](double a, double, double) { return std::erf(a); }},
    {"math.exp", [](double a, double, double) { return std::exp(a); }},
    {"math.exp2", [](double a, double, double) { return std::exp2(a); }},
    {"math.expm1", [](double a, double, double) { return std::expm1(a); }},
    {"math.log", [](double a, double, double) { return std::log(a); }},
    {"math.log2", [](double a, double, double) { return std::log2(a); }},
    {"math.log1p", [](double a, double, double) { return std::log1p(a); }},
    {"math.powf", [](double a, double b, double) { return std::pow(a, b); }},
    {"math.sqrt", [](double a, double, double) { return std::sqrt(a); }},
    {"math.rsqrt", [](double a, double, double) { return 1 / std::sqrt(a); }},
    {"math.fma", [](double a, double b, double c) { return a * b + c; }},
};

/// Two's complement; results are wrapped to their width afterwards.
static int64_t asUnsigned(int64_t a, int64_t b, uint64_t (*function)(uint64_t, uint64_t)) {
  return static_cast<int64_t>(function(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

/// Where MLIR leaves the result undefined (division by 0, a shift past the width) these give 0.
static bool divides(int64_t a, int64_t b) { return b != 0 && !(b == -1 && a == INT64_MIN); }
static bool shifts(int64_t b) { return b >= 0 && b < 64; }

static const IntegerRow kIntegerRows[] = {
    {"arith.addi",
     [](int64_t a, int64_t b) {
       return asUnsigned(a, b, [](uint64_t x, uint64_t y) { return x + y; });
     }},
    {"arith.subi",
     [](int64_t a, int64_t b) {
       return asUnsigned(a, b, [](uint64_t x, uint64_t y) { return x - y; });
     }},
    {"arith.muli",
     [](int64_t a, int64_t b) {
       return asUnsigned(a, b, [](uint64_t x, uint64_t y) { return x * y; });
     }},
    {"arith.divsi", [](int64_t a, int64_t b) { return divides(a, b) ? a / b : 0; }},
    {"arith.remsi", [](int64_t a, int64_t b) { return divides(a, b) ? a % b : 0; }},
    {"arith.andi", [](int64_t a, int64_t b) { return a & b; }},
    {"arith.ori", [](int64_t a, int64_t b) { return a | b; }},
    {"arith.xori", [](int64_t a, int64_t b) { return a ^ b; }},
    {"arith.shli",
     [](int64_t a, int64_t b) { return shifts(b) ? static_cast<int64_t>(uint64_t(a) << b) : 0; }},
    {"arith.shrsi", [](int64_t a, int64_t b) { return shifts(b) ? a >> b : 0; }},
    {"arith.maxsi", [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"arith.minsi", [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"arith.extsi", [](int64_t a, int64_t) { return a; }},
    {"arith.trunci", [](int64_t a, int64_t) { return a; }},
    {"arith.index_cast", [](int64_t a, int64_t) { return a; }},
};

static void runReal(const Instruction &op, Frame &frame) {
  double operands[3] = {};
  for (size_t i = 0; i < op.operands.size(); ++i)
    operands[i] = frame.slots[op.operands[i]].real;
  frame.slots[op.result].real = op.real(operands[0], operands[1], operands[2]);
}

static void runInteger(const Instruction &op, Frame &frame) {
  int64_t a = frame.slots[op.operands[0]].integer;
  int64_t b = op.operands.size() > 1 ? frame.slots[op.operands[1]].integer : 0;
  frame.slots[op.result].integer = wrap(op.integer(a, b), op.width);
}

//===----------------------------------------------------------------------===//
// Comparisons, conversions, look-ups
//===----------------------------------------------------------------------===//

static bool compareReals(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  return false;
}

static bool compareIntegers(arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = zeroExtend(a, width), ub = zeroExtend(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

/// i1 is sign-extended as every integer: true is -1.
static int64_t fromBool(bool x) { return x ? -1 : 0; }

static void runCmpF(const Instruction &op, Frame &frame) {
  frame.slots[op.result].integer =
      fromBool(compareReals(static_cast<arith::CmpFPredicate>(op.predicate),
                            frame.slots[op.operands[0]].real, frame.slots[op.operands[1]].real));
}
static void runCmpI(const Instruction &op, Frame &frame) {
  frame.slots[op.result].integer = fromBool(compareIntegers(
      static_cast<arith::CmpIPredicate>(op.predicate), frame.slots[op.operands[0]].integer,
      frame.slots[op.operands[1]].integer, op.width));
}
static void runSelect(const Instruction &op, Frame &frame) {
  bool first = frame.slots[op.operands[0]].integer != 0;
  frame.slots[op.result] = frame.slots[op.operands[first ? 1 : 2]];
}
static void runSIToFP(const Instruction &op, Frame &frame) {
  frame.slots[op.result].real = static_cast<double>(frame.slots[op.operands[0]].integer);
}
static void runUIToFP(const Instruction &op, Frame &frame) {
  frame.slots[op.result].real =
      static_cast<double>(zeroExtend(frame.slots[op.operands[0]].integer, op.width));
}
static void runExtUI(const Instruction &op, Frame &frame) {
  frame.slots[op.result].integer =
      static_cast<int64_t>(zeroExtend(frame.slots[op.operands[0]].integer, op.width));
}
/// Towards zero; what does not fit (undefined in MLIR) gives 0.
static void runFPToSI(const Instruction &op, Frame &frame) {
  double x = std::trunc(frame.slots[op.operands[0]].real),
         limit = std::ldexp(1.0, static_cast<int>(op.width) - 1);
  frame.slots[op.result].integer = x >= -limit && x < limit ? static_cast<int64_t>(x) : 0;
}

/// Each index is clamped into the table.
static void runLookup(const Instruction &op, Frame &frame) {
  const Tensor &table = *frame.tables[op.operands[0]];
  int64_t at = 0;
  for (size_t i = 0; i < table.shape.size(); ++i) {
    if (table.shape[i] == 0)
      return;
    int64_t index = frame.slots[op.operands[i + 1]].integer;
    at = at * table.shape[i] + std::clamp<int64_t>(index, 0, table.shape[i] - 1);
  }
  Scalar &result = frame.slots[op.result];
  if (op.realResult)
    result.real = table.values[at];
  else
    result.integer = static_cast<int64_t>(table.values[at]);
}
static void runPosition(const Instruction &op, Frame &frame) {
  frame.slots[op.result].integer = frame.position;
}
static void runToken(const Instruction &op, Frame &frame) {
  frame.slots[op.result].integer = frame.token;
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

static unsigned widthOf(Type type) {
  return isa<IntegerType>(type) ? type.getIntOrFloatBitWidth() : 64;
}

unsigned ScalarProgram::slot(mlir::Value value) {
  auto [found, isNew] = slotOf_.try_emplace(value, initial_.slots.size());
  if (isNew) {
    initial_.slots.emplace_back();
    initial_.tables.emplace_back();
  }
  return found->second;
}

void ScalarProgram::addConstant(mlir::Value value, Attribute attribute) {
  Scalar &constant = initial_.slots[slot(value)];
  if (auto real = dyn_cast<FloatAttr>(attribute))
    constant.real = real.getValueAsDouble();
  else
    constant.integer = cast<IntegerAttr>(attribute).getValue().getSExtValue();
}

/// Fills in what an op runs; false where the oracle does not know it.
static bool selectFunction(Operation *op, Instruction &instruction) {
  StringRef name = op->getName().getStringRef();
  for (const RealRow &row : kRealRows)
    if (row.name == name)
      return instruction.run = runReal, instruction.real = row.function, true;
  for (const IntegerRow &row : kIntegerRows)
    if (row.name == name)
      return instruction.run = runInteger, instruction.integer = row.function, true;
  // What follows wants the operand's width, not the result's.
  unsigned operandWidth = op->getNumOperands() ? widthOf(op->getOperand(0).getType()) : 64;
  instruction.run = llvm::StringSwitch<Instruction::Function>(name)
                        .Case("arith.cmpf", runCmpF)
                        .Case("arith.cmpi", runCmpI)
                        .Case("arith.select", runSelect)
                        .Case("arith.sitofp", runSIToFP)
                        .Case("arith.uitofp", runUIToFP)
                        .Case("arith.extui", runExtUI)
                        .Case("arith.fptosi", runFPToSI)
                        .Case("attn.lookup", runLookup)
                        .Case("attn.position", runPosition)
                        .Case("attn.token", runToken)
                        .Default(nullptr);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instruction.predicate = static_cast<int64_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instruction.predicate = static_cast<int64_t>(compare.getPredicate());
  if (instruction.run != runFPToSI)
    instruction.width = operandWidth;
  return instruction.run != nullptr;
}

/// What is neither an input nor a result so far comes from around the block: a constant, or nothing
/// that the oracle knows.
Status ScalarProgram::admitOperands(Operation *op) {
  for (mlir::Value operand : op->getOperands()) {
    if (slotOf_.contains(operand))
      continue;
    auto constant = operand.getDefiningOp<arith::ConstantOp>();
    if (!constant || !isa<FloatAttr, IntegerAttr>(constant.getValue()))
      return failAt(op, runtime::ErrorCode::Unsupported,
                    "the oracle evaluates bodies that use their arguments and constants only");
    addConstant(operand, constant.getValue());
  }
  return {};
}

Status ScalarProgram::addOperation(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (isa<FloatAttr, IntegerAttr>(constant.getValue()))
      return addConstant(constant, constant.getValue()), Status();
  }
  Instruction instruction{};
  if (op->getNumResults() != 1 || isa<ShapedType>(op->getResult(0).getType()) ||
      op->getNumRegions() != 0)
    return failAt(op, runtime::ErrorCode::Unsupported,
                  "the oracle evaluates scalar ops with one result here");
  instruction.width = widthOf(op->getResult(0).getType());
  instruction.realResult = isa<FloatType>(op->getResult(0).getType());
  if (!selectFunction(op, instruction))
    return failAt(op, runtime::ErrorCode::Unsupported,
                  "the oracle has no row for this op: add one in lib/Oracle/ScalarProgram.cpp");
  if (Status status = admitOperands(op); !status)
    return status;
  for (mlir::Value operand : op->getOperands())
    instruction.operands.push_back(slot(operand));
  instruction.result = slot(op->getResult(0));
  instructions_.push_back(std::move(instruction));
  return {};
}

Result<ScalarProgram> ScalarProgram::build(Block &block) {
  ScalarProgram program;
  for (BlockArgument argument : block.getArguments())
    program.inputs_.push_back(program.slot(argument));
  for (Operation &op : block.without_terminator())
    if (Status status = program.addOperation(&op); !status)
      return tl::unexpected(status.error());
  if (Status status = program.admitOperands(block.getTerminator()); !status)
    return tl::unexpected(status.error());
  for (mlir::Value output : block.getTerminator()->getOperands())
    program.outputs_.push_back(program.slot(output));
  return program;
}

Result<ScalarProgram> ScalarProgram::build(Operation *op) {
  ScalarProgram program;
  for (mlir::Value operand : op->getOperands())
    program.inputs_.push_back(program.slot(operand));
  if (Status status = program.addOperation(op); !status)
    return tl::unexpected(status.error());
  for (mlir::Value result : op->getResults())
    program.outputs_.push_back(program.slot(result));
  return program;
}

void ScalarProgram::run(ScalarFrame &frame) const {
  for (const Instruction &instruction : instructions_)
    instruction.run(instruction, frame);
}
