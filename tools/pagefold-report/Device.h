//===- Device.h - the accelerator that a replay is timed for ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data-sheet numbers of an accelerator, and the fractions of them that a serving engine reaches.
// The fractions are constants of the cost model and are printed with every report. They were
// chosen against published figures: see `pagefold-report check-cost-model`.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_DEVICE_H
#define PAGEFOLD_REPORT_DEVICE_H

#include "Model.h"

#include <string>
#include <string_view>
#include <vector>

namespace pagefold::report {

struct Device {
  std::string name;
  double flops16 = 0;          ///< dense bf16 and f16 matrix FLOP/s
  double flops8 = 0;           ///< dense fp8 matrix FLOP/s; flops16 where the chip has none
  double bandwidth = 0;        ///< bytes/s
  double memory = 0;           ///< bytes, as the driver reports them
  double memoryFraction = 0.9; ///< of memory, that the engine may take
  double reserve = 2e9;        ///< bytes of that for activations, graphs and the driver
  double overhead = 0.002;     ///< s a step between the work of two steps: c

  double weightEfficiency = 0.85;    ///< e_w: of bandwidth, reading weights
  double kvEfficiency = 0.85;        ///< e_k: of bandwidth, reading K and V
  double gemmEfficiency16 = 0.70;    ///< e_g: of flops16, matrix products
  double gemmEfficiency8 = 0.55;     ///< e_g: of flops8, matrix products
  double attentionEfficiency = 0.50; ///< e_a: of flops16, prefill attention

  /// The matrix rate of a type and the fraction of it that is reached, multiplied.
  double gemmFlops(DType type) const;
  /// The pages that fit beside the model's weights. 0 where the weights alone do not fit.
  uint64_t pagesFor(const Model &model) const;
};

/// The devices known by name.
const std::vector<Device> &knownDevices();

/// One of knownDevices() by name, or else a JSON file that gives peak_tflops, bandwidth_tb_s,
/// memory_gb and, where they differ, fp8_tflops, memory_fraction, reserve_gb, overhead_ms and
/// the efficiencies.
runtime::Result<Device> readDevice(const std::string &nameOrPath);
runtime::Result<Device> parseDevice(std::string_view text, const std::string &name);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_DEVICE_H
