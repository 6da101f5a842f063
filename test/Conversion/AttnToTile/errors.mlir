// What the conversion refuses, and what to do.
// RUN: pagefold-opt %s --attn-to-tile -split-input-file -verify-diagnostics

!q = tensor<?x2x64xf32>
// expected-error@+1 {{expects the declared maxima as attribute attn.bounds = #attn.bounds<batch .., q_len .., kv_len ..>: they bound grid and workspace}}
func.func @no_bounds(%q: !q, %rows: tensor<?xi32>) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!q = tensor<?x2x64xf32>
func.func @argument_returned(%q: !q) -> !q attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  // expected-error@+1 {{expects result 0 to be a tensor that the function computes, got 'tensor<?x2x64xf32>' (an argument)}}
  return %q : !q
}

// -----

!q = tensor<?x2x64xf32>
func.func @returned_twice(%q: !q, %w: tensor<64xf32>) -> (!q, !q)
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  %n = attn.rms_norm %q, %w eps 1.0e-5 : !q, tensor<64xf32>
  // expected-error@+1 {{expects each result to be returned once}}
  return %n, %n : !q, !q
}

// -----

// expected-error@+1 {{expects arguments to be tensors, caches, f32 or i32, got 'i64' for argument 0}}
func.func @argument_type(%x: i64) attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  return
}

// -----

func.func @unknown_op(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  // expected-error@+1 {{'tensor.cast' op is not part of level 1: expects attn ops, elementwise linalg.generic and reshapes}}
  %y = tensor.cast %x : tensor<?x4xf32> to tensor<4x4xf32>
  %z = tensor.cast %y : tensor<4x4xf32> to tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// -----

func.func @tokens_collapsed(%x: tensor<?x2x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  %n = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x2x64xf32>, tensor<64xf32>
  // expected-error@+1 {{expects a reshape that keeps its first dimension, the tokens, and static other dimensions, got 'tensor<?x2x64xf32>' to 'tensor<?x64xf32>'}}
  %r = tensor.collapse_shape %n [[0, 1], [2]] : tensor<?x2x64xf32> into tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

#map = affine_map<(a, b) -> (a, b)>
func.func @intermediate(%x: tensor<4x?xf32>, %n: tensor<?x2x64xf32>) -> tensor<4x?xf32>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  // expected-error@+1 {{expects intermediate tensors to be [tokens, ...] with static extents but the first, got 'tensor<4x?xf32>'}}
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x?xf32>) outs(%x : tensor<4x?xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x?xf32>
  %z = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x?xf32>) outs(%x : tensor<4x?xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<4x?xf32>
  return %z : tensor<4x?xf32>
}

// -----

#map = affine_map<(a, b) -> (a, b)>
func.func @reads_destination(%x: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  // expected-error@+1 {{expects one result that does not read its destination}}
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// The rope in a prologue must take its positions from the attention's own rows.
!q = tensor<?x2x64xf32>
!cache = !attn.paged_kv<2 heads, 64 x 64, f32, page 16>
func.func @other_rows(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %others: tensor<?xi32>, %cos: tensor<?x32xf32>)
    -> !q attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 1>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125
    query(%x : !q, %c = %cos : tensor<?x32xf32>, %r = %others : tensor<?xi32>, %cq = %cache : !cache) {
      // expected-error@+1 {{expects the rows and the cache lengths of the op that it is part of}}
      %y = attn.rope %x, %c, %c rows(%r) of %cq half_split : !q, tensor<?x32xf32>, tensor<?xi32>, !cache
      attn.yield %y : !q
    }
    : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}
