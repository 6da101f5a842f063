// A negative test for each numbered constraint of the smaller ops.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// merge C1
func.func @f(%o: tensor<?x32x128xbf16>, %l: tensor<?x8xf32>) {
  // expected-error@+1 {{expects lse with the tokens and heads of out, got 'tensor<?x8xf32>' for 'tensor<?x32x128xbf16>'}}
  attn.merge (%o, %l), (%o, %l) : tensor<?x32x128xbf16>, tensor<?x8xf32>
  return
}

// -----

// merge C1: the outs differ
func.func @f(%a: tensor<?x32x128xbf16>, %b: tensor<?x32x128xf32>, %l: tensor<?x32xf32>) {
  // expected-error@+1 {{failed to verify that all of {outA, outB, result} have same type}}
  "attn.merge"(%a, %l, %b, %l)
    : (tensor<?x32x128xbf16>, tensor<?x32xf32>, tensor<?x32x128xf32>, tensor<?x32xf32>)
    -> (tensor<?x32x128xbf16>, tensor<?x32xf32>)
  return
}

// -----

// rope C1
func.func @f(%x: tensor<?x32x128xbf16>, %cos: tensor<?x64xf32>, %sin: tensor<?x32xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{failed to verify that all of {cos, sin} have same type}}
  "attn.rope"(%x, %cos, %sin, %p) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}>
    : (tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32x128xbf16>
  return
}

// -----

// rope C2
func.func @f(%x: tensor<?x32x64xbf16>, %cos: tensor<?x64xf32>, %p: tensor<?xi32>) {
  // expected-error@+1 {{expects to rotate at most the head's 64 elements, got 128}}
  attn.rope %x, %cos, %cos positions(%p) half_split : tensor<?x32x64xbf16>, tensor<?x64xf32>, tensor<?xi32>
  return
}

// -----

// rope C3: nothing says where the rows stand
func.func @f(%x: tensor<?x32x128xbf16>, %cos: tensor<?x64xf32>) {
  // expected-error@+1 {{expects either rows and cache, or positions, got neither of them complete}}
  "attn.rope"(%x, %cos, %cos) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}>
    : (tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x32x128xbf16>
  return
}

// -----

// rope C3: both say it
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%x: tensor<?x32x128xbf16>, %cos: tensor<?x64xf32>, %p: tensor<?xi32>, %cache: !cache) {
  // expected-error@+1 {{expects either rows and cache, or positions, got both}}
  "attn.rope"(%x, %cos, %cos, %p, %cache, %p) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}>
    : (tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xi32>, !cache, tensor<?xi32>)
    -> tensor<?x32x128xbf16>
  return
}

// -----

// rope C4
func.func @f(%x: tensor<6x32x128xbf16>, %cos: tensor<?x64xf32>, %p: tensor<5xi32>) {
  // expected-error@+1 {{expects a position for each token, got 'tensor<5xi32>' for 'tensor<6x32x128xbf16>'}}
  attn.rope %x, %cos, %cos positions(%p) half_split : tensor<6x32x128xbf16>, tensor<?x64xf32>, tensor<5xi32>
  return
}

// -----

// rms_norm C1
func.func @f(%x: tensor<?x32x128xbf16>, %w: tensor<64xf32>) {
  // expected-error@+1 {{expects a weight for each of the head's 128 elements, got 64}}
  attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x32x128xbf16>, tensor<64xf32>
  return
}

// -----

// rms_norm C2
func.func @f(%x: tensor<?x32x128xbf16>, %w: tensor<128xf32>) {
  // expected-error@+1 {{expects a finite eps > 0, got 0.000000e+00 : f64}}
  attn.rms_norm %x, %w eps 0.0 : tensor<?x32x128xbf16>, tensor<128xf32>
  return
}

// -----

// lookup C1
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>, %t: tensor<8x4xf32>) {
  attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b, %c = %t : tensor<8x4xf32>) {
    // expected-error@+1 {{expects 2 indices for 'tensor<8x4xf32>', got 1}}
    %x = attn.lookup %c[%h] : tensor<8x4xf32> -> f32
    attn.yield %x : f32
  } : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return
}

// -----

// lookup C2
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>, %t: tensor<8xf64>) {
  attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b, %c = %t : tensor<8xf64>) {
    // expected-error@+1 {{expects a table of f32, f16, bf16, i32 or i8, got 'f64'}}
    %x = attn.lookup %c[%h] : tensor<8xf64> -> f32
    attn.yield %x : f32
  } : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return
}

// -----

// lookup C2
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>, %t: tensor<8xi8>) {
  attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b, %c = %t : tensor<8xi8>) {
    // expected-error@+1 {{expects i32 from a table of 'i8', got 'f32'}}
    %x = attn.lookup %c[%h] : tensor<8xi8> -> f32
    attn.yield %x : f32
  } : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return
}

// -----

// lookup C3
func.func @f(%t: tensor<8xf32>, %h: i32) {
  // expected-error@+1 {{expects to stand in a score or epilogue region, with a capture of it as table}}
  attn.lookup %t[%h] : tensor<8xf32> -> f32
  return
}

// -----

// position C1: outside
func.func @f(%q: i32) {
  // expected-error@+1 {{expects to stand in a score or epilogue region with that region's row index (its second argument) as operand}}
  attn.position %q
  return
}

// -----

// position C1: of a key
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>) {
  attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 score(%s, %qi, %ki, %h, %b) {
    // expected-error@+1 {{expects to stand in a score or epilogue region with that region's row index}}
    %p = attn.position %ki
    attn.yield %s : f32
  } : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return
}

// -----

// token C1
!q = tensor<?x8x128xbf16>
func.func @f(%q: !q, %rows: tensor<?xi32>) {
  attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 epilogue(%o, %qi, %h, %d) {
    // expected-error@+1 {{expects to stand in a score or epilogue region with that region's row index}}
    %p = attn.token %h
    attn.yield %o : f32
  } : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return
}
