//===- ErrorWord.cpp - what a kernel says about a request -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorWord.h"

using namespace pagefold::runtime;

namespace {
/// The place of `id` in row `request` of a page table: " at cache.table[3, 5]", or nothing when it
/// is not found (the table may be a list, or the caller changed it meanwhile).
std::string findInTables(int64_t request, int64_t id, const FunctionPlan &function,
                         std::span<const DLTensor *const> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgumentPlan &plan = function.args[i];
    const DLTensor &tensor = *args[i];
    if (!plan.name.ends_with("table") || plan.dtype != DType::I32 || tensor.ndim != 2 ||
        request >= tensor.shape[0])
      continue;
    int64_t pitch = tensor.strides ? tensor.strides[0] : tensor.shape[1];
    auto *row = reinterpret_cast<const int32_t *>(static_cast<const char *>(tensor.data) +
                                                  tensor.byte_offset) +
                request * pitch;
    for (int64_t column = 0; column < tensor.shape[1]; ++column)
      if (row[column] == id)
        return " at " + plan.name + "[" + std::to_string(request) + ", " + std::to_string(column) +
               "]";
  }
  return {};
}

/// What was found, what was expected and what to do, for one reason.
std::string sentence(const ErrorWord &word, const std::string &place) {
  std::string value = std::to_string(word.value), limit = std::to_string(word.limit);
  switch (static_cast<ErrorReason>(word.reason)) {
  case ErrorReason::RowsOutOfOrder:
    return "row offset " + value + " expects offsets that do not decrease and lie in [0, " + limit +
           "]; fix the row offsets";
  case ErrorReason::QueryTooLong:
    return value + " query rows expect at most " + limit +
           ", the declared q_len; launch them in chunks or compile with a larger q_len";
  case ErrorReason::LengthOutOfBounds:
    return "length " + value + " expects 0 <= length <= " + limit +
           ", the declared kv_len; fix the lengths or compile with a larger kv_len";
  case ErrorReason::TableTooNarrow:
    return "length " + value + " expects at most the " + limit +
           " keys that the page table has columns for; give a wider page table";
  case ErrorReason::PageOutOfPool:
    return "page id " + value + place + " expects 0 <= id < " + limit + "; fix the page table";
  case ErrorReason::PositionPastTable:
    return "position " + value + " expects position < " + limit +
           ", the rows of the rope table; give a longer table";
  case ErrorReason::KeyRowsOutOfOrder:
    return "key row offset " + value + " expects offsets that do not decrease and lie in [0, " +
           limit + "]; fix the key row offsets";
  case ErrorReason::PrefixTooLong:
    return "shared prefix " + value + " expects 0 <= keys <= " + limit +
           ", those before the request's new rows; promise a shorter prefix";
  case ErrorReason::PrefixDiffers:
    return "its key " + value +
           " lies in another page than that of the other requests, within the " +
           "shared prefix of " + limit + " keys; promise a shorter prefix or fix the page table";
  case ErrorReason::None:
    break;
  }
  return "a kernel gave reason " + std::to_string(word.reason) + " (value " + value + ", limit " +
         limit + "), which this runtime does not know; use the runtime of the compiler";
}
} // namespace

Error pagefold::runtime::errorOf(const ErrorWord &word, const FunctionPlan &function,
                                 std::span<const DLTensor *const> args) {
  int64_t request = word.request - 1;
  bool paged = static_cast<ErrorReason>(word.reason) == ErrorReason::PageOutOfPool;
  std::string place =
      paged && request >= 0 ? findInTables(request, word.value, function, args) : std::string();
  return Error(ErrorCode::BadInput, "function '" + function.name + "', request " +
                                        std::to_string(request) + ": " + sentence(word, place) +
                                        "; the results of the other requests are valid");
}
