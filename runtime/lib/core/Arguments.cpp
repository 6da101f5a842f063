//===- Arguments.cpp - DLPack tensors against the plan --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "pagefold/runtime/Launch.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace pagefold::runtime;

//===----------------------------------------------------------------------===//
// Element types as DLPack says them
//===----------------------------------------------------------------------===//

namespace {
// In DLPack since 1.0 and 1.1; Debian's header is older.
constexpr uint8_t kDLBoolCode = 6, kDLFloat8E4M3FNCode = 10;

DLDataType toDLPack(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::F16:
  case DType::F64:
    return {kDLFloat, static_cast<uint8_t>(8 * dtypeSize(dtype)), 1};
  case DType::BF16:
    return {kDLBfloat, 16, 1};
  case DType::F8E4M3:
    return {kDLFloat8E4M3FNCode, 8, 1};
  case DType::U8:
    return {kDLUInt, 8, 1};
  case DType::Bool:
    return {kDLBoolCode, 8, 1};
  case DType::I8:
  case DType::I32:
  case DType::I64:
    break;
  }
  return {kDLInt, static_cast<uint8_t>(8 * dtypeSize(dtype)), 1};
}

bool sameType(DType dtype, DLDataType got) {
  DLDataType want = toDLPack(dtype);
  // Producers older than DLPack 1.0 have no bool and give its bytes.
  bool sameCode = got.code == want.code || (dtype == DType::Bool && got.code == kDLUInt);
  return sameCode && got.bits == want.bits && got.lanes == want.lanes;
}

std::string typeName(DLDataType type) {
  const char *codes[] = {"i",
                         "u",
                         "f",
                         "handle",
                         "bf",
                         "complex",
                         "bool",
                         "float8_e3m4",
                         "float8_e4m3",
                         "float8_e4m3b11fnuz",
                         "float8_e4m3fn",
                         "float8_e4m3fnuz",
                         "float8_e5m2",
                         "float8_e5m2fnuz"};
  bool known = type.code < std::size(codes);
  std::string name = known ? codes[type.code] : "code" + std::to_string(type.code) + ":";
  if (!known || type.code < kDLBoolCode) // the others have their size in the name
    name += std::to_string(type.bits);
  return type.lanes == 1 ? name : name + "x" + std::to_string(type.lanes);
}

std::string shapeText(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

/// A scalar's word of the frame.
int64_t scalarWord(DType dtype, const void *data) {
  auto read = [data](auto value) {
    std::memcpy(&value, data, sizeof(value));
    return static_cast<int64_t>(value); // zero-extends unsigned types, sign-extends signed ones
  };
  switch (dtype) {
  case DType::F32:
    return read(uint32_t());
  case DType::F16:
  case DType::BF16:
    return read(uint16_t());
  case DType::F8E4M3:
  case DType::U8:
  case DType::Bool:
    return read(uint8_t());
  case DType::I8:
    return read(int8_t());
  case DType::I32:
    return read(int32_t());
  case DType::F64:
  case DType::I64:
    break;
  }
  return read(int64_t());
}
} // namespace

//===----------------------------------------------------------------------===//
// One argument
//===----------------------------------------------------------------------===//

namespace {
constexpr size_t kMaxRank = 16; // as verify() says

/// A tensor's shape and strides with the defaults filled in.
struct Layout {
  size_t rank = 0;
  bool empty = false; ///< no element: strides and address do not matter
  std::span<const int64_t> shape;
  int64_t strides[kMaxRank] = {};
  ByteRange bytes;
};

/// Row-major strides; false when the extents' product does not fit 64 bits.
bool denseStrides(std::span<const int64_t> shape, int64_t *strides) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[i], 1), &stride))
      return false;
  }
  return true;
}

/// The bytes that the elements span, from the lowest to past the highest; false when they do not
/// fit the address space.
bool spanBytes(uintptr_t address, int64_t elementSize, Layout &layout) {
  int64_t low = 0, high = 1; // in elements
  for (size_t i = 0; i < layout.rank; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return false;
  }
  if (__builtin_mul_overflow(low, elementSize, &low) ||
      __builtin_mul_overflow(high, elementSize, &high))
    return false;
  // low <= 0 < high
  auto below = 0 - static_cast<uintptr_t>(low), above = static_cast<uintptr_t>(high);
  if (below > address || __builtin_add_overflow(address, above, &layout.bytes.end))
    return false;
  layout.bytes.begin = address - below;
  return true;
}
} // namespace

