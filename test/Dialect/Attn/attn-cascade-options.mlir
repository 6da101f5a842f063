// What the options make of it.
// RUN: pagefold-opt %s --attn-cascade=batch-invariant | FileCheck %s --check-prefix=WHOLE
// RUN: pagefold-opt %s --attn-cascade=launch-bytes=1000000000 | FileCheck %s --check-prefix=WHOLE
// RUN: pagefold-opt %s --attn-cascade="launch-bytes=1000000000 force" | FileCheck %s --check-prefix=CUT

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// WHOLE-NOT: attn.cut_prefix
// CUT: attn.cut_prefix
func.func @decode(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}
