//===- Format.h - numbers for people ----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_FORMAT_H
#define PAGEFOLD_REPORT_FORMAT_H

#include <cstdint>
#include <string>

namespace pagefold::report {

/// With so many digits after the point.
std::string fixed(double value, int digits);
/// 0.123 as "12.3 %".
std::string percent(double share, int digits = 1);
/// A relative change with its sign: 0.1 as "+10.0 %".
std::string signedPercent(double change, int digits = 1);
/// 1234567 as "1,234,567".
std::string grouped(double count);
/// Seconds in the unit that gives two to four digits: "1.23 s", "12.3 ms", "1.23 us".
std::string duration(double seconds);
/// Bytes as "1.5 KiB", "2.0 GiB".
std::string bytes(double count);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_FORMAT_H
