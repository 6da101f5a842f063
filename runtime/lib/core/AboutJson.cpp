//===- AboutJson.cpp - what explains kernels as JSON ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list of fields for each structure, which a writer and a reader walk. A field that holds its
// default is not written.
//
//===----------------------------------------------------------------------===//

#include "AboutJson.h"

using namespace pagefold::runtime;

namespace {

//===----------------------------------------------------------------------===//
// The fields
//===----------------------------------------------------------------------===//

template <typename Walk> void fields(Walk &walk, Remark &remark) {
  walk("kind", remark.kind);
  walk("pass", remark.pass);
  walk("name", remark.name);
  walk("text", remark.text);
  walk("reason", remark.reason);
}

template <typename Walk> void fields(Walk &walk, MachinePlan &machine) {
  walk("name", machine.name);
  walk("multiprocessors", machine.multiprocessors);
  walk("bytes_per_s", machine.bytesPerSecond);
  walk("tensor_flops_per_s", machine.tensorPerSecond);
  walk("vector_flops_per_s", machine.vectorPerSecond);
  walk("launch_ns", machine.launchNanoseconds);
}

template <typename Walk> void fields(Walk &walk, TrafficPlan &traffic) {
  walk("arg", traffic.arg);
  walk("bytes", traffic.bytes);
}

template <typename Walk> void fields(Walk &walk, RegisterUse &use) {
  walk("count", use.registers);
  walk("spilled", use.spilled);
}

template <typename Walk> void fields(Walk &walk, SpacePlan &space) {
  walk("kv_heads", space.kvHeads);
  walk("group", space.group);
  walk("k_dim", space.kDim);
  walk("v_dim", space.vDim);
  walk("q_tile", space.qTile);
  walk("kv_tile", space.kvTile);
  walk("splits", space.splits);
  walk("packed", space.packed);
  walk("group_rows", space.groupRows);
  walk("one_range", space.oneRange);
  walk("never_empty", space.neverEmpty);
  walk("share", space.share);
  walk("row_unit", space.rowUnit);
  walk("workers", space.workers);
  walk("tensor_cores", space.tensorCores);
  walk("kv_row_bytes", space.kvRowBytes);
  walk("query_row_bytes", space.queryRowBytes);
  walk("output_row_bytes", space.outputRowBytes);
  walk("page", space.pageSize);
  walk("rows", space.rowsArg);
  walk("lens", space.lensArg);
  walk("key_rows", space.keyRowsArg);
  walk("symbols", space.symbolArgs);
  walk("row_values", space.rowValueArgs);
  walk("min_q_len", space.minQLen);
  walk("max_q_len", space.maxQLen);
  walk("ranges", space.ranges);
  walk("bitmap", space.bitmap);
  walk("visits", space.visits);
  walk("test", space.test);
  walk("visible", space.visible);
}

template <typename Walk> void fields(Walk &walk, KernelAbout &about) {
  walk("op", about.op);
  walk("form", about.form);
  walk("stages", about.stages);
  walk("pages", about.pages);
  walk("box_keys", about.boxKeys);
  walk("registers", about.registers);
  walk("space", about.space);
  walk("traffic", about.traffic);
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

template <typename T> Json write(const T &value);

class Writer {
public:
  Json json = Json::object();

  template <typename T> void operator()(const char *key, const T &value) {
    if (!(value == T()))
      json[key] = toJson(value);
  }
  void operator()(const char *key, bool value) {
    if (value)
      json[key] = true;
  }
  void operator()(const char *key, int64_t value) { json[key] = value; }

private:
  static Json toJson(const std::string &value) { return value; }
  static Json toJson(int64_t value) { return value; }
  template <typename T> static Json toJson(const std::optional<T> &value) { return toJson(*value); }
  template <typename T> static Json toJson(const std::vector<T> &values) {
    Json json = Json::array();
    for (const T &value : values)
      json.push_back(toJson(value));
    return json;
  }
  template <typename T> static Json toJson(const T &value) { return write(value); }
};

template <typename T> Json write(const T &value) {
  Writer writer;
  fields(writer, const_cast<T &>(value)); // a writer changes nothing
  return writer.json;
}

class Walker {
public:
  Walker(JsonReader &reader, const Json &json) : reader_(reader), json_(json) {}

  template <typename T> void operator()(const char *key, T &value) {
    if (!json_.is_object())
      reader_.fail(key, "an object around it", json_.type_name());
    else if (auto found = json_.find(key); found != json_.end())
      take(key, *found, value);
  }

private:
  void take(const char *key, const Json &json, int64_t &value) {
    value = reader_.asInteger(json, key);
  }
  void take(const char *key, const Json &json, bool &value) {
    if (json.is_boolean())
      value = json.get<bool>();
    else
      reader_.fail(key, "true or false", json.type_name());
  }
  void take(const char *key, const Json &json, std::string &value) {
    if (json.is_string())
      value = json.get_ref<const std::string &>();
    else
      reader_.fail(key, "a string", json.type_name());
  }
  template <typename T> void take(const char *key, const Json &json, std::optional<T> &value) {
    take(key, json, value.emplace());
  }
  template <typename T> void take(const char *key, const Json &json, std::vector<T> &values) {
    if (!json.is_array())
      return reader_.fail(key, "an array", json.type_name());
    for (const Json &entry : json)
      take(key, entry, values.emplace_back());
  }
  template <typename T> void take(const char *, const Json &json, T &value) {
    Walker walker(reader_, json);
    fields(walker, value);
  }

  JsonReader &reader_;
  const Json &json_;
};

template <typename T> T read(JsonReader &reader, const Json &json) {
  T value;
  Walker walker(reader, json);
  fields(walker, value);
  return value;
}
} // namespace

Json pagefold::runtime::aboutToJson(const KernelAbout &about) { return write(about); }
KernelAbout pagefold::runtime::aboutFromJson(JsonReader &reader, const Json &json) {
  return read<KernelAbout>(reader, json);
}
Json pagefold::runtime::remarkToJson(const Remark &remark) { return write(remark); }
Remark pagefold::runtime::remarkFromJson(JsonReader &reader, const Json &json) {
  return read<Remark>(reader, json);
}
Json pagefold::runtime::machineToJson(const MachinePlan &machine) { return write(machine); }
MachinePlan pagefold::runtime::machineFromJson(JsonReader &reader, const Json &json) {
  return read<MachinePlan>(reader, json);
}

Result<KernelAbout> pagefold::runtime::parseAbout(const std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  JsonReader reader;
  KernelAbout about = aboutFromJson(reader, json);
  if (reader.failed())
    return fail(ErrorCode::BadInput, reader.error());
  return about;
}
