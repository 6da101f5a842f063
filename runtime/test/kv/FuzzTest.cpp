//===- FuzzTest.cpp - random operations against the naive model -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random operations on small pools; after each, every invariant is checked, and after each look-up
// and write the model of NaiveModel.h. PAGEFOLD_FUZZ_OPS sets how many (default 1,000,000 in all).
//
//===----------------------------------------------------------------------===//

#include "NaiveModel.h"

#include <algorithm>
#include <cstdlib>
#include <random>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {

struct FuzzCase {
  const char *name;
  KvCacheOptions options;
  int32_t vocabulary = 2;
  int32_t maxPrompt = 40;
  bool tenants = true;
};

class Fuzzer {
public:
  Fuzzer(const FuzzCase &fuzz, uint64_t seed)
      : case_(fuzz), random_(seed), memory_(fuzz.options.numPages, fuzz.options.pageSize) {
    KvCacheOptions options = fuzz.options;
    options.observer = &findable_;
    manager_ = makeManager(options);
    deviceTable_ = manager_->tableSnapshot();
  }

  /// One random operation and all checks; false (with a failure recorded) ends the run.
  bool step() {
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
      admit();
      break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
      compute();
      break;
    case 8:
    case 9:
      generate();
      break;
    case 10:
      fork();
      break;
    case 11:
    case 12:
      end();
      break;
    case 13:
      lookUp();
      break;
    case 14:
      below(8) == 0 ? manager_->clearCache() : void(manager_->evict(below(4)));
      break;
    case 15:
      reserveBatch();
      break;
    }
    afterOperation();
    return !::testing::Test::HasFailure();
  }

  void drain() {
    while (!live_.empty() && !::testing::Test::HasFailure()) {
      EXPECT_OK(manager_->abort(live_.begin()->first));
      live_.erase(live_.begin());
      afterOperation();
    }
    KvCounters counters = manager_->counters();
    EXPECT_EQ(counters.livePages, 0);
    EXPECT_EQ(counters.liveTokens, 0);
    EXPECT_EQ(counters.sharedPages, 0);
    EXPECT_EQ(manager_->availablePages(), case_.options.numPages);
    EXPECT_EQ(counters.freePages + counters.idlePages, counters.totalPages);
    manager_->evict(case_.options.numPages);
    counters = manager_->counters();
    EXPECT_EQ(counters.freePages, counters.totalPages);
    EXPECT_EQ(counters.allocations, counters.frees);
    EXPECT_EQ(counters.cachedPages, 0);
    EXPECT_EQ(findable_.size(), 0u);
  }

  KvCounters counters() const { return manager_->counters(); }

