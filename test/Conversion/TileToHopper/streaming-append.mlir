// A layer at decode in one kernel: rope of queries in the lanes that load them, and the append of two new tokens.
// RUN: pagefold-opt %s --attn-fuse --attn-to-tile --tile-online-softmax --tile-stage-queries --tile-select-schedule=target=cuda --tile-fuse-append --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s

// What is appended is counted beside the space: rows of 2 heads x 64 x 2 bytes, read and written.
// CHECK: tile.plan @f {about = [{{{.*}} traffic = [{arg = 1 : i64, bytes = 256 : i64}, {arg = 1 : i64, bytes = 256 : i64}, {arg = 2 : i64, bytes = 256 : i64}, {arg = 2 : i64, bytes = 256 : i64}]}]
// Pages are written by pairs, angles read by pairs of f32. There is no other kernel.
// CHECK-SAME: {access = "readwrite", align = 4 : i64, dtype = "bf16", name = "arg4"
// CHECK-SAME: {access = "read", align = 8 : i64, dtype = "f32", name = "arg8"
// CHECK-SAME: kernels = [{ctas_per_sm = 1 : i64, op = "tile.space"
// CHECK-NOT: op =
// CHECK: hopper.kernel @f_k0(
// CHECK: %[[K:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 64, bf16 warps 8>
// CHECK-NEXT: %[[V:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 64, bf16 warps 8>

// All loads of a piece come first: 8 pairs of queries and the 4 angles of each half; two tokens' keys, 16 lanes a row, and their
// angles and page ids; values, 32 lanes a row, token by token.
// CHECK-COUNT-8: hopper.load_pair %[[Q:[^ ]*]][%{{.*}}] if %[[EXISTS:.*]] : <bf16>, i64
// CHECK: hopper.load_pair %[[COS:[^ ]*]][%{{.*}}] if %[[TURNS:.*]] else 1.000000e+00 : <f32>, i64
// CHECK-COUNT-3: hopper.load_pair %[[COS]][%{{.*}}] if %[[TURNS]] else 1.000000e+00 : <f32>, i64
// CHECK: hopper.load_pair %[[SIN:[^ ]*]][%{{.*}}] if %[[TURNS]] : <f32>, i64
// CHECK-COUNT-3: hopper.load_pair %[[SIN]][%{{.*}}] if %[[TURNS]] : <f32>, i64
// The piece has to do with new rows if it is its segment's last, or comes to keys that were not there before.
// CHECK: %[[WRITES:.*]] = arith.cmpi eq
// CHECK: %[[NEEDED:.*]] = arith.ori %[[WRITES]], %{{.*}}
// CHECK-COUNT-2: hopper.load_pair %{{.*}}[%{{.*}}] if %{{.*}} : <bf16>, i64
// CHECK: hopper.load_pair %[[COS]]
// CHECK: hopper.load_pair %[[SIN]]
// CHECK: %[[KEY_PAGE:.*]] = hopper.load %[[TABLE:[^ ]*]][%{{.*}}] if %{{.*}} else %c-2147483648_i32
// CHECK: %[[VALUE0:.*]] = hopper.load_pair
// CHECK: hopper.load %[[TABLE]]
// CHECK: %[[VALUE1:.*]] = hopper.load_pair
// CHECK: hopper.load %[[TABLE]]
// CHECK-NOT: hopper.load

// Queries are turned in f32 and rounded, and so are keys; of both each page is checked, and one outside the pool not written to.
// CHECK-COUNT-8: hopper.round_pair
// CHECK: scf.if %[[NEEDED]] -> (i32, i32) {
// CHECK-COUNT-2: hopper.round_pair
// CHECK: arith.cmpi uge, %[[KEY_PAGE]], %[[POOL:.*]] : i32
// CHECK: hopper.report {{.*}}, %[[KEY_PAGE]], %[[POOL]] reason 5
// CHECK: %[[IS_PAGE:.*]] = arith.cmpi sge
// CHECK-COUNT-2: hopper.store_pair %{{.*}}, %{{.*}}[%{{.*}}] if %[[IS_PAGE]] : <bf16>, i64
// CHECK: hopper.report
// CHECK: hopper.store_pair %[[VALUE0]]
// CHECK: hopper.report
// CHECK: hopper.store_pair %[[VALUE1]]

// A slice with new keys: once it is there, their rows are put over it, before its first block is loaded. The copy that fills the
// stage next comes behind a fence.
// CHECK: scf.while
// CHECK: scf.if %[[IS_NEW:.*]] {
// CHECK-NEXT: hopper.wait %[[K]]
// CHECK-NEXT: hopper.wait %[[V]]
// CHECK-COUNT-2: hopper.put_pair %{{.*}}, %[[K]]
// CHECK-COUNT-2: hopper.put_pair %{{.*}}, %[[V]]
// CHECK-NEXT: hopper.sync_warp
// CHECK-NEXT: }
// CHECK-NEXT: hopper.wait %[[K]]
// CHECK: hopper.load_block %[[K]]
// CHECK: hopper.fence_shared if %[[IS_NEW]]
// CHECK-NEXT: hopper.sync_warp
// CHECK: hopper.fill %[[K]]
!cache = !attn.paged_kv<2 heads, 64 x 64, bf16, page 16>
func.func @f(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %rows: tensor<?xi32>,
             %k_pages: tensor<?x16x2x64xbf16>, %v_pages: tensor<?x16x2x64xbf16>, %table: tensor<?x?xi32>,
             %lens: tensor<?xi32>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>) -> tensor<?x8x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 8, q_len 2, kv_len 1024>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %qr = attn.rope %q, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x8x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x2x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows)
    : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, !cache, tensor<?xi32>
  %o = attn.attention %qr, %c rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x64xbf16>, !cache, tensor<?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}
