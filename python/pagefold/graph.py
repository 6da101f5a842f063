# graph.py - attention graphs, written in Python and printed as MLIR
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph builder: every method and function appends one line of the `attn` dialect.

    with pagefold.Graph("layer", batch=16, q_len=1, kv_len=8192) as g:
        q = g.tokens("q", heads=32, dim=128, dtype="bf16")
        rows = g.rows()
        cache = g.paged_kv("cache", heads=8, dim=128, dtype="bf16", page=16)
        g.returns(pagefold.attention(q, cache, rows=rows, scale=128**-0.5, mask=pagefold.causal()))
    print(g)

Faults are reported where they are made, as ValueError or TypeError; the compiler verifies the text again.
"""

from __future__ import annotations

import dataclasses
import math

from .expr import Capture, Region, float_literal, lookup
from .masks import PER_ROW, Mask, no_mask

FLOATS = ("f32", "f16", "bf16")
PAIRINGS = ("half_split", "interleaved")
MAX_GROUP = 128


# ---- Types and values -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class TensorType:
    """A ranked tensor; None stands for a dimension known at launch."""

    shape: tuple
    dtype: str

    def __str__(self):
        dims = "".join(f"{'?' if dim is None else dim}x" for dim in self.shape)
        return f"tensor<{dims}{self.dtype}>"


@dataclasses.dataclass(frozen=True)
class CacheType:
    heads: int
    dim: int
    v_dim: int
    dtype: str
    page: int

    def __str__(self):
        return (f"!attn.paged_kv<{self.heads} heads, {self.dim} x {self.v_dim}, {self.dtype}, "
                f"page {self.page}>")


@dataclasses.dataclass(frozen=True)
class ScalarType:
    """A number that a call passes: f32 or i32."""

    dtype: str

    def __str__(self):
        return self.dtype


@dataclasses.dataclass(eq=False)
class Value:
    """A value of a graph."""

    graph: Graph
    name: str
    type: TensorType | CacheType | ScalarType
    used_up: bool = False  # a cache that was appended to

    def __getitem__(self, indices):
        """Inside a score or epilogue lambda: one element of this table."""
        return lookup(_expect(self, self.name), indices)

    def traced(self) -> Capture:
        """Inside such a lambda: this scalar."""
        if not isinstance(self.type, ScalarType):
            raise TypeError(f"{self.name}: expects a scalar where a number is needed, got {self.type}; index a table")
        return Capture(self, self.type.dtype)


# ---- Checks -----------------------------------------------------------------------------------------


def _fail(name: str, needed: str, got):
    raise ValueError(f"{name}: expects {needed}, got {got}")


def _check_heads(name: str, heads: int) -> None:
    if heads < 1:
        _fail(name, "at least 1 head", heads)


def _check_dim(name: str, dim: int) -> None:
    if dim % 8 or not 8 <= dim <= 512:
        _fail(name, "a head dim that is a multiple of 8 from 8 to 512", dim)


def _check_float(name: str, dtype: str) -> None:
    if dtype not in FLOATS:
        _fail(name, f"a dtype of {', '.join(FLOATS)}", repr(dtype))


def _expect(value, name: str, *, rank: int | None = None, dtype: tuple | None = None, cache: bool = False) -> Value:
    """`value`, when it is one of the kind that operand `name` takes."""
    if not isinstance(value, Value):
        raise TypeError(f"{name}: expects a value of the graph, got {type(value).__name__}")
    if value.used_up:
        _fail(name, f"a cache that was not appended to; use what the append of '{value.name}' returned", "the old one")
    if not isinstance(value.type, CacheType if cache else TensorType):
        _fail(name, "a cache" if cache else "a tensor", value.type)
    if rank is not None and len(value.type.shape) != rank:
        _fail(name, f"{rank} dimensions", value.type)
    if dtype is not None and value.type.dtype not in dtype:
        _fail(name, f"a dtype of {', '.join(dtype)}", value.type)
    return value


def _tokens(value, name: str) -> Value:
    return _expect(value, name, rank=3, dtype=FLOATS)


def _row_offsets(value, name: str) -> Value:
    return _expect(value, name, rank=1, dtype=("i32",))


def _cache(value, name: str) -> Value:
    return _expect(value, name, cache=True)


# ---- The graph --------------------------------------------------------------------------------------


class Graph:
    """One function: its arguments in the order they are made, its operations, what it returns.

    `batch`, `q_len`, `kv_len` (and `tokens`, batch x q_len when left out) are the most requests, new tokens
    of a request, tokens in a cache and new tokens in a call. What is compiled is right for all calls up
    to them.
    """

    def __init__(self, name: str, *, batch: int, q_len: int, kv_len: int, tokens: int | None = None):
        for what, bound in (("batch", batch), ("q_len", q_len), ("kv_len", kv_len), ("tokens", tokens or 1)):
            if bound < 1:
                _fail(what, "at least 1", bound)
        if tokens is not None and tokens > batch * q_len:
            _fail("tokens", f"at most batch x q_len = {batch * q_len}", tokens)
        self.name = name
        self.bounds = f"batch {batch}, q_len {q_len}, kv_len {kv_len}" + (f", tokens {tokens}" if tokens else "")
        self.arguments: list[Value] = []
        self.results: list[Value] = []
        self._names: set[str] = set()
        self._lines: list[str] = []

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if kind is None and not self.results:
            raise ValueError(f"graph '{self.name}': expects returns(...) to be called")

    # Arguments.

    def tokens(self, name: str, *, heads: int, dim: int, dtype: str = "f32") -> Value:
        """Rows of tokens, [tokens, heads, dim]: queries, or new keys or values."""
        _check_heads(f"{name}.heads", heads)
        _check_dim(f"{name}.dim", dim)
        return self._argument(name, TensorType((None, heads, dim), self._float(name, dtype)))

    def rows(self, name: str = "rows") -> Value:
        """Row offsets of the requests, int32 [batch + 1]."""
        return self._argument(name, TensorType((None,), "i32"))

    def positions(self, name: str = "positions", dtype: str = "i32") -> Value:
        """A position for every token, int32 or int64 [tokens]."""
        if dtype not in ("i32", "i64"):
            _fail(f"{name}.dtype", "i32 or i64", repr(dtype))
        return self._argument(name, TensorType((None,), dtype))

    def per_request(self, name: str) -> Value:
        """A number for every request, int32 [batch], for a symbol of a mask."""
        return self._argument(name, TensorType((None,), "i32"))

    def scalar(self, name: str, dtype: str = "f32") -> Value:
        """One number, f32 or i32: for score and epilogue lambdas, or (i32) for a symbol of a mask."""
        if dtype not in ("f32", "i32"):
            _fail(f"{name}.dtype", "f32 or i32", repr(dtype))
        return self._argument(name, ScalarType(dtype))

    def tensor(self, name: str, *shape: int | None, dtype: str = "f32") -> Value:
        """A table, a weight, rotary tables, sinks, a bitmap: a tensor of any shape and dtype."""
        if dtype not in (*FLOATS, "i8", "i32", "i64"):
            _fail(f"{name}.dtype", "f32, f16, bf16, i8, i32 or i64", repr(dtype))
        return self._argument(name, TensorType(shape, dtype))

    def paged_kv(self, name: str, *, heads: int, dim: int, v_dim: int | None = None, dtype: str = "f32",
                 page: int = 16) -> Value:
        """A KV cache in pages of `page` tokens. A call passes a PagedKV for it."""
        v_dim = dim if v_dim is None else v_dim
        _check_heads(f"{name}.heads", heads)
        _check_dim(f"{name}.dim", dim)
        _check_dim(f"{name}.v_dim", v_dim)
        if not 1 <= page <= 1024:
            _fail(f"{name}.page", "a page size from 1 to 1024", page)
        return self._argument(name, CacheType(heads, dim, v_dim, self._float(name, dtype), page))

    def returns(self, *values: Value) -> None:
        """What the function returns, in order. A cache that was appended to is written in place either way."""
        if not values:
            raise ValueError("returns: expects at least one value")
        for index, value in enumerate(values):
            if not isinstance(value, Value) or value.graph is not self:
                raise TypeError(f"returns: expects values of this graph, got {value!r} at {index}")
        self.results = list(values)

    # Text.

    def __str__(self) -> str:
        aliases = self._cache_aliases()
        spell = lambda kind: aliases.get(kind, str(kind))
        arguments = ", ".join(f'%{value.name}: {spell(value.type)} loc("{value.name}")' for value in self.arguments)
        results = ", ".join(spell(value.type) for value in self.results)
        operands = ", ".join(f"%{value.name}" for value in self.results)
        head = [f"{alias} = {kind}" for kind, alias in aliases.items()]
        body = [line for text in self._lines for line in text.splitlines()]
        for kind, alias in aliases.items():
            body = [line.replace(str(kind), alias) for line in body]
        return "\n".join([
            *head,
            f"func.func @{self.name}({arguments}) -> ({results})",
            f"    attributes {{attn.bounds = #attn.bounds<{self.bounds}>}} {{",
            *(f"  {line}" for line in body),
            f"  return {operands} : {results}",
            "}",
            "",
        ])

    def _cache_aliases(self) -> dict:
        kinds = dict.fromkeys(value.type for value in self.arguments if isinstance(value.type, CacheType))
        return {kind: f"!cache{index or ''}" for index, kind in enumerate(kinds)}

    # For the operations below.

    def _float(self, name: str, dtype: str) -> str:
        _check_float(f"{name}.dtype", dtype)
        return dtype

    def _argument(self, name: str, kind) -> Value:
        if not name.isidentifier():
            _fail("name", "an identifier", repr(name))
        if name in self._names:
            _fail("name", "a new name", f"'{name}' again")
        self._names.add(name)
        value = Value(self, name, kind)
        self.arguments.append(value)
        return value

    def _fresh(self, stem: str) -> str:
        index, name = 0, stem
        while name in self._names:
            index += 1
            name = f"{stem}_{index}"
        self._names.add(name)
        return name

    def _append(self, text: str, *results: tuple) -> list[Value]:
        """Appends an op. Each result is (stem of its name, type)."""
        values = [Value(self, self._fresh(stem), kind) for stem, kind in results]
        self._lines.append(f"{', '.join('%' + value.name for value in values)} = {text}")
        return values


# ---- Operations -------------------------------------------------------------------------------------


def rope(x: Value, cos: Value, sin: Value, *, rows: Value | None = None, cache: Value | None = None,
         positions: Value | None = None, pairing: str = "half_split") -> Value:
    """Rotary embedding of every head: positions from `rows` and `cache`, or from the tensor `positions`.

    `cos` and `sin` are f32 [positions, rotary_dim / 2] (see rope_tables); elements past rotary_dim pass
    through. "half_split" pairs x[j] with x[j + rotary_dim / 2] (NeoX, Llama in Hugging Face's layout),
    "interleaved" x[2j] with x[2j + 1] (GPT-J, Llama's own layout and GGUF's).
    """
    x, cos, sin = _tokens(x, "x"), *(_expect(t, n, rank=2, dtype=("f32",)) for t, n in ((cos, "cos"), (sin, "sin")))
    if pairing not in PAIRINGS:
        _fail("pairing", f"one of {', '.join(PAIRINGS)}", repr(pairing))
    if cos.type != sin.type:
        _fail("sin", f"the type of cos, {cos.type}", sin.type)
    if cos.type.shape[1] is not None and 2 * cos.type.shape[1] > x.type.shape[2]:
        _fail("cos", f"at most half of the head dim {x.type.shape[2]} columns", cos.type.shape[1])
    if (positions is None) != (rows is not None and cache is not None):
        raise ValueError("rope: expects either rows and cache, or positions")
    if positions is None:
        rows, cache = _row_offsets(rows, "rows"), _cache(cache, "cache")
        where, types = f"rows(%{rows.name}) of %{cache.name}", f"{rows.type}, {cache.type}"
    else:
        positions = _expect(positions, "positions", rank=1, dtype=("i32", "i64"))
        where, types = f"positions(%{positions.name})", f"{positions.type}"
    text = f"attn.rope %{x.name}, %{cos.name}, %{sin.name} {where} {pairing} : {x.type}, {cos.type}, {types}"
    return x.graph._append(text, (f"{x.name}_rope", x.type))[0]


def rms_norm(x: Value, weight: Value, *, eps: float = 1e-5) -> Value:
    """x / sqrt(mean(x^2) + eps) * weight over the elements of each head; `weight` is [dim]."""
    x, weight = _tokens(x, "x"), _expect(weight, "weight", rank=1, dtype=FLOATS)
    if weight.type.shape[0] not in (None, x.type.shape[2]):
        _fail("weight", f"{x.type.shape[2]} entries, one for each element of a head", weight.type.shape[0])
    if not (eps > 0 and math.isfinite(eps)):
        _fail("eps", "a finite number above 0", eps)
    text = f"attn.rms_norm %{x.name}, %{weight.name} eps {float_literal(eps)} : {x.type}, {weight.type}"
    return x.graph._append(text, (f"{x.name}_norm", x.type))[0]


def append(key: Value, value: Value, cache: Value, *, rows: Value) -> Value:
    """Writes the new rows into the cache, in place. Returns the cache with them; the old one is used up."""
    key, value, cache = _tokens(key, "key"), _tokens(value, "value"), _cache(cache, "cache")
    rows = _row_offsets(rows, "rows")
    kind = cache.type
    for operand, name, dim in ((key, "key", kind.dim), (value, "value", kind.v_dim)):
        needed = TensorType((operand.type.shape[0], kind.heads, dim), kind.dtype)
        if operand.type != needed:
            _fail(name, f"{needed} for {kind}", operand.type)
    text = (f"attn.append %{key.name}, %{value.name} to %{cache.name} rows(%{rows.name}) : "
            f"{key.type}, {value.type}, {kind}, {rows.type}")
    result = cache.graph._append(text, (f"{cache.name}_new", kind))[0]
    cache.used_up = True
    return result


def attention(query: Value, *keys_and_values: Value, rows: Value, kv_rows: Value | None = None, scale: float,
              mask: Mask | None = None, symbols: dict | None = None, row_values: dict | None = None, score=None,
              epilogue=None, sinks: Value | None = None, bitmap: tuple | None = None, lse: bool = False,
              dtype: str | None = None):
    """Attention of `query` over a cache, `attention(q, cache, ...)`, or over dense rows, `attention(q, k, v,
    kv_rows=..., ...)`. Returns the output [tokens, heads, v_dim], or (output, lse) with `lse=True`.

    score: lambda (s, q, k, h[, b]) -> s on the scaled score; epilogue: lambda (o, q, h[, d]) -> o. See expr.
    symbols: {name: int32 [batch] tensor, or i32 scalar} and row_values: {name: int32 [tokens] tensor} bind the
    names of the mask. sinks: f32 [heads]. bitmap: (bits, starts) as
    masks.pack_mask makes them. lse: natural log of the sum of exponentials, f32 [tokens, heads]; it
    holds the sink. A row that sees nothing gives 0, and -inf (the sink, if any) as lse.
    """
    query, rows = _tokens(query, "query"), _row_offsets(rows, "rows")
    operands, kv_heads, v_dim = _keys_and_values(query, keys_and_values, kv_rows)
    _check_group(query.type.shape[1], kv_heads)
    if not (scale > 0 and math.isfinite(scale)):
        _fail("scale", "a finite number above 0", scale)
    clauses = [f"rows(%{rows.name})"]
    types = [str(query.type), *(str(operand.type) for operand in operands), str(rows.type)]
    if kv_rows is not None:
        clauses.append(f"kv_rows(%{kv_rows.name})")
        types.append(str(kv_rows.type))
    clauses.append(f"scale {float_literal(scale)}")
    clauses += _mask_clauses(no_mask() if mask is None else mask, symbols or {}, row_values or {})
    clauses += _sink_clauses(sinks, query.type.shape[1]) + _bitmap_clauses(bitmap)
    regions = _region("score", "sqkhb", score) + _region("epilogue", "oqhd", epilogue)
    result = TensorType((*query.type.shape[:2], v_dim), dtype or query.type.dtype)
    _check_float("dtype", result.dtype)
    results = [("out", result)]
    if lse:
        results.append(("lse", TensorType(query.type.shape[:2], "f32")))
    names = ", ".join(f"%{operand.name}" for operand in (query, *operands))
    text = f"attn.attention {names} {' '.join(clauses)}{regions}"
    signature = f": {', '.join(types)} -> {', '.join(str(kind) for _, kind in results)}"
    values = query.graph._append(f"{text}\n  {signature}", *results)
    return tuple(values) if lse else values[0]


def merge(first: tuple, second: tuple) -> tuple:
    """Folds two states (output, lse) over disjoint keys into one. The lse is the natural one."""
    (out_a, lse_a), (out_b, lse_b) = first, second
    for value, name, needed in ((out_b, "second output", out_a), (lse_b, "second lse", lse_a)):
        if _expect(value, name).type != needed.type:
            _fail(name, f"the type of the first, {needed.type}", value.type)
    _tokens(out_a, "first output")
    _expect(lse_a, "first lse", rank=2, dtype=("f32",))
    text = (f"attn.merge (%{out_a.name}, %{lse_a.name}), (%{out_b.name}, %{lse_b.name}) : "
            f"{out_a.type}, {lse_a.type}")
    return tuple(out_a.graph._append(text, ("merged", out_a.type), ("merged_lse", lse_a.type)))


# ---- Clauses of attention ---------------------------------------------------------------------------


def _keys_and_values(query: Value, operands: tuple, kv_rows: Value | None) -> tuple:
    """(operands, KV heads, dim of values) of a cache or of dense keys and values."""
    if len(operands) == 1:
        kind = _cache(operands[0], "cache").type
        if kv_rows is not None:
            raise ValueError("kv_rows: expects to be left out with a cache, whose lengths say the same")
        heads, dim, v_dim, dtype = kind.heads, kind.dim, kind.v_dim, kind.dtype
    elif len(operands) == 2:
        key, value = _tokens(operands[0], "key"), _tokens(operands[1], "value")
        if kv_rows is None:
            raise ValueError("kv_rows: expects the row offsets of keys and values, which are not in a cache")
        _row_offsets(kv_rows, "kv_rows")
        (_, heads, dim), dtype, v_dim = key.type.shape, key.type.dtype, value.type.shape[2]
        if value.type.shape[1] != heads or value.type.dtype != dtype:
            _fail("value", f"{heads} heads of {dtype} as the key", value.type)
    else:
        raise TypeError(f"attention: expects query and cache, or query, key and value, got {1 + len(operands)} values")
    if query.type.shape[2] != dim:
        _fail("query", f"the keys' head dim {dim}", query.type.shape[2])
    if query.type.dtype != dtype:
        _fail("query", f"the dtype of keys and values, {dtype}", query.type.dtype)
    return operands, heads, v_dim


def _check_group(heads: int, kv_heads: int) -> None:
    if heads % kv_heads:
        _fail("query", f"a multiple of {kv_heads} KV heads", f"{heads} heads")
    if heads // kv_heads > MAX_GROUP:
        _fail("query", f"at most {MAX_GROUP} heads for a KV head", heads // kv_heads)


def _mask_clauses(mask: Mask, symbols: dict, row_values: dict) -> list[str]:
    if not isinstance(mask, Mask):
        raise TypeError(f"mask: expects a mask (see pagefold.masks), got {mask!r}")
    per_row = [name for name, declared in mask.symbols.items() if declared == PER_ROW]
    others = [name for name in mask.symbols if name not in per_row]
    clauses = [f"mask <{mask.mlir_text()}>"]
    for keyword, names, given, check in (("symbols", others, symbols, _symbol),
                                         ("row_values", per_row, row_values, _row_offsets)):
        if set(given) != set(names):
            _fail(keyword, f"a value for each of {sorted(names)}", sorted(given))
        bound = [check(given[name], f"{keyword}[{name!r}]") for name in names]
        if bound:
            clauses.append(f"{keyword}({', '.join(f'%{value.name} : {value.type}' for value in bound)})")
    return clauses


def _symbol(value, name: str) -> Value:
    """An i32 for all requests, or one for each."""
    if isinstance(value, Value) and value.type == ScalarType("i32"):
        return value
    return _row_offsets(value, name)


def _sink_clauses(sinks: Value | None, heads: int) -> list[str]:
    if sinks is None:
        return []
    _expect(sinks, "sinks", rank=1, dtype=("f32",))
    if sinks.type.shape[0] not in (None, heads):
        _fail("sinks", f"{heads} entries, one for each query head", sinks.type.shape[0])
    return [f"sinks(%{sinks.name} : {sinks.type})"]


def _bitmap_clauses(bitmap: tuple | None) -> list[str]:
    if bitmap is None:
        return []
    if not isinstance(bitmap, tuple) or len(bitmap) != 2:
        raise TypeError("bitmap: expects (bits, starts), as masks.pack_mask makes them")
    bits, starts = _expect(bitmap[0], "bits", rank=1, dtype=("i8",)), bitmap[1]
    _expect(starts, "starts", rank=1, dtype=("i64",))
    return [f"bitmap(%{bits.name} : {bits.type}, %{starts.name} : {starts.type})"]


def _region(name: str, roles: str, function) -> str:
    """A region's text, starting with a line break; nothing where the lambda changes nothing."""
    if function is None:
        return ""
    region = Region(name, roles, function)
    if region.is_identity:
        return ""
    arguments = [argument.template for argument in region.arguments]
    for capture in region.captures:
        arguments.append(f"{capture.template} = %{capture.value.name} : {capture.value.type}")
    body = "".join(f"    {line}\n" for line in region.lines)
    return f"\n  {name}({', '.join(arguments)}) {{\n{body}  }}"
