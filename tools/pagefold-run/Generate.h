//===- Generate.h - inputs from a short description -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes every array that no file gives: random numbers, a pool of pages in random order with a
// table that fits the lengths, offsets, rope tables, slopes. What no request owns is NaN, entries
// of the table past a length are -1, and slots that the graph is about to append are NaN, so that a
// wrong read shows.
//
// A seed and a name give the same numbers, whatever else is generated.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_GENERATE_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_GENERATE_H

#include "Inputs.h"

namespace pagefold::run {

/// One array a parameter: those of the files, checked, and generated ones for the rest.
Result<std::vector<Array>> makeArrays(Graph &graph, const Inputs &inputs);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_GENERATE_H
