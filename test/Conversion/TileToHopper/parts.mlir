// Few query tiles, many keys: parts of the keys, whose states the last warp merges. A score region may give the smallest f32 in
// each part (A04): every difference to a maximum comes before the product with the exponent, and only what is finite is
// subtracted.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=pipelined" --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s

func.func @f(%q: tensor<?x4x64xbf16>, %rows: tensor<?xi32>, %k: tensor<?x4x64xbf16>, %v: tensor<?x4x64xbf16>,
             %kv_rows: tensor<?xi32>, %bias: tensor<16x4096xf32>) -> tensor<?x4x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 16, kv_len 4096>} {
  %o = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <none>
    score(%s, %i, %j, %h, %b, %t = %bias : tensor<16x4096xf32>) {
      %more = attn.lookup %t[%i, %j] : tensor<16x4096xf32> -> f32
      %x = arith.addf %s, %more : f32
      attn.yield %x : f32
    }
    : tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}

// A step: rows that have seen nothing take 0 as their maximum.
// CHECK: consumer warpgroups 2
// CHECK: ^bb0({{.*}}: !hopper.fragment<64 x 64, f32>, %[[OLD:[^:]*]]: vector<2xf32>, %{{[^:]*}}: vector<2xf32>):
// CHECK: %[[MAX:.*]] = arith.maxnumf %{{.*}}, %[[OLD]]
// CHECK-NEXT: %[[NOTHING:.*]] = arith.cmpf oeq, %[[MAX]], %[[MINUS_INF:.*]] :
// CHECK-NEXT: %[[TOP:.*]] = arith.select %[[NOTHING]], %[[ZERO:.*]], %[[MAX]]
// CHECK-NEXT: %[[LESS:.*]] = hopper.map %{{.*}} rows(%[[TOP]] : vector<2xf32>)
// CHECK: %[[AGO:.*]] = arith.subf %[[OLD]], %[[TOP]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[AGO]], %{{.*}}
// CHECK-NEXT: hopper.approx ex2 %[[SCALED]]
// CHECK-NEXT: hopper.exp2 %[[LESS]] scale %[[EXPONENT:.*]] offset %[[ZERO]]

// A part: its state, then a ticket; who draws the last one merges.
// CHECK: hopper.store_lanes
// CHECK: hopper.ticket
// CHECK: %[[LAST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[LAST]]
// CHECK: ^bb0(%{{.*}}: i32, %[[OUT:.*]]: !hopper.fragment<64 x 64, f32>, %[[A:.*]]: vector<2xf32>, %[[SUM:.*]]: vector<2xf32>):
// CHECK: %[[B:.*]] = hopper.load_lanes
// CHECK: %[[OTHER:.*]] = hopper.load_lanes {{.*}} !hopper.fragment
// CHECK: %[[MAX2:.*]] = arith.maxnumf %[[A]], %[[B]]
// CHECK-NEXT: %[[NOTHING2:.*]] = arith.cmpf oeq, %[[MAX2]], %[[MINUS_INF]]
// CHECK-NEXT: %[[TOP2:.*]] = arith.select %[[NOTHING2]], %[[ZERO]], %[[MAX2]]
// CHECK-NEXT: %[[FROM_A:.*]] = arith.subf %[[A]], %[[TOP2]]
// CHECK-NEXT: %[[FACTOR:.*]] = vector.broadcast %[[EXPONENT]]
// CHECK-NEXT: %[[SCALED_A:.*]] = arith.mulf %[[FROM_A]], %[[FACTOR]]
// CHECK-NEXT: %[[SHARE_A:.*]] = hopper.approx ex2 %[[SCALED_A]]
// CHECK-NEXT: %[[FROM_B:.*]] = arith.subf %[[B]], %[[TOP2]]
// CHECK-NEXT: %[[SCALED_B:.*]] = arith.mulf %[[FROM_B]], %[[FACTOR]]
// CHECK-NEXT: %[[SHARE_B:.*]] = hopper.approx ex2 %[[SCALED_B]]
// CHECK: hopper.scale_rows %[[OUT]] by %[[SHARE_A]]
// CHECK: hopper.scale_rows %[[OTHER]] by %[[SHARE_B]]
// CHECK: scf.yield {{.*}}, %[[MAX2]], %{{.*}} : i32
