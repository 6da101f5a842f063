// Dense keys: three roles' work, rings, one box a tile, and a loop for each range of the visit list.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=1" --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s

// What the runtime is told: maps of keys, values, queries and results beside addresses and strides.
// CHECK: tile.plan @f
// CHECK-SAME: kernels = [{ctas_per_sm = 1 : i64, op = "tile.space", params = [
// CHECK-SAME: {arg = 2 : i64, box = [64, 128, 2, 1], dims = [{extent = 64 : i64}, {extent_of = 0 : i64, stride_of = 0 : i64}, {extent = 2 : i64, stride = 128 : i64}, {extent = 2 : i64, stride_of = 1 : i64}], element = "bf16", kind = "map"}
// CHECK-SAME: {arg = 3 : i64, box = [64, 128, 2, 1]
// CHECK-SAME: {kind = "error_word"}
// CHECK-SAME: symbol = "f_k0", threads = 384 : i64}]

// CHECK: hopper.kernel @f_k0(
// CHECK-DAG: %[[Q:.*]] = hopper.alloc_ring readers 8 : <1 x 128 x 128, bf16 note 20>
// CHECK-DAG: hopper.alloc : <2 x 64 x 128, bf16>
// CHECK: %[[K:.*]] = hopper.alloc_ring readers 8 : <2 x 128 x 128, bf16>
// CHECK-NEXT: %[[V:.*]] = hopper.alloc_ring readers 8 : <2 x 128 x 128, bf16>
// CHECK: producer warpgroups 1 registers 40
// The keys' warp: a tile of keys, then queries, then the other tiles, newest first.
// CHECK: hopper.acquire %[[K]]
// CHECK: hopper.expect %[[K]]
// CHECK: hopper.fill %[[K]][%{{.*}}] from {{.*}} keep
// CHECK: hopper.write_note %[[Q]]
// CHECK: hopper.fill %[[Q]]
// CHECK-COUNT-2: scf.while
// CHECK: hopper.fill %[[V]][%{{.*}}] from {{.*}} keep
// CHECK: consumer warpgroups 2 registers 232
// CHECK: hopper.wait %[[Q]]
// The first step is masked and clears what lies past the length.
// CHECK: hopper.contract {{.*}}, %[[K]][%{{.*}}] transposed
// CHECK: hopper.mask
// CHECK: hopper.clear_rows %[[V]]
// CHECK: hopper.contract {{.*}}, %[[V]]
// A loop over masked tiles, then one over full tiles.
// CHECK: scf.while
// CHECK: hopper.mask
// CHECK: hopper.contract {{.*}}, %[[V]]
// CHECK: scf.while
// CHECK-NOT: hopper.mask
// CHECK: hopper.contract {{.*}}, %[[V]]
// CHECK: hopper.store_tile
// CHECK: hopper.store_matrix
func.func @f(%q: tensor<?x8x128xbf16>, %rows: tensor<?xi32>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>,
             %kv_rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 4096, kv_len 4096>} {
  %o = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.0883 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
