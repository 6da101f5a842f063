// Rows of a fragment to global memory: predicated stores, no branch.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!s = !hopper.fragment<64 x 40, f32>
!h = !hopper.fragment<64 x 40, f16>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @floats
  // CHECK-SAME: %[[OUT:[^ ]*]]: !llvm.ptr<1>, %[[OFFSET:[^ ]*]]: i64, %[[STRIDE:[^ ]*]]: i64, %[[LIMIT:[^ ]*]]: i32)
  hopper.kernel @floats(%out: !hopper.pointer<f32>, %offset: i64, %stride: i64, %limit: i32) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK-DAG: %[[C2:.*]] = llvm.mlir.constant(2 : i32)
        %s = hopper.zero : !s
        %rows = hopper.row_numbers
        // Row by row: offset + stride * row + 2 (lane mod 4), then 32 bytes from unit to unit.
        // CHECK: %[[UPPER:.*]] = llvm.add
        // CHECK-NEXT: %[[LOWER:.*]] = llvm.add %[[UPPER]],
        // CHECK: %[[IN_QUAD:.*]] = llvm.and
        // CHECK: %[[ROW:.*]] = llvm.sext %[[UPPER]] : i32 to i64
        // CHECK: %[[STRIDES:.*]] = llvm.mul %[[ROW]], %[[STRIDE]]
        // CHECK: %[[INDEX:.*]] = llvm.add %[[OFFSET]], %[[STRIDES]]
        // CHECK: %[[COLUMN:.*]] = llvm.mul %[[IN_QUAD]], %[[C2]]
        // CHECK: %[[COLUMN64:.*]] = llvm.sext %[[COLUMN]]
        // CHECK: %[[OWN:.*]] = llvm.add %[[INDEX]], %[[COLUMN64]]
        // CHECK: %[[ADDRESS:.*]] = llvm.getelementptr %[[OUT]][%[[OWN]]]
        // CHECK: "{ .reg .pred p; setp.lt.s32 p, $0, $1; setp.ge.and.s32 p, $0, 0, p; @p st.global.v2.f32 [$2+0], {$3, $4}; }", "r,r,l,f,f,~{memory}" %[[UPPER]], %[[LIMIT]], %[[ADDRESS]]
        // CHECK: [$2+32]
        // CHECK: [$2+64]
        // CHECK: [$2+96]
        // CHECK: [$2+128]
        // CHECK: llvm.sext %[[LOWER]]
        // CHECK-COUNT-5: @p st.global.v2.f32
        // CHECK-NOT: st.global
        hopper.store_matrix %s, %out[%offset] stride %stride rows %rows below %limit : !s, !hopper.pointer<f32>
      }
    }
    // CHECK: llvm.return
    hopper.return
  }

  // CHECK-LABEL: llvm.func @halves
  hopper.kernel @halves(%out: !hopper.pointer<f16>, %offset: i64, %stride: i64, %limit: i32) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        %s = hopper.zero : !s
        %h = hopper.convert %s : !s -> !h
        %rows = hopper.row_numbers
        // Four units of 8 columns change lanes by four exchanges, then each lane stores one of them.
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[D1:[^,]*]],
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[D1]],
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[D2:[^,]*]],
        // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[D2]],
        // CHECK: "{ .reg .pred p; setp.lt.s32 p, $0, $1; setp.ge.and.s32 p, $0, 0, p; @p st.global.v4.b32 [$2+0], {$3, $4, $5, $6}; }", "r,r,l,r,r,r,r,r,~{memory}"
        // The fifth unit is the first lane's.
        // CHECK-COUNT-4: nvvm.shfl.sync bfly
        // CHECK: setp.ge.and.s32 p, $0, 0, p; setp.lt.and.s32 p, $7, 1, p; @p st.global.v4.b32 [$2+64], {$3, $4, $5, $6}; }"
        // CHECK-COUNT-8: nvvm.shfl.sync bfly
        // CHECK: [$2+64]
        // CHECK-NOT: st.global
        hopper.store_matrix %h, %out[%offset] stride %stride rows %rows below %limit : !h, !hopper.pointer<f16>
      }
    }
    // CHECK: llvm.return
    hopper.return
  }

  // One value for each row, rows a stride apart.
  // CHECK-LABEL: llvm.func @strided
  // CHECK-SAME: %[[OUT:[^ ]*]]: !llvm.ptr<1>, %[[START:[^ ]*]]: i64, %[[STRIDE:[^ ]*]]: i64, %[[LIMIT:[^ ]*]]: i32)
  hopper.kernel @strided(%out: !hopper.pointer<f32>, %start: i64, %stride: i64, %limit: i32) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        %x = arith.constant dense<1.0> : vector<2xf32>
        %rows = hopper.row_numbers
        // CHECK: %[[ROW:.*]] = llvm.sext %{{.*}} : i32 to i64
        // CHECK: %[[STRIDES:.*]] = llvm.mul %[[ROW]], %[[STRIDE]]
        // CHECK: %[[INDEX:.*]] = llvm.add %[[START]], %[[STRIDES]]
        // CHECK: llvm.getelementptr %[[OUT]][%[[INDEX]]]
        // CHECK: @p st.global.f32
        hopper.store_rows %x, %out[%start] stride %stride rows %rows below %limit : !hopper.pointer<f32>, i64
      }
    }
    hopper.return
  }
}
