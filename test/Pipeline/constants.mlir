// Constants that canonicalize hoists out of elementwise bodies, to the prologue and to the function, come along.
// RUN: pagefold-compile %s --stop-after=attn | FileCheck %s --check-prefix=HOISTED
// RUN: pagefold-compile %s --stop-after=tile | FileCheck %s --check-prefix=TILE
// RUN: pagefold-compile %s -o %t.bundle

!q = tensor<?x2x64xf32>
#id = affine_map<(t, h, d) -> (t, h, d)>

// HOISTED: attn.attention {{.*}} query(
// HOISTED-NEXT: %[[C:.*]] = arith.constant 5.000000e-01 : f32
// HOISTED: linalg.generic
// HOISTED: arith.mulf %{{.*}}, %[[C]]

// TILE: tile.load_q
// TILE: %[[C:.*]] = arith.constant 5.000000e-01 : f32
// TILE: tile.row_map
// TILE: arith.mulf %{{.*}}, %[[C]]
// TILE: linalg.generic
func.func @f(%q: !q, %rows: tensor<?xi32>) -> (!q, !q)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %zero = arith.constant 0 : index
  %tokens = tensor.dim %q, %zero : !q
  %empty = tensor.empty(%tokens) : !q
  %half = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : !q) outs(%empty : !q) {
    ^bb0(%in: f32, %out: f32):
      %c = arith.constant 0.5 : f32
      %m = arith.mulf %in, %c : f32
      linalg.yield %m : f32
    } -> !q
  %o = attn.attention %half, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %left = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : !q) outs(%empty : !q) {
    ^bb0(%in: f32, %out: f32):
      %c = arith.constant 0.25 : f32
      %m = arith.mulf %in, %c : f32
      linalg.yield %m : f32
    } -> !q
  return %o, %left : !q, !q
}
