// Why a prefix is read once, or for each request: the price with its numbers, or what the graph has against it.
// RUN: pagefold-opt %s --attn-cascade --remarks-filter=attn-cascade --remark-format=emitRemark -split-input-file -verify-diagnostics

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @pays(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
  // expected-remark@+1 {{[Passed] Cascade | Category:attn-cascade | Function=pays | Remark="the prefix is read once: a prefix of 4096 keys is 16.0 MiB read once, and 512.0 MiB for each of 32 requests; the cut and the merge cost 1.4 MiB, and three launches 0 bytes"}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

// Without an expected length: half of kv_len.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @half(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{a prefix of 4096 keys}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

// A prefill of many rows: the states cost more than the prefix.
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @does_not_pay(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 2, q_len 512, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n expected 128 : !cache, tensor<1xi32>
  // expected-remark@+1 {{[Missed] Cascade | Category:attn-cascade | Function=does_not_pay | Remark="the prefix is read for each request: a prefix of 128 keys is 512.0 KiB read once, and 1.0 MiB for each of 2 requests; the cut and the merge cost 40.5 MiB, and three launches 0 bytes"}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @no_bounds(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{the function declares no attn.bounds to judge by}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @window(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{its mask is neither none nor causal: rows may not see all keys of the prefix}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 mask <causal and window(64)> : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @bitmap(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>, %bits: tensor<?xi8>, %starts: tensor<?xi64>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{its mask is a bitmap over all keys of a request}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>) : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @epilogue(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{its epilogue belongs on the merged result}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 epilogue(%x, %qi, %h, %d) {
    %y = arith.negf %x : f32
    attn.yield %y : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @key(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{its score region reads the key, which the parts count from elsewhere}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 score(%s, %qi, %ki, %h, %b) {
    %f = arith.sitofp %ki : i32 to f32
    %y = arith.addf %s, %f : f32
    attn.yield %y : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @position(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{its score region reads the row's position, which the parts count from elsewhere}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 score(%s, %qi, %ki, %h, %b) {
    %p = attn.position %qi
    %f = arith.sitofp %p : i32 to f32
    %y = arith.addf %s, %f : f32
    attn.yield %y : f32
  } : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @rope(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>, %cos: tensor<?x64xf32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{its query prologue turns by the positions of the whole cache}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388
    query(%x : !q, %t = %cos : tensor<?x64xf32>, %r = %rows : tensor<?xi32>, %k = %c : !cache) {
      %y = attn.rope %x, %t, %t rows(%r) of %k half_split : !q, tensor<?x64xf32>, tensor<?xi32>, !cache
      attn.yield %y : !q
    } : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
!q = tensor<?x32x128xbf16>
func.func @bytes(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-remark@+1 {{no schedule reads keys of 8 bits for as many rows as a whole batch has}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}
