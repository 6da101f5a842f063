# prefill_shapes.py - what `pagefold-bench prefill` times
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the prefill and chunk tables, and the kernels behind them."""

from __future__ import annotations

import dataclasses

from kernels import BOUND, DENSE, GROUPED, Kernel, chosen, short


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

    @property
    def bound(self) -> float:
        """Of the relative error of a request."""
        return BOUND[self.dtype]

    def flops(self) -> float:
        """4 d for each (row, key) pair: whole prefill as s s / 2 by convention, chunks those that are visible."""
        pairs = self.q_len * self.kv_len
        if self.causal and self.q_len == self.kv_len:
            pairs /= 2
        elif self.causal:
            pairs -= self.q_len * (self.q_len - 1) / 2
        return 4.0 * self.dim * self.heads * self.batch * pairs

    def rate(self, ms: float) -> float:
        """TFLOP/s."""
        return self.flops() / ms / 1e9

    def __str__(self) -> str:
        return f"{self.table}: {self.label}"


TOKENS = 16384
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
PLACES = (DENSE, 64, 16)


def _whole(table: str, length: int, **change) -> Shape:
    bounds = (TOKENS // LENGTHS[0], TOKENS, TOKENS)
    return Shape(
        table,
        f"{TOKENS // length} x {short(length)}",
        TOKENS // length,
        length,
        length,
        bounds=bounds,
        **change,
    )


def _chunk(table: str, batch: int, tokens: int, context: int) -> Shape:
    label = f"{tokens} on {short(context)} x {batch}"
    return Shape(table, label, batch, tokens, context + tokens, pages=PLACES, **GROUPED)


def _aims():
    for name, change in (("f16", {"dtype": "f16"}), ("d64", {"dim": 64}), ("d256", {"dim": 256})):
        for causal in (True, False):
            for length in (2048, 8192):
                yield _whole(f"{name} {'causal' if causal else 'full'}", length, causal=causal, **change)


PREFILL = (
    *(_whole("full", length, causal=False) for length in LENGTHS),
    *(_whole("causal", length) for length in LENGTHS),
    *(Shape("GQA", short(length), 1, length, length, bounds=(1, 32768, 32768), **GROUPED)
      for length in (1024, 4096, 8192, 16384, 32768)),
)  # fmt: skip
SHAPES = (
    *PREFILL,
    *(_chunk("chunk", 4, 512, context) for context in (4096, 32768)),
    *(Shape("whole on pages", f"{batch} x {short(length)}", batch, length, length, pages=PLACES,
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


def jobs(arguments):
    """(key of the manifest, kernel, compiler's options) of everything to build, each once."""
    shapes = chosen(SHAPES, arguments.only)
    kernels = dict.fromkeys(shape.kernel(page) for shape in shapes for page in shape.pages)
    for kernel in kernels:
        yield kernel.name, kernel, ()
    if arguments.variants:
        for kernel in dict.fromkeys(shape.kernel(page) for shape in VARIED for page in shape.pages):
            for variant, options in VARIANTS.items():
                yield f"{kernel.name} {variant}", kernel, options
