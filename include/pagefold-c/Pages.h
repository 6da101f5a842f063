/*===- Pages.h - the page manager's C ABI --------------------------*- C -*-===*\
|*
|* Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Who owns which page of a KV cache: page tables, prefix reuse, copy-on-write,
|* eviction. A thin layer over runtime/.../KvCacheManager.h, where every call is
|* described; docs/runtime/page-manager.md explains it by time steps.
|*
|* A step of a serving engine: admit or reserve, drain the changes (perform the
|* page copies, upload the table), launch, mark what was computed. A call that
|* fails leaves everything as it was. Every call may come from any thread; calls
|* for one request are the caller's to order.
|*
\*===----------------------------------------------------------------------===*/

#ifndef PAGEFOLD_C_PAGES_H
#define PAGEFOLD_C_PAGES_H

#include "pagefold-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pagefold_pages pagefold_pages;

/* A pool of `num_pages` pages of `page_size` tokens (1..1024), and a table of `max_requests` rows of
   `max_pages_per_request` columns (0: num_pages). */
PAGEFOLD_API pagefold_error *pagefold_pages_create(int32_t num_pages, int32_t page_size, int32_t max_requests,
                                                   int32_t max_pages_per_request, int prefix_caching,
                                                   pagefold_pages **pages);
PAGEFOLD_API void pagefold_pages_free(pagefold_pages *pages);

/* Takes a request in: finds its longest cached prefix among those of the same `salt` (null: none), pins it, and
   takes pages for `new_tokens` tokens beyond it (0: all). *row is its row of the table until it ends,
   *hit_tokens what need not be computed, at most count - 1. */
PAGEFOLD_API pagefold_error *pagefold_pages_admit(pagefold_pages *pages, uint64_t request, const int32_t *tokens,
                                                  size_t count, const char *salt, int32_t new_tokens,
                                                  int32_t *row, int32_t *hit_tokens);
/* Pages for the first `tokens` tokens; shared pages that would be written become copies. */
PAGEFOLD_API pagefold_error *pagefold_pages_reserve(pagefold_pages *pages, uint64_t request, int32_t tokens);
/* Appends generated tokens to what the request is known to hold. */
PAGEFOLD_API pagefold_error *pagefold_pages_append(pagefold_pages *pages, uint64_t request, const int32_t *tokens,
                                                   size_t count);
/* K and V of the first `tokens` tokens are written: pages so filled become findable. */
PAGEFOLD_API pagefold_error *pagefold_pages_mark_computed(pagefold_pages *pages, uint64_t request, int32_t tokens);
/* A child with the same tokens that shares the pages computed so far. */
PAGEFOLD_API pagefold_error *pagefold_pages_fork(pagefold_pages *pages, uint64_t parent, uint64_t child, int32_t *row);
/* Ends a request: done (its pages stay findable until evicted), or given up. */
PAGEFOLD_API pagefold_error *pagefold_pages_finish(pagefold_pages *pages, uint64_t request);
PAGEFOLD_API pagefold_error *pagefold_pages_abort(pagefold_pages *pages, uint64_t request);

/* What changed since the last drain: *copies is (source, destination, tokens) x *num_copies, to be performed before
   anything of a later step; *updates is (row, column, page) x *num_updates of the table. Each array is the
   caller's, to be freed with pagefold_pages_free_array. */
PAGEFOLD_API pagefold_error *pagefold_pages_drain(pagefold_pages *pages, int32_t **copies, size_t *num_copies,
                                                  int32_t **updates, size_t *num_updates);
PAGEFOLD_API void pagefold_pages_free_array(int32_t *array);

/* The whole table [max_requests, max_pages_per_request], -1 where a row has no page. `count` must be its size. */
PAGEFOLD_API pagefold_error *pagefold_pages_table(const pagefold_pages *pages, int32_t *table, size_t count);
/* Pages that an allocation can get: free ones, and findable ones that nobody uses. */
PAGEFOLD_API int32_t pagefold_pages_available(const pagefold_pages *pages);
/* Checks every invariant; an Internal error names the first that is broken. */
PAGEFOLD_API pagefold_error *pagefold_pages_verify(const pagefold_pages *pages);

#ifdef __cplusplus
}
#endif

#endif /* PAGEFOLD_C_PAGES_H */
