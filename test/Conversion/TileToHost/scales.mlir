// A cache with scales: the keys' scale is a factor of the query, the values' of what has been accumulated, once an item.
// RUN: pagefold-opt %s --pagefold-host="form=dot" | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: pagefold-opt %s --pagefold-host="form=outer" | FileCheck %s --check-prefixes=CHECK,OUTER
// RUN: pagefold-opt %s --pagefold-host="splits=3" | FileCheck %s --check-prefix=SPLIT
// RUN: pagefold-opt %s --pagefold-host="online-softmax=false" | FileCheck %s --check-prefix=CHECK

!cache = !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>

// CHECK-LABEL: func.func @f_k1(
// CHECK-SAME: %[[KS:arg6]]: memref<2xf32, strided<[1], offset: ?>>, %[[VS:arg7]]: memref<2xf32
// CHECK: %[[K:.*]] = memref.load %[[KS]][%[[HEAD:.*]]]
// CHECK: %[[SCALE:.*]] = arith.mulf %[[K]], %{{.*}} : f32
// The form decides how the query lies.
// DOT: vector.broadcast %[[SCALE]] : f32 to vector<16xf32>
// OUTER: arith.mulf %{{.*}}, %[[SCALE]] : f32
// Elements are widened, and nothing more, in the loops over keys.
// DOT: %[[ROW:.*]] = vector.load %{{.*}} : memref<?x16x2x64xf8E4M3FN
// DOT: %[[WIDE:.*]] = arith.extf %[[ROW]] : vector<16xf8E4M3FN> to vector<16xf32>
// DOT: math.fma %[[WIDE]],
// OUTER: %[[ROW:.*]] = vector.load %{{.*}} : memref<?x16x2x64xf8E4M3FN
// OUTER: %[[WIDE:.*]] = arith.extf %[[ROW]] : vector<16xf8E4M3FN> to vector<16xf32>
// OUTER: vector.store %[[WIDE]], %{{.*}} : memref<{{.*}}x64xf32>
// CHECK: memref.load %[[VS]][%[[HEAD]]]
// CHECK: arith.divf
// CHECK-NOT: memref.load %[[KS]]
// CHECK-NOT: memref.load %[[VS]]
// CHECK: tile.plan @f

// A part is stored as what it stands for: parts of any scales merge.
// SPLIT-LABEL: func.func @f_k1(
// SPLIT: memref.load %arg7[%{{.*}}]
// SPLIT-LABEL: func.func @f_k2(
// SPLIT-NOT: memref.load %arg6
// SPLIT-NOT: memref.load %arg7
// SPLIT: return
func.func @f(%q: tensor<?x4x64xbf16>, %rows: tensor<?xi32>, %cache: !cache) -> tensor<?x4x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal>
    : tensor<?x4x64xbf16>, !cache, tensor<?xi32> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}
