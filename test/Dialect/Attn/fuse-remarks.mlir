// What moved says where, what stays says why.
// RUN: pagefold-opt %s --attn-fuse --remarks-filter=attn-fuse --remark-format=emitRemark -split-input-file -verify-diagnostics

!q = tensor<?x8x128xbf16>
func.func @moved(%q: !q, %rows: tensor<?xi32>, %w: tensor<128xf32>) -> !q {
  // expected-remark@+1 {{[Passed] Fused | Category:attn-fuse | Function=moved | Remark="attn.rms_norm moves into the query prologue of attn.attention"}}
  %n = attn.rms_norm %q, %w eps 1.0e-5 : !q, tensor<128xf32>
  %o = attn.attention %n, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{Remark="linalg.generic moves into the epilogue of attn.attention"}}
  %e = arith.negf %o : !q
  return %e : !q
}

// -----

!q = tensor<?x8x128xbf16>
func.func @other_use_of_result(%q: !q, %rows: tensor<?xi32>) -> (!q, !q) {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{[Missed] NotFused | Category:attn-fuse | Function=other_use_of_result | Reason="the attention's result has another use", Remark="linalg.generic stays and becomes a kernel of its own"}}
  %e = arith.negf %o : !q
  return %e, %o : !q, !q
}

// -----

!q = tensor<?x8x128xbf16>
func.func @other_use_of_query(%q: !q, %rows: tensor<?xi32>, %w: tensor<128xf32>) -> (!q, !q) {
  // expected-remark@+1 {{Reason="its result has another use", Remark="attn.rms_norm stays and becomes a kernel of its own"}}
  %n = attn.rms_norm %q, %w eps 1.0e-5 : !q, tensor<128xf32>
  %o = attn.attention %n, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %n, %o : !q, !q
}

// -----

!q = tensor<?x8x128xbf16>
func.func @beside_nothing(%q: !q) -> !q {
  // expected-remark@+1 {{Reason="it stands beside no attention and no append"}}
  %e = arith.negf %q : !q
  return %e : !q
}

// -----

!q = tensor<?x8x128xbf16>
func.func @body_not_of_the_white_list(%q: !q, %rows: tensor<?xi32>) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{Reason="its body holds math.atan, which is not of the white list on these types"}}
  %e = math.atan %o : !q
  return %e : !q
}

// -----

!q = tensor<?x8x128xbf16>
#id = affine_map<(t, h, d) -> (t, h, d)>
func.func @transposed(%q: !q, %rows: tensor<?xi32>, %empty: tensor<8x?x128xbf16>) -> tensor<8x?x128xbf16> {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{Reason="it reads the attention's result elsewhere than at [token, head, d]"}}
  %e = linalg.generic {indexing_maps = [affine_map<(h, t, d) -> (t, h, d)>, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o : !q) outs(%empty : tensor<8x?x128xbf16>) {
    ^bb0(%x: bf16, %out: bf16):
      linalg.yield %x : bf16
  } -> tensor<8x?x128xbf16>
  return %e : tensor<8x?x128xbf16>
}

// -----

!q = tensor<?x8x128xbf16>
#id = affine_map<(t, h, d) -> (t, h, d)>
func.func @shifted_read(%q: !q, %rows: tensor<?xi32>, %empty: !q, %y: tensor<?x9x128xbf16>) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{Reason="it reads a tensor at places other than loops and constants"}}
  %e = linalg.generic {indexing_maps = [#id, affine_map<(t, h, d) -> (t, h + 1, d)>, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o, %y : !q, tensor<?x9x128xbf16>) outs(%empty : !q) {
    ^bb0(%x: bf16, %z: bf16, %out: bf16):
      %a = arith.addf %x, %z : bf16
      linalg.yield %a : bf16
  } -> !q
  return %e : !q
}

// -----

!q = tensor<?x8x128xbf16>
#id = affine_map<(t, h, d) -> (t, h, d)>
func.func @reads_i1(%q: !q, %rows: tensor<?xi32>, %empty: !q, %m: tensor<8xi1>) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{Reason="it reads values of type i1; an epilogue reads f32, f16, bf16 and i32"}}
  %e = linalg.generic {indexing_maps = [#id, affine_map<(t, h, d) -> (h)>, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o, %m : !q, tensor<8xi1>) outs(%empty : !q) {
    ^bb0(%x: bf16, %z: i1, %out: bf16):
      %f = arith.constant 1.0 : bf16
      %a = arith.select %z, %x, %f : bf16
      linalg.yield %a : bf16
  } -> !q
  return %e : !q
}

