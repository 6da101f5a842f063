// A simt kernel's entry: the frame by value, read in place, and the error word's address. Kernels stay.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(simt-frame-entry))' | FileCheck %s

gpu.module @kernels {
  // CHECK: llvm.func internal @f_body(%{{.*}}: !llvm.ptr, %{{.*}}: f32, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64) attributes {always_inline}
  // CHECK: llvm.func @f(%[[FRAME:.*]]: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.array<2 x i64>, nvvm.grid_constant}, %[[WORD:.*]]: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128>}
  // CHECK: %[[P0:.*]] = llvm.getelementptr %[[FRAME]][0]
  // CHECK: %[[X:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[P1:.*]] = llvm.getelementptr %[[FRAME]][1]
  // CHECK: %[[CAP:.*]] = llvm.load %[[P1]] : !llvm.ptr -> f32
  // CHECK-DAG: %[[ZERO:.*]] = llvm.mlir.constant(0 : index) : i64
  // CHECK-DAG: %[[FOUR:.*]] = llvm.mlir.constant(4 : index) : i64
  // CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1 : index) : i64
  // CHECK: llvm.call @f_body(%[[X]], %[[CAP]], %[[WORD]], %[[WORD]], %[[ZERO]], %[[FOUR]], %[[ONE]])
  llvm.func @f(%x: !llvm.ptr, %cap: f32, %word: !llvm.ptr, %word_aligned: !llvm.ptr, %offset: i64, %size: i64,
               %stride: i64) attributes {nvvm.reqntid = array<i32: 128>} {
    llvm.store %cap, %x : f32, !llvm.ptr
    llvm.return
  }
  // CHECK: llvm.func @kernel() attributes {nvvm.kernel}
  // CHECK-NOT: kernel_body
  llvm.func @kernel() attributes {nvvm.kernel} {
    llvm.return
  }
}
