//===- PagesCApi.cpp - the page manager's C ABI ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold-c/Pages.h"
#include "pagefold/runtime/CApi.h"
#include "pagefold/runtime/KvCacheManager.h"

#include <cstdlib>

using namespace pagefold::runtime;

struct pagefold_pages {
  std::unique_ptr<KvCacheManager> manager;
};

/// Runs `call(manager)` where the handle is one.
template <typename Call> static pagefold_error *onManager(const pagefold_pages *pages, Call call) {
  return guarded([&]() -> Status {
    if (!pages)
      return nullArgument("pages");
    return call(*pages->manager);
  });
}

pagefold_error *pagefold_pages_create(int32_t num_pages, int32_t page_size, int32_t max_requests,
                                      int32_t max_pages_per_request, int prefix_caching,
                                      pagefold_pages **pages) {
  return guarded([&]() -> Status {
    if (!pages)
      return nullArgument("a place for the pages");
    KvCacheOptions options;
    options.numPages = num_pages;
    options.pageSize = page_size;
    options.maxRequests = max_requests;
    options.maxPagesPerRequest = max_pages_per_request;
    options.prefixCaching = prefix_caching != 0;
    auto manager = KvCacheManager::create(options);
    if (!manager)
      return tl::unexpected(manager.error());
    *pages = new pagefold_pages{std::move(*manager)};
    return {};
  });
}

void pagefold_pages_free(pagefold_pages *pages) { delete pages; }

pagefold_error *pagefold_pages_admit(pagefold_pages *pages, uint64_t request, const int32_t *tokens,
                                     size_t count, const char *salt, int32_t new_tokens,
                                     int32_t *row, int32_t *hit_tokens) {
  return onManager(pages, [&](KvCacheManager &manager) -> Status {
    if (!tokens || !row || !hit_tokens)
      return nullArgument("tokens, row and hit_tokens");
    PromptView prompt{{tokens, count}, {salt ? salt : "", {}, {}}};
    auto key = PrefixKey::create(prompt, manager.options().pageSize);
    if (!key)
      return tl::unexpected(key.error());
    AdmitOptions options;
    options.newTokens = new_tokens;
    auto admission = manager.admit(request, std::move(*key), options);
    if (!admission)
      return tl::unexpected(admission.error());
    *row = admission->row;
    *hit_tokens = admission->match.hitTokens;
    return {};
  });
}

pagefold_error *pagefold_pages_reserve(pagefold_pages *pages, uint64_t request, int32_t tokens) {
  return onManager(pages,
                   [&](KvCacheManager &manager) { return manager.reserve(request, tokens); });
}

pagefold_error *pagefold_pages_append(pagefold_pages *pages, uint64_t request,
                                      const int32_t *tokens, size_t count) {
  return onManager(pages, [&](KvCacheManager &manager) -> Status {
    if (!tokens && count)
      return nullArgument("tokens");
    return manager.append(request, {tokens, count});
  });
}

pagefold_error *pagefold_pages_mark_computed(pagefold_pages *pages, uint64_t request,
                                             int32_t tokens) {
  return onManager(pages,
                   [&](KvCacheManager &manager) { return manager.markComputed(request, tokens); });
}

pagefold_error *pagefold_pages_fork(pagefold_pages *pages, uint64_t parent, uint64_t child,
                                    int32_t *row) {
  return onManager(pages, [&](KvCacheManager &manager) -> Status {
    if (!row)
      return nullArgument("row");
    auto forked = manager.fork(parent, child);
    if (!forked)
      return tl::unexpected(forked.error());
    *row = *forked;
    return {};
  });
}

pagefold_error *pagefold_pages_finish(pagefold_pages *pages, uint64_t request) {
  return onManager(pages, [&](KvCacheManager &manager) { return manager.finish(request); });
}

pagefold_error *pagefold_pages_abort(pagefold_pages *pages, uint64_t request) {
  return onManager(pages, [&](KvCacheManager &manager) { return manager.abort(request); });
}

/// Room for `count` triples that the caller frees; null where there are none.
static int32_t *newTriples(size_t count) {
  if (count == 0)
    return nullptr;
  auto *array = static_cast<int32_t *>(std::malloc(count * 3 * sizeof(int32_t)));
  if (!array)
    throw std::bad_alloc(); // guarded() makes it an error
  return array;
}

pagefold_error *pagefold_pages_drain(pagefold_pages *pages, int32_t **copies, size_t *num_copies,
                                     int32_t **updates, size_t *num_updates) {
  return onManager(pages, [&](KvCacheManager &manager) -> Status {
    if (!copies || !num_copies || !updates || !num_updates)
      return nullArgument("places for the changes");
    StepChanges changes = manager.drainChanges();
    *num_copies = changes.copies.size();
    *num_updates = changes.tableUpdates.size();
    int32_t *to = *copies = newTriples(*num_copies);
    for (const PageCopy &copy : changes.copies)
      for (int32_t value : {copy.source, copy.destination, copy.tokens})
        *to++ = value;
    to = *updates = newTriples(*num_updates);
    for (const TableUpdate &update : changes.tableUpdates)
      for (int32_t value : {update.row, update.column, update.value})
        *to++ = value;
    return {};
  });
}

void pagefold_pages_free_array(int32_t *array) { std::free(array); }

pagefold_error *pagefold_pages_table(const pagefold_pages *pages, int32_t *table, size_t count) {
  return onManager(pages, [&](KvCacheManager &manager) -> Status {
    std::vector<PageId> snapshot = manager.tableSnapshot();
    if (!table || count != snapshot.size())
      return fail(ErrorCode::InvalidArgument,
                  "expects room for " + std::to_string(snapshot.size()) + " table entries, got " +
                      (table ? std::to_string(count) : "null"));
    std::copy(snapshot.begin(), snapshot.end(), table);
    return {};
  });
}

int32_t pagefold_pages_available(const pagefold_pages *pages) {
  return pages ? pages->manager->availablePages() : 0;
}

pagefold_error *pagefold_pages_verify(const pagefold_pages *pages) {
  return onManager(pages, [&](KvCacheManager &manager) { return manager.verifyInvariants(); });
}
