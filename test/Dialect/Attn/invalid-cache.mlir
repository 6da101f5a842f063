// A negative test for each numbered constraint of attn.cache and attn.append.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// cache C1
func.func @f(%k: tensor<?x16x8x128xf16>, %v: tensor<?x16x8x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects k_pages of the cache's element type 'bf16', got 'f16'}}
  attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C2: the pages are nhd, the layout says hnd
func.func @f(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects k_pages of [pages, 8, 16, 128] in layout hnd, got 'tensor<?x16x8x128xbf16>'}}
  attn.cache %k, %v table(%table) lens(%lens) layout(hnd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C3
func.func @f(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x64xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects v_pages of [pages, 16, 8, 128] in layout nhd, got 'tensor<?x16x8x64xbf16>'}}
  attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x64xbf16>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C3
func.func @f(%k: tensor<64x16x8x128xbf16>, %v: tensor<32x16x8x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects as many V pages as K pages, 64, got 32}}
  attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<64x16x8x128xbf16>, tensor<32x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C4
func.func @f(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>, %table: tensor<?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects a table of rank 2 without starts, got 'tensor<?xi32>'}}
  attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C4
func.func @f(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects a table of rank 1 with starts, got 'tensor<?x?xi32>'}}
  attn.cache %k, %v table(%table) starts(%lens : tensor<?xi32>) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C5
