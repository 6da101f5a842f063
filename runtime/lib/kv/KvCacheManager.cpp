//===- KvCacheManager.cpp - pages, prefix cache, page tables --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManagerImpl.h"

#include <algorithm>
#include <cassert>

using namespace pagefold::runtime;
using std::to_string;

const char *pagefold::runtime::missReasonName(MissReason reason) {
  switch (reason) {
  case MissReason::None:
    return "none";
  case MissReason::LastToken:
    return "last-token";
  case MissReason::BelowOnePage:
    return "below-one-page";
  case MissReason::Diverged:
    return "diverged";
  case MissReason::Evicted:
    return "evicted";
  case MissReason::OtherIdentity:
    return "other-identity";
  case MissReason::InFlight:
    return "in-flight";
  case MissReason::NeverSeen:
    return "never-seen";
  case MissReason::Disabled:
    return "disabled";
  }
  return "unknown";
}

KvCacheManager::Impl::Impl(const KvCacheOptions &options)
    : options(options), cache(options, counters),
      table(options.maxRequests, options.maxPagesPerRequest), copies(cache) {}

int32_t KvCacheManager::Impl::pagesFor(int32_t tokens) const {
  return static_cast<int32_t>((int64_t(tokens) + options.pageSize - 1) / options.pageSize);
}

static Error noRequest(RequestId id) {
  return Error(ErrorCode::InvalidArgument,
               "expects the id of a live request, got " + to_string(id) +
                   ": it was never admitted, or has finished, been aborted or preempted");
}

Result<LiveRequest *> KvCacheManager::Impl::find(RequestId id) {
  auto found = requests_.find(id);
  if (found == requests_.end())
    return tl::unexpected(noRequest(id));
  return &found->second;
}

Result<const LiveRequest *> KvCacheManager::Impl::find(RequestId id) const {
  auto found = requests_.find(id);
  if (found == requests_.end())
    return tl::unexpected(noRequest(id));
  return &found->second;
}

//===----------------------------------------------------------------------===//
// Growing
//===----------------------------------------------------------------------===//

/// The partial last page, if writing up to `tokens` would touch it while others use it.
PageId KvCacheManager::Impl::sharedTail(const LiveRequest &request, int32_t tokens) const {
  if (tokens <= request.computed || request.computed % options.pageSize == 0)
    return kNoPage;
  PageId tail = table.at(request.row, request.computed / options.pageSize);
  // Copies yet to be done read the page before anything is written: they need no page of their own.
  return cache.page(tail).users() - copies.usersOf(tail) > 1 ? tail : kNoPage;
}

/// The pages a batch needs: sum(ceil(new / page) - ceil(old / page)), and one for each shared tail.
Result<int32_t> KvCacheManager::Impl::countReservation(std::span<const Reservation> batch) const {
  int64_t needed = 0;
  // The last of several writers of one tail finds itself alone and writes in place.
  std::unordered_map<PageId, int32_t> otherUsers;
  for (const Reservation &wish : batch) {
    auto request = find(wish.request);
    if (!request)
      return tl::unexpected(request.error());
    const LiveRequest &r = **request;
    if (wish.tokens < 0 || pagesFor(wish.tokens) > table.columns())
      return fail(ErrorCode::InvalidArgument,
                  "reserve expects 0 to " + to_string(int64_t(table.columns()) * options.pageSize) +
                      " tokens for request " + to_string(wish.request) + ", got " +
                      to_string(wish.tokens));
    needed += std::max(0, pagesFor(wish.tokens) - r.numPages);
    if (PageId tail = sharedTail(r, wish.tokens); tail != kNoPage) {
      int32_t users = cache.page(tail).users() - copies.usersOf(tail);
      int32_t &others = otherUsers.try_emplace(tail, users - 1).first->second;
      if (others > 0) {
        --others;
        ++needed;
      }
    }
  }
  if (needed > cache.available())
    return fail(ErrorCode::OutOfCapacity, "reserve needs " + to_string(needed) + " pages, has " +
                                              to_string(cache.available()) +
                                              " free or idle: preempt or finish a request");
  return static_cast<int32_t>(needed);
}

void KvCacheManager::Impl::applyReservation(LiveRequest &request, int32_t tokens) {
  if (PageId tail = sharedTail(request, tokens); tail != kNoPage) {
    int32_t column = request.computed / options.pageSize;
    PageId copy = cache.allocate(request.owner);
    copies.add(tail, copy, request.computed % options.pageSize);
    cache.setTokens(copy, request.computed % options.pageSize);
    cache.release(tail, cache.nextTouch());
    table.set(request.row, column, copy);
    ++counters.copiesOnWrite;
  }
  for (; request.numPages < pagesFor(tokens); ++request.numPages)
    table.set(request.row, request.numPages, cache.allocate(request.owner));
}

