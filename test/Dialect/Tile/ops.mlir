// Every op and type: read, printed, read again, in the custom form and in the generic one.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s
// RUN: pagefold-opt %s --mlir-print-op-generic | pagefold-opt | FileCheck %s

!kv = !tile.kv<8 heads, 128 x 128, bf16, page 16>
!rows = !tile.tile<q x 128, f32>

// CHECK-LABEL: func.func private @types
// CHECK-SAME: !tile.batch, %{{.*}}: !tile.kv<8 heads, 128 x 128, bf16, page 16>, %{{.*}}: !tile.kv<2 heads, 192 x 128, f32>
// CHECK-SAME: !tile.mask, %{{.*}}: !tile.item, %{{.*}}: !tile.visits
// CHECK-SAME: !tile.tile<q x kv, f32>, %{{.*}}: !tile.tile<all x 64, f32>, %{{.*}}: !tile.state<128>
func.func private @types(%a: !tile.batch, %b: !kv, %c: !tile.kv<2 heads, 192 x 128, f32>, %d: !tile.mask,
                         %e: !tile.item, %f: !tile.visits, %g: !tile.tile<q x kv, f32>,
                         %h: !tile.tile<all x 64, f32>, %i: !tile.state<128>) {
  return
}

// CHECK-LABEL: func.func @padded_table
// CHECK: tile.paged %{{.*}}, %{{.*}} table(%{{.*}}) lens(%{{.*}}) : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>, memref<?x?xi32>, memref<?xi32> -> <8 heads, 128 x 128, bf16, page 16>
func.func @padded_table(%k: memref<?x16x8x128xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  %kv = tile.paged %k, %k table(%table) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  return
}

// K and V differ in dim, the pages are strided, the table is one list.
// CHECK-LABEL: func.func @one_list
// CHECK: tile.paged {{.*}} table(%{{.*}}) starts(%{{.*}}) lens(%{{.*}}) : memref<?x1x2x192xf16, strided<[?, ?, ?, 1], offset: ?>>, {{.*}}, memref<?xi32> starts memref<?xi32>, memref<?xi32>
func.func @one_list(%k: memref<?x1x2x192xf16, strided<[?, ?, ?, 1], offset: ?>>, %v: memref<?x1x2x128xf16>,
                    %table: memref<?xi32>, %starts: memref<?xi32>, %lens: memref<?xi32>) {
  %kv = tile.paged %k, %v table(%table) starts(%starts) lens(%lens)
    : memref<?x1x2x192xf16, strided<[?, ?, ?, 1], offset: ?>>, memref<?x1x2x128xf16>, memref<?xi32> starts memref<?xi32>,
      memref<?xi32> -> !tile.kv<2 heads, 192 x 128, f16, page 1>
  return
}

// CHECK-LABEL: func.func @scaled
// CHECK: tile.paged {{.*}} lens(%{{.*}}) scales(%{{.*}}, %{{.*}} : memref<2xf32, strided<[1], offset: ?>>, memref<2xf32>) : {{.*}} -> <2 heads, 64 x 64, f8E4M3FN, page 16>
func.func @scaled(%k: memref<?x16x2x64xf8E4M3FN>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                  %ks: memref<2xf32, strided<[1], offset: ?>>, %vs: memref<2xf32>) {
  %kv = tile.paged %k, %k table(%table) lens(%lens) scales(%ks, %vs : memref<2xf32, strided<[1], offset: ?>>, memref<2xf32>)
    : memref<?x16x2x64xf8E4M3FN>, memref<?x16x2x64xf8E4M3FN>, memref<?x?xi32>, memref<?xi32>
    -> !tile.kv<2 heads, 64 x 64, f8E4M3FN, page 16>
  return
}

// CHECK-LABEL: func.func @dense
// CHECK: %[[KV:.*]] = tile.dense %{{.*}}, %{{.*}} rows(%{{.*}}) : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> <2 heads, 64 x 64, f32>
// CHECK: tile.batch rows(%{{.*}}) of %[[KV]] tokens(%{{.*}}) : memref<?xi32>, <2 heads, 64 x 64, f32>, memref<?x2x64xf32>
// CHECK: tile.batch rows(%{{.*}}) of %[[KV]] tokens(%{{.*}}) positions(%{{.*}}) : memref<?xi32>, <2 heads, 64 x 64, f32>, memref<?x2x64xf32>, memref<?x32xf32>
func.func @dense(%k: memref<?x2x64xf32>, %rows: memref<?xi32>, %cos: memref<?x32xf32>) {
  %kv = tile.dense %k, %k rows(%rows)
    : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !tile.kv<2 heads, 64 x 64, f32>
  %b = tile.batch rows(%rows) of %kv tokens(%k) : memref<?xi32>, !tile.kv<2 heads, 64 x 64, f32>, memref<?x2x64xf32>
  %c = tile.batch rows(%rows) of %kv tokens(%k) positions(%cos)
    : memref<?xi32>, !tile.kv<2 heads, 64 x 64, f32>, memref<?x2x64xf32>, memref<?x32xf32>
  return
}

