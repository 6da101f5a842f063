# test_layers.py - graphs of several operations, and modules used in unusual ways
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import threading

import numpy as np
import pytest
import reference
from harness import Config, offsets, paged, random_batch, storage

import pagefold as pf
from pagefold.masks import k as key_index

pytestmark = pytest.mark.usefixtures("library")


def norm(x, weight, eps):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


@pytest.mark.parametrize("fuse", [True, False])
def test_a_layer_with_norms_rotation_append_and_gate(fuse):
    config, rng = Config(), np.random.default_rng(1)
    with pf.Graph("layer", batch=8, q_len=32, kv_len=512) as g:
        q, k, v = (g.tokens(name, heads=heads, dim=64) for name, heads in (("q", 8), ("k", 2), ("v", 2)))
        rows, cache = g.rows(), g.paged_kv("cache", heads=2, dim=64, page=16)
        cos, sin, weight = g.tensor("cos", None, 32), g.tensor("sin", None, 32), g.tensor("weight", 64)
        gate = g.tensor("gate", None, 8)
        q, k = (pf.rope(pf.rms_norm(x, weight, eps=1e-6), cos, sin, rows=rows, cache=cache) for x in (q, k))
        new = pf.append(k, v, cache, rows=rows)
        g.returns(
            pf.attention(
                q, new, rows=rows, scale=0.125, mask=pf.causal(),
                epilogue=lambda o, q, h: o / (1 + pf.exp(-gate[pf.token(q), h])),
            )
        )  # fmt: skip
    module = pf.compile(g, fuse=fuse)
    q_lens, kv_lens = [3, 1, 0, 7], [20, 100, 5, 7]
    batch = random_batch(rng, config, q_lens, kv_lens)
    cos, sin = pf.rope_tables(512, 64)
    weight, gate = rng.standard_normal(64, np.float32), rng.standard_normal((11, 8), np.float32)
    fresh = [keys[len(keys) - n :] for keys, n in zip(batch.keys, q_lens)]
    k, v = (
        np.concatenate(fresh),
        np.concatenate([values[len(values) - n :] for values, n in zip(batch.values, q_lens)]),
    )
    cache = paged(batch, config, rng)
    out = module(
        q=batch.q, k=k, v=v, rows=batch.rows, cache=cache, cos=cos, sin=sin, weight=weight, gate=gate
    )
    positions = np.concatenate([length - n + np.arange(n) for n, length in zip(q_lens, kv_lens)])
    turned = lambda x: reference.rope(norm(x, weight, 1e-6), positions, 64, 1e4)
    keys = [np.concatenate([old[: len(old) - n], turned(k)[start : start + n]])
            for old, n, start in zip(batch.keys, q_lens, batch.rows)]  # fmt: skip
    expected = reference.attention(turned(batch.q), keys, batch.values, batch.rows, 0.125,
                                   visible=reference.mask("causal"))  # fmt: skip
    expected.out *= 1 / (1 + np.exp(-gate.astype(np.float64)))[..., None]
    reference.check(out, None, expected, batch.rows, kv_lens, "f32")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_results_of_a_wider_type_are_not_rounded(dtype):
    config, rng = Config(dtype=dtype), np.random.default_rng(2)
    with pf.Graph("wide", batch=2, q_len=8, kv_len=256) as g:
        q, rows = g.tokens("q", heads=8, dim=64, dtype=dtype), g.rows()
        cache = g.paged_kv("cache", heads=2, dim=64, dtype=dtype)
        g.returns(pf.attention(q, cache, rows=rows, scale=0.125, mask=pf.causal(), dtype="f32"))
    batch = random_batch(rng, config, [5, 1], [90, 30])
    out = pf.compile(g)(batch.q, batch.rows, paged(batch, config, rng))
    assert out.dtype == np.float32
    reference.check(out, None, batch.expected(config), batch.rows, batch.lens, dtype)


