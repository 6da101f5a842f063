//===- CompilerIdentity.cpp - which build compiles ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompilerIdentity.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"
#include <cstring>
#include <elf.h>
#include <link.h>

using namespace llvm;

namespace {

/// Of one loaded object: an address in it, and what its notes say.
struct Object {
  uintptr_t address;
  std::string buildId;
};

} // namespace

/// The build id among the notes of a segment; empty where there is none.
static std::string findBuildId(ArrayRef<uint8_t> notes, size_t alignment) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes.data(), sizeof(note));
    size_t name = sizeof(note), description = alignTo(name + note.n_namesz, alignment);
    size_t end = description + note.n_descsz;
    if (end > notes.size())
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes.data() + name, "GNU", 4) == 0)
      return toHex(notes.slice(description, note.n_descsz), /*LowerCase=*/true);
    notes = notes.drop_front(std::min(alignTo(end, alignment), notes.size()));
  }
  return {};
}

static bool holds(const dl_phdr_info &object, uintptr_t address) {
  return any_of(ArrayRef(object.dlpi_phdr, object.dlpi_phnum), [&](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD &&
           address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  });
}

static int visit(dl_phdr_info *info, size_t, void *data) {
  auto &wanted = *static_cast<Object *>(data);
  if (!holds(*info, wanted.address))
    return 0;
  for (const ElfW(Phdr) &segment : ArrayRef(info->dlpi_phdr, info->dlpi_phnum))
    if (segment.p_type == PT_NOTE && wanted.buildId.empty())
      wanted.buildId =
          findBuildId({reinterpret_cast<const uint8_t *>(info->dlpi_addr + segment.p_vaddr),
                       static_cast<size_t>(segment.p_memsz)},
                      segment.p_align == 8 ? 8 : 4);
  return 1;
}

static std::string identify() {
  // LLVM and MLIR may be libraries of their own, or in this object.
  const uintptr_t addresses[] = {reinterpret_cast<uintptr_t>(&pagefold::jit::compilerIdentity),
                                 reinterpret_cast<uintptr_t>(&sys::getHostCPUName),
                                 reinterpret_cast<uintptr_t>(&mlir::verify)};
  std::string identity = "pagefold " PAGEFOLD_VERSION;
  for (uintptr_t address : addresses) {
    Object object{address, {}};
    dl_iterate_phdr(visit, &object);
    if (object.buildId.empty())
      return {};
    identity += " " + object.buildId;
  }
  return identity;
}

const std::string &pagefold::jit::compilerIdentity() {
  static const std::string identity = identify();
  return identity;
}
