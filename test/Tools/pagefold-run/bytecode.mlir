// Bytecode holds no names of values, unless the graph gives its arguments some.
// RUN: pagefold-opt %s --emit-bytecode -o %t.mlirbc
// RUN: pagefold-run %t.mlirbc --inputs 'lens=3,9 query=0' --check | FileCheck %s
// CHECK: check out0: ok
func.func @f(%arg0: tensor<?x2x8xf32> {pagefold.name = "query"}, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>,
             %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> tensor<?x2x8xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 4, kv_len 64>} {
  %o = attn.attention %arg0, %k, %v rows(%rows) kv_rows(%kv_rows) scale 1.0
    : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x2x8xf32>
  return %o : tensor<?x2x8xf32>
}
