//===- WorkProgram.cpp - arithmetic of a visit list as text ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels' visit lists are built once more, into a block that is thrown away, and written down
// op by op: an explanation counts with the same arithmetic, not with a second derivation.
//
//===----------------------------------------------------------------------===//

#include "WorkProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;

namespace {

StringRef nameOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "eq";
  case arith::CmpIPredicate::sle:
    return "le";
  case arith::CmpIPredicate::slt:
    return "lt";
  case arith::CmpIPredicate::sge:
    return "ge";
  case arith::CmpIPredicate::sgt:
    return "gt";
  default:
    llvm_unreachable("masks compare by eq, sle, slt, sge and sgt");
  }
}

StringRef nameOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddIOp) { return "add"; })
      .Case([](arith::SubIOp) { return "sub"; })
      .Case([](arith::MulIOp) { return "mul"; })
      .Case([](arith::DivSIOp) { return "div"; })
      .Case([](arith::ShLIOp) { return "shl"; })
      .Case([](arith::ShRSIOp) { return "shr"; })
      .Case([](arith::AndIOp) { return "and"; })
      .Case([](arith::OrIOp) { return "or"; })
      .Case([](arith::MaxSIOp) { return "max"; })
      .Case([](arith::MinSIOp) { return "min"; })
      .Case([](arith::SelectOp) { return "select"; })
      .Case([](arith::CmpIOp compare) { return nameOf(compare.getPredicate()); })
      .DefaultUnreachable("the arithmetic of masks has no such op");
}

/// A block whose arguments are a program's inputs.
class ProgramBlock {
public:
  ProgramBlock(MLIRContext *context, size_t inputs)
      : builder(context), loc(builder.getUnknownLoc()) {
    context->loadDialect<arith::ArithDialect>();
    for (size_t i = 0; i < inputs; ++i)
      block.addArgument(builder.getIndexType(), loc);
    builder.setInsertionPointToEnd(&block);
  }

  Value input(size_t i) { return block.getArgument(i); }

  std::string write(ValueRange results) {
    llvm::DenseMap<Value, size_t> slots;
    for (Value argument : block.getArguments())
      slots.try_emplace(argument, slots.size());
    std::string text;
    llvm::raw_string_ostream os(text);
    for (Operation &op : block) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        auto value = cast<IntegerAttr>(constant.getValue());
        bool isBoolean = value.getType().isInteger(1);
        os << "const " << (isBoolean ? int64_t(value.getValue().getBoolValue()) : value.getInt());
      } else {
        os << nameOf(&op);
        for (Value operand : op.getOperands())
          os << ' ' << slots.at(operand);
      }
      os << "; ";
      slots.try_emplace(op.getResult(0), slots.size());
    }
    os << "return";
    for (Value result : results)
      os << ' ' << slots.at(result);
    return text;
  }

  OpBuilder builder;
  Location loc;

private:
  Block block;
};

} // namespace

/// The context of a program whose first inputs are those of a visit list.
static VisitContext contextOf(ProgramBlock &block, const MaskSets &mask, int64_t kvTile) {
  VisitContext context;
  size_t next = 0;
  context.qlo = block.input(next++);
  context.qhi = block.input(next++);
  for (size_t i = 0; i < mask.rowVars.size(); ++i, next += 2)
    context.rows.push_back({block.input(next), block.input(next + 1)});
  context.qLen = block.input(next++);
  context.kvLen = block.input(next++);
  for (size_t i = 0; i < mask.symbols.size(); ++i)
    context.symbols.push_back(block.input(next++));
  context.tileSize = kvTile;
  return context;
}

/// Inputs: q, k, row values at q, q_len, kv_len, symbols.
static std::string writeVisible(MLIRContext *context, const MaskSets &mask) {
  ProgramBlock block(context, mask.numDims() + mask.numSymbols());
  MaskPoint point{block.input(0), block.input(1), {}};
  size_t next = 2;
  for (size_t i = 0; i < mask.rowVars.size(); ++i)
    point.rows.push_back(block.input(next++));
  VisitContext values;
  values.qLen = block.input(next++);
  values.kvLen = block.input(next++);
  for (size_t i = 0; i < mask.symbols.size(); ++i)
    values.symbols.push_back(block.input(next++));
  return block.write(emitVisible(block.builder, block.loc, mask, point, values));
}

WorkPrograms pagefold::writeWorkPrograms(MLIRContext *context, const MaskSets &mask,
                                         int64_t kvTile) {
  TileBounds bounds = deriveTileBounds(mask);
  size_t inputs = bounds.symbolNames.size();
  WorkPrograms programs;
  ProgramBlock visits(context, inputs), test(context, inputs + 1);
  SmallVector<Value> ends;
  for (const VisitRange &range :
       emitVisits(visits.builder, visits.loc, bounds, contextOf(visits, mask, kvTile))) {
    programs.ranges.push_back(stringify(range.kind));
    ends.append({range.begin, range.end});
  }
  programs.visits = visits.write(ends);
  TestResult result = emitTileTest(test.builder, test.loc, bounds, contextOf(test, mask, kvTile),
                                   test.input(inputs));
  programs.test = test.write({result.visit, result.partial});
  programs.visible = writeVisible(context, mask);
  return programs;
}
