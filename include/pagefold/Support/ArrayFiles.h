//===- ArrayFiles.h - arrays in files ---------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// .npy, .npz and .safetensors, read and written exactly. Malformed files give an error that names
// the file, never a crash and never an allocation larger than the file justifies.
//
// bf16 and f8e4m3: numpy has no such types. With the ml_dtypes package it saves them as `<V2` and
// `<V1`, voids that do not say what they hold. Voids of two bytes (`<V2`, `|V2`) and the name
// `bfloat16` are read as bf16, those of one byte and `float8_e4m3fn` as f8e4m3, and so they are
// written: `np.load(f).view(ml_dtypes.bfloat16)` gives an array back. safetensors has BF16 and
// F8_E4M3.
//
// .npz: under 4 GiB in all, and fewer than 65535 arrays. More is refused by name, in reading and in
// writing; the other two have no limit.
//
// Fortran order is read (as strides). Big-endian and structured arrays are refused. Writing is
// always in row-major order.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_SUPPORT_ARRAYFILES_H
#define PAGEFOLD_SUPPORT_ARRAYFILES_H

#include "pagefold/Support/Arrays.h"

#include <utility>

namespace pagefold {

struct NamedArray {
  std::string name;
  Array array;
};

/// One array in a .npy file.
runtime::Result<Array> readNpy(const std::string &path);
/// All arrays of a .npz file (stored or deflated), by name without ".npy", in the archive's order.
runtime::Result<std::vector<NamedArray>> readNpz(const std::string &path);
/// All tensors of a .safetensors file, in the order of their data.
runtime::Result<std::vector<NamedArray>> readSafetensors(const std::string &path);

/// What the file of an array, or of arrays, holds. `name` is that of the file, for messages.
runtime::Result<std::string> npyBytes(const Array &array);
runtime::Result<std::string> npzBytes(std::span<const NamedArray> arrays);
runtime::Result<std::string> safetensorsBytes(std::span<const NamedArray> arrays);

/// The array that the bytes of a .npy file hold; `path` is for messages.
runtime::Result<Array> parseNpy(std::string_view bytes, const std::string &path);
runtime::Result<std::vector<NamedArray>> parseSafetensors(std::string_view bytes,
                                                          const std::string &path);

/// The bytes of a regular file.
runtime::Result<std::string> readFile(const std::string &path);

struct FileContents {
  std::string path, bytes;
};
/// Writes all files or none: each to a temporary file beside it, then renamed once all are written.
runtime::Status writeFiles(std::span<const FileContents> files);

} // namespace pagefold

#endif // PAGEFOLD_SUPPORT_ARRAYFILES_H
