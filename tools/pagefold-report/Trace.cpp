//===- Trace.cpp - requests read from a file ------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include "File.h"
#include "Sha256.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

namespace pagefold::report {
namespace {

// More than any model's context, and small enough for every product of two lengths.
constexpr uint64_t maxTokens = 1u << 24;

/// A reason, without the place: the reader of lines knows that.
using LineResult = tl::expected<TraceRequest, std::string>;
tl::unexpected<std::string> bad(std::string reason) { return tl::unexpected(std::move(reason)); }

template <typename T> bool parseNumber(std::string_view text, T &value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

tl::expected<uint32_t, std::string> checkedLength(const char *what, uint64_t tokens) {
  if (tokens < 1 || tokens > maxTokens)
    return bad(std::string("expects 1 to ") + std::to_string(maxTokens) + " " + what +
               " tokens, got " + std::to_string(tokens));
  return uint32_t(tokens);
}

//===----------------------------------------------------------------------===//
// Azure: TIMESTAMP,ContextTokens,GeneratedTokens
//===----------------------------------------------------------------------===//

/// Days since 1970-01-01 in the Gregorian calendar (years from March, 400-year eras).
int64_t daysFromCivil(int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  unsigned yearOfEra = unsigned(year - era * 400);
  unsigned dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
}

/// "2023-11-16 18:15:46.6805900" in seconds since 1970.
std::optional<double> parseTimestamp(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  unsigned year, month, day, hour, minute;
  double second;
  if (!parseNumber(text.substr(0, 4), year) || !parseNumber(text.substr(5, 2), month) ||
      !parseNumber(text.substr(8, 2), day) || !parseNumber(text.substr(11, 2), hour) ||
      !parseNumber(text.substr(14, 2), minute) || !parseNumber(text.substr(17), second))
    return std::nullopt;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      !(second >= 0 && second < 61))
    return std::nullopt;
  return double(daysFromCivil(year, month, day)) * 86400 + hour * 3600 + minute * 60 + second;
}

LineResult parseAzureLine(std::string_view line) {
  size_t first = line.find(','), last = line.rfind(',');
  if (first == std::string_view::npos || std::count(line.begin(), line.end(), ',') != 2)
    return bad("expects TIMESTAMP,ContextTokens,GeneratedTokens, got " +
               std::to_string(std::count(line.begin(), line.end(), ',') + 1) + " fields");
  std::optional<double> time = parseTimestamp(line.substr(0, first));
  if (!time)
    return bad("expects a time as 2023-11-16 18:15:46.68, got '" +
               std::string(line.substr(0, first)) + "'");
  uint64_t prompt, output;
  if (!parseNumber(line.substr(first + 1, last - first - 1), prompt) ||
      !parseNumber(line.substr(last + 1), output))
    return bad("expects two token counts, got '" + std::string(line.substr(first + 1)) + "'");
  auto promptTokens = checkedLength("prompt", prompt);
  auto outputTokens = checkedLength("output", output);
  if (!promptTokens)
    return bad(promptTokens.error());
  if (!outputTokens)
    return bad(outputTokens.error());
  TraceRequest request;
  request.arrival = *time;
  request.promptTokens = *promptTokens;
  request.outputTokens = *outputTokens;
  return request;
}

//===----------------------------------------------------------------------===//
// Mooncake: one JSON object a line
//===----------------------------------------------------------------------===//

/// Names of tenants or adapters in order of appearance.
class NameTable {
public:
  uint32_t indexOf(const std::string &name) {
    auto [it, isNew] = indices.try_emplace(name, uint32_t(names.size()));
    if (isNew)
      names.push_back(name);
    return it->second;
  }
  std::vector<std::string> names;

private:
  std::unordered_map<std::string, uint32_t> indices;
};

class MooncakeReader {
public:
  explicit MooncakeReader(uint32_t spanTokens) : spanTokens(spanTokens) {}

