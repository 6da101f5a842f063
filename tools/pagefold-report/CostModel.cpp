//===- CostModel.cpp - how long a step of serving takes -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostModel.h"

#include <algorithm>

namespace pagefold::report {

uint64_t StepShape::prefillTokens() const {
  uint64_t sum = 0;
  for (const PrefillChunk &chunk : prefills)
    sum += chunk.newTokens;
  return sum;
}

double prefillAttentionFlops(const Model &model, double newTokens, double context) {
  double pairs = newTokens * context + newTokens * (newTokens + 1) / 2;
  return 4.0 * model.layers * model.queryHeads * model.headDim * pairs;
}

CostModel::CostModel(Model model, Device device, std::optional<KernelTable> kernels)
    : theModel(std::move(model)), theDevice(std::move(device)), theKernels(std::move(kernels)),
      linearElements(theModel.linearElements()), kvBytes(theModel.kvBytesPerToken()) {}

double CostModel::matrixProduct(double rows, double elements, DType type,
                                bool &computeBound) const {
  double compute = 2 * rows * elements / theDevice.gemmFlops(type);
  double read = elements * bytesOf(type) / (theDevice.bandwidth * theDevice.weightEfficiency);
  computeBound = compute > read;
  return std::max(compute, read);
}

double CostModel::decodeAttention(const StepShape &shape) const {
  if (shape.decodes == 0)
    return 0;
  double efficiency = theDevice.kvEfficiency;
  if (theKernels && theKernels->hasDecode())
    efficiency =
        theKernels->decodeEfficiency(shape.decodes, double(shape.decodeContext) / shape.decodes);
  return shape.decodeContext * kvBytes / (theDevice.bandwidth * efficiency);
}

void CostModel::addPrefillAttention(const PrefillChunk &chunk, StepCost &cost) const {
  double flops = prefillAttentionFlops(theModel, chunk.newTokens, chunk.context);
  double bytes = (double(chunk.context) + chunk.newTokens) * kvBytes;
  double compute = flops / theDevice.flops16, read = bytes / theDevice.bandwidth;
  if (theKernels && theKernels->hasPrefill()) {
    // The measured efficiency is that of the whole call, whichever bound it met.
    double efficiency = theKernels->prefillEfficiency(chunk.newTokens, chunk.context);
    compute /= efficiency;
    read /= efficiency;
  } else {
    compute /= theDevice.attentionEfficiency;
    read /= theDevice.kvEfficiency;
  }
  cost.prefillAttention += std::max(compute, read);
  if (compute > read)
    cost.prefillComputeBound += compute;
}

StepCost CostModel::price(const StepShape &shape) const {
  StepCost cost;
  cost.overhead = theDevice.overhead;
  cost.linear = matrixProduct(double(shape.tokens()), linearElements, theModel.weights,
                              cost.linearComputeBound);
  // Engines keep the output projection in 16 bits where the layers are in fp8.
  DType head = theModel.weights == DType::FP8 ? DType::BF16 : theModel.weights;
  bool ignored;
  if (shape.sampledRows)
    cost.lmHead = matrixProduct(shape.sampledRows, theModel.lmHeadElements(), head, ignored);
  cost.decodeAttention = decodeAttention(shape);
  for (const PrefillChunk &chunk : shape.prefills)
    addPrefillAttention(chunk, cost);
  return cost;
}

} // namespace pagefold::report
