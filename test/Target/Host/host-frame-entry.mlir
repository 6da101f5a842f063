// The symbol of a kernel becomes a function of the frame, a word for each parameter of the body.
// RUN: pagefold-opt %s --host-frame-entry | FileCheck %s

// CHECK: llvm.func internal @kernel_body(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: f32) {
// CHECK: llvm.func @kernel(%[[FRAME:.*]]: !llvm.ptr) {
// CHECK:   %[[A0:.*]] = llvm.getelementptr %[[FRAME]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:   %[[W0:.*]] = llvm.load %[[A0]] : !llvm.ptr -> !llvm.ptr
// CHECK:   %[[A1:.*]] = llvm.getelementptr %[[FRAME]][1]
// CHECK:   %[[W1:.*]] = llvm.load %[[A1]] : !llvm.ptr -> i64
// CHECK:   %[[A2:.*]] = llvm.getelementptr %[[FRAME]][2]
// CHECK:   %[[W2:.*]] = llvm.load %[[A2]] : !llvm.ptr -> f32
// CHECK:   llvm.call @kernel_body(%[[W0]], %[[W1]], %[[W2]]) : (!llvm.ptr, i64, f32) -> ()
// CHECK:   llvm.return
llvm.func @kernel(%p: !llvm.ptr, %n: i64, %x: f32) {
  llvm.return
}

// What is only declared, a function of libm, keeps its name.
// CHECK: llvm.func @expf(f32) -> f32
// CHECK-NOT: @expf_body
llvm.func @expf(f32) -> f32
