/*===- Compiler.h - the compiler's C ABI ---------------------------*- C -*-===*\
|*
|* Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Compiles an attention graph to an artifact, which pagefold_module_load takes:
|* there is one path from code to launch, whether in one process or through a file.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PAGEFOLD_C_COMPILER_H
#define PAGEFOLD_C_COMPILER_H

#include "pagefold-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles MLIR text (or bytecode). `options` is JSON, or null for the defaults:
     {"target": "host",            what to compile for: host or cuda (Hopper)
      "code": "ptx",               of target cuda; or cubin, where CUDA's ptxas is on the PATH
      "cpu": "",                   of target host, by LLVM's name; empty: this machine's
      "bounds": "",                declared maxima in place of the graph's: "batch 64, q_len 1, kv_len 8192; batch ..."
      "schedule": {"form": "outer", "q_tile": 64, "kv_tile": 256, "splits": 1},   overrides of the schedule table
      "online_softmax": true,      false keeps the materialised baseline
      "fuse": true,
      "cascade": "auto",           a shared prefix is read once: where it pays, always, or off
      "overlap_products": true,    of target cuda, as the next eight
      "lazy_rescale": true,
      "sections": true,
      "overlap_launches": true,    false starts a kernel of a function when the one before it has ended
      "stage_queries": true,       false leaves the ops of queries in the attention kernel
      "fuse_append": true,         false keeps the append out of the kernel that streams keys
      "join_rows": true,           false makes each append and each change of rows a kernel of its own
      "split_rows": true,          false gives requests of few query rows no kernel of their own
      "pack_groups": true,         false gives each head query tiles of its own where requests have few rows
      "batch_invariant": false,    true makes a request's bits independent of its neighbours
      "strict": false,             true makes an error of what is slower than need be, and was not asked for
      "counters": false,           count tiles, for tests and explanations
      "poll_limit": 0,             of target cuda: polls after which a wait ends the kernel; 0: none
      "keep_graph": false,         the artifact holds the graph too, for pagefold-run
      "cache": "disk",             where artifacts are kept and found: disk (and memory), memory, or off
      "cache_dir": "",             the directory on disk
      "cache_max_bytes": 0}        what it may hold
   The last three, left out, are what PAGEFOLD_CACHE, PAGEFOLD_CACHE_DIR and PAGEFOLD_CACHE_MAX_BYTES
   say, else disk, "pagefold" in the user's cache folder, and 1 GiB. A directory that cannot be used is
   a remark, not an error.
   On success *bytes is a buffer of *size bytes to be freed with pagefold_bytes_free. `remarks`,
   when not null, receives the decisions taken, as text to be freed with pagefold_string_free.
   Thread-safe. */
PAGEFOLD_API pagefold_error *pagefold_compile(const char *mlir, size_t length, const char *options,
                                              void **bytes, size_t *size, char **remarks);
PAGEFOLD_API void pagefold_bytes_free(void *bytes);

#ifdef __cplusplus
}
#endif

#endif /* PAGEFOLD_C_COMPILER_H */