private:
  struct Request {
    std::string identity;
    std::vector<TokenId> tokens;
    int32_t computed = 0;
    int32_t reserved = 0;
    bool mayHit = true;
  };

  int32_t below(int32_t n) { return static_cast<int32_t>(random_() % n); }
  int32_t pageSize() const { return case_.options.pageSize; }

  Request *anyRequest(RequestId &id) {
    if (live_.empty())
      return nullptr;
    auto it = std::next(live_.begin(), below(static_cast<int32_t>(live_.size())));
    id = it->first;
    return &it->second;
  }

  std::vector<TokenId> randomTokens(int32_t count) {
    std::vector<TokenId> tokens(count);
    for (TokenId &token : tokens)
      token = below(case_.vocabulary);
    return tokens;
  }

  PrefixIdentity randomIdentity() {
    if (!case_.tenants)
      return {};
    return {
        .salt = std::string(below(2), 's'), .adapter = std::string(below(2), 's'), .extraKeys = {}};
  }

  int32_t expectedMatch(const std::string &identity, std::span<const TokenId> tokens) {
    if (!case_.options.prefixCaching)
      return 0;
    return findable_.longestHit(memory_, dictionary_.numbers(identity, tokens), pageSize());
  }

  void checkMatch(const PrefixMatch &match, int32_t expected, int32_t size) {
    EXPECT_EQ(match.matchedTokens, expected);
    EXPECT_LE(match.hitTokens, std::min(expected, size - 1)); // at least one token is computed
    EXPECT_GE(match.hitTokens, std::min(expected, size - 1) / pageSize() * pageSize());
    EXPECT_EQ(match.hitTokens, match.hitPages * pageSize() + match.partialTokens);
  }

  void lookUp() {
    std::vector<TokenId> tokens = randomTokens(1 + below(case_.maxPrompt));
    PrefixKey key = makeKey(*manager_, tokens, randomIdentity());
    checkMatch(manager_->peek(key), expectedMatch(std::string(key.identityBytes()), tokens),
               key.size());
  }

  void admit() {
    std::vector<TokenId> tokens = randomTokens(1 + below(case_.maxPrompt));
    PrefixKey key = makeKey(*manager_, tokens, randomIdentity());
    std::string identity(key.identityBytes());
    AdmitOptions options{.newTokens = below(3) == 0 ? 1 + below(case_.maxPrompt) : 0,
                         .wholePromptMustFit = below(4) == 0,
                         .watermarkPages = below(3),
                         .lookUp = below(8) != 0,
                         .store = below(8) != 0,
                         .resumed = below(4) == 0,
                         .retention = {.priority = static_cast<uint8_t>(below(2)),
                                       .ttl = below(4) == 0 ? 1u + below(50) : 0u}};
    int32_t expected = options.lookUp ? expectedMatch(identity, tokens) : 0;
    int32_t size = key.size();
    KvCounters before = manager_->counters();
    auto admission = manager_->admit(++lastId_, std::move(key), options);
    if (!admission) {
      EXPECT_EQ(admission.error().code(), ErrorCode::OutOfCapacity);
      EXPECT_EQ(key.size(), size) << "a refused key stays the caller's";
      expectUnchanged(before);
      return;
    }
    checkMatch(admission->match, expected, size);
    int32_t pages = static_cast<int32_t>(manager_->pages(lastId_)->size());
    live_[lastId_] = {identity, tokens, admission->match.hitTokens, pages * pageSize()};
  }

  void expectUnchanged(const KvCounters &before) {
    KvCounters after = manager_->counters();
    EXPECT_EQ(after.freePages, before.freePages);
    EXPECT_EQ(after.idlePages, before.idlePages);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.evictions, before.evictions);
  }

  /// A chunk of what is known: reserve, do the device's work, write, mark.
  void compute() {
    RequestId id;
    Request *r = anyRequest(id);
    if (!r || r->computed == static_cast<int32_t>(r->tokens.size()))
      return;
    int32_t left = static_cast<int32_t>(r->tokens.size()) - r->computed;
    int32_t upTo = r->computed + 1 + below(left);
    KvCounters before = manager_->counters();
    if (Status ok = manager_->reserve(id, upTo); !ok) {
      EXPECT_EQ(ok.error().code(), ErrorCode::OutOfCapacity);
      expectUnchanged(before);
      below(2) ? endRequest(id) : void();
      return;
    }
    device();
    write(id, *r, upTo);
    if (below(4) == 0)
      afterOperation();
    EXPECT_OK(manager_->markComputed(id, upTo));
    r->computed = upTo;
  }

  void write(RequestId id, const Request &r, int32_t upTo) {
    auto numbers = dictionary_.numbers(r.identity, r.tokens);
    std::vector<PageId> pages = pageIds(*manager_, id);
    for (int32_t i = r.computed; i < upTo; ++i)
      memory_.at(pages[i / pageSize()], i % pageSize()) = numbers[i];
  }

  void generate() {
    RequestId id;
    Request *r = anyRequest(id);
    if (!r || static_cast<int32_t>(r->tokens.size()) >= 2 * case_.maxPrompt)
      return;
    std::vector<TokenId> tokens = randomTokens(1 + below(3));
    EXPECT_OK(manager_->append(id, tokens));
    r->tokens = concat(r->tokens, tokens);
  }

  void fork() {
    RequestId id;
    Request *r = anyRequest(id);
    if (!r)
      return;
    Request child = *r;
    if (auto row = manager_->fork(id, ++lastId_); !row)
      EXPECT_EQ(row.error().code(), ErrorCode::OutOfCapacity);
    else
      live_[lastId_] = child;
  }

  /// Several requests at once: all or nothing, and the count is exact.
  void reserveBatch() {
    std::vector<Reservation> batch;
    for (auto &[id, r] : live_)
      if (below(2) == 0)
        batch.push_back({id, std::min<int32_t>(r.computed + below(12), 2 * case_.maxPrompt)});
    KvCounters before = manager_->counters();
    int32_t available = manager_->availablePages();
    Status ok = manager_->reserve(batch);
    KvCounters after = manager_->counters();
    if (!ok) {
      EXPECT_EQ(ok.error().code(), ErrorCode::OutOfCapacity);
      expectUnchanged(before);
      return;
    }
    EXPECT_LE(after.allocations - before.allocations, available);
  }

  void end() {
    RequestId id;
    if (anyRequest(id))
      endRequest(id);
  }

  void endRequest(RequestId id) {
    switch (below(3)) {
    case 0:
      EXPECT_OK(manager_->abort(id));
      break;
    case 1:
      EXPECT_OK(manager_->finish(id));
      break;
    case 2: {
      auto key = manager_->preempt(id);
      ASSERT_OK(key);
      EXPECT_TRUE(std::ranges::equal(key->tokens(), live_[id].tokens));
    }
    }
    live_.erase(id);
  }

  /// The launch layer's part: copies, then table updates. Freed pages get other bytes, as they
  /// would.
  void device() {
    StepChanges changes = manager_->drainChanges();
    memory_.copy(changes.copies);
    for (PageId page : findable_.takeFreed())
      if (std::none_of(changes.copies.begin(), changes.copies.end(),
                       [&](const PageCopy &copy) { return copy.destination == page; }))
        memory_.wipe(page);
    for (const TableUpdate &update : changes.tableUpdates)
      deviceTable_[update.row * manager_->options().maxPagesPerRequest + update.column] =
          update.value;
    EXPECT_EQ(deviceTable_, manager_->tableSnapshot());
  }

  void afterOperation() {
    manager_->setTime(++time_);
    ASSERT_OK(manager_->verifyInvariants());
    if (below(2) == 0)
      return; // the device may lag behind several operations
    device();
    for (auto &[id, r] : live_)
      checkContent(id, r);
  }

  /// Every request reads back exactly what it would have computed alone.
  void checkContent(RequestId id, const Request &r) {
    auto numbers = dictionary_.numbers(r.identity, r.tokens);
    std::vector<PageId> pages = pageIds(*manager_, id);
    for (int32_t i = 0; i < r.computed; ++i)
      ASSERT_EQ(memory_.at(pages[i / pageSize()], i % pageSize()), numbers[i])
          << "request " << id << ", token " << i << ", page " << pages[i / pageSize()];
  }

  FuzzCase case_;
  std::mt19937_64 random_;
  PrefixDictionary dictionary_;
  Memory memory_;
  FindablePages findable_;
  std::unique_ptr<KvCacheManager> manager_;
  std::map<RequestId, Request> live_;
  RequestId lastId_ = 0;
  uint32_t time_ = 0;
  std::vector<PageId> deviceTable_;
};

