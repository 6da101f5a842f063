//===- ArrayFilesTest.h - arrays and files for tests ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/ holds files that numpy and ml_dtypes wrote (Inputs/generate.py).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_ARRAYS_ARRAYFILESTEST_H
#define PAGEFOLD_UNITTESTS_ARRAYS_ARRAYFILESTEST_H

#include "pagefold/Support/ArrayFiles.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace pagefold {

inline std::string input(const std::string &name) {
  return std::string(PAGEFOLD_TEST_INPUTS) + "/" + name;
}

/// 0, 1, 2 ... in row-major order, halved.
inline Array counting(DType dtype, std::vector<int64_t> shape) {
  Array array = *Array::make(dtype, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.storeAt(i, isFloat(dtype) ? i * 0.5 : i % 2);
  return array;
}

inline std::vector<double> values(const Array &array) {
  std::vector<double> numbers;
  array.forEach([&](int64_t at) { numbers.push_back(array.loadAt(at)); });
  return numbers;
}

inline void expectEqual(const Array &got, const Array &want) {
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_EQ(values(got), values(want));
}

/// A directory that goes away with the test.
class Files : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pagefold-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string &name) const { return directory_ + "/" + name; }
  std::string write(const std::string &name, const std::string &bytes) const {
    FileContents file{path(name), bytes};
    EXPECT_TRUE(writeFiles({&file, 1}));
    return file.path;
  }
  std::string directory_;
};

} // namespace pagefold

#endif // PAGEFOLD_UNITTESTS_ARRAYS_ARRAYFILESTEST_H
