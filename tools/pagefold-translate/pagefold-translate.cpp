//===- pagefold-translate.cpp - from the last level to code -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "pagefold/Target/Hopper/PtxCode.h"

int main(int argc, char **argv) {
  pagefold::hopper::registerPtxTranslation();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "Pagefold's translations\n"));
}
