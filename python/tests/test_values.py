# test_values.py - what comes out: data that must not leak, empty rows, odd shapes, masks, scores
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import math

import numpy as np
import pytest
import reference
from harness import NAN, Batch, Config, offsets, paged, random_batch, run, run_and_check

import pagefold as pf

pytestmark = pytest.mark.usefixtures("library")


def seeded(*parts):
    return np.random.default_rng([ord(letter) for part in parts for letter in str(part)])


# ---- Non-finite data -------------------------------------------------------------------------------


@pytest.mark.parametrize("q_len", [1, 7])
@pytest.mark.parametrize("page", [4, 16, 64])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_A01_slots_of_no_request_never_reach_a_result(dtype, page, q_len):
    config = Config(dim=128, dtype=dtype, page=page)
    kv_lens = [13, 1, 64, 65, 127]
    batch = random_batch(seeded("A01", dtype, page), config, [min(q_len, n) for n in kv_lens], kv_lens)
    results = [
        run_and_check(config, batch, cache=paged(batch, config, seeded("pages"), fill=fill))
        for fill in (0.0, NAN, math.inf, -math.inf)
    ]
    for out, lse in results[1:]:
        assert out.tobytes() == results[0][0].tobytes() and lse.tobytes() == results[0][1].tobytes()


def test_A03_a_nan_key_stays_in_the_rows_that_see_it():
    config = Config()
    batch = random_batch(seeded("A03"), config, [8, 8, 8], [40, 40, 40])
    clean, clean_lse = run(config, batch)
    batch.keys[1][36, 0] = NAN
    out, lse = run(config, batch)
    # Row i of 8 stands at 32 + i, so rows 4 to 7 see position 36; heads 0 to 3 share KV head 0.
    hit = np.zeros(out.shape[:2], bool)
    hit[8 + 4 : 8 + 8, :4] = True
    assert np.isnan(out[hit]).all() and np.isnan(lse[hit]).all()
    assert out[~hit].tobytes() == clean[~hit].tobytes() and lse[~hit].tobytes() == clean_lse[~hit].tobytes()


# ---- Rows that see nothing -------------------------------------------------------------------------


def test_A04_rows_of_a_bitmap_with_nothing_visible():
    config = Config(heads=4, kv_heads=4, mask=("none",), bitmap=True)
    rng = seeded("A04")
    batch = random_batch(rng, config, [9, 64], [70, 70])
    masks = [rng.random((9, 70)) < 0.5, np.zeros((64, 70), bool)]
    masks[0][[0, 4, 8]] = False
    bits, starts = pf.pack_mask(masks, batch.rows, batch.lens)
    out, lse = run_and_check(
        config, batch, visible=lambda r, q, k, q_len, kv_len: masks[r][q, k], bits=bits, starts=starts
    )
    empty = [0, 4, 8, *range(9, 73)]
    assert (out[empty] == 0).all() and (lse[empty] == -np.inf).all()


@pytest.mark.parametrize("form, splits", [(None, 1), (None, 4), ("simt", 1), ("simt", 4)])
@pytest.mark.parametrize("bias", [-math.inf, float(np.finfo(np.float32).min)])
def test_A04_an_additive_bias_removes_keys_only_where_it_is_infinite(bias, form, splits):
    with pf.Graph("biased", batch=1, q_len=9, kv_len=70) as g:
        q, rows, cache = g.tokens("q", heads=4, dim=64), g.rows(), g.paged_kv("cache", heads=4, dim=64)
        table = g.tensor("table", 9)
        g.returns(
            *pf.attention(q, cache, rows=rows, scale=0.125, lse=True, score=lambda s, q, k, h: s + table[q])
        )
    config = Config(heads=4, kv_heads=4)
    batch = random_batch(seeded("A04b"), config, [9], [70])
    table = np.zeros(9, np.float32)
    table[[0, 4, 8]] = bias
    compiled = pf.compile(g, form=form, splits=splits, kv_tile=16)  # each part has keys
    out, lse = compiled(q=batch.q, rows=batch.rows, cache=paged(batch, config, seeded("p")), table=table)
    expected = reference.attention(
        batch.q,
        batch.keys,
        batch.values,
        batch.rows,
        0.125,
        score=lambda s, r, q, k, p, h: s.astype(np.float32) + table[q],
    )
    others = [1, 2, 3, 5, 6, 7]
    reference.check(
        out[others],
        lse[others],
        reference.Result(expected.out[others], expected.lse[others], [8.0]),
        [0, 6],
        [70],
        "f32",
    )
    if bias == -math.inf:
        assert (out[[0, 4, 8]] == 0).all() and (lse[[0, 4, 8]] == -np.inf).all()
    else:
        mean = batch.values[0].astype(np.float64).mean(axis=0)
        assert np.abs(out[[0, 4, 8]] - mean).max() < 1e-5 and np.isfinite(lse).all()


