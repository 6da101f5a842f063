//===- Chip.h - the numbers of Hopper ---------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the chip has and what its instructions accept. Architecture numbers stand here and nowhere
// else: the hopper dialect's verifiers, its lowering and the code generator read them.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_CHIP_H
#define PAGEFOLD_TARGET_HOPPER_CHIP_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace pagefold::hopper {

struct Chip {
  // The NVPTX back end's names.
  llvm::StringLiteral triple, name, features;
  llvm::StringLiteral assembler; ///< the first release of CUDA whose ptxas takes that PTX

  int64_t multiprocessors; ///< of the largest device

  // A multiprocessor.
  int64_t sharedMemory;       ///< bytes that one CTA may have
  int64_t registers;          ///< 32-bit registers
  int64_t registerUnit;       ///< a thread's registers come in multiples of this
  int64_t minThreadRegisters; ///< setmaxnreg accepts from here
  int64_t maxThreadRegisters; ///< to here
  int64_t maxWarpgroups;      ///< of a CTA
  int64_t namedBarriers;      ///< of a CTA; number 0 is the barrier of all threads

  // Shared memory as wgmma and TMA read it: rows of one panel lie in the swizzle's width.
  int64_t swizzleBytes;  ///< width of a panel, and the period of the address swizzle
  int64_t octetRows;     ///< rows of a panel that the swizzle permutes together
  int64_t tileAlignment; ///< bytes

  // wgmma m64nNk16.
  int64_t fragmentRows; ///< M
  int64_t stepDepth;    ///< K of 16-bit operands
  int64_t columnUnit;   ///< N is a multiple of this
  int64_t maxColumns;   ///< N

  // TMA.
  int64_t maxBoxRank, maxBoxExtent;

  /// Registers of each thread at launch, when the CTA has the multiprocessor to itself.
  constexpr int64_t launchRegisters(int64_t threads) const {
    int64_t share = registers / threads / registerUnit * registerUnit;
    return share < maxThreadRegisters ? share : maxThreadRegisters;
  }
};

/// sm_90a. The suffix matters: wgmma is refused on sm_90.
inline constexpr Chip kHopper = {
    .triple = "nvptx64-nvidia-cuda",
    .name = "sm_90a",
    .features = "+ptx86", // older versions cannot select the TMA intrinsics
    .assembler = "12.7",
    .multiprocessors = 132,
    .sharedMemory = 227 * 1024,
    .registers = 64 * 1024,
    .registerUnit = 8,
    .minThreadRegisters = 24,
    .maxThreadRegisters = 256,
    .maxWarpgroups = 8,
    .namedBarriers = 16,
    .swizzleBytes = 128,
    .octetRows = 8,
    .tileAlignment = 1024,
    .fragmentRows = 64,
    .stepDepth = 16,
    .columnUnit = 8,
    .maxColumns = 256,
    .maxBoxRank = 5,
    .maxBoxExtent = 256,
};

inline constexpr int64_t kWarp = 32, kWarpgroup = 128; ///< threads

/// How kernels of one thread a worker are launched: enough threads for the memory's latency, and
/// few enough that each has the registers for a row.
struct SimtLaunch {
  int64_t threads;               ///< of a CTA
  int64_t ctasPerMultiprocessor; ///< where there is much work
  int64_t exactCtas;             ///< up to here the grid has just the CTAs that there is work for
  /// A multiprocessor holds so many at once, which bounds a thread's registers: where all threads
  /// have as much to do, a CTA that does not fit at first would run behind the others.
  bool resident = false;
};
inline constexpr SimtLaunch kSimtLaunch = {
    .threads = 128, .ctasPerMultiprocessor = 4, .exactCtas = 512};

/// Those of rows that lanes share: bytes under way count, and 72 registers of a thread are enough.
inline constexpr SimtLaunch kRowLaunch = {
    .threads = 128, .ctasPerMultiprocessor = 7, .exactCtas = 896, .resident = true};

/// Those of a team, one CTA of all threads that it may have.
inline constexpr SimtLaunch kTeamLaunch = {
    .threads = 1024, .ctasPerMultiprocessor = 1, .exactCtas = 1};

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_CHIP_H
