// An elementwise op: its elements, the last loop fastest, are split over all threads; constants and indices come along.
// RUN: pagefold-opt %s --tile-to-simt --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @f_k0(
// CHECK-SAME: %[[X:arg0]]: memref<?x3x64xbf16>, %[[W:arg1]]: memref<64xf32>, %[[OUT:arg2]]: memref<?x3x64xbf16>
// CHECK: %[[TOKENS:.*]] = memref.dim %[[OUT]], %c0
// CHECK: arith.muli %[[TOKENS]], %c192
// CHECK: scf.while
// CHECK: ^bb0(%[[TICKET:.*]]: index):
// CHECK: %[[D:.*]] = arith.remui %[[TICKET]], %c64
// CHECK: %[[REST:.*]] = arith.divui %[[TICKET]], %c64
// CHECK: %[[H:.*]] = arith.remui %[[REST]], %c3
// CHECK: %[[T:.*]] = arith.divui %[[REST]], %c3
// CHECK: memref.load %[[X]][%[[T]], %[[H]], %[[D]]]
// CHECK: memref.load %[[W]][%[[D]]]
// CHECK: arith.index_cast %[[H]] : index to i32
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[T]], %[[H]], %[[D]]]
// The number of elements is known at run time only: so many CTAs a multiprocessor.
// CHECK: tile.plan @f {{.*}} kernels = [{ctas_per_sm = 4 : i64, op = "linalg.generic", params = [{kind = "frame"}, {kind = "error_word"}], shared = 0 : i64, symbol = "f_k0", threads = 128 : i64}]
func.func @f(%x: memref<?x3x64xbf16>, %w: memref<64xf32>, %out: memref<?x3x64xbf16>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %half = arith.constant 0.5 : f32
  linalg.generic {indexing_maps = [affine_map<(t, h, d) -> (t, h, d)>, affine_map<(t, h, d) -> (d)>,
                                   affine_map<(t, h, d) -> (t, h, d)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %w : memref<?x3x64xbf16>, memref<64xf32>) outs(%out : memref<?x3x64xbf16>) {
    ^bb0(%a: bf16, %b: f32, %o: bf16):
      %wide = arith.extf %a : bf16 to f32
      %h = linalg.index 1 : index
      %i = arith.index_cast %h : index to i32
      %n = arith.sitofp %i : i32 to f32
      %y = arith.mulf %wide, %b : f32
      %z = arith.addf %y, %n : f32
      %s = arith.mulf %z, %half : f32
      %r = arith.truncf %s : f32 to bf16
      linalg.yield %r : bf16
    }
  return
}
