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

from .values import (
    FLOATS,
    SCALED,
    CacheType,
    ScalarType,
    TensorType,
    Value,
    check_dim,
    check_float,
    check_heads,
    fail,
)


def bounds_text(batch: int, q_len: int, kv_len: int, tokens: int | None = None) -> str:
    """Declared maxima as an #attn.bounds spells them; ValueError for what cannot be any."""
    for what, bound in (("batch", batch), ("q_len", q_len), ("kv_len", kv_len), ("tokens", tokens or 1)):
        if bound < 1:
            fail(what, "at least 1", bound)
    if tokens is not None and tokens > batch * q_len:
        fail("tokens", f"at most batch x q_len = {batch * q_len}", tokens)
    return f"batch {batch}, q_len {q_len}, kv_len {kv_len}" + (f", tokens {tokens}" if tokens else "")


class Graph:
    """One function: its arguments in the order they are made, its operations, what it returns.

    `batch`, `q_len`, `kv_len` (and `tokens`, batch x q_len when left out) are the most requests, new tokens
    of a request, tokens in a cache and new tokens in a call. What is compiled is right for all calls up
    to them.
    """

    def __init__(self, name: str, *, batch: int, q_len: int, kv_len: int, tokens: int | None = None):
        if not name.isidentifier():
            fail("name", "an identifier", repr(name))
        self.name = name
        self.bounds = bounds_text(batch, q_len, kv_len, tokens)
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
        check_heads(f"{name}.heads", heads)
        check_dim(f"{name}.dim", dim)
        return self._argument(name, TensorType((None, heads, dim), self._float(name, dtype)))

    def rows(self, name: str = "rows") -> Value:
        """Row offsets of the requests, int32 [batch + 1]."""
        return self._argument(name, TensorType((None,), "i32"))

    def positions(self, name: str = "positions", dtype: str = "i32") -> Value:
        """A position for every token, int32 or int64 [tokens]."""
        if dtype not in ("i32", "i64"):
            fail(f"{name}.dtype", "i32 or i64", repr(dtype))
        return self._argument(name, TensorType((None,), dtype))

    def per_request(self, name: str) -> Value:
        """A number for every request, int32 [batch], for a symbol of a mask."""
        return self._argument(name, TensorType((None,), "i32"))

    def scalar(self, name: str, dtype: str = "f32") -> Value:
        """One number, f32 or i32: for score and epilogue lambdas, or (i32) for a symbol of a mask."""
        if dtype not in ("f32", "i32"):
            fail(f"{name}.dtype", "f32 or i32", repr(dtype))
        return self._argument(name, ScalarType(dtype))

    def tensor(self, name: str, *shape: int | None, dtype: str = "f32") -> Value:
        """A table, a weight, rotary tables, sinks, a bitmap: a tensor of any shape and dtype."""
        if dtype not in (*FLOATS, "i8", "i32", "i64"):
            fail(f"{name}.dtype", "f32, f16, bf16, i8, i32 or i64", repr(dtype))
        return self._argument(name, TensorType(shape, dtype))

    def paged_kv(
        self, name: str, *, heads: int, dim: int, v_dim: int | None = None, dtype: str = "f32", page: int = 16
    ) -> Value:
        """A KV cache in pages of `page` tokens. A call passes a PagedKV for it.

        dtype "f8e4m3": elements of 8 bits, with a scale for each KV head of K and of V. Rows of any dtype are appended
        to it, rounded and saturated at 448 times the scale, and queries of any dtype attend.
        """
        v_dim = dim if v_dim is None else v_dim
        check_heads(f"{name}.heads", heads)
        check_dim(f"{name}.dim", dim)
        check_dim(f"{name}.v_dim", v_dim)
        if not 1 <= page <= 1024:
            fail(f"{name}.page", "a page size from 1 to 1024", page)
        check_float(f"{name}.dtype", dtype, (*FLOATS, *SCALED))
        return self._argument(name, CacheType(heads, dim, v_dim, dtype, page))

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
        arguments = ", ".join(
            f'%{value.name}: {spell(value.type)} {{pagefold.name = "{value.name}"}}'
            for value in self.arguments
        )
        results = ", ".join(spell(value.type) for value in self.results)
        operands = ", ".join(f"%{value.name}" for value in self.results)
        head = [f"{alias} = {kind}" for kind, alias in aliases.items()]
        body = [line for text in self._lines for line in text.splitlines()]
        for kind, alias in aliases.items():
            body = [line.replace(str(kind), alias) for line in body]
        return "\n".join(
            [
                *head,
                f"func.func @{self.name}({arguments}) -> ({results})",
                f"    attributes {{attn.bounds = #attn.bounds<{self.bounds}>}} {{",
                *(f"  {line}" for line in body),
                f"  return {operands} : {results}" if self.results else "  return",
                "}",
                "",
            ]
        )

    def _cache_aliases(self) -> dict:
        kinds = dict.fromkeys(value.type for value in self.arguments if isinstance(value.type, CacheType))
        return {kind: f"!cache{index or ''}" for index, kind in enumerate(kinds)}

    # For the operations below.

    def _float(self, name: str, dtype: str) -> str:
        check_float(f"{name}.dtype", dtype)
        return dtype

    def _argument(self, name: str, kind) -> Value:
        if not name.isidentifier():
            fail("name", "an identifier", repr(name))
        if name in self._names:
            fail("name", "a new name", f"'{name}' again")
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

    def _append(self, text: str, operands: list, *results: tuple) -> list[Value]:
        """Appends an op. Each result is (stem of its name, type); operands may be None."""
        for operand in operands:
            if operand is not None and operand.graph is not self:
                other = operand.graph.name
                raise ValueError(
                    f"{operand.name}: expects a value of graph '{self.name}', got one of '{other}'"
                )
        values = [Value(self, self._fresh(stem), kind) for stem, kind in results]
        self._lines.append(f"{', '.join('%' + value.name for value in values)} = {text}")
        return values
