// A negative test for each numbered constraint of attn.shared_prefix and attn.cut_prefix.
// RUN: pagefold-opt %s -verify-diagnostics -split-input-file

// shared_prefix C1
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%cache: !cache, %n: tensor<2xi32>) {
  // expected-error@+1 {{expects a length of one element, got 'tensor<2xi32>'}}
  attn.shared_prefix %cache, %n : !cache, tensor<2xi32>
  return
}

// -----

// shared_prefix C2
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%cache: !cache, %n: tensor<1xi32>) {
  // expected-error@+1 {{expects an expected length of at least 1, got 0}}
  attn.shared_prefix %cache, %n expected 0 : !cache, tensor<1xi32>
  return
}

// -----

// cut_prefix C1
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%cache: !cache, %n: tensor<?xi32>, %rows: tensor<?xi32>, %q: tensor<?x8x128xbf16>) {
  // expected-error@+1 {{expects a length of one element, got 'tensor<?xi32>'}}
  attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
    : !cache, tensor<?xi32>, tensor<?xi32>, tensor<?x8x128xbf16> -> tensor<2xi32>
  return
}

// -----

// cut_prefix C1
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @f(%cache: !cache, %n: tensor<1xi32>, %rows: tensor<?xi32>, %q: tensor<?x8x128xbf16>) {
  // expected-error@+1 {{expects two row offsets of all rows, got 'tensor<3xi32>'}}
  attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
    : !cache, tensor<1xi32>, tensor<?xi32>, tensor<?x8x128xbf16> -> tensor<3xi32>
  return
}

// -----

// cut_prefix C2: parts are only read
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!rows = tensor<?x8x128xbf16>
func.func @f(%cache: !cache, %n: tensor<1xi32>, %rows: tensor<?xi32>, %q: !rows) -> !cache {
  %shared, %all, %rest = attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
    : !cache, tensor<1xi32>, tensor<?xi32>, !rows -> tensor<2xi32>
  // expected-error@+1 {{expects a whole cache, got a part that attn.cut_prefix has cut out}}
  %new = attn.append %q, %q to %rest rows(%rows) : !rows, !rows, !cache, tensor<?xi32>
  return %new : !cache
}

// -----

// cut_prefix C2: an append to the whole uses up the parts
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!rows = tensor<?x8x128xbf16>
func.func @f(%cache: !cache, %n: tensor<1xi32>, %rows: tensor<?xi32>, %q: !rows) -> !rows {
  %shared, %all, %rest = attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
    : !cache, tensor<1xi32>, tensor<?xi32>, !rows -> tensor<2xi32>
  // expected-note@+1 {{appended here: use this op's result instead}}
  %new = attn.append %q, %q to %cache rows(%rows) : !rows, !rows, !cache, tensor<?xi32>
  // expected-error@+1 {{expects the newest value of the cache, got one that an append has used up}}
  %o = attn.attention %q, %rest rows(%rows) scale 1.0 : !rows, !cache, tensor<?xi32> -> !rows
  return %o : !rows
}

// -----

// append C5: the promise's cache is the same memory
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!rows = tensor<?x8x128xbf16>
func.func @f(%cache: !cache, %n: tensor<1xi32>, %rows: tensor<?xi32>, %q: !rows) -> !rows {
  %same = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-note@+1 {{appended here: use this op's result instead}}
  %new = attn.append %q, %q to %same rows(%rows) : !rows, !rows, !cache, tensor<?xi32>
  // expected-error@+1 {{expects the newest value of the cache, got one that an append has used up}}
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !rows, !cache, tensor<?xi32> -> !rows
  return %o : !rows
}
