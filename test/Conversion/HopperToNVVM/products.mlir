// wgmma, ldmatrix, stmatrix: one op, its instructions.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!q = !hopper.ring<1 x 64 x 128, f16>
!k = !hopper.ring<1 x 16 x 128, f16>
!v = !hopper.ring<1 x 16 x 64, f16 order octets>
!o = !hopper.shared<1 x 64 x 64, f16>
!qf = !hopper.fragment<64 x 128, f16>
!s = !hopper.fragment<64 x 16, f32>
!p = !hopper.fragment<64 x 16, f16>
!acc = !hopper.fragment<64 x 64, f32>
!of = !hopper.fragment<64 x 64, f16>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @products
  hopper.kernel @products(%c0: i32) {
    // CHECK-DAG: %[[LEADING_16:.*]] = llvm.mlir.constant(65536 : i32)
    // CHECK-DAG: %[[LEADING_1024:.*]] = llvm.mlir.constant(4194304 : i32)
    %o = hopper.alloc : !o
    %q = hopper.alloc_ring readers 4 : !q
    %k = hopper.alloc_ring readers 4 : !k
    %v = hopper.alloc_ring readers 4 : !v
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // Eight steps of 16 columns; then no lane's read is open when one lane releases the tile.
        // CHECK-COUNT-8: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}"
        // CHECK: "bar.warp.sync 0xffffffff;"
        %qf = hopper.load_fragment %q[%c0] row %c0 : !q -> !qf

        // Left operand in registers, no accumulator: the first step writes. K is 16 rows of two panels: a step is 32 bytes (2), a panel
        // 16 x 128 bytes (128), eight rows are 1024 bytes (64, with the swizzle's bit 30: 1073741888).
        // CHECK: %[[K:.*]] = llvm.or %{{.*}}, %[[LEADING_16]]
        // CHECK: nvvm.wgmma.fence.aligned
        // CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred p; .reg .b64 a<8>, b<8>; .reg .b32 t; setp.ne.b32 p, 0, 0;
        // CHECK-SAME: add.s32 t, $40, 0; mov.b64 b0, {t, 1073741888};
        // CHECK-SAME: add.s32 t, $40, 6; mov.b64 b3, {t, 1073741888};
        // CHECK-SAME: add.s32 t, $40, 128; mov.b64 b4, {t, 1073741888};
        // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$8, $9, $10, $11}, b0, p, 1, 1, 0; setp.eq.b32 p, 0, 0;
        // CHECK-SAME: {$36, $37, $38, $39}, b7, p, 1, 1, 0; }"
        // CHECK-SAME: "=f,=f,=f,=f,=f,=f,=f,=f,r,r,
        // CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
        %s0 = hopper.contract %qf, %k[%c0] transposed : !qf, !k -> !s

        // The wait, and the accumulators tied behind it.
        // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 1
        // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7"
        %s1 = hopper.wait_contracts %s0 pending 1 : !s
        // CHECK-COUNT-4: nvvm.convert.f32x2.to.f16x2
        %p = hopper.convert %s1 : !s -> !p
        %z = hopper.zero : !acc

        // With an accumulator: tied to the result, and every step adds. V's depth runs down its rows: the right operand is transposed.
        // CHECK: %[[V:.*]] = llvm.or %{{.*}}, %[[LEADING_1024]]
        // CHECK: nvvm.wgmma.fence.aligned
        // CHECK-NEXT: setp.eq.b32 p, 0, 0; add.s32 t, $36, 0; mov.b64 b0, {t, 1073741888}; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0,
        // CHECK-SAME: {$32, $33, $34, $35}, b0, p, 1, 1, 1; }"
        // CHECK-SAME: r,r,r,r,r,0,1,2,
        // CHECK-SAME: 30,31"
        // CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
        %o0 = hopper.contract %p, %v[%c0] into %z : !p, !v -> !acc
        // CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 0
        %o1 = hopper.wait_contracts %o0 pending 0 : !acc

        // Both operands in shared memory: two descriptors a step. The left tile is 64 rows: a panel is 8192 bytes (512).
        // CHECK: nvvm.wgmma.fence.aligned
        // CHECK-NEXT: add.s32 t, $8, 0; mov.b64 a0, {t, 1073741888}; add.s32 t, $9, 0; mov.b64 b0, {t, 1073741888};
        // CHECK-SAME: add.s32 t, $8, 512; mov.b64 a4, {t, 1073741888};
        // CHECK-SAME: {$0, $1, $2, $3, $4, $5, $6, $7}, a0, b0, p, 1, 1, 0, 0;
        // CHECK-SAME: "=f,=f,=f,=f,=f,=f,=f,=f,r,r"
        %s2 = hopper.contract_shared %q[%c0] row %c0, %k[%c0] transposed : !q, !k -> !s
        %s3 = hopper.wait_contracts %s2 pending 0 : !s

        // CHECK-COUNT-16: nvvm.convert.f32x2.to.f16x2
        // CHECK-COUNT-4: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"
        %of = hopper.convert %o1 : !acc -> !of
        hopper.store_fragment %of, %o[%c0] : !of, !o
      }
    }
    hopper.return
  }
}
