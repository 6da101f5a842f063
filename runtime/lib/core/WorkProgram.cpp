//===- WorkProgram.cpp - integer arithmetic of the compiler ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkProgram.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

using namespace pagefold::runtime;

namespace {
enum Op : uint8_t {
  Const,
  Add,
  Sub,
  Mul,
  Div,
  Shl,
  Shr,
  And,
  Or,
  Max,
  Min,
  Eq,
  Le,
  Lt,
  Ge,
  Gt,
  Select
};

struct OpRow {
  std::string_view name;
  size_t operands;
};
constexpr OpRow kOps[] = {{"const", 0}, {"add", 2},   {"sub", 2}, {"mul", 2}, {"div", 2},
                          {"shl", 2},   {"shr", 2},   {"and", 2}, {"or", 2},  {"max", 2},
                          {"min", 2},   {"eq", 2},    {"le", 2},  {"lt", 2},  {"ge", 2},
                          {"gt", 2},    {"select", 3}};

int64_t compute(uint8_t op, int64_t a, int64_t b, int64_t c) {
  auto wrapped = [](uint64_t value) { return static_cast<int64_t>(value); };
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  constexpr uint64_t kBits = 63;
  switch (op) {
  case Add:
    return wrapped(x + y);
  case Sub:
    return wrapped(x - y);
  case Mul:
    return wrapped(x * y);
  case Div:
    return b == 0 ? 0 : b == -1 ? wrapped(0 - x) : a / b;
  case Shl:
    return wrapped(x << (y & kBits));
  case Shr:
    return a >> (y & kBits);
  case And:
    return a & b;
  case Or:
    return a | b;
  case Max:
    return std::max(a, b);
  case Min:
    return std::min(a, b);
  case Eq:
    return a == b;
  case Le:
    return a <= b;
  case Lt:
    return a < b;
  case Ge:
    return a >= b;
  case Gt:
    return a > b;
  default:
    return a ? b : c;
  }
}

/// Takes what stands before `separator` off the front of `text`, without spaces around.
std::string_view take(std::string_view &text, char separator) {
  size_t end = std::min(text.find(separator), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!word.empty() && word.front() == ' ')
    word.remove_prefix(1);
  while (!word.empty() && word.back() == ' ')
    word.remove_suffix(1);
  return word;
}

std::optional<int64_t> number(std::string_view word) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc() || end != word.data() + word.size())
    return std::nullopt;
  return value;
}
} // namespace

std::optional<WorkProgram> WorkProgram::parse(const std::string &text, size_t inputs) {
  constexpr size_t kMaxSteps = 1 << 14;
  WorkProgram program;
  program.inputs_ = inputs;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (program.steps_.size() > kMaxSteps)
      return std::nullopt;
    std::string_view line = take(rest, ';'), name = take(line, ' ');
    const size_t slots = inputs + program.steps_.size();
    auto slot = [&]() -> std::optional<uint32_t> {
      std::optional<int64_t> found = number(take(line, ' '));
      if (!found || *found < 0 || static_cast<size_t>(*found) >= slots)
        return std::nullopt;
      return static_cast<uint32_t>(*found);
    };
    if (name == "return") {
      while (!line.empty()) {
        std::optional<uint32_t> result = slot();
        if (!result)
          return std::nullopt;
        program.resultSlots_.push_back(*result);
      }
      if (!rest.empty())
        return std::nullopt;
      program.slots_.resize(slots);
      program.results_.resize(program.resultSlots_.size());
      return program;
    }
    const OpRow *row = std::find_if(std::begin(kOps), std::end(kOps),
                                    [&](const OpRow &r) { return r.name == name; });
    if (row == std::end(kOps))
      return std::nullopt;
    Step step{static_cast<uint8_t>(row - kOps), {0, 0, 0}, 0};
    if (step.op == Const) {
      std::optional<int64_t> value = number(take(line, ' '));
      if (!value)
        return std::nullopt;
      step.constant = *value;
    }
    for (size_t i = 0; i < row->operands; ++i) {
      std::optional<uint32_t> operand = slot();
      if (!operand)
        return std::nullopt;
      step.operands[i] = *operand;
    }
    program.steps_.push_back(step);
  }
  return std::nullopt; // no return
}

std::span<const int64_t> WorkProgram::run(std::span<const int64_t> inputs) {
  std::copy(inputs.begin(), inputs.end(), slots_.begin());
  size_t slot = inputs_;
  for (const Step &step : steps_)
    slots_[slot++] = step.op == Const ? step.constant
                                      : compute(step.op, slots_[step.operands[0]],
                                                slots_[step.operands[1]], slots_[step.operands[2]]);
  for (size_t i = 0; i < resultSlots_.size(); ++i)
    results_[i] = slots_[resultSlots_[i]];
  return results_;
}
