//===- LaunchFixture.h - the test artifact behind the C ABI -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_CORE_LAUNCHFIXTURE_H
#define PAGEFOLD_RUNTIME_TEST_CORE_LAUNCHFIXTURE_H

#include "ArtifactFixture.h"
#include "pagefold-c/Runtime.h"

#include <gtest/gtest.h>

namespace pagefold::runtime::test {

/// The error's sentence, or "" for success. Frees it.
inline std::string message(pagefold_error *error) {
  if (!error)
    return {};
  std::string text = pagefold_error_message(error);
  EXPECT_NE(pagefold_error_code(error), 0) << text;
  EXPECT_FALSE(text.empty());
  pagefold_error_free(error);
  return text;
}

class Launch : public ::testing::Test {
protected:
  void SetUp() override {
    std::string bytes = testArtifact();
    ASSERT_EQ(message(pagefold_module_load(bytes.data(), bytes.size(), &module_)), "");
  }
  void TearDown() override { pagefold_module_free(module_); }

  static pagefold_function *function(pagefold_module *module, const char *name) {
    pagefold_function *found = nullptr;
    EXPECT_EQ(message(pagefold_module_function(module, name, &found)), "");
    return found;
  }

  static std::string launch(const pagefold_function *function, std::vector<const DLTensor *> args,
                            void *workspace = nullptr, size_t size = 0) {
    return message(
        pagefold_function_launch(function, args.data(), args.size(), workspace, size, nullptr));
  }

  std::string launch(const char *name, std::vector<const DLTensor *> args,
                     void *workspace = nullptr, size_t size = 0) const {
    return launch(function(module_, name), std::move(args), workspace, size);
  }

  pagefold_module *module_ = nullptr;
};

} // namespace pagefold::runtime::test

#endif // PAGEFOLD_RUNTIME_TEST_CORE_LAUNCHFIXTURE_H
