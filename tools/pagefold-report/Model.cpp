//===- Model.cpp - the model whose serving is replayed --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "File.h"
#include "JsonFields.h"

#include <algorithm>

namespace pagefold::report {

using runtime::ErrorCode;
using runtime::fail;

double bytesOf(DType type) {
  switch (type) {
  case DType::F32:
    return 4;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::FP8:
    return 1;
  }
  return 0;
}

const char *nameOf(DType type) {
  switch (type) {
  case DType::F32:
    return "float32";
  case DType::F16:
    return "float16";
  case DType::BF16:
    return "bfloat16";
  case DType::FP8:
    return "fp8";
  }
  return "?";
}

double Model::linearElements() const {
  double query = double(hidden) * queryHeads * headDim;
  double keyValue = 2.0 * hidden * kvHeads * headDim;
  double mlp = 3.0 * hidden * intermediate;
  return layers * (2 * query + keyValue + mlp);
}

double Model::weightBytes() const {
  // Engines keep embeddings and the output projection wide even where the layers are in fp8.
  double wide = std::max(bytesOf(weights), bytesOf(DType::BF16));
  return linearElements() * bytesOf(weights) + 2 * lmHeadElements() * wide;
}

Model Model::withKvHeads(uint32_t heads) const {
  Model other = *this;
  other.kvHeads = heads;
  return other;
}

namespace {

DType readDType(JsonFields &fields, const char *key, DType absent) {
  std::string text = fields.text(key, nameOf(absent));
  for (DType type : {DType::F32, DType::F16, DType::BF16, DType::FP8})
    if (text == nameOf(type))
      return type;
  if (text == "fp8_e4m3" || text == "float8_e4m3fn")
    return DType::FP8;
  fields.setError(std::string("expects \"") + key +
                  "\" to be float32, float16, bfloat16 or fp8, "
                  "got \"" +
                  text + "\"");
  return absent;
}

void readShape(JsonFields &fields, Model &model) {
  model.layers = fields.count("num_hidden_layers");
  model.hidden = fields.count("hidden_size");
  model.intermediate = fields.count("intermediate_size");
  model.queryHeads = fields.count("num_attention_heads");
  model.kvHeads = fields.count("num_key_value_heads", model.queryHeads);
  model.headDim = fields.count("head_dim", std::max(1u, model.hidden / model.queryHeads));
  model.vocabulary = fields.count("vocab_size");
  if (model.queryHeads % model.kvHeads)
    fields.setError("expects num_attention_heads to be a multiple of num_key_value_heads, got " +
                    std::to_string(model.queryHeads) + " and " + std::to_string(model.kvHeads));
  for (const char *key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (fields.has(key))
      fields.setError(std::string("a mixture of experts (\"") + key +
                      "\") is not priced: expects a dense decoder");
}

} // namespace

runtime::Result<Model> parseModel(std::string_view text, const std::string &name) {
  runtime::Result<nlohmann::json> object = parseObject(text, name);
  if (!object)
    return tl::unexpected(object.error());
  Model model;
  JsonFields fields(*object, name);
  model.name = fields.text("_name_or_path", name.substr(0, name.rfind(".json")));
  readShape(fields, model);
  model.weights = readDType(fields, "torch_dtype", DType::BF16);
  if (fields.error())
    return tl::unexpected(*fields.error());
  const nlohmann::json serving = object->value("pagefold", nlohmann::json::object());
  if (!serving.is_object())
    return fail(ErrorCode::BadInput, name + ": expects \"pagefold\" to be an object, got " +
                                         serving.dump().substr(0, 40));
  JsonFields extra(serving, name);
  model.weights = readDType(extra, "weight_dtype", model.weights);
  model.kv = readDType(extra, "kv_dtype", model.weights);
  model.pageSize = extra.count("page_size", 16);
  model.poolPages = extra.has("pool_pages") ? extra.count("pool_pages") : 0;
  if (model.pageSize > 1024)
    extra.setError("expects a page size from 1 to 1024 tokens, got " +
                   std::to_string(model.pageSize));
  if (extra.error())
    return tl::unexpected(*extra.error());
  return model;
}

runtime::Result<Model> readModel(const std::string &path) {
  runtime::Result<std::string> text = readFile(path);
  if (!text)
    return tl::unexpected(text.error());
  return parseModel(*text, baseName(path));
}

} // namespace pagefold::report
