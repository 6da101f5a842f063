// A negative test for each numbered constraint of attn.attention.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// C1: a cache and keys
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects either a cache, or key, value and kv_rows, got a cache with some of the others}}
  "attn.attention"(%q, %cache, %k, %rows) <{mask = #attn.mask<causal>, scale = 1.0 : f64,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}, {}, {})
    : (!q, !cache, tensor<?x8x128xbf16>, tensor<?xi32>) -> !q
  return
}

// -----

// C1: keys without their offsets
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects either a cache, or key, value and kv_rows, got no cache and not all of the others}}
  attn.attention %q, %q, %q rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32> -> !q
  return
}

// -----

// C1: offsets with a cache
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects either a cache, or key, value and kv_rows, got a cache with some of the others}}
  attn.attention %q, %cache rows(%rows) kv_rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32>, tensor<?xi32> -> !q
  return
}

// -----

// C2: dynamic heads
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%q: tensor<?x?x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects static heads and head dim, got 'tensor<?x?x128xbf16>'}}
  attn.attention %q, %cache rows(%rows) scale 1.0
    : tensor<?x?x128xbf16>, !cache, tensor<?xi32> -> tensor<?x?x128xbf16>
  return
}

// -----

// C2: the result has the values' head dim
!cache = !attn.paged_kv<8 heads, 192 x 128, bf16, page 16>
func.func @f(%q: tensor<?x32x192xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a result with the tokens and heads of the query and 128 elements a head, got 'tensor<?x32x192xbf16>'}}
  attn.attention %q, %cache rows(%rows) scale 1.0
    : tensor<?x32x192xbf16>, !cache, tensor<?xi32> -> tensor<?x32x192xbf16>
  return
}

// -----

// C2: lse
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects lse with the tokens and heads of the query, got 'tensor<?x8xf32>'}}
  attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q, tensor<?x8xf32>
  return
}

// -----

// C3 (A14)
!cache = !attn.paged_kv<2 heads, 128 x 128, bf16, page 16>
!q = tensor<?x33x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects query heads that are a multiple of the KV heads, got 33 and 2}}
  attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C3 (A14): no keys' heads
func.func @f(%q: tensor<?x8x128xbf16>, %k: tensor<?x0x128xbf16>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects query heads that are a multiple of the KV heads, got 8 and 0}}
  attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 1.0
    : tensor<?x8x128xbf16>, tensor<?x0x128xbf16>, tensor<?x0x128xbf16>, tensor<?xi32>, tensor<?xi32>
    -> tensor<?x8x128xbf16>
  return
}

// -----

// C3: the group's limit
!cache = !attn.paged_kv<1 heads, 128 x 128, bf16, page 16>
!q = tensor<?x129x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a group (query heads a KV head) of at most 128, got 129}}
  attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C3: keys and values of different heads
func.func @f(%q: tensor<?x8x128xbf16>, %k: tensor<?x8x128xbf16>, %v: tensor<?x4x128xbf16>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects as many heads of values as of keys, 8, got 4}}
  attn.attention %q, %k, %v rows(%rows) kv_rows(%rows) scale 1.0
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x4x128xbf16>, tensor<?xi32>, tensor<?xi32>
    -> tensor<?x8x128xbf16>
  return
}

// -----

// C4
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x64xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects queries of the keys' head dim 128, got 64}}
  attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
  return
}

// -----

// C4
!q = tensor<?x8x100xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects head dims that are multiples of 8 from 8 to 512, got 100}}
  attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return
}

// -----

// C5
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects queries of the keys' element type 'bf16', got 'f16'}}
  attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C5
func.func @f(%q: tensor<?x8x128xbf16>, %v: tensor<?x8x128xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects keys and values of one element type, got 'bf16' and 'f32'}}
  attn.attention %q, %q, %v rows(%rows) kv_rows(%rows) scale 1.0
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xf32>, tensor<?xi32>, tensor<?xi32>
    -> tensor<?x8x128xbf16>
  return
}

// -----

// C6
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a finite scale > 0, got -1.000000e+00 : f64}}
  attn.attention %q, %cache rows(%rows) scale -1.0 : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C6: infinity
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a finite scale > 0, got 0x7FF0000000000000 : f64}}
  attn.attention %q, %cache rows(%rows) scale 0x7FF0000000000000 : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C7: symbols
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a value for each of the mask's 1 symbols, got 0}}
  attn.attention %q, %cache rows(%rows) scale 1.0 mask <window(w) where w> : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C7: row values
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a tensor for each of the mask's 0 row values, got 1}}
  attn.attention %q, %cache rows(%rows) scale 1.0 mask <causal> row_values(%rows : tensor<?xi32>)
    : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C7: row values are one a token
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<6x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<5xi32>) {
  // expected-error@+1 {{expects a row value for each of the 6 tokens, got 'tensor<5xi32>'}}
  attn.attention %q, %cache rows(%rows) scale 1.0 mask <k >= start where start per_row>
    row_values(%rows : tensor<5xi32>) : !q, !cache, tensor<5xi32> -> !q
  return
}

