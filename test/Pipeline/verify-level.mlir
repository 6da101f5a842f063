// The contract of each level: an op that is of another one is an error, which names the pass to look at.
// RUN: not pagefold-opt %s --verify-level=level=attn -split-input-file 2>&1 | FileCheck %s --check-prefix=ATTN
// RUN: not pagefold-opt %s --verify-level=level=tile -split-input-file 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not pagefold-opt %s --verify-level=level=host -split-input-file 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not pagefold-opt %s --verify-level=level=llvm -split-input-file 2>&1 | FileCheck %s --check-prefix=LLVM
// RUN: not pagefold-opt %s --verify-level=level=nvvm -split-input-file 2>&1 | FileCheck %s --check-prefix=NVVM
// RUN: not pagefold-opt %s --verify-level=level=gpu -split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: expects the level to be attn, tile, host, llvm, hopper or nvvm, got gpu

// ATTN-NOT: error: 'attn.rms_norm'
// TILE: error: 'attn.rms_norm' op is not part of level tile: attn-to-tile should have removed it
// HOST: error: 'attn.rms_norm' op is not part of level host: attn-to-tile should have removed it
// LLVM: error: 'attn.rms_norm' op is not part of level llvm: attn-to-tile should have removed it
func.func @level_1(%x: tensor<?x2x64xf32>, %w: tensor<64xf32>) {
  %y = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x2x64xf32>, tensor<64xf32>
  return
}

// -----

// ATTN: error: 'tile.mask' op is not part of level attn: tile-to-host should have removed it
// TILE-NOT: error: 'tile.mask'
// HOST: error: 'tile.mask' op is not part of level host: tile-to-host should have removed it
func.func @level_2() {
  %m = tile.mask #attn.mask<causal>
  return
}

// -----

// ATTN: error: 'scf.for' op is not part of level attn: convert-scf-to-cf should have removed it
// TILE: error: 'scf.for' op is not part of level tile: convert-scf-to-cf should have removed it
// HOST-NOT: error: 'scf.for'
// LLVM: error: 'vector.broadcast' op is not part of level llvm: host-to-llvm should have removed it
// LLVM: error: 'math.exp' op is not part of level llvm: host-expand-math or host-to-llvm should have removed it
// LLVM: error: 'memref.dim' op is not part of level llvm: host-to-llvm should have removed it
// LLVM: error: 'scf.for' op is not part of level llvm: convert-scf-to-cf should have removed it
func.func @level_3(%n: index, %x: f32, %m: memref<?xf32>) {
  %zero = arith.constant 0 : index
  scf.for %i = %zero to %n step %n {
    %v = vector.broadcast %x : f32 to vector<16xf32>
    %e = math.exp %v : vector<16xf32>
    %d = memref.dim %m, %zero : memref<?xf32>
  }
  return
}

// -----

// The plan stays to the end; the llvm dialect comes at the end only.
// HOST-NOT: error: 'tile.plan'
// NVVM-NOT: error: 'tile.plan'
// HOST: error: 'llvm.func' op is not part of level host: a pass of an earlier level should have removed it
// LLVM-NOT: error: 'tile.plan'
// LLVM-NOT: error: 'llvm.func'
llvm.func @level_4()
tile.plan @f {args = [], bounds = {}, error_word = 0, scratch = 0, workspace = 0, workspace_head = 0, kernels = []}

// -----

// HOST: error: 'hopper.kernel' op is not part of level host: hopper-to-nvvm should have removed it
// NVVM: error: 'hopper.kernel' op is not part of level nvvm: hopper-to-nvvm should have removed it
gpu.module @level_3_on_the_gpu {
  hopper.kernel @rest() {
    hopper.roles {
      all warpgroups 1 registers 240 (%wg: i32, %warp: i32) {}
    }
    hopper.return
  }
}
