//===- AboutJson.h - what explains kernels as JSON --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_ABOUTJSON_H
#define PAGEFOLD_RUNTIME_LIB_CORE_ABOUTJSON_H

#include "JsonReader.h"
#include "pagefold/runtime/KernelAbout.h"

namespace pagefold::runtime {

Json aboutToJson(const KernelAbout &about);
KernelAbout aboutFromJson(JsonReader &reader, const Json &json);

Json remarkToJson(const Remark &remark);
Remark remarkFromJson(JsonReader &reader, const Json &json);

Json machineToJson(const MachinePlan &machine);
MachinePlan machineFromJson(JsonReader &reader, const Json &json);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_ABOUTJSON_H