func.func @f(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>, %table: tensor<3x?xi32>, %lens: tensor<4xi32>) {
  // expected-error@+1 {{expects a table row for each of the 4 lens, got 3}}
  attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<3x?xi32>, tensor<4xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C5
func.func @f(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>, %table: tensor<?xi32>, %lens: tensor<4xi32>) {
  // expected-error@+1 {{expects one start more than the 4 lens, got 4}}
  attn.cache %k, %v table(%table) starts(%lens : tensor<4xi32>) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?xi32>, tensor<4xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C6
func.func @f(%k: tensor<?x16x8x128xf8E4M3FN>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>) {
  // expected-error@+1 {{expects scales for elements of 'f8E4M3FN'}}
  attn.cache %k, %k table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xf8E4M3FN>, tensor<?x16x8x128xf8E4M3FN>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

// cache C6
func.func @f(%k: tensor<?x16x8x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %scale: tensor<8xf32>) {
  // expected-error@+1 {{expects no scales for elements of 'bf16'}}
  attn.cache %k, %k table(%table) lens(%lens) scales(%scale, %scale : tensor<8xf32>, tensor<8xf32>) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

// cache C6: one scale for all heads
func.func @f(%k: tensor<?x16x8x128xf8E4M3FN>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %scale: tensor<8xf32>, %one: tensor<1xf32>) {
  // expected-error@+1 {{expects a v_scale for each of the 8 KV heads, got 'tensor<1xf32>'}}
  attn.cache %k, %k table(%table) lens(%lens) scales(%scale, %one : tensor<8xf32>, tensor<1xf32>) layout(nhd)
    : tensor<?x16x8x128xf8E4M3FN>, tensor<?x16x8x128xf8E4M3FN>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

// cache C6: one of the two, which only the generic form can say
func.func @f(%k: tensor<?x16x8x128xf8E4M3FN>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %scale: tensor<8xf32>) {
  // expected-error@+1 {{expects the scales of keys and of values, got one of them}}
  "attn.cache"(%k, %k, %table, %lens, %scale) <{layout = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>}>
    : (tensor<?x16x8x128xf8E4M3FN>, tensor<?x16x8x128xf8E4M3FN>, tensor<?x?xi32>, tensor<?xi32>, tensor<8xf32>)
    -> !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

// A32: pages of another float of 8 bits
func.func @f(%k: tensor<?x16x8x128xf8E5M2>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %scale: tensor<8xf32>) {
  // expected-error@+1 {{operand #0 must be rank-4 tensor of pages of 32-bit float or 16-bit float or bfloat16 type or f8E4M3FN type values, but got 'tensor<?x16x8x128xf8E5M2>'}}
  attn.cache %k, %k table(%table) lens(%lens) scales(%scale, %scale : tensor<8xf32>, tensor<8xf32>) layout(nhd)
    : tensor<?x16x8x128xf8E5M2>, tensor<?x16x8x128xf8E5M2>, tensor<?x?xi32>, tensor<?xi32>
    -> !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

// append C1
!cache = !attn.paged_kv<8 heads, 128 x 64, bf16, page 16>
func.func @f(%k: tensor<?x4x128xbf16>, %v: tensor<?x8x64xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects key rows of the cache's 8 heads of 128, got 'tensor<?x4x128xbf16>'}}
  attn.append %k, %v to %cache rows(%rows) : tensor<?x4x128xbf16>, tensor<?x8x64xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C1
!cache = !attn.paged_kv<8 heads, 128 x 64, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %v: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects value rows of the cache's 8 heads of 64, got 'tensor<?x8x128xbf16>'}}
  attn.append %k, %v to %cache rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C1
!cache = !attn.paged_kv<8 heads, 128 x 64, bf16, page 16>
func.func @f(%k: tensor<5x8x128xbf16>, %v: tensor<6x8x64xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects as many tokens of values as of keys, 5, got 6}}
  attn.append %k, %v to %cache rows(%rows) : tensor<5x8x128xbf16>, tensor<6x8x64xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C2
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xf32>, %v: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects key rows of the cache's element type 'bf16', got 'f32'}}
  attn.append %k, %v to %cache rows(%rows) : tensor<?x8x128xf32>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C1, C2: a cache with scales takes rows of every type, but of f8E4M3FN
!cache = !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
func.func @f(%k: tensor<?x8x128xf8E4M3FN>, %v: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{operand #0 must be [tokens, heads, head_dim] tensor of 32-bit float or 16-bit float or bfloat16 type values, but got 'tensor<?x8x128xf8E4M3FN>'}}
  attn.append %k, %v to %cache rows(%rows) : tensor<?x8x128xf8E4M3FN>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C3: what the block takes
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects argument 0 of the value region to be 'tensor<?x8x128xbf16>', got 'tensor<?x4x128xbf16>'}}
  attn.append %k, %k to %cache rows(%rows)
    value(%x : tensor<?x4x128xbf16>) { attn.yield %x : tensor<?x4x128xbf16> }
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C3: what it yields
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  attn.append %k, %k to %cache rows(%rows)
    key(%x : tensor<?x8x128xbf16>, %r = %rows : tensor<?xi32>) {
      // expected-error@+1 {{expects the key prologue to yield a tensor of the shape of 'tensor<?x8x128xbf16>', got 'tensor<?xi32>'}}
      attn.yield %r : tensor<?xi32>
    }
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C3: the number of arguments, in the generic form
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects the key region to take 1 arguments (1 and 0 captures), got 2}}
  "attn.append"(%k, %k, %cache, %rows) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}> ({
    ^bb0(%x: tensor<?x8x128xbf16>, %y: i32):
      attn.yield %x : tensor<?x8x128xbf16>
  }, {}) : (tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>) -> !cache
  return
}

// -----

// append C4: not row-wise
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  attn.append %k, %k to %cache rows(%rows)
    key(%x : tensor<?x8x128xbf16>) {
      // expected-error@+1 {{expects row-wise ops in the key prologue (attn.rope, attn.rms_norm, elementwise linalg.generic)}}
      %y = tensor.cast %x : tensor<?x8x128xbf16> to tensor<?x8x128xbf16>
      attn.yield %y : tensor<?x8x128xbf16>
    }
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C4: a generic that sums over the head dim
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  attn.append %k, %k to %cache rows(%rows)
    key(%x : tensor<?x8x128xbf16>, %e = %k : tensor<?x8x128xbf16>) {
      // expected-error@+1 {{expects row-wise ops in the key prologue}}
      %y = linalg.generic {
          indexing_maps = [affine_map<(t, h, d, e) -> (t, h, e)>, affine_map<(t, h, d, e) -> (t, h, d)>],
          iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
          ins(%x : tensor<?x8x128xbf16>) outs(%e : tensor<?x8x128xbf16>) {
        ^bb0(%in: bf16, %out: bf16):
          %s = arith.addf %in, %out : bf16
          linalg.yield %s : bf16
      } -> tensor<?x8x128xbf16>
      attn.yield %y : tensor<?x8x128xbf16>
    }
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C4: a generic that reads a row other than its own
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  attn.append %k, %k to %cache rows(%rows)
    key(%x : tensor<?x8x128xbf16>) {
      // expected-error@+1 {{expects to read the rows of the key prologue at (token, head, d), got affine_map<(d0, d1, d2) -> (d0, 0, d2)>}}
      %y = linalg.generic {
          indexing_maps = [affine_map<(t, h, d) -> (t, 0, d)>, affine_map<(t, h, d) -> (t, h, d)>],
          iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%x : tensor<?x8x128xbf16>) outs(%x : tensor<?x8x128xbf16>) {
        ^bb0(%in: bf16, %out: bf16):
          linalg.yield %in : bf16
      } -> tensor<?x8x128xbf16>
      attn.yield %y : tensor<?x8x128xbf16>
    }
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C5: the old value is returned
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> !cache {
  // expected-note@+1 {{appended here: use this op's result instead}}
  %c = attn.append %k, %k to %cache rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  // expected-error@+1 {{expects the newest value of the cache, got one that an append has used up}}
  return %cache : !cache
}

// -----

// append C5: appended to twice
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-note@+1 {{appended here}}
  attn.append %k, %k to %cache rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  // expected-error@+1 {{expects the newest value of the cache}}
  attn.append %k, %k to %cache rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

// append C5: used in another block, and inside a region, behind the append
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x8x128xbf16>
func.func @f(%k: !q, %cache: !cache, %rows: tensor<?xi32>, %p: i1) -> !q {
  // expected-note@+1 {{appended here}}
  %c = attn.append %k, %k to %cache rows(%rows) : !q, !q, !cache, tensor<?xi32>
  cf.cond_br %p, ^then, ^else
^then:
  %y = scf.if %p -> !q {
    // expected-error@+1 {{expects the newest value of the cache}}
    %o = attn.attention %k, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
    scf.yield %o : !q
  } else {
    scf.yield %k : !q
  }
  return %y : !q
^else:
  return %k : !q
}

// -----

// append C5: in a loop that does not carry the cache
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@+1 {{the loop is here}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{expects the cache to be carried through the loop around it, got one from outside}}
    attn.append %k, %k to %cache rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  }
  return
}

// -----

// Uses before the append, uses in the other branch and a carried cache are fine.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x8x128xbf16>
func.func @fine(%k: !q, %cache: !cache, %rows: tensor<?xi32>, %p: i1, %n: index) -> (!q, !cache) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = attn.attention %k, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  %c = scf.if %p -> !cache {
    %a = attn.append %k, %k to %cache rows(%rows) : !q, !q, !cache, tensor<?xi32>
    scf.yield %a : !cache
  } else {
    scf.yield %cache : !cache
  }
  %d = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> !cache {
    %a = attn.append %k, %k to %x rows(%rows) : !q, !q, !cache, tensor<?xi32>
    scf.yield %a : !cache
  }
  return %o, %d : !q, !cache
}

// -----

// A clause twice, one that there is none of, and a missing one.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects clause 'rows' once, got it again}}
  attn.append %k, %k to %cache rows(%rows) rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a clause out of rows, key, value, got 'keys'}}
  attn.append %k, %k to %cache keys(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache) {
  // expected-error@+1 {{expects a clause 'rows'}}
  attn.append %k, %k to %cache : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache
  return
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects 4 operand types, got 3}}
  attn.append %k, %k to %cache rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache
  return
}
