// Pages that are no multiple of 16 keys on the streaming schedule: gathered row by row (12 keys), or as octets (8 keys).
// DEFINE: %{lower} = pagefold-opt --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-visit-lists --tile-to-hopper --canonicalize --cse
// RUN: %{lower} %s | FileCheck %s --check-prefix=GATHER
// RUN: sed 's/x12x/x8x/g; s/page 12/page 8/' %s > %t-8.mlir
// RUN: %{lower} %t-8.mlir | FileCheck %s --check-prefix=OCTETS

// A launch refuses pools that do not lie at multiples of 16 bytes. Gathers need addresses and strides of both, and no map.
// GATHER: tile.plan @f {about = [{form = "streaming", pages = "gather",
// GATHER-SAME: {access = "readwrite", align = 16 : i64, dtype = "bf16", {{[^}]*}}shape = ["{{[^"]*}}", 12, 2, 72]}, {access = "readwrite", align = 16 : i64, dtype = "bf16", {{[^}]*}}shape = ["{{[^"]*}}", 12, 2, 128]}
// GATHER-NOT: kind = "map"
// GATHER-SAME: {arg = 2 : i64, dim = 0 : i64, kind = "stride"}, {arg = 2 : i64, dim = 1 : i64, kind = "stride"}, {arg = 2 : i64, dim = 2 : i64, kind = "stride"}, {arg = 2 : i64, kind = "pointer"}
// GATHER-SAME: {arg = 3 : i64, dim = 0 : i64, kind = "stride"}, {arg = 3 : i64, dim = 1 : i64, kind = "stride"}, {arg = 3 : i64, dim = 2 : i64, kind = "stride"}, {arg = 3 : i64, kind = "pointer"}
// GATHER-NOT: kind = "map"

// Each lane arrives.
// GATHER: %[[K:.*]] = hopper.alloc_ring readers 0 writers 32 : <3 x 16 x 72, bf16 warps 8>
// GATHER-NEXT: %[[V:.*]] = hopper.alloc_ring readers 0 writers 32 : <3 x 16 x 128, bf16 warps 8>

// Ids of 32 rows, and of the next 32, before the ring's first round.
// GATHER: %[[NOW:.*]] = hopper.load {{.*}} if %{{.*}} else %c-2147483648_i32 : <i32>, i64
// GATHER: %[[NEXT:.*]] = hopper.load {{.*}} if %{{.*}} else %c-2147483648_i32 : <i32>, i64
// GATHER-NEXT: scf.while ({{.*}} = %[[NOW]], {{.*}} = %[[NEXT]],
// The lane's row: an id outside the pool is reported, and its row is none.
// GATHER: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[FOUND:.*]], %[[POOL:.*]] : i32
// GATHER: %[[PAGE:.*]] = arith.select %[[OUTSIDE]], %c-1_i32, %[[FOUND]]
// GATHER: hopper.report {{.*}}, %[[FOUND]], %[[POOL]] reason 5
// GATHER: arith.remui %{{.*}}, %c12_i32
// GATHER: arith.select %{{.*}}, %{{.*}}, %c-9223372036854775808_i64
// 72 columns are read as 80: ten units of sixteen lanes, two rows at once.
// GATHER-COUNT-16: hopper.shuffle
// GATHER: arith.cmpi slt, %{{.*}}, %c10_i32
// GATHER-NEXT: scf.if
// GATHER-COUNT-8: hopper.gather %[[K]]
// GATHER-NOT: hopper.gather %[[K]]
// GATHER: hopper.arrive_gathered %[[K]]
// GATHER-COUNT-8: hopper.gather %[[V]]
// GATHER: hopper.arrive_gathered %[[V]]
// Once the next rows begin, what was next is now: the table is read for those behind them.
// GATHER: scf.if
// GATHER: hopper.load {{.*}} else %c-2147483648_i32
// GATHER: hopper.load {{.*}} else %c-2147483648_i32

// The fold knows nothing of it.
// GATHER: hopper.wait %[[K]]
// GATHER: hopper.load_block %[[K]]
// GATHER: hopper.wait %[[V]]
// GATHER: hopper.sync_warp
// GATHER: hopper.gather %[[K]]
// GATHER-NOT: hopper.expect

// Two boxes a slice. An octet with both its panels lies together in order octets; of columns that are no whole panels each panel is a box.
// OCTETS: tile.plan @f {about = [{box_keys = 8 : i64, form = "streaming", pages = "boxes",
// OCTETS: %[[K:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 72, bf16 warps 8>
// OCTETS-NEXT: %[[V:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 128, bf16 order octets warps 8>
// OCTETS: hopper.expect %[[K]]
// OCTETS-NEXT: hopper.fill %[[K]]{{.*}} panel 0 row %c0_i32 from %{{.*}}[%c0_i32, %c0_i32, %[[HEAD:.*]], %[[P0:.*]]] :
// OCTETS-NEXT: hopper.fill %[[K]]{{.*}} panel 1 row %c0_i32 from %{{.*}}[%c64_i32, %c0_i32, %[[HEAD]], %[[P0]]] :
// OCTETS-NEXT: hopper.fill %[[K]]{{.*}} panel 0 row %c8_i32 from %{{.*}}[%c0_i32, %c0_i32, %[[HEAD]], %[[P1:.*]]] :
// OCTETS-NEXT: hopper.fill %[[K]]{{.*}} panel 1 row %c8_i32
// OCTETS-NEXT: hopper.expect %[[V]]
// OCTETS-NEXT: hopper.fill %[[V]]{{.*}} row %c0_i32 from %{{.*}}[%c0_i32, %c0_i32, %c0_i32, %[[HEAD]], %[[P0]]] : {{.*}}, <box[64, 8, 2, 1, 1], bf16>
// OCTETS-NEXT: hopper.fill %[[V]]{{.*}} row %c8_i32 from %{{.*}}[%c0_i32, %c0_i32, %c0_i32, %[[HEAD]], %[[P1]]]
// OCTETS: hopper.load_block %[[V]]{{.*}} column 0 transposed
!cache = !attn.paged_kv<2 heads, 72 x 128, bf16, page 12>
!q = tensor<?x8x72xbf16>
!o = tensor<?x8x128xbf16>

func.func @f(%q: !q, %rows: tensor<?xi32>, %k: tensor<?x12x2x72xbf16>, %v: tensor<?x12x2x128xbf16>, %table: tensor<?x?xi32>,
             %lens: tensor<?xi32>) -> !o attributes {attn.bounds = #attn.bounds<batch 16, q_len 1, kv_len 8192>} {
  %cache = attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x12x2x72xbf16>, tensor<?x12x2x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %cache rows(%rows) scale 0.1 mask <causal> : !q, !cache, tensor<?xi32> -> !o
  return %o : !o
}
