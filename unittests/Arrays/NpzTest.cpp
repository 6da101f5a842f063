//===- NpzTest.cpp - archives of arrays -----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrayFilesTest.h"

#include <cstring>

using namespace pagefold;
using runtime::Result;

namespace {
/// Archives, damaged on purpose.
class Npz : public Files {
protected:
  Result<std::vector<NamedArray>> read(const std::string &bytes) const {
    return readNpz(write("bad.npz", bytes));
  }
  void expectError(const std::string &bytes, const std::string &part) const {
    Result<std::vector<NamedArray>> arrays = read(bytes);
    ASSERT_FALSE(arrays) << "expects an error with: " << part;
    EXPECT_NE(arrays.error().message().find("bad.npz"), std::string::npos)
        << arrays.error().message();
    EXPECT_NE(arrays.error().message().find(part), std::string::npos) << arrays.error().message();
  }
};

/// An archive whose numbers can be changed: fields by their offsets in the records of the format.
struct Archive {
  std::string bytes;
  size_t local(size_t field) const { return field; } ///< of the first entry
  size_t header(size_t field) const { return bytes.find("PK\1\2") + field; }
  size_t end(size_t field) const { return bytes.size() - 22 + field; }
  void put(size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
  /// Both the entry's own header and the directory's say the same.
  void putBoth(size_t localField, size_t headerField, uint64_t value, size_t size) {
    put(local(localField), value, size);
    put(header(headerField), value, size);
  }
};
} // namespace

TEST_F(Npz, RoundTrips) {
  std::vector<NamedArray> arrays{{"q", counting(DType::BF16, {2, 3})},
                                 {"lens", counting(DType::I32, {4})}};
  std::string bytes = *npzBytes(arrays);
  EXPECT_EQ(bytes, *npzBytes(arrays)) << "equal arrays give equal files";
  EXPECT_EQ(bytes.substr(10, 4), std::string("\0\0\x21\0", 4)) << "on every day";
  Result<std::vector<NamedArray>> back = readNpz(write("x.npz", bytes));
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[1].name, "lens");
  expectEqual((*back)[0].array, arrays[0].array);
}

TEST_F(Npz, ReadsWhatNumpyWrote) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    Result<std::vector<NamedArray>> arrays = readNpz(input(name));
    ASSERT_TRUE(arrays) << arrays.error().message();
    ASSERT_EQ(arrays->size(), 2u);
    EXPECT_EQ((*arrays)[0].name, "q");
    expectEqual((*arrays)[0].array, counting(DType::F16, {2, 3}));
    EXPECT_EQ((*arrays)[1].name, "lens");
    expectEqual((*arrays)[1].array, counting(DType::I32, {4}));
  }
}

TEST_F(Npz, RefusesWhatIsNoArchiveOfArrays) {
  expectError("", "is not a .npz file");
  expectError("not an archive", "is not a .npz file");
  expectError(std::string(100000, 'x'), "no directory");
  Archive renamed{*readFile(input("stored.npz"))};
  renamed.bytes[renamed.bytes.rfind("q.npy") + 4] = 'x';
  expectError(renamed.bytes, "expects entries named '<array>.npy', got 'q.npx'");
}

TEST_F(Npz, RefusesEveryPrefix) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::string good = *readFile(input(name));
    for (size_t length = 0; length < good.size(); ++length)
      expectError(good.substr(0, length), "is not a .npz file");
  }
}

TEST_F(Npz, RefusesDamagedEntries) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    const Archive good{*readFile(input(name))};
    Archive damaged = good;
    damaged.bytes[60] ^= 0x55; // within the data of the first entry
    expectError(damaged.bytes, "entry 'q.npy' ");
    damaged = good;
    damaged.putBoth(14, 16, 0x12345678, 4);
    expectError(damaged.bytes, "entry 'q.npy' has a wrong checksum");
    damaged = good;
    damaged.putBoth(8, 10, 12, 2);
    expectError(damaged.bytes, "packed by method 12");
    damaged = good;
    damaged.putBoth(6, 8, 1, 2);
    expectError(damaged.bytes, "is encrypted");
    damaged = good;
    damaged.put(damaged.header(42), 1, 4);
    expectError(damaged.bytes, "is not where the directory says");
  }
}

