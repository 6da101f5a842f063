# harness.py - compiled attention graphs and the batches they run on
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests that run share: graphs by configuration, compiled once, and batches with their reference."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import reference

import pagefold as pf

NAN = float("nan")


def storage(dtype: str):
    """numpy's dtype of a storage type."""
    if name := {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn"}.get(dtype):
        return getattr(pytest.importorskip("ml_dtypes", reason=f"{dtype} needs ml_dtypes"), name)
    return {"f32": np.float32, "f16": np.float16}[dtype]


_MASKS = {
    "none": pf.no_mask,
    "causal": pf.causal,
    "window": lambda size: pf.causal() & pf.window(size),
    "prefix": pf.prefix,
    "causal_or_prefix": lambda size: pf.causal() | pf.prefix(size),
    "sink_window": pf.sink_window,
    "chunked": pf.chunked,
}


@dataclasses.dataclass(frozen=True)
class Config:
    """What is compiled. page None: dense keys and values. score: None, ("cap", c) or ("alibi",). kv_dtype: of the
    cache, where it is another one: f8e4m3."""

    heads: int = 8
    kv_heads: int = 2
    dim: int = 64
    v_dim: int | None = None
    dtype: str = "f32"
    kv_dtype: str | None = None
    page: int | None = 16
    mask: tuple = ("causal",)
    score: tuple | None = None
    sinks: bool = False
    bitmap: bool = False
    batch: int = 16
    q_len: int = 130
    kv_len: int = 4200
    tokens: int | None = 512
    kv_tile: int | None = None
    splits: int | None = None
    online_softmax: bool = True
    fuse: bool = True
    form: str | None = None

    @property
    def dim_of_values(self) -> int:
        return self.v_dim or self.dim

    @property
    def stored(self) -> str:
        """The dtype of keys and values."""
        return self.kv_dtype or self.dtype

    @property
    def scale(self) -> float:
        return self.dim**-0.5

    def graph(self) -> pf.Graph:
        with pf.Graph(
            "attend", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len, tokens=self.tokens
        ) as g:
            q = g.tokens("q", heads=self.heads, dim=self.dim, dtype=self.dtype)
            options = {
                "rows": g.rows(),
                "scale": self.scale,
                "mask": _MASKS[self.mask[0]](*self.mask[1:]),
                "lse": True,
            }
            if self.page is None:
                kv = [
                    g.tokens("k", heads=self.kv_heads, dim=self.dim, dtype=self.dtype),
                    g.tokens("v", heads=self.kv_heads, dim=self.dim_of_values, dtype=self.dtype),
                ]
                options["kv_rows"] = g.rows("kv_rows")
            else:
                kv = [
                    g.paged_kv(
                        "cache",
                        heads=self.kv_heads,
                        dim=self.dim,
                        v_dim=self.dim_of_values,
                        dtype=self.stored,
                        page=self.page,
                    )
                ]
            if self.score == ("alibi",):
                slopes = g.tensor("slopes", self.heads)
                options["score"] = lambda s, q, k, h: s - slopes[h] * (pf.position(q) - k)
            elif self.score is not None:
                options["score"] = lambda s, q, k, h: pf.soft_cap(s, self.score[1])
            if self.sinks:
                options["sinks"] = g.tensor("sinks", self.heads)
            if self.bitmap:
                options["bitmap"] = (
                    g.tensor("bits", None, dtype="i8"),
                    g.tensor("starts", None, dtype="i64"),
                )
            g.returns(*pf.attention(q, *kv, **options))
        return g

    @functools.cache
    def compiled(self) -> pf.Module:
        names = ("kv_tile", "splits", "form", "online_softmax", "fuse")
        options = {name: getattr(self, name) for name in names}
        if self.form == "simt" and self.kv_tile:
            options["kv_tile"] = min(self.kv_tile, 64)  # more is not in the form's range
        return pf.compile(self.graph(), **options)


def offsets(lens) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lens)]).astype(np.int32)


@dataclasses.dataclass
class Batch:
    """Queries of all requests one after another, and each request's keys and values as they are stored; with scales,
    those of keys and of values by KV head, they stand for the products."""

    q: np.ndarray
    keys: list
    values: list
    rows: np.ndarray
    scales: tuple | None = None

    @property
    def lens(self) -> np.ndarray:
        return np.array([len(key) for key in self.keys], np.int32)

    def expected(self, config: Config, sinks=None, slopes=None, visible=None) -> reference.Result:
        score = None
        if config.score == ("alibi",):
            score = lambda s, r, q, k, p, h: s - float(slopes[h]) * (p - k)
        elif config.score is not None and config.score[1]:
            score = lambda s, r, q, k, p, h: config.score[1] * np.tanh(s / config.score[1])
        return reference.attention(
            self.q,
            *(self.dequantised(which) for which in (0, 1)),
            self.rows,
            config.scale,
            score=score,
            visible=visible or reference.mask(*config.mask),
            sinks=sinks,
        )

    def dequantised(self, which: int) -> list:
        """What keys (0) or values (1) stand for."""
        parts = (self.keys, self.values)[which]
        if self.scales is None:
            return parts
        return [part.astype(np.float64) * self.scales[which].astype(np.float64)[:, None] for part in parts]


