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
#include "llvm/Support/VersionTuple.h"
#include <map>
#include <mutex>

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

//===----------------------------------------------------------------------===//
// Which ptxas
//===----------------------------------------------------------------------===//

/// What `ptxas --version` writes; empty where it does not run.
static std::string askVersion(StringRef ptxas) {
  TemporaryFile words;
  if (words.create("txt"))
    return {};
  const std::optional<StringRef> streams[] = {std::nullopt, StringRef(words.path),
                                              StringRef(words.path)};
  llvm::sys::ExecuteAndWait(ptxas, {ptxas, "--version"}, std::nullopt, streams);
  return words.read();
}

/// Asked again when the file has changed: a process may outlive its toolkit.
static std::string versionOf(const std::string &ptxas) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(ptxas, status))
    return askVersion(ptxas);
  auto state = std::tuple(ptxas, status.getSize(),
                          status.getLastModificationTime().time_since_epoch().count());
  static std::mutex mutex;
  static std::map<decltype(state), std::string> known;
  std::lock_guard lock(mutex);
  auto [found, isNew] = known.try_emplace(std::move(state));
  if (isNew)
    found->second = askVersion(ptxas);
  return found->second;
}

std::optional<std::string> pagefold::hopper::ptxasVersion() {
  auto ptxas = llvm::sys::findProgramByName("ptxas");
  return ptxas ? std::optional(versionOf(*ptxas)) : std::nullopt;
}

/// "Cuda compilation tools, release 13.0, V13.0.88".
static std::optional<llvm::VersionTuple> releaseOf(StringRef version) {
  StringRef release = version.split("release ").second.take_until([](char c) { return c == ','; });
  llvm::VersionTuple parsed;
  return parsed.tryParse(release) ? std::nullopt : std::optional(parsed);
}

/// Says what is missing before ptxas says it in its own words, which name no release.
static LogicalResult checkRelease(StringRef ptxas, const std::string &version, Location location) {
  llvm::VersionTuple needed;
  needed.tryParse(kHopper.assembler);
  std::optional<llvm::VersionTuple> release = releaseOf(version);
  if (!release || *release >= needed)
    return success();
  return emitError(location, "a cubin expects the ptxas of CUDA ")
         << kHopper.assembler << " or later, got that of CUDA " << release->getAsString() << " at "
         << ptxas << "; put a newer one first on the PATH, or emit ptx, which the driver assembles";
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

/// Reads ptxas -v: "Compiling entry function 'f' ...", "0 bytes stack frame, 0 bytes spill stores,
/// 0 bytes spill loads", "Used 168 registers, ...".
static RegisterUses parseRegisters(StringRef words) {
  RegisterUses uses;
  RegisterUse *use = nullptr;
  auto numberBefore = [](StringRef line, StringRef what) {
    StringRef text = line.split(what).first.rtrim();
    int64_t number = 0;
    text.substr(text.find_last_of(" ,") + 1).getAsInteger(10, number);
    return number;
  };
  for (StringRef line : llvm::split(words, '\n')) {
    if (line.contains("Compiling entry function '"))
      use = &uses[line.split('\'').second.split('\'').first.str()];
    else if (use && line.contains(" bytes spill stores"))
      use->spilled = numberBefore(line, " bytes spill stores");
    else if (use && line.contains("Used ") && line.contains(" registers"))
      use->registers = numberBefore(line, " registers");
  }
  return uses;
}

FailureOr<std::string> pagefold::hopper::assembleCubin(StringRef ptx, Location location,
                                                       RegisterUses *registers) {
  auto ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    return emitError(location, "a cubin expects CUDA's ptxas on the PATH, got none; install CUDA's "
                               "compiler tools, or emit ptx, which the driver assembles"),
           failure();
  if (failed(checkRelease(*ptxas, versionOf(*ptxas), location)))
    return failure();
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
  const StringRef arguments[] = {*ptxas, arch, "-v", input.path, "-o", output.path};
  const std::optional<StringRef> streams[] = {std::nullopt, StringRef(words.path),
                                              StringRef(words.path)};
  if (llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt, streams, 0, 0, &error) != 0)
    return emitError(location, "ptxas refuses the code: ") << error << words.read(), failure();
  if (registers)
    *registers = parseRegisters(words.read());
  return output.read();
}
