// Kernels become PTX one by one, on several threads, and the text is one: a header, each declaration once, the kernels in
// their order. An inlined function serves several kernels.
// RUN: pagefold-translate --hopper-to-ptx %s | FileCheck %s --implicit-check-not=.version --implicit-check-not=.func
// RUN: pagefold-translate --hopper-to-ptx %s -o %t.ptx
// RUN: pagefold-translate --hopper-to-ptx %s | diff - %t.ptx
// RUN: %if ptxas %{ %ptxas -arch=sm_90a %t.ptx -o %t.cubin %}

// CHECK: .version
// CHECK: .target sm_90a
// CHECK: .extern .shared .align 1024 .b8 shared[];
// CHECK-NEXT: .extern .shared .align 16 .b8 other[];
// CHECK-NOT: .extern
// CHECK: .visible .entry first(
// CHECK: fma.rn.f32
// CHECK: ret;
// CHECK-NOT: .extern
// CHECK: .visible .entry second(
// CHECK: fma.rn.f32
// CHECK: ret;
// CHECK: .visible .entry third(
// CHECK-NOT: fma
// CHECK: ret;
// CHECK-NOT: .extern
gpu.module @kernels {
  llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global external @other() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>

  llvm.func internal @step(%x: f32) -> f32 attributes {always_inline} {
    %y = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
    llvm.return %y : f32
  }
  llvm.func @first(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    %y = llvm.call @step(%x) : (f32) -> f32
    %base = llvm.mlir.addressof @shared : !llvm.ptr<3>
    llvm.store volatile %y, %base : f32, !llvm.ptr<3>
    %z = llvm.load volatile %base : !llvm.ptr<3> -> f32
    llvm.store %z, %out : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @second(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    %y = llvm.call @step(%x) : (f32) -> f32
    %a = llvm.mlir.addressof @shared : !llvm.ptr<3>
    llvm.store volatile %y, %a : f32, !llvm.ptr<3>
    %b = llvm.mlir.addressof @other : !llvm.ptr<3>
    llvm.store volatile %y, %b : f32, !llvm.ptr<3>
    llvm.store %y, %out : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @third(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    llvm.store %x, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
