//===- Launch.h - the interface between the runtime and host kernels ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host kernel is `void symbol(const int64_t *frame)`. The frame's words, in order:
//
//   each argument       a tensor of rank r: address, address, 0, r sizes, r strides (in elements),
//                       which is MLIR's expanded memref descriptor;
//                       a scalar: one word (floats: their bits zero-extended; signed integers:
//                       sign-extended; bool and u8: zero-extended);
//   the workspace       address, address, 0, bytes, 1
//   this worker's       address, address, 0, bytes, 1     (64-byte aligned, contents unspecified)
//   scratch
//   the ticket          address, address, 0, 1, 1
//
// The ticket is one int64, zero when the kernel starts, shared by its workers and drawn by atomic
// add. Any number of workers from one up may run a kernel of `workers: all`, and they start and end
// when they like: **work is found through the ticket alone**. All of a kernel's effects are visible
// to the next kernel of the launch.
//
// Who must change with this file: the compiler's lowering of kernels to frames, the places that
// write the error word and the counters, lib/core/ErrorWord.cpp (the sentences), docs/artifact.md.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LAUNCH_H
#define PAGEFOLD_RUNTIME_LAUNCH_H

#include <cstdint>

namespace pagefold::runtime {

using HostKernel = void (*)(const int64_t *frame);

/// Words of a rank-r tensor in the frame.
constexpr int64_t tensorWords(int64_t rank) { return 3 + 2 * rank; }
/// Words after the arguments: workspace, scratch, ticket.
inline constexpr int64_t kTrailingWords = 3 * tensorWords(1);

/// Alignment of a workspace and of scratch, in bytes.
inline constexpr int64_t kWorkspaceAlignment = 64;

/// Why a kernel gave up on a request. The comments say what value and limit hold.
enum class ErrorReason : int64_t {
  None = 0,
  RowsOutOfOrder = 1,    ///< rows decrease or leave [0, tokens]: the offset; tokens
  QueryTooLong = 2,      ///< q_len; bounds.q_len
  LengthOutOfBounds = 3, ///< length, negative or too large; bounds.kv_len
  TableTooNarrow = 4,    ///< length; columns x page size
  PageOutOfPool = 5,     ///< page id; pages of the pool
  PositionPastTable = 6, ///< position; rows of the rope table
  KeyRowsOutOfOrder = 7, ///< kv_rows decrease or leave the keys: the offset; rows of the keys
  PrefixTooLong = 8,     ///< promised keys that are shared; keys before the request's rows
  PrefixDiffers = 9,     ///< first key in another page than the others'; promised keys
};

/// What the first failing request leaves in the workspace. The runtime zeroes it when a launch
/// starts; a kernel claims it by an atomic compare-exchange of `request` from 0.
struct ErrorWord {
  int64_t request; ///< index + 1, or 0 for no error
  int64_t reason;  ///< an ErrorReason
  int64_t value;
  int64_t limit;
};

/// What a launch counted, over the whole grid. The runtime zeroes it when a launch starts.
struct TileCounters {
  int64_t tilesFull;
  int64_t tilesPartial;
  int64_t tilesSkipped;
  int64_t maskedElements;
  int64_t keysVisited;
  int64_t reserved[3];
};

static_assert(sizeof(ErrorWord) == 4 * sizeof(int64_t));
static_assert(sizeof(TileCounters) == 8 * sizeof(int64_t));

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LAUNCH_H
