# layer_shapes.py - what `pagefold-bench layer` times
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the small ops of a layer cost: RoPE of the new queries and keys, and the append to the cache, beside attention and alone."""

from __future__ import annotations

import dataclasses

from decode_shapes import BYTES, LONGEST, Shape
from kernels import GROUPED, Kernel, chosen, short

import pagefold as pf

PAGE = 16
TOGETHER, APART = (), ("--no-fuse-append",)
THETA = 500000.0


@dataclasses.dataclass(frozen=True)
class Layer(Kernel):
    """RoPE of q and k, append, and attention, unless there is none: then the turned queries are the result."""

    attention: bool = True

    @property
    def name(self) -> str:
        return f"{'layer' if self.attention else 'rows'}-{super().name}"

    def graph(self) -> pf.Graph:
        with pf.Graph("layer", batch=self.batch, q_len=self.q_len, kv_len=self.kv_len) as g:
            q, k, v = (
                g.tokens(name, heads=heads, dim=self.dim, dtype=self.dtype)
                for name, heads in (("q", self.heads), ("k", self.kv_heads), ("v", self.kv_heads))
            )
            rows = g.rows()
            cache = g.paged_kv("cache", heads=self.kv_heads, dim=self.dim, dtype=self.dtype, page=self.page)
            cos, sin = (g.tensor(name, None, self.dim // 2) for name in ("cos", "sin"))
            q, k = (pf.rope(x, cos, sin, rows=rows, cache=cache) for x in (q, k))
            cache = pf.append(k, v, cache, rows=rows)
            if self.attention:
                q = pf.attention(q, cache, rows=rows, scale=self.dim**-0.5, mask=pf.causal(), lse=True)
                g.returns(*q)
            else:
                g.returns(q)
        return g


@dataclasses.dataclass(frozen=True)
class LayerShape(Shape):
    """New tokens of requests whose length counts them; `attends` as in Layer."""

    attends: bool = True

    def kernel(self, page: int) -> Layer:
        plain = self.plain(page)
        fields = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        return Layer(**fields, attention=self.attends)

    def plain(self, page: int) -> Kernel:
        """Attention alone, on a cache that has the new tokens."""
        return super().kernel(page)

    def row_bytes(self) -> int:
        """What the small ops read and write: queries, new keys and values."""
        return 2 * BYTES[self.dtype] * self.dim * (self.heads + 2 * self.kv_heads) * sum(self.q_lens)


def _shape(table: str, batch: int, length: int, q_len: int, most: int, attends: bool) -> LayerShape:
    label = f"{batch} x {short(length)}"
    return LayerShape(table, label, (length,) * batch, (q_len,) * batch, (most, q_len, LONGEST), pages=(PAGE,),
                      attends=attends, **GROUPED)  # fmt: skip


SHAPES = (
    *(_shape("step", batch, thousands * 1024, 1, 128, True)
      for batch, thousands in ((1, 1), (1, 8), (8, 8), (32, 1), (32, 8), (128, 1))),
    *(_shape("prompt", batch, length, length, 8, False) for batch, length in ((1, 2048), (1, 8192), (4, 8192))),
)  # fmt: skip


def jobs(arguments):
    """(key of the manifest, kernel, compiler's options) of everything to build, each once."""
    done = {}
    for shape in chosen(SHAPES, arguments.only):
        layer = shape.kernel(PAGE)
        done[layer.name] = layer, TOGETHER
        done[f"{layer.name} apart"] = layer, APART
        if shape.attends:
            done[shape.plain(PAGE).name] = shape.plain(PAGE), TOGETHER
    for key, (kernel, options) in done.items():
        yield key, kernel, options