const FuzzCase kCases[] = {
    {"Pages4", {.numPages = 24, .pageSize = 4, .maxRequests = 6, .maxPagesPerRequest = 20}},
    {"Pages16", {.numPages = 12, .pageSize = 16, .maxRequests = 6}, 2, 60},
    {"Pages1", {.numPages = 40, .pageSize = 1, .maxRequests = 5, .maxPagesPerRequest = 80}, 2, 16},
    {"Pages3Lfu",
     {.numPages = 20,
      .pageSize = 3,
      .maxRequests = 6,
      .maxPagesPerRequest = 30,
      .eviction = EvictionPolicy::Lfu}},
    {"NoPartialHits",
     {.numPages = 24,
      .pageSize = 4,
      .maxRequests = 6,
      .maxPagesPerRequest = 20,
      .minPartialHit = 0}},
    {"NoCache",
     {.numPages = 24,
      .pageSize = 4,
      .maxRequests = 6,
      .maxPagesPerRequest = 20,
      .prefixCaching = false}},
    {"A48_ConstantHash",
     {.numPages = 24,
      .pageSize = 4,
      .maxRequests = 6,
      .maxPagesPerRequest = 20,
      .hash = PageHashKind::Constant}},
    {"A48_FourBitHash",
     {.numPages = 24,
      .pageSize = 4,
      .maxRequests = 6,
      .maxPagesPerRequest = 20,
      .hash = PageHashKind::FourBits},
     3},
};

void PrintTo(const FuzzCase &fuzz, std::ostream *out) { *out << fuzz.name; }

class Fuzz : public ::testing::TestWithParam<FuzzCase> {};

int64_t operationsPerCase() {
  const char *text = std::getenv("PAGEFOLD_FUZZ_OPS");
  int64_t total = text ? std::atoll(text) : 1'000'000;
  return std::max<int64_t>(1, total / int64_t(std::size(kCases)));
}

} // namespace

// A54: free + idle + live is the total after each operation, and nothing is left after the drain.
TEST_P(Fuzz, A54_RandomOperationsThenDrain) {
  constexpr int64_t kRun = 2000; // a fresh manager now and then reaches other states
  int64_t operations = operationsPerCase();
  KvCounters sum;
  for (int64_t done = 0, seed = 1; done < operations; done += kRun, ++seed) {
    Fuzzer fuzzer(GetParam(), seed);
    for (int64_t i = 0; i < std::min(kRun, operations - done); ++i)
      ASSERT_TRUE(fuzzer.step()) << "seed " << seed << ", operation " << i;
    sum.hitTokens += fuzzer.counters().hitTokens;
    sum.evictions += fuzzer.counters().evictions;
    sum.copiesOnWrite += fuzzer.counters().copiesOnWrite;
    fuzzer.drain();
    ASSERT_FALSE(HasFailure()) << "draining seed " << seed;
  }
  // The run must have reached what it is for.
  if (GetParam().options.pageSize > 1)
    EXPECT_GT(sum.copiesOnWrite, 0);
  if (GetParam().options.prefixCaching) {
    EXPECT_GT(sum.hitTokens, 0);
    EXPECT_GT(sum.evictions, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Kv, Fuzz, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });
