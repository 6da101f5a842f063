//===- Admission.cpp - look up, pin and allocate in one step --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManagerImpl.h"

#include <algorithm>

using namespace pagefold::runtime;
using std::to_string;

//===----------------------------------------------------------------------===//
// What a look-up finds, and why not more
//===----------------------------------------------------------------------===//

KvCacheManager::Impl::AdmissionPlan
KvCacheManager::Impl::planHit(const PrefixKey &key, const PrefixView &view, bool lookUp) const {
  AdmissionPlan plan;
  int32_t pageSize = options.pageSize;
  if (lookUp && view.owner != kNoOwner)
    cache.find(view, plan.found);
  // The last token is always computed: without it there would be no logits to sample from.
  plan.hitTokens = std::min(plan.found.tokens(pageSize), key.size() - 1);
  plan.hitPages = plan.hitTokens / pageSize;
  int32_t partial = plan.hitTokens % pageSize;
  if (partial > 0 && options.minPartialHit > 0 && partial >= options.minPartialHit) {
    bool capped = plan.hitPages < static_cast<int32_t>(plan.found.pages.size());
    plan.copySource = capped ? plan.found.pages[plan.hitPages] : plan.found.partialPage;
  } else {
    plan.hitTokens -= partial;
  }
  plan.match = describe(plan, key, lookUp);
  return plan;
}

PrefixMatch KvCacheManager::Impl::describe(const AdmissionPlan &plan, const PrefixKey &key,
                                           bool lookUp) const {
  PrefixMatch match;
  match.queriedTokens = key.size();
  match.matchedTokens = plan.found.tokens(options.pageSize);
  match.hitTokens = plan.hitTokens;
  match.hitPages = plan.hitPages;
  match.partialTokens = plan.hitTokens % options.pageSize;
  match.reason = lookUp ? explainMiss(plan, key) : MissReason::Disabled;
  if (match.reason == MissReason::Diverged)
    match.divergedAt = match.matchedTokens;
  return match;
}

MissReason KvCacheManager::Impl::explainMiss(const AdmissionPlan &plan,
                                             const PrefixKey &key) const {
  if (plan.hitTokens == key.size() - 1)
    return MissReason::LastToken;
  size_t next = plan.found.pages.size(); // the first page that was not found whole
  const MissMemory &misses = cache.misses();
  if (next < key.pageHashes().size()) {
    const PageHash &hash = key.pageHashes()[next];
    if (misses.isComputing(hash))
      return MissReason::InFlight;
    if (misses.wasEvicted(hash))
      return MissReason::Evicted;
    if (next == 0 && misses.knownForOther(key.contentTag(), key.rootHash()))
      return MissReason::OtherIdentity;
  }
  // Other prompts of the owner that differ from the first token on are no prefix of this one.
  if (plan.found.diverges && plan.found.tokens(options.pageSize) > 0)
    return MissReason::Diverged;
  return next < key.pageHashes().size() ? MissReason::NeverSeen : MissReason::BelowOnePage;
}

PrefixMatch KvCacheManager::Impl::peek(const PrefixKey &key) {
  if (key.pageSize() != options.pageSize || key.hashKind() != options.hash || key.size() == 0)
    return {};
  // Without media the key's own tokens confirm, and nothing need be copied.
  std::vector<TokenId> mediaTokens;
  if (!key.media().empty())
    mediaTokens = media_.confirmingTokens(key, /*grow=*/false);
  PrefixView view{cache.owners().find(key.identityBytes()), key.pageHashes(),
                  mediaTokens.empty() ? key.tokens() : mediaTokens};
  return planHit(key, view, options.prefixCaching).match;
}

//===----------------------------------------------------------------------===//
// Admission
//===----------------------------------------------------------------------===//

Status KvCacheManager::Impl::checkAdmissible(RequestId id, const PrefixKey &key) const {
  if (requests_.contains(id))
    return fail(ErrorCode::InvalidArgument,
                "admit expects a request id that is not live, got " + to_string(id));
  if (key.pageSize() != options.pageSize)
    return fail(ErrorCode::InvalidArgument, "admit expects a key for pages of " +
                                                to_string(options.pageSize) + " tokens, got " +
                                                to_string(key.pageSize()));
  if (key.hashKind() != options.hash)
    return fail(ErrorCode::InvalidArgument,
                "admit expects a key made with the manager's hash kind: pass options().hash to "
                "PrefixKey::create");
  if (key.size() == 0)
    return fail(ErrorCode::InvalidArgument, "admit expects a prompt of at least one token, got 0");
  if (pagesFor(key.size()) > table.columns())
    return fail(ErrorCode::InvalidArgument,
                "admit expects at most " + to_string(table.columns()) +
                    " pages a request, got a prompt of " + to_string(key.size()) + " tokens (" +
                    to_string(pagesFor(key.size())) + " pages): raise maxPagesPerRequest");
  if (!table.hasFreeRow())
    return fail(ErrorCode::OutOfCapacity, "admit needs a free page table row, all " +
                                              to_string(table.rows()) +
                                              " are in use: wait, or raise maxRequests");
  return {};
}

int32_t KvCacheManager::Impl::idleAmongHits(const AdmissionPlan &plan) const {
  auto idle = [&](PageId id) { return cache.page(id).idle(); };
  auto pages = std::span(plan.found.pages).first(plan.hitPages);
  int32_t count = static_cast<int32_t>(std::count_if(pages.begin(), pages.end(), idle));
  return count + (plan.copySource != kNoPage && idle(plan.copySource) ? 1 : 0);
}

