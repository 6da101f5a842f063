//===- Roofline.cpp - what bounds a kernel on a chip ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchWork.h"

#include <algorithm>
#include <cmath>

using namespace pagefold::runtime;

/// Of the chip, while the shares last.
static double busyPart(const SpacePlan &space, double shares, int64_t multiprocessors) {
  const auto places = static_cast<double>(multiprocessors * space.workers);
  if (space.share == "parts" && shares > 0) // as the kernel decides on the device
    shares *= std::clamp(std::floor(places / shares), 1.0, static_cast<double>(space.splits));
  return std::min(1.0, shares / places);
}

Bound pagefold::runtime::boundOf(const KernelAbout &about, const KernelWork &work,
                                 const MachinePlan &machine) {
  const bool tensorCores = about.space && about.space->tensorCores;
  const auto rate =
      static_cast<double>(tensorCores ? machine.tensorPerSecond : machine.vectorPerSecond);
  const auto bandwidth = static_cast<double>(machine.bytesPerSecond);
  Bound bound;
  bound.compute = work.flops / rate;
  bound.memory = work.bytes / bandwidth;
  bound.roofline = std::max(bound.compute, bound.memory);
  if (about.space)
    bound.busy = busyPart(*about.space, work.shares, machine.multiprocessors);
  const double executed = std::max(work.executedFlops / rate, bound.memory);
  bound.schedule = bound.busy > 0 ? executed / bound.busy : bound.roofline;
  if (bound.roofline * 1e9 < static_cast<double>(machine.launchNanoseconds))
    bound.kind = "launch";
  else if (bound.schedule > kShapeFactor * bound.roofline)
    bound.kind = "shape";
  else
    bound.kind = bound.compute > bound.memory ? "compute" : "memory";
  return bound;
}
