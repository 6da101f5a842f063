// ALiBi: a bias that falls linearly with the distance, at a slope of the head's own, written as ordinary arithmetic in
// the score region. 12 heads, which is no power of two; the slopes are an argument. The first 32 of the 64 dims also
// turn by RoPE, in adjacent pairs, to show both in one graph.
//
//   pagefold-run examples/alibi.mlir --inputs 'lens=40,1,300 q_len=1' --check
//
!cache = !attn.paged_kv<12 heads, 64 x 64, f32, page 16>

func.func @alibi(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>, %rows: tensor<?xi32>,
                 %k_pages: tensor<?x16x12x64xf32>, %v_pages: tensor<?x16x12x64xf32>, %table: tensor<?x?xi32>,
                 %lens: tensor<?xi32>, %cos: tensor<?x16xf32>, %sin: tensor<?x16xf32>, %slopes: tensor<12xf32>)
    -> (tensor<?x12x64xf32>, tensor<?x12xf32>) attributes {attn.bounds = #attn.bounds<batch 16, q_len 64, kv_len 2048>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x12x64xf32>, tensor<?x16x12x64xf32>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %qr = attn.rope %q, %cos, %sin rows(%rows) of %cache interleaved
    : tensor<?x12x64xf32>, tensor<?x16xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache interleaved
    : tensor<?x12x64xf32>, tensor<?x16xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows)
    : tensor<?x12x64xf32>, tensor<?x12x64xf32>, !cache, tensor<?xi32>
  %o, %lse = attn.attention %qr, %c rows(%rows) scale 0.125 mask <causal>
    score(%s, %qi, %ki, %h, %b, %table_of_slopes = %slopes : tensor<12xf32>) {
      %slope = attn.lookup %table_of_slopes[%h] : tensor<12xf32> -> f32
      %position = attn.position %qi
      %distance = arith.subi %position, %ki : i32
      %d = arith.sitofp %distance : i32 to f32
      %bias = arith.mulf %slope, %d : f32
      %biased = arith.subf %s, %bias : f32
      attn.yield %biased : f32
    }
    : tensor<?x12x64xf32>, !cache, tensor<?xi32> -> tensor<?x12x64xf32>, tensor<?x12xf32>
  return %o, %lse : tensor<?x12x64xf32>, tensor<?x12xf32>
}
