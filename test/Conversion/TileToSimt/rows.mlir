// Kernels on rows: rows of all ops are numbered one behind the other, the first of a thread is its number in the grid, the
// next a grid further.
// RUN: pagefold-opt %s --tile-to-simt --canonicalize --cse | FileCheck %s
// RUN: pagefold-opt %s --tile-to-simt=row-lanes=32 --canonicalize --cse | FileCheck %s --check-prefix=LANES

!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>

// CHECK-LABEL: gpu.module @kernels
// CHECK: func.func @append_k0(
// CHECK-SAME: %[[X:arg0]]: memref<?x2x64xf32>, %[[ROWS:arg1]]: memref<?xi32>, %[[PAGES:arg2]]: memref<?x16x2x64xbf16>, %[[TABLE:arg3]]: memref<?x?xi32>, %[[LENS:arg4]]: memref<?xi32>, %{{.*}}: memref<?xi8>, %[[WORD:arg6]]: memref<4xi64>
// CHECK-SAME: nvvm.reqntid = array<i32: 128>
// CHECK: %[[CTA:.*]] = gpu.block_id x
// CHECK: %[[CTAS:.*]] = gpu.grid_dim x
// CHECK: %[[BASE:.*]] = arith.muli %[[CTA]], %c128
// CHECK: %[[LANE:.*]] = gpu.thread_id x
// CHECK: %[[THREAD:.*]] = arith.addi %[[BASE]], %[[LANE]]
// CHECK: %[[THREADS:.*]] = arith.muli %[[CTAS]], %c128
// Keys, then values, each from a whole warp on.
// CHECK: %[[TOKENS:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[COUNT:.*]] = arith.muli %[[TOKENS]], %c2
// CHECK: %[[ROUNDED:.*]] = arith.addi %[[COUNT]], %c31
// CHECK: %[[WARPS:.*]] = arith.divui %[[ROUNDED]], %c32
// CHECK: %[[WHOLE:.*]] = arith.muli %[[WARPS]], %c32
// CHECK: %[[BOTH:.*]] = arith.addi %[[WHOLE]], %[[WHOLE]]
// CHECK: scf.while (%{{.*}} = %[[THREAD]])
// CHECK: arith.cmpi slt, %{{.*}}, %[[BOTH]]
// CHECK: arith.cmpi ult, %{{.*}}, %[[COUNT]]
// The row is read before anything that it depends on.
// CHECK-COUNT-8: vector.load %[[X]]{{.*}} {alignment = 16 : i64} : memref<?x2x64xf32>, vector<8xf32>
// The request that has the token: the one of that number, of which all is asked for at once, or else by halves, three times for
// up to four requests.
// CHECK: memref.load %[[ROWS]]
// CHECK: memref.load %[[ROWS]]
// CHECK: memref.load %[[LENS]]
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %c0 to %c3
// CHECK: memref.load %[[ROWS]]
// CHECK: scf.yield
// CHECK: memref.load %[[LENS]]
// The page is looked at where it is used.
// CHECK: %[[ID:.*]] = memref.load %[[TABLE]]
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[ID]]
// CHECK: arith.cmpi slt, %[[PAGE]], %c0
// CHECK: arith.cmpi sge, %[[PAGE]], %{{.*}}
// CHECK: scf.if
// CHECK: memref.generic_atomic_rmw %[[WORD]][%c0]
// CHECK: } else {
// CHECK: vector.store %{{.*}}, %[[PAGES]][%[[PAGE]], {{.*}} {alignment = 16 : i64}
// CHECK: arith.addi %{{.*}}, %[[THREADS]]
// No batch kernel was before: each request is checked by a thread of its own.
// CHECK: scf.while (%{{.*}} = %[[THREAD]])
// CHECK: memref.load %[[LENS]]
// CHECK: memref.generic_atomic_rmw %[[WORD]][%c0]
// CHECK: arith.addi %{{.*}}, %[[THREADS]]
// CHECK-NOT: gpu.module

