//===- ExpandBounds.cpp - the pass attn-expand-bounds ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Dialect/Attn/Transforms/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

namespace pagefold::attn {
#define GEN_PASS_DEF_ATTNEXPANDBOUNDS
#include "pagefold/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace pagefold::attn

using namespace mlir;
using namespace pagefold::attn;

/// "decode_b64_q1_kv8192": a symbol, of kernels too, that says which variant a profile shows.
static std::string variantName(StringRef graph, BoundsAttr bounds) {
  std::string name = (graph + "_b" + Twine(bounds.getBatch()) + "_q" + Twine(bounds.getQLen()) +
                      "_kv" + Twine(bounds.getKvLen()))
                         .str();
  if (bounds.getTokens())
    name += "_t" + std::to_string(bounds.getTokens());
  return name;
}

/// The list that the option spells, "batch 8, q_len 1, kv_len 1024; batch ...".
static FailureOr<SmallVector<BoundsAttr>> parseList(ModuleOp module, StringRef text) {
  SmallVector<BoundsAttr> list;
  SmallVector<StringRef> entries;
  text.split(entries, ';');
  for (StringRef entry : entries) {
    std::string attribute = ("#attn.bounds<" + entry.trim() + ">").str(), reason;
    BoundsAttr bounds;
    {
      ScopedDiagnosticHandler handler(module.getContext(),
                                      [&](Diagnostic &error) { reason = error.str(); });
      bounds = dyn_cast_or_null<BoundsAttr>(parseAttribute(attribute, module.getContext()));
    }
    if (!bounds)
      return module.emitError("option bounds expects 'batch 8, q_len 1, kv_len 1024' and perhaps "
                              "', tokens 8', of several with ';' between, got '")
             << entry.trim() << "': " << reason;
    list.push_back(bounds);
  }
  return list;
}

namespace {

struct AttnExpandBounds : pagefold::attn::impl::AttnExpandBoundsBase<AttnExpandBounds> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(declare()))
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isa_and_nonnull<ArrayAttr>(function->getAttr(kBoundsName)) && failed(expand(function)))
        return signalPassFailure();
  }

private:
  /// The option's list in place of what the functions declare.
  LogicalResult declare() {
    if (bounds.empty())
      return success();
    FailureOr<SmallVector<BoundsAttr>> list = parseList(getOperation(), bounds);
    if (failed(list) || failed(verifyBoundsList([&] { return getOperation().emitError(); }, *list)))
      return failure();
    auto attribute =
        ArrayAttr::get(&getContext(), SmallVector<Attribute>(list->begin(), list->end()));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        function->setAttr(kBoundsName, attribute);
    return success();
  }

  LogicalResult expand(func::FuncOp function) {
    SmallVector<BoundsAttr> list = declaredBounds(function);
    if (list.size() == 1) {
      function->setAttr(kBoundsName, list.front());
      return success();
    }
    OpBuilder builder(function);
    for (BoundsAttr entry : list) {
      std::string name = variantName(function.getName(), entry);
      if (getOperation().lookupSymbol(name))
        return function.emitError("expects no function '")
               << name << "' beside '" << function.getName() << "', whose variant for " << entry
               << " has that name";
      auto variant = cast<func::FuncOp>(builder.clone(*function));
      variant.setName(name);
      variant->setAttr(kBoundsName, entry);
      variant->setAttr(kGraphName, function.getNameAttr());
      ++numVariants;
    }
    function.erase();
    return success();
  }
};

} // namespace
