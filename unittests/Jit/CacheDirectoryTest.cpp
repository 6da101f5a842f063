//===- CacheDirectoryTest.cpp - files that many processes share -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheDirectory.h"
#include "JitFixture.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pagefold;
using namespace pagefold::jit;
using namespace pagefold::jit::test;
using Names = std::vector<std::string>;

static CacheDirectory opened(const std::string &path) {
  runtime::Result<CacheDirectory> directory = CacheDirectory::open(path);
  EXPECT_TRUE(directory) << (directory ? "" : directory.error().message());
  return std::move(*directory);
}

/// Why a directory is refused; empty where it is not.
static std::string refusal(const std::string &path) {
  runtime::Result<CacheDirectory> directory = CacheDirectory::open(path);
  return directory ? "" : directory.error().message();
}

/// Makes a file's last use so many seconds ago.
static void age(const std::string &path, time_t seconds) {
  timespec then{time(nullptr) - seconds, 0};
  timespec times[] = {then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(CacheDirectory, A61_MakesItsPathForThisUserAlone) {
  TemporaryDirectory place("pagefold jit Ü"); // a space and a letter that is not ASCII
  CacheDirectory directory = opened(place.file("a b/ç"));
  struct stat status;
  ASSERT_EQ(stat(place.file("a b/ç").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
  ASSERT_TRUE(directory.write("x", "bytes"));
  EXPECT_EQ(directory.read("x"), "bytes");
  ASSERT_EQ(stat(place.file("a b/ç/x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
}

TEST(CacheDirectory, WritesOverWhatWasThere) {
  TemporaryDirectory place;
  CacheDirectory directory = opened(place.path());
  EXPECT_FALSE(directory.read("x"));
  ASSERT_TRUE(directory.write("x", "old"));
  ASSERT_TRUE(directory.write("x", std::string("new\0er", 6)));
  EXPECT_EQ(directory.read("x"), std::string("new\0er", 6));
  EXPECT_EQ(place.list(), Names{"x"});
}

TEST(CacheDirectory, A61_WhatCannotBeMadeOrReadSaysWhy) {
  TemporaryDirectory place;
  writeFile(place.file("file"), "");
  EXPECT_EQ(refusal(place.file("file/below")),
            "cannot make the directory " + place.file("file/below") + ": Not a directory");
  EXPECT_EQ(refusal(place.file("file")),
            "cannot open the directory " + place.file("file") + ": Not a directory");
}

TEST(CacheDirectory, A61_RefusesWhatOthersMayWrite) {
  TemporaryDirectory place;
  ASSERT_EQ(chmod(place.path().c_str(), 0777), 0);
  std::string said = refusal(place.path());
  EXPECT_NE(said.find("what lies there is run as code: expects a directory that user"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("with mode 0777"), std::string::npos) << said;
  ASSERT_EQ(chmod(place.path().c_str(), 0770), 0);
  EXPECT_NE(refusal(place.path()), "");
  ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
  EXPECT_EQ(refusal(place.path()), "");
}

TEST(CacheDirectory, A61_RefusesWhatAnotherUserOwns) {
  TemporaryDirectory place;
  if (geteuid() != 0 || chown(place.path().c_str(), 1234, 1234))
    GTEST_SKIP() << "only root can give a directory away";
  EXPECT_NE(refusal(place.path()).find("got one of user 1234"), std::string::npos);
}

TEST(CacheDirectory, A61_AReadOnlyDirectoryIsRead) {
  TemporaryDirectory place;
  ASSERT_TRUE(opened(place.path()).write("x", "bytes"));
  ASSERT_EQ(chmod(place.file("x").c_str(), 0644), 0);
  ASSERT_EQ(chmod(place.path().c_str(), 0555), 0);
  EXPECT_TRUE(asAnotherUser([&] {
    runtime::Result<CacheDirectory> directory = CacheDirectory::open(place.path());
    if (!directory || directory->read("x") != "bytes")
      return false;
    runtime::Status status = directory->write("y", "bytes");
    return !status && status.error().message() ==
                          "cannot write to the directory " + place.path() + ": Permission denied";
  }));
  chmod(place.path().c_str(), 0755);
}

TEST(CacheDirectory, A60_ReadsNoFileThatOthersMayHaveWritten) {
  TemporaryDirectory place;
  CacheDirectory directory = opened(place.path());
  ASSERT_TRUE(directory.write("x", "bytes"));
  ASSERT_EQ(chmod(place.file("x").c_str(), 0666), 0);
  EXPECT_FALSE(directory.read("x"));
  ASSERT_TRUE(directory.write("target", "bytes"));
  ASSERT_EQ(symlink("target", place.file("link").c_str()), 0);
  EXPECT_FALSE(directory.read("link"));
  ASSERT_EQ(mkfifo(place.file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(directory.read("pipe")); // and does not wait for a writer
  ASSERT_EQ(mkdir(place.file("folder").c_str(), 0700), 0);
  EXPECT_FALSE(directory.read("folder"));
  ASSERT_TRUE(directory.write("x", "new bytes")); // takes the place of what is not trusted
  EXPECT_EQ(directory.read("x"), "new bytes");
}

TEST(CacheDirectory, StaysWithTheDirectoryThatItOpened) {
  TemporaryDirectory place;
  CacheDirectory directory = opened(place.file("a"));
  ASSERT_EQ(rename(place.file("a").c_str(), place.file("b").c_str()), 0);
  ASSERT_EQ(mkdir(place.file("a").c_str(), 0777), 0);
  ASSERT_TRUE(directory.write("x", "bytes"));
  EXPECT_EQ(readFile(place.file("b/x")), "bytes");
}

TEST(CacheDirectory, AFailedWriteLeavesNothing) {
  TemporaryDirectory place;
  CacheDirectory directory = opened(place.path());
  ASSERT_EQ(mkdir(place.file("x").c_str(), 0700), 0); // no file can take its place
  EXPECT_FALSE(directory.write("x", "bytes"));
  EXPECT_EQ(place.list(), Names{"x"});
}

//===----------------------------------------------------------------------===//
// Trimming
//===----------------------------------------------------------------------===//

TEST(CacheDirectory, TrimsWhatWasNotUsedForLongest) {
  TemporaryDirectory place;
  CacheDirectory directory = opened(place.path());
  const std::string bytes(100, 'a');
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(directory.write(std::to_string(i) + ".kept", bytes));
    age(place.file(std::to_string(i) + ".kept"), 1000 - i);
  }
  ASSERT_TRUE(directory.read("1.kept")); // used now
  directory.trim(".kept", 400);
  EXPECT_EQ(place.list().size(), 4u);
  directory.trim(".kept", 250);
  EXPECT_EQ(place.list(), (Names{"1.kept", "4.kept"}));
}

TEST(CacheDirectory, TrimsNoFileOfOthersAndNoneBeingWritten) {
  TemporaryDirectory place;
  CacheDirectory directory = opened(place.path());
  for (const char *name : {"letter.txt", "writing-1", "writing-2", "x.kept"})
    writeFile(place.file(name), std::string(100, 'a'));
  ASSERT_EQ(mkdir(place.file("folder.kept").c_str(), 0700), 0);
  age(place.file("letter.txt"), 1'000'000);
  age(place.file("writing-1"), 3 * 60 * 60); // its writer has died
  age(place.file("writing-2"), 60);
  directory.trim(".kept", 0);
  EXPECT_EQ(place.list(), (Names{"folder.kept", "letter.txt", "writing-2"}));
}

//===----------------------------------------------------------------------===//
// Many processes
//===----------------------------------------------------------------------===//

namespace {
/// What a process with a number writes under a name: long, and told apart by every byte.
std::string contents(int name, int process) {
  return std::to_string(name) + std::string(100'000, static_cast<char>('a' + process));
}

/// Whether bytes are whole, of whichever process.
bool isWhole(int name, const std::string &bytes) {
  for (int process = 0; process < 16; ++process)
    if (bytes == contents(name, process))
      return true;
  return false;
}

void writeAndReadInManyProcesses(int names) {
  TemporaryDirectory place;
  EXPECT_EQ(inProcesses(16,
                        [&](int process) {
                          runtime::Result<CacheDirectory> directory =
                              CacheDirectory::open(place.file("new"));
                          bool good = directory.has_value();
                          for (int i = 0; i < names && good; ++i) {
                            int name = (i + process) % names;
                            std::string file = std::to_string(name) + ".kept";
                            std::optional<std::string> before = directory->read(file);
                            good = (!before || isWhole(name, *before)) &&
                                   directory->write(file, contents(name, process));
                            std::optional<std::string> after = directory->read(file);
                            good = good && after && isWhole(name, *after);
                            directory->trim(".kept", 16 << 20);
                          }
                          return good;
                        }),
            16);
  int left = 0;
  for (const auto &name : Names{"0", "1", "2", "3", "4", "5", "6", "7"})
    left += access(place.file("new/" + name + ".kept").c_str(), R_OK) == 0;
  EXPECT_EQ(left, names);
  runtime::Result<CacheDirectory> directory = CacheDirectory::open(place.file("new"));
  ASSERT_TRUE(directory);
  directory->trim(".kept", 0);
  ASSERT_EQ(rmdir(place.file("new").c_str()), 0) << "something else is left in it";
}
} // namespace

TEST(CacheDirectory, A58_ManyProcessesOneFile) { writeAndReadInManyProcesses(1); }
TEST(CacheDirectory, A58_ManyProcessesEightFiles) { writeAndReadInManyProcesses(8); }
TEST(CacheDirectory, A58_ManyProcessesOnASlowDirectory) {
  slowRenames(true);
  writeAndReadInManyProcesses(1);
  writeAndReadInManyProcesses(8);
  slowRenames(false);
}
