//===- TestSupport.h - short ways to say what the tests need ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_KV_TESTSUPPORT_H
#define PAGEFOLD_RUNTIME_TEST_KV_TESTSUPPORT_H

#include "pagefold/runtime/KvCacheManager.h"

#include <gtest/gtest.h>
#include <numeric>

namespace pagefold::runtime::test {

/// Did a Status or Result succeed? If not, the sentence of its error.
template <typename T>::testing::AssertionResult isOk(const Result<T> &result) {
  if (result)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().message();
}
#define ASSERT_OK(...) ASSERT_TRUE(::pagefold::runtime::test::isOk(__VA_ARGS__))
#define EXPECT_OK(...) EXPECT_TRUE(::pagefold::runtime::test::isOk(__VA_ARGS__))

inline std::unique_ptr<KvCacheManager> makeManager(const KvCacheOptions &options) {
  auto manager = KvCacheManager::create(options);
  if (!manager) {
    ADD_FAILURE() << manager.error().message();
    std::abort();
  }
  return std::move(*manager);
}

/// `count` tokens: start, start + 1, ...
inline std::vector<TokenId> tokenRun(int32_t count, TokenId start = 0) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), start);
  return tokens;
}

inline std::vector<TokenId> concat(std::vector<TokenId> a, const std::vector<TokenId> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline PrefixKey makeKey(const KvCacheManager &manager, std::span<const TokenId> tokens,
                         PrefixIdentity identity = {}, std::vector<MediaSpan> media = {}) {
  return *PrefixKey::create({tokens, std::move(identity), std::move(media)},
                            manager.options().pageSize, manager.options().hash);
}

/// Admits, computes all of the prompt and returns the look-up's result.
inline PrefixMatch runPrompt(KvCacheManager &manager, RequestId id, std::span<const TokenId> tokens,
                             PrefixIdentity identity = {}, AdmitOptions options = {}) {
  auto admission = manager.admit(id, makeKey(manager, tokens, std::move(identity)), options);
  EXPECT_OK(admission);
  manager.drainChanges();
  EXPECT_OK(manager.markComputed(id, static_cast<int32_t>(tokens.size())));
  EXPECT_OK(manager.verifyInvariants());
  return admission->match;
}

/// The same, and the request is finished.
inline PrefixMatch serve(KvCacheManager &manager, RequestId id, std::span<const TokenId> tokens,
                         PrefixIdentity identity = {}, AdmitOptions options = {}) {
  PrefixMatch match = runPrompt(manager, id, tokens, std::move(identity), options);
  EXPECT_OK(manager.finish(id));
  EXPECT_OK(manager.verifyInvariants());
  return match;
}

inline std::vector<PageId> pageIds(const KvCacheManager &manager, RequestId id) {
  std::vector<PageHandle> handles = *manager.pages(id);
  std::vector<PageId> ids;
  for (PageHandle handle : handles)
    ids.push_back(handle.page);
  return ids;
}

} // namespace pagefold::runtime::test

#endif // PAGEFOLD_RUNTIME_TEST_KV_TESTSUPPORT_H
