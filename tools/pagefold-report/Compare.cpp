//===- Compare.cpp - did a mechanism help, and what did it cost -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include "File.h"
#include "Format.h"
#include "ReportJson.h"
#include "TextTable.h"

#include <cmath>
#include <optional>
#include <vector>

namespace pagefold::report {

using json = nlohmann::ordered_json;
using runtime::ErrorCode;
using runtime::fail;

namespace {

enum class Better { Less, More, Neither };

struct Row {
  const char *name, *pointer; ///< where the number is in a report
  Better better;
  enum Unit { Milliseconds, Rate, Share, Count } unit;
};

// What helps comes first, then what it may cost.
constexpr Row rows[] = {
    {"TTFT mean", "/mean_ttft_ms", Better::Less, Row::Milliseconds},
    {"TTFT p50", "/median_ttft_ms", Better::Less, Row::Milliseconds},
    {"TTFT p95", "/p95_ttft_ms", Better::Less, Row::Milliseconds},
    {"TTFT p99", "/p99_ttft_ms", Better::Less, Row::Milliseconds},
    {"queue mean", "/mean_queue_ms", Better::Less, Row::Milliseconds},
    {"TPOT mean", "/mean_tpot_ms", Better::Less, Row::Milliseconds},
    {"TPOT p99", "/p99_tpot_ms", Better::Less, Row::Milliseconds},
    {"ITL p99", "/p99_itl_ms", Better::Less, Row::Milliseconds},
    {"longest stall", "/longest_stall_ms", Better::Less, Row::Milliseconds},
    {"end to end mean", "/mean_e2el_ms", Better::Less, Row::Milliseconds},
    {"goodput, requests/s", "/request_goodput", Better::More, Row::Rate},
    {"output tokens/s", "/output_throughput", Better::More, Row::Rate},
    {"all tokens/s", "/total_token_throughput", Better::More, Row::Rate},
    {"hit rate (tokens)", "/reuse/hit_rate_tokens", Better::More, Row::Share},
    {"device time", "/time/busy_s", Better::Less, Row::Rate},
    {"steps", "/time/steps", Better::Neither, Row::Count},
    {"preemptions", "/time/preemptions", Better::Less, Row::Count},
    {"recompute tax", "/time/recompute_tax", Better::Less, Row::Share},
    {"fragmentation", "/pool/internal_fragmentation", Better::Less, Row::Share},
    {"watermark", "/pool/watermark", Better::Neither, Row::Share},
    {"evictions", "/pool/evictions", Better::Neither, Row::Count},
    {"one-box share", "/pages/one_box_share", Better::More, Row::Share},
    {"page table entries", "/pages/max_table_entries", Better::Less, Row::Count},
};

/// A change below this is called the same.
constexpr double sameWithin = 0.01;

std::string valueText(double value, Row::Unit unit) {
  switch (unit) {
  case Row::Milliseconds:
    return duration(value / 1e3);
  case Row::Rate:
    return value >= 1000 ? grouped(value) : fixed(value, 2);
  case Row::Share:
    return percent(value, 2);
  case Row::Count:
    return grouped(value);
  }
  return "";
}

/// A number of a report; not there where a report has none to give.
std::optional<double> numberAt(const json &report, const char *pointer) {
  json::json_pointer at(pointer);
  if (!report.contains(at) || !report[at].is_number())
    return std::nullopt;
  return report[at].get<double>();
}

struct Change {
  std::string text, verdict;
};

Change changeOf(const Row &row, double first, double second) {
  Change change;
  double relative = first != 0 ? second / first - 1 : second != 0 ? HUGE_VAL : 0;
  if (row.unit == Row::Share) // points, not per cent of per cent
    change.text = (second >= first ? "+" : "") + fixed(100 * (second - first), 2) + " pt";
  else
    change.text = std::isinf(relative) ? "from 0" : signedPercent(relative);
  bool isSame =
      row.unit == Row::Share ? std::fabs(second - first) < 0.001 : std::fabs(relative) < sameWithin;
  if (row.better == Better::Neither)
    return change;
  change.verdict = isSame                                             ? "same"
                   : (second < first) == (row.better == Better::Less) ? "better"
                                                                      : "worse";
  return change;
}

/// What of the provenance differs, as "serving.page_size 16 -> 64".
std::vector<std::string> differences(const json &first, const json &second) {
  std::vector<std::string> out;
  json a = first["provenance"].flatten(), b = second["provenance"].flatten();
  for (const auto &[key, value] : b.items()) {
    if (a.contains(key) && a[key] == value)
      continue;
    std::string name = key.substr(1);
    for (char &c : name)
      c = c == '/' ? '.' : c;
    out.push_back(name + " " + (a.contains(key) ? a[key].dump() : "none") + " -> " + value.dump());
  }
  return out;
}

runtime::Status expectReport(const json &report, const char *which) {
  if (report.is_object() && report.value("format", json()) == "pagefold-report" &&
      report.value("version", json()) == jsonVersion && report.contains("provenance") &&
      report["provenance"].is_object())
    return {};
  return fail(ErrorCode::BadInput, std::string("expects the ") + which +
                                       " file to be a report that `pagefold-report replay --json` "
                                       "of version " +
                                       std::to_string(jsonVersion) + " wrote");
}

std::string joined(const std::vector<std::string> &parts) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : ", ") + part;
  return out.empty() ? "nothing" : out;
}

} // namespace

runtime::Result<std::string> compare(const json &first, const json &second) {
  if (auto checked = expectReport(first, "first"); !checked)
    return tl::unexpected(checked.error());
  if (auto checked = expectReport(second, "second"); !checked)
    return tl::unexpected(checked.error());
  std::string out = "changed: " + joined(differences(first, second)) + "\n";
  json::json_pointer hash("/provenance/trace/sha256");
  if (!first.contains(hash) || !second.contains(hash) || first[hash] != second[hash])
    out +=
        "NOTE: the two are not about the same trace; differences are not the mechanism's alone\n";
  TextTable table({"", "A", "B", "B against A", ""});
  std::vector<std::string> helped, worsened;
  for (const Row &row : rows) {
    std::optional<double> a = numberAt(first, row.pointer), b = numberAt(second, row.pointer);
    if (!a || !b) {
      table.add(
          {row.name, a ? valueText(*a, row.unit) : "n/a", b ? valueText(*b, row.unit) : "n/a"});
      continue;
    }
    Change change = changeOf(row, *a, *b);
    table.add(
        {row.name, valueText(*a, row.unit), valueText(*b, row.unit), change.text, change.verdict});
    if (change.verdict == "better")
      helped.push_back(std::string(row.name) + " " + change.text);
    if (change.verdict == "worse")
      worsened.push_back(std::string(row.name) + " " + change.text);
  }
  return out + "\n" + table.text(0) + "\nhelped: " + joined(helped) +
         "\ncost:   " + joined(worsened) +
         "\n(simulated; changes below 1 %, or 0.1 points of a share, count as the same)\n";
}

runtime::Result<std::string> compareFiles(const std::string &first, const std::string &second) {
  std::vector<json> reports;
  for (const std::string &path : {first, second}) {
    runtime::Result<std::string> text = readFile(path);
    if (!text)
      return tl::unexpected(text.error());
    reports.push_back(json::parse(*text, nullptr, /*allow_exceptions=*/false));
    if (reports.back().is_discarded())
      return fail(ErrorCode::BadInput, path + ": expects a JSON report, got text that is not JSON");
  }
  return compare(reports[0], reports[1]);
}

} // namespace pagefold::report
