//===- HostCode.cpp - a shared object in memory ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace pagefold::runtime;

namespace {
class File {
public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  File(File &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File &operator=(File &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int fd() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }

  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

private:
  int fd_;
};

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

/// Every segment lies inside the file: the loader maps what a header says, and reading a page past
/// the end of a file is a SIGBUS.
Status checkSegments(std::string_view elf, const Elf64_Ehdr &header) {
  uint64_t table = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  bool inside = header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff <= elf.size() &&
                table <= elf.size() - header.e_phoff;
  for (uint64_t i = 0; inside && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    inside = segment.p_offset <= elf.size() && segment.p_filesz <= elf.size() - segment.p_offset;
  }
  if (!inside)
    return fail(ErrorCode::BadInput, "the code expects ELF segments inside its " +
                                         std::to_string(elf.size()) + " bytes, got some outside");
  return {};
}

/// The dynamic loader trusts what it maps: give it nothing that is not even a shared object.
Status checkElf(std::string_view elf) {
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header))
    return fail(ErrorCode::BadInput, "the code expects an ELF shared object, got " +
                                         std::to_string(elf.size()) + " bytes");
  std::memcpy(&header, elf.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN)
    return fail(ErrorCode::BadInput,
                "the code expects a 64-bit ELF shared object, got other bytes");
  if (header.e_machine != kMachine)
    return fail(ErrorCode::Unsupported, "the code expects ELF machine " + std::to_string(kMachine) +
                                            ", got " + std::to_string(header.e_machine) +
                                            "; compile it for this machine");
  return checkSegments(elf, header);
}

std::string loaderMessage() {
  const char *message = dlerror();
  return message ? message : "no reason given";
}

/// The loader takes two files of one name for the same object, and the name /proc/self/fd/N comes
/// back as soon as N is free: moves to a number whose name no loaded object has.
File withUnusedName(File file) {
  while (file.isOpen()) {
    std::string name = "/proc/self/fd/" + std::to_string(file.fd());
    void *taken = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (!taken)
      break;
    dlclose(taken);
    file = File(fcntl(file.fd(), F_DUPFD_CLOEXEC, file.fd() + 1));
  }
  return file;
}

void *openFromMemory(std::string_view elf) {
  File file(memfd_create("pagefold", MFD_CLOEXEC));
  if (!file.isOpen() || !file.write(elf))
    return nullptr;
  file = withUnusedName(std::move(file));
  if (!file.isOpen())
    return nullptr;
  std::string name = "/proc/self/fd/" + std::to_string(file.fd());
  return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Where there is no memfd or no /proc: a file that only this user can read, gone once it is
/// mapped.
Result<void *> openFromFile(std::string_view elf) {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/pagefold-XXXXXX";
  File file(mkostemp(path.data(), O_CLOEXEC)); // mode 0600
  if (!file.isOpen())
    return fail(ErrorCode::NotFound, "cannot make a file for the code at '" + path +
                                         "': " + std::strerror(errno) + "; set TMPDIR");
  bool written = file.write(elf);
  void *handle = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::string reason = written ? (handle ? "" : loaderMessage()) : std::strerror(errno);
  unlink(path.c_str());
  if (!handle)
    return fail(ErrorCode::BadInput, "cannot map the code: " + reason);
  return handle;
}
} // namespace

Result<HostCode> HostCode::load(std::string_view elf) {
  if (Status status = checkElf(elf); !status)
    return tl::unexpected(status.error());
  if (void *handle = openFromMemory(elf))
    return HostCode(handle);
  Result<void *> handle = openFromFile(elf);
  if (!handle)
    return tl::unexpected(handle.error());
  return HostCode(*handle);
}

HostCode::~HostCode() {
  if (handle_)
    dlclose(handle_);
}

Result<HostKernel> HostCode::kernel(const std::string &symbol) const {
  if (void *address = dlsym(handle_, symbol.c_str()))
    return reinterpret_cast<HostKernel>(address);
  return fail(ErrorCode::BadInput,
              "the code expects a kernel '" + symbol + "' that the plan names, got none");
}