// CHECK-LABEL: func.func @masks
// CHECK: tile.mask <"k <= q + kv_len - q_len">
// CHECK: tile.mask {{.*}} symbols(%{{.*}}, %{{.*}} : i32, memref<?xi32>)
// CHECK: tile.mask {{.*}} row_values(%{{.*}} : memref<?xi32>)
// CHECK: tile.mask {{.*}} bitmap(%{{.*}}, %{{.*}} : memref<?xi8>, memref<?xi64>)
func.func @masks(%w: i32, %p: memref<?xi32>, %starts: memref<?xi32>, %bits: memref<?xi8>, %at: memref<?xi64>) {
  %a = tile.mask #attn.mask<causal>
  %b = tile.mask #attn.mask<"causal and window(w) or prefix(p) where w >= 1, p"> symbols(%w, %p : i32, memref<?xi32>)
  %c = tile.mask #attn.mask<"causal and k >= doc where doc per_row"> row_values(%starts : memref<?xi32>)
  %d = tile.mask #attn.mask<none> bitmap(%bits, %at : memref<?xi8>, memref<?xi64>)
  return
}

// CHECK-LABEL: func.func @rows
// CHECK: tile.rows %{{.*}} into %{{.*}} of %{{.*}} {
// CHECK: tile.rope %{{.*}}, %{{.*}}, %{{.*}} half_split : <q x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
// CHECK: tile.rope %{{.*}}, %{{.*}}, %{{.*}} positions(%{{.*}} : memref<?xi64>) interleaved
// CHECK: tile.rms_norm %{{.*}}, %{{.*}} eps 1.000000e-05 : <q x 128, f32>, memref<128xf32>
// CHECK: tile.row_map
// CHECK: tile.lookup %{{.*}}[%{{.*}}, %{{.*}}] : memref<8x128xbf16> -> f32
// CHECK: tile.lookup %{{.*}}[%{{.*}}] : memref<?xi32> -> i32
// CHECK: tile.yield
// CHECK: } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
func.func @rows(%x: memref<?x8x128xbf16>, %y: memref<?x8x128xbf16>, %batch: !tile.batch, %cos: memref<?x64xf32>,
                %positions: memref<?xi64>, %w: memref<128xf32>, %table: memref<8x128xbf16>, %shift: memref<?xi32>) {
  tile.rows %x into %y of %batch {
  ^bb0(%r: !rows):
    %0 = tile.rope %r, %cos, %cos half_split : !rows, memref<?x64xf32>, memref<?x64xf32>
    %1 = tile.rope %0, %cos, %cos positions(%positions : memref<?xi64>) interleaved
      : !rows, memref<?x64xf32>, memref<?x64xf32>
    %2 = tile.rms_norm %1, %w eps 1.0e-5 : !rows, memref<128xf32>
    %3 = tile.row_map %2 {
    ^bb0(%value: f32, %token: i32, %head: i32, %d: i32):
      %t = tile.lookup %table[%head, %d] : memref<8x128xbf16> -> f32
      %s = tile.lookup %shift[%token] : memref<?xi32> -> i32
      %u = arith.sitofp %s : i32 to f32
      %v = arith.mulf %value, %t : f32
      %z = arith.addf %v, %u : f32
      tile.yield %z : f32
    } : !rows
    tile.yield %3 : !rows
  } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
  tile.rows %x into %y {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
  return
}

// CHECK-LABEL: func.func @append
// CHECK: tile.append %{{.*}}, %{{.*}} to %{{.*}} of %{{.*}} key {
// CHECK: } value {
// CHECK: } : memref<?x8x128xf32>, memref<?x8x128xbf16>, <8 heads, 128 x 128, bf16, page 16>
func.func @append(%k: memref<?x8x128xf32>, %v: memref<?x8x128xbf16>, %kv: !kv, %batch: !tile.batch) {
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x8x128xf32>, memref<?x8x128xbf16>, !kv
  return
}

// CHECK-LABEL: func.func @together
// CHECK: tile.together {
// CHECK:   tile.append
// CHECK:   tile.rows
// CHECK: }
func.func @together(%x: memref<?x8x128xbf16>, %y: memref<?x8x128xbf16>, %kv: !kv, %batch: !tile.batch) {
  tile.together {
    tile.append %x, %x to %kv of %batch key {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } value {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } : memref<?x8x128xbf16>, memref<?x8x128xbf16>, !kv
    tile.rows %x into %y of %batch {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
  }
  return
}

// The standard form, without a schedule.
// CHECK-LABEL: func.func @standard_form
// CHECK: tile.space of %{{.*}}, %{{.*}} group 4 {
// CHECK: ^bb0(%[[ITEM:.*]]: !tile.item):
// CHECK: tile.load_q %{{.*}} at %[[ITEM]] scale 1.250000e-01 {
// CHECK: tile.load_k %{{.*}} at %[[ITEM]] : <8 heads, 128 x 128, bf16, page 16> -> <all x 128, f32>
// CHECK: tile.contract %{{.*}}, %{{.*}} : <q x 128, f32>, <all x 128, f32> -> <q x all, f32>
// CHECK: tile.map %{{.*}} at %[[ITEM]] mask(%{{.*}}) {
// CHECK: %{{.*}}, %{{.*}} = tile.softmax %{{.*}} : <q x all, f32> -> <128>
// CHECK: tile.load_v
// CHECK: tile.accumulate %{{.*}}, %{{.*}} into %{{.*}} : <q x all, f32>, <all x 128, f32>, <128>
// CHECK: tile.finish %{{.*}} at %[[ITEM]] into %{{.*}} lse(%{{.*}} : memref<?x32xf32>) sinks(%{{.*}} : memref<32xf32>) {
func.func @standard_form(%batch: !tile.batch, %kv: !kv, %q: memref<?x32x128xbf16>, %out: memref<?x32x128xbf16>,
                         %lse: memref<?x32xf32>, %sinks: memref<32xf32>, %mask: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x32x128xbf16> -> !rows
    %k = tile.load_k %kv at %item : !kv -> !tile.tile<all x 128, f32>
    %s = tile.contract %qt, %k : !rows, !tile.tile<all x 128, f32> -> !tile.tile<q x all, f32>
    %s1 = tile.map %s at %item mask(%mask) {
    ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
      %y = arith.negf %x : f32
      tile.yield %y : f32
    } : !tile.tile<q x all, f32>
    %p, %st = tile.softmax %s1 : !tile.tile<q x all, f32> -> !tile.state<128>
    %v = tile.load_v %kv at %item : !kv -> !tile.tile<all x 128, f32>
    %acc = tile.accumulate %p, %v into %st : !tile.tile<q x all, f32>, !tile.tile<all x 128, f32>, !tile.state<128>
    tile.finish %acc at %item into %out lse(%lse : memref<?x32xf32>) sinks(%sinks : memref<32xf32>) {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<128>, memref<?x32x128xbf16>
  } : !kv
  return
}

// The fold, split.
// CHECK-LABEL: func.func @fold
// CHECK: tile.space of %{{.*}}, %{{.*}} group 1 schedule <dot, q_tile 4, kv_tile 256, splits 2> {
// CHECK: %[[VISITS:.*]] = tile.visits %[[ITEM:.*]] mask(%[[MASK:.*]])
// CHECK: %[[INIT:.*]] = tile.init : <128>
// CHECK: tile.fold %[[ITEM]] over %[[VISITS]] init(%[[INIT]]) {
// CHECK: ^bb0(%[[T:.*]]: index, %[[PARTIAL:.*]]: i1, %{{.*}}: !tile.state<128>):
// CHECK: tile.load_k %{{.*}} at %[[ITEM]][%[[T]]]
// CHECK: tile.map %{{.*}} at %[[ITEM]][%[[T]]] mask(%[[MASK]]) partial(%[[PARTIAL]]) {
// CHECK: tile.softmax_step %{{.*}}, %{{.*}} : <128>, <q x kv, f32>
// CHECK: } : <128>
// CHECK: tile.store_partial %{{.*}} at %[[ITEM]] into %[[P:.*]] : <128>, memref<2x?x8x130xf32>
// CHECK: tile.merge_splits %[[P]] of %{{.*}} into %{{.*}} {
func.func @fold(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x128xbf16>, %out: memref<?x8x128xbf16>,
                %mask: !tile.mask, %tokens: index) {
  %partials = tile.workspace(%tokens) bytes 33280 : memref<2x?x8x130xf32>
  tile.space of %batch, %kv group 1 schedule <dot, q_tile 4, kv_tile 256, splits 2> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 1.0 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x128xbf16> -> !rows
    %visits = tile.visits %item mask(%mask)
    %st0 = tile.init : !tile.state<128>
    %st = tile.fold %item over %visits init(%st0) {
    ^bb0(%t: index, %partial: i1, %state: !tile.state<128>):
      %k = tile.load_k %kv at %item[%t] : !kv -> !tile.tile<kv x 128, f32>
      %s = tile.contract %qt, %k : !rows, !tile.tile<kv x 128, f32> -> !tile.tile<q x kv, f32>
      %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !tile.tile<q x kv, f32>
      %st1, %p = tile.softmax_step %state, %s1 : !tile.state<128>, !tile.tile<q x kv, f32>
      %v = tile.load_v %kv at %item[%t] : !kv -> !tile.tile<kv x 128, f32>
      %st2 = tile.accumulate %p, %v into %st1 : !tile.tile<q x kv, f32>, !tile.tile<kv x 128, f32>, !tile.state<128>
      tile.yield %st2 : !tile.state<128>
    } : !tile.state<128>
    tile.store_partial %st at %item into %partials : !tile.state<128>, memref<2x?x8x130xf32>
  } : !kv
  tile.merge_splits %partials of %batch into %out {
  ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
    tile.yield %o : f32
  } : memref<2x?x8x130xf32>, memref<?x8x128xbf16>
  return
}

// CHECK-LABEL: func.func @merge
// CHECK: tile.merge(%{{.*}}, %{{.*}}), (%{{.*}}, %{{.*}}) into %{{.*}}, %{{.*}} :
func.func @merge(%a: memref<?x8x64xbf16>, %la: memref<?x8xf32>, %out: memref<?x8x64xbf16>, %lse: memref<?x8xf32>) {
  tile.merge (%a, %la), (%a, %la) into %out, %lse : memref<?x8x64xbf16>, memref<?x8xf32>,
    memref<?x8x64xbf16>, memref<?x8xf32>, memref<?x8x64xbf16>, memref<?x8xf32>
  return
}

// CHECK: tile.plan @decode {
tile.plan @decode {
  args = [{name = "q", dtype = "f32", shape = ["tokens", 8, 64, unit], access = "read"}],
  bounds = {batch = 4, kv_len = 128, q_len = 1, tokens = 4}, error_word = 0, scratch = 4096, workspace = 320,
  workspace_head = 256, kernels = [{symbol = "decode_k0", op = "tile.batch", workers = "one"}]
}

// CHECK: tile.plan @short_pages {{.*}}{arg = 0 : i64, box_rows = 16 : i64, element = "bf16", kind = "page_map", panels = 2 : i64}, {arg = 0 : i64, kind = "page_step", of = "head_panel", panels = 2 : i64}
tile.plan @short_pages {
  args = [{name = "k_pages", dtype = "bf16", shape = [unit, 16, 8, 128], access = "read"}], bounds = {},
  workspace = 320, workspace_head = 256,
  kernels = [{symbol = "short_pages_k0", threads = 384, shared = 1024, ctas_per_sm = 1, params = [
    {kind = "page_map", arg = 0, element = "bf16", panels = 2, box_rows = 16},
    {kind = "page_step", arg = 0, panels = 2, of = "head_panel"}, {kind = "page_step", arg = 0, panels = 2, of = "page"},
    {kind = "page_step", arg = 0, panels = 2, of = "head_page"}, {kind = "constant", bits = 7}]}]
}

// CHECK: tile.plan @prefill {{.*}}params = [{arg = 0 : i64, box = [64, 128], dims = [{extent = 64 : i64}, {extent_of = 0 : i64, stride_of = 0 : i64}], element = "bf16", kind = "map"}
tile.plan @prefill {
  args = [{name = "q", dtype = "bf16", shape = ["tokens", 64], access = "read"}], bounds = {tokens = 4},
  workspace = 320, workspace_head = 256, init = [{offset = 256, size = 64, byte = 255}],
  kernels = [{symbol = "prefill_k0", threads = 384, shared = 1024, ctas_per_sm = 1, params = [
    {kind = "map", arg = 0, element = "bf16", box = [64, 128], dims = [{extent = 64}, {extent_of = 0, stride_of = 0}]},
    {kind = "error_word"}, {kind = "frame"}]}]
}
