// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm))' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @kernel
  hopper.kernel @kernel() {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
    }
    hopper.return
  }

  // What stands beside the kernels is left as it is.
  // CHECK-LABEL: func.func @beside
  // CHECK: memref.load
  func.func @beside(%m: memref<4xf32>, %i: index) -> f32 {
    %v = memref.load %m[%i] : memref<4xf32>
    return %v : f32
  }
}
