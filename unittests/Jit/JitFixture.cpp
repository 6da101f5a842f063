//===- JitFixture.cpp - graphs, directories, processes --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitFixture.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "pagefold/InitAll.h"
#include "pagefold/Pipeline/ParseGraph.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pagefold;
using namespace pagefold::jit;
using namespace pagefold::jit::test;

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

std::string test::decodeGraph() {
  return R"(
!cache = !attn.paged_kv<2 heads, 64 x 64, f32, page 16>
func.func @decode(%q: tensor<?x8x64xf32>, %rows: tensor<?xi32>, %cache: !cache) -> tensor<?x8x64xf32>
    attributes {attn.bounds = #attn.bounds<batch 8, q_len 1, kv_len 1024>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal>
    score(%s, %i, %j, %h, %b) {
      %cap = arith.constant 50.0 : f32
      %y = arith.minimumf %s, %cap : f32
      attn.yield %y : f32
    }
    : tensor<?x8x64xf32>, !cache, tensor<?xi32> -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}
)";
}

namespace {

/// A graph in a context of its own.
struct Parsed {
  explicit Parsed(const std::string &graph) {
    mlir::DialectRegistry registry;
    registerPagefold(registry);
    context.appendDialectRegistry(registry);
    auto source = std::make_shared<llvm::SourceMgr>();
    source->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(graph, "graph"), {});
    module = parseGraph(source, &context);
    EXPECT_TRUE(module) << graph;
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

CompileKey test::keyOf(const std::string &graph, const CompileOptions &options) {
  Parsed parsed(graph);
  return parsed.module ? compileKey(*parsed.module, graph, options) : CompileKey();
}

CompileKey test::keyNumber(uint8_t number) {
  CompileKey key{};
  key.bytes[0] = number;
  return key;
}

std::string test::toBytecode(const std::string &graph) {
  Parsed parsed(graph);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  EXPECT_TRUE(mlir::succeeded(mlir::writeBytecodeToFile(*parsed.module, os)));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TemporaryDirectory::TemporaryDirectory(const std::string &name)
    : path_((std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string()) {
  EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryDirectory::list() const {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void test::writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string test::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

int test::inProcesses(int count, const std::function<bool(int)> &work) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    pid_t child = fork();
    if (child == 0)
      _exit(work(i) ? 0 : 1);
    EXPECT_GT(child, 0);
    children.push_back(child);
  }
  int succeeded = 0;
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    succeeded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return succeeded;
}

bool test::asAnotherUser(const std::function<bool()> &work) {
  constexpr uid_t kNobody = 65534;
  return inProcesses(1, [&](int) {
           if (geteuid() == 0 && (setgid(kNobody) || setuid(kNobody)))
             return false;
           return work();
         }) == 1;
}

test::Variable::Variable(const char *name, const char *value)
    : name(name), old(std::getenv(name)), oldValue(old ? old : "") {
  value ? setenv(name, value, 1) : unsetenv(name);
}

test::Variable::~Variable() {
  old ? setenv(name.c_str(), oldValue.c_str(), 1) : unsetenv(name.c_str());
}
