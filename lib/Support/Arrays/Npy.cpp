//===- Npy.cpp - the .npy format ------------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "\x93NUMPY", major and minor version, the header's length (2 bytes in version 1, else 4), and the
// header: a Python dictionary such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4),
// }`.
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/ArrayFiles.h"

#include <algorithm>
#include <cctype>
#include <cstring>

using namespace pagefold;
using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;

namespace {
struct DescrRow {
  std::string_view descr;
  DType dtype;
};
/// The first row of a type is the one written.
constexpr DescrRow kDescrs[] = {{"<f4", DType::F32},       {"<f2", DType::F16},
                                {"<V2", DType::BF16},      {"|V2", DType::BF16},
                                {"bfloat16", DType::BF16}, {"<V1", DType::F8E4M3},
                                {"|V1", DType::F8E4M3},    {"float8_e4m3fn", DType::F8E4M3},
                                {"<f8", DType::F64},       {"|i1", DType::I8},
                                {"<i4", DType::I32},       {"<i8", DType::I64},
                                {"|u1", DType::U8},        {"|b1", DType::Bool}};

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the few forms of a Python dictionary that numpy writes. Each method consumes what it names
/// and gives false where something else stands.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text_(text) {}
  bool parse(Header &header);
  /// What was expected where parsing stopped.
  const std::string &problem() const { return problem_; }

private:
  bool entry(Header &header);
  bool string(std::string &value);
  bool boolean(bool &value);
  bool tuple(std::vector<int64_t> &values);
  bool integer(int64_t &value);
  bool take(std::string_view token);
  bool expect(std::string_view token) {
    return take(token) || expected("'" + std::string(token) + "'");
  }
  bool expected(const std::string &what);

  std::string_view text_;
  size_t at_ = 0;
  unsigned seen_ = 0; ///< bit per key
  std::string problem_;
};
} // namespace

bool HeaderParser::expected(const std::string &what) {
  if (problem_.empty())
    problem_ = "expects " + what + " at byte " + std::to_string(at_) + " of the header";
  return false;
}

bool HeaderParser::take(std::string_view token) {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
    ++at_;
  if (text_.substr(at_, token.size()) != token)
    return false;
  at_ += token.size();
  return true;
}

bool HeaderParser::string(std::string &value) {
  char quote = take("'") ? '\'' : take("\"") ? '"' : 0;
  size_t end = quote ? text_.find(quote, at_) : std::string_view::npos;
  if (end == std::string_view::npos)
    return expected("a string");
  value = text_.substr(at_, end - at_);
  at_ = end + 1;
  return true;
}

bool HeaderParser::boolean(bool &value) {
  value = take("True");
  return value || take("False") || expected("True or False");
}

bool HeaderParser::integer(int64_t &value) {
  take(""); // skips space
  size_t start = at_;
  value = 0;
  for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text_[at_] - '0', &value))
      return expected("a dimension below 2^63");
  if (at_ == start)
    return expected("a dimension");
  take("L"); // as Python 2 wrote long integers
  return true;
}

bool HeaderParser::tuple(std::vector<int64_t> &values) {
  if (!expect("("))
    return false;
  while (!take(")")) {
    int64_t value;
    if (!integer(value))
      return false;
    values.push_back(value);
    if (!take(","))
      return expect(")");
  }
  return true;
}

bool HeaderParser::entry(Header &header) {
  std::string key;
  if (!string(key) || !expect(":"))
    return false;
  unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
  if (!bit || (seen_ & bit))
    return expected("each of 'descr', 'fortran_order' and 'shape' once, got '" + key + "',");
  seen_ |= bit;
  if (bit == 1)
    return string(header.descr);
  return bit == 2 ? boolean(header.fortranOrder) : tuple(header.shape);
}

bool HeaderParser::parse(Header &header) {
  if (!expect("{"))
    return false;
  while (!take("}")) {
    if (!entry(header))
      return false;
    if (!take(",")) {
      if (!expect("}"))
        return false;
      break;
    }
  }
  if (seen_ != 7)
    return expected("the keys 'descr', 'fortran_order' and 'shape'");
  take("");
  return at_ == text_.size() || expected("the end");
}

