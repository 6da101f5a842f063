// Regions: score, epilogue and prologues with their captures; what is applied where.
// RUN: pagefold-opt %s --attn-to-tile | FileCheck %s

!cache = !attn.paged_kv<2 heads, 64 x 64, bf16, page 16>
#id = affine_map<(t, h, d) -> (t, h, d)>

// Positions and tokens are arguments of the tile's regions; a look-up reads the captured buffer. A table that is
// read at the token has as many rows as the batch, which the launch plan says.
// CHECK-LABEL: func.func @score_and_epilogue(
// CHECK-SAME: name = "arg4", shape = [4]
// CHECK-SAME: name = "arg5", shape = ["tokens", 4, 64]
// CHECK: tile.map %{{.*}} at %{{.*}} mask(%{{.*}}) {
// CHECK: ^bb0(%[[S:.*]]: f32, %[[Q:[^:]*]]: i32, %[[K:[^:]*]]: i32, %[[H:[^:]*]]: i32, %[[B:[^:]*]]: i32, %[[POS:[^:]*]]: i32, %[[TOKEN:[^:]*]]: i32):
// CHECK:   %[[SLOPE:.*]] = tile.lookup %arg4[%[[H]]] : memref<4xf32, strided<[1], offset: ?>> -> f32
// CHECK:   %[[FAR:.*]] = arith.subi %[[POS]], %[[K]] : i32
// CHECK:   %[[F:.*]] = arith.sitofp %[[FAR]]
// CHECK:   %[[BIAS:.*]] = arith.mulf %[[SLOPE]], %[[F]]
// CHECK:   %[[R:.*]] = arith.subf %[[S]], %[[BIAS]]
// CHECK:   tile.yield %[[R]] : f32
// CHECK: tile.finish
// CHECK: ^bb0(%[[O:.*]]: f32, %{{.*}}: i32, %[[EH:[^:]*]]: i32, %[[ED:[^:]*]]: i32, %{{.*}}: i32, %[[ET:[^:]*]]: i32):
// CHECK:   %[[RES:.*]] = tile.lookup %arg5[%[[ET]], %[[EH]], %[[ED]]] : {{.*}} -> f32
// CHECK:   %[[SUM:.*]] = arith.addf %[[O]], %[[RES]]
// CHECK:   tile.yield %[[SUM]] : f32
func.func @score_and_epilogue(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xbf16>, %rows: tensor<?xi32>,
                              %kv_rows: tensor<?xi32>, %slopes: tensor<4xf32>, %residual: tensor<?x4x64xbf16>)
    -> tensor<?x4x64xbf16> attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125
    score(%s, %i, %j, %h, %b, %table = %slopes : tensor<4xf32>) {
      %slope = attn.lookup %table[%h] : tensor<4xf32> -> f32
      %position = attn.position %i
      %far = arith.subi %position, %j : i32
      %f = arith.sitofp %far : i32 to f32
      %bias = arith.mulf %slope, %f : f32
      %r = arith.subf %s, %bias : f32
      attn.yield %r : f32
    }
    epilogue(%x, %i, %h, %d, %table = %residual : tensor<?x4x64xbf16>) {
      %t = attn.token %i
      %y = attn.lookup %table[%t, %h, %d] : tensor<?x4x64xbf16> -> f32
      %z = arith.addf %x, %y : f32
      attn.yield %z : f32
    }
    : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}

// Prologues become row ops in the load and in the append, in their order. Tables that turn by the cache's
// positions bound these positions: the batch checks both.
// CHECK-LABEL: func.func @prologues(
// CHECK-SAME: name = "arg4", shape = ["rope_positions", 32]
// CHECK-SAME: name = "arg5", shape = ["rope_positions", 32]
// CHECK: tile.batch rows(%arg2) of %{{.*}} tokens(%arg1) positions(%arg4, %arg5)
// CHECK: tile.append %arg1, %arg1 to %{{.*}} of %{{.*}} key {
// CHECK:   %[[N:.*]] = tile.rms_norm %{{.*}}, %arg3 eps 1.000000e-05 : <q x 64, f32>, memref<64xf32, strided<[1], offset: ?>>
// CHECK:   %[[R:.*]] = tile.rope %[[N]], %arg4, %arg5 half_split
// CHECK:   tile.yield %[[R]]
// CHECK: } value {
// CHECK:   %[[C:.*]] = arith.constant 5.000000e-01 : bf16
// CHECK:   %[[M:.*]] = tile.row_map %{{.*}} {
// CHECK:   ^bb0(%[[X:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK:     %[[NARROW:.*]] = arith.truncf %[[X]] : f32 to bf16
// CHECK:     arith.mulf %[[NARROW]], %[[C]] : bf16
// CHECK:   tile.yield %[[M]]
// CHECK: tile.load_q %arg0
// CHECK:   tile.rope %{{.*}}, %arg4, %arg5 interleaved
func.func @prologues(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xbf16>, %rows: tensor<?xi32>, %w: tensor<64xf32>,
                     %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>, %cache: !cache) -> tensor<?x4x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %c = attn.append %k, %k to %cache rows(%rows)
    key(%x : tensor<?x2x64xbf16>, %wk = %w : tensor<64xf32>, %ck = %cos : tensor<?x32xf32>, %sk = %sin : tensor<?x32xf32>,
        %rk = %rows : tensor<?xi32>, %cachek = %cache : !cache) {
      %n = attn.rms_norm %x, %wk eps 1.0e-5 : tensor<?x2x64xbf16>, tensor<64xf32>
      %r = attn.rope %n, %ck, %sk rows(%rk) of %cachek half_split
        : tensor<?x2x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
      attn.yield %r : tensor<?x2x64xbf16>
    }
    value(%x : tensor<?x2x64xbf16>) {
      %half = arith.constant 0.5 : bf16
      %zero = arith.constant 0 : index
      %tokens = tensor.dim %x, %zero : tensor<?x2x64xbf16>
      %empty = tensor.empty(%tokens) : tensor<?x2x64xbf16>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%x : tensor<?x2x64xbf16>) outs(%empty : tensor<?x2x64xbf16>) {
        ^bb0(%in: bf16, %out: bf16):
          %m = arith.mulf %in, %half : bf16
          linalg.yield %m : bf16
        } -> tensor<?x2x64xbf16>
      attn.yield %y : tensor<?x2x64xbf16>
    }
    : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, !cache, tensor<?xi32>
  %o = attn.attention %q, %c rows(%rows) scale 0.125
    query(%x : tensor<?x4x64xbf16>, %cq = %cos : tensor<?x32xf32>, %sq = %sin : tensor<?x32xf32>,
          %rq = %rows : tensor<?xi32>, %cacheq = %c : !cache) {
      %r = attn.rope %x, %cq, %sq rows(%rq) of %cacheq interleaved
        : tensor<?x4x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
      attn.yield %r : tensor<?x4x64xbf16>
    }
    : tensor<?x4x64xbf16>, !cache, tensor<?xi32> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}