/// Decides how many pages are needed and whether they are there once the hits are pinned.
Status KvCacheManager::Impl::planCapacity(AdmissionPlan &plan, const LiveRequest &request,
                                          const AdmitOptions &admit) const {
  auto fits = [&](int32_t &needed, int32_t &available) {
    int32_t size = request.key.size();
    int64_t upTo = admit.newTokens > 0 ? int64_t(plan.hitTokens) + admit.newTokens : size;
    plan.newPages = pagesFor(static_cast<int32_t>(std::min<int64_t>(upTo, size))) - plan.hitPages;
    needed = admit.wholePromptMustFit ? pagesFor(size) - plan.hitPages : plan.newPages;
    needed += admit.watermarkPages;
    available = cache.available() - idleAmongHits(plan);
    return needed <= available;
  };
  int32_t needed = 0, available = 0;
  if (fits(needed, available))
    return {};
  // A copy's source must stay: that may be the very page that is missing. Do without the copy.
  if (plan.copySource != kNoPage && cache.page(plan.copySource).idle()) {
    plan.hitTokens = plan.hitPages * options.pageSize;
    plan.copySource = kNoPage;
    if (fits(needed, available)) {
      plan.match.hitTokens = plan.hitTokens;
      plan.match.partialTokens = 0;
      return {};
    }
  }
  return fail(ErrorCode::OutOfCapacity,
              "admit needs " + to_string(needed) + " pages (watermark included), has " +
                  to_string(available) + " free or idle: wait, preempt, or admit fewer tokens");
}

void KvCacheManager::Impl::takePages(const AdmissionPlan &plan, LiveRequest &request) {
  request.row = table.takeRow();
  uint32_t touch = cache.nextTouch();
  // Pin everything that was found before the first allocation, which may evict.
  for (int32_t i = 0; i < plan.hitPages; ++i) {
    cache.use(plan.found.pages[i], request.retention, touch);
    table.set(request.row, i, plan.found.pages[i]);
  }
  if (plan.copySource != kNoPage)
    cache.use(plan.copySource, request.retention, touch);
  for (int32_t i = 0; i < plan.newPages; ++i)
    table.set(request.row, plan.hitPages + i, cache.allocate(request.owner));
  request.numPages = plan.hitPages + plan.newPages;
  request.cachedPages = plan.hitPages;
  request.computed = plan.hitTokens;
  if (plan.copySource == kNoPage)
    return;
  PageId destination = table.at(request.row, plan.hitPages);
  copies.add(plan.copySource, destination, plan.hitTokens % options.pageSize);
  cache.setTokens(destination, plan.hitTokens % options.pageSize);
  cache.release(plan.copySource, touch); // the copy holds it now
  ++counters.copiesOnHit;
}

Result<Admission> KvCacheManager::Impl::admit(RequestId id, PrefixKey &&key,
                                              const AdmitOptions &admit) {
  if (Status ok = checkAdmissible(id, key); !ok)
    return tl::unexpected(ok.error());
  if (!key.media().empty() && media_.wantsSweep())
    sweepMedia();
  LiveRequest request{.key = std::move(key)};
  if (!request.key.media().empty())
    request.mediaTokens = media_.confirmingTokens(request.key, /*grow=*/true);
  request.owner = cache.owners().acquire(request.key.identityBytes());
  request.retention = admit.retention;
  request.store = admit.store && options.prefixCaching;
  AdmissionPlan plan = planHit(request.key, request.view(), admit.lookUp && options.prefixCaching);
  if (Status ok = planCapacity(plan, request, admit); !ok) {
    cache.owners().release(request.owner);
    key = std::move(request.key);
    ++counters.admissionFailures;
    return tl::unexpected(ok.error());
  }
  takePages(plan, request);
  countLookup(plan.match, request.key, admit.resumed);
  announce(request);
  Admission result{request.row, plan.match};
  requests_.emplace(id, std::move(request));
  return result;
}

void KvCacheManager::Impl::countLookup(const PrefixMatch &match, const PrefixKey &key,
                                       bool resumed) {
  ++counters.admissions;
  if (resumed) {
    counters.resumedQueriedTokens += match.queriedTokens;
    counters.resumedHitTokens += match.hitTokens;
    return;
  }
  ++counters.lookups;
  counters.lookupsWithHit += match.hitTokens > 0;
  counters.queriedTokens += match.queriedTokens;
  counters.hitTokens += match.hitTokens;
  counters.queriedPages += key.size() / options.pageSize;
  counters.hitPages += match.hitPages;
  counters.partialHitTokens += match.partialTokens;
  counters.missedTokens[static_cast<int>(match.reason)] += match.queriedTokens - match.hitTokens;
}

/// Media ids live as long as a page or request uses them.
void KvCacheManager::Impl::sweepMedia() {
  std::vector<bool> used(media_.idLimit());
  auto mark = [&](std::span<const TokenId> tokens) {
    for (TokenId token : tokens)
      if (token < 0)
        used[-token] = true;
  };
  for (PageId id = 0; id < cache.pool().size(); ++id)
    if (cache.page(id).state == PageState::Cached)
      mark(cache.pool().tokens(id));
  for (const auto &[id, request] : requests_)
    mark(request.mediaTokens);
  media_.sweep(used);
}