Status KvCacheManager::Impl::reserve(std::span<const Reservation> batch) {
  auto needed = countReservation(batch);
  if (!needed) {
    ++counters.reserveFailures;
    return tl::unexpected(needed.error());
  }
  for (const Reservation &wish : batch)
    applyReservation(**find(wish.request), wish.tokens);
  return {};
}

Status KvCacheManager::Impl::append(RequestId id, std::span<const TokenId> tokens) {
  auto request = find(id);
  if (!request)
    return tl::unexpected(request.error());
  LiveRequest &r = **request;
  if (Status ok = r.key.append(tokens); !ok)
    return ok;
  if (!r.mediaTokens.empty())
    r.mediaTokens.insert(r.mediaTokens.end(), tokens.begin(), tokens.end());
  return {};
}

//===----------------------------------------------------------------------===//
// Computed tokens become findable
//===----------------------------------------------------------------------===//

Status KvCacheManager::Impl::checkComputed(const LiveRequest &r, int32_t tokens) const {
  int32_t limit = std::min<int64_t>(r.key.size(), int64_t(r.numPages) * options.pageSize);
  if (tokens < r.computed || tokens > limit)
    return fail(ErrorCode::InvalidArgument,
                "markComputed expects " + to_string(r.computed) + " (computed already) to " +
                    to_string(limit) + " (known and reserved) tokens, got " + to_string(tokens));
  if (tokens == r.computed || r.computed % options.pageSize == 0)
    return {};
  PageId tail = table.at(r.row, r.computed / options.pageSize);
  if (copies.isDestination(tail))
    return fail(ErrorCode::InvalidArgument,
                "markComputed expects the copies of drainChanges() to be done first: page " +
                    to_string(tail) + " is still to be filled");
  if (sharedTail(r, tokens) != kNoPage)
    return fail(ErrorCode::InvalidArgument,
                "markComputed expects reserve() before tokens are written: page " +
                    to_string(tail) + " is shared");
  return {};
}

Status KvCacheManager::Impl::markComputed(RequestId id, int32_t tokens) {
  auto request = find(id);
  if (!request)
    return tl::unexpected(request.error());
  LiveRequest &r = **request;
  if (Status ok = checkComputed(r, tokens); !ok)
    return ok;
  int32_t pageSize = options.pageSize;
  for (int32_t i = r.computed / pageSize; i < pagesFor(tokens) && tokens > r.computed; ++i)
    cache.setTokens(table.at(r.row, i), std::min(pageSize, tokens - i * pageSize));
  counters.computedTokens += tokens - r.computed;
  r.computed = tokens;
  if (r.store)
    while (r.cachedPages < r.computed / pageSize)
      storePage(r, r.cachedPages);
  announce(r);
  return {};
}

/// Makes full page `index`, the first that is not findable, findable; or moves to its equal.
void KvCacheManager::Impl::storePage(LiveRequest &r, int32_t index) {
  PageId page = table.at(r.row, index);
  PageId parent = index == 0 ? kNoPage : table.at(r.row, index - 1);
  PrefixView view = r.view();
  ++r.cachedPages;
  PageId equal = cache.findPage(view, index, parent);
  if (equal == page)
    return; // a fork's other half stored it
  if (equal != kNoPage) {
    // Both hold the same bytes; going on with the findable one keeps "a live page's parent is
    // live".
    uint32_t touch = cache.nextTouch();
    cache.use(equal, r.retention, touch);
    table.set(r.row, index, equal);
    cache.release(page, touch);
    ++counters.duplicatesMerged;
    return;
  }
  int32_t pageSize = options.pageSize;
  auto slice = [&](std::span<const TokenId> t) {
    return t.subspan(size_t(index) * pageSize, pageSize);
  };
  cache.insert(page,
               {.hash = r.key.pageHashes()[index],
                .parent = parent,
                .parentHash = index == 0 ? nullptr : &r.key.pageHashes()[index - 1],
                .tokens = slice(r.confirmingTokens()),
                .rawTokens = slice(r.key.tokens())},
               r.retention);
  if (index == 0)
    cache.misses().noteFirstPage(r.key.contentTag(), r.key.rootHash());
}

