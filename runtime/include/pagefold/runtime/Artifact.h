//===- Artifact.h - what a compile produces ---------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact is code and a launch plan in one run of bytes. The compiler writes it with
// serialize(), the runtime reads it with parse(); a bundle is the same bytes in a file. Everything
// that is known about the format lives here and in Artifact.cpp; docs/artifact.md is its page.
//
// Who must change with this file:
//   - docs/artifact.md, and kArtifactVersion when an old reader could misread a new artifact;
//   - the compiler's pass that fills a Plan;
//   - Launch.h where the change concerns the frame, the error word or the counters.
//
// parse() and serialize() apply the same verify(): what the compiler can write is what the runtime
// can read, so that a mistake in a plan is found on the day it is made.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_ARTIFACT_H
#define PAGEFOLD_RUNTIME_ARTIFACT_H

#include "pagefold/runtime/Error.h"
#include "pagefold/runtime/KernelAbout.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pagefold::runtime {

inline constexpr uint32_t kArtifactVersion = 1;

/// The element types that an argument may have. F8E4M3 is the one of 4 and 3 bits without
/// infinities, e4m3fn elsewhere.
enum class DType : uint8_t { F32, F16, BF16, F8E4M3, F64, I8, U8, I32, I64, Bool };

std::string_view dtypeName(DType dtype);
std::optional<DType> dtypeFromName(std::string_view name);
/// Bytes of one element.
int64_t dtypeSize(DType dtype);

/// One entry of an argument's shape.
struct Extent {
  enum class Kind : uint8_t {
    Fixed,  ///< exactly `value`
    Any,    ///< whatever the tensor has
    Symbol, ///< `symbol + value`: the first argument that has the symbol binds it, later ones agree
  };
  Kind kind = Kind::Any;
  int64_t value = 0;
  std::string symbol;

  static Extent fixed(int64_t value) { return {Kind::Fixed, value, {}}; }
  static Extent any() { return {}; }
  static Extent symbolic(std::string name, int64_t plus = 0) {
    return {Kind::Symbol, plus, std::move(name)};
  }
  bool operator==(const Extent &) const = default;
};

enum class Access : uint8_t {
  Read,
  Write,     ///< a result: the caller owns it, the launch fills it; overlaps no other argument
  ReadWrite, ///< updated in place (the pages of a cache)
};

struct ArgumentPlan {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Extent> shape;
  Access access = Access::Read;
  bool scalar = false;     ///< rank 0; its value goes into the frame, not its address
  bool contiguous = false; ///< dense row-major required
  /// Bytes whose multiples the address and all strides but the innermost are, where kernels access
  /// several elements at once; elements are at multiples of their size anyway.
  int64_t align = 1;
  bool operator==(const ArgumentPlan &) const = default;
};

/// One dimension of a tensor map: each a number, or taken from a dimension of the argument.
struct MapDimension {
  std::optional<int64_t> extent;   ///< elements
  std::optional<int64_t> extentOf; ///< the argument's extent of this dimension
  std::optional<int64_t> stride;   ///< bytes; the innermost dimension has none
  std::optional<int64_t> strideOf; ///< the argument's stride of this dimension
  bool operator==(const MapDimension &) const = default;
};

/// One parameter of a CUDA kernel; docs/artifact.md says what a kernel gets for each kind.
struct ParameterPlan {
  enum class Kind : uint8_t {
    Map,       ///< a tensor map of `arg`: `element`, `box`, `dims`
    Pointer,   ///< the address of `arg`
    Extent,    ///< extent `dim` of `arg`, plus `add`
    Stride,    ///< stride `dim` of `arg`, in elements
    Scalar,    ///< the value of the scalar `arg`
    Workspace, ///< the address `offset` bytes into the workspace
    ErrorWord, ///< the address of the ErrorWord
    Frame,     ///< all arguments and the workspace as words, by value
    Constant,  ///< the four bytes `bits`
    PageMap,   ///< a tensor map of the pages `arg`: `element`, `panels`, `boxRows`
    PageStep,  ///< `of` the pages `arg`, which have `panels`
  };
  /// The factors of a kernel's coordinates in a PageMap, which depend on how the pages lie:
  /// (0, 0, head * HeadPanel, slot / 8, page * Page + head * HeadPage).
  enum class Step : uint8_t { HeadPanel, Page, HeadPage };
  Kind kind = Kind::Pointer;
  int64_t arg = 0;
  int64_t dim = 0;
  int64_t add = 0;
  int64_t offset = 0;
  int64_t bits = 0;
  DType element = DType::BF16;
  /// Map: the tensor lies so many bytes into the workspace; `arg` only gives extents.
  std::optional<int64_t> workspace;
  bool readOnce = false;          ///< Map: the L2 fetches nothing beside what is asked for
  std::vector<int64_t> box;       ///< elements of each dimension, innermost first
  std::vector<MapDimension> dims; ///< as many as `box`
  int64_t panels = 0;             ///< of 64 elements, of a slot's head
  int64_t boxRows = 0;            ///< slots that one copy brings
  Step of = Step::HeadPanel;
  bool operator==(const ParameterPlan &) const = default;
};