  LineResult parseLine(std::string_view line) {
    nlohmann::json object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (object.is_discarded() || !object.is_object())
      return bad("expects a JSON object, got '" + std::string(line.substr(0, 40)) + "'");
    auto time = number(object, "timestamp");
    auto prompt = length(object, "input_length", "prompt");
    auto output = length(object, "output_length", "output");
    if (!time)
      return bad(time.error());
    if (!prompt)
      return bad(prompt.error());
    if (!output)
      return bad(output.error());
    TraceRequest request;
    request.arrival = *time / 1000;
    request.promptTokens = *prompt;
    request.outputTokens = *output;
    if (auto spans = readSpans(object, request); !spans)
      return bad(spans.error());
    request.tenant = tenants.indexOf(nameOf(object, "tenant"));
    request.adapter = adapters.indexOf(nameOf(object, "adapter"));
    return request;
  }

  NameTable tenants, adapters;

private:
  /// A name, a number's digits, or "" where the line has none.
  static std::string nameOf(const nlohmann::json &object, const char *key) {
    auto it = object.find(key);
    if (it == object.end() || it->is_null())
      return "";
    return it->is_string() ? it->get<std::string>() : it->dump();
  }

  static tl::expected<double, std::string> number(const nlohmann::json &object, const char *key) {
    auto it = object.find(key);
    if (it == object.end() || !it->is_number() || !std::isfinite(it->get<double>()))
      return bad(std::string("expects a number \"") + key + "\", got " +
                 (it == object.end() ? "none" : it->dump()));
    return it->get<double>();
  }

  static tl::expected<uint32_t, std::string> length(const nlohmann::json &object, const char *key,
                                                    const char *what) {
    auto it = object.find(key);
    if (it == object.end() || !it->is_number_integer() || it->get<int64_t>() < 0)
      return bad(std::string("expects a token count \"") + key + "\", got " +
                 (it == object.end() ? "none" : it->dump()));
    return checkedLength(what, it->get<uint64_t>());
  }

  tl::expected<void, std::string> readSpans(const nlohmann::json &object, TraceRequest &request) {
    auto it = object.find("hash_ids");
    if (it == object.end())
      return {};
    if (!it->is_array())
      return bad("expects \"hash_ids\" to be a list, got " + it->dump().substr(0, 40));
    size_t needed = (size_t(request.promptTokens) + spanTokens - 1) / spanTokens;
    if (it->size() != needed)
      return bad("expects " + std::to_string(needed) + " hash ids for " +
                 std::to_string(request.promptTokens) + " prompt tokens in spans of " +
                 std::to_string(spanTokens) + ", got " + std::to_string(it->size()));
    request.spans.reserve(needed);
    for (const nlohmann::json &id : *it) {
      if (!id.is_number_unsigned())
        return bad("expects hash ids to be integers from 0, got " + id.dump());
      request.spans.push_back(id.get<uint64_t>());
    }
    return {};
  }

