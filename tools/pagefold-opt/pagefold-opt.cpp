//===- pagefold-opt.cpp - runs Pagefold's passes on MLIR text -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "pagefold/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pagefold::registerPagefold(registry);
  pagefold::registerPagefoldPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Pagefold's passes, one by one or as a pipeline\n", registry));
}