// -----

!q = tensor<?x8x128xbf16>
func.func @converts_to_i32(%q: !q, %rows: tensor<?xi32>) -> tensor<?x8x128xi32> {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  // expected-remark@+1 {{Reason="its result has elements of type i32; an attention's are f32, f16 or bf16"}}
  %e = arith.fptosi %o : !q to tensor<?x8x128xi32>
  return %e : tensor<?x8x128xi32>
}

// -----

!q = tensor<?x8x128xbf16>
func.func @another_block(%q: !q, %rows: tensor<?xi32>, %p: i1) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %r = scf.if %p -> !q {
    // expected-remark@+1 {{Reason="it stands in another block than the attention"}}
    %e = arith.negf %o : !q
    scf.yield %e : !q
  } else {
    scf.yield %q : !q
  }
  return %r : !q
}

// -----

// In a loop the op would run again at every turn.
!q = tensor<?x8x128xbf16>
func.func @another_block_before(%q: !q, %rows: tensor<?xi32>, %w: tensor<128xf32>, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{Reason="it stands in another block than its use"}}
  %y = attn.rms_norm %q, %w eps 1.0e-5 : !q, tensor<128xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %q) -> !q {
    %o = attn.attention %y, %x, %x rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
    scf.yield %o : !q
  }
  return %r : !q
}

// -----

// The attention cannot move down: its cache is appended to in between.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x8x128xf32>
!k = tensor<?x8x128xbf16>
func.func @append_between(%q: !k, %k: !k, %cache: !cache, %rows: tensor<?xi32>, %g: tensor<?x?x128xf32>) -> (!q, !cache) {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !k, !cache, tensor<?xi32> -> !q
  %c = attn.append %k, %k to %cache rows(%rows) : !k, !k, !cache, tensor<?xi32>
  %y = tensor.cast %g : tensor<?x?x128xf32> to !q
  // expected-remark@+1 {{Reason="it reads values computed behind an append to the attention's cache"}}
  %a = arith.addf %o, %y : !q
  return %a, %c : !q, !cache
}

// -----

// The attention cannot move down: its lse is used in between.
!q = tensor<?x8x128xf32>
!l = tensor<?x8xf32>
func.func @lse_between(%q: !q, %rows: tensor<?xi32>) -> !q {
  %o, %lse = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q, !l
  %p, %m = attn.merge (%q, %lse), (%q, %lse) : !q, !l
  // expected-remark@+1 {{Reason="it reads values computed behind the attention, whose lse is used before them"}}
  %a = arith.addf %o, %p : !q
  return %a : !q
}

// -----

// A broadcast makes the query out of a tensor of another shape.
!q = tensor<?x8x128xbf16>
func.func @no_rows(%y: tensor<8x128xbf16>, %q: !q, %rows: tensor<?xi32>) -> !q {
  // expected-remark@+1 {{Reason="it reads no tensor of its result's shape at [token, head, d]"}}
  %b = linalg.generic {indexing_maps = [affine_map<(t, h, d) -> (h, d)>, affine_map<(t, h, d) -> (t, h, d)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y : tensor<8x128xbf16>) outs(%q : !q) {
    ^bb0(%x: bf16, %out: bf16):
      linalg.yield %x : bf16
  } -> !q
  %o = attn.attention %b, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!q = tensor<?x8x128xbf16>
#id = affine_map<(t, h, d) -> (t, h, d)>
func.func @narrow_scalar(%q: !q, %rows: tensor<?xi32>, %s: bf16) -> !q {
  // expected-remark@+1 {{Reason="it reads a scalar that is neither f32 nor i32"}}
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : !q) outs(%q : !q) {
    ^bb0(%x: bf16, %out: bf16):
      %y = arith.mulf %x, %s : bf16
      linalg.yield %y : bf16
  } -> !q
  %o = attn.attention %b, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// -----

// Two loops: the heads and elements are one dimension.
!q = tensor<?x8x128xbf16>
func.func @collapsed(%q: !q, %rows: tensor<?xi32>) -> tensor<?x1024xbf16> {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %c = tensor.collapse_shape %o [[0], [1, 2]] : !q into tensor<?x1024xbf16>
  // expected-remark@+1 {{Reason="it stands beside no attention and no append"}}
  %e = arith.negf %c : tensor<?x1024xbf16>
  return %e : tensor<?x1024xbf16>
}
