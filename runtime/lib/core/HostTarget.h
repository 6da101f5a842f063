//===- HostTarget.h - can this CPU run that code ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_HOSTTARGET_H
#define PAGEFOLD_RUNTIME_LIB_CORE_HOSTTARGET_H

#include "pagefold/runtime/Artifact.h"

namespace pagefold::runtime {

/// Checks triple and features against this machine: code for another CPU ends in SIGILL, long
/// after anybody could tell why.
Status checkHostTarget(const TargetPlan &target);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_HOSTTARGET_H