/// Makes a partial last page findable when nobody will write it any more.
void KvCacheManager::Impl::storeTail(LiveRequest &r) {
  int32_t pageSize = options.pageSize, index = r.computed / pageSize, count = r.computed % pageSize;
  if (!r.store || count == 0 || options.minPartialHit == 0 || r.cachedPages != index)
    return;
  PageId page = table.at(r.row, index);
  PageId parent = index == 0 ? kNoPage : table.at(r.row, index - 1);
  auto slice = [&](std::span<const TokenId> t) {
    return t.subspan(size_t(index) * pageSize, count);
  };
  bool shared = cache.page(page).users() > 1 || copies.isDestination(page);
  if (shared || cache.covers(r.owner, parent, slice(r.confirmingTokens())))
    return;
  cache.insert(page,
               {.hash = r.key.hashOf(index, count),
                .parent = parent,
                .parentHash = index == 0 ? nullptr : &r.key.pageHashes()[index - 1],
                .tokens = slice(r.confirmingTokens()),
                .rawTokens = slice(r.key.tokens())},
               r.retention);
}

/// Tells the explainer of misses which page this request computes next.
void KvCacheManager::Impl::announce(LiveRequest &r) {
  std::optional<PageHash> next;
  size_t index = r.computed / options.pageSize;
  if (r.store && index < r.key.pageHashes().size())
    next = r.key.pageHashes()[index];
  if (next == r.computing)
    return;
  if (r.computing)
    cache.misses().stopComputing(*r.computing);
  if (next)
    cache.misses().startComputing(*next);
  r.computing = next;
}

//===----------------------------------------------------------------------===//
// Forking and ending
//===----------------------------------------------------------------------===//

Result<int32_t> KvCacheManager::Impl::fork(RequestId parentId, RequestId childId) {
  auto parent = find(parentId);
  if (!parent)
    return tl::unexpected(parent.error());
  if (requests_.contains(childId))
    return fail(ErrorCode::InvalidArgument,
                "fork expects a child id that is not live, got " + to_string(childId));
  if (!table.hasFreeRow())
    return fail(ErrorCode::OutOfCapacity,
                "fork needs a free page table row, all " + to_string(table.rows()) + " are in use");
  LiveRequest child = **parent;
  cache.owners().hold(child.owner);
  child.row = table.takeRow();
  child.numPages = pagesFor(child.computed); // what is reserved but empty is not shared
  child.computing.reset();
  for (int32_t i = 0; i < child.numPages; ++i) {
    PageId page = table.at((*parent)->row, i);
    cache.addUser(page);
    table.set(child.row, i, page);
  }
  announce(child);
  ++counters.forks;
  int32_t row = child.row;
  requests_.emplace(childId, std::move(child));
  return row;
}

void KvCacheManager::Impl::releasePages(LiveRequest &r) {
  // One touch for the whole prefix, the last page first.
  uint32_t touch = cache.nextTouch();
  for (int32_t i = r.numPages - 1; i >= 0; --i) {
    PageId page = table.at(r.row, i);
    if (cache.page(page).users() == 1 && !copies.empty())
      copies.dropInto(page);
    cache.release(page, touch);
    table.set(r.row, i, kNoPage);
  }
  table.giveRow(r.row);
}

void KvCacheManager::Impl::removeRequest(RequestId id) {
  LiveRequest &request = requests_.at(id);
  if (request.computing)
    cache.misses().stopComputing(*request.computing);
  releasePages(request);
  cache.owners().release(request.owner);
  requests_.erase(id);
}

Status KvCacheManager::Impl::finish(RequestId id) {
  auto request = find(id);
  if (!request)
    return tl::unexpected(request.error());
  storeTail(**request);
  removeRequest(id);
  ++counters.finished;
  return {};
}

Status KvCacheManager::Impl::abort(RequestId id) {
  if (auto request = find(id); !request)
    return tl::unexpected(request.error());
  removeRequest(id);
  ++counters.aborted;
  return {};
}

