# ops.py - the operations of a graph
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One function for each op of the `attn` dialect. It appends a line to the graph of its operands."""

from __future__ import annotations

import math

from .expr import Region, float_literal
from .masks import PER_ROW, Mask, no_mask
from .values import (
    FLOATS,
    ScalarType,
    TensorType,
    Value,
    check_float,
    expect,
    expect_cache,
    expect_i32_vector,
    expect_tokens,
    fail,
)

PAIRINGS = ("half_split", "interleaved")
MAX_GROUP = 128


def rope(
    x: Value,
    cos: Value,
    sin: Value,
    *,
    rows: Value | None = None,
    cache: Value | None = None,
    positions: Value | None = None,
    pairing: str = "half_split",
) -> Value:
    """Rotary embedding of every head: positions from `rows` and `cache`, or from the tensor `positions`.

    `cos` and `sin` are f32 [positions, rotary_dim / 2] (see rope_tables); elements past rotary_dim pass
    through. "half_split" pairs x[j] with x[j + rotary_dim / 2] (NeoX, Llama in Hugging Face's layout),
    "interleaved" x[2j] with x[2j + 1] (GPT-J, Llama's own layout and GGUF's).
    """
    x, cos, sin = (
        expect_tokens(x, "x"),
        *(expect(t, n, rank=2, dtype=("f32",)) for t, n in ((cos, "cos"), (sin, "sin"))),
    )
    if pairing not in PAIRINGS:
        fail("pairing", f"one of {', '.join(PAIRINGS)}", repr(pairing))
    if cos.type != sin.type:
        fail("sin", f"the type of cos, {cos.type}", sin.type)
    if cos.type.shape[1] is not None and 2 * cos.type.shape[1] > x.type.shape[2]:
        fail("cos", f"at most half of the head dim {x.type.shape[2]} columns", cos.type.shape[1])
    if (positions is None) != (rows is not None and cache is not None):
        raise ValueError("rope: expects either rows and cache, or positions")
    if positions is None:
        rows, cache = expect_i32_vector(rows, "rows"), expect_cache(cache, "cache")
        where, types = f"rows(%{rows.name}) of %{cache.name}", f"{rows.type}, {cache.type}"
    else:
        positions = expect(positions, "positions", rank=1, dtype=("i32", "i64"))
        where, types = f"positions(%{positions.name})", f"{positions.type}"
    text = f"attn.rope %{x.name}, %{cos.name}, %{sin.name} {where} {pairing} : {x.type}, {cos.type}, {types}"
    return x.graph._append(text, [cos, sin, rows, cache, positions], (f"{x.name}_rope", x.type))[0]


def rms_norm(x: Value, weight: Value, *, eps: float = 1e-5) -> Value:
    """x / sqrt(mean(x^2) + eps) * weight over the elements of each head; `weight` is [dim]."""
    x, weight = expect_tokens(x, "x"), expect(weight, "weight", rank=1, dtype=FLOATS)
    if weight.type.shape[0] not in (None, x.type.shape[2]):
        fail("weight", f"{x.type.shape[2]} entries, one for each element of a head", weight.type.shape[0])
    if not (eps > 0 and math.isfinite(eps)):
        fail("eps", "a finite number above 0", eps)
    text = f"attn.rms_norm %{x.name}, %{weight.name} eps {float_literal(eps)} : {x.type}, {weight.type}"
    return x.graph._append(text, [weight], (f"{x.name}_norm", x.type))[0]


def append(key: Value, value: Value, cache: Value, *, rows: Value) -> Value:
    """Writes the new rows into the cache, in place. Returns the cache with them; the old one is used up."""
    key, value, cache = expect_tokens(key, "key"), expect_tokens(value, "value"), expect_cache(cache, "cache")
    rows = expect_i32_vector(rows, "rows")
    kind = cache.type
    for operand, name, dim in ((key, "key", kind.dim), (value, "value", kind.v_dim)):
        dtype = operand.type.dtype if kind.is_scaled else kind.dtype
        needed = TensorType((operand.type.shape[0], kind.heads, dim), dtype)
        if operand.type != needed:
            fail(name, f"{needed} for {kind}", operand.type)
    text = (
        f"attn.append %{key.name}, %{value.name} to %{cache.name} rows(%{rows.name}) : "
        f"{key.type}, {value.type}, {kind}, {rows.type}"
    )
    result = cache.graph._append(text, [key, value, rows], (f"{cache.name}_new", kind))[0]
    cache.used_up = True
    return result


def shared_prefix(cache: Value, length: Value, *, expected: int | None = None) -> Value:
    """The cache, with the promise that all requests share their first `length` keys: int32 [1], 0 for none.

    Of every request that has rows and keys they come before these rows and lie in the same pages. Attention over
    the result reads them once for the whole batch where that pays; `expected` is the length to count with. It
    changes no result; a promise that does not hold is an error of the request.
    """
    cache, length = expect_cache(cache, "cache"), expect_i32_vector(length, "length")
    if length.type.shape != (1,):
        fail("length", "one element", length.type)
    if expected is not None and expected < 1:
        fail("expected", "at least 1 key", expected)
    clause = "" if expected is None else f" expected {expected}"
    text = f"attn.shared_prefix %{cache.name}, %{length.name}{clause} : {cache.type}, {length.type}"
    return cache.graph._append(text, [length], (f"{cache.name}_shared", cache.type))[0]


def attention(
    query: Value,
    *keys_and_values: Value,
    rows: Value,
    kv_rows: Value | None = None,
    scale: float,
    mask: Mask | None = None,
    symbols: dict | None = None,
    row_values: dict | None = None,
    score=None,
    epilogue=None,
    sinks: Value | None = None,
    bitmap: tuple | None = None,
    lse: bool = False,
    dtype: str | None = None,
):
    """Attention of `query` over a cache, `attention(q, cache, ...)`, or over dense rows, `attention(q, k, v,
    kv_rows=..., ...)`. Returns the output [tokens, heads, v_dim], or (output, lse) with `lse=True`.

    score: lambda (s, q, k, h[, b]) -> s on the scaled score; epilogue: lambda (o, q, h[, d]) -> o. See expr.
    symbols: {name: int32 [batch] tensor, or i32 scalar} and row_values: {name: int32 [tokens] tensor} bind the
    names of the mask. sinks: f32 [heads]. bitmap: (bits, starts) as masks.pack_mask makes them. lse: natural
    log of the sum of exponentials, f32 [tokens, heads]; it holds the sink. A row that sees nothing gives 0,
    and -inf (the sink, if any) as lse.
    """
    query, rows = expect_tokens(query, "query"), expect_i32_vector(rows, "rows")
    operands, kv_heads, v_dim = _keys_and_values(query, keys_and_values, kv_rows)
    _check_group(query.type.shape[1], kv_heads)
    if not (scale > 0 and math.isfinite(scale)):
        fail("scale", "a finite number above 0", scale)
    clauses = [f"rows(%{rows.name})"]
    types = [str(query.type), *(str(operand.type) for operand in operands), str(rows.type)]
    if kv_rows is not None:
        clauses.append(f"kv_rows(%{kv_rows.name})")
        types.append(str(kv_rows.type))
    clauses.append(f"scale {float_literal(scale)}")
    clauses += _mask_clauses(no_mask() if mask is None else mask, symbols or {}, row_values or {})
    clauses += _sink_clauses(sinks, query.type.shape[1]) + _bitmap_clauses(bitmap)
    regions, captured = _regions(score, epilogue)
    result = TensorType((*query.type.shape[:2], v_dim), dtype or query.type.dtype)
    check_float("dtype", result.dtype)
    results = [("out", result)]
    if lse:
        results.append(("lse", TensorType(query.type.shape[:2], "f32")))
    names = ", ".join(f"%{operand.name}" for operand in (query, *operands))
    text = f"attn.attention {names} {' '.join(clauses)}{regions}"
    signature = f": {', '.join(types)} -> {', '.join(str(kind) for _, kind in results)}"
    bound = [*(symbols or {}).values(), *(row_values or {}).values(), *(bitmap or ())]
    uses = [*operands, rows, kv_rows, sinks, *bound, *captured]
    values = query.graph._append(f"{text}\n  {signature}", uses, *results)
    return tuple(values) if lse else values[0]


def merge(first: tuple, second: tuple) -> tuple:
    """Folds two states (output, lse) over disjoint keys into one. The lse is the natural one."""
    (out_a, lse_a), (out_b, lse_b) = first, second
    for value, name, needed in ((out_b, "second output", out_a), (lse_b, "second lse", lse_a)):
        if expect(value, name).type != needed.type:
            fail(name, f"the type of the first, {needed.type}", value.type)
    expect_tokens(out_a, "first output")
    expect(lse_a, "first lse", rank=2, dtype=("f32",))
    text = (
        f"attn.merge (%{out_a.name}, %{lse_a.name}), (%{out_b.name}, %{lse_b.name}) : "
        f"{out_a.type}, {lse_a.type}"
    )
    return tuple(
        out_a.graph._append(text, [lse_a, out_b, lse_b], ("merged", out_a.type), ("merged_lse", lse_a.type))
    )


# ---- Clauses of attention ---------------------------------------------------------------------------


def _keys_and_values(query: Value, operands: tuple, kv_rows: Value | None) -> tuple:
    """(operands, KV heads, dim of values) of a cache or of dense keys and values."""
    if len(operands) == 1:
        kind = expect_cache(operands[0], "cache").type
        if kv_rows is not None:
            raise ValueError("kv_rows: expects to be left out with a cache, whose lengths say the same")
        heads, dim, v_dim = kind.heads, kind.dim, kind.v_dim
        dtype = query.type.dtype if kind.is_scaled else kind.dtype
    elif len(operands) == 2:
        key, value = expect_tokens(operands[0], "key"), expect_tokens(operands[1], "value")
        if kv_rows is None:
            raise ValueError("kv_rows: expects the row offsets of keys and values, which are not in a cache")
        expect_i32_vector(kv_rows, "kv_rows")
        (_, heads, dim), dtype, v_dim = key.type.shape, key.type.dtype, value.type.shape[2]
        if value.type.shape[1] != heads or value.type.dtype != dtype:
            fail("value", f"{heads} heads of {dtype} as the key", value.type)
    else:
        raise TypeError(
            f"attention: expects query and cache, or query, key and value, got {1 + len(operands)} values"
        )
    if query.type.shape[2] != dim:
        fail("query", f"the keys' head dim {dim}", query.type.shape[2])
    if query.type.dtype != dtype:
        fail("query", f"the dtype of keys and values, {dtype}", query.type.dtype)
    return operands, heads, v_dim


def _check_group(heads: int, kv_heads: int) -> None:
    if heads % kv_heads:
        fail("query", f"a multiple of {kv_heads} KV heads", f"{heads} heads")
    if heads // kv_heads > MAX_GROUP:
        fail("query", f"at most {MAX_GROUP} heads for a KV head", heads // kv_heads)


def _mask_clauses(mask: Mask, symbols: dict, row_values: dict) -> list[str]:
    if not isinstance(mask, Mask):
        raise TypeError(f"mask: expects a mask (see pagefold.masks), got {mask!r}")
    per_row = [name for name, declared in mask.symbols.items() if declared == PER_ROW]
    others = [name for name in mask.symbols if name not in per_row]
    clauses = [f"mask <{mask.mlir_text()}>"]
    for keyword, names, given, check in (
        ("symbols", others, symbols, _symbol),
        ("row_values", per_row, row_values, expect_i32_vector),
    ):
        if set(given) != set(names):
            fail(keyword, f"a value for each of {sorted(names)}", sorted(given))
        bound = [check(given[name], f"{keyword}[{name!r}]") for name in names]
        if bound:
            clauses.append(f"{keyword}({', '.join(f'%{value.name} : {value.type}' for value in bound)})")
    return clauses


def _symbol(value, name: str) -> Value:
    """An i32 for all requests, or one for each."""
    if isinstance(value, Value) and value.type == ScalarType("i32"):
        return value
    return expect_i32_vector(value, name)


def _sink_clauses(sinks: Value | None, heads: int) -> list[str]:
    if sinks is None:
        return []
    expect(sinks, "sinks", rank=1, dtype=("f32",))
    if sinks.type.shape[0] not in (None, heads):
        fail("sinks", f"{heads} entries, one for each query head", sinks.type.shape[0])
    return [f"sinks(%{sinks.name} : {sinks.type})"]


def _bitmap_clauses(bitmap: tuple | None) -> list[str]:
    if bitmap is None:
        return []
    if not isinstance(bitmap, tuple) or len(bitmap) != 2:
        raise TypeError("bitmap: expects (bits, starts), as masks.pack_mask makes them")
    bits, starts = expect(bitmap[0], "bits", rank=1, dtype=("i8",)), bitmap[1]
    expect(starts, "starts", rank=1, dtype=("i64",))
    return [f"bitmap(%{bits.name} : {bits.type}, %{starts.name} : {starts.type})"]


def _regions(score, epilogue) -> tuple[str, list[Value]]:
    """The text of the regions, each starting with a line break, and the values that they capture."""
    text, captured = "", []
    for name, roles, function in (("score", "sqkhb", score), ("epilogue", "oqhd", epilogue)):
        region = None if function is None else Region(name, roles, function)
        if region is None or region.is_identity:
            continue
        arguments = [argument.template for argument in region.arguments]
        for capture in region.captures:
            arguments.append(f"{capture.template} = %{capture.value.name} : {capture.value.type}")
            captured.append(capture.value)
        body = "".join(f"    {line}\n" for line in region.lines)
        text += f"\n  {name}({', '.join(arguments)}) {{\n{body}  }}"
    return text, captured
