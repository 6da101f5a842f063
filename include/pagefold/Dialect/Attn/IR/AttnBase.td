//===- AttnBase.td - the attn dialect, its types and attributes -*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_ATTNBASE
#define PAGEFOLD_DIALECT_ATTN_IR_ATTNBASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::pagefold::attn";
  let summary = "What attention computes, on tensors and paged caches";
  let description = [{
    Level 1. A graph of this dialect says *what* is computed: attention over dense or paged keys and
    values, and the small operations around it. It knows nothing of tiles or targets.

    **Ragged batches.** Tokens of all requests lie one after another: a query is
    `[tokens, heads, head_dim]`, and `rows : tensor<batch+1 x i32>` holds the offsets, so that request
    `r` owns the rows `rows[r] .. rows[r+1]`. A dense batch is the special case of equal distances.

    **Lengths and positions.** `lens[r]` counts the tokens that request `r` has in its cache *once this
    step's append is done*. With `n = rows[r+1] - rows[r]` new tokens, row `i` of the request stands at
    position `lens[r] - n + i` (bottom-right alignment). That one formula places rows for `attn.rope`,
    `attn.append` and every mask. A row whose position is negative (padding) writes nothing and sees nothing.

    **Shape letters.** T tokens, B requests, HQ query heads, HK KV heads, G = HQ / HK the group, DK head
    dim of queries and keys, DV head dim of values, P pages, S tokens in a page, N new tokens of a
    request, L its length.

    **Declared maxima.** The function attribute `attn.bounds = #attn.bounds<...>` bounds grid and
    workspace of everything compiled from the function.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

class Attn_Type<string name, string typeMnemonic> : TypeDef<Attn_Dialect, name> {
  let mnemonic = typeMnemonic;
}
class Attn_Attr<string name, string attrMnemonic> : AttrDef<Attn_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Attn_PagedKVType : Attn_Type<"PagedKV", "paged_kv"> {
  let summary = "A KV cache in pages";
  let description = [{
    The cache of a batch: pages of `page` tokens, each holding K rows of `k_dim` and V rows of `v_dim`
    elements for every KV head; a page table; and lengths. Strides are run-time values: any order of
    page, token and head, and K and V as views of one allocation; only the innermost dimension is
    contiguous. Values are linear: after an `attn.append` only its result may be used.

    ```mlir
    !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
    !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
    ```

    Elements of f8E4M3FN come with scales, a positive f32 for each KV head and for each of K and V: a stored `b`
    of head `g` stands for `b * scale[g]`.

    Constraints:
    * C1: 1 <= heads.
    * C2: k_dim and v_dim are multiples of 8 from 8 to 512.
    * C3: the element type is f32, f16, bf16 or f8E4M3FN. Other floats of 8 bits, such as f8E5M2, are refused.
    * C4: 1 <= page <= 1024.
  }];
  let parameters = (ins TypeParameter<"int64_t", "KV heads">:$heads,
                        TypeParameter<"int64_t", "elements of a K row">:$kDim,
                        TypeParameter<"int64_t", "elements of a V row">:$vDim,
                        TypeParameter<"::mlir::Type", "f32, f16, bf16 or f8E4M3FN">:$elementType,
                        TypeParameter<"int64_t", "tokens of a page">:$pageSize);
  let assemblyFormat = "`<` $heads `heads` `,` $kDim `x` $vDim `,` $elementType `,` `page` $pageSize `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What a head dim may be: a multiple of 8 from 8 to 512.
    static bool isHeadDim(int64_t dim) { return dim >= 8 && dim <= 512 && dim % 8 == 0; }
    /// Whether a cache may hold such elements.
    static bool isElement(::mlir::Type type);
    /// Whether such elements come with scales.
    static bool isScaled(::mlir::Type element) { return ::llvm::isa<::mlir::Float8E4M3FNType>(element); }
    bool isScaled() const { return isScaled(getElementType()); }
  }];
}

