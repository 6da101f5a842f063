//===- InitAll.cpp - what every Pagefold tool registers -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/InitAll.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"
#include "pagefold/Dialect/Attn/Transforms/Passes.h"
#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Dialect/Hopper/Transforms/Passes.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Pipeline/Passes.h"
#include "pagefold/Pipeline/Pipeline.h"
#include "pagefold/Target/Hopper/Passes.h"
#include "pagefold/Target/Host/Passes.h"

using namespace mlir;

void pagefold::registerPagefold(DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, tile::TileDialect, hopper::HopperDialect>();
  registry.insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, gpu::GPUDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
}

void pagefold::registerPagefoldPasses() {
  attn::registerAttnPasses();
  registerPagefoldConversionPasses();
  tile::registerPagefoldTilePasses();
  host::registerPagefoldHostPasses();
  registerPagefoldPipelinePasses();
  hopper::registerPagefoldHopperPasses();
  hopper::registerPagefoldHopperTargetPasses();
  hopper::registerHopperPipelines();
  registerPagefoldPipelines();
  registerTransformsPasses();
  registerLinalgPasses();
  memref::registerMemRefPasses();
}
