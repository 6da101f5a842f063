//===- KvCacheManager.h - pages, prefix cache, page tables ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manager decides which page of the KV cache holds which tokens of which request. It owns page
// *ids*; the caller owns the memory, does the copies and writes the K and V.
//
// The life of a request:
//
//   PrefixKey key = ...;                              // tokens, identity, hashes
//   auto in = manager.admit(id, std::move(key), {.newTokens = 512}); // the hit, pages for a chunk
//   StepChanges todo = manager.drainChanges();        // page copies and table entries, to the
//   device
//   ... launch: compute tokens [hit, hit + 512), hit = in->match.hitTokens ...
//   manager.markComputed(id, hit + 512);              // full pages become findable
//   manager.append(id, sampled);                      // and so on, one token a step:
//   manager.reserve(id, hit + 513);
//   manager.finish(id);                               // pages stay findable until evicted
//
// Capacity is checked before anything changes: a call that fails leaves everything as it was.
//
// A page is *free*, *idle* (findable, no user) or *live* (has users). Only idle pages are evicted,
// and of them only leaves: whoever finds a page finds all pages before it. A live findable page has
// only live pages before it.
//
// Threads: every member may be called from any thread; each call is one atomic step (one internal
// mutex), so a look-up inside admit() pins what it finds before another call can take it. Calls for
// *one request* are the caller's to order. Building PrefixKeys takes no lock. create() and the
// destructor are single-threaded.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_KVCACHEMANAGER_H
#define PAGEFOLD_RUNTIME_KVCACHEMANAGER_H

#include "pagefold/runtime/CacheObserver.h"
#include "pagefold/runtime/Error.h"
#include "pagefold/runtime/KvCounters.h"
#include "pagefold/runtime/PageTypes.h"
#include "pagefold/runtime/PrefixKey.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pagefold::runtime {

/// Which idle leaf goes first. Ties go to the page touched longest ago.
enum class EvictionPolicy : uint8_t {
  Lru, ///< the lowest priority, then the least recently touched
  Lfu, ///< the lowest priority, then the least often touched: for simulation
};

struct KvCacheOptions {
  int32_t numPages = 0;           ///< the pool, 1 or more
  int32_t pageSize = 16;          ///< tokens a page, 1..1024
  int32_t maxRequests = 1024;     ///< rows of the page table
  int32_t maxPagesPerRequest = 0; ///< columns; 0 means numPages
  bool prefixCaching = true;
  EvictionPolicy eviction = EvictionPolicy::Lru;
  PageHashKind hash = PageHashKind::Blake2b;
  /// A hit inside a page is taken (a copy) from this many tokens on; 0 turns partial hits off.
  int32_t minPartialHit = 1;
  /// How many evicted pages and foreign first pages are remembered to tell why a look-up missed;
  /// 0 means one for each page of the pool, -1 none. 16 bytes each; it changes no decision.
  int32_t missMemory = 0;
  CacheObserver *observer = nullptr; ///< not owned; must outlive the manager
};

/// How long a prefix should stay. The pages of a prefix keep the most that any user asked for.
struct Retention {
  uint8_t priority = 0; ///< higher stays longer, whatever its last use
  uint32_t ttl = 0;     ///< ticks of setTime() it may be idle, then it is evicted; 0: no end
};

struct AdmitOptions {
  /// Tokens beyond the hit that need slots now (a first chunk). 0, or more than there are: all.
  int32_t newTokens = 0;
  /// Fail also if the pages of *all* the key's tokens are not available (they are not taken).
  bool wholePromptMustFit = false;
  /// Pages that must stay available (free or idle) after the admission.
  int32_t watermarkPages = 0;
  bool lookUp = true;   ///< take hits from the prefix cache
  bool store = true;    ///< let this request's pages become findable
  bool resumed = false; ///< counted apart: not a first admission
  Retention retention = {};
};

