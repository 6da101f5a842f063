//===- Device.cpp - the accelerator that a replay is timed for ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "File.h"
#include "JsonFields.h"

#include <algorithm>

namespace pagefold::report {

using runtime::ErrorCode;
using runtime::fail;

double Device::gemmFlops(DType type) const {
  switch (type) {
  case DType::FP8:
    return flops8 * gemmEfficiency8;
  case DType::F32:
    return flops16 / 2 * gemmEfficiency16; // as TF32
  case DType::F16:
  case DType::BF16:
    return flops16 * gemmEfficiency16;
  }
  return 0;
}

uint64_t Device::pagesFor(const Model &model) const {
  double room = memory * memoryFraction - reserve - model.weightBytes();
  double page = model.kvBytesPerToken() * model.pageSize;
  return room > 0 ? uint64_t(room / page) : 0;
}

namespace {

Device dataSheet(const char *name, double tflops16, double tflops8, double terabytesPerSecond,
                 double gigabytes) {
  Device device;
  device.name = name;
  device.flops16 = tflops16 * 1e12;
  device.flops8 = tflops8 * 1e12;
  device.bandwidth = terabytesPerSecond * 1e12;
  device.memory = gigabytes * 1e9;
  return device;
}

} // namespace

const std::vector<Device> &knownDevices() {
  // Dense rates, without sparsity. Memory is what the driver reports (143,771, 81,559 and 81,920
  // MiB), which is more than the round numbers of the data sheets.
  static const std::vector<Device> devices = {
      dataSheet("H200", 989, 1979, 4.8, 150.75),
      dataSheet("H100", 989, 1979, 3.35, 85.52),
      dataSheet("A100", 312, 312, 2.039, 85.90), // no fp8 units
  };
  return devices;
}

runtime::Result<Device> parseDevice(std::string_view text, const std::string &name) {
  runtime::Result<nlohmann::json> object = parseObject(text, name);
  if (!object)
    return tl::unexpected(object.error());
  JsonFields fields(*object, name);
  double tflops = fields.positive("peak_tflops");
  Device device = dataSheet("", tflops, fields.positive("fp8_tflops", tflops),
                            fields.positive("bandwidth_tb_s"), fields.positive("memory_gb"));
  device.name = fields.text("name", name.substr(0, name.rfind(".json")));
  device.overhead = fields.positive("overhead_ms", device.overhead * 1e3) / 1e3;
  device.reserve = fields.positive("reserve_gb", device.reserve / 1e9) * 1e9;
  struct Fraction {
    const char *key;
    double &value;
  };
  for (Fraction fraction : {Fraction{"memory_fraction", device.memoryFraction},
                            Fraction{"weight_efficiency", device.weightEfficiency},
                            Fraction{"kv_efficiency", device.kvEfficiency},
                            Fraction{"gemm_efficiency", device.gemmEfficiency16},
                            Fraction{"gemm_efficiency_fp8", device.gemmEfficiency8},
                            Fraction{"attention_efficiency", device.attentionEfficiency}}) {
    fraction.value = fields.positive(fraction.key, fraction.value);
    if (fraction.value > 1)
      fields.setError(std::string("expects \"") + fraction.key + "\" from 0 to 1, got " +
                      std::to_string(fraction.value));
  }
  if (fields.error())
    return tl::unexpected(*fields.error());
  return device;
}

runtime::Result<Device> readDevice(const std::string &nameOrPath) {
  std::string known;
  for (const Device &device : knownDevices()) {
    if (device.name == nameOrPath)
      return device;
    known += (known.empty() ? "" : ", ") + device.name;
  }
  runtime::Result<std::string> text = readFile(nameOrPath);
  if (!text)
    return fail(ErrorCode::NotFound, "expects a device, one of " + known +
                                         " or a JSON file; got '" + nameOrPath + "' (" +
                                         text.error().message() + ")");
  return parseDevice(*text, baseName(nameOrPath));
}

} // namespace pagefold::report
