# prefill_shapes.py - what `pagefold-bench prefill` times
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the prefill and chunk tables, and the graph behind each of them."""

from __future__ import annotations

import dataclasses

import pagefold as pf

DENSE = None  # instead of a page size: K and V are rows of all requests, one after another


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What is compiled: one graph, good for all shapes up to its bounds. page: DENSE, or tokens of a page."""

    heads: int
    kv_heads: int
    dim: int
    dtype: str
    causal: bool
    page: int | None
    batch: int  # from here on: bounds
    q_len: int
    kv_len: int

    @property
    def name(self) -> str:
        mask, place = "causal" if self.causal else "full", f"p{self.page}" if self.page else "dense"
        heads = f"{self.heads}x{self.kv_heads}"
        return f"{mask}-{self.dtype}-d{self.dim}-{heads}-{place}-{self.batch}x{self.q_len}x{self.kv_len}"

    def graph(self) -> pf.Graph:
        """(q, [k, v, rows, kv_rows] or [rows, cache]) to (out, lse)."""
        with pf.Graph("prefill", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len) as g:
            tensor = lambda name, heads: g.tokens(name, heads=heads, dim=self.dim, dtype=self.dtype)
            q = tensor("q", self.heads)
            rows = {"rows": g.rows()}
            if self.page is DENSE:
                keys = [tensor("k", self.kv_heads), tensor("v", self.kv_heads)]
                rows["kv_rows"] = g.rows("kv_rows")
            else:
                keys = [
                    g.paged_kv("cache", heads=self.kv_heads, dim=self.dim, dtype=self.dtype, page=self.page)
                ]
            mask = pf.causal() if self.causal else pf.no_mask()
            g.returns(*pf.attention(q, *keys, **rows, scale=self.dim**-0.5, mask=mask, lse=True))
        return g


@dataclasses.dataclass(frozen=True)
class Shape:
    """A batch of equal requests, timed with K and V in each of the `pages`. Causal is bottom-right.

    bounds (batch, q_len, kv_len): those of the graph, where it serves other shapes too.
    """

    table: str
    label: str
    batch: int
    q_len: int
    kv_len: int
    heads: int = 16
    kv_heads: int = 16
    dim: int = 128
    dtype: str = "bf16"
    causal: bool = True
    pages: tuple = (DENSE,)
    bounds: tuple | None = None

    def kernel(self, page: int | None) -> Kernel:
        bounds = self.bounds or (self.batch, self.q_len, self.kv_len)
        return Kernel(self.heads, self.kv_heads, self.dim, self.dtype, self.causal, page, *bounds)

    def flops(self) -> float:
        """4 d for each (row, key) pair: whole prefill as s s / 2 by convention, chunks those that are visible."""
        pairs = self.q_len * self.kv_len
        if self.causal and self.q_len == self.kv_len:
            pairs /= 2
        elif self.causal:
            pairs -= self.q_len * (self.q_len - 1) / 2
        return 4.0 * self.dim * self.heads * self.batch * pairs

    def __str__(self) -> str:
        return f"{self.table}: {self.label}"


TOKENS = 16384
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
PLACES = (DENSE, 64, 16)
GROUPED = {"heads": 32, "kv_heads": 8}


def _short(length: int) -> str:
    return f"{length // 1024}k" if length >= 1024 else str(length)


def _whole(table: str, length: int, **change) -> Shape:
    bounds = (TOKENS // LENGTHS[0], TOKENS, TOKENS)
    return Shape(
        table,
        f"{TOKENS // length} x {_short(length)}",
        TOKENS // length,
        length,
        length,
        bounds=bounds,
        **change,
    )


def _chunk(table: str, batch: int, tokens: int, context: int) -> Shape:
    label = f"{tokens} on {_short(context)} x {batch}"
    return Shape(table, label, batch, tokens, context + tokens, pages=PLACES, **GROUPED)


def _aims():
    for name, change in (("f16", {"dtype": "f16"}), ("d64", {"dim": 64}), ("d256", {"dim": 256})):
        for causal in (True, False):
            for length in (2048, 8192):
                yield _whole(f"{name} {'causal' if causal else 'full'}", length, causal=causal, **change)


PREFILL = (
    *(_whole("full", length, causal=False) for length in LENGTHS),
    *(_whole("causal", length) for length in LENGTHS),
    *(Shape("GQA", _short(length), 1, length, length, bounds=(1, 32768, 32768), **GROUPED)
      for length in (1024, 4096, 8192, 16384, 32768)),
)  # fmt: skip
SHAPES = (
    *PREFILL,
    *(_chunk("chunk", 4, 512, context) for context in (4096, 32768)),
    *(Shape("whole on pages", f"{batch} x {_short(length)}", batch, length, length, pages=PLACES,
            bounds=(8, TOKENS, TOKENS), **GROUPED)
      for batch, length in ((8, 2048), (1, 8192), (1, 16384))),
    *(_chunk("short chunk", 1, tokens, 32768) for tokens in (256, 128)),
    *_aims(),
)  # fmt: skip

# What a pass is worth: these kernels are built again without it, and timed on these shapes.
VARIANTS = {
    "no overlap": ("--no-overlap-products",),
    "no lazy rescale": ("--no-lazy-rescale",),
    "no sections": ("--no-sections",),
    "none of the three": ("--no-overlap-products", "--no-lazy-rescale", "--no-sections"),
}
VARIED = tuple(s for s in PREFILL if s.heads == 16 and s.q_len in (512, 2048, 16384))
