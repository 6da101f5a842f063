// A packed space: 5 heads of a group take 8 rows of a query tile, so that 16 query rows fill it. A query row and a head for each of a
// lane's rows.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s

func.func @f(%q: tensor<?x10x128xbf16>, %rows: tensor<?xi32>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>,
             %kv_rows: tensor<?xi32>, %slopes: tensor<10xf32>, %sinks: tensor<10xf32>) -> (tensor<?x10x128xbf16>, tensor<?x10xf32>)
    attributes {attn.bounds = #attn.bounds<batch 3, q_len 20, kv_len 4096>} {
  %o, %lse = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal> sinks(%sinks : tensor<10xf32>)
    score(%s, %i, %j, %h, %b, %t = %slopes : tensor<10xf32>) {
      %slope = attn.lookup %t[%h] : tensor<10xf32> -> f32
      %x = arith.subf %s, %slope : f32
      attn.yield %x : f32
    }
    : tensor<?x10x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32>
    -> tensor<?x10x128xbf16>, tensor<?x10xf32>
  return %o, %lse : tensor<?x10x128xbf16>, tensor<?x10xf32>
}

// The plan: K and V count once for a KV head, and a query row takes 8 rows.
// CHECK: tile.plan @f {about = [{{.*}}group = 5 : i64, group_rows = 8 : i64,{{.*}} packed = true

// Queries: boxes of 8 heads of 16 tokens. No memory for tiles of results.
// CHECK: hopper.kernel @f_k0({{.*}} %[[QUERIES:[^:]*]]: !hopper.tensor_map<box[64, 8, 16, 2], bf16>
// CHECK: %[[NOWHERE:.*]] = arith.constant dense<2147483647> : vector<2xi32>
// CHECK: %[[GROUP:.*]] = arith.constant dense<5> : vector<2xi32>
// CHECK-NOT: hopper.alloc :

// The producer: the first of the group's heads, and K of the note's KV head.
// CHECK: producer warpgroups 1
// CHECK: ^bb0(%{{[^:]*}}: i32, %{{[^:]*}}: i32, %[[ROW:[^:]*]]: i32, %[[KV_HEAD:[^:]*]]: i32, %{{[^:]*}}: i32, %[[TOKEN:[^:]*]]: i32,
// CHECK: hopper.fill %{{.*}} from %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %[[KV_HEAD]]] keep
// CHECK: %[[FIRST_TOKEN:.*]] = arith.addi %[[TOKEN]], %[[ROW]]
// CHECK: %[[FIRST_HEAD:.*]] = arith.muli %[[KV_HEAD]], %c5_i32
// CHECK: hopper.fill %{{.*}} from %[[QUERIES]][%c0_i32, %[[FIRST_HEAD]], %[[FIRST_TOKEN]], %c0_i32]

// The scheduler: tiles of 16 query rows, of two KV heads.
// CHECK: %[[UP:.*]] = arith.addi %{{.*}}, %c15_i32
// CHECK-NEXT: %[[TILES:.*]] = arith.shrui %[[UP]], %c4_i32
// CHECK-NEXT: arith.muli %[[TILES]], %c2_i32

// A consumer: query rows and heads of the lane's rows, of a request's row and KV head.
// CHECK: consumer warpgroups 2
// CHECK: %[[ROWS:.*]] = arith.addi %{{.*}}, %{{.*}} : vector<2xi32>
// CHECK-NEXT: %[[IN_TILE:.*]] = arith.shrui %[[ROWS]], %{{.*}}
// CHECK-NEXT: %[[IN_GROUP:.*]] = arith.andi %[[ROWS]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c5_i32
// CHECK-NEXT: %[[FIRST_ROWS:.*]] = vector.broadcast %[[FIRST]]
// CHECK-NEXT: %[[HEADS:.*]] = arith.addi %[[IN_GROUP]], %[[FIRST_ROWS]]
// CHECK: %[[Q:.*]] = arith.addi %[[IN_TILE]], %{{.*}}
// CHECK: hopper.map %{{.*}} rows(%[[Q]], %{{.*}}, %{{.*}}, %[[HEADS]] :

// A sink for each row.
// CHECK: %[[HEAD:.*]] = vector.extract %[[HEADS]][0]
// CHECK: hopper.load
// CHECK: vector.extract %[[HEADS]][1]
// CHECK: hopper.load
// CHECK-NEXT: vector.from_elements

// Each row goes where its token and head are; rows past the request or the group go nowhere.
// CHECK: %[[BY_TOKEN:.*]] = arith.muli %[[Q]], %{{.*}}
// CHECK: %[[BY_HEAD:.*]] = arith.muli %[[HEADS]], %{{.*}}
// CHECK: %[[PLACE:.*]] = arith.addi %[[BY_TOKEN]], %[[BY_HEAD]]
// CHECK: %[[IN_REQUEST:.*]] = arith.cmpi slt, %[[Q]], %{{.*}}
// CHECK-NEXT: %[[IS_HEAD:.*]] = arith.cmpi slt, %[[IN_GROUP]], %[[GROUP]]
// CHECK-NEXT: %[[EXISTS:.*]] = arith.andi %[[IN_REQUEST]], %[[IS_HEAD]]
// CHECK-NEXT: %[[PLACES:.*]] = arith.select %[[EXISTS]], %[[PLACE]], %[[NOWHERE]]
// CHECK: hopper.store_matrix %{{.*}} stride %c8_i64 rows %[[PLACES]] below %c2147483647_i32
// CHECK: %[[LSE:.*]] = arith.select %[[EXISTS]], %{{.*}}, %[[NOWHERE]]
// CHECK-NEXT: hopper.store_rows {{.*}} rows %[[LSE]] below %c2147483647_i32

// Of a part, warps that have a row of the request leave their states.
// CHECK: } else {
// CHECK: %[[OF_WARP:.*]] = arith.shrui %{{.*}}, %c3_i32
// CHECK-NEXT: %[[WARP_ROW:.*]] = arith.addi %{{.*}}, %[[OF_WARP]]
// CHECK-NEXT: %[[HAS:.*]] = arith.cmpi slt, %[[WARP_ROW]], %{{.*}}
// CHECK-NEXT: scf.if %[[HAS]]
// CHECK: hopper.store_lanes
