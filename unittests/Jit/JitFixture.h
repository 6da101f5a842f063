//===- JitFixture.h - graphs, directories, processes ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_JIT_JITFIXTURE_H
#define PAGEFOLD_UNITTESTS_JIT_JITFIXTURE_H

#include "CompileKey.h"
#include "pagefold/Jit/Compile.h"
#include <functional>
#include <string>
#include <vector>

namespace pagefold::jit::test {

/// Attention over pages, as text.
std::string decodeGraph();

/// The key of a graph given as text, which must parse.
CompileKey keyOf(const std::string &graph, const CompileOptions &options = {});
/// A key like no other.
CompileKey keyNumber(uint8_t number);

/// The same graph as bytecode.
std::string toBytecode(const std::string &graph);

/// A directory of its own below the system's temporary one, gone with this.
class TemporaryDirectory {
public:
  explicit TemporaryDirectory(const std::string &name = "pagefold-jit-test");
  ~TemporaryDirectory();
  const std::string &path() const { return path_; }
  std::string file(const std::string &name) const { return path_ + "/" + name; }
  /// Names of what lies in it, sorted.
  std::vector<std::string> list() const;

private:
  std::string path_;
};

void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

/// Runs `work` in `count` processes at once, each with its number; how many gave true.
int inProcesses(int count, const std::function<bool(int)> &work);
/// Runs `work` in a process of a user who owns nothing (where this one may become another user);
/// whether it gave true.
bool asAnotherUser(const std::function<bool()> &work);

/// From here on every rename takes as long as on a slow network.
void slowRenames(bool slow);

/// Sets a variable of the environment, or takes it away (null), until this dies.
class Variable {
public:
  Variable(const char *name, const char *value);
  ~Variable();

private:
  std::string name;
  const char *old;
  std::string oldValue;
};

} // namespace pagefold::jit::test

#endif // PAGEFOLD_UNITTESTS_JIT_JITFIXTURE_H
