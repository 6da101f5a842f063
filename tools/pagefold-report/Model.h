//===- Model.h - the model whose serving is replayed ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model file is the model's Hugging Face config.json, as it is, with what serving adds to it
// under one key of its own, all of it optional:
//
//   "pagefold": {"weight_dtype": "fp8", "kv_dtype": "fp8", "page_size": 16, "pool_pages": 50000}
//
// Only dense decoders are priced: a mixture of experts is refused, not guessed.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_MODEL_H
#define PAGEFOLD_REPORT_MODEL_H

#include "pagefold/runtime/Error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace pagefold::report {

enum class DType { F32, F16, BF16, FP8 };

/// Bytes an element.
double bytesOf(DType type);
const char *nameOf(DType type);

struct Model {
  std::string name;
  uint32_t layers = 0;
  uint32_t hidden = 0;       ///< width of the residual stream
  uint32_t intermediate = 0; ///< width of the gated MLP
  uint32_t queryHeads = 0;
  uint32_t kvHeads = 0;
  uint32_t headDim = 0;
  uint32_t vocabulary = 0;
  DType weights = DType::BF16;
  DType kv = DType::BF16;
  uint32_t pageSize = 16; ///< tokens
  uint64_t poolPages = 0; ///< 0: as many as the device's memory holds

  /// Elements of the weights every token passes in all layers: QKV, output, gate, up and down.
  double linearElements() const;
  /// Elements of the output projection onto the vocabulary (in bf16 unless weights are wider).
  double lmHeadElements() const { return double(hidden) * vocabulary; }
  /// Bytes of K and V of one token, over all layers.
  double kvBytesPerToken() const { return 2.0 * layers * kvHeads * headDim * bytesOf(kv); }
  /// Bytes of all weights in memory, embeddings included.
  double weightBytes() const;
  /// The same model with another number of KV heads, for a what-if: only the cache changes.
  Model withKvHeads(uint32_t heads) const;
};

runtime::Result<Model> readModel(const std::string &path);

/// The same from memory; `name` stands for the path in messages.
runtime::Result<Model> parseModel(std::string_view text, const std::string &name);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_MODEL_H
