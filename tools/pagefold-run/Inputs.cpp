//===- Inputs.cpp - what --inputs says ------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "LengthFile.h"

#include "pagefold/Support/ArrayFiles.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::run;
using llvm::StringRef;

namespace {
class Reader {
public:
  Reader(const Graph &graph, Inputs &inputs) : graph_(graph), inputs_(inputs) {}
  Status read(StringRef item);

private:
  Status readArchive(const std::string &path);
  Status setArray(const std::string &name, Array array, const std::string &path);
  Status setValues(const std::string &name, StringRef text);
  /// A setting of the generator; nothing where `key` is none.
  std::optional<Status> readSetting(StringRef key, StringRef value);
  Status readLengths(StringRef key, StringRef text, std::vector<int64_t> &lengths);
  Status readCount(StringRef key, StringRef text, std::optional<int64_t> &count);
  Status readNumber(StringRef key, StringRef text, double &number);
  Status readChoice(StringRef key, StringRef text, llvm::ArrayRef<StringRef> choices,
                    size_t &choice);

  const Graph &graph_;
  Inputs &inputs_;
};
} // namespace

static std::string quoted(StringRef text) { return ("'" + text + "'").str(); }

static tl::unexpected<runtime::Error> badValue(StringRef key, StringRef value,
                                               const std::string &expected) {
  return fail(ErrorCode::InvalidArgument,
              "--inputs " + key.str() + ": expects " + expected + ", got " + quoted(value));
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

static std::optional<std::vector<double>> parseNumbers(StringRef text) {
  std::vector<double> numbers;
  for (StringRef part : llvm::split(text, ',')) {
    double number;
    if (part.trim().getAsDouble(number))
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

Status Reader::readLengths(StringRef key, StringRef text, std::vector<int64_t> &lengths) {
  if (text.consume_front("@")) {
    Result<std::vector<int64_t>> read = readLengthFile(text.str());
    if (!read)
      return tl::unexpected(read.error());
    lengths = std::move(*read);
    return {};
  }
  std::optional<std::vector<double>> numbers = parseNumbers(text);
  for (double number : numbers.value_or(std::vector<double>{-1})) {
    if (number < 0 || number > INT32_MAX || number != std::floor(number))
      return badValue(key, text, "lengths from 0 to 2147483647 with commas between, or @file");
    lengths.push_back(static_cast<int64_t>(number));
  }
  return {};
}

Status Reader::readCount(StringRef key, StringRef text, std::optional<int64_t> &count) {
  int64_t number;
  if (text.getAsInteger(10, number) || number < 0 || number > INT32_MAX)
    return badValue(key, text, "a whole number from 0 to 2147483647");
  count = number;
  return {};
}

Status Reader::readNumber(StringRef key, StringRef text, double &number) {
  if (text.getAsDouble(number) || !std::isfinite(number) || number <= 0)
    return badValue(key, text, "a finite number above 0");
  return {};
}

Status Reader::readChoice(StringRef key, StringRef text, llvm::ArrayRef<StringRef> choices,
                          size_t &choice) {
  const auto *found = llvm::find(choices, text);
  if (found == choices.end())
    return badValue(key, text, "one of " + llvm::join(choices, ", "));
  choice = static_cast<size_t>(found - choices.begin());
  return {};
}

std::optional<Status> Reader::readSetting(StringRef key, StringRef value) {
  Settings &settings = inputs_.settings;
  size_t choice = 0;
  if (key == "lens")
    return readLengths(key, value, settings.lens);
  if (key == "q_len") {
    settings.wholePrompts = value == "all";
    return settings.wholePrompts ? Status() : readLengths(key, value, settings.qLens);
  }
  if (key == "batch")
    return readCount(key, value, settings.batch);
  if (key == "pages")
    return readCount(key, value, settings.pages);
  if (key == "theta")
    return readNumber(key, value, settings.theta);
  if (key == "deviation")
    return readNumber(key, value, settings.deviation);
  if (key == "layout") {
    Status status = readChoice(key, value, {"declared", "nhd", "hnd", "interleaved"}, choice);
    settings.layout = static_cast<MemoryLayout>(choice);
    return status;
  }
  if (key == "poison") {
    Status status = readChoice(key, value, {"none", "nan"}, choice);
    settings.poison = choice == 1;
    return status;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arrays and numbers for arguments
//===----------------------------------------------------------------------===//

static std::string namesOf(const Graph &graph) {
  std::string names;
  for (const Parameter &parameter : graph.parameters())
    names += (names.empty() ? "" : ", ") + parameter.name;
  return names;
}

Status Reader::setArray(const std::string &name, Array array, const std::string &path) {
  if (!graph_.find(name))
    return fail(ErrorCode::NotFound, "'" + path + "' holds an array '" + name +
                                         "', but the arguments are: " + namesOf(graph_));
  auto [place, isNew] = inputs_.sources.try_emplace(name, path);
  if (!isNew)
    return fail(ErrorCode::InvalidArgument, "argument '" + name + "' is given twice, by '" +
                                                place->second + "' and '" + path + "'");
  inputs_.arrays.emplace(name, std::move(array));
  return {};
}

Status Reader::readArchive(const std::string &path) {
  Result<std::vector<NamedArray>> arrays =
      StringRef(path).ends_with(".npz") ? readNpz(path) : readSafetensors(path);
  if (!arrays)
    return tl::unexpected(arrays.error());
  for (NamedArray &named : *arrays)
    if (Status status = setArray(named.name, std::move(named.array), path); !status)
      return status;
  return {};
}

Status Reader::setValues(const std::string &name, StringRef text) {
  if (!graph_.find(name))
    return fail(ErrorCode::NotFound,
                "--inputs: there is no setting and no argument '" + name +
                    "'; settings are lens, q_len, batch, pages, layout, poison, theta and "
                    "deviation, arguments are: " +
                    namesOf(graph_));
  std::optional<std::vector<double>> numbers = parseNumbers(text);
  if (!numbers)
    return badValue(name, text, "a .npy file, or numbers with commas between");
  inputs_.values[name] = std::move(*numbers);
  return {};
}

Status Reader::read(StringRef item) {
  auto [key, value] = item.split('=');
  if (value.empty() && !item.contains('=')) {
    if (item.ends_with(".npz") || item.ends_with(".safetensors"))
      return readArchive(item.str());
    return fail(ErrorCode::InvalidArgument,
                "--inputs: expects key=value, a .npz or a .safetensors file, got " + quoted(item));
  }
  if (value.ends_with(".npy")) {
    Result<Array> array = readNpy(value.str());
    return array ? setArray(key.str(), std::move(*array), value.str())
                 : tl::unexpected(array.error());
  }
  if (std::optional<Status> setting = readSetting(key, value))
    return *setting;
  return setValues(key.str(), value);
}

Result<Inputs> run::readInputs(const Graph &graph, const std::vector<std::string> &items,
                               uint64_t seed) {
  Inputs inputs;
  inputs.settings.seed = seed;
  Reader reader(graph, inputs);
  for (const std::string &text : items) {
    llvm::SmallVector<StringRef> words;
    llvm::SplitString(text, words);
    for (StringRef word : words)
      if (Status status = reader.read(word); !status)
        return tl::unexpected(status.error());
  }
  Settings &settings = inputs.settings;
  if (settings.batch && static_cast<int64_t>(settings.lens.size()) > *settings.batch)
    settings.lens.resize(*settings.batch);
  return inputs;
}
