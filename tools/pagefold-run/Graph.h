//===- Graph.h - a graph and the arrays it takes ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter is one array that a launch takes: a tensor or scalar argument of the function, or one
// of the four of a cache argument, six where it has scales. Parameters stand in the order of the C
// ABI.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_GRAPH_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_GRAPH_H

#include "pagefold/Dialect/Attn/IR/Attn.h"
#include "pagefold/Support/Arrays.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pagefold::run {

using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;
using runtime::Status;

/// What a parameter is to the ops that use it; the generator and the checks go by it.
enum class Role {
  Data,      ///< any numbers; a dynamic first dimension counts tokens
  DenseKeys, ///< any numbers; a dynamic first dimension counts the keys of all requests
  KPages,
  VPages,
  Table,    ///< [batch, width]
  PageList, ///< the table as one list, with ListStarts
  ListStarts,
  Lens,
  Scales, ///< [heads], above 0
  Rows,
  KvRows,
  Cos,
  Sin,
  Positions,
  Bitmap,
  BitmapStarts,
  Symbol,       ///< of a mask: a scalar or one for each request
  RowValue,     ///< of a mask: one for each token
  SharedPrefix, ///< how many first keys all requests share
  Scalar,
};

struct Parameter {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape; ///< kDynamic where not static
  Role role = Role::Data;
  int64_t cache = -1;    ///< of a cache's parts but the scales: which (index into Graph::caches)
  unsigned argument = 0; ///< of the function
  std::string place;     ///< "file:line:column" of the argument

  static constexpr int64_t kDynamic = -1;
  /// "tensor<?x32x128xbf16>" in short: "bf16 [?, 32, 128]".
  std::string typeText() const;
};

/// The parameters that make up one cache, as indices.
struct CacheParameters {
  attn::PagedKVType type;
  int64_t kPages = -1, vPages = -1, table = -1, starts = -1, lens = -1;
  attn::Layout layout = attn::Layout::NHD; ///< the order of the pages' dimensions as parameters
  bool appended = false;                   ///< the graph writes the last rows of every request
};

class Graph {
public:
  /// Reads MLIR text or bytecode, or a bundle that keeps its graph, and picks a function: by name,
  /// or the only one.
  static Result<std::unique_ptr<Graph>> read(const std::string &path,
                                             const std::string &functionName);

  mlir::func::FuncOp function() { return function_; }
  const std::string &text() const { return text_; }
  /// The bundle that the graph was kept in; empty where it was read as text.
  const std::string &artifact() const { return artifact_; }
  const std::vector<Parameter> &parameters() const { return parameters_; }
  const std::vector<CacheParameters> &caches() const { return caches_; }
  /// The declared maxima, in order, of which a batch takes the first that hold it; none where the
  /// function declares none. Those of a bundle are what it was compiled for.
  const std::vector<attn::BoundsAttr> &declared() const { return declared_; }
  /// Those that the batch takes; null before choose(), and where none are declared.
  attn::BoundsAttr bounds() const { return bounds_; }
  void choose(attn::BoundsAttr bounds) { bounds_ = bounds; }
  std::optional<int64_t> find(std::string_view name) const;

  /// An error about a parameter: its place and its name before the sentence.
  tl::unexpected<runtime::Error> failAt(const Parameter &parameter, const std::string &what) const;

private:
  Graph();
  Status parse(const std::string &path);
  Status openBundle(const std::string &path);
  Status pick(const std::string &functionName);
  Status addParameters();
  Status addArgument(mlir::BlockArgument argument, const std::string &name,
                     const std::string &place);
  void addCacheArgument(mlir::BlockArgument argument, attn::PagedKVType type,
                        const Parameter &base);
  void addCacheOp(attn::CacheOp op);
  void addBounds();
  Status checkNames() const;

  std::unique_ptr<mlir::MLIRContext> context_;
  std::string text_, artifact_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  std::vector<Parameter> parameters_;
  std::vector<CacheParameters> caches_;
  std::vector<attn::BoundsAttr> declared_;
  attn::BoundsAttr bounds_;
};

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_GRAPH_H
