# cases_cascade.py - named cases: a prefix that all requests share, read once
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared prefixes of several lengths in every batch, against attention over whole requests."""

from __future__ import annotations

import dataclasses
import math

from graphs import MASKS, Attend
from registry import add

import pagefold as pf


@dataclasses.dataclass(frozen=True)
class Cascade(Attend):
    """An Attend over a cache whose requests share their first n keys: arguments q, rows, cache, n, and sinks."""

    @property
    def options(self) -> dict:
        return {"cascade": "always"}

    def _keys(self, g: pf.Graph, options: dict) -> list:
        return [pf.shared_prefix(*super()._keys(g, options), g.tensor("n", 1, dtype="i32"))]


def share(batch, config, common: int):
    """The batch's cache, after its requests have got the first `common` keys of the longest one in the same pages. The
    pages that they had are NaN."""
    import batches

    cache = batches.paged(batch, config, 5)
    donor = max(range(len(batch.kv_lens)), key=lambda r: batch.kv_lens[r])
    for r, length in enumerate(batch.kv_lens):
        pages = min(common, length) // config.page
        if r == donor or not pages:
            continue
        own = cache.table[r, :pages].long()
        for target in (cache.k_pages, cache.v_pages):
            batches.indexable(target)[own] = batches.indexable(
                batches.filled(target[own].shape, math.nan, config.stored)
            )
        cache.table[r, :pages] = cache.table[donor, :pages]
        for parts in (batch.keys, batch.values):
            parts[r][: pages * config.page] = parts[donor][: pages * config.page]
    return cache


def prefixes(q_lens, kv_lens, common: int, promises, **extras):
    """The same batch under each promise: of nothing, of less than is shared, of all."""

    def body(function, config):
        import batches
        import oracle

        batch = batches.random_batch(config, q_lens, kv_lens, 11)
        cache = share(batch, config, common)
        given = {"sinks": batches.f32([0.5 * h - 2 for h in range(config.heads)])} if config.sinks else {}
        expected = oracle.attention(config, batch, given)
        for n in promises:
            out, lse = batches.attend(function, config, batch, cache=cache, n=batches.i32([n]), **given)
            oracle.check(config, batch, out, lse, expected)

    return body


# Few rows: decode over the rest, and a prefix whose rows are those of the whole batch.
for _dtype in ("bf16", "f16"):
    for _page in (16, 64):
        add(f"cascade decode {_dtype}, pages of {_page}",
            Cascade(heads=16, kv_heads=4, dtype=_dtype, page=_page, batch=24, q_len=1, kv_len=1500),
            prefixes([1] * 20, [1100 + 17 * r for r in range(20)], 1024, (0, 64, 1000, 1024)))  # fmt: skip
# Chunks, with requests that have no rows or no keys.
add("cascade chunks", Cascade(batch=6, q_len=200, kv_len=2100),
    prefixes([0, 130, 1, 0, 17], [700, 900, 513, 0, 2000], 512, (0, 16, 512)))  # fmt: skip
add("cascade without a mask, with sinks and a cap",
    Cascade(mask=("none",), sinks=True, score=("cap", 5.0), batch=5, q_len=3, kv_len=700),
    prefixes([3, 1, 2], [400, 300, 650], 256, (0, 256)))  # fmt: skip
# The forms of one thread a row, and of wide heads.
add("cascade f32", Cascade(dtype="f32", dim=64, batch=4, q_len=2, kv_len=400),
    prefixes([1, 2, 1], [300, 170, 399], 160, (0, 160)))  # fmt: skip
add("cascade d 256", Cascade(dim=256, heads=4, kv_heads=2, batch=9, q_len=1, kv_len=900),
    prefixes([1] * 9, [600 + r for r in range(9)], 512, (512,)))  # fmt: skip
add("cascade pages of 8", Cascade(page=8, batch=9, q_len=1, kv_len=600),
    prefixes([1] * 9, [400 + r for r in range(9)], 296, (0, 296)))  # fmt: skip
add("cascade of nothing", Cascade(batch=3, q_len=2, kv_len=300),
    prefixes([2, 1], [100, 0], 64, (0, 64)))  # fmt: skip


def a_prefix_of_zeros(function, config):
    """Q = 0, V = 0 in the prefix and 1 behind it: the weights are counts, in both parts' lse alike."""
    import batches

    batch = batches.random_batch(config, [1] * 8, [3136] * 8, 2, q_scale=0.0)
    for values in batch.values:
        values[:3072], values[3072:] = 0, 1
    cache = share(batch, config, 3072)
    out, lse = batches.attend(function, config, batch, cache=cache, n=batches.i32([3072]))
    assert abs(out.double() - 64 / 3136).max() < 1e-4, "the weights are not those of one softmax"
    assert abs(lse.double() - math.log(3136)).max() < 1e-3, "the lse is not that of all keys"


add("A33 cascade", Cascade(batch=8, q_len=1, kv_len=3136), a_prefix_of_zeros)


def wrong_promises_are_told(function, config):
    """Longer than what lies before the rows, and over pages that differ: an error at the next call, and right results."""
    import batches
    import oracle

    batch = batches.random_batch(config, [1, 4, 1], [900, 640, 1200], 4)
    cache = share(batch, config, 512)
    expected = oracle.attention(config, batch)
    for n, said in ((800, "shared prefix 800 expects 0 <= keys <= 636"), (576, "lies in another page")):
        guarded = [
            batches.Guarded((6, config.heads, config.dim), batches.TORCH[config.dtype]),
            batches.Guarded((6, config.heads), batches.torch.float32),
        ]
        arguments = {"q": batch.q, "rows": batches.i32(batches.offsets(batch.q_lens)), "cache": cache}
        message = ""
        try:
            function(**arguments, n=batches.i32([n]), out=tuple(g.view for g in guarded))
            batches.synchronize()
            function.check()
        except pf.PagefoldError as error:
            message = str(error)
        assert said in message, f"expected an error with '{said}', got '{message}'"
        oracle.check(config, batch, *(g.view for g in guarded), expected)


add("cascade with wrong promises", Cascade(batch=3, q_len=4, kv_len=1200), wrong_promises_are_told)
