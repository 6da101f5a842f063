// Kernels of rows that need nothing of each other become one.
// RUN: pagefold-opt %s --split-input-file --tile-join-rows | FileCheck %s
// RUN: pagefold-opt %s --split-input-file --tile-join-rows --remarks-filter=tile-join-rows --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

// An append and the queries' kernel, whose place in the workspace is defined between them.
// CHECK-LABEL: func.func @layer
// CHECK: %[[PLACE:.*]] = tile.workspace
// CHECK-NEXT: tile.together {
// CHECK-NEXT: tile.append
// CHECK: tile.rows %{{.*}} into %[[PLACE]]
// CHECK-NOT: tile.together
// REMARK: [Passed] JoinRows | Category:tile-join-rows | Function=layer | Remark="2 kernels of rows are one launch"
!kv = !tile.kv<8 heads, 128 x 128, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
func.func @layer(%q: memref<?x32x128xbf16>, %x: memref<?x8x128xbf16>, %r: memref<?xi32>, %pages: memref<?x16x8x128xbf16>,
                 %table: memref<?x?xi32>, %lens: memref<?xi32>, %cos: memref<?x64xf32>) {
  %kv = tile.paged %pages, %pages table(%table) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x8x128xbf16>
  tile.append %x, %x to %kv of %batch key {
  ^bb0(%t: !rows):
    %y = tile.rope %t, %cos, %cos half_split : !rows, memref<?x64xf32>, memref<?x64xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%t: !rows):
    tile.yield %t : !rows
  } : memref<?x8x128xbf16>, memref<?x8x128xbf16>, !kv
  %zero = arith.constant 0 : index
  %tokens = memref.dim %q, %zero : memref<?x32x128xbf16>
  %place = tile.workspace(%tokens) bytes 8192 : memref<?x32x128xbf16>
  tile.rows %q into %place of %batch {
  ^bb0(%t: !rows):
    %y = tile.rope %t, %cos, %cos half_split : !rows, memref<?x64xf32>, memref<?x64xf32>
    tile.yield %y : !rows
  } : memref<?x32x128xbf16>, memref<?x32x128xbf16>
  return
}

// -----

// The second reads, through a view, what the first writes; the third needs nothing of the second.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: tile.rows %arg0 into %arg1
// CHECK: memref.expand_shape
// CHECK: tile.together {
// CHECK-NEXT: tile.rows
// CHECK: tile.rows %arg0 into %arg3
// REMARK: Function=chain | Remark="2 kernels of rows are one launch"
!rows = !tile.tile<q x 64, f32>
!half = !tile.tile<q x 32, f32>
func.func @chain(%x: memref<?x2x64xf32>, %y: memref<?x2x64xf32>, %z: memref<?x4x32xf32>, %w: memref<?x2x64xf32>) {
  tile.rows %x into %y {
  ^bb0(%t: !rows):
    tile.yield %t : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  %flat = memref.collapse_shape %y [[0], [1, 2]] : memref<?x2x64xf32> into memref<?x128xf32>
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?x2x64xf32>
  %view = memref.expand_shape %flat [[0], [1, 2]] output_shape [%n, 4, 32] : memref<?x128xf32> into memref<?x4x32xf32>
  tile.rows %view into %z {
  ^bb0(%t: !half):
    tile.yield %t : !half
  } : memref<?x4x32xf32>, memref<?x4x32xf32>
  tile.rows %x into %w {
  ^bb0(%t: !rows):
    tile.yield %t : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}

// -----

// What lies between them writes.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: tile.together
// REMARK-NOT: Function=apart
!rows = !tile.tile<q x 64, f32>
func.func @apart(%x: memref<?x2x64xf32>, %la: memref<?x2xf32>, %y: memref<?x2x64xf32>, %z: memref<?x2x64xf32>) {
  tile.rows %x into %y {
  ^bb0(%t: !rows):
    tile.yield %t : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  tile.merge (%x, %la), (%x, %la) into %z, %la : memref<?x2x64xf32>, memref<?x2xf32>, memref<?x2x64xf32>,
    memref<?x2xf32>, memref<?x2x64xf32>, memref<?x2xf32>
  tile.rows %x into %z {
  ^bb0(%t: !rows):
    tile.yield %t : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}
