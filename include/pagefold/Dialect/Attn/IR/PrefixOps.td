//===- PrefixOps.td - shared prefixes in the attn dialect ---*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their C++ stands in PrefixOps.h, beside Attn.h: few files know of prefixes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_PREFIXOPS
#define PAGEFOLD_DIALECT_ATTN_IR_PREFIXOPS

include "pagefold/Dialect/Attn/IR/AttnOps.td"

def Attn_SharedPrefixOp : Attn_Op<"shared_prefix", [Pure, AllTypesMatch<["cache", "result"]>]> {
  let summary = "Says that the first keys of all requests are the same pages";
  let description = [{
    The result is the cache. `length`, read on the device, promises of every request that has rows in this step and
    keys: its first `length` keys come before these rows (`length <= lens[r] - N`), and lie in the same pages as those
    of all others. 0 promises nothing. Whole pages are shared: what `length` has beyond them is of no use.

    It changes no result. `attn-cascade` reads the shared keys once for the whole batch where that pays, which
    `expected`, the length to count with, lets it judge (else half of the declared `kv_len`). A promise that does not
    hold is reported as an error of the request, and no result relies on it: what is taken for shared is compared.

    ```mlir
    %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
    ```

    Constraints:
    * C1: `length` has one element.
    * C2: expected is at least 1.
  }];
  let arguments = (ins Attn_PagedKVType:$cache, Attn_Rows:$length, OptionalAttr<I64Attr>:$expected);
  let results = (outs Attn_PagedKVType:$result);
  let assemblyFormat = [{
    $cache `,` $length (`expected` $expected^)? attr-dict `:` qualified(type($cache)) `,` type($length)
  }];
  let hasVerifier = 1;
}

def Attn_CutPrefixOp : Attn_Op<"cut_prefix", [Pure, AllTypesMatch<["cache", "shared", "rest"]>]> {
  let summary = "Cuts a cache into the keys that all requests share, and the rest";
  let description = [{
    With `c` the greatest multiple of the page size that is at most `length` and for which every request with rows
    has `c <= lens[r] - N` and the same first `c / S` pages (0 where there is none):

    ```
    shared   a cache of one request: the first c keys
    all      its row offsets: [0, end of the last request's rows]
    rest     a cache of the same requests: key k of request r is its key c + k, its length lens[r] - c;
             requests without rows have no keys
    ```

    Only the page table and the lengths are new: pages are those of `cache`. A request for which `length` is too much,
    or whose pages differ before it, is reported as an error; the cut is then where the pages still are the same.
    `tokens` is a tensor of the batch's tokens, which bounds the rows.

    ```mlir
    %shared, %all, %rest = attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
      : !cache, tensor<1xi32>, tensor<?xi32>, tensor<?x32x128xbf16> -> tensor<2xi32>
    ```

    Constraints:
    * C1: `length` has one element, `all` two.
    * C2: what is cut is only read: no append takes `shared` or `rest`, and an append to `cache` uses them up too.
  }];
  let arguments = (ins Attn_PagedKVType:$cache, Attn_Rows:$length, Attn_Rows:$rows, Attn_Tokens:$tokens);
  let results = (outs Attn_PagedKVType:$shared, Attn_Rows:$all, Attn_PagedKVType:$rest);
  let assemblyFormat = [{
    $cache `,` $length `rows` `(` $rows `)` `tokens` `(` $tokens `)` attr-dict
    `:` qualified(type($cache)) `,` type($length) `,` type($rows) `,` type($tokens) `->` type($all)
  }];
  let hasVerifier = 1;
}

#endif // PAGEFOLD_DIALECT_ATTN_IR_PREFIXOPS
