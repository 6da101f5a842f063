// Exchanges in a warp: one op, its instructions.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @warps
  // CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32)
  hopper.kernel @warps(%p: !hopper.pointer<i32>, %n: i32) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK-DAG: %[[ALL:.*]] = llvm.mlir.constant(-1 : i32)
        // CHECK-DAG: %[[LAST:.*]] = llvm.mlir.constant(31 : i32)
        // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
        %thread = hopper.thread
        // CHECK: %[[SUM:.*]] = nvvm.redux.sync add %[[THREAD]], %[[ALL]]
        %sum = hopper.warp_reduce sum %thread
        // CHECK: %[[MAX:.*]] = nvvm.redux.sync max %[[SUM]], %[[ALL]]
        %max = hopper.warp_reduce max %sum
        // CHECK: %[[MIN:.*]] = nvvm.redux.sync min %[[MAX]], %[[ALL]]
        %min = hopper.warp_reduce min %max
        // Five steps; a lane that has no lane so far before it adds nothing.
        // CHECK: %[[SCAN:.*]] = llvm.inline_asm has_side_effects
        // CHECK-SAME: shfl.sync.up.b32 t|p, $0, 1, 0, 0xffffffff; @p add.s32 $0, $0, t; shfl.sync.up.b32 t|p, $0, 2,
        // CHECK-SAME: $0, 4,
        // CHECK-SAME: $0, 8,
        // CHECK-SAME: $0, 16, 0, 0xffffffff; @p add.s32 $0, $0, t; }", "=r,0" %[[MIN]]
        %scan = hopper.warp_scan %min
        // CHECK: %[[SHUFFLED:.*]] = nvvm.shfl.sync idx %[[ALL]], %[[SCAN]], %[[N]], %[[LAST]]
        %shuffled = hopper.shuffle %scan from %n
        // CHECK: %[[LESS:.*]] = llvm.icmp "slt" %[[SHUFFLED]], %[[N]]
        %less = arith.cmpi slt, %shuffled, %n : i32
        // CHECK: nvvm.vote.sync ballot %[[ALL]], %[[LESS]] -> i32
        %bits = hopper.ballot %less
        // CHECK: "bar.warp.sync 0xffffffff;"
        hopper.sync_warp
        hopper.store %bits, %p[%n] : !hopper.pointer<i32>
      }
    }
    hopper.return
  }
}
