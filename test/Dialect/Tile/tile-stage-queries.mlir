// Queries that are changed as they are loaded get a kernel of rows, where that is all that keeps the pipeline away.
// RUN: pagefold-opt %s --split-input-file --attn-fuse --attn-to-tile --tile-online-softmax --tile-stage-queries | FileCheck %s
// RUN: pagefold-opt %s --split-input-file --attn-fuse --attn-to-tile --tile-online-softmax --tile-stage-queries --remarks-filter=tile-stage-queries --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK
// RUN: pagefold-opt %s --split-input-file --attn-fuse --attn-to-tile --tile-online-softmax --tile-stage-queries --tile-select-schedule=target=cuda | FileCheck %s --check-prefix=FORM
// RUN: pagefold-opt %s --split-input-file --attn-fuse --attn-to-tile --tile-online-softmax --tile-stage-queries=form=pipelined | FileCheck %s --check-prefix=PIPELINED

// The place is 4 x 8 tokens x 8 heads x 128 x 2 bytes. The scale stays with the load.
// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[Q:[^ ]*]]: memref<?x8x128xbf16
// CHECK: %[[BATCH:.*]] = tile.batch
// CHECK: %[[TOKENS:.*]] = memref.dim %[[Q]]
// CHECK: %[[STAGED:.*]] = tile.workspace(%[[TOKENS]]) bytes 65536 : memref<?x8x128xbf16>
// CHECK: tile.rows %[[Q]] into %[[STAGED]] of %[[BATCH]] {
// CHECK: ^bb0(%[[X:.*]]: !tile.tile<q x 128, f32>):
// CHECK:   %[[Y:.*]] = tile.rms_norm %[[X]]
// CHECK:   tile.yield %[[Y]]
// CHECK: tile.space
// CHECK: tile.load_q %[[STAGED]] at %{{.*}} scale 1.250000e-01 {
// CHECK-NEXT: ^bb0(%[[SAME:.*]]: !tile.tile<q x 128, f32>):
// CHECK-NEXT: tile.yield %[[SAME]]
// REMARK: [Passed] StageQueries | Category:tile-stage-queries | Function=norm | Remark="queries are staged: what changes them is a kernel of rows
// FORM-LABEL: func.func @norm
// FORM: schedule <pipelined,
func.func @norm(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %w: tensor<128xf32>, %rows: tensor<?xi32>)
    -> tensor<?x8x128xbf16> attributes {attn.bounds = #attn.bounds<batch 4, q_len 8, kv_len 4096>} {
  %n = attn.rms_norm %q, %w eps 1.0e-5 : tensor<?x8x128xbf16>, tensor<128xf32>
  %o = attn.attention %n, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

// The pipeline takes no f32: the region stays where one thread has the row.
// CHECK-LABEL: func.func @floats
// CHECK-NOT: tile.rows
// CHECK: tile.load_q %arg0
// CHECK: tile.rms_norm
// REMARK: [Missed] StageQueries | Category:tile-stage-queries | Function=floats | Reason="keys are neither bf16 nor f16", Remark="queries are not staged"
// FORM-LABEL: func.func @floats
// FORM: schedule <simt,
func.func @floats(%q: tensor<?x8x128xf32>, %k: tensor<?x2x128xf32>, %w: tensor<128xf32>, %rows: tensor<?xi32>)
    -> tensor<?x8x128xf32> attributes {attn.bounds = #attn.bounds<batch 4, q_len 8, kv_len 4096>} {
  %n = attn.rms_norm %q, %w eps 1.0e-5 : tensor<?x8x128xf32>, tensor<128xf32>
  %o = attn.attention %n, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xf32>, tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xf32>
  return %o : tensor<?x8x128xf32>
}

// -----

// Nothing to stage, and nothing to say.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: tile.workspace
// CHECK: tile.load_q %arg0
// REMARK-NOT: Function=plain
func.func @plain(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>)
    -> tensor<?x8x128xbf16> attributes {attn.bounds = #attn.bounds<batch 4, q_len 8, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

// At decode warps change the queries that they have loaded: four lanes share a row, each with two of every eight elements, so
// that half of 32 turned elements is a whole number of them.
// CHECK-LABEL: func.func @decode
// CHECK-NOT: tile.rows
// CHECK: tile.load_q %arg0
// CHECK: tile.rms_norm
// CHECK-NEXT: tile.rope
// REMARK: [Passed] StageQueries | Category:tile-stage-queries | Function=decode | Remark="queries need no staging: warps that stream keys change them as they load them"
// FORM-LABEL: func.func @decode
// FORM: schedule <streaming,
// PIPELINED-LABEL: func.func @decode
// PIPELINED: tile.rows
func.func @decode(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %w: tensor<128xf32>, %cos: tensor<?x16xf32>,
                  %p: tensor<?xi64>, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %n = attn.rms_norm %q, %w eps 1.0e-5 : tensor<?x8x128xbf16>, tensor<128xf32>
  %r = attn.rope %n, %cos, %cos positions(%p) half_split : tensor<?x8x128xbf16>, tensor<?x16xf32>, tensor<?xi64>
  %o = attn.attention %r, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

// Half of 24 turned elements is in other lanes.
// CHECK-LABEL: func.func @lanes
// CHECK: tile.rows
// CHECK: tile.rope
// REMARK: Function=lanes | Remark="queries are staged
// FORM-LABEL: func.func @lanes
// FORM: schedule <streaming,
func.func @lanes(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %cos: tensor<?x12xf32>, %p: tensor<?xi64>,
                 %rows: tensor<?xi32>) -> tensor<?x8x128xbf16> attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %r = attn.rope %q, %cos, %cos positions(%p) half_split : tensor<?x8x128xbf16>, tensor<?x12xf32>, tensor<?xi64>
  %o = attn.attention %r, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