  uint32_t spanTokens;
};

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

/// Calls parse(line) for every non-empty line from `text`, and places its errors.
template <typename Parse>
Result<void> readLines(std::string_view text, size_t firstLine, Trace &trace, bool skipBad,
                       Parse parse) {
  for (size_t number = firstLine; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.remove_suffix(1);
    if (line.empty())
      continue;
    LineResult request = parse(line);
    if (request) {
      request->line = number;
      trace.requests.push_back(std::move(*request));
    } else if (skipBad)
      trace.skipped.push_back({number, request.error()});
    else
      return fail(ErrorCode::BadInput, trace.name + ":" + std::to_string(number) + ": " +
                                           request.error() + " (--skip-bad leaves bad lines out)");
  }
  return {};
}

Result<void> readRequests(std::string_view text, Trace &trace, const TraceOptions &options) {
  std::string_view header = text.substr(0, std::min(text.find('\n'), text.size()));
  if (header.starts_with("TIMESTAMP,")) {
    trace.format = "azure";
    trace.tenants = trace.adapters = {""};
    return readLines(text.substr(std::min(header.size() + 1, text.size())), 2, trace,
                     options.skipBad, parseAzureLine);
  }
  if (!header.starts_with("{"))
    return fail(ErrorCode::BadInput,
                trace.name +
                    ":1: expects a csv that begins with TIMESTAMP,ContextTokens,"
                    "GeneratedTokens or JSON lines, got '" +
                    std::string(header.substr(0, 40)) + "'");
  trace.format = "mooncake";
  MooncakeReader reader(options.spanTokens);
  auto parse = [&](std::string_view line) { return reader.parseLine(line); };
  if (auto read = readLines(text, 1, trace, options.skipBad, parse); !read)
    return read;
  trace.tenants = std::move(reader.tenants.names);
  trace.adapters = std::move(reader.adapters.names);
  return {};
}

/// A uniform double in [0, 1), the same on every platform (splitmix64).
double nextUniform(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return double((z ^ z >> 31) >> 11) * 0x1p-53;
}

void setArrivals(std::vector<TraceRequest> &requests, const TraceOptions &options) {
  auto byArrival = [](const TraceRequest &a, const TraceRequest &b) {
    return std::tie(a.arrival, a.line) < std::tie(b.arrival, b.line);
  };
  std::sort(requests.begin(), requests.end(), byArrival);
  if (options.limit && requests.size() > options.limit)
    requests.resize(options.limit);
  double start = requests.front().arrival;
  uint64_t state = options.seed;
  for (TraceRequest &request : requests) {
    request.arrival = (request.arrival - start) * options.timeScale;
    if (options.jitter > 0)
      request.arrival += nextUniform(state) * options.jitter;
  }
  std::sort(requests.begin(), requests.end(), byArrival);
}

Result<void> checkOptions(const TraceOptions &options) {
  if (!(options.timeScale > 0) || !std::isfinite(options.timeScale))
    return fail(ErrorCode::InvalidArgument, "the time scale is a factor on arrival times: expects "
                                            "a number above 0, got " +
                                                std::to_string(options.timeScale));
  if (!(options.jitter >= 0) || !std::isfinite(options.jitter))
    return fail(ErrorCode::InvalidArgument, "jitter is in seconds: expects a number from 0, got " +
                                                std::to_string(options.jitter));
  if (options.spanTokens == 0)
    return fail(ErrorCode::InvalidArgument, "a hash id stands for at least 1 token, got 0");
  return {};
}

} // namespace

uint64_t Trace::promptTokens() const {
  uint64_t sum = 0;
  for (const TraceRequest &request : requests)
    sum += request.promptTokens;
  return sum;
}

uint64_t Trace::outputTokens() const {
  uint64_t sum = 0;
  for (const TraceRequest &request : requests)
    sum += request.outputTokens;
  return sum;
}

Result<Trace> parseTrace(std::string_view text, const std::string &name,
                         const TraceOptions &options) {
  if (auto checked = checkOptions(options); !checked)
    return tl::unexpected(checked.error());
  Trace trace;
  trace.name = name;
  trace.sha256 = sha256(text);
  trace.spanTokens = options.spanTokens;
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3); // a byte order mark
  if (auto read = readRequests(text, trace, options); !read)
    return tl::unexpected(read.error());
  if (trace.requests.empty())
    return fail(ErrorCode::BadInput, name + ": expects at least one request, got none" +
                                         (trace.skipped.empty() ? "" : " (all lines were bad)"));
  setArrivals(trace.requests, options);
  // A line without ids in a trace with ids is a prompt nobody shares.
  for (const TraceRequest &request : trace.requests)
    trace.hasSpans |= !request.spans.empty();
  return trace;
}

Result<Trace> readTrace(const std::string &path, const TraceOptions &options) {
  Result<std::string> text = readFile(path);
  if (!text)
    return tl::unexpected(text.error());
  return parseTrace(*text, baseName(path), options);
}

} // namespace pagefold::report
