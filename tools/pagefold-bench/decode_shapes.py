# decode_shapes.py - what `pagefold-bench decode` times
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the decode table, and the kernels behind them."""

from __future__ import annotations

import dataclasses

from kernels import BOUND, GROUPED, Kernel, chosen, short

ROTATED_BYTES = 300 << 20  # of K and V between two calls on the same cache: several times the L2
BYTES = {"bf16": 2, "f16": 2, "f8e4m3": 1}
MOST_ROTATIONS = 64
GRAPH_SECONDS = 1.2e-3  # of calls in one CUDA graph, at a bandwidth and a launch cost near the chip's
BANDWIDTH, LAUNCH_SECONDS = 4e12, 3e-6


@dataclasses.dataclass(frozen=True)
class Shape:
    """One call: request i has `kv_lens[i]` tokens on pages, of which `q_lens[i]` are new rows; causal, bottom-right.

    bounds (batch, q_len, kv_len): those of the graph, which serves other shapes too.
    """

    table: str
    label: str
    kv_lens: tuple
    q_lens: tuple
    bounds: tuple
    heads: int = 32
    kv_heads: int = 8
    dim: int = 128
    dtype: str = "bf16"
    kv_dtype: str | None = None  # of the cache, where it is another one: f8e4m3
    pages: tuple = (16, 64)

    causal = True

    def kernel(self, page: int) -> Kernel:
        return Kernel(
            self.heads, self.kv_heads, self.dim, self.dtype, self.causal, page, *self.bounds, self.kv_dtype
        )

    @property
    def stored(self) -> str:
        """The dtype of keys and values."""
        return self.kv_dtype or self.dtype

    @property
    def bound(self) -> float:
        """Of the relative error of a request."""
        return BOUND[self.stored]

    def on_cache_of_queries(self) -> Shape | None:
        """The same call on a cache of the queries' dtype, where this one's is another."""
        return dataclasses.replace(self, kv_dtype=None) if self.kv_dtype else None

    @property
    def batch(self) -> int:
        return len(self.kv_lens)

    @property
    def uniform(self) -> bool:
        """Whether all requests are alike, so that they also are a batch of dense tensors."""
        return len(set(self.kv_lens)) == len(set(self.q_lens)) == 1

    @property
    def q_len(self) -> int:
        """Of the longest request."""
        return max(self.q_lens)

    @property
    def kv_len(self) -> int:
        """Of the longest request."""
        return max(self.kv_lens)

    def kv_bytes(self) -> int:
        """Of K and V, each read once."""
        return 2 * BYTES[self.stored] * self.dim * self.kv_heads * sum(self.kv_lens)

    def rate(self, ms: float) -> float:
        """TB/s of K and V."""
        return self.kv_bytes() / ms / 1e9

    @property
    def cache(self) -> tuple:
        """Shapes with the same one can read the same memory."""
        return self.kv_heads, self.dim, self.stored

    @property
    def rotations(self) -> int:
        """Caches that calls go round, so that none finds its own in the L2."""
        return max(1, min(MOST_ROTATIONS, -(-ROTATED_BYTES // self.kv_bytes())))

    @property
    def calls(self) -> int:
        """Calls in a CUDA graph: whole rounds of the rotation."""
        call = self.kv_bytes() / BANDWIDTH + LAUNCH_SECONDS
        return self.rotations * max(1, -(-int(GRAPH_SECONDS / call) // self.rotations))

    def tokens(self, page: int) -> int:
        """Slots of all pages of one cache."""
        return sum(-(-length // page) for length in self.kv_lens) * page

    def __str__(self) -> str:
        return f"{self.table}: {self.label}"


# Lengths of 64 requests by a Zipf distribution, as a serving system would see them.
ZIPF = tuple(map(int, """
 233 395 134 131 121 546 419 160 253 319 1169 475 373 276 4770 155 118 509 146 1334 138 759 446 194 115 694 128 187 335 243
 105 7116 3498 142 265 181 165 124 225 113 110 589 216 103 836 32768 101 2191 208 303 201 289 1545 150 175 108 638 1036 1820
 926 12503 353 2715 170""".split()))  # fmt: skip

LONGEST = 131072


def _equal(table: str, batch: int, length: int, q_len: int = 1, **change) -> Shape:
    bounds = (128, q_len, LONGEST)
    label = f"{batch} x {short(length)}"
    return Shape(table, label, (length,) * batch, (q_len,) * batch, bounds, **{**GROUPED, **change})


_BATCHES = (
    (1, 1),
    (1, 8),
    (1, 128),
    (8, 8),
    (32, 1),
    (32, 8),
    (32, 32),
    (128, 1),
    (128, 8),
)  # requests, k tokens of each

# From here on a call is a matter of bandwidth, not of what a launch costs.
LARGE_TOKENS = 8 * 8192

_DECODE = (
    *(_equal("decode", batch, thousands * 1024) for batch, thousands in _BATCHES),
    Shape("decode", "Zipf mix of 64", ZIPF, (1,) * len(ZIPF), (128, 1, LONGEST)),
)
SHAPES = (
    *_DECODE,
    _equal("64/8 heads", 32, 8192, heads=64),
    _equal("4 new tokens", 32, 8192, q_len=4),
    _equal("4 new tokens, 64/8 heads", 32, 8192, q_len=4, heads=64),
    _equal("32/1 heads", 32, 8192, kv_heads=1),
    _equal("32/1 heads", 128, 8192, kv_heads=1),
    *(_equal("short pages", batch, 8192, pages=(1, 8)) for batch in (8, 32)),
    Shape("mixed", "60 x 1 on 8k, 4 x 512", (8192,) * 60 + (512,) * 4, (1,) * 60 + (512,) * 4, (64, 512, 8192)),
    *(dataclasses.replace(shape, table="fp8", kv_dtype="f8e4m3")
      for shape in _DECODE if sum(shape.kv_lens) >= LARGE_TOKENS),
)  # fmt: skip

BATCH_INVARIANT = ("--batch-invariant",)  # every kernel is built again so, to see what it costs


def batch_invariant(kernel: Kernel) -> str:
    """The manifest's key of a kernel that is built so."""
    return f"{kernel.name} batch-invariant"


def jobs(arguments):
    """(key of the manifest, kernel, compiler's options) of everything to build, each once."""
    shapes = chosen(SHAPES, arguments.only)
    compared = [other for shape in shapes if (other := shape.on_cache_of_queries())]
    for kernel in dict.fromkeys(shape.kernel(page) for shape in [*shapes, *compared] for page in shape.pages):
        yield kernel.name, kernel, ()
    for kernel in dict.fromkeys(shape.kernel(page) for shape in shapes for page in shape.pages):
        yield batch_invariant(kernel), kernel, BATCH_INVARIANT