def test_packed_documents_by_row_values():
    config, rng = Config(page=None), np.random.default_rng(3)
    with pf.Graph("documents", batch=2, q_len=64, kv_len=64) as g:
        q, k, v = (g.tokens(name, heads=heads, dim=64) for name, heads in (("q", 8), ("k", 2), ("v", 2)))
        rows, start = g.rows(), g.positions("start")
        mask = pf.causal() & (key_index >= pf.per_row("doc"))
        g.returns(*pf.attention(q, k, v, rows=rows, kv_rows=rows, scale=0.125, mask=mask,
                                row_values={"doc": start}, lse=True))  # fmt: skip
    lens, documents = [50, 33], [[0, 7, 8, 40], [0, 20]]
    batch = random_batch(rng, config, lens, lens)
    starts = [
        np.array([max(d for d in docs if d <= i) for i in range(n)], np.int32)
        for docs, n in zip(documents, lens)
    ]
    out, lse = pf.compile(g)(q=batch.q, k=np.concatenate(batch.keys), v=np.concatenate(batch.values),
                             rows=batch.rows, start=np.concatenate(starts))  # fmt: skip
    visible = lambda r, q, k, n, length: (k <= q) & (k >= starts[r][q])
    reference.check(out, lse, batch.expected(config, visible=visible), batch.rows, batch.lens, "f32")


def test_a_cascade_folds_shared_and_own_keys_in_one_graph():
    config, rng = Config(heads=4, kv_heads=2), np.random.default_rng(4)
    with pf.Graph("cascade", batch=4, q_len=1, kv_len=512) as g:
        q, rows = g.tokens("q", heads=4, dim=64), g.rows()
        caches = [g.paged_kv(name, heads=2, dim=64, page=16) for name in ("shared", "own")]
        g.returns(*pf.merge(*(pf.attention(q, cache, rows=rows, scale=0.125, lse=True) for cache in caches)))
    own = random_batch(rng, config, [1, 1, 1], [5, 0, 70])
    prefix = random_batch(rng, config, [], [100])
    shared = paged(prefix, config, rng)
    shared = pf.PagedKV(
        shared.k_pages, shared.v_pages, np.repeat(shared.table, 3, axis=0), np.full(3, 100, np.int32)
    )
    out, lse = pf.compile(g)(q=own.q, rows=own.rows, shared=shared, own=paged(own, config, rng))
    whole = [[np.concatenate([head[0], tail]) for tail in tails]
             for head, tails in ((prefix.keys, own.keys), (prefix.values, own.values))]  # fmt: skip
    expected = reference.attention(own.q, *whole, own.rows, 0.125)
    reference.check(out, lse, expected, own.rows, [105, 100, 170], "f32")


