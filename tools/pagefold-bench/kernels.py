# kernels.py - the attention graphs that the GPU tables time
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is compiled for a row of a table, and how rows are named."""

from __future__ import annotations

import dataclasses
import re

import pagefold as pf

DENSE = None  # instead of a page size: K and V are rows of all requests, one after another
GROUPED = {"heads": 32, "kv_heads": 8}
BOUND = {"bf16": 4e-3, "f16": 1e-3, "f8e4m3": 8e-3}  # of the relative error of a request, by the dtype of keys and values


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One graph, good for all shapes up to its bounds. page: DENSE, or tokens of a page."""

    heads: int
    kv_heads: int
    dim: int
    dtype: str
    causal: bool
    page: int | None
    batch: int  # from here on: bounds
    q_len: int
    kv_len: int
    kv_dtype: str | None = None  # of pages, where it is another one: f8e4m3

    @property
    def name(self) -> str:
        mask, place = "causal" if self.causal else "full", f"p{self.page}" if self.page else "dense"
        heads, dtype = f"{self.heads}x{self.kv_heads}", "-".join(filter(None, [self.dtype, self.kv_dtype]))
        return f"{mask}-{dtype}-d{self.dim}-{heads}-{place}-{self.batch}x{self.q_len}x{self.kv_len}"

    def graph(self) -> pf.Graph:
        """(q, [k, v, rows, kv_rows] or [rows, cache]) to (out, lse)."""
        with pf.Graph("attend", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len) as g:
            tensor = lambda name, heads: g.tokens(name, heads=heads, dim=self.dim, dtype=self.dtype)
            q = tensor("q", self.heads)
            rows = {"rows": g.rows()}
            if self.page is DENSE:
                keys = [tensor("k", self.kv_heads), tensor("v", self.kv_heads)]
                rows["kv_rows"] = g.rows("kv_rows")
            else:
                stored = self.kv_dtype or self.dtype
                keys = [g.paged_kv("cache", heads=self.kv_heads, dim=self.dim, dtype=stored, page=self.page)]
            mask = pf.causal() if self.causal else pf.no_mask()
            g.returns(*pf.attention(q, *keys, **rows, scale=self.dim**-0.5, mask=mask, lse=True))
        return g


def chosen(shapes, only: str) -> list:
    """The shapes whose name matches a pattern: what --only does."""
    return [shape for shape in shapes if re.search(only, str(shape))]


def short(length: int) -> str:
    """A length as tables write it: 512, 8k."""
    return f"{length // 1024}k" if length >= 1024 else str(length)
