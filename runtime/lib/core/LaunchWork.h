//===- LaunchWork.h - what the kernels of a launch have to do ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles, operations and bytes of each kernel for the lengths of one launch, by the arithmetic that
// the kernels do themselves (WorkProgram.h); nothing is launched. docs/explain.md defines each
// number.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_LAUNCHWORK_H
#define PAGEFOLD_RUNTIME_LIB_CORE_LAUNCHWORK_H

#include "pagefold/runtime/Artifact.h"

#include <dlpack/dlpack.h>
#include <functional>

namespace pagefold::runtime {

struct KernelWork {
  double flops = 0;         ///< two a multiply-add, over the visible pairs of query row and key
  double executedFlops = 0; ///< over the visited tiles, with what pads their rows
  double bytes = 0;         ///< each byte that is needed once
  double loads = 0;         ///< with keys and values as often as the schedule reads them
  int64_t tilesFull = 0, tilesPartial = 0, tilesSkipped = 0;
  double shares = 0;    ///< parts that the work can be shared out in
  bool sampled = false; ///< visible pairs are those of a part of the rows, scaled
};

/// Copies bytes from where a tensor lies to the host.
using ReadBytes =
    std::function<Status(void *to, const DLTensor &tensor, size_t offset, size_t size)>;

/// The work of a kernel with these arguments: inputs, and perhaps results, in the plan's order.
/// InvalidArgument where one that is read is not what the plan says.
Result<KernelWork> workOf(const FunctionPlan &function, const KernelAbout &about,
                          std::span<const DLTensor *const> args, const ReadBytes &read);

/// Whether the numbers and programs of a kernel fit together: what workOf() relies on.
Status verifyAbout(const FunctionPlan &function, const KernelPlan &kernel);

//===----------------------------------------------------------------------===//
// The roofline
//===----------------------------------------------------------------------===//

/// Seconds, and what decides them.
struct Bound {
  double compute = 0, memory = 0; ///< of operations and of bytes, at the chip's best
  double roofline = 0;            ///< the longer of both
  double schedule = 0;         ///< of what is executed, on as much of the chip as has a share of it
  double busy = 1;             ///< that part of the chip
  const char *kind = "memory"; ///< or compute, launch, shape
};

/// A kernel is bound by its shape where padding and idle multiprocessors cost it more than so many
/// times the roofline.
inline constexpr double kShapeFactor = 2;

Bound boundOf(const KernelAbout &about, const KernelWork &work, const MachinePlan &machine);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_LAUNCHWORK_H
