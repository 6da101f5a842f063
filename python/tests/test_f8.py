# test_f8.py - caches of 8-bit floats and their scales
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import dataclasses
import functools

import numpy as np
import pytest
import reference
from harness import NAN, Config, offsets, paged, random_batch, run, run_and_check, storage

import pagefold as pf

pytestmark = pytest.mark.usefixtures("library")
ml_dtypes = pytest.importorskip("ml_dtypes")
F8 = ml_dtypes.float8_e4m3fn

FP8 = Config(dtype="bf16", kv_dtype="f8e4m3", heads=8, kv_heads=4)
FORMS = ("dot", "outer", "simt")


def scaled(batch, k_scale, v_scale):
    return dataclasses.replace(batch, scales=tuple(np.array(s, np.float32) for s in (k_scale, v_scale)))


# ---- What is read ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_every_byte_is_its_number(form):
    """One key, so that the result is its value exactly: the 254 bytes that are numbers."""
    config = dataclasses.replace(FP8, dtype="f32", heads=1, kv_heads=1, dim=256, mask=("none",), form=form)
    stored = np.arange(256, dtype=np.uint8)
    stored[[0x7F, 0xFF]] = 0
    batch = random_batch(np.random.default_rng(0), config, [1], [1])
    batch = scaled(dataclasses.replace(batch, values=[stored.view(F8)[None, None]]), [1], [1])
    out, _ = run(config, batch)
    assert np.array_equal(out[0, 0], stored.view(F8).astype(np.float32))


