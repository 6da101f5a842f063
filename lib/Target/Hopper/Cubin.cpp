//===- Cubin.cpp - machine code of PTX ------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Hopper/Cubin.h"
#include "mlir/IR/Diagnostics.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace pagefold::hopper;

namespace {

/// A file that is gone with this.
class TemporaryFile {
public:
  std::error_code create(StringRef suffix) {
    return llvm::sys::fs::createTemporaryFile("pagefold", suffix, path);
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  std::error_code write(StringRef text) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (!code)
      stream << text;
    return code;
  }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
  llvm::SmallString<128> path;
};

} // namespace

FailureOr<std::string> pagefold::hopper::assembleCubin(StringRef ptx, Location location) {
  auto ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    return emitError(location, "a cubin expects CUDA's ptxas on the PATH, got none; install CUDA's "
                               "compiler tools, or emit ptx, which the driver assembles"),
           failure();
  TemporaryFile input, output, words;
  std::error_code code = input.create("ptx");
  if (!code)
    code = input.write(ptx);
  if (!code)
    code = output.create("cubin");
  if (!code)
    code = words.create("txt");
  if (code)
    return emitError(location, "cannot write a temporary file: ")
               << code.message() << "; set TMPDIR to a writable directory",
           failure();
  std::string arch = ("-arch=" + kHopper.name).str(), error;
  const StringRef arguments[] = {*ptxas, arch, input.path, "-o", output.path};
  const std::optional<StringRef> streams[] = {std::nullopt, StringRef(words.path),
                                              StringRef(words.path)};
  if (llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt, streams, 0, 0, &error) != 0)
    return emitError(location, "ptxas refuses the code: ") << error << words.read(), failure();
  return output.read();
}
