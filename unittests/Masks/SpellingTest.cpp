//===- SpellingTest.cpp - every spelling means what it should -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A new row of the table of spellings fails here until NamedMasks.cpp says what it should mean.
//
//===----------------------------------------------------------------------===//

#include "NamedMasks.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::test;

namespace {

const NamedMask *referenceOf(StringRef spelling) {
  for (const NamedMask &mask : spelledMasks())
    if (mask.name == spelling)
      return &mask;
  return nullptr;
}

TEST(SpellingTest, EveryOneHasAReferenceAndItsConstructorAgrees) {
  MLIRContext context;
  for (const MaskSpelling &spelling : maskSpellings()) {
    const NamedMask *reference = referenceOf(spelling.name);
    ASSERT_TRUE(reference) << "spelledMasks() of NamedMasks.cpp expects a row for '"
                           << spelling.name.str() << "'";
    MaskSets parsed = parseOrFail(reference->text, &context);
    SmallVector<MaskSize> sizes;
    for (auto [i, spec] : llvm::enumerate(spelling.sizes))
      sizes.push_back(spec.constantOnly ? MaskSize(5) : MaskSize(parsed.symbols[i]));
    EXPECT_EQ(spellMask(&context, spelling.name, sizes), parsed) << reference->text;
  }
}

TEST(SpellingTest, A20_WindowHoldsTheLastPositionsTheQuerysOwnIncluded) {
  MLIRContext context;
  for (int64_t window : {1, 8, 40, 50})
    for (int64_t qLen : {40, 5, 1}) {
      MaskSets mask = windowMask(&context, window);
      MaskEnv env{qLen, 40, {}};
      for (int64_t q = 0; q < qLen; ++q) {
        int64_t position = q + 40 - qLen, visible = 0, first = -1;
        for (int64_t k = 39; k >= 0; --k)
          if (isVisible(mask, env, q, k)) {
            ++visible;
            first = k;
          }
        EXPECT_EQ(visible, std::min(window, position + 1));
        EXPECT_EQ(first, std::max<int64_t>(0, position - window + 1));
      }
    }
}

TEST(SpellingTest, A19_CausalIsBottomRight) {
  MLIRContext context;
  MaskSets mask = causalMask(&context);
  for (auto [qLen, kvLen] : {std::pair<int64_t, int64_t>(2, 5),
                             {5, 2},
                             {1, 128},
                             {3, 128},
                             {128, 3},
                             {64, 64},
                             {65, 64}})
    for (int64_t q = 0; q < qLen; ++q)
      for (int64_t k = 0; k < kvLen; ++k)
        EXPECT_EQ(isVisible(mask, {qLen, kvLen, {}}, q, k), k <= q + kvLen - qLen);
}

TEST(SpellingTest, Compose) {
  MLIRContext context;
  EXPECT_EQ(intersectMasks(causalMask(&context), windowMask(&context, 8)),
            parseOrFail("causal and window(8)", &context));
  EXPECT_EQ(uniteMasks(causalMask(&context), prefixMask(&context, "n")),
            parseOrFail("causal or prefix(n) where n >= 0", &context));
  // Symbols meet by name, and keep the sharper bound.
  EXPECT_EQ(uniteMasks(windowMask(&context, "w"), prefixMask(&context, "w")),
            parseOrFail("window(w) or prefix(w) where w >= 1", &context));
  EXPECT_EQ(sinkWindowMask(&context, 4, "w"),
            uniteMasks(intersectMasks(prefixMask(&context, 4), causalMask(&context)),
                       windowMask(&context, "w")));
}

} // namespace
