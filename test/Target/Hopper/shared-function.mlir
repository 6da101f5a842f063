// A function that kernels call is defined once: they stay together.
// RUN: pagefold-translate --hopper-to-ptx %s | FileCheck %s --implicit-check-not=.version

// CHECK: .version
// CHECK: .func {{.*}} step
// CHECK: .visible .entry first(
// CHECK: call.uni {{.*}} step
// CHECK: .visible .entry second(
// CHECK: call.uni {{.*}} step
// CHECK-NOT: .func
gpu.module @kernels {
  llvm.func @step(%x: f32) -> f32 attributes {no_inline} {
    %y = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
    llvm.return %y : f32
  }
  llvm.func @first(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    %y = llvm.call @step(%x) : (f32) -> f32
    llvm.store %y, %out : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @second(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    %y = llvm.call @step(%x) : (f32) -> f32
    llvm.store %y, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
