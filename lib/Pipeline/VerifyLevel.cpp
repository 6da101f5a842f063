//===- VerifyLevel.cpp - what holds after each level ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Pipeline/Passes.h"
#include "llvm/ADT/StringSwitch.h"

namespace pagefold {
#define GEN_PASS_DEF_VERIFYLEVEL
#include "pagefold/Pipeline/Passes.h.inc"
} // namespace pagefold

using namespace mlir;

namespace {

/// The dialects of a level, and single ops of other dialects that it may hold.
struct Level {
  StringLiteral name;
  ArrayRef<StringLiteral> dialects;
  ArrayRef<StringLiteral> ops;
};

constexpr StringLiteral kAttnDialects[] = {"builtin", "func",   "attn",  "arith",
                                           "math",    "linalg", "tensor"};
constexpr StringLiteral kTileDialects[] = {"builtin", "func",   "tile",  "arith",
                                           "math",    "linalg", "memref"};
constexpr StringLiteral kHostDialects[] = {"builtin", "func",  "scf",  "vector",
                                           "memref",  "arith", "math", "linalg"};
constexpr StringLiteral kLLVMDialects[] = {"builtin", "llvm"};
constexpr StringLiteral kHopperDialects[] = {"builtin", "gpu",    "hopper", "func", "scf",
                                             "vector",  "memref", "arith",  "math", "linalg"};
constexpr StringLiteral kNVVMDialects[] = {"builtin", "gpu", "llvm", "nvvm"};
constexpr StringLiteral kPlan[] = {"tile.plan"};
// One instruction each, where upstream has the op and no other level has a word for it.
constexpr StringLiteral kHopperOps[] = {"tile.plan", "nvvm.griddepcontrol", "nvvm.shfl.sync"};

constexpr Level kLevels[] = {{"attn", kAttnDialects, {}},
                             {"tile", kTileDialects, {}},
                             {"host", kHostDialects, kPlan},
                             {"llvm", kLLVMDialects, kPlan},
                             {"hopper", kHopperDialects, kHopperOps},
                             {"nvvm", kNVVMDialects, kPlan}};

/// The pass after which ops of a dialect are gone.
StringRef removedBy(StringRef dialect) {
  return llvm::StringSwitch<StringRef>(dialect)
      .Cases({"attn", "tensor"}, "attn-to-tile")
      .Case("tile", "tile-to-host")
      .Case("hopper", "hopper-to-nvvm")
      .Case("linalg", "convert-linalg-to-loops")
      .Case("scf", "convert-scf-to-cf")
      .Cases({"vector", "memref", "arith", "func"}, "host-to-llvm")
      .Case("math", "host-expand-math or host-to-llvm")
      .Default("a pass of an earlier level");
}

struct VerifyLevel : pagefold::impl::VerifyLevelBase<VerifyLevel> {
  using Base::Base;

  void runOnOperation() override {
    const Level *found = llvm::find_if(kLevels, [&](const Level &l) { return l.name == level; });
    if (found == std::end(kLevels)) {
      getOperation().emitError(
          "expects the level to be attn, tile, host, llvm, hopper or nvvm, got ")
          << level;
      return signalPassFailure();
    }
    bool failed = false;
    getOperation().walk([&](Operation *op) {
      StringRef dialect = op->getName().getDialectNamespace(), name = op->getName().getStringRef();
      if (llvm::is_contained(found->dialects, dialect) || llvm::is_contained(found->ops, name))
        return;
      op->emitOpError("is not part of level ")
          << level << ": " << removedBy(dialect) << " should have removed it";
      failed = true;
    });
    if (failed)
      signalPassFailure();
  }
};

} // namespace