static tl::unexpected<runtime::Error> bad(const std::string &path, const std::string &what) {
  return fail(ErrorCode::BadInput, "'" + path + "' is not a .npy file that can be read: " + what);
}

static Result<DType> dtypeOf(const std::string &descr, const std::string &path) {
  for (const DescrRow &row : kDescrs)
    if (row.descr == descr)
      return row.dtype;
  return bad(path, "expects elements of f32, f16, bf16, f8e4m3, f64, i8, i32, i64, u8 or bool "
                   "in little-endian order, got '" +
                       descr + "'");
}

/// Where the header's text lies: its first byte and its length.
static Result<std::pair<size_t, size_t>> headerExtent(std::string_view bytes,
                                                      const std::string &path) {
  if (bytes.substr(0, 6) != "\x93NUMPY")
    return bad(path, "it does not begin with \\x93NUMPY");
  if (bytes.size() < 8)
    return bad(path,
               "it ends within its version, after " + std::to_string(bytes.size()) + " bytes");
  unsigned major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    return bad(path, "expects format version 1, 2 or 3, got " + std::to_string(major));
  size_t width = major == 1 ? 2 : 4, begin = 8 + width, length = 0;
  if (bytes.size() < begin)
    return bad(path, "it ends within its header's length");
  for (size_t i = 0; i < width; ++i)
    length |= size_t{static_cast<unsigned char>(bytes[8 + i])} << (8 * i);
  if (length > bytes.size() - begin)
    return bad(path, "its header of " + std::to_string(length) + " bytes ends past the file's " +
                         std::to_string(bytes.size()));
  return std::pair(begin, length);
}

Result<Array> pagefold::parseNpy(std::string_view bytes, const std::string &path) {
  Result<std::pair<size_t, size_t>> extent = headerExtent(bytes, path);
  if (!extent)
    return tl::unexpected(extent.error());
  Header header;
  HeaderParser parser(bytes.substr(extent->first, extent->second));
  if (!parser.parse(header))
    return bad(path, parser.problem());
  Result<DType> dtype = dtypeOf(header.descr, path);
  if (!dtype)
    return tl::unexpected(dtype.error());
  std::string_view data = bytes.substr(extent->first + extent->second);
  std::optional<int64_t> count = elementCount(header.shape);
  int64_t needed;
  if (!count || __builtin_mul_overflow(*count, dtypeSize(*dtype), &needed))
    return bad(path,
               "its shape " + shapeString(header.shape) + " has more elements than can be counted");
  if (static_cast<uint64_t>(needed) != data.size())
    return bad(path, "shape " + shapeString(header.shape) + " of " +
                         std::string(dtypeName(*dtype)) + " needs " + std::to_string(needed) +
                         " bytes of data, got " + std::to_string(data.size()));

  // Fortran order is the row-major order of the reversed shape.
  if (header.fortranOrder)
    std::reverse(header.shape.begin(), header.shape.end());
  Result<Array> array = Array::make(*dtype, header.shape);
  if (!array)
    return fail(array.error().code(), "'" + path + "': " + array.error().message());
  if (needed)
    std::memcpy(array->data(), data.data(), needed);
  if (!header.fortranOrder)
    return array;
  std::vector<int64_t> order(header.shape.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return array->permuted(order);
}

Result<Array> pagefold::readNpy(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return tl::unexpected(bytes.error());
  return parseNpy(*bytes, path);
}

Result<std::string> pagefold::npyBytes(const Array &array) {
  Result<Array> packed = array.isContiguous() ? Result<Array>(array) : array.clone();
  if (!packed)
    return tl::unexpected(packed.error());
  const DescrRow *row =
      std::find_if(std::begin(kDescrs), std::end(kDescrs),
                   [&](const DescrRow &row) { return row.dtype == array.dtype(); });
  std::string shape = shapeString(array.shape());
  shape = "(" + shape.substr(1, shape.size() - 2) + (array.rank() == 1 ? "," : "");
  std::string header = "{'descr': '" + std::string(row->descr) +
                       "', 'fortran_order': False, 'shape': " + shape + "), }";
  // The data starts at a multiple of 64 bytes, after a line feed.
  constexpr size_t kPreamble = 10;
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  if (array.size())
    bytes.append(reinterpret_cast<const char *>(packed->data()), packed->sizeInBytes());
  return bytes;
}
