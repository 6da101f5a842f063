// With a score region both branches of the bit run it, and only the partial one masks.
// RUN: pagefold-opt %s --pagefold-host | FileCheck %s

!q = tensor<?x2x64xf32>

// CHECK-LABEL: func.func @soft_cap_k1(
// CHECK: scf.if %{{.*}} {
// CHECK:   math.tanh %{{.*}} : vector<16xf32>
// CHECK:   arith.cmpi {{.*}} : vector<16xi32>
// CHECK: } else {
// CHECK:   math.tanh %{{.*}} : vector<16xf32>
// CHECK-NOT: arith.cmpi {{.*}} : vector<16xi32>
// CHECK: tile.plan
func.func @soft_cap(%q: !q, %rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    score(%s, %i, %j, %h, %b) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}
