//===- NoPolly.cpp - what Debian's archive of LTO asks for -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lld brings link-time optimisation, which in Debian's build registers Polly's passes. Nothing that
// is linked here is bitcode, so it is told of a plugin without passes, and Polly stays out of the
// package.
//
//===----------------------------------------------------------------------===//

#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder &) {}};
}
