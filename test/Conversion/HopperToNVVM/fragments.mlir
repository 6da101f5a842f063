// Arithmetic on fragments and rows: one op, its instructions.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!k = !hopper.ring<1 x 8 x 64, bf16>
!a = !hopper.fragment<64 x 64, bf16>
!s = !hopper.fragment<64 x 8, f32>
!wide = !hopper.fragment<64 x 40, f32>
!ring = !hopper.ring<1 x 40 x 64, bf16>
!q = !hopper.ring<1 x 64 x 64, bf16>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @rows
  hopper.kernel @rows(%out: !hopper.pointer<f32>, %n: i32, %scale: f32) {
    // CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK-DAG: %[[MINUS_INF:.*]] = llvm.mlir.constant(0xFF800000 : f32)
    %q = hopper.alloc_ring readers 4 : !q
    %k = hopper.alloc_ring readers 4 : !k
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        %a = hopper.load_fragment %q[%n] row %n : !q -> !a
        %s0 = hopper.contract %a, %k[%n] transposed : !a, !k -> !s
        // Registers 0 and 1 are the upper row's, 2 and 3 the lower one's.
        // CHECK: %[[TIED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "", "=f,=f,=f,=f,0,1,2,3"
        // CHECK: %[[X0:.*]] = llvm.extractvalue %[[TIED]][0]
        // CHECK: %[[X1:.*]] = llvm.extractvalue %[[TIED]][1]
        // CHECK: %[[X2:.*]] = llvm.extractvalue %[[TIED]][2]
        // CHECK: %[[X3:.*]] = llvm.extractvalue %[[TIED]][3]
        %s1 = hopper.wait_contracts %s0 pending 0 : !s
        // CHECK: %[[UPPER:.*]] = llvm.add %{{.*}}, %{{.*}} : i32
        // CHECK: %[[LOWER:.*]] = llvm.add %[[UPPER]], %{{.*}} : i32
        %rows = hopper.row_numbers
        // The limit less the lane's first column, against constants.
        // CHECK: %[[LIMIT0:.*]] = llvm.sub %{{.*}}, %[[FIRST:.*]] : i32
        // CHECK: %[[LIMIT1:.*]] = llvm.sub %{{.*}}, %[[FIRST]] : i32
        // CHECK: %[[V0:.*]] = llvm.icmp "sgt" %[[LIMIT0]], %[[C0]]
        // CHECK: %[[M0:.*]] = llvm.select %[[V0]], %[[X0]], %[[MINUS_INF]]
        // CHECK: %[[V1:.*]] = llvm.icmp "sgt" %[[LIMIT0]], %[[C1]]
        // CHECK: %[[M1:.*]] = llvm.select %[[V1]], %[[X1]], %[[MINUS_INF]]
        // CHECK: %[[V2:.*]] = llvm.icmp "sgt" %[[LIMIT1]], %[[C0]]
        // CHECK: %[[M2:.*]] = llvm.select %[[V2]], %[[X2]], %[[MINUS_INF]]
        // CHECK: %[[V3:.*]] = llvm.icmp "sgt" %[[LIMIT1]], %[[C1]]
        // CHECK: %[[M3:.*]] = llvm.select %[[V3]], %[[X3]], %[[MINUS_INF]]
        %s2 = hopper.mask %s1 below %rows : !s
        // CHECK: %[[MAX0:.*]] = llvm.intr.maxnum(%[[M0]], %[[M1]])
        // CHECK: %[[MAX1:.*]] = llvm.intr.maxnum(%[[M2]], %[[M3]])
        %m0 = hopper.row_reduce max %s2 : !s
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[C1]]
        // CHECK: llvm.intr.maxnum
        // CHECK-COUNT-3: nvvm.shfl.sync bfly
        %m1 = hopper.quad_reduce max %m0
        // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "", "=f,=f,0,1"
        %m2 = hopper.opaque %m1
        // CHECK: llvm.intr.fma(%[[M0]], %arg2, %[[OFFSET0:.*]])
        // CHECK: %[[E0:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK: llvm.intr.fma(%[[M1]], %arg2, %[[OFFSET0]])
        // CHECK: %[[E1:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK: llvm.intr.fma(%[[M2]], %arg2, %[[OFFSET1:.*]])
        // CHECK: %[[E2:.*]] = llvm.call_intrinsic
        // CHECK: llvm.intr.fma(%[[M3]], %arg2, %[[OFFSET1]])
        // CHECK: %[[E3:.*]] = llvm.call_intrinsic
        %e = hopper.exp2 %s2 scale %scale offset %m2 : !s
        // CHECK: llvm.fmul %[[E0]], %[[F0:.*]] {fastmathFlags = #llvm.fastmath<contract>}
        // CHECK: llvm.fmul %[[E1]], %[[F0]]
        // CHECK: llvm.fmul %[[E2]], %[[F1:.*]] {{{.*}}} : f32
        // CHECK: llvm.fmul %[[E3]], %[[F1]]
        %scaled = hopper.scale_rows %e by %m2 : !s
        // CHECK: llvm.fadd
        // CHECK: llvm.fadd
        %l0 = hopper.row_reduce sum %scaled : !s
        // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        %l1 = hopper.approx ex2 %l0 : vector<2xf32>
        // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
        %l2 = hopper.approx lg2 %l1 : vector<2xf32>
        // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
        %l3 = hopper.approx rcp %l2 : vector<2xf32>
        // CHECK: %[[ANY:.*]] = nvvm.vote.sync any
        %more = arith.cmpf ogt, %l3, %l0 : vector<2xf32>
        %any = hopper.any %more
        // CHECK: llvm.cond_br %[[ANY]]
        scf.if %any {
          // CHECK-COUNT-2: "{ .reg .pred p; setp.lt.s32 p, $2, $3; setp.eq.and.s32 p, $4, 0, p; @p st.global.f32 [$0], $1; }", "l,f,r,r,r,~{memory}"
          hopper.store_rows %l3, %out[%n] rows %rows below %n : !hopper.pointer<f32>
        }
      }
    }
    hopper.return
  }

  // A release that waits for elements 16 and 18 stands right behind the second, before the other exponentials.
  // CHECK-LABEL: llvm.func @pinned
  hopper.kernel @pinned(%n: i32, %scale: f32) {
    %q = hopper.alloc_ring readers 4 : !q
    %k = hopper.alloc_ring readers 4 : !ring
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        %a = hopper.load_fragment %q[%n] row %n : !q -> !a
        %s0 = hopper.contract %a, %k[%n] transposed : !a, !ring -> !wide
        %s1 = hopper.wait_contracts %s0 pending 0 : !wide
        %zero = arith.constant dense<0.0> : vector<2xf32>
        // CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK: %[[PIN:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK: %[[OTHER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK-NOT: llvm.call_intrinsic
        // CHECK: setp.geu.and.f32 p, $2, 0f00000000, p; setp.geu.and.f32 p, $3, 0f00000000, p; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }", "r,r,f,f,~{memory}" %{{.*}}, %{{.*}}, %[[PIN]], %[[OTHER]]
        // CHECK-COUNT-1: llvm.call_intrinsic
        %p = hopper.exp2 %s1 scale %scale offset %zero : !wide
        hopper.release %k[%n] after %p : !ring, !wide
        hopper.release %k[%n] : !ring
      }
    }
    hopper.return
  }
}
