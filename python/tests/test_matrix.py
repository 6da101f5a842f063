# test_matrix.py - seeded random configurations against the float64 reference
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each graph is compiled once and called on several random batches and layouts of the cache.

PAGEFOLD_MATRIX_SEED and PAGEFOLD_MATRIX_GRAPHS choose another draw or a longer run; the seed of a failure is
in the test's name.
"""

import os

import numpy as np
import pytest
import reference
from harness import NAN, Config, paged, random_batch, run_and_check

import pagefold as pf

pytestmark = pytest.mark.usefixtures("library")

SEED = int(os.environ.get("PAGEFOLD_MATRIX_SEED", "20"))
GRAPHS = int(os.environ.get("PAGEFOLD_MATRIX_GRAPHS", "48"))
CALLS = 6

MASKS = [
    ("none",),
    ("causal",),
    ("causal",),
    ("window", 1),
    ("window", 7),
    ("window", 100),
    ("prefix", 33),
    ("causal_or_prefix", 20),
    ("sink_window", 4, 16),
    ("chunked", 32),
]


def random_config(rng) -> Config:
    pick = lambda *options: options[rng.integers(len(options))]
    group = pick(1, 1, 2, 3, 4, 5, 7, 8, 71)
    kv_heads = 1 if group == 71 else pick(1, 2, 3)
    page = pick(None, 1, 2, 3, 16, 16, 19, 64, 256)
    dim = 8 * int(pick(1, 3, 5, 8, 8, 12, 16, 16, 24, 64, rng.integers(1, 65)))
    return Config(
        heads=group * kv_heads,
        kv_heads=kv_heads,
        dim=dim,
        v_dim=pick(None, None, 8 * int(rng.integers(1, 33))),
        dtype=pick("f32", "f16", "bf16"),
        kv_dtype="f8e4m3" if page and rng.random() < 0.25 else None,
        page=page,
        mask=MASKS[rng.integers(len(MASKS))],
        score=pick(None, None, ("cap", 20.0), ("alibi",)),
        sinks=bool(rng.random() < 0.3),
        bitmap=bool(rng.random() < 0.2),
        batch=8,
        q_len=48,
        kv_len=700,
        tokens=None,
        kv_tile=pick(None, None, 16, 64, 256),
        splits=pick(None, None, 1, 3, 8),
        online_softmax=bool(rng.random() < 0.85),
        form=pick(None, None, "simt"),
    )


def random_lens(rng):
    """Query and key counts of a batch: ones, zeros and odd sizes beside each other."""
    q_lens, kv_lens = [], []
    for _ in range(rng.integers(1, 6)):
        q_lens.append(int(rng.choice([0, 1, 1, 2, rng.integers(3, 40)])))
        kv_lens.append(int(rng.choice([0, 1, 17, 64, rng.integers(2, 200), rng.integers(200, 600)])))
    return q_lens, kv_lens


@pytest.mark.parametrize("seed", [f"{SEED}-{index}" for index in range(GRAPHS)])
def test_matrix(seed):
    rng = np.random.default_rng([int(part) for part in seed.split("-")])
    config = random_config(rng)
    print(f"seed {seed}: {config}")
    for _ in range(CALLS):
        q_lens, kv_lens = random_lens(rng)
        print(f"q_lens {q_lens}, kv_lens {kv_lens}")
        batch = random_batch(rng, config, q_lens, kv_lens)
        arguments, visible = {}, None
        if config.bitmap:
            masks = [rng.random((n, length)) < 0.7 for n, length in zip(q_lens, kv_lens)]
            base = reference.mask(*config.mask)
            visible = lambda r, q, k, n, length: masks[r][q, k] & base(r, q, k, n, length)
            arguments["bits"], arguments["starts"] = pf.pack_mask(masks, batch.rows, batch.lens)
        if config.page is not None:
            layout = ("nhd", "hnd", "interleaved")[rng.integers(3)]
            arguments["cache"] = paged(
                batch, config, rng, layout, fill=NAN, spare=int(rng.choice([-1, 2**31 - 1, 0]))
            )
        run_and_check(
            config,
            batch,
            visible=visible,
            **arguments,
            sinks=rng.standard_normal(config.heads, np.float32) if config.sinks else None,
            slopes=pf.alibi_slopes(config.heads) if config.score == ("alibi",) else None,
        )
