// Rings of which each warp has one: stages of all warps one behind the other, full barriers only.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!map = !hopper.tensor_map<box[64, 16, 2], bf16>
!keys = !hopper.ring<3 x 16 x 128, bf16 warps 8>
!values = !hopper.ring<2 x 16 x 64, bf16 warps 8>
!bytes = !hopper.ring<3 x 32 x 128, f8E4M3FN warps 8>

gpu.module @kernels {
  // Tiles of 4 and 2 KiB for 8 x 3 and 8 x 2 stages, words, and 8 bytes a stage for `full` alone.
  // CHECK-LABEL: llvm.func @streams
  // CHECK-SAME: %[[MAP:arg0]]: !llvm.ptr
  // CHECK-SAME: %[[T:arg1]]: i32
  // CHECK-SAME: hopper.launch = {shared = 131456 : i64
  hopper.kernel @streams(%map: !map, %t: i32) {
    // CHECK-DAG: %[[C2:.*]] = llvm.mlir.constant(2 : i32)
    // CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
    // CHECK-DAG: %[[TILE:.*]] = llvm.mlir.constant(4096 : i32)
    // CHECK-DAG: %[[FULL_AT:.*]] = llvm.mlir.constant(131136 : i32)
    // CHECK-DAG: %[[VALUES_FULL_AT:.*]] = llvm.mlir.constant(131328 : i32)
    // The first lane of each warp initialises the barriers of its own ring.
    // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: llvm.lshr %[[THREAD]], %{{.*}}
    // CHECK: setp.eq.u32 p, $1, 0; @p mbarrier.init.shared::cta.b64 [$0+0], 1; @p mbarrier.init.shared::cta.b64 [$0+8], 1; @p mbarrier.init.shared::cta.b64 [$0+16], 1; }
    %k = hopper.alloc_ring readers 0 : !keys
    // CHECK: @p mbarrier.init.shared::cta.b64 [$0+0], 1; @p mbarrier.init.shared::cta.b64 [$0+8], 1; }
    // CHECK-NOT: mbarrier.init.shared
    // CHECK: nvvm.barrier
    %v = hopper.alloc_ring readers 0 : !values
    %w = hopper.alloc_words : !hopper.words<16>
    hopper.roles {
      stream warpgroups 2 registers 256 (%wg: i32, %warp: i32) {
        // Stage and phase of three stages: remainder and quotient.
        // CHECK: %[[OWN:.*]] = llvm.urem %[[T]], %[[C3]]
        // CHECK: %[[FIRST:.*]] = llvm.mul %[[WARP:.*]], %[[C3]]
        // CHECK: %[[STAGE:.*]] = llvm.add %[[OWN]], %[[FIRST]]
        // CHECK: %[[IN_FULL:.*]] = llvm.mul %[[STAGE]], %{{.*}}
        // CHECK: %[[STAGE_FULL:.*]] = llvm.add %[[IN_FULL]], %{{.*}}
        // CHECK: %[[POINTER:.*]] = llvm.inttoptr %[[STAGE_FULL]]
        // CHECK: nvvm.mbarrier.arrive.expect_tx %[[POINTER]], %[[TILE]]
        hopper.expect %k[%t] of %warp : !keys
        // CHECK: %[[PLACE:.*]] = llvm.mul %[[STAGE]], %[[TILE]]
        // CHECK: llvm.add %[[PLACE]], %{{.*}}
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %[[POINTER]], box[
        hopper.fill %k[%t] of %warp from %map[%t, %t, %t] : !keys, !map
        // CHECK: %[[ROUND:.*]] = llvm.udiv %[[T]], %[[C3]]
        // CHECK: %[[PHASE:.*]] = llvm.and %[[ROUND]]
        // CHECK: WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra DONE; bra WAIT; DONE: }", "r,r,~{memory}" %[[STAGE_FULL]], %[[PHASE]]
        hopper.wait %k[%t] of %warp : !keys
        // Of two stages: the lowest bit, and the others.
        // CHECK: llvm.mul %[[WARP]], %[[C2]]
        // CHECK: %[[VALUE_FULL:.*]] = llvm.add %{{.*}}, %{{.*}}
        // CHECK: llvm.lshr %[[T]]
        // CHECK: WAIT: mbarrier.try_wait.parity{{.*}} %{{.*}},
        hopper.wait %v[%t] of %warp : !values
      }
    }
    hopper.return
  }

  // A warp that copies rows itself: a barrier takes an arrival of each lane, which follows the lane's copies and waits for nothing.
  // CHECK-LABEL: llvm.func @gathers
  // CHECK-SAME: %[[T:[^ ]*]]: i32, %[[P:[^ ]*]]: !llvm.ptr<1>, %[[I:[^ ]*]]: i64
  hopper.kernel @gathers(%t: i32, %p: !hopper.pointer<f8E4M3FN>, %i: i64) {
    // CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
    // CHECK-DAG: %[[C16:.*]] = llvm.mlir.constant(16 : i32)
    // CHECK: @p mbarrier.init.shared::cta.b64 [$0+0], 32; @p mbarrier.init.shared::cta.b64 [$0+8], 32; @p mbarrier.init.shared::cta.b64 [$0+16], 32; }
    %b = hopper.alloc_ring readers 0 writers 32 : !bytes
    hopper.roles {
      stream warpgroups 2 registers 256 (%wg: i32, %warp: i32) {
        // CHECK: %[[OWN:.*]] = llvm.urem %[[T]], %[[C3]]
        // CHECK: %[[FIRST:.*]] = llvm.mul %[[WARP:.*]], %[[C3]]
        // CHECK: %[[STAGE:.*]] = llvm.add %[[OWN]], %[[FIRST]]
        // A unit is sixteen elements of a byte.
        // CHECK: %[[UNIT:.*]] = llvm.mul %[[T]], %[[C16]]
        // CHECK: %[[UNITS:.*]] = llvm.getelementptr %[[P]][%[[UNIT]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
        // CHECK: %[[SOURCE:.*]] = llvm.getelementptr %[[UNITS]][%[[I]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
        // CHECK: "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}" %{{.*}}, %[[SOURCE]],
        %yes = arith.cmpi slt, %t, %warp : i32
        hopper.gather %b[%t] of %warp row %t unit %t from %p[%i] if %yes : !bytes, !hopper.pointer<f8E4M3FN>, i64
        // CHECK: %[[IN_FULL:.*]] = llvm.mul %[[STAGE]], %{{.*}}
        // CHECK: %[[FULL:.*]] = llvm.add %[[IN_FULL]], %{{.*}}
        // CHECK: "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "r,~{memory}" %[[FULL]]
        // CHECK-NOT: cp.async.wait
        hopper.arrive_gathered %b[%t] of %warp : !bytes
      }
    }
    hopper.return
  }
}
