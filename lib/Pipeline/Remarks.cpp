//===- Remarks.cpp - what the passes say of their choices -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Pipeline/Remarks.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace {

class LineStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit LineStreamer(llvm::raw_ostream &os) : os(os) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    os << remark.getRemarkTypeString() << ' ' << remark.getCombinedCategoryName() << ": in "
       << remark.getFunction() << ": ";
    auto values = [&](bool isText) {
      for (const auto &arg : remark.getArgs())
        if ((arg.key == "Remark") == isText)
          os << (isText ? "" : ": ") << arg.val;
    };
    values(/*isText=*/true); // then, after it, the reason
    values(/*isText=*/false);
    os << '\n';
  }

private:
  llvm::raw_ostream &os;
};

} // namespace

void pagefold::streamRemarks(MLIRContext &context, llvm::raw_ostream &os) {
  remark::RemarkCategories all{std::nullopt, ".*", ".*", ".*", ".*"};
  // Fails only where the context has an engine already.
  (void)remark::enableOptimizationRemarks(context, std::make_unique<LineStreamer>(os),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}