# ---- Empty requests --------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [None, 16])
@pytest.mark.parametrize("q_lens, kv_lens", [([1, 1, 1, 1], [0, 37, 0, 1]), ([2, 3, 0, 1], [0, 3, 0, 1])])
def test_A06_rows_of_requests_without_keys_are_written(q_lens, kv_lens, page):
    config = Config(page=page)
    batch = random_batch(seeded("A06"), config, q_lens, kv_lens)
    out, lse = run_and_check(config, batch)
    for r, kv_len in enumerate(kv_lens):
        if kv_len == 0:
            rows = slice(batch.rows[r], batch.rows[r + 1])
            assert (out[rows] == 0).all() and (lse[rows] == -np.inf).all()


def merge_module(heads=4, dim=64):
    with pf.Graph("fold", batch=4, q_len=8, kv_len=8) as g:
        states = []
        for side in "ab":
            out = g.tokens(f"o{side}", heads=heads, dim=dim)
            states.append((out, g.tensor(f"l{side}", None, heads)))
        g.returns(*pf.merge(*states))
    return pf.compile(g)


def test_A06_a_merge_with_an_empty_state_is_the_other_state():
    fold, rng = merge_module(), seeded("A06m")
    out, lse = rng.standard_normal((5, 4, 64), np.float32), rng.standard_normal((5, 4), np.float32)
    nothing, never = np.full_like(out, NAN), np.full_like(lse, -np.inf)
    for got in (fold(oa=out, la=lse, ob=nothing, lb=never), fold(oa=nothing, la=never, ob=out, lb=lse)):
        assert got[0].tobytes() == out.tobytes() and got[1].tobytes() == lse.tobytes()
    got = fold(oa=nothing, la=never, ob=nothing, lb=never)
    assert (got[0] == 0).all() and (got[1] == -np.inf).all()


@pytest.mark.parametrize("page", [None, 16])
@pytest.mark.parametrize(
    "q_lens, kv_lens",
    [
        ([0, 1, 0, 1], [3, 3, 5, 5]),
        ([0, 0, 5, 0], [7, 0, 9, 3]),
        ([0, 0, 0, 0], [3, 0, 2, 1]),
        ([], []),
        ([1, 2, 1], [0, 0, 0]),
        ([0, 2], [4, 4]),  # as many tokens as requests, and no decode
    ],
)
def test_A07_requests_without_rows_and_calls_without_work(q_lens, kv_lens, page):
    config = Config(heads=9, kv_heads=3, page=page)
    batch = random_batch(seeded("A07"), config, q_lens, kv_lens)
    guarded = np.full((len(batch.q) + 8, 9, 64), 7.0, np.float32)
    lse = np.full((len(batch.q), 9), NAN, np.float32)
    out = guarded[4 : 4 + len(batch.q)]
    run_and_check(config, batch)
    tensors = (
        {"cache": paged(batch, config, seeded("p"))}
        if page
        else {
            "k": np.concatenate([np.zeros((0, 3, 64), np.float32), *batch.keys]),
            "kv_rows": offsets(batch.lens),
            "v": np.concatenate([np.zeros((0, 3, 64), np.float32), *batch.values]),
        }
    )
    config.compiled()(q=batch.q, rows=batch.rows, out=(out, lse), **tensors)
    assert (guarded[:4] == 7).all() and (guarded[4 + len(batch.q) :] == 7).all()


# ---- Head dims, groups, pages, odd shapes ----------------------------------------------------------


@pytest.mark.parametrize("dim", [40, 56, 72, 80, 96, 112, 136, 160, 192, 224, 256])
def test_A12_the_last_columns_of_a_head_count(dim):
    config = Config(heads=8, kv_heads=8, dim=dim, dtype="f16", q_len=128, kv_len=256)
    batch = random_batch(seeded("A12", dim), config, [128], [256])
    edge = dim - (dim % 16 or 16)
    for array in (batch.q, batch.keys[0]):
        array[..., :edge] = 0
    run_and_check(config, batch)


