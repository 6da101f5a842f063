// Pages, a batch of more requests than lanes, two blocks of packed rows, a mask of two ranges, a score region, sinks, an
// epilogue and the log-sum-exp on the streaming schedule.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s

// One map of rows of one page and head, whatever the strides are: no view of whole pages.
// CHECK: tile.plan @f
// CHECK-NOT: page_map
// CHECK-SAME: {arg = 2 : i64, box = [64, 16, 1, 1], dims = [{extent = 40 : i64}, {extent = 48 : i64, stride_of = 1 : i64}, {extent = 2 : i64, stride_of = 2 : i64}, {extent_of = 0 : i64, stride_of = 0 : i64}], element = "f16", kind = "map", read_once}
// CHECK-NOT: page_map
// CHECK-SAME: threads = 256

// CHECK: hopper.kernel @f_k0(
// First tokens and a window are what is read, not all between them: no range from the first to the last (whose start would be sought from 2^31 - 1).
// CHECK-NOT: arith.constant 2147483647
// 40 columns are read as 48, of which TMA makes the last 8 zeros.
// CHECK: %[[K:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 40, f16 warps 8>
// CHECK-NEXT: %[[V:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 40, f16 warps 8>
// CHECK: stream warpgroups 2 registers 256

// The first 32 requests, and the others in a loop: the loads of four chunks at once, then, chunk by chunk, what is made of them.
// What the mask is bound to is read for requests that are there.
// CHECK: %[[HAS_ROWS:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32
// CHECK: hopper.load {{.*}} if %[[HAS_ROWS]] else %c0_i32 : <i32>, i64
// CHECK: hopper.warp_reduce sum
// CHECK: scf.while
// CHECK: } do {
// CHECK-COUNT-12: hopper.load {{.*}} if %{{.*}} else %c0_i32 : <i32>
// CHECK: scf.while
// CHECK: } do {
// CHECK: %[[HAS_ROWS:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32
// CHECK: hopper.load {{.*}} if %[[HAS_ROWS]] else %c0_i32 : <i32>, i64
// CHECK-NOT: hopper.load
// CHECK: hopper.warp_reduce sum
// Which chunk the share starts in.
// CHECK: hopper.sync_warp
// CHECK: scf.while
// CHECK: hopper.warp_reduce sum

// Page ids of 32 slices at once, one a lane, where there is a key.
// CHECK: %[[PAGES:.*]] = hopper.load {{.*}} if %{{.*}} else %c-2147483648_i32 : <i32>, i64
// CHECK: scf.while
// The slice's own, checked as it is used: an id outside the pool is reported, and page -1 is zeros.
// CHECK: %[[KEY:.*]] = hopper.shuffle
// CHECK: %[[SLOT:.*]] = arith.remui %[[KEY]], %c48
// CHECK: %[[FOUND:.*]] = hopper.shuffle %{{.*}}
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[FOUND]], %[[POOL:.*]] : i32
// CHECK: %[[PAGE:.*]] = arith.select %[[OUTSIDE]], %c-1_i32, %[[FOUND]]
// CHECK: hopper.report {{.*}}, %[[FOUND]], %[[POOL]] reason 5
// A slot of a page of 48, in which a slice lies whole.
// CHECK: hopper.expect %[[K]]
// CHECK-NEXT: hopper.fill %[[K]]{{.*}} panel 0 from %{{.*}}[%c0_i32, %[[SLOT]], %{{.*}}, %[[PAGE]]] :
// CHECK-NEXT: hopper.expect %[[V]]

// Two right blocks of queries, 16 packed rows: products with both.
// CHECK: hopper.load_pair {{.*}} : <f16>, i64
// CHECK: hopper.wait %[[K]]
// CHECK: %[[A:.*]] = hopper.load_block %[[K]]{{.*}} column 0 :
// CHECK: hopper.load_block %[[K]]{{.*}} column 32 :
// CHECK-NEXT: hopper.contract_block %[[A]], %[[Q0:.*]] into %cst{{.*}} of f16
// CHECK-NEXT: hopper.contract_block %[[A]], %[[Q1:.*]] into %cst{{.*}} of f16
// The score region on scaled scores, of two columns and two rows of each block.
// CHECK-COUNT-8: math.tanh
// CHECK: hopper.wait %[[V]]
// CHECK: hopper.load_block %[[V]]{{.*}} column 32 transposed
// CHECK: hopper.sync_warp

// A whole segment: sinks, epilogue, results, log-sum-exp.
// CHECK: hopper.column_reduce sum
// CHECK: hopper.load {{.*}} : <f32>, i64
// CHECK: arith.maxnumf
// CHECK: hopper.approx lg2
// CHECK: hopper.load {{.*}} : <f16>, i64
// CHECK: hopper.store_pair {{.*}} : <f16>, i64
// CHECK: hopper.store {{.*}} if %{{.*}} : <f32>, i64

// CHECK: hopper.barrier_sync
// CHECK: hopper.hand_over
// CHECK: hopper.collect 8 packets
// The same after the merge, a row a warp: 40 columns are those of ten lanes.
// CHECK: hopper.load {{.*}} : <f32>, i64
// CHECK: hopper.approx lg2
// CHECK: hopper.load {{.*}} : <f16>, i64
// CHECK: arith.mulf
// CHECK: hopper.store_pair {{.*}} if %[[HOLDS:.*]] : <f16>, i64
// CHECK: hopper.store {{.*}} if %{{.*}} : <f32>, i64
!cache = !attn.paged_kv<2 heads, 40 x 40, f16, page 48>
!t = tensor<?x8x40xf16>

func.func @f(%q: !t, %rows: tensor<?xi32>, %k: tensor<?x48x2x40xf16>, %v: tensor<?x48x2x40xf16>, %table: tensor<?x?xi32>,
             %lens: tensor<?xi32>, %windows: tensor<?xi32>, %sinks: tensor<8xf32>, %gate: !t) -> (!t, tensor<?x8xf32>)
    attributes {attn.bounds = #attn.bounds<batch 256, q_len 4, kv_len 8192>} {
  %cache = attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x48x2x40xf16>, tensor<?x48x2x40xf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o, %lse = attn.attention %q, %cache rows(%rows) scale 0.158
    mask <causal and sink_window(4, w) where w >= 1> symbols(%windows : tensor<?xi32>)
    score(%s, %i, %j, %h, %b) {
      %x = math.tanh %s : f32
      attn.yield %x : f32
    }
    epilogue(%x, %i, %h, %d, %g = %gate : !t) {
      %token = attn.token %i
      %scale = attn.lookup %g[%token, %h, %d] : !t -> f32
      %y = arith.mulf %x, %scale : f32
      attn.yield %y : f32
    }
    sinks(%sinks : tensor<8xf32>)
    : !t, !cache, tensor<?xi32> -> !t, tensor<?x8xf32>
  return %o, %lse : !t, tensor<?x8xf32>
}
