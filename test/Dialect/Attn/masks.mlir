// The mask in its spellings: bare in the op's clause, in quotes or as one word in the attribute.
// docs/masks.md lists them; what they mean is tested with MaskSets.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s
// RUN: pagefold-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: pagefold-opt %s --mlir-print-op-generic | pagefold-opt | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// Without a mask every key is visible, and nothing is printed.
// CHECK-LABEL: func.func @none
// CHECK: attn.attention {{.*}} scale 1.000000e+00 : tensor
// CHECK: attn.attention {{.*}} scale 1.000000e+00 : tensor
// GENERIC-LABEL: sym_name = "none"
func.func @none(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> (!q, !q) {
  %a = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  %b = attn.attention %q, %cache rows(%rows) scale 1.0 mask <none> : !q, !cache, tensor<?xi32> -> !q
  return %a, %b : !q, !q
}

// CHECK-LABEL: func.func @constants
// CHECK: mask <k <= q + kv_len - q_len> :
// CHECK: mask <k <= q + kv_len - q_len and k >= q + kv_len - q_len - 4095> :
// CHECK: mask <k <= q + kv_len - q_len and k >= q + kv_len - q_len - 4095> :
// GENERIC: mask = #attn.mask<"k <= q + kv_len - q_len">
// GENERIC: mask = #attn.mask<"k <= q + kv_len - q_len and k >= q + kv_len - q_len - 4095">
func.func @constants(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> (!q, !q, !q) {
  %a = attn.attention %q, %cache rows(%rows) scale 1.0 mask <causal> : !q, !cache, tensor<?xi32> -> !q
  %b = attn.attention %q, %cache rows(%rows) scale 1.0 mask <causal and window(4096)> : !q, !cache, tensor<?xi32> -> !q
  %c = attn.attention %q, %cache rows(%rows) scale 1.0 mask <"window(4096)"> : !q, !cache, tensor<?xi32> -> !q
  return %a, %b, %c : !q, !q, !q
}

// A symbol is a number for the call, or one a request.
// CHECK-LABEL: func.func @symbols
// CHECK: mask <{{.*}} where w >= 1> symbols(%{{.*}} : i32) :
// CHECK: mask <{{.*}} where s >= 0, w >= 1> symbols(%{{.*}} : tensor<?xi32>, %{{.*}} : i32) :
func.func @symbols(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %w: i32, %s: tensor<?xi32>) -> (!q, !q) {
  %a = attn.attention %q, %cache rows(%rows) scale 1.0 mask <window(w) where w >= 1> symbols(%w : i32)
    : !q, !cache, tensor<?xi32> -> !q
  %b = attn.attention %q, %cache rows(%rows) scale 1.0 mask <sink_window(s, w) where s >= 0, w >= 1>
    symbols(%s : tensor<?xi32>, %w : i32) : !q, !cache, tensor<?xi32> -> !q
  return %a, %b : !q, !q
}

// A union of two sets.
// CHECK-LABEL: func.func @union
// CHECK: mask <{{.*}} or {{.*}}> :
func.func @union(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> !q {
  %a = attn.attention %q, %cache rows(%rows) scale 1.0 mask <causal or prefix(64)> : !q, !cache, tensor<?xi32> -> !q
  return %a : !q
}

// Documents packed into one request: each row knows where its document starts.
// CHECK-LABEL: func.func @row_values
// CHECK: mask <{{.*}}doc_start{{.*}} where doc_start per_row> row_values(%{{.*}} : tensor<?xi32>) :
func.func @row_values(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %starts: tensor<?xi32>) -> !q {
  %a = attn.attention %q, %cache rows(%rows) scale 1.0
    mask <causal and k >= doc_start where doc_start per_row> row_values(%starts : tensor<?xi32>)
    : !q, !cache, tensor<?xi32> -> !q
  return %a : !q
}
