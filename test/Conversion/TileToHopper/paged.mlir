// Pages: those that TMA boxes bring (16 slots, a lane each), and those that the warp copies itself (12 slots).
// RUN: sed -e 's/PAGE/16/g; s/DIM/128/g; s/HALF/bf16/g' %s > %t-16.mlir
// RUN: pagefold-opt %t-16.mlir --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=1" --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,BOXES
// RUN: sed -e 's/PAGE/12/g; s/DIM/128/g; s/HALF/bf16/g' %s > %t-12.mlir
// RUN: pagefold-opt %t-12.mlir --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=1" --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,GATHER
// RUN: sed -e 's/PAGE/1/g; s/DIM/40/g; s/HALF/f16/g' %s > %t-40.mlir
// RUN: pagefold-opt %t-40.mlir --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=1" --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s --check-prefix=D40

// CHECK: tile.plan @f
// A launch refuses pools that are gathered, and results, where they do not lie at multiples of 16 bytes.
// BOXES-NOT: align = 16
// BOXES-SAME: {access = "write", align = 16 : i64
// GATHER-SAME: {access = "readwrite", align = 16 : i64, dtype = "bf16", {{[^}]*}}shape = ["{{[^"]*}}", 12, 2, 128]}, {access = "readwrite", align = 16 : i64, dtype = "bf16", {{[^}]*}}shape = ["{{[^"]*}}", 12, 2, 128]}, {access = "read", dtype = "i32"
// GATHER-SAME: {access = "write", align = 16 : i64
// BOXES-SAME: {arg = 2 : i64, box_rows = 16 : i64, element = "bf16", kind = "page_map", panels = 2 : i64}
// BOXES-SAME: {arg = 2 : i64, kind = "page_step", of = "page", panels = 2 : i64}
// Gathers need addresses and strides of both pools, and no map of them.
// GATHER-NOT: page_map
// GATHER-SAME: {arg = 2 : i64, dim = 0 : i64, kind = "stride"}, {arg = 2 : i64, dim = 1 : i64, kind = "stride"}, {arg = 2 : i64, dim = 2 : i64, kind = "stride"}, {arg = 2 : i64, kind = "pointer"}
// GATHER-SAME: {arg = 3 : i64, dim = 0 : i64, kind = "stride"}, {arg = 3 : i64, dim = 1 : i64, kind = "stride"}, {arg = 3 : i64, dim = 2 : i64, kind = "stride"}, {arg = 3 : i64, kind = "pointer"}

// CHECK: hopper.kernel @f_k0(
// CHECK: %[[K:.*]] = hopper.alloc_ring readers 8 : <2 x 128 x 128, bf16 order octets>
// CHECK-NEXT: %[[V:.*]] = hopper.alloc_ring readers 8 : <2 x 128 x 128, bf16 order octets>
// CHECK: producer warpgroups 1 registers 56
// A page id outside the pool is reported, and its rows are zeros.
// BOXES: %[[ID:.*]] = hopper.load
// BOXES: hopper.report {{.*}}, %[[ID]], {{.*}} reason 5
// BOXES: hopper.acquire %[[K]]
// BOXES: hopper.expect %[[K]]
// BOXES: hopper.fill %[[K]][%{{.*}}] row %{{.*}} from {{.*}} keep
// BOXES-NOT: hopper.gather
// BOXES: hopper.fill %[[V]]

// Queries come first, then the page ids of the first 32 rows, one a lane.
// GATHER: hopper.fill
// GATHER: %[[FIRST:.*]] = hopper.load
// GATHER-NEXT: hopper.acquire %[[K]]
// GATHER-NOT: hopper.expect
// A chunk of 32 rows. Those of the next are looked up before this one's are needed.
// GATHER: scf.while ({{.*}} = %[[FIRST]], {{.*}})
// GATHER: ^bb0(%[[ROW0:.*]]: i32, %[[FOUND:.*]]: i32, %[[BROKEN:.*]]: i32):
// GATHER: %[[NEXT_ROW:.*]] = arith.addi %[[ROW0]], %c32
// GATHER: %[[NEXT:.*]] = hopper.load
// GATHER-NEXT: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[FOUND]]
// GATHER: arith.select %[[OUTSIDE]]
// A lane's row starts at page * stride + slot * stride + head * stride, below 0 where it has no page.
// GATHER: arith.remui %{{.*}}, %c12
// GATHER: %[[START:.*]] = arith.select %{{.*}}, %{{.*}}, %c-9223372036854775808
// GATHER: %[[LOW:.*]] = arith.trunci %[[START]]
// GATHER: %[[HIGH:.*]] = arith.trunci
// 16 lanes a row, four copies at once.
// GATHER: scf.while
// GATHER: %[[ROW:.*]] = arith.addi %[[ROW0]]
// GATHER-NEXT: hopper.shuffle %[[LOW]] from %[[ROW]]
// GATHER: hopper.shuffle %[[HIGH]] from %[[ROW]]
// GATHER: %[[PRESENT:.*]] = arith.cmpi sge
// GATHER: hopper.gather %[[K]][%{{.*}}] row %[[ROW]] unit %{{.*}} from {{.*}} if %[[PRESENT]]
// GATHER-COUNT-3: hopper.gather %[[K]]
// GATHER: scf.yield %[[NEXT_ROW]], %[[NEXT]], %{{.*}}
// What was wrong with a page is reported once a tile.
// GATHER: hopper.arrive_gathered %[[K]]
// GATHER: hopper.report {{.*}} reason 5
// GATHER: hopper.gather %[[V]]
// GATHER: hopper.arrive_gathered %[[V]]
// CHECK: consumer warpgroups 2 registers 224
// CHECK: hopper.contract {{.*}}, %[[K]]

// 40 columns are read as 48: six of eight lanes copy, the sixth writes zeros.
// D40: hopper.acquire
// D40: %[[UNIT:.*]] = arith.andi %{{.*}}, %c7
// D40: scf.while
// D40: arith.cmpi slt, %[[UNIT]], %c5
// D40: arith.cmpi slt, %[[UNIT]], %c6
// D40: scf.if
// D40-NEXT: hopper.gather {{.*}} unit %[[UNIT]]
!cache = !attn.paged_kv<2 heads, DIM x DIM, HALF, page PAGE>

func.func @f(%q: tensor<?x8xDIMxHALF>, %rows: tensor<?xi32>, %k: tensor<?xPAGEx2xDIMxHALF>, %v: tensor<?xPAGEx2xDIMxHALF>,
             %table: tensor<?x?xi32>, %lens: tensor<?xi32>) -> tensor<?x8xDIMxHALF>
    attributes {attn.bounds = #attn.bounds<batch 64, q_len 512, kv_len 8192>} {
  %cache = attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?xPAGEx2xDIMxHALF>, tensor<?xPAGEx2xDIMxHALF>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %cache rows(%rows) scale 0.0883 mask <causal>
    : tensor<?x8xDIMxHALF>, !cache, tensor<?xi32> -> tensor<?x8xDIMxHALF>
  return %o : tensor<?x8xDIMxHALF>
}
