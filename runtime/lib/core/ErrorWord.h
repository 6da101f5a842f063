//===- ErrorWord.h - what a kernel says about a request ---------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_ERRORWORD_H
#define PAGEFOLD_RUNTIME_LIB_CORE_ERRORWORD_H

#include "pagefold/runtime/Artifact.h"
#include "pagefold/runtime/Launch.h"

#include <dlpack/dlpack.h>

namespace pagefold::runtime {

/// The sentence for an error word with a request in it. `args` are the launch's, to say where in
/// the page table a bad id stands.
Error errorOf(const ErrorWord &word, const FunctionPlan &function,
              std::span<const DLTensor *const> args);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_ERRORWORD_H
