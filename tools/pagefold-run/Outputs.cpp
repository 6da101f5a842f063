//===- Outputs.cpp - results to the screen and to files -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outputs.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::run;

std::vector<NamedArray> run::nameOutputs(Graph &graph, const std::vector<Array> &results,
                                         const std::vector<Array> &arguments) {
  std::vector<NamedArray> outputs;
  for (auto [i, result] : llvm::enumerate(results))
    outputs.push_back({"out" + std::to_string(i), result});
  for (const CacheParameters &cache : graph.caches())
    for (int64_t part : {cache.kPages, cache.vPages})
      if (cache.appended && part >= 0)
        outputs.push_back({graph.parameters()[part].name, arguments[part]});
  return outputs;
}

void run::printOutputs(const std::vector<NamedArray> &outputs, llvm::raw_ostream &out) {
  for (const auto &[name, array] : outputs) {
    double squares = 0;
    int64_t nonFinite = 0;
    array.forEach([&](int64_t at) {
      double x = array.loadAt(at);
      if (std::isfinite(x))
        squares += x * x;
      else
        ++nonFinite;
    });
    out << name << ": " << dtypeName(array.dtype()) << " " << shapeString(array.shape())
        << ", norm " << llvm::format("%.6g", std::sqrt(squares));
    if (nonFinite)
      out << ", " << nonFinite << " not finite";
    out << "\n";
  }
}

static Result<std::vector<FileContents>> contentsOf(const std::string &path,
                                                    const std::vector<NamedArray> &outputs) {
  llvm::StringRef name = path;
  std::vector<FileContents> files;
  if (name.ends_with(".npz") || name.ends_with(".safetensors")) {
    Result<std::string> bytes =
        name.ends_with(".npz") ? npzBytes(outputs) : safetensorsBytes(outputs);
    if (!bytes)
      return tl::unexpected(bytes.error());
    files.push_back({path, std::move(*bytes)});
    return files;
  }
  bool single = name.ends_with(".npy");
  if (single && outputs.size() != 1)
    return fail(ErrorCode::InvalidArgument,
                "--outputs '" + path + "' holds one array, the graph gives " +
                    std::to_string(outputs.size()) +
                    ": name a .npz, a .safetensors file or a directory");
  if (!single && !llvm::sys::fs::is_directory(path))
    return fail(
        ErrorCode::NotFound,
        "--outputs expects a .npy, .npz or .safetensors file or a directory that is there, got '" +
            path + "'");
  for (const NamedArray &output : outputs) {
    Result<std::string> bytes = npyBytes(output.array);
    if (!bytes)
      return tl::unexpected(bytes.error());
    files.push_back({single ? path : path + "/" + output.name + ".npy", std::move(*bytes)});
  }
  return files;
}

Status run::writeOutputs(const std::string &path, const std::vector<NamedArray> &outputs) {
  Result<std::vector<FileContents>> files = contentsOf(path, outputs);
  if (!files)
    return tl::unexpected(files.error());
  return writeFiles(*files);
}