@pytest.mark.parametrize("batch_size", [1, 5, 12])
def test_A12_head_dims_of_keys_and_values_differ(batch_size):
    config = Config(heads=4, kv_heads=2, dim=192, v_dim=128, dtype="f16", mask=("none",), bitmap=True)
    rng = seeded("A12v", batch_size)
    batch = random_batch(rng, config, [37] * batch_size, [54] * batch_size)
    masks = [rng.random((37, 54)) < 0.6 for _ in range(batch_size)]
    bits, starts = pf.pack_mask(masks, batch.rows, batch.lens)
    run_and_check(
        config, batch, visible=lambda r, q, k, q_len, kv_len: masks[r][q, k], bits=bits, starts=starts
    )


@pytest.mark.parametrize("heads, kv_heads", [(12, 4), (40, 8), (24, 4), (28, 4), (64, 4), (71, 1)])
@pytest.mark.parametrize("q_len", [1, 5])
def test_A14_every_query_head_reads_its_own_kv_head(heads, kv_heads, q_len):
    config = Config(heads=heads, kv_heads=kv_heads, dim=32)
    kv_lens = [1, 100, 2049]
    batch = random_batch(seeded("A14", heads), config, [min(q_len, n) for n in kv_lens], kv_lens)
    run_and_check(config, batch)
    for value in batch.values:
        value[:] = np.arange(1, kv_heads + 1, dtype=np.float32)[:, None]
    out, _ = run(config, batch)
    head_code = np.arange(heads) // (heads // kv_heads) + 1
    # Sums of f32 weights, in whatever order: exact but for their rounding.
    assert np.abs(out / head_code[:, None] - 1).max() <= 1e-6 * np.sqrt(2049)


@pytest.mark.parametrize("page", [1, 2, 3, 19, 256, 512])
@pytest.mark.parametrize("q_len", [1, 9])
def test_A43_any_page_size_gives_the_same_result(page, q_len):
    config = Config(page=page, mask=("window", 100), dim=32)
    kv_lens = [max(page - 1, 1), page, page + 1, 1, 1000, 2, 33]
    batch = random_batch(seeded("A43"), config, [min(q_len, n) for n in kv_lens], kv_lens)
    run_and_check(config, batch)


@pytest.mark.parametrize(
    "config, q_len, kv_len",
    [
        (Config(heads=1, kv_heads=1, dim=8, mask=("none",), page=None, q_len=256, kv_len=256), 256, 256),
        *[(Config(heads=1, kv_heads=1, dim=8, page=None), size, size) for size in (1, 7, 63, 65)],
        (Config(heads=1, kv_heads=1, dim=24), 3, 1009),
        (Config(heads=3, kv_heads=3, dim=24, mask=("none",), page=None), 5, 1009),
    ],
)
def test_A65_odd_shapes_compile_and_match(config, q_len, kv_len):
    run_and_check(config, random_batch(seeded("A65", q_len, kv_len), config, [q_len], [kv_len]))


# ---- Page tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spare", [-1, 2**31 - 1, 0])  # page 0 is another request's, or holds NaN
def test_A44_table_entries_past_the_length_have_no_effect(spare):
    config = Config()
    batch = random_batch(seeded("A44"), config, [1, 3, 1], [33, 16, 5])
    run_and_check(config, batch, cache=paged(batch, config, seeded("p"), spare=spare))


@pytest.mark.parametrize("form", [None, "simt"])
@pytest.mark.parametrize("bad", [-1, "pages", 2**31 - 1])
def test_A44_a_bad_page_id_is_an_error_of_its_request_alone(bad, form):
    config = Config(form=form)
    batch = random_batch(seeded("A44b"), config, [1, 1, 1], [40, 40, 40])
    cache = paged(batch, config, seeded("p"))
    clean, clean_lse = run(config, batch, cache=cache)
    cache.table[1, 1] = len(cache.k_pages) if bad == "pages" else bad
    out, lse = np.full_like(clean, NAN), np.full_like(clean_lse, NAN)
    with pytest.raises(pf.PagefoldError, match="request 1") as caught:
        config.compiled()(q=batch.q, rows=batch.rows, cache=cache, out=(out, lse))
    assert caught.value.code == pf.PagefoldError.BAD_INPUT and caught.value.results[0] is out
    assert (
        out[[0, 2]].tobytes() == clean[[0, 2]].tobytes()
        and lse[[0, 2]].tobytes() == clean_lse[[0, 2]].tobytes()
    )