// -----

// C8
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %sinks: tensor<8xf32>) {
  // expected-error@+1 {{expects a sink for each of the 32 query heads, got 'tensor<8xf32>'}}
  attn.attention %q, %cache rows(%rows) scale 1.0 sinks(%sinks : tensor<8xf32>) : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C9
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %bits: tensor<?xi8>) {
  // expected-error@+1 {{expects a bitmap and its starts together, got a bitmap alone}}
  "attn.attention"(%q, %cache, %rows, %bits) <{mask = #attn.mask<none>, scale = 1.0 : f64,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0>}> ({}, {}, {})
    : (!q, !cache, tensor<?xi32>, tensor<?xi8>) -> !q
  return
}

// -----

// C10: what the score region takes
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects argument 3 of the score region to be 'i32', got 'index'}}
  "attn.attention"(%q, %cache, %rows) <{mask = #attn.mask<none>, scale = 1.0 : f64,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}, {
    ^bb0(%s: f32, %qi: i32, %k: i32, %h: index, %b: i32):
      attn.yield %s : f32
    }, {}) : (!q, !cache, tensor<?xi32>) -> !q
  return
}

// -----

// C10: what it yields
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b) {
    // expected-error@+1 {{expects the score region to yield f32, got 'i32'}}
    attn.yield %ki : i32
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C10: arguments left out
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects 5 arguments before captures, got 2}}
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi) { attn.yield %s : f32 } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C10: what it captures
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects the score region to capture f32, i32 and tensors, got '!attn.paged_kv<8 heads, 128 x 128, bf16, page 16>'}}
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b, %c = %cache : !cache) {
    attn.yield %s : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C11: what the epilogue takes
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects argument 0 of the epilogue region to be 'f32', got 'bf16'}}
  "attn.attention"(%q, %cache, %rows) <{mask = #attn.mask<none>, scale = 1.0 : f64,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}, {}, {
    ^bb0(%o: bf16, %qi: i32, %h: i32, %d: i32):
      %x = arith.extf %o : bf16 to f32
      attn.yield %x : f32
    }) : (!q, !cache, tensor<?xi32>) -> !q
  return
}

// -----

// C11: what it yields
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  attn.attention %q, %cache rows(%rows) scale 1.0 epilogue(%o, %qi, %h, %d) {
    %x = arith.truncf %o : f32 to bf16
    // expected-error@+1 {{expects the epilogue region to yield f32, got 'bf16'}}
    attn.yield %x : bf16
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C12: an op that is not of the white list
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b) {
    // expected-error@+1 {{expects an op of the white list over scalars (f32, i32, i1, and f16 and bf16 between conversions) in the score region}}
    %x = math.atan %s : f32
    attn.yield %x : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C12: control flow
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  attn.attention %q, %cache rows(%rows) scale 1.0 epilogue(%o, %qi, %h, %d) {
    %t = arith.constant true
    // expected-error@+1 {{expects an op of the white list}}
    %x = scf.if %t -> f32 { scf.yield %o : f32 } else { scf.yield %o : f32 }
    attn.yield %x : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C12: a type that is none of the scalars
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  attn.attention %q, %cache rows(%rows) scale 1.0 epilogue(%o, %qi, %h, %d) {
    // expected-error@+1 {{expects an op of the white list}}
    %x = arith.extf %o : f32 to f64
    attn.yield %o : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// C13
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  attn.attention %q, %cache rows(%rows) scale 1.0 query(%x : !q) {
    // expected-error@+1 {{expects row-wise ops in the query prologue}}
    %y = tensor.cast %x : !q to !q
    attn.yield %y : !q
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// Regions end in a yield.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects the score region to end in attn.yield, got 'llvm.unreachable'}}
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b) {
    llvm.unreachable
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// Regions are not empty.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>) {
  // expected-error@+1 {{expects a non-empty block}}
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b) {
  } : !q, !cache, tensor<?xi32> -> !q
  return
}

// -----

// Regions see captures only.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @f(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %c: f32) {
  attn.attention %q, %cache rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b) {
    // expected-error@+1 {{use of undeclared SSA value name}}
    %x = arith.mulf %s, %c : f32
    attn.yield %x : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return
}
