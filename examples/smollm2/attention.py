# attention.py - the model's attention, by Pagefold and by definition
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two implementations of one interface:

    begin(batch, rows)          the requests of this step and the offsets of their tokens
    attend(layer, q, k, v)      rotates q and k, appends k and v, attends
    release(request)            the request is finished

GGUF keeps Llama's own order of the rows of Wq and Wk, so that the rotary pairs are (x[2j], x[2j + 1]).
"""

from __future__ import annotations

import numpy as np
from weights import Shape

import pagefold

PAGE = 16


def layer_graph(shape: Shape, *, batch: int, chunk: int, context: int) -> pagefold.Graph:
    """RoPE, append and attention of one layer; all layers share what is compiled from it."""
    with pagefold.Graph("layer", batch=batch, q_len=chunk, kv_len=context) as g:
        q = g.tokens("q", heads=shape.heads, dim=shape.dim)
        k, v = (g.tokens(name, heads=shape.kv_heads, dim=shape.dim) for name in ("k", "v"))
        rows, cache = g.rows(), g.paged_kv("cache", heads=shape.kv_heads, dim=shape.dim, page=PAGE)
        cos, sin = g.tensor("cos", None, shape.dim // 2), g.tensor("sin", None, shape.dim // 2)
        q, k = (pagefold.rope(x, cos, sin, rows=rows, cache=cache, pairing="interleaved") for x in (q, k))
        cache = pagefold.append(k, v, cache, rows=rows)
        g.returns(pagefold.attention(q, cache, rows=rows, scale=shape.dim**-0.5, mask=pagefold.causal()))
    return g


class PagedAttention:
    """A pool of f32 pages for all layers, K and V of a page side by side, and one compiled graph."""

    def __init__(self, shape: Shape, *, batch: int, chunk: int, context: int):
        self.module = pagefold.compile(layer_graph(shape, batch=batch, chunk=chunk, context=context))
        self.tables = pagefold.rope_tables(context, shape.dim, shape.rope_theta)
        self.width = -(-context // PAGE)
        # What is not written is NaN: nothing of it may reach the text.
        self.pool = np.full(
            (shape.layers, batch * self.width, 2, PAGE, shape.kv_heads, shape.dim), np.nan, np.float32
        )
        self.free = list(range(batch * self.width))
        self.pages: dict = {}

    def begin(self, batch: list, rows: np.ndarray) -> None:
        self.rows = rows
        self.lens = np.array([request.cached for request in batch], np.int32) + np.diff(rows)
        self.table = np.full((len(batch), self.width), -1, np.int32)
        for r, (request, length) in enumerate(zip(batch, self.lens)):
            pages = self.pages.setdefault(request, [])
            while len(pages) * PAGE < length:
                pages.append(self.free.pop())
            self.table[r, : len(pages)] = pages

    def attend(self, layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        cache = pagefold.PagedKV(self.pool[layer, :, 0], self.pool[layer, :, 1], self.table, self.lens)
        cos, sin = self.tables
        return self.module(q=q, k=k, v=v, rows=self.rows, cache=cache, cos=cos, sin=sin)

    def release(self, request) -> None:
        self.free += self.pages.pop(request)


class PlainAttention:
    """The same by definition, in float64, on lists of keys and values."""

    def __init__(self, shape: Shape):
        self.shape, self.kept = shape, {}

    def begin(self, batch: list, rows: np.ndarray) -> None:
        self.batch, self.rows = batch, rows

    def attend(self, layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.zeros(q.shape)
        for request, start, end in zip(self.batch, self.rows, self.rows[1:]):
            positions = request.cached + np.arange(end - start)
            new = self._rotate(k[start:end], positions), v[start:end].astype(np.float64)
            old = self.kept.get((request, layer))
            keys, values = new if old is None else (np.concatenate(pair) for pair in zip(old, new))
            self.kept[request, layer] = keys, values
            out[start:end] = self._softmax(self._rotate(q[start:end], positions), keys, values, positions)
        return out.astype(np.float32)

    def release(self, request) -> None:
        self.kept = {key: value for key, value in self.kept.items() if key[0] is not request}

    def _rotate(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        dim = self.shape.dim
        turn = np.exp(1j * positions[:, None] * self.shape.rope_theta ** (-np.arange(0, dim, 2) / dim))
        return (x.astype(np.float64).view(np.complex128) * turn[:, None]).view(np.float64)

    def _softmax(self, q, keys, values, positions) -> np.ndarray:
        group = self.shape.heads // self.shape.kv_heads
        keys, values = np.repeat(keys, group, axis=1), np.repeat(values, group, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, keys) * self.shape.dim**-0.5
        scores[:, positions[:, None] < np.arange(len(keys))] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.einsum("hqk,khd->qhd", weights / weights.sum(axis=-1, keepdims=True), values)