TEST_F(Npz, SizesThatLieAreNotBelieved) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    const Archive good{*readFile(input(name))};
    for (size_t field : {20, 24}) { // packed and not, in the directory
      for (uint32_t size : {0u, 1u, 0xfffffffeu}) {
        Archive lying = good;
        lying.put(lying.header(field), size, 4);
        expectError(lying.bytes, "entry 'q.npy' ");
      }
      Archive wide = good;
      wide.put(wide.header(field), 0xffffffff, 4);
      expectError(wide.bytes, "has 4 GiB or more");
    }
  }
}

TEST_F(Npz, ADirectoryThatLiesIsNotBelieved) {
  const Archive good{*readFile(input("stored.npz"))};
  for (uint64_t count : {1, 3, 0xffff}) {
    Archive lying = good;
    lying.put(lying.end(8), count, 2);
    lying.put(lying.end(10), count, 2);
    expectError(lying.bytes, "its directory ");
  }
  for (size_t field : {12, 16}) // size and offset
    for (uint64_t value : {0u, 1u, 0xfffffffeu}) {
      Archive lying = good;
      lying.put(lying.end(field), value, 4);
      expectError(lying.bytes, "director");
    }
  expectError("before" + good.bytes, "directory");
}

/// The archive, with the record of 64-bit numbers before its end, as zip64 has it.
static std::string withWideDirectory(const Archive &archive, uint64_t entries) {
  std::string end = archive.bytes.substr(archive.end(0));
  uint64_t size = 0, at = 0;
  std::memcpy(&size, end.data() + 12, 4);
  std::memcpy(&at, end.data() + 16, 4);
  auto number = [](uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char *>(&value), bytes);
  };
  std::string record = "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
                       number(entries, 8) + number(entries, 8) + number(size, 8) + number(at, 8);
  std::string locator = "PK\6\7" + number(0, 4) + number(archive.end(0), 8) + number(1, 4);
  return archive.bytes.substr(0, archive.end(0)) + record + locator +
         end.replace(8, 12, 12, '\xff'); // each of its own numbers stands in the record
}

TEST_F(Npz, DirectoriesOf64BitNumbersAreRead) {
  const Archive archive{*npzBytes(std::vector<NamedArray>{{"a", counting(DType::I32, {2})}})};
  Result<std::vector<NamedArray>> back = read(withWideDirectory(archive, 1));
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ((*back)[0].name, "a");
  expectError(withWideDirectory(archive, uint64_t{1} << 60), "its directory is damaged after 1 of");
}

TEST_F(Npz, ArchivesOfNothingAndOfMuch) {
  std::string nothing = *npzBytes({});
  EXPECT_EQ(nothing.size(), 22u); // what numpy.savez writes
  EXPECT_TRUE(read(nothing)->empty());
  std::vector<NamedArray> arrays; // more than the buffers on the way
  for (int i = 0; i < 100; ++i)
    arrays.push_back({"a" + std::to_string(i), counting(DType::F32, {300, i})});
  Result<std::vector<NamedArray>> back = read(*npzBytes(arrays));
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_EQ(back->size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ((*back)[i].name, arrays[i].name);
    expectEqual((*back)[i].array, arrays[i].array);
  }
}

TEST_F(Npz, AFlippedByteIsAnErrorOrChangesNoArray) {
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::string good = *readFile(input(name));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bytes = good;
      bytes[i] ^= static_cast<char>(0xFF);
      Result<std::vector<NamedArray>> arrays = read(bytes);
      if (!arrays) {
        EXPECT_NE(arrays.error().message().find("bad.npz"), std::string::npos);
        continue;
      }
      ASSERT_EQ(arrays->size(), 2u) << "byte " << i;
      expectEqual((*arrays)[0].array, counting(DType::F16, {2, 3}));
      expectEqual((*arrays)[1].array, counting(DType::I32, {4}));
    }
  }
}
