//===- Roofline.h - what Hopper reaches -------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside Chip.h, which says what the chip has: how fast it is, as measured (docs/performance.md).
// Explanations of launches compare with this (docs/explain.md).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_ROOFLINE_H
#define PAGEFOLD_TARGET_HOPPER_ROOFLINE_H

#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/runtime/KernelAbout.h"

namespace pagefold::hopper {

/// The H200.
inline const runtime::MachinePlan kRoofline = {
    .name = "H200",
    .multiprocessors = kHopper.multiprocessors,
    .bytesPerSecond = 4'660'000'000'000, // the fastest reading kernel that was measured
    .tensorPerSecond =
        797'000'000'000'000,               // the fastest product of bf16 matrices that was measured
    .vectorPerSecond = 66'900'000'000'000, // 132 x 128 lanes x 2 operations at 1.98 GHz
    // A kernel that loads 4 MB and does nothing else takes 3.8 us in a graph's replay, of which the
    // bytes are 0.9.
    .launchNanoseconds = 2'900,
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_ROOFLINE_H
