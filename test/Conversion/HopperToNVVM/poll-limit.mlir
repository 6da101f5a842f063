// With a limit, each wait counts its polls, and one function prints which of them did not end.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm{poll-limit=1000}),canonicalize,cse)' | FileCheck %s
// RUN: pagefold-opt %s --pagefold-hopper-to-llvm=poll-limit=1000 | pagefold-translate --hopper-to-ptx | FileCheck %s --check-prefix=PTX
// RUN: pagefold-opt %s --pagefold-hopper-to-llvm | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: give_up
// PTX: .extern .func {{.*}} vprintf
// PTX: pagefold_give_up

!ring = !hopper.ring<2 x 64 x 128, bf16>
!own = !hopper.ring<2 x 16 x 64, bf16 warps 4>

gpu.module @kernels {
  // CHECK: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  // CHECK: llvm.func internal @pagefold_give_up(%{{.*}}: i32, %{{.*}}: !llvm.ptr, %{{.*}}: i32, %{{.*}}: i32)
  // CHECK: llvm.call @vprintf
  // CHECK: "nanosleep.u32 1000000; trap;"
  // CHECK: @pagefold_wait_0("pagefold: kernel polled, role producer, hopper.acquire of ring 1 (!hopper.ring<2 x 64 x 128, bf16>): cta %d, warp %d still waits for turn %d, phase %d after 1000 polls\0A\00")
  // CHECK: @pagefold_wait_1("pagefold: kernel polled, role consumer, hopper.wait of ring 0 (
  // CHECK: @pagefold_wait_2("pagefold: kernel polled, role consumer, hopper.clear_rows of ring 1 (
  // CHECK: @pagefold_wait_3("pagefold: kernel polled, role consumer, hopper.wait of ring 2 (!hopper.ring<2 x 16 x 64, bf16 warps 4>)
  // CHECK: @pagefold_wait_4("pagefold: kernel polled, role consumer, hopper.collect of 2 packets (stride 100): cta %d, warp %d still waits for packet %d of those from word %d on after 1000 polls\0A\00")
  // CHECK-LABEL: llvm.func @polled
  // CHECK-SAME: %[[T:[^ ]*]]: i32,
  hopper.kernel @polled(%t: i32, %states: !hopper.pointer<f32>) {
    // CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK-DAG: %[[GLOBAL:.*]] = llvm.mlir.addressof @pagefold_wait_0
    %q = hopper.alloc_ring readers 4 : !ring
    %k = hopper.alloc_ring readers 4 : !ring
    %own = hopper.alloc_ring readers 0 : !own
    hopper.roles {
      producer warpgroups 1 registers 24 (%wg: i32, %warp: i32) {
        // CHECK: %[[LATE:.*]] = llvm.inline_asm has_side_effects
        // CHECK-SAME: mov.b64 n, 1000; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; @p bra DONE; sub.s64 n, n, 1; setp.ne.s64 p, n, 0; @p bra WAIT; mov.b32 $0, 1; DONE: }", "=&r,r,r,r,~{memory}" %{{.*}}, %[[PHASE:.*]], %[[C1]]
        // CHECK: %[[SITE:.*]] = llvm.addrspacecast %[[GLOBAL]]
        // CHECK: llvm.call @pagefold_give_up(%[[LATE]], %[[SITE]], %[[T]], %[[PHASE]])
        hopper.acquire %k[%t] : !ring
      }
      consumer warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK: llvm.call @pagefold_give_up
        hopper.wait %q[%t] : !ring
        // A wait only where a row is left to clear; the clearing itself then does not poll.
        // CHECK: %[[SOME:.*]] = llvm.icmp "slt" %[[T]]
        // CHECK: %[[NEEDED:.*]] = llvm.zext %[[SOME]]
        // CHECK: try_wait
        // CHECK-SAME: %[[NEEDED]]
        // CHECK: llvm.call @pagefold_give_up
        // CHECK: @p bra NONE; mov.b32 z, 0;
        hopper.clear_rows %k[%t] from %t barrier %t : !ring
        // CHECK: llvm.call @pagefold_give_up
        hopper.wait %own[%t] of %warp : !own
        // Which packet is missing, from 1 on, is one output more.
        // CHECK: %[[COLLECTED:.*]] = llvm.inline_asm has_side_effects
        // CHECK-SAME: mov.b64 n, 1000; mov.b32 $8, 0; POLL: @w0 ld.relaxed.gpu.global.v4.b32 {$0, $1, $2, $3}, [$9+0];
        // CHECK-SAME: @!m bra DONE; sub.s64 n, n, 1; setp.ne.s64 q, n, 0; @q bra POLL;
        // CHECK-SAME: setp.eq.or.b32 m, $7, 0, m; @m mov.b32 $8, 2;
        // CHECK-SAME: setp.eq.or.b32 m, $3, 0, m; @m mov.b32 $8, 1; DONE: @w0 st.relaxed
        // CHECK: %[[MISSING:.*]] = llvm.extractvalue %[[COLLECTED]][8]
        // CHECK: llvm.call @pagefold_give_up(%[[MISSING]], %{{.*}}, %[[MISSING]], %[[T]])
        %c:2 = hopper.collect 2 packets from %states[%t] stride 100 below %t : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>
      }
    }
    hopper.return
  }
}
