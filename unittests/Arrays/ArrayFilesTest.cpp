//===- ArrayFilesTest.cpp - .npy and .safetensors -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrayFilesTest.h"

using namespace pagefold;
using runtime::Result;

static const DType kAll[] = {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F64,
                             DType::I8,  DType::I32, DType::I64,  DType::U8,     DType::Bool};

//===----------------------------------------------------------------------===//
// Round trips
//===----------------------------------------------------------------------===//

TEST(Npy, RoundTripsEveryTypeAndRank) {
  for (DType dtype : kAll)
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {5}, {2, 3}, {2, 0, 4}, {1, 2, 3, 4}}) {
      Array array = counting(dtype, shape);
      Result<Array> back = parseNpy(*npyBytes(array), "x.npy");
      ASSERT_TRUE(back) << back.error().message();
      expectEqual(*back, array);
    }
}

TEST(Npy, WritesViewsInRowMajorOrder) {
  std::vector<int64_t> order{1, 0};
  Array transposed = counting(DType::F32, {2, 3}).permuted(order);
  expectEqual(*parseNpy(*npyBytes(transposed), "x.npy"), transposed);
}

TEST(Safetensors, RoundTripsEveryType) {
  std::vector<NamedArray> arrays;
  for (DType dtype : kAll)
    arrays.push_back({std::string(dtypeName(dtype)), counting(dtype, {3, 2})});
  Result<std::vector<NamedArray>> back =
      parseSafetensors(*safetensorsBytes(arrays), "x.safetensors");
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_EQ(back->size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ((*back)[i].name, arrays[i].name);
    expectEqual((*back)[i].array, arrays[i].array);
  }
}

TEST_F(Files, AllAreWrittenOrNone) {
  write("kept.npy", "old");
  std::vector<FileContents> files{{path("kept.npy"), "new"},
                                  {path("no/such/directory.npy"), "new"}};
  runtime::Status status = writeFiles(files);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("no/such/directory.npy"), std::string::npos);
  EXPECT_EQ(*readFile(path("kept.npy")), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1)
      << "a temporary file was left";
}

//===----------------------------------------------------------------------===//
// Files of numpy
//===----------------------------------------------------------------------===//

TEST(Npy, ReadsWhatNumpyWrote) {
  for (DType dtype : kAll) {
    Result<Array> array = readNpy(input(std::string(dtypeName(dtype)) + ".npy"));
    ASSERT_TRUE(array) << array.error().message();
    expectEqual(*array, counting(dtype, {2, 3}));
  }
}

TEST(Npy, ReadsFortranOrderAsStrides) {
  Result<Array> array = readNpy(input("fortran.npy"));
  ASSERT_TRUE(array) << array.error().message();
  expectEqual(*array, counting(DType::F32, {2, 3}));
  EXPECT_EQ(array->strides(), (std::vector<int64_t>{1, 2}));
}

TEST(Npy, WritesTheBytesOfNumpy) {
  EXPECT_EQ(*npyBytes(counting(DType::F32, {2, 3})), *readFile(input("f32.npy")));
  EXPECT_EQ(*npyBytes(counting(DType::BF16, {2, 3})), *readFile(input("bf16.npy")));
  EXPECT_EQ(*npyBytes(counting(DType::F8E4M3, {2, 3})), *readFile(input("f8e4m3.npy")));
}

//===----------------------------------------------------------------------===//
// Malformed files
//===----------------------------------------------------------------------===//

static std::string npyWith(const std::string &header, const std::string &data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

static void expectNpyError(const std::string &bytes, const std::string &part) {
  Result<Array> array = parseNpy(bytes, "bad.npy");
  ASSERT_FALSE(array) << "expects an error with: " << part;
  EXPECT_NE(array.error().message().find("bad.npy"), std::string::npos) << array.error().message();
  EXPECT_NE(array.error().message().find(part), std::string::npos) << array.error().message();
}

TEST(Npy, RefusesABadPreamble) {
  expectNpyError("", "does not begin");
  expectNpyError("PK\x03\x04", "does not begin");
  expectNpyError("\x93NUMPY\x01", "ends within its version");
  expectNpyError(std::string("\x93NUMPY\x04\x00\x00\x00\x00\x00", 12), "version 1, 2 or 3, got 4");
  expectNpyError(std::string("\x93NUMPY\x01\x00\x10", 9), "ends within its header's length");
  expectNpyError(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12),
                 "header of 4294967295 bytes ends past");
}

TEST(Npy, RefusesABadHeader) {
  expectNpyError(npyWith("", ""), "expects '{'");
  expectNpyError(npyWith("{'descr': '<f4'", ""), "expects '}'");
  expectNpyError(npyWith("{'descr': '<f4', 'fortran_order': False}", ""), "expects the keys");
  expectNpyError(npyWith("{'descr': '<f4', 'descr': '<f4'}", ""), "once, got 'descr'");
  expectNpyError(npyWith("{'size': 4}", ""), "once, got 'size'");
  expectNpyError(npyWith("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", ""), "True or False");
  expectNpyError(npyWith("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", ""),
                 "a string");
  expectNpyError(npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""),
                 "a dimension");
  expectNpyError(
      npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""),
      "2^63");
  expectNpyError(npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "abcd"),
                 "the end");
  expectNpyError(npyWith("{'descr': '<f", ""), "a string");
}

