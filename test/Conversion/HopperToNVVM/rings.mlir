// Shared memory, mbarriers, notes and TMA: one op, its instructions.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!map = !hopper.tensor_map<box[64, 64, 2], bf16>
!page = !hopper.tensor_map<box[64, 2, 8], bf16>
!ring = !hopper.ring<2 x 64 x 128, bf16 note 4>
!octets = !hopper.ring<4 x 64 x 128, bf16 order octets>
!tiles = !hopper.shared<1 x 64 x 128, bf16>

gpu.module @kernels {
  // The recipe: tiles at 0, 16384 and 49152, barriers and notes behind them.
  // CHECK: llvm.mlir.global external @pagefold_shared() {addr_space = 3 : i32, alignment = 1024 : i64}
  // CHECK: llvm.func @rings(%arg0: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
  // CHECK-SAME: hopper.launch = {shared = 114816 : i64, tensor_maps = [
  // CHECK-SAME: {argument = 0 : i64, box = array<i64: 64, 64, 2>, element = bf16, swizzle = 128 : i64}
  // CHECK-SAME: {argument = 1 : i64, box = array<i64: 64, 2, 8>, element = bf16, swizzle = 128 : i64}]
  // CHECK-SAME: threads = 128 : i64}
  // CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128>
  // CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK-DAG: %[[STAGE_BYTES:.*]] = llvm.mlir.constant(16384 : i32)
  // CHECK-DAG: %[[EVICT_FIRST:.*]] = llvm.mlir.constant(1364590687093260288 : i64)
  // CHECK-DAG: %[[EVICT_LAST:.*]] = llvm.mlir.constant(1508705875169116160 : i64)
  hopper.kernel @rings(%map: !map, %page: !page, %t: i32) {
    // CHECK: %[[BASE:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
    %o = hopper.alloc : !tiles
    // Full barriers take one arrival, empty ones one of each reading warp.
    // CHECK: %[[FULL:.*]] = llvm.add %[[BASE]]
    // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.init.shared::cta.b64 [$0], 1; }", "r,r,~{memory}" %[[FULL]], %[[TID]]
    // CHECK: %[[EMPTY:.*]] = llvm.add %[[BASE]]
    // CHECK: @p mbarrier.init.shared::cta.b64 [$0], 8; }", "r,r,~{memory}" %[[EMPTY]], %[[TID]]
    %r = hopper.alloc_ring readers 8 : !ring
    // CHECK-COUNT-10: mbarrier.init
    %k = hopper.alloc_ring readers 8 : !octets
    // CHECK: nvvm.fence.mbarrier.init
    // CHECK-NEXT: nvvm.barrier
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // The parity that a fresh barrier's previous phase has: 1 in the first round.
        // CHECK: %[[ROUND:.*]] = llvm.lshr %arg2, %[[C1]]
        // CHECK: %[[PHASE:.*]] = llvm.and %[[ROUND]], %[[C1]]
        // CHECK: %[[STAGE:.*]] = llvm.and %arg2, %[[C1]]
        // CHECK: %[[STAGE_EMPTY:.*]] = llvm.add %{{.*}}, %[[EMPTY]]
        // CHECK: %[[OTHER:.*]] = llvm.xor %[[PHASE]], %[[C1]]
        // CHECK: WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra DONE; bra WAIT; DONE: }", "r,r,~{memory}" %[[STAGE_EMPTY]], %[[OTHER]]
        hopper.acquire %r[%t] : !ring
        // CHECK: "st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}" %[[NOTE:.*]], %arg2, %arg2, %arg2, %arg2
        hopper.write_note %r[%t], %t, %t, %t, %t : !ring
        // CHECK: %[[STAGE_FULL:.*]] = llvm.add %{{.*}}, %[[FULL]]
        // CHECK: %[[FULL_POINTER:.*]] = llvm.inttoptr %[[STAGE_FULL]] : i32 to !llvm.ptr<3>
        // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL_POINTER]], %[[STAGE_BYTES]]
        hopper.expect %r[%t] : !ring
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0, %[[FULL_POINTER]], box[%arg2, %arg2, %arg2] l2_cache_hint = %[[EVICT_FIRST]]
        hopper.fill %r[%t] from %map[%t, %t, %t] : !ring, !map
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %{{.*}}, box[%arg2, %arg2, %arg2] l2_cache_hint = %[[EVICT_LAST]]
        hopper.fill %k[%t] row %t from %page[%t, %t, %t] keep : !octets, !page
        // CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}" %[[STAGE_FULL]]
        hopper.arrive %r[%t] : !ring
        // CHECK: WAIT: mbarrier.try_wait.parity
        hopper.wait %k[%t] : !octets
        // CHECK: "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}" %[[NOTE]]
        %n:4 = hopper.read_note %r[%t] : !ring -> i32, i32, i32, i32
        // CHECK: %[[LANE:.*]] = llvm.and %[[TID]]
        // CHECK: "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }", "r,r,~{memory}" %{{.*}}, %[[LANE]]
        hopper.release %k[%t] : !octets
        // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %arg0, %{{.*}}, box[
        // CHECK: nvvm.cp.async.bulk.commit.group
        hopper.store_tile %o[%wg] to %map[%n#0, %n#1, %n#2] : !tiles, !map
        // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
        hopper.wait_stores read
        // CHECK: "fence.proxy.async.shared::cta;"
        hopper.fence_shared
        // CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
        hopper.wait_stores
      }
    }
    // CHECK: llvm.return
    hopper.return
  }
}
