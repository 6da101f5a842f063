//===- CostModel.h - how long a step of serving takes -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is one forward pass over a batch: one token of every decoding request and a chunk of
// every prefilling one. Its time is a *sum* of what runs one after the other, not one roofline:
//
//   T = c                                                           between two steps
//     + max(2 n N / (F e_g), N w / (BW e_w))                        all matrix products, n tokens
//     + the same for the output projection, with the sampled rows
//     + sum over decodes  of  ctx K / (BW e_k)                      reading K and V
//     + sum over prefills of  max(4 L H d (q s + q (q + 1) / 2) / (F16 e_a), (s + q) K / (BW e_k))
//
// N: elements of the linear weights, w their bytes; K: bytes of K and V a token; q new tokens
// after s that were there before. A prefix hit cuts n, but not the attention over s.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_COSTMODEL_H
#define PAGEFOLD_REPORT_COSTMODEL_H

#include "Device.h"
#include "KernelTable.h"

#include <optional>
#include <vector>

namespace pagefold::report {

/// New prompt tokens of one request, after those whose K and V are in the cache.
struct PrefillChunk {
  uint32_t newTokens;
  uint32_t context;
};

struct StepShape {
  uint32_t decodes = 0;       ///< requests that compute one token each
  uint64_t decodeContext = 0; ///< tokens all decodes read together
  std::vector<PrefillChunk> prefills;
  uint32_t sampledRows = 0; ///< rows that go through the output projection

  uint64_t prefillTokens() const;
  uint64_t tokens() const { return decodes + prefillTokens(); }
};

/// Seconds, by what they are spent on. total() is the step.
struct StepCost {
  double overhead = 0;
  double linear = 0;
  double lmHead = 0;
  double decodeAttention = 0;
  double prefillAttention = 0;
  bool linearComputeBound = false;
  double prefillComputeBound = 0; ///< the part of prefillAttention bound by arithmetic

  double total() const { return overhead + linear + lmHead + decodeAttention + prefillAttention; }
};

/// Multiply-adds of causal attention, counted as two operations, over all layers.
double prefillAttentionFlops(const Model &model, double newTokens, double context);

class CostModel {
public:
  CostModel(Model model, Device device, std::optional<KernelTable> kernels = std::nullopt);

  StepCost price(const StepShape &shape) const;

  const Model &model() const { return theModel; }
  const Device &device() const { return theDevice; }
  const std::optional<KernelTable> &kernels() const { return theKernels; }
  /// The same constants and efficiencies for another model or device.
  CostModel with(Model model) const { return CostModel(std::move(model), theDevice, theKernels); }
  CostModel with(Device device) const { return CostModel(theModel, std::move(device), theKernels); }

private:
  double matrixProduct(double rows, double elements, DType type, bool &computeBound) const;
  double decodeAttention(const StepShape &shape) const;
  /// Adds to cost.prefillAttention and cost.prefillComputeBound.
  void addPrefillAttention(const PrefillChunk &chunk, StepCost &cost) const;

  Model theModel;
  Device theDevice;
  std::optional<KernelTable> theKernels;
  double linearElements, kvBytes; // kept: price() runs once a step
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_COSTMODEL_H
