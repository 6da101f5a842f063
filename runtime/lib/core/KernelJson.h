//===- KernelJson.h - a kernel of the launch plan as JSON -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_KERNELJSON_H
#define PAGEFOLD_RUNTIME_LIB_CORE_KERNELJSON_H

#include "JsonReader.h"
#include "pagefold/runtime/Artifact.h"

namespace pagefold::runtime {

Json kernelToJson(const KernelPlan &kernel);

/// An entry with "threads" is a kernel of a GPU, any other one of the host.
KernelPlan kernelFromJson(JsonReader &reader, const Json &json);

/// The name of an element type.
DType dtypeFromJson(JsonReader &reader, const Json &json, const char *key);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_KERNELJSON_H