def test_a_learned_bias_by_distance():
    config, rng = Config(), np.random.default_rng(5)
    with pf.Graph("bias", batch=2, q_len=16, kv_len=256) as g:
        q, rows, cache = g.tokens("q", heads=8, dim=64), g.rows(), g.paged_kv("cache", heads=2, dim=64)
        table = g.tensor("table", 8, 10)
        bucket = lambda q, k: pf.minimum((pf.position(q) - k) // 7, 9)
        score = lambda s, q, k, h: s + table[h, bucket(q, k)]
        g.returns(*pf.attention(q, cache, rows=rows, scale=0.125, mask=pf.causal(), score=score, lse=True))
    batch, table = random_batch(rng, config, [9, 1], [9, 200]), rng.standard_normal((8, 10), np.float32)
    out, lse = pf.compile(g)(q=batch.q, rows=batch.rows, cache=paged(batch, config, rng), table=table)
    biased = lambda s, r, q, k, p, h: s + table[h, np.clip((p - k) // 7, 0, 9)]
    expected = reference.attention(batch.q, batch.keys, batch.values, batch.rows, 0.125, score=biased,
                                   visible=reference.mask("causal"))  # fmt: skip
    reference.check(out, lse, expected, batch.rows, batch.lens, "f32")


def test_scores_that_tell_requests_apart():
    config, rng = Config(), np.random.default_rng(6)
    with pf.Graph("temperature", batch=4, q_len=4, kv_len=256) as g:
        q, rows, cache = g.tokens("q", heads=8, dim=64), g.rows(), g.paged_kv("cache", heads=2, dim=64)
        heat = g.tensor("heat", None)
        score = lambda s, q, k, h, b: pf.where((k % 3 == 1) & (heat[b] > 1.0), s / heat[b], s)
        g.returns(*pf.attention(q, cache, rows=rows, scale=0.125, score=score, lse=True))
    batch, heat = random_batch(rng, config, [1, 4, 2], [50, 60, 7]), np.array([0.5, 2.0, 3.0], np.float32)
    out, lse = pf.compile(g)(q=batch.q, rows=batch.rows, cache=paged(batch, config, rng), heat=heat)
    scaled = lambda s, r, q, k, p, h: np.where((k % 3 == 1) & (heat[r] > 1), s / heat[r], s)
    expected = reference.attention(batch.q, batch.keys, batch.values, batch.rows, 0.125, score=scaled)
    reference.check(out, lse, expected, batch.rows, batch.lens, "f32")


def test_a_module_of_two_functions():
    one, two = (Config(heads=heads, kv_heads=2) for heads in (2, 6))
    text = "".join(str(config.graph()).replace("@attend", f"@attend{config.heads}").replace("!cache", f"!c{config.heads}")
                   for config in (one, two))  # fmt: skip
    module, rng = pf.compile(text), np.random.default_rng(7)
    for config in (one, two):
        batch = random_batch(rng, config, [1, 3], [20, 40])
        out, lse = module.function(f"attend{config.heads}")(batch.q, batch.rows, paged(batch, config, rng))
        reference.check(out, lse, batch.expected(config), batch.rows, batch.lens, "f32")
    with pytest.raises(pf.PagefoldError, match="attend2.*attend6|name"):
        module.function()


def test_many_threads_call_one_module():
    config = Config()
    module, faults = config.compiled(), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(10):
            lens = [int(n) for n in rng.integers(1, 60, 4)]
            batch = random_batch(rng, config, [min(n, 5) for n in lens], lens)
            try:
                out, lse = module(q=batch.q, rows=batch.rows, cache=paged(batch, config, rng))
                reference.check(out, lse, batch.expected(config), batch.rows, batch.lens, "f32")
            except Exception as error:
                faults.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_A37_a_request_alone_gives_the_bits_it_gives_in_a_batch():
    config, rng = Config(splits=1), np.random.default_rng(37)
    batch = random_batch(rng, config, [1, 5, 1, 2], [100, 5, 37, 64])
    cache = paged(batch, config, rng)
    out, lse = config.compiled()(q=batch.q, rows=batch.rows, cache=cache)
    for r in range(4):
        rows = slice(batch.rows[r], batch.rows[r + 1])
        alone = pf.PagedKV(cache.k_pages, cache.v_pages, cache.table[r : r + 1], cache.lens[r : r + 1])
        got = config.compiled()(q=batch.q[rows], rows=offsets([rows.stop - rows.start]), cache=alone)
        assert got[0].tobytes() == out[rows].tobytes() and got[1].tobytes() == lse[rows].tobytes()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_A18_appended_rows_are_stored_bit_for_bit(dtype):
    config, rng = Config(dtype=dtype), np.random.default_rng(8)
    with pf.Graph("store", batch=2, q_len=8, kv_len=64) as g:
        q = g.tokens("q", heads=8, dim=64, dtype=dtype)
        k, v = (g.tokens(name, heads=2, dim=64, dtype=dtype) for name in ("k", "v"))
        rows, cache = g.rows(), g.paged_kv("cache", heads=2, dim=64, dtype=dtype, page=4)
        g.returns(pf.attention(q, pf.append(k, v, cache, rows=rows), rows=rows, scale=0.125))
    config = Config(dtype=dtype, page=4)
    batch = random_batch(rng, config, [8], [8])
    given = [tokens.copy() for tokens in (batch.keys[0], batch.values[0])]
    given[0].view(np.uint16)[0, 0, :4] = [0x8000, 0x0001, 0x7FC0 if dtype == "bf16" else 0x7E00, 0xFF80]
    cache = paged(batch, config, rng)
    pf.compile(g)(q=batch.q, k=given[0], v=given[1], rows=batch.rows, cache=cache)
    for pool, tokens in zip((cache.k_pages, cache.v_pages), given):
        assert pool[cache.table[0, :2]].reshape(8, 2, 64).tobytes() == tokens.astype(storage(dtype)).tobytes()


def test_A34_the_baseline_without_a_fold_is_not_split():
    config, rng = Config(splits=8, online_softmax=False), np.random.default_rng(9)
    for q_lens, kv_lens in (([48, 48], [700, 300]), ([1] * 8, [64] * 8)):
        batch = random_batch(rng, config, q_lens, kv_lens)
        out, lse = config.compiled()(q=batch.q, rows=batch.rows, cache=paged(batch, config, rng))
        reference.check(out, lse, batch.expected(config), batch.rows, batch.lens, "f32")
    assert "splits = 1" in config.compiled().explain() or "not split" in config.compiled().explain()
