// Everything but the plan becomes the llvm dialect, in one pass.
// RUN: pagefold-opt %s --host-to-llvm | FileCheck %s

// CHECK-NOT: {{(func|vector|memref|arith|math|cf)\.}}
// CHECK: llvm.func @kernel(
// CHECK:   llvm.fmul %{{.*}} : vector<16xf32>
// CHECK:   llvm.intr.sqrt(%{{.*}}) : (vector<16xf32>) -> vector<16xf32>
// CHECK:   llvm.intr.atan(
// CHECK:   llvm.cond_br
// CHECK:   llvm.return
// CHECK: tile.plan @f
func.func @kernel(%m: memref<?xf32>, %x: f32, %i: index) {
  %v = vector.load %m[%i] : memref<?xf32>, vector<16xf32>
  %s = arith.mulf %v, %v : vector<16xf32>
  %r = math.sqrt %s : vector<16xf32>
  %a = math.atan %x : f32
  %zero = arith.constant 0.0 : f32
  %c = arith.cmpf oeq, %a, %zero : f32
  cf.cond_br %c, ^one, ^two
^one:
  vector.store %r, %m[%i] : memref<?xf32>, vector<16xf32>
  return
^two:
  return
}
tile.plan @f {args = [], bounds = {}, error_word = 0, scratch = 0, workspace = 0, workspace_head = 0, kernels = []}
