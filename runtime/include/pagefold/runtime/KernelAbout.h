//===- KernelAbout.h - what a plan says of a kernel to explain it -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing in a launch depends on what stands here: it is there to explain launches (Explain.h)
// without the compiler at hand. docs/artifact.md, "about", is its page.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_KERNELABOUT_H
#define PAGEFOLD_RUNTIME_KERNELABOUT_H

#include "pagefold/runtime/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pagefold::runtime {

/// What a pass of the compiler said of a choice.
struct Remark {
  std::string kind;         ///< passed, missed, failure or analysis
  std::string pass, name;   ///< who said it, and of what
  std::string text, reason; ///< the reason may be empty
  bool operator==(const Remark &) const = default;
};

/// As one line: "Missed tile-select-schedule: in decode: text: reason".
std::string remarkLine(const Remark &remark, const std::string &function);

/// Bytes that a kernel moves for each index of an argument's first dimension; of argument -1: once.
struct TrafficPlan {
  int64_t arg = -1;
  int64_t bytes = 0;
  bool operator==(const TrafficPlan &) const = default;
};

/// The work of an attention kernel: how its items and tiles follow from the lengths of a launch.
struct SpacePlan {
  int64_t kvHeads = 1, group = 1, kDim = 0, vDim = 0;
  int64_t qTile = 1, kvTile = 1, splits = 1;
  bool packed = false;     ///< a query tile holds rows of all heads of a group; else of one head
  int64_t groupRows = 0;   ///< of a packed tile, for a query row, with padding; 0: the group's
  bool oneRange = false;   ///< all tiles are visited from the first visible one to the last
  bool neverEmpty = false; ///< one tile is visited where a request has rows, and no key to see
  /// What a launch shares out: items; parts of items, `splits` at most, where items alone do not
  /// fill the chip; or slices, which are KV tiles.
  std::string share = "items";
  int64_t rowUnit = 1;      ///< products are of a multiple of so many rows
  int64_t workers = 1;      ///< shares that a multiprocessor has under way
  bool tensorCores = false; ///< multiply; else f32 arithmetic does

  // Bytes: of a KV row of one head, K and V together; of a query row of one head; of what is
  // written for it.
  int64_t kvRowBytes = 0, queryRowBytes = 0, outputRowBytes = 0;
  int64_t pageSize = 0; ///< 0: dense

  // Arguments: row offsets of queries, lengths or row offsets of keys, what the mask is bound to.
  int64_t rowsArg = -1, lensArg = -1, keyRowsArg = -1;
  std::vector<int64_t> symbolArgs, rowValueArgs;
  std::optional<int64_t> minQLen, maxQLen; ///< requests of other numbers of rows have no items

  /// The ranges of the visit list: full, partial or test. None where there is no list: then every
  /// tile below the length is visited, and masked.
  std::vector<std::string> ranges;
  bool bitmap = false; ///< every visited tile is masked by bits
  /// Programs (WorkProgram.h) over qlo, qhi, row values at both, q_len, kv_len, symbols; a test
  /// takes a tile more, the mask a key (and q and row values in place of qlo and qhi).
  std::string visits, test, visible;
  bool operator==(const SpacePlan &) const = default;
};

/// Of a thread.
struct RegisterUse {
  int64_t registers = 0;
  int64_t spilled = 0; ///< bytes of local memory
  bool operator==(const RegisterUse &) const = default;
};

struct KernelAbout {
  std::string op;      ///< of level 2
  std::string form;    ///< of a space's schedule; else empty
  int64_t stages = 0;  ///< of a ring of tiles; 0: none
  std::string pages;   ///< how keys and values come: boxes, gather or loads; empty: none do
  int64_t boxKeys = 0; ///< of one box
  std::optional<RegisterUse> registers = {}; ///< where the code is machine code
  std::optional<SpacePlan> space = {};
  std::vector<TrafficPlan> traffic; ///< of all other kernels
  bool operator==(const KernelAbout &) const = default;
};

/// Reads what the compiler knows of a kernel, as JSON. BadInput names what is wrong.
Result<KernelAbout> parseAbout(const std::string &json);

/// What a chip reaches, as measured; the roofline of launches on it.
struct MachinePlan {
  std::string name;
  int64_t multiprocessors = 0;
  int64_t bytesPerSecond = 0;
  int64_t tensorPerSecond = 0;   ///< operations of 16-bit products on tensor cores
  int64_t vectorPerSecond = 0;   ///< operations of f32 arithmetic
  int64_t launchNanoseconds = 0; ///< of a kernel with next to no work
  bool operator==(const MachinePlan &) const = default;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_KERNELABOUT_H
