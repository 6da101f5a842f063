//===- LengthFile.h - lengths of requests from a file -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_LENGTHFILE_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_LENGTHFILE_H

#include "Graph.h"

namespace pagefold::run {

/// One length a line, '#' begins a comment; or a column of comma-separated values, as "file:column"
/// by the name in its first line or the number from 1. Errors name the line.
Result<std::vector<int64_t>> readLengthFile(const std::string &spec);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_LENGTHFILE_H
