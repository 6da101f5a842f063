//===- pagefold-lsp-server.cpp - editors' language server for Pagefold's MLIR ===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "pagefold/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pagefold::registerPagefold(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
