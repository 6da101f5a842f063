// Roles, numbers of threads, tickets and named barriers.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @roles
  // CHECK-SAME: nvvm.reqntid = array<i32: 512>
  hopper.kernel @roles(%counter: !hopper.pointer<i32>, %n: i32) {
    // CHECK-DAG: %[[C4:.*]] = llvm.mlir.constant(4 : i32)
    // CHECK-DAG: %[[C128:.*]] = llvm.mlir.constant(128 : i32)
    // CHECK-DAG: %[[C384:.*]] = llvm.mlir.constant(384 : i32)
    // CHECK: nvvm.fence.mbarrier.init
    // CHECK-NEXT: nvvm.barrier
    // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: %[[FIRST:.*]] = llvm.icmp "ult" %[[TID]], %[[C128]]
    // CHECK: llvm.cond_br %[[FIRST]], ^[[LOAD:bb[0-9]+]], ^[[REST:bb[0-9]+]]
    hopper.roles {
      // CHECK: ^[[LOAD]]:
      // CHECK: nvvm.setmaxregister decrease 24
      load warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
        // CHECK: %[[ELECTED:.*]] = nvvm.elect.sync
        // CHECK: %[[BOTH:.*]] = llvm.and %{{.*}}, %[[ELECTED]]
        // CHECK: llvm.cond_br %[[BOTH]]
        hopper.single_thread {
          // CHECK: llvm.atomicrmw uinc_wrap %arg0, %arg1 syncscope("device") monotonic
          %t = hopper.ticket %counter last %n : !hopper.pointer<i32>
          // CHECK: nvvm.read.ptx.sreg.ctaid.x
          %cta = hopper.cta
          // CHECK: nvvm.read.ptx.sreg.nctaid.x
          %ctas = hopper.ctas
          %a = arith.addi %t, %cta : i32
          %b = arith.addi %a, %ctas : i32
          // CHECK: "bar.arrive $0, 64;", "r,~{memory}"
          hopper.barrier_arrive %b threads 64
        }
      }
      // CHECK: ^[[REST]]:
      // CHECK: %[[SECOND:.*]] = llvm.icmp "ult" %[[TID]], %[[C384]]
      // CHECK: llvm.cond_br %[[SECOND]], ^[[MULTIPLY:bb[0-9]+]], ^[[STORE:bb[0-9]+]]
      // CHECK: ^[[MULTIPLY]]:
      // CHECK: nvvm.setmaxregister increase 160
      multiply warpgroups 2 registers 160 (%wg: i32, %warp: i32) {
        // The first warp of the role is warp 4 of the CTA, and the shuffle makes it uniform.
        // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
        // CHECK: %[[IN_ROLE:.*]] = llvm.sub %[[WARP]], %[[C4]]
        // CHECK: %[[WARPGROUP:.*]] = llvm.lshr %[[IN_ROLE]]
        // CHECK: "bar.sync $0, 256;", "r,~{memory}" %[[WARPGROUP]]
        hopper.barrier_sync %wg threads 256
      }
      // CHECK: ^[[STORE]]:
      // CHECK: nvvm.setmaxregister decrease 40
      store warpgroups 1 registers 40 (%wg: i32, %warp: i32) {
        // CHECK: %[[LANE:.*]] = llvm.and %[[TID]]
        // CHECK: "bar.sync $0, 32;", "r,~{memory}" %[[LANE]]
        %lane = hopper.lane
        hopper.barrier_sync %lane threads 32
      }
    }
    hopper.return
  }
}