Result<PrefixKey> KvCacheManager::Impl::preempt(RequestId id) {
  auto request = find(id);
  if (!request)
    return tl::unexpected(request.error());
  storeTail(**request);
  PrefixKey key = std::move((*request)->key);
  removeRequest(id);
  ++counters.preempted;
  return key;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void KvCacheManager::Impl::clearCache() {
  cache.clear();
  // What live requests hold was made by what the caller wants forgotten: it stays unfindable.
  for (auto &[id, request] : requests_) {
    request.store = false;
    request.cachedPages = 0;
    announce(request);
  }
}

StepChanges KvCacheManager::Impl::drainChanges() {
  StepChanges changes;
  changes.copies = copies.drain();
  table.drainInto(changes.tableUpdates);
  return changes;
}

Result<std::vector<PageHandle>> KvCacheManager::Impl::pages(RequestId id) const {
  auto request = find(id);
  if (!request)
    return tl::unexpected(request.error());
  std::vector<PageHandle> handles;
  for (int32_t i = 0; i < (*request)->numPages; ++i) {
    PageId page = table.at((*request)->row, i);
    handles.push_back({page, cache.page(page).owner});
  }
  return handles;
}

KvCounters KvCacheManager::Impl::snapshot() const {
  KvCounters result = counters;
  const PagePool &pool = cache.pool();
  result.totalPages = pool.size();
  result.freePages = pool.numFree();
  result.idlePages = pool.numIdle();
  result.livePages = pool.numLive();
  result.sharedPages = pool.numShared();
  result.liveTokens = pool.liveTokens();
  result.liveRequests = static_cast<int64_t>(requests_.size());
  return result;
}

//===----------------------------------------------------------------------===//
// The public face: one lock around each call
//===----------------------------------------------------------------------===//

static Status checkOptions(const KvCacheOptions &o) {
  auto expects = [](const char *what, int64_t got) {
    return fail(ErrorCode::InvalidArgument,
                std::string("KvCacheManager expects ") + what + ", got " + to_string(got));
  };
  if (o.numPages < 1 || o.numPages > (1 << 30))
    return expects("numPages of 1 to 2^30", o.numPages);
  if (o.pageSize < 1 || o.pageSize > 1024)
    return expects("a pageSize of 1 to 1024 tokens", o.pageSize);
  if (o.maxRequests < 1)
    return expects("maxRequests of 1 or more", o.maxRequests);
  if (o.maxPagesPerRequest < 0)
    return expects("maxPagesPerRequest of 0 or more", o.maxPagesPerRequest);
  if (o.minPartialHit < 0)
    return expects("minPartialHit of 0 or more", o.minPartialHit);
  if (o.missMemory < -1)
    return expects("missMemory of -1 or more", o.missMemory);
  return {};
}

Result<std::unique_ptr<KvCacheManager>> KvCacheManager::create(const KvCacheOptions &options) {
  if (Status ok = checkOptions(options); !ok)
    return tl::unexpected(ok.error());
  KvCacheOptions complete = options;
  if (complete.maxPagesPerRequest == 0)
    complete.maxPagesPerRequest = complete.numPages;
  return std::unique_ptr<KvCacheManager>(new KvCacheManager(std::make_unique<Impl>(complete)));
}

KvCacheManager::KvCacheManager(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KvCacheManager::~KvCacheManager() = default;

const KvCacheOptions &KvCacheManager::options() const { return impl_->options; }

Result<Admission> KvCacheManager::admit(RequestId request, PrefixKey &&key,
                                        const AdmitOptions &options) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->admit(request, std::move(key), options);
}

Status KvCacheManager::reserve(RequestId request, int32_t tokens) {
  Reservation wish{request, tokens};
  return reserve(std::span(&wish, 1));
}

Status KvCacheManager::reserve(std::span<const Reservation> batch) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->reserve(batch);
}

Status KvCacheManager::append(RequestId request, std::span<const TokenId> tokens) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->append(request, tokens);
}

Status KvCacheManager::markComputed(RequestId request, int32_t tokens) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->markComputed(request, tokens);
}

Result<int32_t> KvCacheManager::fork(RequestId parent, RequestId child) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->fork(parent, child);
}

Status KvCacheManager::finish(RequestId request) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->finish(request);
}

Status KvCacheManager::abort(RequestId request) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->abort(request);
}

Result<PrefixKey> KvCacheManager::preempt(RequestId request) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->preempt(request);
}

PrefixMatch KvCacheManager::peek(const PrefixKey &key) const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->peek(key);
}

int32_t KvCacheManager::evict(int32_t pages) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->cache.evict(pages);
}

void KvCacheManager::clearCache() {
  std::scoped_lock lock(impl_->mutex);
  impl_->clearCache();
}

void KvCacheManager::setTime(uint32_t ticks) {
  std::scoped_lock lock(impl_->mutex);
  impl_->cache.setTime(ticks);
}

StepChanges KvCacheManager::drainChanges() {
  std::scoped_lock lock(impl_->mutex);
  return impl_->drainChanges();
}

Result<std::vector<PageHandle>> KvCacheManager::pages(RequestId request) const {
  std::scoped_lock lock(impl_->mutex);
  return std::as_const(*impl_).pages(request);
}

std::vector<PageId> KvCacheManager::tableSnapshot() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->table.entries();
}

int32_t KvCacheManager::availablePages() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->cache.available();
}

Result<int32_t> KvCacheManager::computedTokens(RequestId request) const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->find(request).map([](const LiveRequest *r) { return r->computed; });
}

Result<int32_t> KvCacheManager::knownTokens(RequestId request) const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->find(request).map([](const LiveRequest *r) { return r->key.size(); });
}

KvCounters KvCacheManager::counters() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->snapshot();
}

Status KvCacheManager::verifyInvariants() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->verifyInvariants();
}