struct ArgumentBinder::Walk {
  const FunctionPlan &function;
  size_t index;
  const ArgumentPlan &plan;
  const DLTensor &tensor;

  tl::unexpected<Error> refuse(const std::string &what) const {
    return fail(ErrorCode::InvalidArgument, "function '" + function.name + "', argument " +
                                                std::to_string(index) + " '" + plan.name +
                                                "': expects " + what);
  }

  uintptr_t address() const {
    return reinterpret_cast<uintptr_t>(tensor.data) + static_cast<uintptr_t>(tensor.byte_offset);
  }

  /// `align` in elements.
  int64_t alignedElements() const {
    return std::max<int64_t>(plan.align / dtypeSize(plan.dtype), 1);
  }

  Result<Layout> layout() const;
  Status checkStrides(const Layout &layout) const;
  Status checkAddress(const Layout &layout) const;
};

Result<Layout> ArgumentBinder::Walk::layout() const {
  Layout layout;
  layout.rank = plan.shape.size();
  layout.shape = {tensor.shape, layout.rank};
  layout.empty = std::find(layout.shape.begin(), layout.shape.end(), 0) != layout.shape.end();
  bool fits = denseStrides(layout.shape, layout.strides);
  if (tensor.strides)
    std::copy_n(tensor.strides, layout.rank, layout.strides);
  else if (!fits && !layout.empty)
    return refuse("elements that fit the address space, got shape " + shapeText(layout.shape));
  if (layout.empty)
    return layout;
  if (Status status = checkStrides(layout); !status)
    return tl::unexpected(status.error());
  if (Status status = checkAddress(layout); !status)
    return tl::unexpected(status.error());
  if (!spanBytes(address(), dtypeSize(plan.dtype), layout))
    return refuse("elements that fit the address space, got shape " + shapeText(layout.shape) +
                  " and strides " + shapeText({layout.strides, layout.rank}));
  return layout;
}

Status ArgumentBinder::Walk::checkStrides(const Layout &layout) const {
  if (layout.rank == 0)
    return {};
  size_t inner = layout.rank - 1;
  if (layout.shape[inner] > 1 && layout.strides[inner] != 1)
    return refuse("an innermost stride of 1 element, got " + std::to_string(layout.strides[inner]) +
                  "; make the tensor contiguous in its last dimension");
  int64_t dense[kMaxRank];
  bool fits = denseStrides(layout.shape, dense);
  for (size_t i = 0; i < layout.rank; ++i) {
    if (layout.shape[i] <= 1)
      continue; // its stride is never used
    if (plan.contiguous && (!fits || layout.strides[i] != dense[i]))
      return refuse("a dense row-major tensor, got strides " +
                    shapeText({layout.strides, layout.rank}) + " for shape " +
                    shapeText(layout.shape) + "; make it contiguous");
    if (plan.access != Access::Read && layout.strides[i] == 0)
      return refuse("a place of its own for every element that is written, got stride 0 in "
                    "dimension " +
                    std::to_string(i));
    if (i != inner && layout.strides[i] % alignedElements())
      return refuse("strides that are multiples of " + std::to_string(alignedElements()) +
                    " elements (" + std::to_string(plan.align) + " bytes), got " +
                    std::to_string(layout.strides[i]) + " in dimension " + std::to_string(i) +
                    "; make the tensor contiguous");
  }
  return {};
}

Status ArgumentBinder::Walk::checkAddress(const Layout &layout) const {
  if (!tensor.data)
    return refuse("data, got a null pointer for shape " + shapeText(layout.shape));
  if (address() < reinterpret_cast<uintptr_t>(tensor.data))
    return refuse("a byte offset inside the address space, got " +
                  std::to_string(tensor.byte_offset));
  auto size = static_cast<uintptr_t>(dtypeSize(plan.dtype));
  if (address() % size)
    return refuse("an address that is a multiple of its element's " + std::to_string(size) +
                  " bytes, got one at " + std::to_string(address() % size) + " past it");
  if (auto align = static_cast<uintptr_t>(plan.align); address() % align)
    return refuse("an address that is a multiple of " + std::to_string(align) +
                  " bytes, got one at " + std::to_string(address() % align) +
                  " past it; copy the tensor to memory of its own");
  return {};
}

