//===- KernelTable.h - measured attention times by shape --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where attention was measured, a replay takes its time from the measurements. A table is a JSON
// file, one kernel family on one device, each row one call over one layer:
//
//   {"format": "pagefold-kernel-times", "version": 1, "device": "H200",
//    "query_heads": 32, "kv_heads": 8, "head_dim": 128, "kv_dtype": "bfloat16",
//    "page_size": 16, "layout": "nhd",
//    "decode":  [{"batch": 32, "context": 8192, "ms": 0.240}, ...],
//    "prefill": [{"new_tokens": 512, "context": 4096, "ms": 0.11}, ...]}
//
// `context` counts the tokens a decode reads; for a prefill, those before the new ones.
//
// Between the rows we interpolate the *efficiency*, the ideal time over the measured one, not
// the time: it varies little with the shape, so that a sparse table serves. Rows are weighted by
// the inverse fourth power of their distance in log2 of the two shape numbers; a shape outside
// the table takes the efficiency of the rows nearest to it.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_KERNELTABLE_H
#define PAGEFOLD_REPORT_KERNELTABLE_H

#include "Device.h"

#include <string>
#include <string_view>
#include <vector>

namespace pagefold::report {

class KernelTable {
public:
  struct Row {
    double x; ///< log2 of the batch, or of the new tokens
    double y; ///< log2 of the context, or of all tokens read
    double efficiency;
  };

  /// Of bandwidth, for a batch of decodes with this mean context. Needs hasDecode().
  double decodeEfficiency(double batch, double meanContext) const;
  /// Of the roofline, for a chunk of new tokens after a context. Needs hasPrefill().
  double prefillEfficiency(double newTokens, double context) const;
  bool hasDecode() const { return !decode.empty(); }
  bool hasPrefill() const { return !prefill.empty(); }
  size_t rows() const { return decode.size() + prefill.size(); }

  std::string name;   ///< the file's name
  std::string layout; ///< as the file says it, "nhd" or "hnd"
  uint32_t pageSize = 0;

private:
  friend runtime::Result<KernelTable> parseKernelTable(std::string_view, const std::string &,
                                                       const Model &, const Device &);
  std::vector<Row> decode, prefill;
};

/// Fails where the table's shape is not the model's: other heads are other kernels.
runtime::Result<KernelTable> readKernelTable(const std::string &path, const Model &model,
                                             const Device &device);
runtime::Result<KernelTable> parseKernelTable(std::string_view text, const std::string &name,
                                              const Model &model, const Device &device);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_KERNELTABLE_H
