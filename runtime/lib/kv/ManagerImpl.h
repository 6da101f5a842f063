//===- ManagerImpl.h - inside the page manager ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_MANAGERIMPL_H
#define PAGEFOLD_RUNTIME_LIB_KV_MANAGERIMPL_H

#include "MediaTable.h"
#include "PageCache.h"
#include "PageTable.h"
#include "PendingCopies.h"
#include "pagefold/runtime/KvCacheManager.h"

#include <mutex>
#include <optional>
#include <unordered_map>

namespace pagefold::runtime {

/// A live request. Its pages stand in its row of the page table.
struct LiveRequest {
  PrefixKey key;
  std::vector<TokenId> mediaTokens = {}; ///< with media: key's tokens with media ids in them
  OwnerId owner = kNoOwner;
  int32_t row = 0;
  int32_t numPages = 0;
  int32_t computed = 0;    ///< tokens written
  int32_t cachedPages = 0; ///< leading pages that are findable
  bool store = true;
  Retention retention = {};
  std::optional<PageHash> computing = {}; ///< announced to MissMemory

  std::span<const TokenId> confirmingTokens() const {
    return mediaTokens.empty() ? key.tokens() : std::span<const TokenId>(mediaTokens);
  }
  PrefixView view() const { return {owner, key.pageHashes(), confirmingTokens()}; }
};

/// Everything behind KvCacheManager, without its lock.
class KvCacheManager::Impl {
public:
  explicit Impl(const KvCacheOptions &options);

  Result<Admission> admit(RequestId id, PrefixKey &&key, const AdmitOptions &options);
  Status reserve(std::span<const Reservation> batch);
  Status append(RequestId id, std::span<const TokenId> tokens);
  Status markComputed(RequestId id, int32_t tokens);
  Result<int32_t> fork(RequestId parent, RequestId child);
  Status finish(RequestId id);
  Status abort(RequestId id);
  Result<PrefixKey> preempt(RequestId id);
  PrefixMatch peek(const PrefixKey &key);
  void clearCache();
  StepChanges drainChanges();
  Result<std::vector<PageHandle>> pages(RequestId id) const;
  KvCounters snapshot() const;
  Status verifyInvariants() const;

  Result<LiveRequest *> find(RequestId id);
  Result<const LiveRequest *> find(RequestId id) const;

  mutable std::mutex mutex;
  KvCacheOptions options;
  KvCounters counters; ///< the growing ones; levels are filled in by snapshot()
  PageCache cache;
  PageTable table;
  PendingCopies copies;

private:
  /// What an admission will do, worked out before anything is changed.
  struct AdmissionPlan {
    PrefixFound found;
    int32_t hitTokens = 0;
    int32_t hitPages = 0;
    PageId copySource = kNoPage; ///< with hitTokens inside a page
    int32_t newPages = 0;
    PrefixMatch match;
  };

  // Admission.cpp
  Status checkAdmissible(RequestId id, const PrefixKey &key) const;
  AdmissionPlan planHit(const PrefixKey &key, const PrefixView &view, bool lookUp) const;
  Status planCapacity(AdmissionPlan &plan, const LiveRequest &request,
                      const AdmitOptions &options) const;
  int32_t idleAmongHits(const AdmissionPlan &plan) const;
  void takePages(const AdmissionPlan &plan, LiveRequest &request);
  void countLookup(const PrefixMatch &match, const PrefixKey &key, bool resumed);
  PrefixMatch describe(const AdmissionPlan &plan, const PrefixKey &key, bool lookUp) const;
  MissReason explainMiss(const AdmissionPlan &plan, const PrefixKey &key) const;
  void sweepMedia();

  // KvCacheManager.cpp
  Result<int32_t> countReservation(std::span<const Reservation> batch) const;
  PageId sharedTail(const LiveRequest &request, int32_t tokens) const;
  void applyReservation(LiveRequest &request, int32_t tokens);
  Status checkComputed(const LiveRequest &request, int32_t tokens) const;
  void storePage(LiveRequest &request, int32_t index);
  void storeTail(LiveRequest &request);
  void announce(LiveRequest &request);
  void releasePages(LiveRequest &request);
  void removeRequest(RequestId id);
  int32_t pagesFor(int32_t tokens) const;

  // Invariants.cpp
  Status verifyRequest(RequestId id, const LiveRequest &request, std::vector<int32_t> &users) const;
  Status verifyCachedPrefix(RequestId id, const LiveRequest &request) const;
  Status verifyTable() const;
  Status verifyUsers(const std::vector<int32_t> &users) const;

  MediaTable media_;
  std::unordered_map<RequestId, LiveRequest> requests_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_MANAGERIMPL_H
