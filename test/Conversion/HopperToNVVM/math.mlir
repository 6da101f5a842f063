// Functions of math as sequences for the special function unit: no call to a library stays.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(hopper-to-nvvm),canonicalize,cse)' | FileCheck %s
// RUN: pagefold-opt %s --pagefold-hopper-to-llvm | pagefold-translate --hopper-to-ptx | FileCheck %s --check-prefix=PTX

// Nor a division with a slow path.
// PTX-NOT: .extern .func
// PTX-NOT: div.rn
// PTX: div.full.ftz.f32
// PTX-NOT: call

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @functions
  // CHECK-SAME: %[[P:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32, %[[X:[^ ]*]]: f32)
  hopper.kernel @functions(%p: !hopper.pointer<f32>, %n: i32, %x: f32) {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {
        // CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1.000000e+00 : f32)
        // CHECK-DAG: %[[MINUS_2:.*]] = llvm.mlir.constant(-2.000000e+00 : f32)
        // CHECK-DAG: %[[LOG2E:.*]] = llvm.mlir.constant(1.44269502 : f32)
        // CHECK-DAG: %[[TWICE_LOG2E:.*]] = llvm.mlir.constant(2.885390e+00 : f32)
        // CHECK-DAG: %[[LN2:.*]] = llvm.mlir.constant(0.693147182 : f32)
        // CHECK-DAG: %[[TURN:.*]] = llvm.mlir.constant(-6.28318548 : f32)

        // CHECK: %[[EXP2:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]])
        %0 = math.exp2 %x : f32
        // CHECK: %[[SCALED:.*]] = llvm.fmul %[[EXP2]], %[[LOG2E]]
        // CHECK: %[[EXP:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[SCALED]])
        %1 = math.exp %0 : f32
        // CHECK: %[[LOG2:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"(%[[EXP]])
        %2 = math.log2 %1 : f32
        // CHECK: %[[LG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"(%[[LOG2]])
        // CHECK: %[[LOG:.*]] = llvm.fmul %[[LG]], %[[LN2]]
        %3 = math.log %2 : f32
        // CHECK: %[[SQRT:.*]] = llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"(%[[LOG]])
        %4 = math.sqrt %3 : f32
        // CHECK: %[[RSQRT:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[SQRT]])
        %5 = math.rsqrt %4 : f32

        // CHECK: %[[TWICE:.*]] = llvm.fmul %[[RSQRT]], %[[TWICE_LOG2E]]
        // CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[TWICE]])
        // CHECK: %[[SUM:.*]] = llvm.fadd %[[POWER]], %[[ONE]]
        // CHECK: %[[INVERSE:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[SUM]])
        // CHECK: %[[TANH:.*]] = llvm.intr.fma(%[[INVERSE]], %[[MINUS_2]], %[[ONE]])
        %6 = math.tanh %5 : f32

        // CHECK: llvm.intr.fabs(%[[TANH]])
        // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
        // CHECK-COUNT-4: llvm.intr.fma
        // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
        // CHECK: %[[ERF:.*]] = llvm.intr.copysign(%{{.*}}, %[[TANH]])
        %7 = math.erf %6 : f32

        // CHECK: %[[TURNS:.*]] = llvm.intr.roundeven
        // CHECK: %[[NEAR:.*]] = llvm.intr.fma(%[[TURNS]], %[[TURN]], %[[ERF]])
        // CHECK: %[[ANGLE:.*]] = llvm.intr.fma(%[[TURNS]], %{{.*}}, %[[NEAR]])
        // CHECK: %[[SIN:.*]] = llvm.call_intrinsic "llvm.nvvm.sin.approx.ftz.f"(%[[ANGLE]])
        %8 = math.sin %7 : f32
        // CHECK: %[[COS:.*]] = llvm.call_intrinsic "llvm.nvvm.cos.approx.ftz.f"
        %9 = math.cos %8 : f32
        // CHECK: %[[CEIL:.*]] = llvm.intr.ceil(%[[COS]])
        %10 = math.ceil %9 : f32
        // CHECK: %[[FLOOR:.*]] = llvm.intr.floor(%[[CEIL]])
        %11 = math.floor %10 : f32
        // CHECK: %[[ABS:.*]] = llvm.intr.fabs(%[[FLOOR]])
        %12 = math.absf %11 : f32
        // CHECK: %[[FMA:.*]] = llvm.intr.fma(%[[ABS]], %[[X]], %[[X]])
        %13 = math.fma %12, %x, %x : f32
        // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full.ftz"(%[[FMA]], %[[X]])
        %14 = arith.divf %13, %x : f32
        hopper.store %14, %p[%n] : !hopper.pointer<f32>

        // Vectors element by element.
        // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
        %rows = vector.broadcast %14 : f32 to vector<2xf32>
        %row_numbers = hopper.row_numbers
        %15 = math.rsqrt %rows : vector<2xf32>
        hopper.store_rows %15, %p[%n] rows %row_numbers below %n : !hopper.pointer<f32>
      }
    }
    hopper.return
  }
}
