/*===- Runtime.h - the runtime's C ABI -----------------------------*- C -*-===*\
|*
|* Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Loads what the compiler made (an artifact: code and launch plan in one run of
|* bytes) and launches it on DLPack tensors. No LLVM here.
|*
|* Arguments of a function, in order:
|*   - every tensor argument of the graph is one DLTensor;
|*   - every `!attn.paged_kv` argument is four: K pages [pages, page, heads, k_dim],
|*     V pages [pages, page, heads, v_dim] (any strides in elements, innermost 1, so
|*     `hnd` and K and V in one allocation are matters of strides), table
|*     int32 [batch, width], lens int32 [batch];
|*   - every tensor result is one DLTensor that the caller owns and the launch fills;
|*     a cache result is the cache argument, written in place.
|*
|* Ownership: a call that returns a handle gives it to the caller, who frees it with
|* the matching `_free`. A null pagefold_error means success. No exception leaves.
|* Threads: a module and its functions may be used by many threads at once, each
|* launch with a workspace of its own.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PAGEFOLD_C_RUNTIME_H
#define PAGEFOLD_C_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAGEFOLD_API __attribute__((visibility("default")))

typedef struct pagefold_error pagefold_error;
typedef struct pagefold_module pagefold_module;
typedef struct pagefold_function pagefold_function; /* owned by its module */

/* One of pagefold::runtime::ErrorCode. */
PAGEFOLD_API int pagefold_error_code(const pagefold_error *error);
/* One sentence, valid until the error is freed. */
PAGEFOLD_API const char *pagefold_error_message(const pagefold_error *error);
PAGEFOLD_API void pagefold_error_free(pagefold_error *error);

/* Loads an artifact. The bytes are copied. */
PAGEFOLD_API pagefold_error *pagefold_module_load(const void *bytes, size_t size,
                                                  pagefold_module **module);
PAGEFOLD_API void pagefold_module_free(pagefold_module *module);

/* A function by name; with a null name the only one. It lives as long as its module. */
PAGEFOLD_API pagefold_error *pagefold_module_function(pagefold_module *module, const char *name,
                                                      pagefold_function **function);

/* The variant of a graph for a batch of `batch` requests, of which the longest has `q_len` query rows
   and `kv_len` keys, and `tokens` query rows in all (0: batch x q_len): the first, in the order of
   the graph's declared maxima, that holds it. A graph by name, with a null name the only one; one
   that was compiled for a single set of maxima is its own variant. It searches a list: engines ask at
   every step, or once for each size that they capture. */
PAGEFOLD_API pagefold_error *pagefold_module_function_for(pagefold_module *module, const char *graph,
                                                          int64_t batch, int64_t q_len, int64_t kv_len,
                                                          int64_t tokens, pagefold_function **function);

/* The launch plan as JSON: "args" (inputs) and "results", which together are the arguments of a
   launch in order, each with "name", "dtype", "access", "shape" (null where known at the launch
   only) and "symbolic_shape" (there "tokens", "batch+1"); "bounds", "target", "kernels",
   "workspace". Valid as long as the module. */
PAGEFOLD_API const char *pagefold_function_plan_json(const pagefold_function *function);

/* Bytes of workspace that one launch needs: a compile-time bound from the declared maxima. */
PAGEFOLD_API size_t pagefold_function_workspace_size(const pagefold_function *function);

/* Prepares a fresh workspace (64-byte aligned, at least workspace_size bytes) for this function, on
   a GPU by work on `stream`. Once per workspace: a launch leaves it fit for the next one. Again
   where a launch in it was cut short, or two ran in it at once. */
PAGEFOLD_API pagefold_error *pagefold_workspace_init(const pagefold_function *function,
                                                     void *workspace, size_t size, void *stream);

/* Launches on `stream`. `args` are the DLTensors in the order above. A result overlaps no other
   argument and not the workspace; strides null means row-major; nothing is written when an argument
   is refused. An error in the data of one request (a page id out of range, a length past the table)
   gives an error that names the request; the results of the other requests are valid.

   Target host ignores the stream and returns when the results are there. Tensors and workspace lie
   in host memory; a null workspace takes one of the function's own; two launches in one workspace
   at once are refused.

   Target cuda enqueues kernels on the stream (a CUstream, null for the default one) and waits for
   nothing. Tensors (kDLCUDA) and workspace lie on the device of the thread's current context; where
   none is current, the primary context of the tensors' device becomes so. Scalars lie in host
   memory and are read before the call returns. The first launch in a context opens the driver and
   loads the code: launch once before capturing a graph. A null workspace takes one that the
   function keeps for each context and stream, allocated at the first launch there; serving engines
   give their own, one a stream. The error of a request is reported by the *next* launch of the
   function in that context, which launches nothing then, or by pagefold_function_check. */
PAGEFOLD_API pagefold_error *pagefold_function_launch(const pagefold_function *function,
                                                      const DLTensor *const *args, size_t num_args,
                                                      void *workspace, size_t size, void *stream);

/* The error that a completed launch in the current context has left and no launch has reported yet,
   which is cleared; null where there is none. For callers that have synchronised. On the host a
   launch gives its error itself. */
PAGEFOLD_API pagefold_error *pagefold_function_check(const pagefold_function *function);

/* Explains the function: what was compiled and why, and where `args` is not null what a launch with
   these arguments would do (docs/explain.md). `args` are those of a launch, without or with the
   results. Nothing is launched, but lengths and offsets are read: on a GPU that copies them and
   waits; tensors of a function for a GPU may lie in host memory here, and no GPU is asked then.
   `milliseconds` is what a launch took, where that was measured, else 0. `format` is "text" or
   "json", null for text. Free with pagefold_string_free. */
PAGEFOLD_API pagefold_error *pagefold_function_explain(const pagefold_function *function,
                                                       const DLTensor *const *args, size_t num_args,
                                                       double milliseconds, const char *format,
                                                       char **text);

/* Counters of the last launch in this workspace as JSON, for functions compiled with counters:
   {"tiles_full":..,"tiles_partial":..,"tiles_skipped":..,"masked_elements":..,"keys_visited":..}.
   The launch must have been given this workspace; on a GPU the caller has synchronised its stream.
   Free with pagefold_string_free. */
PAGEFOLD_API pagefold_error *pagefold_function_counters_json(const pagefold_function *function,
                                                             const void *workspace, char **json);
PAGEFOLD_API void pagefold_string_free(char *string);

/* Workers of host launches, the calling thread included: 1 to 1024 (default: the cores that the
   process may use). For the launches from now on. */
PAGEFOLD_API pagefold_error *pagefold_set_num_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif /* PAGEFOLD_C_RUNTIME_H */
