//===- HostTarget.cpp - can this CPU run that code ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

using namespace pagefold::runtime;

namespace {
#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#else
#error "the host target has no name for this architecture"
#endif

/// Where LLVM's name of a feature and the kernel's differ in more than '.' and '-' for '_'.
struct FeatureRow {
  std::string_view llvm, kernel;
};
constexpr FeatureRow kRenamed[] = {
    {"bmi", "bmi1"},
    {"sha", "sha_ni"},
    {"sse3", "pni"},
    {"lzcnt", "abm"},
    {"pclmul", "pclmulqdq"},
    {"rdrnd", "rdrand"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512vp2intersect", "avx512_vp2intersect"},
    {"avxvnni", "avx_vnni"},
    {"avxifma", "avx_ifma"},
    {"avxneconvert", "avx_ne_convert"},
    {"avxvnniint8", "avx_vnni_int8"},
    {"avxvnniint16", "avx_vnni_int16"},
};

/// The features that loops over numbers are compiled to. LLVM also names what only an operating
/// system or a hand-written call would use (fsgsbase, invpcid, x87 ...), which kernels lack names
/// for or hide in a guest: those are not checked.
bool mayBeCompiledTo(std::string_view feature) {
  constexpr std::string_view prefixes[] = {"sse",  "ssse",    "avx",    "amx",   "fma",    "f16c",
                                           "bmi",  "adx",     "gfni",   "lzcnt", "popcnt", "movbe",
                                           "vaes", "vpclmul", "pclmul", "aes",   "sha"};
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return feature.starts_with(prefix); });
}

/// The kernel's flags of the first CPU: it clears what it does not save on a context switch, which
/// cpuid alone does not tell.
const std::set<std::string> &cpuFlags() {
  static const std::set<std::string> flags = [] {
    std::set<std::string> found;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("flags"))
        continue;
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        found.insert(word);
      break;
    }
    return found;
  }();
  return flags;
}

std::string kernelName(std::string_view feature) {
  for (const FeatureRow &row : kRenamed)
    if (row.llvm == feature)
      return std::string(row.kernel);
  std::string name(feature);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

std::string missingFeatures(const std::vector<std::string> &features) {
  std::string missing;
  const std::set<std::string> &flags = cpuFlags();
  if (kArchitecture != "x86_64" || flags.empty())
    return missing; // elsewhere the triple has to do
  for (const std::string &written : features) {
    if (written.starts_with('-'))
      continue;
    std::string_view feature = std::string_view(written).substr(written.starts_with('+') ? 1 : 0);
    // avx10 and evex512 are ways to talk about avx512*, which are listed beside them.
    if (!mayBeCompiledTo(feature) || feature.starts_with("avx10"))
      continue;
    if (!flags.contains(kernelName(feature)))
      missing += (missing.empty() ? "" : ", ") + std::string(feature);
  }
  return missing;
}
} // namespace

Status pagefold::runtime::checkHostTarget(const TargetPlan &target) {
  std::string_view triple = target.triple;
  if (triple.substr(0, triple.find('-')) != kArchitecture ||
      triple.find("linux") == std::string_view::npos)
    return fail(ErrorCode::Unsupported, "cannot load the artifact: this machine expects code for " +
                                            std::string(kArchitecture) + " Linux, got '" +
                                            target.triple + "'; compile it for this machine");
  if (std::string missing = missingFeatures(target.features); !missing.empty())
    return fail(ErrorCode::Unsupported, "cannot load the artifact: its code was made for '" +
                                            target.cpu + "' and expects a CPU with " + missing +
                                            ", which this one lacks; compile it for this machine");
  return {};
}