# ---- Masks -----------------------------------------------------------------------------------------


def visible_sets(config, q_lens, kv_lens, **arguments):
    """Which keys each row sees, as boolean [q_len, kv_len] of each request, found by running with Q = 0.

    Values carry the key's index: first modulo the head dim, then divided by it, as unit vectors.
    """
    dim, rng = config.dim_of_values, seeded("tracer")
    batch = random_batch(rng, config, q_lens, kv_lens)
    batch.q[:] = 0
    seen = []
    for tracer in (lambda k: k % dim, lambda k: k // dim):
        for value in batch.values:
            value[:] = np.eye(dim, dtype=value.dtype)[tracer(np.arange(len(value)))][:, None, :]
        seen.append(run(config, batch, **arguments)[0][:, 0].astype(np.float64))
    return batch, seen


def check_visible(config, q_lens, kv_lens, **arguments):
    """Asserts that every row sees exactly the keys that the reference's mask says: equal weights on them."""
    batch, seen = visible_sets(config, q_lens, kv_lens, **arguments)
    visible = reference.mask(*config.mask)
    for r, (n, length) in enumerate(zip(q_lens, kv_lens)):
        q, k = np.arange(n)[:, None], np.arange(length)[None, :]
        weights = visible(r, q, k, n, length).astype(np.float64)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1)
        for part, tracer in zip(seen, (k[0] % config.dim, k[0] // config.dim)):
            expected = weights @ np.eye(config.dim)[tracer] if length else np.zeros((n, config.dim))
            assert np.abs(part[batch.rows[r] : batch.rows[r + 1]] - expected).max(initial=0) < 1e-5, (
                f"request {r}"
            )


@pytest.mark.parametrize("page", [None, 16])
@pytest.mark.parametrize(
    "q_lens, kv_lens",
    [
        *[([q], [k]) for q, k in [(2, 5), (5, 2), (1, 128), (3, 128), (128, 3), (64, 64), (65, 64)]],
        ([2, 5, 1, 3, 64], [5, 2, 128, 128, 64]),
    ],
)
def test_A19_causal_is_aligned_at_the_end(q_lens, kv_lens, page):
    check_visible(Config(page=page), q_lens, kv_lens)
    batch = random_batch(seeded("A19"), Config(page=page), q_lens, kv_lens)
    out, lse = run_and_check(Config(page=page), batch)
    for r, (q_len, kv_len) in enumerate(zip(q_lens, kv_lens)):
        early = slice(batch.rows[r], batch.rows[r] + max(q_len - kv_len, 0))
        assert (out[early] == 0).all() and (lse[early] == -np.inf).all()


@pytest.mark.parametrize("size", [1, 8, 40, 100])
@pytest.mark.parametrize("q_len", [40, 5, 1])
def test_A20_a_window_counts_the_rows_own_key(size, q_len):
    check_visible(Config(page=4, mask=("window", size)), [q_len], [40])


def test_A20_a_window_of_each_request():
    with pf.Graph("windows", batch=3, q_len=8, kv_len=64) as g:
        q, rows, cache = (
            g.tokens("q", heads=2, dim=64),
            g.rows(),
            g.paged_kv("cache", heads=2, dim=64, page=4),
        )
        mask = pf.causal() & pf.window(pf.sym("w", at_least=1))
        g.returns(
            *pf.attention(
                q, cache, rows=rows, scale=0.125, mask=mask, symbols={"w": g.per_request("w")}, lse=True
            )
        )
    config, sizes = Config(heads=2, page=4), np.array([1, 7, 100], np.int32)
    batch = random_batch(seeded("A20w"), config, [8, 3, 1], [40, 33, 50])
    out, lse = pf.compile(g)(q=batch.q, rows=batch.rows, cache=paged(batch, config, seeded("p")), w=sizes)
    visible = lambda r, q, k, q_len, kv_len: reference.mask("window", sizes[r])(r, q, k, q_len, kv_len)
    reference.check(out, lse, batch.expected(config, visible=visible), batch.rows, batch.lens, "f32")


@pytest.mark.parametrize(
    "mask", [("prefix", 5), ("causal_or_prefix", 50), ("sink_window", 4, 8), ("chunked", 16), ("none",)]
)
def test_A20_other_masks_see_exactly_their_keys(mask):
    check_visible(Config(page=4, mask=mask), [40, 5, 1, 3], [40, 40, 40, 100])


@pytest.mark.parametrize("page", [None, 16])
@pytest.mark.parametrize("q_len", [1, 3])
def test_A22_slots_past_the_length_do_not_count(q_len, page):
    config, kv_lens = Config(mask=("none",), page=page), [1, 17, 255, 256, 257, 300]
    batch = random_batch(seeded("A22"), config, [q_len] * 6, kv_lens)
    batch.q[:] = 0
    for value in batch.values:
        value[:] = 1
    cache = paged(batch, config, seeded("p"), fill=0.0) if page else None
    out, lse = run(config, batch, cache=cache)
    assert (out == 1).all()
    assert np.abs(lse - np.log(np.repeat(kv_lens, q_len))[:, None]).max() <= 1e-5


@pytest.mark.parametrize("mask", [("none",), ("causal",)])
def test_A23_packed_masks_whose_bits_are_not_whole_bytes(mask):
    config, rng = Config(bitmap=True, mask=mask), seeded("A23")
    batch = random_batch(rng, config, [3, 5, 1], [7, 11, 9])
    masks = [rng.random((n, length)) < 0.6 for n, length in zip([3, 5, 1], [7, 11, 9])]
    bits, starts = pf.pack_mask(masks, batch.rows, batch.lens)
    base = reference.mask(*mask)
    visible = lambda r, q, k, q_len, kv_len: masks[r][q, k] & base(r, q, k, q_len, kv_len)
    for spelled in (bits, bits.view(np.int8)):
        run_and_check(config, batch, visible=visible, bits=spelled, starts=starts)


# ---- Scores ----------------------------------------------------------------------------------------


def test_A26_the_soft_cap_comes_before_the_mask():
    config = Config(heads=1, kv_heads=1, score=("cap", 1.0), mask=("window", 1))
    batch = random_batch(seeded("A26"), config, [1], [64])
    batch.q[:], batch.keys[0][:] = -5.0, config.dim**-0.5  # scaled score -5
    out, lse = run_and_check(config, batch)
    assert np.array_equal(out[0, 0], batch.values[0][-1, 0])
    assert abs(lse[0, 0] - math.tanh(-5.0)) <= 1e-3


@pytest.mark.parametrize(
    "cap, scores", [(50.0, [0, 200, 2000]), (30.0, [1.0, -1.0, 29.0, 31.0]), (0, [0, 1, 2])]
)
def test_A26_caps_of_huge_and_of_small_scores(cap, scores):
    config = Config(heads=1, kv_heads=1, dim=64, score=("cap", cap), mask=("none",))
    batch = random_batch(seeded("A26b"), config, [1], [len(scores)])
    batch.q[:] = 1.0
    batch.keys[0][:] = np.array(scores, np.float32)[:, None, None] * config.dim**-0.5
    out, lse = run(config, batch)
    expected = batch.expected(config)
    # The bound of the report is for tanh itself: 1e-3 of the cap; where cap is off, that of f32.
    slack = 1e-3 * cap if cap else 1e-5
    assert abs(float(lse[0, 0]) - expected.lse[0, 0]) <= slack
    assert np.abs(out - expected.out).max() <= 4 * slack


def test_A26_a_cap_on_large_half_precision_inputs():
    config = Config(dtype="f16", dim=128, score=("cap", 30.0))
    batch = random_batch(seeded("A26c"), config, [3, 1], [50, 20], q_scale=30.0)
    run_and_check(config, batch)


def test_A28_scores_past_the_range_of_half_precision():
    config = Config(heads=2, kv_heads=2, dim=128, dtype="f16", mask=("none",))
    batch = random_batch(seeded("A28"), config, [1], [130])
    batch.q[:] = 300
    batch.keys[0][:] = (300 - np.arange(130) / 4).astype(np.float16)[:, None, None]
    batch.values[0][:] = batch.values[0].clip(-3, 3) * np.float16(2e4)
    out, _ = run(config, batch)
    assert np.array_equal(out[0], batch.values[0][0])
    batch.keys[0][:] = 300
    out, _ = run(config, batch)
    mean = batch.values[0].astype(np.float64).mean(axis=0)
    assert np.isfinite(out).all() and np.linalg.norm(out[0] - mean) <= 1e-3 * np.linalg.norm(mean)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("splits", [1, 2, 4, 16])
@pytest.mark.parametrize("q_len", [1, 3])
def test_A29_a_sink_counts_once_however_the_keys_are_split(q_len, splits, dtype):
    sinks = np.array([math.log(100), 0, -10, 80, -math.inf], np.float32)
    config = Config(heads=5, kv_heads=5, dtype=dtype, sinks=True, splits=splits, mask=("none",))
    batch = random_batch(seeded("A29"), config, [q_len], [100])
    batch.q[:] = 0
    batch.values[0][:] = 1
    out, lse = run_and_check(config, batch, sinks=sinks)
    assert np.abs(out[:, 0] - 0.5).max() <= (1e-5 if dtype == "f32" else 1e-3)
    assert np.abs(lse[:, 0] - math.log(200)).max() <= 1e-3  # the lse holds the sink


def test_A29_a_row_that_sees_nothing_but_the_sink():
    config = Config(heads=5, kv_heads=5, sinks=True)
    sinks = np.array([1.5, 0, -10, 80, -math.inf], np.float32)
    batch = random_batch(seeded("A29e"), config, [3, 1], [1, 0])
    out, lse = run(config, batch, sinks=sinks)
    for row in (0, 1, 3):
        assert (out[row] == 0).all() and np.allclose(lse[row], sinks, rtol=1e-6)


@pytest.mark.parametrize("heads", [6, 12, 40, 71])
def test_A31_alibi_for_any_number_of_heads(heads):
    config = Config(heads=heads, kv_heads=1, score=("alibi",), dim=32)
    batch = random_batch(seeded("A31", heads), config, [1, 9], [100, 9])
    run_and_check(config, batch, slopes=pf.alibi_slopes(heads))


def test_A31_two_ranks_give_what_one_gives():
    whole, half = (Config(heads=heads, kv_heads=heads, score=("alibi",)) for heads in (12, 6))
    batch, slopes = random_batch(seeded("A31r"), whole, [4], [60]), pf.alibi_slopes(12)
    out, lse = run_and_check(whole, batch, slopes=slopes)
    for part in (slice(0, 6), slice(6, 12)):
        rank = Batch(
            batch.q[:, part].copy(), [batch.keys[0][:, part]], [batch.values[0][:, part]], batch.rows
        )
        part_out, part_lse = run_and_check(half, rank, slopes=slopes[part].copy())
        assert np.allclose(part_out, out[:, part], atol=1e-5) and np.allclose(
            part_lse, lse[:, part], atol=1e-5
        )


# ---- Splits and merges -----------------------------------------------------------------------------


def test_A33_states_merge_in_base_e_in_any_order():
    config = Config(mask=("none",), heads=4, kv_heads=4)
    states = []
    for length, value in ((3072, 0.0), (64, 1.0), (500, 1.0)):
        batch = random_batch(seeded("A33"), config, [1], [length])
        batch.q[:], batch.values[0][:] = 0, value
        states.append(run(config, batch))
    fold = merge_module()
    join = lambda a, b: fold(oa=a[0], la=a[1], ob=b[0], lb=b[1])
    out, lse = join(states[0], states[1])
    assert np.abs(out - 64 / 3136).max() <= 1e-6 and np.abs(lse - math.log(3136)).max() <= 1e-5
    a, b, c = states
    for three in (join(join(a, b), c), join(a, join(b, c)), join(join(c, a), b)):
        assert np.abs(three[0] - 564 / 3636).max() <= 1e-6 and np.abs(three[1] - math.log(3636)).max() <= 1e-5


@pytest.mark.parametrize("mask", [("causal",), ("window", 20)])
@pytest.mark.parametrize("splits", [8, 16, 32, 128])
def test_A34_splits_without_keys_change_nothing(splits, mask):
    config = Config(mask=mask, splits=splits, dim=32)
    batch = random_batch(seeded("A34"), config, [1, 1, 1, 1], [1, 2, 33, 4097])
    run_and_check(config, batch)
