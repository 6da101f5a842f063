//===- StreamedRowStates.cpp - packed rows of states ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedRowStates.h"

using namespace mlir;
using namespace pagefold::hopper;

Value RowStates::holds(int64_t i) {
  int64_t first = i * kSpan;
  if (first + kSpan <= space.vDim)
    return {};
  return b.less(b.mul(lane, kVector), b.i32(space.vDim - first));
}

RowState RowStates::noKeys() {
  Value zero = b.f32(0);
  RowState none{b.f32(kNothingSeen), zero, {}};
  none.output.assign(space.laneVectors(), b.vectorOf({zero, zero, zero, zero}));
  return none;
}

RowState RowStates::load(Value area, Value row) {
  Value start = b.add(areas.stateStart(b, area), b.mul(row, space.stateWords()));
  auto words = [&](int64_t count, Value index) {
    return LoadWordsOp::create(b, VectorType::get({count}, b.getF32Type()), areas.words, index);
  };
  Value pair = words(2, b.add(start, space.vDim));
  RowState state{b.element(pair, 0), b.element(pair, 1), {}};
  for (int64_t i = 0; i < space.laneVectors(); ++i) {
    Value first = b.add(b.mul(lane, kVector), i * kSpan);
    // Lanes past the row read what is there, and nobody uses it.
    first = holds(i) ? b.min(first, b.i32(space.vDim - kVector)) : first;
    state.output.push_back(words(kVector, b.add(start, first)));
  }
  return state;
}

RowState RowStates::merge(const SmallVectorImpl<RowState> &states) {
  Values maxima;
  for (const RowState &state : states)
    maxima.push_back(state.max);
  while (maxima.size() > 1) { // a tree: the shortest chain
    Values halved;
    for (size_t i = 0; i < maxima.size(); i += 2)
      halved.push_back(i + 1 < maxima.size() ? b.maxF(maxima[i], maxima[i + 1]) : maxima[i]);
    maxima = std::move(halved);
  }
  RowState merged{maxima[0], b.f32(0), {}};
  Value top = b.finiteMax(merged.max, merged.max), zero = b.f32(0);
  merged.output.assign(space.laneVectors(), b.vectorOf({zero, zero, zero, zero}));
  for (const RowState &state : states) {
    Value factor = b.exp2Difference(state.max, top, exponent);
    merged.sum = b.fma(state.sum, factor, merged.sum);
    Value factors = b.vectorOf({factor, factor, factor, factor});
    for (auto [sum, output] : llvm::zip_equal(merged.output, state.output))
      sum = b.fma(output, factors, sum);
  }
  return merged;
}

RowState RowStates::mergeAreas(Value members, Value row) {
  SmallVector<RowState> states;
  for (int64_t area = 0; area < areas.count; ++area) {
    RowState state = load(b.i32(area), row);
    Value bit = b.both(members, b.i32(int64_t(1) << area));
    Value member = b.compare(arith::CmpIPredicate::ne, bit, b.i32(0));
    state.max = b.select(member, state.max, b.f32(kNothingSeen));
    state.sum = b.select(member, state.sum, b.f32(0));
    Value zero = b.f32(0), zeros = b.vectorOf({zero, zero, zero, zero});
    for (Value &output : state.output)
      output = arith::SelectOp::create(b, member, output, zeros);
    states.push_back(std::move(state));
  }
  return merge(states);
}