def test_A03_a_nan_byte_stays_with_who_sees_it():
    batch = random_batch(np.random.default_rng(3), FP8, [4], [40])
    batch.keys[0][38, 0] = NAN
    out, lse = run(FP8, batch)
    sees = np.zeros(out.shape[:2], bool)
    sees[2:, : FP8.heads // FP8.kv_heads] = True  # rows at positions 38 and 39
    assert np.isnan(out[sees].astype(np.float32)).all() and np.isnan(lse[sees]).all()
    assert np.isfinite(out[~sees].astype(np.float32)).all() and np.isfinite(lse[~sees]).all()


@pytest.mark.parametrize("layout", ["nhd", "hnd", "interleaved"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(
    "k_scale, v_scale",
    [([0.25] * 4, [0.5] * 4), ([1] * 4, [0.0109] * 4), ([1, 2, 4, 8], [8, 4, 2, 1])],
    ids=["whole", "small", "heads"],
)
def test_A32_every_head_has_its_scales(k_scale, v_scale, dtype, form, layout):
    config = dataclasses.replace(FP8, dtype=dtype, form=form)
    rng = np.random.default_rng(32)
    for q_lens, kv_lens in (([1, 1, 0, 1], [300, 17, 5, 0]), ([40, 3], [64, 130])):
        batch = scaled(random_batch(rng, config, q_lens, kv_lens, q_scale=0.5), k_scale, v_scale)
        run_and_check(config, batch, cache=paged(batch, config, rng, layout))


@pytest.mark.parametrize("options", [{"splits": 3}, {"online_softmax": False}, {"score": ("cap", 3.0)}, {"sinks": True}])
def test_A32_scales_with(options):
    """A cap sees the scores with their scales in them; parts of a split merge as what they stand for."""
    config, rng = dataclasses.replace(FP8, **options), np.random.default_rng(33)
    batch = scaled(random_batch(rng, config, [1, 5], [200, 70], q_scale=0.5), [1, 2, 4, 8], [8, 4, 2, 1])
    sinks = rng.standard_normal(config.heads, np.float32) if config.sinks else None
    run_and_check(config, batch, sinks=sinks)


@pytest.mark.parametrize("q_len", [1, 9])
@pytest.mark.parametrize("splits", [1, 2, 4, 16])
def test_A29_the_sink_counts_once(splits, q_len):
    config = dataclasses.replace(FP8, heads=4, mask=("none",), sinks=True, splits=splits)
    sinks = np.array([np.log(100), 0, -10, -np.inf], np.float32)
    batch = random_batch(np.random.default_rng(29), config, [q_len], [100])
    batch.q[:] = 0
    batch.values[0][:] = 1
    out, _ = run(config, scaled(batch, batch.scales[0], [1] * 4), sinks=sinks)
    expected = 100 / (100 + np.exp(sinks.astype(np.float64)))
    assert (np.abs(out.astype(np.float64) - expected[:, None]) <= 2**-8 * expected[:, None]).all()


def test_A01_nan_bytes_of_no_request_are_never_read():
    batch = random_batch(np.random.default_rng(1), FP8, [7, 1, 7], [13, 1, 65])
    results = [run(FP8, batch, paged(batch, FP8, np.random.default_rng(2), fill=fill)) for fill in (0.0, NAN)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results))


# ---- What is appended --------------------------------------------------------------------------------


@functools.cache
def appending(dtype: str, dim: int, form: str | None = None) -> pf.Module:
    with pf.Graph("append", batch=2, q_len=8, kv_len=64) as g:
        k, v = (g.tokens(name, heads=4, dim=dim, dtype=dtype) for name in "kv")
        rows = g.rows()
        cache = g.paged_kv("cache", heads=4, dim=dim, dtype="f8e4m3")
        cache = pf.append(k, v, cache, rows=rows)
        g.returns(pf.attention(k, cache, rows=rows, scale=1.0))
    return pf.compile(g, form=form)


def append(dtype, k, v, k_scale, v_scale, form=None):
    """The rows of K and V as they are stored, bytes."""
    tokens, heads, dim = k.shape
    pages = [np.full((2, 16, heads, dim), NAN, F8) for _ in range(2)]
    table, lens = np.array([[1]], np.int32), np.array([tokens], np.int32)
    cache = pf.PagedKV(*pages, table, lens, k_scale=np.array(k_scale, np.float32), v_scale=np.array(v_scale, np.float32))
    rows = np.array([0, tokens], np.int32)
    appending(dtype, dim, form)(k=k.astype(storage(dtype)), v=v.astype(storage(dtype)), rows=rows, cache=cache)
    bytes_of = [part.view(np.uint8) for part in pages]
    assert all((part[0] == 0x7F).all() and (part[1, tokens:] == 0x7F).all() for part in bytes_of)
    return [part[1, :tokens] for part in bytes_of]


# (appended, stored): ties go to the even neighbour, the greatest number is 448, and there are no infinities.
ROUNDED = [(1000.0, 0x7E), (-1000.0, 0xFE), (448.0, 0x7E), (464.0, 0x7E), (-465.0, 0xFE), (np.inf, 0x7E),
           (-np.inf, 0xFE), (0.0, 0x00), (-0.0, 0x80), (17.0, 0x58), (19.0, 0x5A), (2.0**-6, 0x08), (2.0**-9, 0x01),
           (2.0**-10, 0x00), (1.5 * 2.0**-9, 0x02), (-(2.0**-7), 0x84)]  # fmt: skip


@pytest.mark.parametrize("form", [None, "simt"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("scales", [[1] * 4, [1, 2, 0.5, 8]], ids=["one", "heads"])
def test_A32_appended_rows_saturate(scales, dtype, form):
    given, stored = np.array(ROUNDED).T
    factors = np.array(scales)[:, None]
    k, v = (np.broadcast_to(given * by, (1, 4, len(given))) for by in (factors, 2 * factors))
    for got in append(dtype, k, v, factors[:, 0], 2 * factors[:, 0], form):
        assert np.array_equal(got, np.broadcast_to(stored, got.shape)), got


@pytest.mark.parametrize("form", [None, "simt"])
def test_A32_nan_stays_nan(form):
    k = np.full((2, 4, 8), 1.0)
    k[1, 2, 3], k[0, 0, 0] = NAN, -NAN
    got, _ = append("f32", k, k, [1] * 4, [1] * 4, form)
    expected = np.full(k.shape, 0x38, np.uint8)
    expected[1, 2, 3] = expected[0, 0, 0] = 0x7F
    assert np.array_equal(np.where(np.isnan(k), got & 0x7F, got), expected)


@pytest.mark.parametrize("form", [None, "simt"])
def test_every_tie_and_its_neighbours_are_rounded_as_ml_dtypes_does(form):
    numbers = np.sort(np.delete(np.arange(256, dtype=np.uint8), [0x7F, 0xFF]).view(F8).astype(np.float32))
    ties = (numbers[1:] + numbers[:-1]) / 2
    values = np.concatenate([numbers, ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, -np.float32(np.inf))])
    values = np.pad(values, (0, -len(values) % 512)).astype(np.float32)
    rows = values.reshape(-1, 4, 128)
    expected = rows.astype(F8).view(np.uint8)
    for got in append("f32", rows, rows, [1] * 4, [1] * 4, form):
        assert np.array_equal(got, expected)


def test_A32_scales_divide_in_f32():
    rng = np.random.default_rng(5)
    k, v = (rng.standard_normal((8, 4, 64), np.float32) for _ in range(2))
    k_scale, v_scale = (rng.uniform(0.001, 0.02, 4).astype(np.float32) for _ in range(2))
    for got, rows, scale in zip(append("f32", k, v, k_scale, v_scale), (k, v), (k_scale, v_scale)):
        quotient = np.clip(rows / scale[:, None], -448, 448)
        assert np.array_equal(got, quotient.astype(F8).view(np.uint8))


def test_A24_steps_read_what_they_append():
    """Prefill in chunks, then decode, each against float64 on the bytes that the cache then holds."""
    config, rng = dataclasses.replace(FP8, heads=4, kv_heads=2), np.random.default_rng(24)
    with pf.Graph("layer", batch=2, q_len=32, kv_len=512) as g:
        q, k, v = (g.tokens(name, heads=heads, dim=64, dtype="bf16") for name, heads in (("q", 4), ("k", 2), ("v", 2)))
        rows, cache = g.rows(), g.paged_kv("cache", heads=2, dim=64, dtype="f8e4m3")
        cache = pf.append(k, v, cache, rows=rows)
        g.returns(pf.attention(q, cache, rows=rows, scale=config.scale, mask=pf.causal()))
    module = pf.compile(g)
    stored = random_batch(rng, config, [0, 0], [100, 60])
    cache = paged(stored, config, rng)
    cache.lens = np.zeros(2, np.int32)
    draw = lambda tokens, heads: rng.standard_normal((tokens, heads, 64), np.float32).astype(storage("bf16"))
    for q_lens in ([32, 7], [32, 0], [1, 1], [1, 1]):
        cache.lens = (cache.lens + q_lens).astype(np.int32)
        rows, tokens = offsets(q_lens), sum(q_lens)
        query = draw(tokens, 4)
        out = module(q=query, k=draw(tokens, 2), v=draw(tokens, 2), rows=rows, cache=cache)
        keys, values = (
            [pages[cache.table[r]].reshape(-1, 2, 64)[:length] for r, length in enumerate(cache.lens)]
            for pages in (cache.k_pages, cache.v_pages)
        )
        seen = dataclasses.replace(stored, q=query, keys=keys, values=values, rows=rows)
        reference.check(out, None, seen.expected(config), rows, cache.lens, "bf16", "f8e4m3")


# ---- What is passed ----------------------------------------------------------------------------------


def test_pages_come_as_bytes_where_numpy_has_no_such_type():
    batch = random_batch(np.random.default_rng(7), FP8, [1], [40])
    cache = paged(batch, FP8, np.random.default_rng(7))
    plain = run(FP8, batch, cache)
    as_bytes = pf.PagedKV(
        cache.k_pages.view(np.uint8), cache.v_pages.view(np.uint8), cache.table, cache.lens, dtype="f8e4m3",
        k_scale=cache.k_scale, v_scale=cache.v_scale,
    )  # fmt: skip
    assert all(a.tobytes() == b.tobytes() for a, b in zip(plain, run(FP8, batch, as_bytes)))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"k_scale": None, "v_scale": None}, "cache: expects k_scale and v_scale for pages of f8e4m3"),
        ({"k_scale": np.ones(1, np.float32)}, r"cache.k_scale: expects shape \[4\], got \[1\]"),
        ({"v_scale": np.ones(4)}, "cache.v_scale: expects dtype f32, got f64"),
        ({"k_pages": np.zeros((5, 16, 4, 64), np.uint8)}, "cache.k_pages: expects dtype f8e4m3, got u8"),
        ({"k_pages": np.zeros((5, 16, 4, 64), storage("bf16"))}, "cache.k_pages: expects dtype f8e4m3, got bf16"),
        ({"v_pages": np.zeros((5, 16, 4, 64), ml_dtypes.float8_e5m2)}, "cache.v_pages: expects a dtype of .*, got float8_e5m2"),
    ],
)
def test_A18_what_does_not_fit_is_refused_by_name(change, message):
    batch = random_batch(np.random.default_rng(8), FP8, [1], [40])
    cache = paged(batch, FP8, np.random.default_rng(8))
    for name, value in change.items():
        setattr(cache, name, value)
    with pytest.raises(ValueError, match=message):
        run(FP8, batch, cache)