//===----------------------------------------------------------------------===//
// All arguments
//===----------------------------------------------------------------------===//

ArgumentBinder::ArgumentBinder(const FunctionPlan &function, DLDeviceType memory)
    : function_(function), memory_(memory) {
  size_t words = 0;
  for (const ArgumentPlan &arg : function.args) {
    std::vector<Dim> &dims = dims_.emplace_back();
    for (const Extent &extent : arg.shape) {
      bool symbolic = extent.kind == Extent::Kind::Symbol;
      dims.push_back({extent.kind, extent.value, symbolic ? symbolIndex(extent.symbol) : 0});
    }
    firstWords_.push_back(words);
    words += arg.scalar ? 1 : static_cast<size_t>(tensorWords(int64_t(dims.size())));
  }
}

size_t ArgumentBinder::symbolIndex(const std::string &name) {
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i].name == name)
      return i;
  auto bound = function_.bounds.find(name);
  symbols_.push_back({name, bound == function_.bounds.end() ? std::numeric_limits<int64_t>::max()
                                                            : bound->second});
  return symbols_.size() - 1;
}

Status ArgumentBinder::bind(std::span<const DLTensor *const> args, BoundArguments &bound) const {
  const std::vector<ArgumentPlan> &plans = function_.args;
  if (args.size() != plans.size())
    return fail(ErrorCode::InvalidArgument, "function '" + function_.name + "' expects " +
                                                std::to_string(plans.size()) + " arguments, got " +
                                                std::to_string(args.size()));
  bound.words.clear();
  bound.device = -1;
  bound.ranges.clear();
  bound.symbols.assign(symbols_.size(), {});
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!args[i])
      return fail(ErrorCode::InvalidArgument, "function '" + function_.name + "', argument " +
                                                  std::to_string(i) + " '" + plans[i].name +
                                                  "': expects a tensor, got null");
    if (Status status = bindOne({function_, i, plans[i], *args[i]}, bound); !status)
      return status;
  }
  return checkOverlaps(bound);
}

Status ArgumentBinder::bindOne(const Walk &walk, BoundArguments &bound) const {
  if (Status status = checkDevice(walk, bound); !status)
    return status;
  if (Status status = checkType(walk); !status)
    return status;
  if (Status status = checkExtents(walk, bound); !status)
    return status;
  Result<Layout> layout = walk.layout();
  if (!layout)
    return tl::unexpected(layout.error());

  auto address = static_cast<int64_t>(walk.address());
  bound.ranges.push_back(layout->bytes);
  if (walk.plan.scalar) {
    bound.words.push_back(
        scalarWord(walk.plan.dtype, reinterpret_cast<const void *>(walk.address())));
    return {};
  }
  bound.words.insert(bound.words.end(), {address, address, 0});
  bound.words.insert(bound.words.end(), layout->shape.begin(), layout->shape.end());
  bound.words.insert(bound.words.end(), layout->strides, layout->strides + layout->rank);
  return {};
}

Status ArgumentBinder::checkDevice(const Walk &walk, BoundArguments &bound) const {
  const DLDevice device = walk.tensor.device;
  const DLDeviceType expected = walk.plan.scalar ? kDLCPU : memory_;
  if (device.device_type != expected) {
    const std::string got = ", got device type " + std::to_string(int(device.device_type));
    if (expected == kDLCUDA)
      return walk.refuse("a tensor in CUDA memory (device type 2)" + got +
                         "; copy it to the GPU or compile with target host");
    if (memory_ == kDLCUDA)
      return walk.refuse("a scalar in host memory (device type 1)" + got +
                         "; a launch reads it without waiting for the GPU");
    return walk.refuse("a tensor in host memory (device type 1)" + got +
                       "; copy it to the host or compile for its device");
  }
  if (walk.plan.scalar)
    return {};
  if (bound.device < 0) {
    bound.device = device.device_id;
    bound.deviceOf = walk.index;
  }
  if (memory_ == kDLCUDA && device.device_id != bound.device)
    return walk.refuse("a tensor on device " + std::to_string(bound.device) + " as '" +
                       function_.args[bound.deviceOf].name + "' is, got device " +
                       std::to_string(device.device_id) + "; copy it there");
  return {};
}

