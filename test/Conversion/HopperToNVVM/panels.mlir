// Tiles whose columns do not fill their panels: copies of panels, gathers, clearing, and the depth of products.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!page = !hopper.tensor_map<box[64, 16, 1], bf16>
!omap = !hopper.tensor_map<box[64, 64, 1], bf16>
!ring = !hopper.ring<1 x 64 x 72, bf16 note 16>
!short = !hopper.ring<1 x 24 x 72, bf16 order octets>
!tiles = !hopper.shared<1 x 64 x 72, bf16>
!q = !hopper.fragment<64 x 80, bf16>
!p = !hopper.fragment<64 x 64, bf16>
!s = !hopper.fragment<64 x 64, f32>
!acc = !hopper.fragment<64 x 72, f32>
!half = !hopper.fragment<64 x 72, bf16>

gpu.module @kernels {
  // Two panels of 64 rows: 16384 bytes a tile; the short one has two of 24.
  // CHECK-LABEL: llvm.func @panels
  // CHECK-SAME: %[[PAGE:[^ ]*]]: !llvm.ptr {{.*}}, %[[OMAP:[^ ]*]]: !llvm.ptr {{{[^}]*}}}, %[[DATA:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32)
  // CHECK-SAME: shared = 39008 : i64
  hopper.kernel @panels(%page: !page, %omap: !omap, %data: !hopper.pointer<bf16>, %n: i32) {
    // CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK-DAG: %[[C7:.*]] = llvm.mlir.constant(7 : i32)
    // CHECK-DAG: %[[C16:.*]] = llvm.mlir.constant(16 : i32)
    // CHECK-DAG: %[[C128:.*]] = llvm.mlir.constant(128 : i32)
    // CHECK-DAG: %[[C144:.*]] = llvm.mlir.constant(144 : i32)
    // CHECK-DAG: %[[C1024:.*]] = llvm.mlir.constant(1024 : i32)
    // CHECK-DAG: %[[PANEL:.*]] = llvm.mlir.constant(8192 : i32)
    %o = hopper.alloc : !tiles
    // Full barriers of gathered tiles take one arrival of each writing warp.
    // CHECK: mbarrier.init.shared::cta.b64 [$0], 4;
    // CHECK: mbarrier.init.shared::cta.b64 [$0], 8;
    %r = hopper.alloc_ring readers 8 writers 4 : !ring
    %v = hopper.alloc_ring readers 8 : !short
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK: "prefetch.tensormap [$0];", "l,~{memory}" %[[PAGE]]
        hopper.prefetch_map %page : !page
        // The panel's place in the tile, then 128 bytes a row.
        // CHECK: %[[SECOND:.*]] = llvm.add %{{.*}}, %[[PANEL]]
        // CHECK: %[[ROW:.*]] = llvm.mul %[[N]], %[[C128]]
        // CHECK: %[[TARGET:.*]] = llvm.add %[[SECOND]], %[[ROW]]
        // CHECK: llvm.inttoptr %[[TARGET]]
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
        hopper.fill %r[%n] panel 1 row %n from %page[%n, %n, %n] : !ring, !page

        // Unit u of row r: octet r / 8, panel u / 8, and in the panel's row unit (u mod 8) xor (r mod 8): of the address of row 0
        // the bits of row (128 (r mod 8)) and unit (16 (r mod 8)) are exclusive-ored at once.
        // CHECK: %[[OCTET:.*]] = llvm.lshr %[[N]]
        // CHECK: %[[IN_PANEL:.*]] = llvm.and %{{.*}}, %[[C7]]
        // CHECK: llvm.mul %{{.*}}, %[[PANEL]]
        // CHECK: llvm.mul %[[IN_PANEL]], %[[C16]]
        // CHECK: llvm.mul %[[OCTET]], %[[C1024]]
        // CHECK: %[[ROW0:.*]] = llvm.add
        // CHECK: %[[IN_OCTET:.*]] = llvm.and %[[N]], %[[C7]]
        // CHECK: %[[BITS:.*]] = llvm.mul %[[IN_OCTET]], %[[C144]]
        // CHECK: %[[UNIT:.*]] = llvm.xor %[[ROW0]], %[[BITS]]
        // The row's eight elements 8 u and on.
        // CHECK: %[[UNITS:.*]] = llvm.getelementptr %[[DATA]][%{{.*}}]
        // CHECK: %[[SOURCE:.*]] = llvm.getelementptr %[[UNITS]][%[[N]]]
        // CHECK: %[[BYTES:.*]] = llvm.select %{{.*}}, %[[C16]], %[[C0]]
        // CHECK: "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}" %[[UNIT]], %[[SOURCE]], %[[BYTES]]
        %lane = hopper.lane
        %ok = arith.cmpi slt, %n, %lane : i32
        hopper.gather %r[%n] row %n unit %warp from %data[%n] if %ok : !ring, !hopper.pointer<bf16>
        // CHECK: cp.async.wait_all; fence.proxy.async.shared::cta; bar.warp.sync 0xffffffff; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }"
        hopper.arrive_gathered %r[%n] : !ring

        // Sixteen words are four accesses.
        // CHECK-COUNT-4: "ld.shared.v4.b32
        %note:16 = hopper.read_note %r[%n] : !ring -> i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32

        // Five steps of the depth, the fifth in the second panel.
        // CHECK-COUNT-5: "ldmatrix
        // CHECK-NOT: "ldmatrix
        %q = hopper.load_fragment %r[%n] row %n : !ring -> !q
        // CHECK: add.s32 t, ${{[0-9]*}}, 6; mov.b64 b3, {t, 1073741888}; add.s32 t, ${{[0-9]*}}, 512; mov.b64 b4,
        // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
        // CHECK-SAME: b4, p, 1, 1, 0; }"
        %s0 = hopper.contract %q, %r[%n] transposed : !q, !ring -> !s
        %s1 = hopper.wait_contracts %s0 pending 0 : !s
        // CHECK: add.s32 t, ${{[0-9]*}}, 512; mov.b64 a4,
        // CHECK-SAME: a4, b4, p, 1, 1, 0, 0; }"
        %s2 = hopper.contract_shared %r[%n] row %n, %r[%n] transposed into %s1 : !ring, !ring -> !s
        %s3 = hopper.wait_contracts %s2 pending 0 : !s
        %p = hopper.convert %s3 : !s -> !p
        // CHECK: wgmma.mma_async.sync.aligned.m64n72k16.f32.bf16.bf16
        %o0 = hopper.contract %p, %r[%n] : !p, !ring -> !acc
        %o1 = hopper.wait_contracts %o0 pending 0 : !acc
        %oh = hopper.convert %o1 : !acc -> !half

        // 72 columns: four stores of 16 and one of 8.
        // CHECK-COUNT-4: "stmatrix.sync.aligned.m8n8.x4
        // CHECK: "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1, $2};"
        hopper.store_fragment %oh, %o[%n] : !half, !tiles
        // CHECK: llvm.add %{{.*}}, %[[PANEL]]
        // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[OMAP]]
        hopper.store_tile %o[%n] panel 1 to %omap[%n, %n, %n] : !tiles, !omap

        // Rows 0, 16, .. of each thread in every panel, once the tile is full.
        // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred p; .reg .b32 r, z; setp.ge.s32 p, $0, 64; @p bra NONE; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; @p bra DONE; bra WAIT; DONE: mov.b32 z, 0; max.s32 r, $0, 0; sub.s32 r, r, $4;
        // CHECK-SAME: setp.le.s32 p, r, 0; @p st.shared.v4.b32 [$3+0], {z, z, z, z}; @p st.shared.v4.b32 [$3+8192], {z, z, z, z};
        // CHECK-SAME: setp.le.s32 p, r, 48; @p st.shared.v4.b32 [$3+6144], {z, z, z, z}; @p st.shared.v4.b32 [$3+14336], {z, z, z, z};
        // CHECK-SAME: fence.proxy.async.shared::cta; bar.sync $5, 128; NONE: }", "r,r,r,r,r,r,~{memory}"
        hopper.clear_rows %r[%n] from %n barrier %n : !ring
        // Order octets, and half of the threads' rows at the end.
        // CHECK: setp.le.s32 p, r, 0; @p st.shared.v4.b32 [$3+0], {z, z, z, z}; @p st.shared.v4.b32 [$3+1024], {z, z, z, z};
        // CHECK-SAME: setp.le.s32 p, r, 16; setp.lt.and.s32 p, $4, 8, p; @p st.shared.v4.b32 [$3+4096], {z, z, z, z}; @p st.shared.v4.b32 [$3+5120], {z, z, z, z}; fence
        hopper.clear_rows %v[%n] from %n barrier %n : !short
      }
    }
    hopper.return
  }
}