def random_batch(rng, config: Config, q_lens, kv_lens, q_scale=1.0) -> Batch:
    draw = lambda *shape, dtype: rng.standard_normal(shape, np.float32).astype(storage(dtype))
    rows = lambda length, dim: draw(length, config.kv_heads, dim, dtype=config.stored)
    batch = Batch(
        q=(q_scale * draw(sum(q_lens), config.heads, config.dim, dtype=config.dtype)).astype(
            storage(config.dtype)
        ),
        keys=[rows(length, config.dim) for length in kv_lens],
        values=[rows(length, config.dim_of_values) for length in kv_lens],
        rows=offsets(q_lens),
    )
    if config.stored == "f8e4m3":  # another one for each head, so that a wrong head's shows
        batch.scales = tuple(rng.uniform(0.25, 1, config.kv_heads).astype(np.float32) for _ in range(2))
    return batch


def paged(batch: Batch, config: Config, rng, layout="nhd", fill=NAN, spare=-1, extra=2) -> pf.PagedKV:
    """Scatters the batch's keys and values over randomly ordered pages.

    Slots of no request hold `fill`, table entries past a request's pages `spare`. Layout "interleaved"
    holds K and V of a page side by side in one allocation.
    """
    counts = [-(-len(key) // config.page) for key in batch.keys]
    pages = sum(counts) + extra
    order = rng.permutation(pages)
    table = np.full((len(counts), max(counts, default=0) + extra), spare, np.int32)
    k_pages, v_pages = _pools(config, pages, layout, fill)
    used = 0
    for r, count in enumerate(counts):
        table[r, :count] = order[used : used + count]
        used += count
        for pool, tokens in ((k_pages, batch.keys[r]), (v_pages, batch.values[r])):
            for k in range(len(tokens)):
                page, slot = table[r, k // config.page], k % config.page
                pool[(page, slice(None), slot) if layout == "hnd" else (page, slot)] = tokens[k]
    k_scale, v_scale = batch.scales or (None, None)
    return pf.PagedKV(
        k_pages,
        v_pages,
        table,
        batch.lens,
        "hnd" if layout == "hnd" else "nhd",
        k_scale=k_scale,
        v_scale=v_scale,
    )


def _pools(config: Config, pages: int, layout: str, fill: float):
    dtype = storage(config.stored)
    if layout == "interleaved":
        width = max(config.dim, config.dim_of_values)
        both = np.full((pages, 2, config.page, config.kv_heads, width), fill, dtype)
        return both[:, 0, :, :, : config.dim], both[:, 1, :, :, : config.dim_of_values]
    inner = (config.kv_heads, config.page) if layout == "hnd" else (config.page, config.kv_heads)
    return tuple(np.full((pages, *inner, dim), fill, dtype) for dim in (config.dim, config.dim_of_values))


def run(config: Config, batch: Batch, cache=None, rng=None, **tensors):
    """(out, lse) of the compiled graph; output buffers start as NaN."""
    out = np.full((len(batch.q), config.heads, config.dim_of_values), NAN, storage(config.dtype))
    lse = np.full((len(batch.q), config.heads), NAN, np.float32)
    if config.page is None:
        join = lambda parts, dim: np.concatenate(
            [np.zeros((0, config.kv_heads, dim), storage(config.dtype)), *parts]
        )
        tensors |= {
            "k": join(batch.keys, config.dim),
            "v": join(batch.values, config.dim_of_values),
            "kv_rows": offsets(batch.lens),
        }
    else:
        tensors["cache"] = cache or paged(batch, config, rng or np.random.default_rng(0))
    config.compiled()(q=batch.q, rows=batch.rows, out=(out, lse), **tensors)
    return out, lse


def run_and_check(config: Config, batch: Batch, *, visible=None, sinks=None, slopes=None, **arguments):
    """Runs, compares with the reference, returns (out, lse)."""
    tensors = {name: value for name, value in (("sinks", sinks), ("slopes", slopes)) if value is not None}
    out, lse = run(config, batch, **tensors, **arguments)
    expected = batch.expected(config, sinks=sinks, slopes=slopes, visible=visible)
    reference.check(out, lse, expected, batch.rows, batch.lens, config.dtype, config.kv_dtype)
    return out, lse
