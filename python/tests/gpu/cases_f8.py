# cases_f8.py - named cases: caches of 8 bits and their scales
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of failures that others reported; the number is that of the report's summary."""

from __future__ import annotations

import dataclasses
import math

from cases_scores import checked
from graphs import Attend
from registry import add

import pagefold as pf


# ---- A29: the sink enters the denominator once ---------------------------------------------------------------


def the_sink_counts_once(function, config):
    """Q = 0, V = 1: each row is L / (L + exp(sink)), whatever the scales of K are."""
    import batches
    import torch

    sinks = [math.log(100), 0.0, -10.0, 80.0, -math.inf, math.log(100), 1.0, 2.0]
    batch = batches.random_batch(config, [config.q_len], [100], 29)
    batch.q.zero_()
    batch.values = [torch.ones_like(batches.normal(0, *x.shape)).to(x.dtype) for x in batch.values]
    batch.scales = (batch.scales[0], torch.ones_like(batch.scales[1]))
    out, _ = batches.attend(function, config, batch, sinks=batches.f32(sinks))
    expected = batches.f32([100 / (100 + math.exp(sink)) for sink in sinks])[:, None]
    assert ((out.float() - expected).abs() <= 2**-8 * expected).all()


for _q_len in (1, 9):
    for _splits in (None, 4):
        add(f"A29 fp8, q_len {_q_len}{', splits 4' if _splits else ''}",
            Attend(kv_dtype="f8e4m3", mask=("none",), sinks=True, batch=1, q_len=_q_len, kv_len=100, splits=_splits),
            the_sink_counts_once)  # fmt: skip


# ---- A32: scales ----------------------------------------------------------------------------------------------


def every_head_has_its_scales(function, config):
    import batches

    for k_scale, v_scale in (([0.25] * 4, [0.5] * 4), ([1.0] * 4, [0.0109] * 4), ([1.0, 2.0, 4.0, 8.0], [8.0, 4.0, 2.0, 1.0])):
        for layout in ("nhd", "hnd", "interleaved"):
            batch = batches.random_batch(config, [config.q_len, 1, 0], [200, 70, 3], 32, q_scale=0.5)
            batch.scales = batches.f32(k_scale), batches.f32(v_scale)
            checked(function, config, batch, cache=batches.paged(batch, config, 1, layout))


for _dtype in ("bf16", "f16", "f32"):
    for _q_len in (1, 40):
        for _splits in (None, 3):
            add(f"A32 scales, {_dtype}, q_len {_q_len}{', splits 3' if _splits else ''}",
                Attend(kv_heads=4, dtype=_dtype, kv_dtype="f8e4m3", batch=3, q_len=_q_len, kv_len=200, splits=_splits),
                every_head_has_its_scales)  # fmt: skip


def nan_tails_are_never_read(function, config):
    """A01 with bytes of 0x7F."""
    import batches
    import torch

    batch = batches.random_batch(config, [config.q_len] * 3, [13, 1, 65], 1)
    fills = [batches.paged(batch, config, 1, fill=fill) for fill in (0.0, math.nan)]
    clean, poisoned = (checked(function, config, batch, cache=cache) for cache in fills)
    assert all(torch.equal(batches.bits(a), batches.bits(b)) for a, b in zip(clean, poisoned))


for _page in (4, 16):
    add(f"A01 fp8, pages of {_page}", Attend(kv_dtype="f8e4m3", page=_page, batch=3, q_len=7, kv_len=65),
        nan_tails_are_never_read)  # fmt: skip


# ---- A32: what is appended ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Append:
    """Arguments: k, v, rows, cache; result: attention of k over the cache, which is there to be returned."""

    dtype: str
    heads: int = 4
    dim: int = 16
    options = {}

    def graph(self) -> pf.Graph:
        with pf.Graph("append", batch=2, q_len=8, kv_len=64) as g:
            k, v = (g.tokens(name, heads=self.heads, dim=self.dim, dtype=self.dtype) for name in "kv")
            rows = g.rows()
            cache = g.paged_kv("cache", heads=self.heads, dim=self.dim, dtype="f8e4m3", page=16)
            g.returns(pf.attention(k, pf.append(k, v, cache, rows=rows), rows=rows, scale=1.0))
        return g


# (appended, stored): ties go to the even neighbour, the greatest number is 448.
ROUNDED = [(1000.0, 0x7E), (-1000.0, 0xFE), (448.0, 0x7E), (464.0, 0x7E), (-465.0, 0xFE), (math.inf, 0x7E),
           (-math.inf, 0xFE), (0.0, 0x00), (-0.0, 0x80), (17.0, 0x58), (19.0, 0x5A), (2.0**-6, 0x08), (2.0**-9, 0x01),
           (2.0**-10, 0x00), (1.5 * 2.0**-9, 0x02), (-(2.0**-7), 0x84)]  # fmt: skip


def appended_rows_saturate(function, config):
    import batches
    import torch

    kind = batches.TORCH[config.dtype]
    given, stored = zip(*ROUNDED)
    rows = batches.f32(given)[None, None].expand(3, config.heads, -1)
    for scales in ([1.0] * 4, [1.0, 2.0, 0.5, 8.0]):
        scale = batches.f32(scales)
        pools = [batches.filled((2, 16, config.heads, config.dim), math.nan, "f8e4m3") for _ in range(2)]
        cache = pf.PagedKV(*pools, batches.i32([[1], [0]]), batches.i32([2, 1]), k_scale=scale, v_scale=2 * scale)
        k, v = ((rows * s[:, None]).to(kind) for s in (scale, 2 * scale))
        k[1, 2, 3] = math.nan
        batches.call(function, [(k.shape, kind)], k=k, v=v, rows=batches.i32([0, 2, 3]), cache=cache)
        expected = torch.tensor(stored, dtype=torch.uint8, device=k.device).expand(config.heads, -1).clone()
        for pool, clean in zip(map(batches.indexable, pools), (False, True)):
            for row, (page, slot) in enumerate(((1, 0), (1, 1), (0, 0))):
                got, want = pool[page, slot].clone(), expected.clone()
                if row == 1 and not clean:
                    assert got[2, 3] & 0x7F == 0x7F, "NaN stays NaN"
                    got[2, 3] = want[2, 3]
                assert torch.equal(got, want), f"row {row}: stored {got.tolist()}"
            assert (pool[1, 2:] == 0x7F).all() and (pool[0, 1:] == 0x7F).all(), "other slots are written"


for _dtype in ("bf16", "f32"):
    add(f"A32 append, {_dtype}", Append(_dtype), appended_rows_saturate)
