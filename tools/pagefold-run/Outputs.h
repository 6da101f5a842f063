//===- Outputs.h - results to the screen and to files -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_OUTPUTS_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_OUTPUTS_H

#include "Graph.h"

#include "pagefold/Support/ArrayFiles.h"

namespace pagefold::run {

/// The results as out0, out1 ..., and the pages that the call wrote, by their argument's name.
std::vector<NamedArray> nameOutputs(Graph &graph, const std::vector<Array> &results,
                                    const std::vector<Array> &arguments);

/// One line each: name, type, shape, norm, and how many elements are not finite, if any.
void printOutputs(const std::vector<NamedArray> &outputs, llvm::raw_ostream &out);

/// Writes one archive (.npz, .safetensors), the only output (.npy), or name.npy each into a
/// directory. All files or none.
Status writeOutputs(const std::string &path, const std::vector<NamedArray> &outputs);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_OUTPUTS_H