// Eight lanes share a row of 64: one piece each.
// LANES-LABEL: func.func @append_k0(
// LANES: arith.muli %{{.*}}, %c16
// LANES-COUNT-1: vector.load %arg0
// LANES-NOT: vector.load
// LANES: memref.load %arg1
func.func @append(%x: memref<?x2x64xf32>, %rows: memref<?xi32>, %pages: memref<?x16x2x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.paged %pages, %pages table(%table) lens(%lens)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  tile.append %x, %x to %kv of %batch key {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } value {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>, !kv
  return
}

// A row is that of one head of one token.
// CHECK-LABEL: func.func @rows_k0(
// CHECK: %[[HEAD:.*]] = arith.remui %{{.*}}, %c2
// CHECK: %[[TOKEN:.*]] = arith.divui %{{.*}}, %c2
// CHECK-COUNT-8: vector.load %arg0[%[[TOKEN]], %[[HEAD]], %{{.*}}] {alignment = 16 : i64} : memref<?x2x64xf32>, vector<8xf32>
// CHECK-COUNT-8: vector.store %{{.*}}, %arg1[%[[TOKEN]], %[[HEAD]], %{{.*}}] {alignment = 16 : i64} : memref<?x2x64xf32>, vector<8xf32>
func.func @rows(%x: memref<?x2x64xf32>, %out: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.rows %x into %out {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}

// A merge: eight threads a row, each of eight columns; one of them stores the log-sum-exp.
// CHECK-LABEL: func.func @merge_k0(
// CHECK: %[[PART:.*]] = arith.remui %{{.*}}, %c8
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c8
// CHECK: arith.remui %[[ROW]], %c2
// CHECK: arith.divui %[[ROW]], %c2
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK: math.log
// CHECK: memref.store
// CHECK: %[[COLUMN:.*]] = arith.muli %[[PART]], %c8
// CHECK: vector.store %{{.*}}, %arg2[%{{.*}}, %{{.*}}, %[[COLUMN]]] : memref<?x2x64xf32>, vector<8xf32>
func.func @merge(%a: memref<?x2x64xf32>, %la: memref<?x2xf32>, %out: memref<?x2x64xf32>, %lse: memref<?x2xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.merge (%a, %la), (%a, %la) into %out, %lse : memref<?x2x64xf32>, memref<?x2xf32>, memref<?x2x64xf32>,
    memref<?x2xf32>, memref<?x2x64xf32>, memref<?x2xf32>
  return
}

// Into a cache with scales: over the scale of the row's head, and saturated, since f8E4M3FN has no infinities.
// CHECK-LABEL: func.func @scaled_k0(
// CHECK: memref.load %arg5[%{{.*}}] : memref<2xf32>
// CHECK: %[[SCALE:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: %[[X:.*]] = arith.divf %{{.*}}, %[[SCALE]] : vector<8xf32>
// CHECK: arith.cmpf ogt, %[[X]], %{{.*}} : vector<8xf32>
// CHECK: arith.cmpf olt, %{{.*}} : vector<8xf32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf8E4M3FN>
// CHECK: vector.store %{{.*}}, %arg2[%{{.*}}] {alignment = 8 : i64} : memref<?x16x2x64xf8E4M3FN>, vector<8xf8E4M3FN>
!scaled = !tile.kv<2 heads, 64 x 64, f8E4M3FN, page 16>
func.func @scaled(%x: memref<?x2x64xf32>, %rows: memref<?xi32>, %pages: memref<?x16x2x64xf8E4M3FN>,
                  %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: memref<2xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.paged %pages, %pages table(%table) lens(%lens) scales(%scale, %scale : memref<2xf32>, memref<2xf32>)
    : memref<?x16x2x64xf8E4M3FN>, memref<?x16x2x64xf8E4M3FN>, memref<?x?xi32>, memref<?xi32> -> !scaled
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !scaled, memref<?x2x64xf32>
  tile.append %x, %x to %kv of %batch key {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } value {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>, !scaled
  return
}

// Rope and norm of a row of 128 whose lanes are eight: element j turns with element j + 64, two pieces of one lane; the sum of
// squares goes round the lanes. Both kernels are one.
// LANES-LABEL: func.func @together_k0(
// LANES: %[[PLACE:.*]] = memref.view %arg5[%c256]
// LANES-COUNT-2: vector.load %arg0{{.*}} : memref<?x4x128xbf16>, vector<8xbf16>
// LANES: vector.reduction <add>
// LANES: nvvm.shfl.sync bfly %[[GROUP:.*]], %{{.*}}, %c1_i32, %c31_i32 : f32 -> f32
// LANES: nvvm.shfl.sync bfly %[[GROUP]], %{{.*}}, %c2_i32, %c31_i32
// LANES: nvvm.shfl.sync bfly %[[GROUP]], %{{.*}}, %c4_i32, %c31_i32
// LANES-NOT: nvvm.shfl.sync
// LANES-COUNT-2: vector.load %arg3{{.*}} : memref<128xf32>, vector<8xf32>
// LANES: vector.load %arg2{{.*}} {alignment = 16 : i64} : memref<?x64xf32>, vector<8xf32>
// LANES-COUNT-2: vector.store %{{.*}}, %[[PLACE]]
// A neighbour's pair lies in one piece.
// LANES: vector.load %arg1{{.*}} : memref<?x4x128xbf16>, vector<8xbf16>
// LANES: vector.load %arg2{{.*}} : memref<?x64xf32>, vector<4xf32>
// LANES: vector.deinterleave
// LANES: vector.interleave
// LANES: tile.plan @together {{.*}} align = 16 : i64{{.*}}ctas = 48 : i64
func.func @together(%x: memref<?x4x128xbf16>, %y: memref<?x4x128xbf16>, %cos: memref<?x64xf32>, %w: memref<128xf32>, %at: memref<?xi32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>,
                tile.args = [{name = "x", dtype = "bf16", shape = ["tokens", 4, 128], access = "read"}]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4x128xbf16>
  %place = tile.workspace(%n) bytes 65536 : memref<?x4x128xbf16>
  tile.together {
    tile.rows %x into %place {
    ^bb0(%r: !tile.tile<q x 128, f32>):
      %normed = tile.rms_norm %r, %w eps 1.0e-5 : !tile.tile<q x 128, f32>, memref<128xf32>
      %turned = tile.rope %normed, %cos, %cos positions(%at : memref<?xi32>) half_split : !tile.tile<q x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
      tile.yield %turned : !tile.tile<q x 128, f32>
    } : memref<?x4x128xbf16>, memref<?x4x128xbf16>
    tile.rows %y into %y {
    ^bb0(%r: !tile.tile<q x 128, f32>):
      %turned = tile.rope %r, %cos, %cos positions(%at : memref<?xi32>) interleaved : !tile.tile<q x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
      tile.yield %turned : !tile.tile<q x 128, f32>
    } : memref<?x4x128xbf16>, memref<?x4x128xbf16>
  }
  return
}