def Attn_MaskAttr : Attn_Attr<"Mask", "mask"> {
  let summary = "Which keys a query row sees: a union of integer sets";
  let description = [{
    Each set ranges over a query row `q` and a key `k`, with the symbols `q_len`, `kv_len` and further named
    ones that `attn.attention` binds to operands, and with row values: numbers that each query row has of
    its own, such as the start of its document. `q` is the row's index in its request, `k` the key's; key
    `k` is visible to row `q` iff some set holds `(q, k)` and `0 <= k < kv_len`.

    ```mlir
    #attn.mask<causal>
    #attn.mask<"causal and window(4096)">
    #attn.mask<"k <= q + kv_len - q_len and k > q + kv_len - q_len - w where w >= 1">
    #attn.mask<"causal and k >= doc_start where doc_start per_row">
    ```

    The quotes keep `<` and `>` from ending the attribute; the `mask` clause of `attn.attention` does without
    them. `docs/masks.md` lists the spellings and what can be expressed.

    Constraints:
    * C1: there is a set, and each ranges over `(q, row values..., k)` and the symbols, in pure affine form.
    * C2: names differ from each other and from the predefined ones; each symbol has a lower bound.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::IntegerSet", "the union">:$sets,
                        ArrayRefParameter<"::mlir::StringAttr", "names bound by `symbols`">:$symbols,
                        ArrayRefParameter<"int64_t", "one for each symbol">:$lowerBounds,
                        ArrayRefParameter<"::mlir::StringAttr", "names bound by `row_values`">:$rowValues);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static MaskAttr get(::mlir::MLIRContext *context, const ::pagefold::MaskSets &mask);
    /// The mask under which every key is visible.
    static MaskAttr getNone(::mlir::MLIRContext *context);
    /// The same as plain data, for analyses.
    ::pagefold::MaskSets getMaskSets() const;
    /// `<` mask `>` without the quotes: for ops, whose text may hold `<` and `>`.
    void printBare(::mlir::AsmPrinter &printer) const;
  }];
}

def Attn_BoundsAttr : Attn_Attr<"Bounds", "bounds"> {
  let summary = "The declared maxima of a graph";
  let description = [{
    Every compiled variant is right for any lengths up to these. They bound grids and workspaces and
    choose variants. `tokens` is the most tokens in a call, `batch x q_len` where it is left out.

    ```mlir
    func.func private @decode() attributes {attn.bounds = #attn.bounds<batch 64, q_len 1, kv_len 8192>}
    ```

    Constraints:
    * C1: batch, q_len, kv_len and tokens are from 1 to 2^31 - 1: indices are i32.
    * C2: tokens <= batch x q_len.

    A function may declare a list of them, smaller ones first, and is compiled for each (`attn-expand-bounds`); an entry that
    one before it holds is refused.

    ```mlir
    func.func private @layer() attributes {attn.bounds = [#attn.bounds<batch 64, q_len 1, kv_len 8192>,
                                                          #attn.bounds<batch 8, q_len 512, kv_len 8192>]}
    ```
  }];
  let parameters = (ins AttrParameter<"int64_t", "most requests">:$batch,
                        AttrParameter<"int64_t", "most query rows of a request">:$qLen,
                        AttrParameter<"int64_t", "most keys of a request">:$kvLen,
                        OptionalParameter<"int64_t", "most tokens of a call, 0 where left out">:$tokens);
  let assemblyFormat = "`<` `batch` $batch `,` `q_len` $qLen `,` `kv_len` $kvLen (`,` `tokens` $tokens^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The most tokens in a call.
    int64_t maxTokens() const { return getTokens() ? getTokens() : getBatch() * getQLen(); }
  }];
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

def Attn_Layout : I32EnumAttr<"Layout", "order of the dimensions of a page", [
    I32EnumAttrCase<"NHD", 0, "nhd">, I32EnumAttrCase<"HND", 1, "hnd">]> {
  let cppNamespace = "::pagefold::attn";
}
def Attn_Pairing : I32EnumAttr<"Pairing", "which two elements a rotation turns", [
    I32EnumAttrCase<"HalfSplit", 0, "half_split">, I32EnumAttrCase<"Interleaved", 1, "interleaved">]> {
  let cppNamespace = "::pagefold::attn";
}

#endif // PAGEFOLD_DIALECT_ATTN_IR_ATTNBASE