Status ArgumentBinder::checkType(const Walk &walk) const {
  const DLTensor &tensor = walk.tensor;
  if (!sameType(walk.plan.dtype, tensor.dtype))
    return walk.refuse("dtype " + std::string(dtypeName(walk.plan.dtype)) + ", got " +
                       typeName(tensor.dtype));
  if (tensor.ndim < 0 || static_cast<size_t>(tensor.ndim) != walk.plan.shape.size())
    return walk.refuse("rank " + std::to_string(walk.plan.shape.size()) + ", got " +
                       std::to_string(tensor.ndim));
  if (tensor.ndim > 0 && !tensor.shape)
    return walk.refuse("a shape, got a null pointer");
  return {};
}

Status ArgumentBinder::checkExtents(const Walk &walk, BoundArguments &bound) const {
  const std::vector<Dim> &dims = dims_[walk.index];
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t got = walk.tensor.shape[i];
    if (got < 0)
      return walk.refuse("an extent of at least 0 in dimension " + std::to_string(i) + ", got " +
                         std::to_string(got));
    if (dims[i].kind == Extent::Kind::Fixed && got != dims[i].value)
      return walk.refuse("extent " + std::to_string(dims[i].value) + " in dimension " +
                         std::to_string(i) + ", got " + std::to_string(got));
    if (dims[i].kind == Extent::Kind::Symbol)
      if (Status status = checkSymbol(walk, i, bound); !status)
        return status;
  }
  return {};
}

Status ArgumentBinder::checkSymbol(const Walk &walk, size_t dim, BoundArguments &bound) const {
  const Dim &entry = dims_[walk.index][dim];
  const Symbol &symbol = symbols_[entry.symbol];
  BoundArguments::Symbol &value = bound.symbols[entry.symbol];
  int64_t extent = walk.tensor.shape[dim], got = extent - entry.value;
  std::string_view plus = entry.value ? " + " : "";
  auto place = [&] {
    return std::string(" in dimension ") + std::to_string(dim) + " (" + symbol.name +
           std::string(plus) + (entry.value ? std::to_string(entry.value) : "") + ")";
  };
  if (got < 0)
    return walk.refuse("an extent of at least " + std::to_string(entry.value) + place() + ", got " +
                       std::to_string(extent));
  if (got > symbol.bound)
    return walk.refuse("at most " + std::to_string(symbol.bound) + " for " + symbol.name +
                       ", the declared maximum, got " + std::to_string(got) + " in dimension " +
                       std::to_string(dim) + "; launch in parts or compile with a larger maximum");
  if (value.value < 0) {
    value = {got, walk.index, dim};
    return {};
  }
  if (got != value.value)
    return walk.refuse("extent " + std::to_string(value.value + entry.value) + place() + " as '" +
                       function_.args[value.arg].name + "' has " + symbol.name + " = " +
                       std::to_string(value.value) + ", got " + std::to_string(extent));
  return {};
}

Status ArgumentBinder::checkOverlaps(const BoundArguments &bound) const {
  const std::vector<ArgumentPlan> &plans = function_.args;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].access != Access::Write)
      continue;
    for (size_t j = 0; j < plans.size(); ++j)
      if (i != j && bound.ranges[i].intersects(bound.ranges[j]))
        return fail(ErrorCode::InvalidArgument,
                    "function '" + function_.name + "', argument " + std::to_string(i) + " '" +
                        plans[i].name +
                        "': expects memory that no other argument uses, got an "
                        "overlap with '" +
                        plans[j].name + "'; give the result memory of its own");
  }
  return {};
}

BoundArguments &pagefold::runtime::boundArguments() {
  thread_local BoundArguments bound;
  return bound;
}

Status pagefold::runtime::checkApart(const FunctionPlan &function, const BoundArguments &bound,
                                     const void *workspace) {
  auto begin = reinterpret_cast<uintptr_t>(workspace);
  ByteRange used{begin, begin + static_cast<uintptr_t>(function.workspaceSize)};
  for (size_t i = 0; i < bound.ranges.size(); ++i)
    if (bound.ranges[i].intersects(used))
      return fail(ErrorCode::InvalidArgument,
                  "function '" + function.name + "', argument " + std::to_string(i) + " '" +
                      function.args[i].name +
                      "': expects memory outside the workspace, got an overlap");
  return {};
}
