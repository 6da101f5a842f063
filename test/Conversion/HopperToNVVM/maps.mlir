// A map is its region, once for each element.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s

!s = !hopper.fragment<64 x 8, f32>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @bias
  // CHECK-SAME: %[[TABLE:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32, %[[SCALE:[^ ]*]]: f32)
  hopper.kernel @bias(%table: !hopper.pointer<f32>, %n: i32, %scale: f32) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        %rows = hopper.row_numbers
        %zero = hopper.zero : !s
        // Columns 2 (lane mod 4) and the next, in the upper row, then in the lower one.
        // CHECK: %[[UPPER:.*]] = llvm.add
        // CHECK-NEXT: %[[LOWER:.*]] = llvm.add %[[UPPER]],
        // CHECK: %[[FIRST:.*]] = llvm.shl %{{.*}}, %{{.*}}
        // CHECK: %[[D0:.*]] = llvm.sub %[[FIRST]], %[[UPPER]]
        // CHECK: llvm.getelementptr %[[TABLE]][%[[D0]]]
        // CHECK: %[[E0:.*]] = llvm.load
        // CHECK: llvm.fmul %[[E0]], %[[SCALE]]
        // CHECK: %[[SECOND:.*]] = llvm.add %[[FIRST]]
        // CHECK: %[[D1:.*]] = llvm.sub %[[SECOND]], %[[UPPER]]
        // CHECK: llvm.load
        // CHECK: %[[D2:.*]] = llvm.sub %[[FIRST]], %[[LOWER]]
        // CHECK: llvm.load
        // CHECK: %[[D3:.*]] = llvm.sub %[[SECOND]], %[[LOWER]]
        // CHECK: llvm.load
        // CHECK-NOT: llvm.load
        %s = hopper.map %zero rows(%rows : vector<2xi32>) {
        ^bb0(%x: f32, %row: i32, %column: i32):
          %d = arith.subi %column, %row : i32
          %e = hopper.load %table[%d] : !hopper.pointer<f32>
          %b = arith.mulf %e, %scale : f32
          %y = arith.addf %x, %b : f32
          hopper.yield %y : f32
        } : !s
        // CHECK: llvm.fadd
        %sum = hopper.row_reduce sum %s : !s
        // Between two limits: two comparisons with constants.
        // CHECK: llvm.icmp "sgt"
        // CHECK: llvm.icmp "sle"
        %m = hopper.mask %s from %rows below %rows : !s
        %min = hopper.row_reduce min %m : !s
        hopper.store_rows %sum, %table[%n] rows %rows below %n : !hopper.pointer<f32>
        hopper.store_rows %min, %table[%n] rows %rows below %n : !hopper.pointer<f32>
      }
    }
    // CHECK: llvm.return
    hopper.return
  }
}
