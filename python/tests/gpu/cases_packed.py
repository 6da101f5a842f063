# cases_packed.py - named cases: query tiles that hold the rows of all heads of a group
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""More packed rows than are streamed, and few query rows of each request: groups that fill their rows of a tile and groups
that do not, tiles that requests fill and tiles that they do not. Where `splits` is given, requests of few rows are not
streamed in a kernel of their own but are packed with the others."""

from __future__ import annotations

import matrix
from graphs import Attend, Layer
from registry import add


def lens(rng, config) -> tuple[list[int], list[int]]:
    """As those of the matrix; most requests have all their rows, and some no more keys than that."""
    q_lens = [
        rng.choice((config.q_len, config.q_len, 1, rng.randint(0, config.q_len))) for _ in range(config.batch)
    ]
    kv_lens = [
        rng.choice((n, 17, 128, config.kv_len, rng.randint(1, config.kv_len), rng.randint(1, config.kv_len)))
        for n in q_lens
    ]
    return q_lens, kv_lens


def add_packed(group: int, kv_heads: int, q_len: int, **change) -> None:
    config = Attend(heads=group * kv_heads, kv_heads=kv_heads, q_len=q_len, **change)
    name = f"packed {group} x {q_len}"
    for key, value in change.items():
        name += f", {key} {'-'.join(map(str, value)) if isinstance(value, tuple) else value}"
    add(name, config, lambda f, c: matrix.run_attend(f, c, name, lens))


# Groups and elements.
add_packed(4, 2, 5)
add_packed(4, 2, 16, dtype="f16", page=64)
add_packed(5, 2, 4, sinks=True)
add_packed(5, 2, 16, dtype="f16", page=None)
add_packed(6, 2, 12, score=("alibi",))
add_packed(7, 3, 40, page=None)
add_packed(8, 2, 4)
add_packed(8, 2, 4, dtype="f16", batch=40)
add_packed(8, 8, 16, page=64)
add_packed(12, 1, 5, dtype="f16")
add_packed(16, 2, 4)
add_packed(32, 1, 1)
add_packed(32, 1, 4, dtype="f16", page=None)
add_packed(71, 1, 2, page=64)
add_packed(128, 1, 3)

# Several tiles of a request.
add_packed(2, 2, 64)
add_packed(8, 2, 64, mask=("sink_window", 4, 150))
add_packed(16, 1, 30, dtype="f16", splits=3)

# Masks, scores, sinks, epilogues.
for _mask in (
    ("none",),
    ("window", 7),
    ("window_of",),
    ("prefix", 33),
    ("chunked", 200),
    ("documents",),
    ("causal_or_prefix", 20),
):
    add_packed(8, 2, 7, mask=_mask)
add_packed(8, 2, 8, score=("cap", 20.0), dtype="f16")
add_packed(5, 2, 16, score=("alibi",), sinks=True, gate=True)
add_packed(32, 1, 4, score=("alibi",), sinks=True, gate=True, page=None)

# Parts of the keys, and requests of any number of rows in one kernel.
for _group, _kv_heads, _q_len in ((4, 1, 16), (5, 1, 4), (8, 2, 4), (32, 1, 1)):
    for _batch in (1, 3):
        add_packed(_group, _kv_heads, _q_len, splits=8, kv_len=9000, batch=_batch)
add_packed(8, 1, 4, splits=4, kv_len=9000, batch=2, score=("alibi",), sinks=True, dtype="f16")
add_packed(8, 2, 4, splits=1)

# Pages that boxes bring and pages that they do not.
for _page in (1, 8, 48):
    add_packed(8, 2, 4, page=_page)
    add_packed(4, 2, 1, page=_page, dtype="f16", mask=("window", 100), splits=2)

# Head dimensions: whole panels and others, queries in registers and in shared memory.
for _dim, _v_dim in ((64, 64), (72, 72), (96, 96), (192, 128), (256, 256)):
    add_packed(8, 2, 8, dim=_dim, v_dim=_v_dim)
    add_packed(5, 2, 8, dim=_dim, v_dim=_v_dim, dtype="f16", page=None, splits=3)

for _page in (16, 1):
    add(f"packed layer, pages of {_page}", Layer(heads=16, kv_heads=2, q_len=4, kv_len=700, page=_page, gate=True),
        lambda f, c: matrix.run_layer(f, c, "packed layer"))  # fmt: skip
