//===- ArithProgram.cpp - runs emitted arith on numbers -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArithProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold::test;

using Compute = int64_t (*)(int64_t, int64_t, int64_t);

static Compute computeOfCompare(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return [](int64_t a, int64_t b, int64_t) -> int64_t { return a == b; };
  case arith::CmpIPredicate::sle:
    return [](int64_t a, int64_t b, int64_t) -> int64_t { return a <= b; };
  case arith::CmpIPredicate::slt:
    return [](int64_t a, int64_t b, int64_t) -> int64_t { return a < b; };
  case arith::CmpIPredicate::sge:
    return [](int64_t a, int64_t b, int64_t) -> int64_t { return a >= b; };
  case arith::CmpIPredicate::sgt:
    return [](int64_t a, int64_t b, int64_t) -> int64_t { return a > b; };
  default:
    return nullptr;
  }
}

static Compute computeOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, Compute>(&op)
      .Case([](arith::AddIOp) { return [](int64_t a, int64_t b, int64_t) { return a + b; }; })
      .Case([](arith::SubIOp) { return [](int64_t a, int64_t b, int64_t) { return a - b; }; })
      .Case([](arith::MulIOp) { return [](int64_t a, int64_t b, int64_t) { return a * b; }; })
      .Case([](arith::DivSIOp) { return [](int64_t a, int64_t b, int64_t) { return a / b; }; })
      .Case([](arith::ShLIOp) { return [](int64_t a, int64_t b, int64_t) { return a << b; }; })
      .Case([](arith::ShRSIOp) { return [](int64_t a, int64_t b, int64_t) { return a >> b; }; })
      .Case([](arith::AndIOp) { return [](int64_t a, int64_t b, int64_t) { return a & b; }; })
      .Case([](arith::OrIOp) { return [](int64_t a, int64_t b, int64_t) { return a | b; }; })
      .Case([](arith::MaxSIOp) {
        return [](int64_t a, int64_t b, int64_t) { return std::max(a, b); };
      })
      .Case([](arith::MinSIOp) {
        return [](int64_t a, int64_t b, int64_t) { return std::min(a, b); };
      })
      .Case(
          [](arith::SelectOp) { return [](int64_t a, int64_t b, int64_t c) { return a ? b : c; }; })
      .Case([](arith::CmpIOp op) { return computeOfCompare(op.getPredicate()); })
      .Default([](Operation *) { return nullptr; });
}

ArithProgram::ArithProgram(func::FuncOp function) {
  llvm::DenseMap<Value, unsigned> slotOf;
  auto define = [&](Value value, int64_t initial = 0) {
    slotOf[value] = slots.size();
    slots.push_back(initial);
    return slots.size() - 1;
  };
  Block &body = function.getBody().front();
  for (Value argument : body.getArguments())
    define(argument);
  for (Operation &op : body.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto value = cast<IntegerAttr>(constant.getValue());
      bool isBoolean = value.getType().isInteger(1);
      define(constant, isBoolean ? value.getValue().getBoolValue() : value.getInt());
      continue;
    }
    Compute compute = computeOf(op);
    if (!compute) {
      ADD_FAILURE() << "ArithProgram does not know " << op.getName().getStringRef().str();
      return;
    }
    Step step{compute, 0, {0, 0, 0}};
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      step.operands[i] = slotOf.at(operand);
    step.result = define(op.getResult(0));
    steps.push_back(step);
  }
  for (Value result : body.getTerminator()->getOperands())
    resultSlots.push_back(slotOf.at(result));
}

llvm::ArrayRef<int64_t> ArithProgram::run(llvm::ArrayRef<int64_t> arguments) {
  llvm::copy(arguments, slots.begin());
  bool fits = true;
  for (const Step &step : steps) {
    int64_t value =
        step.compute(slots[step.operands[0]], slots[step.operands[1]], slots[step.operands[2]]);
    slots[step.result] = value;
    fits &= llvm::isInt<32>(value);
  }
  EXPECT_TRUE(fits) << "an emitted op leaves 32 bits";
  results.clear();
  for (unsigned slot : resultSlots)
    results.push_back(slots[slot]);
  return results;
}
