// An elementwise body uses a constant from around it, as canonicalize leaves it; one value is returned in two shapes.
!q = tensor<?x2x64xf32>
#id = affine_map<(t, h, d) -> (t, h, d)>
func.func @f(%q: !q, %k: !q, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> (!q, tensor<?x128xf32>, !q)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %zero = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %tokens = tensor.dim %q, %zero : !q
  %empty = tensor.empty(%tokens) : !q
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %r = tensor.collapse_shape %o [[0], [1, 2]] : !q into tensor<?x128xf32>
  %left = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : !q) outs(%empty : !q) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.mulf %in, %half : f32
      linalg.yield %m : f32
    } -> !q
  return %o, %r, %left : !q, tensor<?x128xf32>, !q
}
