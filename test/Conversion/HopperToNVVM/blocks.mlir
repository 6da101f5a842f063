// Products of a warp and pairs of global memory: one op, its instructions.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!ring = !hopper.ring<3 x 16 x 128, bf16 warps 4>
!octets = !hopper.ring<3 x 16 x 192, bf16 order octets warps 4>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @blocks
  // CHECK-SAME: %[[P:[^ ]*]]: !llvm.ptr<1>, %[[OUT:[^ ]*]]: !llvm.ptr<1>, %[[ANGLES:[^ ]*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[T:[^ ]*]]: i32, %[[I:[^ ]*]]: i64)
  // CHECK-NOT: llvm.cond_br
  hopper.kernel @blocks(%p: !hopper.pointer<bf16>, %out: !hopper.pointer<f16>, %angles: !hopper.pointer<f32>,
                        %eighths: !hopper.pointer<f8E4M3FN>, %t: i32, %i: i64) {
    // CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK-DAG: %[[C2:.*]] = llvm.mlir.constant(2 : i32)
    // CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
    // CHECK-DAG: %[[C4:.*]] = llvm.mlir.constant(4 : i32)
    // CHECK-DAG: %[[C7:.*]] = llvm.mlir.constant(7 : i32)
    // CHECK-DAG: %[[C8:.*]] = llvm.mlir.constant(8 : i32)
    // CHECK-DAG: %[[C16:.*]] = llvm.mlir.constant(16 : i32)
    // CHECK-DAG: %[[C31:.*]] = llvm.mlir.constant(31 : i32)
    // CHECK-DAG: %[[PANEL:.*]] = llvm.mlir.constant(2048 : i32)
    // CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1.000000e+00 : f32)
    // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
    %k = hopper.alloc_ring readers 0 : !ring
    hopper.roles {
      stream warpgroups 1 registers 256 (%wg: i32, %warp: i32) {
        // Four 8 x 8 matrices: bits 0 to 2 of the lane's number are a row of one, and bits 3 and 4 say of which: the other
        // eight rows, and the other unit of 16 bytes, which is permuted by the row.
        // CHECK: %[[LANE:.*]] = llvm.and %[[TID]], %[[C31]]
        // CHECK: %[[LOW:.*]] = llvm.and %[[LANE]], %[[C7]]
        // CHECK: %[[BIT3:.*]] = llvm.lshr %[[LANE]], %[[C3]]
        // CHECK: %[[EIGHT:.*]] = llvm.and %[[BIT3]], %[[C1]]
        // CHECK: %[[SIXTEEN:.*]] = llvm.lshr %[[LANE]], %[[C4]]
        // CHECK: %[[ROWS:.*]] = llvm.shl %[[EIGHT]], %[[C3]]
        // CHECK: llvm.add %[[LOW]], %[[ROWS]]
        // CHECK: llvm.xor %[[SIXTEEN]], %[[LOW]]
        // CHECK: %[[A:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}" %{{.*}} : (i32) -> !llvm.struct<(i32, i32, i32, i32)>
        %a = hopper.load_block %k[%t] of %warp row 0 column 0 : !ring
        // Columns 80 to 95 are units 2 and 3 of panel 1, which starts 16 rows of 128 bytes behind panel 0.
        // CHECK: %[[ROWS_T:.*]] = llvm.shl %[[SIXTEEN]], %[[C3]]
        // CHECK: llvm.add %[[LOW]], %[[ROWS_T]]
        // CHECK: %[[UNIT:.*]] = llvm.xor %[[EIGHT]], %[[LOW]]
        // CHECK: llvm.xor %[[UNIT]], %[[C2]]
        // CHECK: %[[IN_PANEL:.*]] = llvm.add %{{.*}}, %[[PANEL]]
        // CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}" %[[IN_PANEL]]
        %b = hopper.load_block %k[%t] of %warp row 0 column 80 transposed : !ring
        %yes = arith.cmpi slt, %t, %warp : i32
        // Zeros where the condition does not hold, and then nothing is read.
        // CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %[[P]][%[[I]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
        // CHECK: %[[C:.*]] = llvm.zext %{{.*}} : i1 to i32
        // CHECK: "{ .reg .pred p; mov.b32 $0, 0; setp.ne.b32 p, $2, 0; @p ld.global.b32 $0, [$1]; }", "=&r,l,r,~{memory}" %[[ADDRESS]], %[[C]]
        %q0 = hopper.load_pair %p[%i] if %yes : !hopper.pointer<bf16>, i64
        %q = vector.from_elements %q0, %q0 : vector<2xi32>
        %zero = arith.constant dense<0.0> : vector<4xf32>
        // The accumulator is tied to the result.
        // CHECK: "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};", "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3"
        %s = hopper.contract_block %a, %q into %zero of bf16
        // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        %u = hopper.contract_block %b, %q into %s of f16
        %first = vector.extract %u[0] : f32 from vector<4xf32>
        %second = vector.extract %u[1] : f32 from vector<4xf32>
        %x = vector.from_elements %first, %second : vector<2xf32>
        // Over the lanes that differ in bits 2, 3 and 4.
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[X:.*]], %[[C4]], %[[C31]] : f32
        // CHECK: llvm.intr.maxnum(%[[X]],
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[C4]], %[[C31]] : f32
        // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[C8]], %[[C31]] : f32
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[C16]], %[[C31]] : f32
        // CHECK-NEXT: %[[FIRST:.*]] = llvm.intr.maxnum
        // CHECK-NEXT: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[C16]], %[[C31]] : f32
        // CHECK-NEXT: %[[SECOND:.*]] = llvm.intr.maxnum
        %max = hopper.column_reduce max %x
        // The first value is the lower half. It is taken from where it was computed, not out of a vector.
        // CHECK-NOT: llvm.extractelement
        // CHECK: nvvm.convert.f32x2.to.bf16x2 %[[SECOND]], %[[FIRST]]
        %pair = hopper.round_pair %max to bf16
        // CHECK: "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r"
        %turned = hopper.transpose_pairs %pair
        // CHECK: llvm.getelementptr %[[OUT]][%[[T]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
        // CHECK: "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global.b32 [$0], $1; }", "l,r,r,~{memory}"
        hopper.store_pair %turned, %out[%t] if %yes : !hopper.pointer<f16>
        // Two f32 come in one instruction; what is not read is tied to the results.
        // CHECK: llvm.getelementptr %[[ANGLES]][%[[I]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
        // CHECK: "{ .reg .pred p; setp.ne.b32 p, $3, 0; @p ld.global.v2.f32 {$0, $1}, [$2]; }", "=&f,=&f,l,r,0,1,~{memory}" %{{.*}}, %{{.*}}, %[[ONE]], %[[ONE]]
        %cosine = hopper.load_pair %angles[%i] if %yes else 1.0 : !hopper.pointer<f32>, i64
        // The second operand of the conversion is the lower byte.
        // CHECK: %[[BYTES:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .b16 l; cvt.rn.satfinite.e4m3x2.f32 l, $2, $1; cvt.u32.u16 $0, l; }", "=r,f,f"
        %bytes = hopper.round_pair %cosine to f8E4M3FN
        // CHECK: llvm.getelementptr %{{.*}}[%[[I]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
        // CHECK: "{ .reg .pred p; setp.ne.b32 p, $2, 0; { .reg .b16 l; cvt.u16.u32 l, $1; @p st.global.b16 [$0], l; } }", "l,r,r,~{memory}" %{{.*}}, %[[BYTES]]
        hopper.store_pair %bytes, %eighths[%i] if %yes : !hopper.pointer<f8E4M3FN>, i64
        // Unit and byte of the column, and the row's swizzle, as where rows are gathered.
        // CHECK: %[[BYTE:.*]] = llvm.mul %[[T]], %[[C2]]
        // CHECK: %[[UNIT:.*]] = llvm.lshr %[[BYTE]], %[[C4]]
        // CHECK: %[[IN_OCTET:.*]] = llvm.and %[[T]], %[[C7]]
        // CHECK: %[[SWIZZLE:.*]] = llvm.mul %[[IN_OCTET]], %{{.*}}
        // CHECK: %[[PLACE:.*]] = llvm.xor %{{.*}}, %[[SWIZZLE]]
        // CHECK: %[[IN_UNIT:.*]] = llvm.and %[[BYTE]], %{{.*}}
        // CHECK: %[[TO:.*]] = llvm.add %[[PLACE]], %[[IN_UNIT]]
        // CHECK: "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.shared.b32 [$0], $1; }", "r,r,r,~{memory}" %[[TO]],
        hopper.put_pair %pair, %k[%t] of %warp row %t column %t if %yes : !ring
        // CHECK: "{ .reg .pred p; setp.ne.b32 p, $0, 0; @p fence.proxy.async.shared::cta; }", "r,~{memory}"
        hopper.fence_shared if %yes
      }
    }
    // CHECK: llvm.return
    hopper.return
  }

  // In order octets the second eight rows lie behind all three panels of the first ones, 3072 bytes further, panel 1 1024.
  // CHECK-LABEL: llvm.func @octets
  hopper.kernel @octets(%t: i32) {
    // CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
    // CHECK-DAG: %[[C128:.*]] = llvm.mlir.constant(128 : i32)
    // CHECK-DAG: %[[BETWEEN:.*]] = llvm.mlir.constant(2048 : i32)
    // CHECK-DAG: %[[PANEL:.*]] = llvm.mlir.constant(1024 : i32)
    %k = hopper.alloc_ring readers 0 : !octets
    hopper.roles {
      stream warpgroups 1 registers 256 (%wg: i32, %warp: i32) {
        // CHECK: %[[EIGHT_ROWS:.*]] = llvm.shl %[[EIGHT:.*]], %[[C3]]
        // CHECK: %[[ROW:.*]] = llvm.add %{{.*}}, %[[EIGHT_ROWS]]
        // CHECK: llvm.mul %[[ROW]], %[[C128]]
        // CHECK: %[[PANELS:.*]] = llvm.mul %[[EIGHT]], %[[BETWEEN]]
        // CHECK: llvm.add %{{.*}}, %[[PANELS]]
        // CHECK: %[[AT:.*]] = llvm.add %{{.*}}, %[[PANEL]]
        // CHECK: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}" %[[AT]]
        %a = hopper.load_block %k[%t] of %warp row 0 column 64 : !octets
      }
    }
    hopper.return
  }
}
