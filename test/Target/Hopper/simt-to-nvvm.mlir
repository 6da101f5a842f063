// The numbers of threads are special registers, floats of 16 bits stay, and what would be a call is refused by name.
// RUN: pagefold-opt %s --pass-pipeline='builtin.module(gpu.module(simt-to-nvvm))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @f(
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK: llvm.zext %[[TID]] : i32 to i64
  // CHECK: nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK: nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK: llvm.fptrunc %{{.*}} : vector<16xf32> to vector<16xbf16>
  // Only as aligned as an element is: rows may start anywhere.
  // CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<16xbf16>
  // CHECK: llvm.intr.sqrt
  func.func @f(%x: memref<?xbf16>, %v: vector<16xf32>, %y: f32) -> f32 {
    %tid = gpu.thread_id x
    %cta = gpu.block_id x
    %ctas = gpu.grid_dim x
    %a = arith.addi %tid, %cta : index
    %b = arith.addi %a, %ctas : index
    %n = arith.truncf %v : vector<16xf32> to vector<16xbf16>
    vector.store %n, %x[%b] : memref<?xbf16>, vector<16xbf16>
    %root = math.sqrt %y : f32
    return %root : f32
  }
}

// -----

gpu.module @kernels {
  func.func @power(%x: f32) -> f32 {
    // expected-error@+1 {{has neither an instruction nor a polynomial on target cuda: write it with others, such as exp and log, or compile for target host}}
    %y = math.powf %x, %x : f32
    return %y : f32
  }
}

// -----

gpu.module @kernels {
  func.func @remainder(%x: f32) -> f32 {
    // expected-error@+1 {{has neither an instruction nor a polynomial on target cuda}}
    %y = arith.remf %x, %x : f32
    return %y : f32
  }
}

// -----

// What the threads of a team agree on.
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @team(
  // CHECK: nvvm.read.ptx.sreg.ntid.x : i32
  // CHECK: nvvm.read.ptx.sreg.laneid : i32
  // CHECK: nvvm.read.ptx.sreg.warpsize : i32
  // CHECK: %[[ALL:.*]] = llvm.mlir.constant(-1 : i32) : i32
  // CHECK: nvvm.redux.sync min %{{.*}}, %[[ALL]]
  // CHECK: nvvm.barrier
  func.func @team(%x: i32) -> (i32, index) {
    %threads = gpu.block_dim x
    %lane = gpu.lane_id
    %lanes = gpu.subgroup_size : index
    %a = arith.addi %threads, %lane : index
    %b = arith.addi %a, %lanes : index
    %least = gpu.subgroup_reduce minsi %x uniform : (i32) -> i32
    gpu.barrier
    return %least, %b : i32, index
  }
}
