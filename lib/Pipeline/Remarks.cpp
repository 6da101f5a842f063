//===- Remarks.cpp - what the passes say of their choices -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace pagefold;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

class Remarks::Streamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::vector<PlacedRemark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &from) override {
    runtime::Remark remark;
    remark.kind = from.getRemarkTypeString().lower();
    remark.pass = from.getCombinedCategoryName().str();
    remark.name = from.getRemarkName().str();
    for (const auto &arg : from.getArgs())
      (arg.key == "Remark" ? remark.text : remark.reason) += arg.val;
    remarks.push_back({from.getFunction().str(), from.getLocation(), std::move(remark)});
  }

private:
  std::vector<PlacedRemark> &remarks;
};

void Remarks::collect(MLIRContext &context) {
  remark::RemarkCategories all{std::nullopt, ".*", ".*", ".*", ".*"};
  // Fails only where the context has an engine already.
  (void)remark::enableOptimizationRemarks(context, std::make_unique<Streamer>(remarks),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}

static constexpr StringLiteral kRemarksAttr = "pagefold.remarks";

void Remarks::take(ModuleOp module) {
  auto kept = module->getAttrOfType<ArrayAttr>(kRemarksAttr);
  if (!kept)
    return;
  std::vector<PlacedRemark> before;
  for (auto entry : kept.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef key) {
      auto value = entry.getAs<StringAttr>(key);
      return value ? value.str() : std::string();
    };
    runtime::Remark remark{text("kind"), text("pass"), text("name"), text("text"), text("reason")};
    before.push_back({text("function"), UnknownLoc::get(module.getContext()), std::move(remark)});
  }
  remarks.insert(remarks.begin(), before.begin(), before.end());
  module->removeAttr(kRemarksAttr);
}

void Remarks::keep(ModuleOp module) const {
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  for (const PlacedRemark &placed : remarks) {
    const runtime::Remark &remark = placed.remark;
    NamedAttrList entry;
    auto put = [&](StringRef key, const std::string &value) {
      if (!value.empty())
        entry.set(key, builder.getStringAttr(value));
    };
    put("function", placed.function);
    put("kind", remark.kind);
    put("pass", remark.pass);
    put("name", remark.name);
    put("text", remark.text);
    put("reason", remark.reason);
    entries.push_back(entry.getDictionary(module.getContext()));
  }
  if (!entries.empty())
    module->setAttr(kRemarksAttr, builder.getArrayAttr(entries));
}

std::string Remarks::lines() const {
  std::string lines;
  for (const PlacedRemark &placed : remarks)
    lines += runtime::remarkLine(placed.remark, placed.function) + "\n";
  return lines;
}

//===----------------------------------------------------------------------===//
// Fallbacks
//===----------------------------------------------------------------------===//

/// Every row can be accepted by an option that asks for what the fallback does, or by a graph that
/// does not need it: what was asked for is no fallback, and has no remark here.
static constexpr FallbackRow kFallbacks[] = {
    {"attn-fuse", "NotFused",
     "write the op where attention or append can take it in, or ask for kernels of their own "
     "(fuse off)"},
    {"tile-online-softmax", "OnlineSoftmax",
     "leave contract, map, softmax and contract as attn-to-tile writes them, or ask for the "
     "baseline (online-softmax off)"},
    {"tile-stage-queries", "StageQueries",
     "change what the reason names, or ask for queries that stay as they are (stage-queries off)"},
    {"tile-split-rows", "SplitRows",
     "change what the reason names, or ask for one space (split-rows off)"},
    {"tile-select-schedule", "OneThreadARow",
     "change what the reasons name, or ask for one thread a row (form simt)"},
    {"tile-split-kv", "SplitKV", "leave the online softmax on, or ask for one split"},
    {"tile-to-hopper", "Gather",
     "choose a page size that is a multiple of 8 and divides the KV tile, or is a multiple of it"},
    {"tile-to-hopper", "OneRange",
     "write a mask whose visible keys are few intervals, or ask for one thread a row (form simt), "
     "which tests each tile"},
};

ArrayRef<FallbackRow> pagefold::fallbackTable() { return kFallbacks; }

static const FallbackRow *fallbackOf(const runtime::Remark &remark) {
  const FallbackRow *row = llvm::find_if(kFallbacks, [&](const FallbackRow &row) {
    return remark.kind == "missed" && remark.pass == row.pass && remark.name == row.name;
  });
  return row == std::end(kFallbacks) ? nullptr : row;
}

LogicalResult Remarks::refuseFallbacks() {
  LogicalResult result = success();
  for (; refused < remarks.size(); ++refused) {
    const PlacedRemark &placed = remarks[refused];
    const FallbackRow *row = fallbackOf(placed.remark);
    if (!row)
      continue;
    const std::string &reason = placed.remark.reason;
    emitError(placed.location) << "strict: in " << placed.function << ": " << row->pass
                               << " falls back: " << placed.remark.text
                               << (reason.empty() ? "" : ": ") << reason << "; " << row->instead;
    result = failure();
  }
  return result;
}
