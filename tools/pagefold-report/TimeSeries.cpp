//===- TimeSeries.cpp - a replay over time, in few bins -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimeSeries.h"

#include <algorithm>

namespace pagefold::report {
namespace {

void addScaled(Levels &sum, const Levels &levels, double factor) {
  sum.livePages += levels.livePages * factor;
  sum.idlePages += levels.idlePages * factor;
  sum.freePages += levels.freePages * factor;
  sum.liveTokens += levels.liveTokens * factor;
  sum.running += levels.running * factor;
  sum.waiting += levels.waiting * factor;
}

} // namespace

void TimeBin::merge(const TimeBin &other) {
  time += other.time;
  addScaled(integral, other.integral, 1);
  maxLivePages = std::max(maxLivePages, other.maxLivePages);
  longestStep = std::max(longestStep, other.longestStep);
  prefillTokens += other.prefillTokens;
  decodeTokens += other.decodeTokens;
}

void TimeSeries::addStep(double begin, double duration, const Levels &levels,
                         uint64_t prefillTokens, uint64_t decodeTokens) {
  while (begin >= width * maxBins) {
    width *= 2;
    for (size_t i = 0; i < theBins.size(); i += 2) {
      TimeBin merged = theBins[i];
      if (i + 1 < theBins.size())
        merged.merge(theBins[i + 1]);
      theBins[i / 2] = merged;
    }
    theBins.resize((theBins.size() + 1) / 2);
  }
  size_t index = size_t(begin / width);
  if (theBins.size() <= index)
    theBins.resize(index + 1);
  TimeBin step;
  step.time = duration;
  addScaled(step.integral, levels, duration);
  step.maxLivePages = levels.livePages;
  step.longestStep = duration;
  step.prefillTokens = prefillTokens;
  step.decodeTokens = decodeTokens;
  theBins[index].merge(step);
}

} // namespace pagefold::report
