//===- EmittedVisits.cpp - a mask's visit list as a program ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmittedVisits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

EmittedFunction::EmittedFunction(MLIRContext *context, Type type, const TileBounds &bounds,
                                 int64_t tileSize, unsigned numExtra)
    : builder(context), loc(builder.getUnknownLoc()) {
  context->loadDialect<arith::ArithDialect, func::FuncDialect, vector::VectorDialect>();
  SmallVector<Type> types(bounds.symbolNames.size() + numExtra, type);
  function = func::FuncOp::create(loc, "f", builder.getFunctionType(types, {}));
  Block *body = function->addEntryBlock();
  builder.setInsertionPointToEnd(body);
  auto next = [&, index = 0u]() mutable -> Value { return body->getArgument(index++); };
  visits.tileSize = tileSize;
  visits.qlo = next();
  visits.qhi = next();
  for (unsigned i = 0; i < bounds.numRowVars; ++i) {
    Value low = next(), high = next();
    visits.rows.push_back({low, high});
  }
  visits.qLen = next();
  visits.kvLen = next();
  for (unsigned i = 4 + 2 * bounds.numRowVars; i < bounds.symbolNames.size(); ++i)
    visits.symbols.push_back(next());
  for (unsigned i = 0; i < numExtra; ++i)
    extra.push_back(next());
}

func::FuncOp EmittedFunction::finish(ValueRange results) {
  func::ReturnOp::create(builder, loc, results);
  function->setFunctionType(
      builder.getFunctionType(function->getArgumentTypes(), results.getTypes()));
  EXPECT_TRUE(succeeded(verify(*function)));
  OpBuilder folder(function->getContext());
  for (Operation &op : function->getBody().front().without_terminator()) {
    SmallVector<Value> folded;
    folder.setInsertionPoint(&op);
    bool isConstant = op.hasTrait<OpTrait::ConstantLike>();
    EXPECT_TRUE(isConstant || failed(folder.tryFold(&op, folded)))
        << "can be folded: " << op.getName().getStringRef().str();
  }
  return *function;
}

VisitProgram::VisitProgram(Type type, const TileBounds &bounds, int64_t tileSize) {
  MLIRContext *context = type.getContext();
  EmittedFunction visitFunction(context, type, bounds, tileSize, 0);
  SmallVector<Value> ends;
  for (const VisitRange &range :
       emitVisits(visitFunction.builder, visitFunction.loc, bounds, visitFunction.visits)) {
    kinds.push_back(range.kind);
    ends.append({range.begin, range.end});
  }
  EXPECT_EQ(kinds, visitKinds(bounds));
  ranges.emplace(visitFunction.finish(ends));

  EmittedFunction testFunction(context, type, bounds, tileSize, 1);
  TestResult result = emitTileTest(testFunction.builder, testFunction.loc, bounds,
                                   testFunction.visits, testFunction.extra[0]);
  tests.emplace(testFunction.finish({result.visit, result.partial}));
}

SmallVector<VisitProgram::Range> VisitProgram::visits(ArrayRef<int64_t> symbols) {
  ArrayRef<int64_t> ends = ranges->run(symbols);
  SmallVector<Range> visits;
  for (auto [i, kind] : llvm::enumerate(kinds))
    visits.push_back({ends[2 * i], ends[2 * i + 1], kind});
  return visits;
}

VisitProgram::Test VisitProgram::test(ArrayRef<int64_t> symbols, int64_t tile) {
  SmallVector<int64_t> arguments(symbols);
  arguments.push_back(tile);
  ArrayRef<int64_t> results = tests->run(arguments);
  return {results[0] != 0, results[1] != 0};
}