def test_scales_of_pages_that_have_none_are_refused():
    config = dataclasses.replace(FP8, kv_dtype=None)
    batch = random_batch(np.random.default_rng(9), config, [1], [40])
    cache = paged(scaled(batch, [1] * 4, [1] * 4), config, np.random.default_rng(9))
    with pytest.raises(ValueError, match="cache: expects no scales for pages of bf16"):
        run(config, batch, cache)
    with pytest.raises(ValueError, match="k_scale, v_scale: expects both or none, got one"):
        pf.PagedKV(cache.k_pages, cache.v_pages, cache.table, cache.lens, k_scale=cache.k_scale)


@pytest.mark.parametrize("dtype", ["f8e5m2", "f8E4M3FN", "fp8"])
def test_other_8_bit_floats_are_refused_by_name(dtype):
    g = pf.Graph("g", batch=1, q_len=1, kv_len=8)
    with pytest.raises(ValueError, match=f"c.dtype: expects a dtype of f32, f16, bf16, f8e4m3, got '{dtype}'"):
        g.paged_kv("c", heads=1, dim=64, dtype=dtype)


def test_8_bits_are_for_caches_alone():
    g = pf.Graph("g", batch=1, q_len=1, kv_len=8)
    with pytest.raises(ValueError, match="q.dtype: expects a dtype of f32, f16, bf16, got 'f8e4m3'"):
        g.tokens("q", heads=1, dim=64, dtype="f8e4m3")
