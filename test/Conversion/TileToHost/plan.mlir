// A kernel for each op with work, in order, over (arguments..., workspace, scratch, ticket); then the launch plan.
// RUN: pagefold-opt %s --tile-to-host | FileCheck %s

!rows = !tile.tile<q x 64, f32>

// CHECK: func.func @f_k0(%{{.*}}: memref<?x2x64xf32>, %{{.*}}: memref<?x2x64xf32>, %{{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %{{.*}}: memref<1xi64>)
// CHECK: func.func @f_k1(
// The constant that the body uses comes along.
// CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: arith.mulf %{{.*}}, %[[HALF]]
// CHECK-NOT: func.func
// What explains the kernels stands apart: bytes of each token that they move.
// CHECK: tile.plan @f {about = [{traffic = [{arg = 0 : i64, bytes = 512 : i64}, {arg = 0 : i64, bytes = 512 : i64}]}, {traffic = [{arg = 0 : i64, bytes = 512 : i64}, {arg = 1 : i64, bytes = 512 : i64}]}], args = [{{.*}}name = "x"{{.*}}name = "out0"{{.*}}], bounds = {batch = 4 : i64, kv_len = 512 : i64, q_len = 16 : i64, tokens = 32 : i64}, error_word = 0 : i64, kernels = [{op = "tile.rows", symbol = "f_k0", workers = "all"}, {op = "linalg.generic", symbol = "f_k1", workers = "one"}]
// The scratch of the largest kernel: one row of 64 floats. The workspace: the head, then the buffer at 256.
// CHECK-SAME: scratch = 256 : i64, workspace = 16640 : i64, workspace_head = 256 : i64}
func.func @f(%x: memref<?x2x64xf32>, %out: memref<?x2x64xf32>) attributes {
    attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512, tokens 32>,
    tile.args = [{name = "x", dtype = "f32", shape = ["tokens", 2, 64], access = "read"},
                 {name = "out0", dtype = "f32", shape = ["tokens", 2, 64], access = "write"}]} {
  %zero = arith.constant 0 : index
  %tokens = memref.dim %x, %zero : memref<?x2x64xf32>
  %place = tile.workspace(%tokens) bytes 16384 : memref<?x2x64xf32>
  tile.rows %x into %place {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  %half = arith.constant 0.5 : f32
  linalg.generic {indexing_maps = [affine_map<(t, h, d) -> (t, h, d)>, affine_map<(t, h, d) -> (t, h, d)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%place : memref<?x2x64xf32>) outs(%out : memref<?x2x64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %n = arith.mulf %a, %half : f32
      linalg.yield %n : f32
    }
  return
}

// A function without a plan of arguments is none to launch: it stays.
// CHECK: func.func @helper
func.func @helper(%x: i32) -> i32 {
  return %x : i32
}
