// Words of shared memory, and packets between CTAs that are their own flags.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!words = !hopper.words<64>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @words
  // CHECK-SAME: %[[P:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32)
  // CHECK-SAME: hopper.launch = {shared = 256 : i64
  hopper.kernel @words(%states: !hopper.pointer<f32>, %n: i32) {
    // CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK-DAG: %[[C4:.*]] = llvm.mlir.constant(4 : i32)
    // CHECK-DAG: %[[ONES:.*]] = llvm.mlir.constant(-1 : i32)
    %w = hopper.alloc_words : !words
    hopper.roles {
      stream warpgroups 1 registers 256 (%wg: i32, %warp: i32) {
        // Vectors are aligned to their size.
        // CHECK: %[[OFFSET:.*]] = llvm.mul %[[N]], %[[C4]]
        // CHECK: %[[ADDRESS:.*]] = llvm.add %{{.*}}, %[[OFFSET]]
        // CHECK: %[[WORD:.*]] = llvm.inttoptr %[[ADDRESS]] : i32 to !llvm.ptr<3>
        // CHECK: %[[X:.*]] = llvm.load %[[WORD]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
        %x = hopper.load_words %w[%n] : !words -> vector<4xf32>
        // CHECK: %[[Y:.*]] = llvm.load %[[WORD]] {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
        %y = hopper.load_words %w[%n] : !words -> vector<2xi32>
        // CHECK: llvm.store %[[Y]], %[[WORD]] {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
        hopper.store_words %y, %w[%n] : vector<2xi32>, !words
        // CHECK: llvm.store %[[N]], %[[WORD]] {alignment = 4 : i64} : i32, !llvm.ptr<3>
        hopper.store_words %n, %w[%n] : i32, !words
        // The bits inverted, and at least 1, so that 0 means: not there yet.
        // CHECK: %[[PACKET:.*]] = llvm.getelementptr %[[P]][%[[N]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
        // CHECK: %[[E:.*]] = llvm.extractelement %[[X]]
        // CHECK: %[[BITS:.*]] = llvm.bitcast %[[E]] : f32 to i32
        // CHECK: %[[INVERTED:.*]] = llvm.xor %[[BITS]], %[[ONES]]
        // CHECK: %[[SENT:.*]] = llvm.intr.umax(%[[INVERTED]], %[[C1]])
        // CHECK: "st.relaxed.gpu.global.v4.b32 [$0+0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}" %[[PACKET]], %[[SENT]],
        // CHECK: "st.relaxed.gpu.global.v4.b32 [$0+16], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}" %[[PACKET]],
        hopper.hand_over %x, %x to %states[%n] : !hopper.pointer<f32>
        // Packet 1 is 100 words behind packet 0. Who is not waited for gives all ones: zeros.
        // CHECK: %[[LOADED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "{
        // CHECK-SAME: mov.b32 z, 0;
        // CHECK-SAME: mov.b32 $0, 0xffffffff;
        // CHECK-SAME: setp.gt.s32 w0, $9, 0;
        // CHECK-SAME: setp.gt.s32 w1, $9, 1;
        // CHECK-SAME: POLL: @w0 ld.relaxed.gpu.global.v4.b32 {$0, $1, $2, $3}, [$8+0]; @w1 ld.relaxed.gpu.global.v4.b32 {$4, $5, $6, $7}, [$8+400];
        // CHECK-SAME: mov.pred m, 0; setp.eq.or.b32 m, $0, 0, m; setp.eq.or.b32 m, $1, 0, m;
        // CHECK-SAME: setp.eq.or.b32 m, $7, 0, m; @m bra POLL;
        // Their places are empty again.
        // CHECK-SAME: @w0 st.relaxed.gpu.global.v4.b32 [$8+0], {z, z, z, z}; @w1 st.relaxed.gpu.global.v4.b32 [$8+400], {z, z, z, z}; bar.warp.sync 0xffffffff; }",
        // CHECK-SAME: "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,l,r,~{memory}" %[[PACKET]], %[[N]]
        // CHECK: %[[FIRST:.*]] = llvm.extractvalue %[[LOADED]][0]
        // CHECK: %[[VALUE:.*]] = llvm.xor %[[FIRST]], %[[ONES]]
        // CHECK: llvm.bitcast %[[VALUE]] : i32 to f32
        %c:2 = hopper.collect 2 packets from %states[%n] stride 100 below %n : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>
        hopper.store_words %c#0, %w[%n] : vector<4xf32>, !words
        hopper.store_words %c#1, %w[%n] : vector<4xf32>, !words
      }
    }
    hopper.return
  }
}
