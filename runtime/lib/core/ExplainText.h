//===- ExplainText.h - an explanation for people ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_EXPLAINTEXT_H
#define PAGEFOLD_RUNTIME_LIB_CORE_EXPLAINTEXT_H

#include "JsonReader.h"

namespace pagefold::runtime {

/// The text of an explanation but for its remarks, made from the JSON that explainFunction() makes.
std::string explainText(const Json &explanation);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_EXPLAINTEXT_H
