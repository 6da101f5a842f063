# test_visits.py - which tiles a call visits, by its own counters
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No tile that the mask excludes is visited, and no mask code runs in a full tile.

A module compiled with counters=True says what it did; here every (query tile, KV tile) is enumerated element by
element and must agree. The tiles are small, so that edges fall inside and between them.
"""

import numpy as np
import pytest

import pagefold as pf

Q_TILE, KV_TILE = 16, 16
LENGTHS = [(0, 0), (0, 40), (1, 0), (1, 1), (1, 17), (5, 5), (7, 64), (33, 33), (40, 97), (64, 64), (20, 9)]


def causal(q, k):
    return k <= q


# name: (mask, visible(position of the row, key), may one full tile of a query tile count as partial?)
MASKS = {
    "none": (pf.no_mask(), lambda p, k: np.ones(np.broadcast(p, k).shape, bool), False),
    "causal": (pf.causal(), causal, False),
    "window": (pf.window(24), lambda p, k: causal(p, k) & (k > p - 24), False),
    "prefix": (pf.prefix(20), lambda p, k: np.broadcast_to(k < 20, np.broadcast(p, k).shape), False),
    "prefix or causal": (pf.prefix(20) | pf.causal(), lambda p, k: (k < 20) | causal(p, k), False),
    "sink_window": (pf.sink_window(5, 16), lambda p, k: causal(p, k) & ((k < 5) | (k > p - 16)), True),
    "chunked": (pf.chunked(32), lambda p, k: causal(p, k) & (p // 32 == k // 32), False),
}


def enumerate_tiles(visible, group, kv_heads):
    """(full, partial, skipped) over all requests, KV heads and query tiles."""
    full = partial = skipped = 0
    for q_len, kv_len in LENGTHS:
        rows = np.arange(q_len * group) // group
        for first in range(0, len(rows), Q_TILE):
            positions = rows[first : first + Q_TILE] + kv_len - q_len
            for key in range(0, kv_len, KV_TILE):
                keys = np.arange(key, min(key + KV_TILE, kv_len))
                seen = visible(positions[:, None], keys[None, :])
                if not seen.any():
                    skipped += 1
                elif seen.all() and len(keys) == KV_TILE:
                    full += 1
                else:
                    partial += 1
    return full * kv_heads, partial * kv_heads, skipped * kv_heads


def count(mask, group, kv_heads, splits):
    heads, dim = group * kv_heads, 16
    with pf.Graph("attend", batch=len(LENGTHS), q_len=64, kv_len=128) as g:
        q = g.tokens("q", heads=heads, dim=dim, dtype="f32")
        k = g.tokens("k", heads=kv_heads, dim=dim, dtype="f32")
        v = g.tokens("v", heads=kv_heads, dim=dim, dtype="f32")
        g.returns(pf.attention(q, k, v, rows=g.rows(), kv_rows=g.rows("kv_rows"), scale=0.25, mask=mask))
    module = pf.compile(g, counters=True, q_tile=Q_TILE, kv_tile=KV_TILE, splits=splits)
    q_lens, kv_lens = np.array(LENGTHS, np.int32).T
    rng = np.random.default_rng(0)
    tokens, keys = int(q_lens.sum()), int(kv_lens.sum())
    offsets = [np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in (q_lens, kv_lens)]
    draw = lambda n, h: rng.standard_normal((n, h, dim), dtype=np.float32)  # noqa: E731
    function = module.function()
    function(
        q=draw(tokens, heads), k=draw(keys, kv_heads), v=draw(keys, kv_heads), rows=offsets[0], kv_rows=offsets[1]
    )
    return function.counters()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("name", MASKS)
def test_visited_tiles_are_those_that_the_mask_shows(name, group, splits):
    mask, visible, may_mask_full = MASKS[name]
    full, partial, skipped = enumerate_tiles(visible, group, kv_heads=2)
    got = count(mask, group, 2, splits)
    assert got["tiles_skipped"] == skipped
    assert got["tiles_full"] + got["tiles_partial"] == full + partial
    if may_mask_full:
        query_tiles = sum(-(-q_len * group // Q_TILE) for q_len, _ in LENGTHS) * 2
        assert full - query_tiles <= got["tiles_full"] <= full
    else:
        assert got["tiles_full"] == full
    # Mask code ran in the partial tiles alone: at most Q_TILE x KV_TILE elements in each.
    assert got["masked_elements"] <= got["tiles_partial"] * Q_TILE * KV_TILE
    assert (got["masked_elements"] > 0) == (got["tiles_partial"] > 0)
