//===- CompileKey.cpp - what an artifact is kept by -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileKey.h"
#include "CompilerIdentity.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "pagefold/Pipeline/Pipeline.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/Hopper/Cubin.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::jit;

std::string CompileKey::hex() const { return llvm::toHex(bytes, /*LowerCase=*/true); }

namespace {

/// Hashes fields, each with its size before it: no two sequences of fields are the same bytes.
class Hasher {
public:
  void add(StringRef field) {
    add(static_cast<int64_t>(field.size()));
    blake.update(field);
  }
  void add(int64_t number) {
    uint8_t bytes[8];
    llvm::support::endian::write64le(bytes, static_cast<uint64_t>(number));
    blake.update(bytes);
  }
  CompileKey finish() { return {blake.final<32>()}; }

private:
  llvm::BLAKE3 blake;
};

} // namespace

/// The module without what does not reach the artifact.
static std::string canonicalBytes(ModuleOp graph) {
  OwningOpRef<ModuleOp> copy(graph.clone());
  auto nowhere = UnknownLoc::get(graph.getContext());
  copy->walk([&](Operation *op) {
    op->setLoc(nowhere);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(nowhere);
  });
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  // Fails only for versions of bytecode that are older than ours.
  if (failed(writeBytecodeToFile(*copy, os)))
    llvm::report_fatal_error("cannot write bytecode of its current version");
  return bytes;
}

static void addOptions(Hasher &hasher, const CompileOptions &options) {
  for (const OptionRow &row : optionTable()) {
    if (row.scope == OptionRow::Cache)
      continue;
    hasher.add(row.name);
    std::visit([&](auto field) { hasher.add(options.*field); }, row.field);
  }
}

static void addTarget(Hasher &hasher, const CompileOptions &options) {
  if (options.isCuda()) {
    const hopper::Chip &chip = hopper::kHopper;
    for (StringRef field : {chip.triple, chip.name, chip.features})
      hasher.add(field);
    if (options.code == "cubin")
      hasher.add(hopper::ptxasVersion().value_or("none"));
    return;
  }
  host::HostTarget target = hostTarget(options);
  hasher.add(target.triple);
  hasher.add(target.cpu);
  hasher.add(llvm::join(target.features, ","));
}

CompileKey jit::compileKey(ModuleOp graph, StringRef source, const CompileOptions &options) {
  Hasher hasher;
  hasher.add(compilerIdentity());
  addTarget(hasher, options);
  addOptions(hasher, options);
  hasher.add(options.keepGraph ? source : StringRef());
  hasher.add(canonicalBytes(graph));
  return hasher.finish();
}
