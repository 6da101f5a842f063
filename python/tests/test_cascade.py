# test_cascade.py - a prefix that all requests share
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention that reads a shared prefix once gives what attention over whole requests gives, whatever was promised."""

import dataclasses
import functools

import numpy as np
import pytest
import reference
from harness import Config, paged, random_batch

import pagefold as pf

CONFIG = Config(heads=4, kv_heads=2, batch=8, q_len=8, kv_len=512)


def graph(config: Config, score=None, sinks=False, mask=None) -> pf.Graph:
    """Arguments: q, rows, cache, n and, where it has them, sinks."""
    with pf.Graph("cascade", batch=config.batch, q_len=config.q_len, kv_len=config.kv_len) as g:
        q = g.tokens("q", heads=config.heads, dim=config.dim, dtype=config.dtype)
        rows = g.rows()
        cache = g.paged_kv("cache", heads=config.kv_heads, dim=config.dim, dtype=config.dtype, page=config.page)
        shared = pf.shared_prefix(cache, g.tensor("n", 1, dtype="i32"), expected=256)
        options = {"mask": pf.causal() if mask is None else mask, "score": score, "lse": True}
        if sinks:
            options["sinks"] = g.tensor("sinks", config.heads)
        g.returns(*pf.attention(q, shared, rows=rows, scale=config.scale, **options))
    return g


@functools.cache
def compiled(config: Config = CONFIG, form=None, splits=None) -> pf.Module:
    return pf.compile(graph(config), cascade="always", form=form, splits=splits)


def sharing(config: Config, q_lens, kv_lens, common: int, seed: int = 0):
    """A batch whose requests have their first `common` keys, whole pages, in the same pages. Requests that are too short share
    what they have; the pages that they would have had are NaN."""
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, config, q_lens, kv_lens)
    cache = paged(batch, config, rng)
    donor = int(np.argmax(kv_lens))
    table, k_pages, v_pages = (np.array(x) for x in (cache.table, cache.k_pages, cache.v_pages))
    for r, length in enumerate(kv_lens):
        keys = min(common, length // config.page * config.page)
        if r == donor or not keys:
            continue
        own = table[r, : keys // config.page].copy()
        k_pages[own], v_pages[own] = np.nan, np.nan
        table[r, : keys // config.page] = table[donor, : keys // config.page]
        batch.keys[r][:keys], batch.values[r][:keys] = batch.keys[donor][:keys], batch.values[donor][:keys]
    return batch, pf.PagedKV(k_pages, v_pages, table, cache.lens)


def check(module, config, batch, cache, promised: int, **more):
    out, lse = module(q=batch.q, rows=batch.rows, cache=cache, n=np.array([promised], np.int32), **more)
    reference.check(out, lse, batch.expected(config), batch.rows, batch.lens, config.dtype)


@pytest.mark.parametrize("form", [None, "simt"])
@pytest.mark.parametrize("promised", [0, 1, 16, 64, 79, 80])
def test_whatever_is_promised_of_a_shared_prefix(promised, form):
    batch, cache = sharing(CONFIG, [1, 8, 3, 1], [90, 120, 300, 81], common=80)
    check(compiled(form=form), CONFIG, batch, cache, promised)


@pytest.mark.parametrize("form", [None, "simt"])
@pytest.mark.parametrize(
    "q_lens, kv_lens",
    [
        ([0, 1, 0, 4], [70, 65, 0, 100]),  # without rows, without keys
        ([0, 0], [70, 70]),  # no rows at all
        ([1], [100]),  # nobody to share with
        ([8, 8], [72, 72]),  # the rows stand right behind the prefix
    ],
)
def test_batches_with_gaps(q_lens, kv_lens, form):
    batch, cache = sharing(CONFIG, q_lens, kv_lens, common=64)
    check(compiled(form=form), CONFIG, batch, cache, 64)


def test_rows_without_keys_take_no_part():
    batch, cache = sharing(CONFIG, [1, 2, 1], [70, 0, 90], common=64)
    check(compiled(), CONFIG, batch, cache, 0)
    check(compiled(), CONFIG, batch, cache, 64)  # no key is promised of a request that has none


@pytest.mark.parametrize("page", [1, 8, 16, 64])
def test_pages_of_any_size(page):
    config = dataclasses.replace(CONFIG, page=page)
    batch, cache = sharing(config, [1, 2, 1], [150, 200, 130], common=128)
    check(compiled(config), config, batch, cache, 128)


def test_split_keys():
    batch, cache = sharing(CONFIG, [1, 8, 3, 1], [90, 120, 300, 81], common=80)
    check(compiled(splits=4), CONFIG, batch, cache, 80)


@pytest.mark.parametrize("form", [None, "simt"])
def test_a_promise_that_is_too_long_is_told_and_not_believed(form):
    batch, cache = sharing(CONFIG, [1, 4, 1], [90, 67, 120], common=64)
    out = np.full((6, 4, 64), np.nan, np.float32), np.full((6, 4), np.nan, np.float32)
    with pytest.raises(pf.PagefoldError, match="request 1: shared prefix 80 expects 0 <= keys <= 63"):
        compiled(form=form)(q=batch.q, rows=batch.rows, cache=cache, n=np.array([80], np.int32), out=out)
    reference.check(*out, batch.expected(CONFIG), batch.rows, batch.lens, "f32")


@pytest.mark.parametrize("form", [None, "simt"])
def test_pages_that_differ_are_told_and_not_believed(form):
    batch, cache = sharing(CONFIG, [1, 4, 1], [90, 120, 120], common=32)
    out = np.full((6, 4, 64), np.nan, np.float32), np.full((6, 4), np.nan, np.float32)
    said = r"request \d: its key 32 lies in another page than that of the other requests, within the shared prefix of 64"
    with pytest.raises(pf.PagefoldError, match=said):
        compiled(form=form)(q=batch.q, rows=batch.rows, cache=cache, n=np.array([64], np.int32), out=out)
    reference.check(*out, batch.expected(CONFIG), batch.rows, batch.lens, "f32")


def test_a_page_outside_the_pool_is_of_its_request_alone():
    batch, cache = sharing(CONFIG, [1, 4, 1], [90, 120, 120], common=64)
    table = np.array(cache.table)
    table[1, 6] = 10_000
    broken = pf.PagedKV(cache.k_pages, cache.v_pages, table, cache.lens)
    out = np.full((6, 4, 64), np.nan, np.float32), np.full((6, 4), np.nan, np.float32)
    with pytest.raises(pf.PagefoldError, match="request 1: page id 10000"):
        compiled()(q=batch.q, rows=batch.rows, cache=broken, n=np.array([64], np.int32), out=out)
    expected = batch.expected(CONFIG)
    for r in (0, 2):
        rows = slice(batch.rows[r], batch.rows[r + 1])
        np.testing.assert_allclose(out[0][rows], expected.out[rows], atol=1e-5)


def test_scores_and_sinks_count_once():
    config = dataclasses.replace(CONFIG, score=("cap", 5.0), sinks=True)
    score = lambda s, q, k, h: pf.soft_cap(s, 5.0)
    module = pf.compile(graph(config, score=score, sinks=True), cascade="always")
    batch, cache = sharing(config, [1, 8, 3], [90, 120, 300], common=80)
    sinks = np.array([0.5, -1, 4, -np.inf], np.float32)
    out, lse = module(q=batch.q, rows=batch.rows, cache=cache, n=np.array([80], np.int32), sinks=sinks)
    capped = lambda s, r, q, k, p, h: 5.0 * np.tanh(s / 5.0)
    expected = reference.attention(batch.q, batch.keys, batch.values, batch.rows, config.scale, score=capped,
                                   visible=reference.mask("causal"), sinks=sinks)  # fmt: skip
    reference.check(out, lse, expected, batch.rows, batch.lens, "f32")


def test_the_price_is_told():
    taken = pf.compile(graph(CONFIG), cache="off").explain()
    assert "the prefix is read once: a prefix of 256 keys is 256.0 KiB read once, and 2.0 MiB for each of 8" in taken
    window = pf.compile(graph(CONFIG, mask=pf.causal() & pf.window(64)), cascade="always", cache="off").explain()
    assert "the prefix is read for each request: its mask is neither none nor causal" in window


@pytest.mark.parametrize(
    "elements, expected, said",
    [(2, None, "length: expects one element"), (1, 0, "expected: expects at least 1 key")],
)
def test_what_the_builder_refuses(elements, expected, said):
    with pytest.raises(ValueError, match=said), pf.Graph("f", batch=1, q_len=1, kv_len=64) as g:
        cache = g.paged_kv("cache", heads=2, dim=64)
        pf.shared_prefix(cache, g.tensor("n", elements, dtype="i32"), expected=expected)
