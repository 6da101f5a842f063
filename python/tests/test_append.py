# test_append.py - appending, rotary embeddings and chunked prefill
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np
import pytest
import reference
from harness import NAN, Config, offsets, paged, random_batch

import pagefold as pf

pytestmark = pytest.mark.usefixtures("library")


def layer(
    config: Config, page: int, rotary: int | None = None, pairing="half_split", positions=None
) -> pf.Module:
    """RoPE where asked for, append, attention; returns (out, rotated q)."""
    with pf.Graph("layer", batch=8, q_len=128, kv_len=2048, tokens=256) as g:
        q, k, v = (
            g.tokens(name, heads=heads, dim=config.dim, dtype=config.dtype)
            for name, heads in (("q", config.heads), ("k", config.kv_heads), ("v", config.kv_heads))
        )
        rows, cache = (
            g.rows(),
            g.paged_kv("cache", heads=config.kv_heads, dim=config.dim, dtype=config.dtype, page=page),
        )
        if rotary:
            cos, sin = g.tensor("cos", None, rotary // 2), g.tensor("sin", None, rotary // 2)
            where = (
                {"positions": g.positions(dtype=positions)} if positions else {"rows": rows, "cache": cache}
            )
            q, k = (pf.rope(x, cos, sin, pairing=pairing, **where) for x in (q, k))
        cache = pf.append(k, v, cache, rows=rows)
        out = pf.attention(q, cache, rows=rows, scale=config.scale, mask=pf.causal())
        g.returns(out, q) if rotary else g.returns(out)
    return pf.compile(g)


def test_A24_chunks_see_what_was_written_and_no_more():
    config, rng = Config(), np.random.default_rng(24)
    module = layer(config, 16)
    # Request 0 is prefilled in chunks; beside it a request decodes.
    batch = random_batch(rng, config, [100, 4], [100, 54])
    expected = batch.expected(config)
    cache = paged(batch, config, rng)
    cache.k_pages[cache.table[0, :7]], cache.v_pages[cache.table[0, :7]] = NAN, NAN
    done = 0
    for step, chunk in enumerate((32, 32, 32, 4)):
        rows, at = offsets([chunk, 1]), 50 + step
        pick = lambda first, second: np.concatenate([first[done : done + chunk], second])
        q = pick(batch.q[:100], batch.q[100 + step : 101 + step])
        k, v = (pick(part[0], part[1][at : at + 1]) for part in (batch.keys, batch.values))
        cache.lens[:] = done + chunk, at + 1
        out = module(q=q, k=k, v=v, rows=rows, cache=cache)
        reference.check(
            out[:chunk],
            None,
            reference.Result(expected.out[done : done + chunk], None, expected.peak),
            [0, chunk],
            [100],
            "f32",
        )
        reference.check(
            out[chunk:],
            None,
            reference.Result(expected.out[100 + step : 101 + step], None, [expected.peak[1]]),
            [0, 1],
            [54],
            "f32",
        )
        done += chunk
    for r, page in ((0, 0), (0, 6), (1, 3)):
        tokens = batch.keys[r][16 * page : 16 * page + 16]
        assert np.array_equal(cache.k_pages[cache.table[r, page], : len(tokens)], tokens)


def test_A24_padding_rows_write_nothing():
    config, rng = Config(), np.random.default_rng(39)
    batch = random_batch(rng, config, [3, 1], [1, 20])  # two rows of request 0 stand before position 0
    cache = paged(batch, config, rng, fill=0.5)
    before = cache.k_pages.copy()
    k, v = (rng.standard_normal((4, config.kv_heads, config.dim), np.float32) for _ in range(2))
    out = layer(config, 16)(q=batch.q, k=k, v=v, rows=batch.rows, cache=cache)
    assert (out[:2] == 0).all() and np.isfinite(out).all()
    changed = np.argwhere((cache.k_pages != before).any(axis=(2, 3))).tolist()
    assert sorted(changed) == sorted([[cache.table[0, 0], 0], [cache.table[1, 1], 3]])
    assert np.array_equal(cache.k_pages[cache.table[0, 0], 0], k[2])


POSITIONS = [0, 1, 255, 256, 257, 4095, 15962, 131071, 1000003]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize("theta", [1e4, 1e6])
@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
@pytest.mark.parametrize("rotary", [32, 64, 128])
def test_A45_rotations_at_any_position(rotary, pairing, theta, index, dtype):
    config, rng = Config(dim=128, heads=2, kv_heads=1, dtype=dtype), np.random.default_rng(45)
    batch = random_batch(rng, config, [9], [9])
    cache = paged(batch, config, rng)
    # The table holds the rows of these positions alone, so that positions index it from 0.
    cos, sin = pf.rope_tables(np.array(POSITIONS), rotary, theta)
    positions = np.arange(9).astype({"i32": np.int32, "i64": np.int64}[index])
    k, v = batch.keys[0], batch.values[0]
    _, q = layer(config, 16, rotary, pairing, index)(
        q=batch.q, k=k, v=v, rows=batch.rows, cache=cache, cos=cos, sin=sin, positions=positions
    )
    cached = cache.k_pages[cache.table[0, 0], :9]
    for got, given in ((q, batch.q), (cached, k)):
        assert got[..., rotary:].tobytes() == given[..., rotary:].tobytes()
        expected = reference.rope(given, POSITIONS, rotary, theta, pairing)
        ulp = {"f32": 2**-23, "bf16": 2**-7}[dtype]
        slack = (
            2 * ulp * np.maximum(np.abs(expected), 2**-6)
            + np.array(POSITIONS)[:, None, None] * 2**-50
            + 4 * 2**-23
        )
        assert (np.abs(got.astype(np.float64) - expected) <= slack).all()


def test_A45_positions_from_the_cache():
    config, rng = Config(), np.random.default_rng(46)
    batch = random_batch(rng, config, [5, 1, 2], [5, 300, 17])
    cache = paged(batch, config, rng)
    k, v = (
        np.concatenate([part[r][-n:] for r, n in enumerate([5, 1, 2])]) for part in (batch.keys, batch.values)
    )
    cos, sin = pf.rope_tables(400, 64)
    _, q = layer(config, 16, 64)(q=batch.q, k=k, v=v, rows=batch.rows, cache=cache, cos=cos, sin=sin)
    positions = [0, 1, 2, 3, 4, 299, 15, 16]
    assert np.abs(q - reference.rope(batch.q, positions, 64, 1e4)).max() <= 1e-5
    expected = reference.rope(k, positions, 64, 1e4)
    assert np.abs(cache.k_pages[cache.table[1, 299 // 16], 299 % 16] - expected[5]).max() <= 1e-5


def test_A45_a_position_past_the_table_is_an_error_of_its_request():
    config, rng = Config(), np.random.default_rng(47)
    batch = random_batch(rng, config, [1, 1], [5, 40])
    cos, sin = pf.rope_tables(20, 64)
    with pytest.raises(pf.PagefoldError, match="request 1"):
        layer(config, 16, 64)(
            q=batch.q,
            k=batch.keys[0][:2],
            v=batch.values[0][:2],
            rows=batch.rows,
            cache=paged(batch, config, rng),
            cos=cos,
            sin=sin,
        )
