//===- KvBenchmark.cpp - what the page manager costs ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of docs/runtime/page-manager.md. Pools of 100,000 pages of 16 tokens throughout.
//
//===----------------------------------------------------------------------===//

#include "PageCache.h"
#include "pagefold/runtime/Scheduler.h"

#include <benchmark/benchmark.h>
#include <numeric>
#include <random>

using namespace pagefold::runtime;

namespace {

constexpr int32_t kPages = 100'000, kPageSize = 16, kPrompt = 32'768;

std::vector<TokenId> randomTokens(int32_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId &token : tokens)
    token = static_cast<TokenId>(random() % 128'000);
  return tokens;
}

PrefixKey makeKey(std::span<const TokenId> tokens) {
  return *PrefixKey::create({.tokens = tokens}, kPageSize);
}

std::unique_ptr<KvCacheManager> makeManager(int32_t pages = kPages) {
  return std::move(*KvCacheManager::create(
      {.numPages = pages, .pageSize = kPageSize, .maxRequests = 256, .maxPagesPerRequest = 8192}));
}

/// A pool full of findable pages: 48 prompts of 32k tokens in interleaved pages, as chunks of many
/// requests leave them.
std::unique_ptr<KvCacheManager> makeFullCache() {
  auto manager = makeManager();
  constexpr int32_t kPrompts = 48, kChunk = 512;
  for (int32_t i = 0; i < kPrompts; ++i)
    (void)manager->admit(i, makeKey(randomTokens(kPrompt, i)), {.newTokens = kChunk});
  for (int32_t upTo = kChunk; upTo <= kPrompt; upTo += kChunk)
    for (int32_t i = 0; i < kPrompts; ++i) {
      (void)manager->reserve(i, upTo);
      (void)manager->markComputed(i, upTo);
    }
  for (int32_t i = 0; i < kPrompts; ++i)
    (void)manager->finish(i);
  manager->drainChanges();
  return manager;
}

void allocateAndFreePage(benchmark::State &state) {
  KvCounters counters;
  PageCache cache({.numPages = kPages, .pageSize = kPageSize}, counters);
  OwnerId owner = cache.owners().acquire("benchmark");
  for (auto _ : state) {
    PageId page = cache.allocate(owner);
    benchmark::DoNotOptimize(page);
    cache.release(page, 1);
  }
}
BENCHMARK(allocateAndFreePage);

/// The same through the locked interface: a request grows by a page at a time, then ends. Per page.
void growAndFreeRequest(benchmark::State &state) {
  auto manager = makeManager();
  std::vector<TokenId> tokens = randomTokens(1, 1);
  constexpr int32_t kGrow = 1024;
  for (auto _ : state) {
    (void)manager->admit(1, makeKey(tokens));
    for (int32_t pages = 2; pages <= kGrow; ++pages)
      (void)manager->reserve(1, pages * kPageSize);
    (void)manager->abort(1);
    state.PauseTiming();
    manager->drainChanges();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kGrow);
}
BENCHMARK(growAndFreeRequest);

/// allocate() with nothing free: evict the oldest of 98,304 idle pages, store another in its place.
void evictAndStorePage(benchmark::State &state) {
  auto manager = makeFullCache();
  uint64_t seed = 1000;
  constexpr int32_t kTokens = 4096;
  for (auto _ : state) {
    state.PauseTiming();
    PrefixKey key = makeKey(randomTokens(kTokens, ++seed));
    state.ResumeTiming();
    (void)manager->admit(seed, std::move(key));
    (void)manager->markComputed(seed, kTokens);
    (void)manager->finish(seed);
  }
  state.SetItemsProcessed(state.iterations() * kTokens / kPageSize);
}
BENCHMARK(evictAndStorePage);

void hashPrompt(benchmark::State &state) {
  std::vector<TokenId> tokens = randomTokens(kPrompt, 1);
  for (auto _ : state)
    benchmark::DoNotOptimize(makeKey(tokens));
  state.SetItemsProcessed(state.iterations() * kPrompt);
}
BENCHMARK(hashPrompt)->Unit(benchmark::kMicrosecond);

/// Hashes known: all 2,048 pages found and confirmed. Every look-up is of another prompt, so that
/// nothing of it is in the caches.
void lookUpKnownHashes(benchmark::State &state) {
  auto manager = makeFullCache();
  std::vector<PrefixKey> keys;
  for (int32_t i = 0; i < 48; ++i)
    keys.push_back(makeKey(randomTokens(kPrompt, i)));
  size_t next = 0;
  for (auto _ : state) {
    PrefixMatch match = manager->peek(keys[next++ % keys.size()]);
    if (match.hitTokens != kPrompt - 1)
      state.SkipWithError("expects the whole prompt to be found");
  }
}
BENCHMARK(lookUpKnownHashes)->Unit(benchmark::kMicrosecond);

void lookUpWithHashing(benchmark::State &state) {
  auto manager = makeFullCache();
  std::vector<std::vector<TokenId>> prompts;
  for (int32_t i = 0; i < 48; ++i)
    prompts.push_back(randomTokens(kPrompt, i));
  size_t next = 0;
  for (auto _ : state) {
    PrefixMatch match = manager->peek(makeKey(prompts[next++ % prompts.size()]));
    if (match.hitTokens != kPrompt - 1)
      state.SkipWithError("expects the whole prompt to be found");
  }
}
BENCHMARK(lookUpWithHashing)->Unit(benchmark::kMicrosecond);

/// Look-up, pin of 2,047 pages, one page allocated and copied, and everything released again.
void admitFullHitAndAbort(benchmark::State &state) {
  auto manager = makeFullCache();
  std::vector<PrefixKey> keys;
  for (int32_t i = 0; i < 48; ++i)
    keys.push_back(makeKey(randomTokens(kPrompt, i)));
  size_t next = 0;
  for (auto _ : state) {
    state.PauseTiming();
    PrefixKey key = keys[next++ % keys.size()];
    manager->drainChanges();
    state.ResumeTiming();
    (void)manager->admit(100, std::move(key));
    (void)manager->abort(100);
  }
}
BENCHMARK(admitFullHitAndAbort)->Unit(benchmark::kMicrosecond);

/// One step of 256 running decodes: plan, pages, table updates, results.
void scheduleDecodeStep(benchmark::State &state) {
  auto manager = makeManager();
  SchedulerOptions options;
  options.maxRunning = 256;
  auto scheduler = std::move(*Scheduler::create(*manager, options));
  for (RequestId id = 0; id < 256; ++id)
    (void)scheduler->add({.id = id, .key = makeKey(randomTokens(256, id)), .maxNewTokens = 6'000});
  auto step = [&] {
    StepPlan plan = std::move(*scheduler->schedule());
    StepResult result{.step = plan.step, .tokens = {}};
    for (const StepEntry &entry : plan.entries)
      if (entry.samples)
        result.tokens.push_back({entry.request, 7});
    (void)scheduler->complete(result);
    return plan.entries.size();
  };
  for (int i = 0; i < 20; ++i)
    step();
  for (auto _ : state)
    if (step() != 256)
      state.SkipWithError("expects 256 decodes in every step");
  state.SetItemsProcessed(state.iterations() * 256);
}
BENCHMARK(scheduleDecodeStep)->Unit(benchmark::kMicrosecond)->Iterations(3000);

} // namespace