/// How a kernel is launched on a GPU.
struct CudaKernelPlan {
  int64_t threads = 0; ///< of a CTA
  int64_t shared = 0;  ///< dynamic bytes of a CTA
  /// The grid: so many CTAs, or so many for each multiprocessor. One of the two is 0.
  int64_t ctas = 0, ctasPerSm = 0;
  std::vector<ParameterPlan> params; ///< in the kernel's order
  /// It may start while the kernel before it in the function ends, and waits by itself for what it
  /// needs of that (programmatic dependent launch).
  bool early = false;
  bool operator==(const CudaKernelPlan &) const = default;
};

struct KernelPlan {
  enum class Workers : uint8_t { One, All };
  std::string symbol;                    ///< a C symbol of the code
  Workers workers = Workers::All;        ///< on the host
  std::optional<CudaKernelPlan> cuda;    ///< on a GPU, and there alone
  std::optional<KernelAbout> about = {}; ///< to explain it
  bool operator==(const KernelPlan &) const = default;
};

/// `size` bytes at `offset` of a fresh workspace hold `byte` before its first launch.
struct WorkspaceFill {
  int64_t offset = 0;
  int64_t size = 0;
  uint8_t byte = 0;
  bool operator==(const WorkspaceFill &) const = default;
};

/// How one function is launched. Sizes and offsets are in bytes.
struct FunctionPlan {
  std::string name;
  /// Of a graph that was compiled for several maxima, whose variants are functions: its name; else
  /// empty.
  std::string graph = {};
  /// Declared maxima ("batch", "tokens", "q_len", "kv_len"). A shape symbol of the same name may
  /// not exceed its bound.
  std::map<std::string, int64_t> bounds;
  /// Inputs in order, then the results (Access::Write) in order.
  std::vector<ArgumentPlan> args;
  int64_t workspaceSize = 0;
  std::vector<WorkspaceFill> workspaceInit;
  int64_t scratchSize = 0;          ///< of each worker; 0 on a GPU
  std::optional<int64_t> errorWord; ///< where the ErrorWord lies in the workspace; none on a GPU
  std::optional<int64_t> counters;  ///< where the TileCounters lie, when compiled with them
  std::vector<KernelPlan> kernels;  ///< in order
  std::vector<Remark> remarks;      ///< of the compile, to explain it

  const std::string &graphName() const { return graph.empty() ? name : graph; }
  bool operator==(const FunctionPlan &) const = default;
};

/// What the code was made for.
struct TargetPlan {
  std::string kind; ///< "host" or "cuda"
  std::string triple;
  std::string cpu;                         ///< by LLVM's name, such as "sapphirerapids" or "sm_90a"
  std::vector<std::string> features;       ///< LLVM's names of what the code may use, without '+'
  std::optional<MachinePlan> machine = {}; ///< to explain launches
  bool operator==(const TargetPlan &) const = default;
};

struct Plan {
  std::string compiler; ///< name and version, for messages
  TargetPlan target;
  std::vector<std::string> options = {}; ///< of the compile, where not the defaults: "fuse=false"
  std::vector<FunctionPlan> functions;
  bool operator==(const Plan &) const = default;
};

/// One code section. `bytes` is not owned.
struct CodeSection {
  /// "elf-shared": an ELF shared object with the kernels' symbols; for a GPU "ptx" (text) or
  /// "cubin". Beside them may stand a "graph": what was compiled, as MLIR text or bytecode.
  std::string kind;
  std::string_view bytes;
  bool operator==(const CodeSection &) const = default;
};

struct Artifact {
  Plan plan;
  std::vector<CodeSection> code; ///< views of the bytes given to parse()
};

/// The plan's rules: names present and distinct, offsets inside the workspace, results last, ...
/// InvalidArgument names the first rule broken.
Status verify(const Plan &plan);

/// The bytes of an artifact. Equal inputs give equal bytes.
Result<std::string> serialize(const Plan &plan, std::span<const CodeSection> code);

/// Reads an artifact. Any bytes are safe to give: what is not an intact artifact of this version is
/// a BadInput. An artifact is code all the same: load only what you would run.
Result<Artifact> parse(std::string_view bytes);

/// The checksum that ends an artifact (FNV-1a, 64 bits): guards against damage, not against malice.
uint64_t checksum(std::string_view bytes);

/// One function as JSON for people and bindings:
///   {"name", "target": {..}, "bounds": {..}, "args": [{"name", "dtype", "shape": [null, 32],
///    "symbolic_shape": ["tokens", 32], "access", "scalar", "contiguous", "align"}],
///    "results": [like args],
///    "workspace": {"size", "init"}, "scratch", "counters": offset or null, "kernels": [..]}
/// "shape" has null where the extent is known at the launch only.
std::string describe(const Plan &plan, const FunctionPlan &function);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_ARTIFACT_H
