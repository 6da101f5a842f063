// Kernels on rows: append, left-over row ops, merge. Work is drawn by ticket; nothing is written for padding.
// RUN: pagefold-opt %s --tile-to-host --canonicalize | FileCheck %s

!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>

// CHECK-LABEL: func.func @append_k1(
// CHECK-SAME: %[[X:arg0]]: memref<?x2x64xf32>, %{{.*}}, %[[PAGES:arg2]]: memref<?x16x2x64xbf16>, %[[TABLE:arg3]]: memref<?x?xi32>, %{{.*}}: memref<?xi32>, %{{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %[[TICKET:arg7]]: memref<1xi64>
// CHECK: memref.atomic_rmw addi %{{.*}}, %[[TICKET]]
// A row at a negative position is padding.
// CHECK: %[[REAL:.*]] = arith.cmpi sge, %[[POSITION:.*]], %c0 : index
// CHECK: scf.if %[[REAL]] {
// CHECK:   %[[COLUMN:.*]] = arith.divui %[[POSITION]], %c16
// CHECK:   %[[ID:.*]] = memref.load %[[TABLE]][%{{.*}}, %[[COLUMN]]]
// CHECK:   %[[PAGE:.*]] = arith.index_cast %[[ID]]
// CHECK:   %[[SLOT:.*]] = arith.remui %[[POSITION]], %c16
// CHECK:   arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK:   vector.store %{{.*}}, %[[PAGES]][%[[PAGE]], %[[SLOT]],
// CHECK: return
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

// A rope by given positions: they are clamped to the table, and padding passes through. The norm needs no call.
// CHECK-LABEL: func.func @rows_k0(
// CHECK-SAME: %{{.*}}, %[[COS:arg1]]: memref<?x32xf32>, %[[POSITIONS:arg2]]: memref<?xi64>
// CHECK: %[[GIVEN:.*]] = memref.load %[[POSITIONS]]
// CHECK: %[[P:.*]] = arith.index_cast %[[GIVEN]] : i64 to index
// CHECK: %[[CLAMPED:.*]] = arith.minsi %[[P]], %{{.*}} : index
// CHECK: arith.cmpi sge, %[[CLAMPED]], %c0
// CHECK: scf.if
// CHECK:   vector.load %[[COS]][%[[CLAMPED]],
// CHECK: vector.reduction <add>
// CHECK: math.sqrt
// CHECK: arith.negf %{{.*}} : vector<16xf32>
// CHECK: return
func.func @rows(%x: memref<?x2x64xf32>, %cos: memref<?x32xf32>, %positions: memref<?xi64>, %w: memref<64xf32>,
                %out: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.rows %x into %out {
  ^bb0(%r: !rows):
    %0 = tile.rope %r, %cos, %cos positions(%positions : memref<?xi64>) half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    %1 = tile.rms_norm %0, %w eps 1.0e-5 : !rows, memref<64xf32>
    %2 = tile.row_map %1 {
    ^bb0(%value: f32, %token: i32, %head: i32, %d: i32):
      %n = arith.negf %value : f32
      tile.yield %n : f32
    } : !rows
    tile.yield %2 : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}

// An empty side, weight 0, never enters, whatever its output holds (A06).
// CHECK-LABEL: func.func @merge_k0(
// CHECK: math.log
// CHECK: %[[USED:.*]] = arith.cmpf une, %{{.*}}, %cst{{.*}} : f32
// CHECK: %[[LANES:.*]] = vector.broadcast %[[USED]] : i1 to vector<16xi1>
// CHECK: arith.select %[[LANES]]
func.func @merge(%a: memref<?x2x64xf32>, %la: memref<?x2xf32>, %out: memref<?x2x64xf32>, %lse: memref<?x2xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.merge (%a, %la), (%a, %la) into %out, %lse : memref<?x2x64xf32>, memref<?x2xf32>, memref<?x2x64xf32>,
    memref<?x2xf32>, memref<?x2x64xf32>, memref<?x2xf32>
  return
}

// Into a cache with scales: over the scale of the row's head, and saturated, since f8E4M3FN has no infinities.
// CHECK-LABEL: func.func @scaled_k1(
// CHECK: memref.load %[[SCALES:arg5]][%{{.*}}] : memref<2xf32>
// CHECK: %[[LANES:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK: %[[X:.*]] = arith.divf %{{.*}}, %[[LANES]] : vector<16xf32>
// CHECK: arith.cmpf ogt, %[[X]], %{{.*}} : vector<16xf32>
// CHECK: arith.cmpf olt, %{{.*}} : vector<16xf32>
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf8E4M3FN>
// CHECK: vector.store %{{.*}}, %arg2[%{{.*}}] : memref<?x16x2x64xf8E4M3FN>, vector<16xf8E4M3FN>
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
