# graphs.py - the attention graphs of the GPU suite
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph by its configuration. Building one needs neither a GPU nor the compiler."""

from __future__ import annotations

import dataclasses

import pagefold as pf
from pagefold.masks import k as key_index

MASKS = {
    "none": pf.no_mask,
    "causal": pf.causal,
    "window": lambda size: pf.causal() & pf.window(size),
    "window_of": lambda: pf.causal() & pf.window(pf.sym("w", at_least=1)),  # of each request
    "prefix": pf.prefix,
    "causal_or_prefix": lambda size: pf.causal() | pf.prefix(size),
    "sink_window": pf.sink_window,
    "chunked": pf.chunked,
    "documents": lambda: pf.causal() & (key_index >= pf.per_row("doc")),
}


@dataclasses.dataclass(frozen=True)
class Attend:
    """One attention. Arguments of the graph, where the configuration asks for them, in this order:

    q, rows; k, v, kv_rows (page None) or cache; slopes [heads] (score alibi); bias [q_len, kv_len] (score bias);
    sinks [heads]; bits, starts (bitmap); w [batch] (mask window_of); doc [tokens] (mask documents); gate [tokens, heads].
    Results: out, lse.
    """

    heads: int = 8
    kv_heads: int = 2
    dim: int = 128
    v_dim: int | None = None
    dtype: str = "bf16"
    kv_dtype: str | None = None  # of the cache, where it is another one: f8e4m3
    page: int | None = 16
    mask: tuple = ("causal",)
    score: tuple | None = None  # ("cap", c), ("alibi",) or ("bias", q_len, kv_len)
    sinks: bool = False
    bitmap: bool = False
    gate: bool = False
    batch: int = 8
    q_len: int = 300
    kv_len: int = 2100
    tokens: int | None = None
    splits: int | None = None
    kv_tile: int | None = None
    batch_invariant: bool = False

    attentions = 1  # whose results follow one another

    def attention(self, part: int) -> Attend:
        """The configuration of one of them."""
        return self

    @property
    def dim_of_values(self) -> int:
        return self.v_dim or self.dim

    @property
    def stored(self) -> str:
        """The dtype of keys and values."""
        return self.kv_dtype or self.dtype

    @property
    def most_tokens(self) -> int:
        """Query rows of the largest call."""
        return self.tokens or self.batch * self.q_len

    @property
    def scale(self) -> float:
        return self.dim**-0.5

    @property
    def options(self) -> dict:
        """For pagefold.compile."""
        names = ("splits", "kv_tile", "batch_invariant")
        return {name: getattr(self, name) for name in names}

    def graph(self) -> pf.Graph:
        with pf.Graph(
            "attend", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len, tokens=self.tokens
        ) as g:
            q = g.tokens("q", heads=self.heads, dim=self.dim, dtype=self.dtype)
            options = {"rows": g.rows(), "scale": self.scale, "lse": True}
            options["mask"] = MASKS[self.mask[0]](*self.mask[1:])
            keys = self._keys(g, options)
            self._scores(g, options)
            if self.mask[0] == "window_of":
                options["symbols"] = {"w": g.per_request("w")}
            if self.mask[0] == "documents":
                options["row_values"] = {"doc": g.positions("doc")}
            if self.gate:
                gate = g.tensor("gate", None, self.heads)
                options["epilogue"] = lambda o, q, h: o / (1 + pf.exp(-gate[pf.token(q), h]))
            g.returns(*pf.attention(q, *keys, **options))
        return g

    def _keys(self, g: pf.Graph, options: dict) -> list:
        if self.page is not None:
            return [
                g.paged_kv(
                    "cache",
                    heads=self.kv_heads,
                    dim=self.dim,
                    v_dim=self.dim_of_values,
                    dtype=self.stored,
                    page=self.page,
                )
            ]
        dims = (("k", self.dim), ("v", self.dim_of_values))
        keys = [g.tokens(name, heads=self.kv_heads, dim=dim, dtype=self.dtype) for name, dim in dims]
        options["kv_rows"] = g.rows("kv_rows")
        return keys

    def _scores(self, g: pf.Graph, options: dict) -> None:
        kind = self.score and self.score[0]
        if kind == "alibi":
            slopes = g.tensor("slopes", self.heads)
            options["score"] = lambda s, q, k, h: s - slopes[h] * (pf.position(q) - k)
        elif kind == "bias":
            bias = g.tensor("bias", *self.score[1:])
            options["score"] = lambda s, q, k, h: s + bias[q, k]
        elif kind == "cap":
            options["score"] = lambda s, q, k, h: pf.soft_cap(s, self.score[1])
        if self.sinks:
            options["sinks"] = g.tensor("sinks", self.heads)
        if self.bitmap:
            options["bitmap"] = (g.tensor("bits", None, dtype="i8"), g.tensor("starts", None, dtype="i64"))


EPS = 1e-5  # of a layer's norms


@dataclasses.dataclass(frozen=True)
class AttendTwice(Attend):
    """The same queries and cache twice, under the mask and in a window. Results: out and lse of the one, of the other."""

    window: int = 100

    attentions = 2

    def attention(self, part: int) -> Attend:
        return dataclasses.replace(self, mask=("window", self.window)) if part else self

    def graph(self) -> pf.Graph:
        with pf.Graph("twice", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len, tokens=self.tokens) as g:
            q = g.tokens("q", heads=self.heads, dim=self.dim, dtype=self.dtype)
            options = {"rows": g.rows(), "scale": self.scale, "lse": True}
            keys, results = self._keys(g, options), []
            for part in range(self.attentions):
                mask = self.attention(part).mask
                results += pf.attention(q, *keys, mask=MASKS[mask[0]](*mask[1:]), **options)
            g.returns(*results)
        return g


@dataclasses.dataclass(frozen=True)
class Layer(Attend):
    """RoPE of q and k by the rows' positions, append, causal attention with a gate; `norm`: of q and k first.

    Arguments: q, k, v [tokens, ...], rows, cache, cos, sin, gate, and with a norm w_q and w_k. Results: out, and with
    `turned` the rotated q, which is then made by a kernel of rows; else attention may do it. `fuse` moves the small ops
    into the kernels around them.
    """

    pairing: str = "half_split"
    rotary: int = 64
    fuse: bool = True
    norm: bool = False
    turned: bool = True

    @property
    def options(self) -> dict:
        return {"fuse": self.fuse, **super().options}

    def graph(self) -> pf.Graph:
        with pf.Graph(
            "layer", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len, tokens=self.tokens
        ) as g:
            q, k, v = (
                g.tokens(name, heads=heads, dim=self.dim, dtype=self.dtype)
                for name, heads in (("q", self.heads), ("k", self.kv_heads), ("v", self.kv_heads))
            )
            rows = g.rows()
            cache = g.paged_kv("cache", heads=self.kv_heads, dim=self.dim, dtype=self.stored, page=self.page)
            cos, sin = (g.tensor(name, None, self.rotary // 2) for name in ("cos", "sin"))
            gate = g.tensor("gate", None, self.heads)
            if self.norm:
                q, k = (
                    pf.rms_norm(x, g.tensor(name, self.dim), eps=EPS) for x, name in ((q, "w_q"), (k, "w_k"))
                )
            q, k = (pf.rope(x, cos, sin, rows=rows, cache=cache, pairing=self.pairing) for x in (q, k))
            cache = pf.append(k, v, cache, rows=rows)
            epilogue = lambda o, q, h: o / (1 + pf.exp(-gate[pf.token(q), h]))
            mask = MASKS[self.mask[0]](*self.mask[1:])
            out = pf.attention(q, cache, rows=rows, scale=self.scale, mask=mask, epilogue=epilogue)
            g.returns(*(out, q)[: 1 + self.turned])
        return g


_TIMES = """
  %{to} = linalg.generic {{indexing_maps = [affine_map<(t, h, d) -> (t, h, d)>, affine_map<(t, h, d) -> (h)>,
                                          affine_map<(t, h, d) -> (t, h, d)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%{rows}, %f_{rows} : {type}, tensor<{heads}xf32>) outs(%{rows} : {type}) {{
    ^bb0(%x: {dtype}, %f: f32, %out: {dtype}):
      %wide = arith.extf %x : {dtype} to f32
      %y = arith.mulf %wide, %f : f32
      %narrow = arith.truncf %y : f32 to {dtype}
      linalg.yield %narrow : {dtype}
  }} -> {type}"""


@dataclasses.dataclass(frozen=True)
class Scaled(Attend):
    """Queries, new keys and new values, each times a factor of its head, then append and attention: elementwise ops, as other
    compilers write them (linalg). Arguments: q, k, v, rows, cache, f_q, f_k, f_v. Result: out."""

    def graph(self) -> str:
        sides = (("q", self.heads), ("k", self.kv_heads), ("v", self.kv_heads))
        with pf.Graph("scaled", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len) as g:
            q, k, v = (g.tokens(name, heads=heads, dim=self.dim, dtype=self.dtype) for name, heads in sides)
            for name, heads in sides:
                g.tensor(f"f_{name}", heads)
            rows = g.rows()
            cache = g.paged_kv("cache", heads=self.kv_heads, dim=self.dim, dtype=self.stored, page=self.page)
            cache = pf.append(k, v, cache, rows=rows)
            g.returns(pf.attention(q, cache, rows=rows, scale=self.scale, mask=pf.causal()))
        text = str(g).replace("attn.append %k, %v", "attn.append %k1, %v1").replace("attn.attention %q,", "attn.attention %q1,")
        ops = "".join(
            _TIMES.format(rows=name, to=f"{name}1", heads=heads, dtype=self.dtype, type=f"tensor<?x{heads}x{self.dim}x{self.dtype}>")
            for name, heads in sides
        )  # fmt: skip
        begin = text.index("{\n", text.index("attributes")) + 1
        return text[:begin] + ops + text[begin:]


def merge_graph(heads: int, dim: int, dtype: str) -> pf.Graph:
    """(a, a_lse), (b, b_lse) to the merged state."""
    with pf.Graph("merge", batch=8, q_len=64, kv_len=64) as g:
        states = [
            (g.tokens(name, heads=heads, dim=dim, dtype=dtype), g.tensor(f"{name}_lse", None, heads))
            for name in "ab"
        ]
        g.returns(*pf.merge(*states))
    return g