/// What a look-up found.
struct PrefixMatch {
  int32_t queriedTokens = 0;            ///< the prompt
  int32_t matchedTokens = 0;            ///< the longest cached prefix, before any cap
  int32_t hitTokens = 0;                ///< reused: at most prompt - 1; whole pages + partialTokens
  int32_t hitPages = 0;                 ///< whole pages shared
  int32_t partialTokens = 0;            ///< tokens taken by copying part of a page
  MissReason reason = MissReason::None; ///< why hitTokens is not more
  int32_t divergedAt = -1; ///< with Diverged: the first token that differs from what is cached
};

struct Admission {
  int32_t row = 0; ///< the page table row, until the request ends
  PrefixMatch match;
};

/// Make [0, tokens) of `request` writable, beyond what it has computed.
struct Reservation {
  RequestId request = 0;
  int32_t tokens = 0;
};

class KvCacheManager {
public:
  /// Fails with InvalidArgument, naming the option, on options out of range.
  static Result<std::unique_ptr<KvCacheManager>> create(const KvCacheOptions &options);
  ~KvCacheManager();
  KvCacheManager(const KvCacheManager &) = delete;
  KvCacheManager &operator=(const KvCacheManager &) = delete;

  const KvCacheOptions &options() const;

  // ---- Requests. OutOfCapacity: not enough pages (or rows) now; nothing was changed. ----

  /// Looks up, pins what it finds and allocates the rest, in one step. `key` is moved from on
  /// success only, so that a caller may try again.
  Result<Admission> admit(RequestId request, PrefixKey &&key, const AdmitOptions &options = {});

  /// Pages for [0, tokens); replaces shared pages that would be written by copies.
  Status reserve(RequestId request, int32_t tokens);
  /// All or nothing for a whole batch (each request at most once).
  Status reserve(std::span<const Reservation> batch);

  /// Appends generated tokens to what the request is known to hold (takes no pages).
  Status append(RequestId request, std::span<const TokenId> tokens);

  /// Says that K and V of [0, tokens) are written; pages so filled become findable. Where an equal
  /// page is findable already, the request moves to it and gives its own back.
  Status markComputed(RequestId request, int32_t tokens);

  /// A child with the same tokens, sharing the pages computed so far; nothing is copied until one
  /// of them writes into the last, partial page. Returns the child's row.
  Result<int32_t> fork(RequestId parent, RequestId child);

  /// The request is done: its pages, and its partial tail, stay findable until evicted.
  Status finish(RequestId request);
  /// Gives up: everything it took is returned; what it had filled stays findable.
  Status abort(RequestId request);
  /// Takes all pages away and returns the key to admit it again later (resumed = true).
  Result<PrefixKey> preempt(RequestId request);

  // ---- The prefix cache ----

  /// What admit() would find now. Pins, touches and counts nothing. Nothing at all for a key made
  /// for another page size or hash kind.
  PrefixMatch peek(const PrefixKey &key) const;
  /// Evicts up to `pages` idle pages, the policy's choice first; returns how many it did.
  int32_t evict(int32_t pages);
  /// Forgets every findable page: idle ones become free, live ones unfindable.
  void clearCache();
  /// The time for Retention::ttl: never goes back. Pages idle for their time or longer are evicted.
  void setTime(uint32_t ticks);

  // ---- The device's side ----

  /// The copies and page table changes since the last drain; ends the protection of copy sources,
  /// so that the caller must put them on its stream before anything of a later step.
  StepChanges drainChanges();
  /// The request's row as the host sees it: its pages, without the padding.
  Result<std::vector<PageHandle>> pages(RequestId request) const;
  /// The whole table [maxRequests, maxPagesPerRequest], padded with kNoPage: for a first upload.
  std::vector<PageId> tableSnapshot() const;

  // ---- Questions ----

  int32_t availablePages() const; ///< free + idle: what allocations can get
  Result<int32_t> computedTokens(RequestId request) const;
  Result<int32_t> knownTokens(RequestId request) const;
  /// One consistent snapshot: total = free + idle + live.
  KvCounters counters() const;
  /// Checks every invariant of docs/runtime/page-manager.md; Internal, with the first one broken.
  /// O(pages + table rows in use).
  Status verifyInvariants() const;

private:
  class Impl;
  explicit KvCacheManager(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_KVCACHEMANAGER_H
