//===- Format.cpp - numbers for people ------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace pagefold::report {

std::string fixed(double value, int digits) {
  std::array<char, 64> text;
  int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  std::string result(text.data(), size_t(length) < text.size() ? size_t(length) : text.size() - 1);
  // A rounded-off sign reads as a fall where there is none.
  if (result.find_first_not_of("-0.") == std::string::npos && result[0] == '-')
    result.erase(0, 1);
  return result;
}

std::string percent(double share, int digits) { return fixed(100 * share, digits) + " %"; }

std::string signedPercent(double change, int digits) {
  std::string text = percent(change, digits);
  return text[0] == '-' ? text : "+" + text;
}

std::string grouped(double count) {
  std::string digits = fixed(std::round(count), 0);
  for (int at = int(digits.size()) - 3; at > (digits[0] == '-' ? 1 : 0); at -= 3)
    digits.insert(size_t(at), ",");
  return digits;
}

std::string duration(double seconds) {
  double size = std::fabs(seconds);
  if (size >= 100)
    return grouped(seconds) + " s";
  if (size >= 10)
    return fixed(seconds, 1) + " s";
  if (size >= 1)
    return fixed(seconds, 2) + " s";
  if (size == 0)
    return "0 s";
  if (size < 1e-4)
    return fixed(seconds * 1e6, size < 1e-5 ? 2 : 1) + " us";
  double milliseconds = seconds * 1e3;
  return fixed(milliseconds, size >= 0.1 ? 0 : size >= 0.01 ? 1 : 2) + " ms";
}

std::string bytes(double count) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (count >= 1024 && unit + 1 < units.size()) {
    count /= 1024;
    ++unit;
  }
  return fixed(count, unit == 0 || count >= 100 ? 0 : 1) + " " + units[unit];
}

} // namespace pagefold::report
