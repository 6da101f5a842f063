// Attention over a cache with a shared prefix becomes two parts and their merge.
// RUN: pagefold-opt %s --attn-cascade | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[Q:.*]]: tensor<?x32x128xbf16>, %[[CACHE:.*]]: !attn.paged_kv<{{.*}}>, %[[ROWS:.*]]: tensor<?xi32>, %[[N:.*]]: tensor<1xi32>, %[[SINKS:.*]]: tensor<32xf32>)
// CHECK: %[[C:.*]] = attn.shared_prefix %[[CACHE]], %[[N]] expected 4096
// CHECK: %[[SHARED:.*]], %[[ALL:.*]], %[[REST:.*]] = attn.cut_prefix %[[C]], %[[N]] rows(%[[ROWS]]) tokens(%[[Q]])
// No mask and no sink over the shared keys: all of them come before all rows, and a sink counts once.
// CHECK: %[[OA:.*]], %[[LA:.*]] = attn.attention %[[Q]], %[[SHARED]] rows(%[[ALL]]) scale {{[0-9.]+}} :
// CHECK-SAME: -> tensor<?x32x128xbf16>, tensor<?x32xf32>
// CHECK: %[[OB:.*]], %[[LB:.*]] = attn.attention %[[Q]], %[[REST]] rows(%[[ROWS]]) scale {{[0-9.]+}} mask <k <= q + kv_len - q_len> sinks(%[[SINKS]] : tensor<32xf32>) :
// CHECK: %[[O:.*]], %[[L:.*]] = attn.merge (%[[OA]], %[[LA]]), (%[[OB]], %[[LB]])
// CHECK: return %[[O]], %[[L]]
func.func @decode(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>, %sinks: tensor<32xf32>)
    -> (!q, tensor<?x32xf32>) attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
  %o, %l = attn.attention %q, %c rows(%rows) scale 0.088388 mask <causal> sinks(%sinks : tensor<32xf32>)
    : !q, !cache, tensor<?xi32> -> !q, tensor<?x32xf32>
  return %o, %l : !q, tensor<?x32xf32>
}

// The promise holds for what an append makes of the cache. A score that reads itself, its head and its token is that of both parts.
// CHECK-LABEL: func.func @step(
// CHECK: %[[NEW:.*]] = attn.append
// CHECK: attn.cut_prefix %[[NEW]],
// CHECK: attn.attention {{.*}} score(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = %{{.*}} : tensor<32xf32>) {
// CHECK:   attn.token
// CHECK: attn.attention {{.*}} score(
// CHECK:   attn.token
// CHECK: attn.merge
func.func @step(%q: !q, %k: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>,
                %heat: tensor<32xf32>) -> !q attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  %new = attn.append %k, %k to %c rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  %o = attn.attention %q, %new rows(%rows) scale 0.088388 mask <causal>
    score(%s, %qi, %ki, %h, %b, %table = %heat : tensor<32xf32>) {
      %x = attn.lookup %table[%h] : tensor<32xf32> -> f32
      %t = attn.token %qi
      %f = arith.sitofp %t : i32 to f32
      %y = arith.mulf %x, %f : f32
      %z = arith.addf %s, %y : f32
      attn.yield %z : f32
    } : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// Two attentions over the same cache and rows have one cut.
// CHECK-LABEL: func.func @twice(
// CHECK-COUNT-1: attn.cut_prefix
// CHECK-NOT: attn.cut_prefix
// CHECK: return
func.func @twice(%q: !q, %p: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> (!q, !q)
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  %a = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  %b = attn.attention %p, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %a, %b : !q, !q
}

// Without a promise nothing happens.
// CHECK-LABEL: func.func @no_promise(
// CHECK-NOT: attn.cut_prefix
// CHECK: return
func.func @no_promise(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}