TEST(Npy, RefusesUnknownTypes) {
  for (const char *descr : {">f4", "<c8", "<u4", "|O", "<U8", "|V3", ""})
    expectNpyError(
        npyWith("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (0,)}",
                ""),
        "got '" + std::string(descr) + "'");
}

TEST(Npy, RefusesTheWrongAmountOfData) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}";
  expectNpyError(npyWith(header, std::string(23, 'x')), "needs 24 bytes of data, got 23");
  expectNpyError(npyWith(header, std::string(25, 'x')), "needs 24 bytes of data, got 25");
  expectNpyError(
      npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", ""),
      "more elements than can be counted");
  expectNpyError(
      npyWith("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", ""),
      "more elements than can be counted");
  EXPECT_TRUE(parseNpy(npyWith(header, std::string(24, 'x'), 3), "good.npy"));
}

TEST(Npy, EveryPrefixAndEveryFlippedByteIsHandled) {
  std::string good = *npyBytes(counting(DType::F32, {2, 3}));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parseNpy(std::string_view(good).substr(0, length), "x.npy"));
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[i] ^= static_cast<char>(1 << bit);
      Result<Array> array = parseNpy(bytes, "x.npy");
      EXPECT_TRUE(!array || array->sizeInBytes() == 24);
    }
}

static std::string safetensorsWith(const std::string &header, const std::string &data) {
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes[1] = static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

static void expectSafetensorsError(const std::string &bytes, const std::string &part) {
  Result<std::vector<NamedArray>> arrays = parseSafetensors(bytes, "bad.safetensors");
  ASSERT_FALSE(arrays) << "expects an error with: " << part;
  EXPECT_NE(arrays.error().message().find("bad.safetensors"), std::string::npos)
      << arrays.error().message();
  EXPECT_NE(arrays.error().message().find(part), std::string::npos) << arrays.error().message();
}

TEST(Safetensors, RefusesABadHeader) {
  expectSafetensorsError("", "ends within its header's length");
  expectSafetensorsError(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10),
                         "ends past the file's 10");
  expectSafetensorsError(safetensorsWith("{", ""), "not a JSON object");
  expectSafetensorsError(safetensorsWith("[]", ""), "not a JSON object");
  expectSafetensorsError(safetensorsWith(std::string(60000, '['), ""), "not a JSON object");
  expectSafetensorsError(safetensorsWith(R"({"a": 1})", ""), "'a' expects an object");
}

TEST(Safetensors, RefusesABadEntry) {
  expectSafetensorsError(
      safetensorsWith(R"({"a": {"dtype": "F8_E5M2", "shape": [0], "data_offsets": [0, 0]}})", ""),
      "got 'F8_E5M2'");
  expectSafetensorsError(
      safetensorsWith(R"({"a": {"dtype": 3, "shape": [0], "data_offsets": [0, 0]}})", ""), "dtype");
  expectSafetensorsError(
      safetensorsWith(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", "abcd"),
      "shape of integers");
  expectSafetensorsError(
      safetensorsWith(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", "abcd"),
      "two data_offsets");
  expectSafetensorsError(
      safetensorsWith(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", "abcd"),
      "needs 4 bytes");
  expectSafetensorsError(
      safetensorsWith(
          R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}})",
          ""),
      "more elements than can be counted");
  expectSafetensorsError(
      safetensorsWith(
          R"({"a": {"dtype": "F32", "shape": [18446744073709551615], "data_offsets": [0, 0]}})",
          ""),
      "more elements than can be counted");
}

TEST(Safetensors, RefusesHolesOverlapAndMissingData) {
  std::string a = R"("a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]})";
  expectSafetensorsError(safetensorsWith("{" + a + "}", "x"), "take 2 bytes of data, got 1");
  expectSafetensorsError(safetensorsWith("{" + a + "}", "xyz"), "take 2 bytes of data, got 3");
  expectSafetensorsError(
      safetensorsWith("{" + a + R"(, "b": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}})",
                      "xyz"),
      "'b' starts at byte 1 of the data, expects 2");
  EXPECT_TRUE(parseSafetensors(
      safetensorsWith(R"({"__metadata__": {"format": "pt"}, )" + a + "}", "xy"), "good"));
}

TEST_F(Files, MissingFilesAndDirectoriesAreTold) {
  EXPECT_NE(readNpy(path("none.npy")).error().message().find("no such file"), std::string::npos);
  EXPECT_NE(readNpz(path("none.npz")).error().message().find("no such file"), std::string::npos);
  EXPECT_NE(readSafetensors(directory_).error().message().find("is a directory"),
            std::string::npos);
  EXPECT_EQ(readNpy(path("none.npy")).error().code(), runtime::ErrorCode::NotFound);
}
