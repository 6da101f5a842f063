// Caches: pages in both layouts, a table in rows or in one list, a cache as an argument.
// RUN: pagefold-opt %s --attn-to-tile -split-input-file | FileCheck %s

// The pages of an append are written: readwrite. Tokens of the batch come from the query.
// CHECK-LABEL: func.func @nhd(
// CHECK-SAME: {access = "readwrite", dtype = "f16", name = "arg1", shape = ["cache.pages", 16, 2, 64]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "arg3", shape = ["batch", "arg3.width"]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "arg4", shape = ["batch"]}
// CHECK-NOT: memref.transpose
// CHECK: tile.paged %arg1, %arg2 table(%arg3) lens(%arg4) : {{.*}} -> <2 heads, 64 x 64, f16, page 16>
!cache = !attn.paged_kv<2 heads, 64 x 64, f16, page 16>
func.func @nhd(%q: tensor<?x2x64xf16>, %k: tensor<?x16x2x64xf16>, %v: tensor<?x16x2x64xf16>, %table: tensor<?x?xi32>,
               %lens: tensor<?xi32>, %rows: tensor<?xi32>) -> tensor<?x2x64xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %c = attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x2x64xf16>, tensor<?x16x2x64xf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %c rows(%rows) scale 0.125 : tensor<?x2x64xf16>, !cache, tensor<?xi32> -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}

// -----

// Head-major pages are the same memory with two dimensions exchanged: a view, no copy.
// CHECK-LABEL: func.func @hnd(
// CHECK-SAME: memref<?x2x16x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-SAME: name = "arg3", shape = [unit]
// CHECK-SAME: name = "arg4", shape = ["batch+1"]
// CHECK: %[[K:.*]] = memref.transpose %arg1 (d0, d1, d2, d3) -> (d0, d2, d1, d3) {{.*}} to memref<?x16x2x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK: %[[V:.*]] = memref.transpose %arg2
// CHECK: tile.paged %[[K]], %[[V]] table(%arg3) starts(%arg4) lens(%arg5)
!cache = !attn.paged_kv<2 heads, 64 x 64, f16, page 16>
func.func @hnd(%q: tensor<?x2x64xf16>, %k: tensor<?x2x16x64xf16>, %v: tensor<?x2x16x64xf16>, %table: tensor<?xi32>,
               %starts: tensor<?xi32>, %lens: tensor<?xi32>, %rows: tensor<?xi32>) -> tensor<?x2x64xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %c = attn.cache %k, %v table(%table) starts(%starts : tensor<?xi32>) lens(%lens) layout(hnd)
    : tensor<?x2x16x64xf16>, tensor<?x2x16x64xf16>, tensor<?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %c rows(%rows) scale 0.125 : tensor<?x2x64xf16>, !cache, tensor<?xi32> -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}

// -----

// A cache that is an argument becomes four; returned, it is written in place and no argument of its own.
// CHECK-LABEL: func.func @argument(
// CHECK-SAME: %[[Q:.*]]: memref<?x2x64xf16, {{.*}}>, %[[K:[^:]*]]: memref<?x16x2x64xf16, {{.*}}>, %[[V:[^:]*]]: memref<?x16x2x64xf16, {{.*}}>, %[[T:[^:]*]]: memref<?x?xi32, {{.*}}>, %[[L:[^:]*]]: memref<?xi32, {{.*}}>, %[[ROWS:[^:]*]]: memref<?xi32, {{.*}}>, %[[OUT:[^:]*]]: memref<?x2x64xf16, {{[^)]*}})
// CHECK-SAME: {access = "readwrite", dtype = "f16", name = "kv.k_pages", shape = ["kv.pages", 16, 2, 64]}
// CHECK-SAME: {access = "readwrite", dtype = "f16", name = "kv.v_pages", shape = ["kv.pages", 16, 2, 64]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "kv.table", shape = ["batch", "kv.width"]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "kv.lens", shape = ["batch"]}
// CHECK: %[[KV:.*]] = tile.paged %[[K]], %[[V]] table(%[[T]]) lens(%[[L]])
// CHECK: %[[BATCH:.*]] = tile.batch rows(%[[ROWS]]) of %[[KV]]
// CHECK: tile.append %[[Q]], %[[Q]] to %[[KV]] of %[[BATCH]]
// One batch serves both.
// CHECK-NOT: tile.batch
// CHECK: tile.space of %[[BATCH]], %[[KV]]
!cache = !attn.paged_kv<2 heads, 64 x 64, f16, page 16>
func.func @argument(%q: tensor<?x2x64xf16>, %cache: !cache {pagefold.name = "kv"}, %rows: tensor<?xi32>)
    -> (tensor<?x2x64xf16>, !cache) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %c = attn.append %q, %q to %cache rows(%rows) : tensor<?x2x64xf16>, tensor<?x2x64xf16>, !cache, tensor<?xi32>
  %o = attn.attention %q, %c rows(%rows) scale 0.125 : tensor<?x2x64xf16>, !cache, tensor<?xi32> -> tensor<?x2x64xf16>
  return %o, %c : tensor<?x2x64xf16>, !cache
}

// -----

// Pages of 8 bits bring their scales along, as the cache's operands or as two more arguments of it.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: {access = "readwrite", dtype = "f8e4m3", name = "arg1", shape = ["cache.pages", 16, 2, 64]}
// CHECK-SAME: {access = "read", dtype = "f32", name = "arg5", shape = [2]}
// CHECK: tile.paged %arg1, %arg2 table(%arg3) lens(%arg4) scales(%arg5, %arg6 : {{.*}}) : {{.*}} -> <2 heads, 64 x 64, f8E4M3FN, page 16>
!cache = !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>
!pages = tensor<?x16x2x64xf8E4M3FN>
func.func @scaled(%q: tensor<?x2x64xf16>, %k: !pages, %v: !pages, %table: tensor<?x?xi32>, %lens: tensor<?xi32>,
                  %ks: tensor<2xf32>, %vs: tensor<2xf32>, %rows: tensor<?xi32>) -> tensor<?x2x64xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %c = attn.cache %k, %v table(%table) lens(%lens) scales(%ks, %vs : tensor<2xf32>, tensor<2xf32>) layout(nhd)
    : !pages, !pages, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %c rows(%rows) scale 0.125 : tensor<?x2x64xf16>, !cache, tensor<?xi32> -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}

// CHECK-LABEL: func.func @scaled_argument(
// CHECK-SAME: {access = "readwrite", dtype = "f8e4m3", name = "kv.v_pages", shape = ["kv.pages", 16, 2, 64]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "kv.lens", shape = ["batch"]}
// CHECK-SAME: {access = "read", dtype = "f32", name = "kv.k_scale", shape = [2]}
// CHECK-SAME: {access = "read", dtype = "f32", name = "kv.v_scale", shape = [2]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "arg2", shape = ["batch+1"]}
// CHECK: tile.paged %arg1, %arg2 table(%arg3) lens(%arg4) scales(%arg5, %arg6 : {{.*}})
// CHECK: tile.batch rows(%arg7)
func.func @scaled_argument(%k: tensor<?x2x64xf32>, %cache: !cache {pagefold.name = "kv"}, %rows: tensor<?xi32>) -> !cache
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %c = attn.append %k, %k to %cache rows(%rows) : tensor<?x2x64xf32>, tensor<?x2x64xf32>, !cache, tensor<?xi32>
  return %c : !cache
}
