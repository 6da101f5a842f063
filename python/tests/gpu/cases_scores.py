# cases_scores.py - named cases: what is visible, what a score becomes, odd shapes
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of failures that others reported; the number is that of the report's summary. Where Q is 0 every visible key weighs
the same, so that the result tells the visible set exactly."""

from __future__ import annotations

import math

from graphs import Attend
from registry import add, add_refusal

import pagefold as pf


def checked(function, config, batch, masks=None, slack=1.0, **extras):
    """Runs, compares with float64, returns (out, lse)."""
    import batches
    import oracle

    packed = {} if masks is None else batches.pack(masks)
    out, lse = batches.attend(function, config, batch, **packed, **extras)
    oracle.check(config, batch, out, lse, oracle.attention(config, batch, extras, masks), slack)
    return out, lse


def check_visible(function, config, batch, seen):
    """Runs with Q = 0 and a V that names the key: v_j is a unit vector, j modulo the head dim, then j divided by it. Each
    key that a row sees has an equal share. `seen` is bool [n, L] for each request. Returns (out, lse)."""
    import batches
    import torch

    batch.q.zero_()
    for name in (lambda j: j % config.dim, lambda j: torch.div(j, config.dim, rounding_mode="floor")):
        eye = torch.eye(config.dim, device=batches.device(), dtype=torch.float64)
        vectors = [eye[name(torch.arange(length, device=eye.device))] for length in batch.kv_lens]
        batch.values = [
            v.to(batch.q.dtype)[:, None].expand(-1, config.kv_heads, -1).contiguous() for v in vectors
        ]
        out, lse = batches.attend(function, config, batch)
        check_shares(batch, out, lse, seen, vectors)
    return out, lse


def check_shares(batch, out, lse, seen, vectors):
    import torch

    for r, (begin, n) in enumerate(zip(batch.starts, batch.q_lens)):
        shares, count = seen[r].double() @ vectors[r], seen[r].sum(1, keepdim=True).double()
        expected = torch.where(count > 0, shares / count.clamp_min(1), 0.0)[:, None]
        got = out[begin : begin + n].double()
        assert ((got - expected).abs() <= 2**-8 * expected).all(), f"request {r}: not the visible set"
        logs = torch.log(count).float().expand(n, lse.shape[1])  # -inf where nothing is seen
        rows = lse[begin : begin + n]
        assert ((rows == logs) | ((rows - logs).abs() <= 1e-4)).all(), (
            f"request {r}: lse is not ln(visible keys)"
        )


def positions(batch, r):
    """(p as a column, k as a row)."""
    import torch

    n, length = batch.q_lens[r], len(batch.keys[r])
    device = batch.q.device
    return torch.arange(n, device=device)[:, None] + length - n, torch.arange(length, device=device)[None]


# ---- A04: rows that see nothing ---------------------------------------------------------------------------


def nothing_visible(function, config):
    import batches
    import torch

    batch = batches.random_batch(config, [config.q_len], [70], 4)
    mask = batches.normal(1, config.q_len, 70) < 0.7
    mask[[0, 4, 8]] = False
    mask[64:128] = False  # and a whole tile of rows, where there are so many
    out, lse = checked(function, config, batch, masks=[mask])
    assert (out[[0, 4, 8]] == 0).all() and (lse[[0, 4, 8]] == -math.inf).all()
    assert torch.isfinite(out).all()


def nothing_left_by_a_bias(function, config):
    import batches

    batch = batches.random_batch(config, [9], [70], 4)
    bias = batches.normal(2, 9, 70)
    bias[[0, 4]] = -math.inf
    out, lse = checked(function, config, batch, bias=bias)
    assert (out[[0, 4]] == 0).all() and (lse[[0, 4]] == -math.inf).all()


def a_finite_minimum_is_no_mask(function, config):
    """The score is absorbed by it: where all keys have it they weigh the same, beside others they weigh nothing."""
    import batches
    import oracle
    import torch

    length = config.kv_len
    batch = batches.random_batch(config, [9], [length], 4)
    bias = batches.normal(2, 9, length)
    smallest = torch.finfo(torch.float32).min
    bias[[0, 4, 8]] = smallest
    bias[2, : length // 2] = bias[6, length // 3 :] = smallest  # some parts of a split, wholly
    out, lse = batches.attend(function, config, batch, bias=bias)
    oracle.check(config, batch, out, None, oracle.attention(config, batch, {"bias": bias}))
    assert torch.isfinite(lse).all()
    mean = batch.values[0].double().mean(0)
    for row in (0, 4, 8):
        got = out[row].view(config.kv_heads, -1, config.dim).double()
        assert ((got - mean[:, None]).norm() <= 4e-3 * mean.norm() * got.shape[1] ** 0.5).item(), f"row {row}"


_A04 = {"heads": 4, "kv_heads": 4, "dim": 64, "page": None, "batch": 1, "kv_len": 70, "mask": ("none",)}
for _rows in (9, 130):
    add(f"A04 bitmap, {_rows} rows", Attend(**_A04, q_len=_rows, bitmap=True), nothing_visible)
_BIAS = Attend(**_A04, q_len=9, score=("bias", 9, 70))
add("A04 bias of -inf", _BIAS, nothing_left_by_a_bias)
add("A04 bias of the smallest f32", _BIAS, a_finite_minimum_is_no_mask)
_LONG = {**_A04, "q_len": 9, "kv_len": 2100, "score": ("bias", 9, 2100)}
for _splits in (1, 4):
    add(
        f"A04 bias of the smallest f32, {_splits} parts",
        Attend(**_LONG, splits=_splits),
        a_finite_minimum_is_no_mask,
    )


# ---- A12, A65: head dims and shapes that fit no tile --------------------------------------------------------


def the_last_columns_count(function, config):
    """Only the last columns of Q, K and V hold something: a dropped remainder changes the answer."""
    import batches

    batch = batches.random_batch(config, [128, 128], [256, 128], 12)
    for x, dim in (
        (batch.q, config.dim),
        *((k, config.dim) for k in batch.keys),
        *((v, config.dim_of_values) for v in batch.values),
    ):
        x[..., : dim - (dim % 16 or 8)] = 0
    batch.q *= 4
    checked(function, config, batch)


for _dim in (40, 56, 72, 80, 96, 112, 136, 160, 192, 224, 256):
    add(f"A12 dim {_dim}", Attend(heads=8, kv_heads=8, dim=_dim, dtype="f16", page=None, batch=2, q_len=128, kv_len=256),
        the_last_columns_count)  # fmt: skip


def other_dim_of_values(function, config):
    import batches

    for count in (1, 5, 12):
        batch = batches.random_batch(config, [37] * count, [54] * count, count)
        checked(function, config, batch, masks=[batches.normal(r, 37, 54) < 0.5 for r in range(count)])


add("A12 192 x 128, bitmap", Attend(dim=192, v_dim=128, page=None, mask=("none",), bitmap=True, batch=12, q_len=37, kv_len=54),
    other_dim_of_values)  # fmt: skip


def odd(q_len, *kv_lens):
    def body(function, config):
        import batches

        for kv_len in kv_lens:
            checked(function, config, batches.random_batch(config, [min(q_len, kv_len)], [kv_len], kv_len))

    return body


_A65 = {"heads": 1, "kv_heads": 1, "batch": 1, "mask": ("none",)}
for _dtype in ("bf16", "f32"):
    for _page in (None, 16):
        _where = f"{_dtype}, {'dense' if _page is None else 'pages'}"
        add(
            f"A65 dim 8, {_where}",
            Attend(**_A65, dim=8, dtype=_dtype, page=_page, q_len=256, kv_len=256),
            odd(256, 256),
        )
        add(f"A65 dim 24, {_where}", Attend(**_A65, dim=24, dtype=_dtype, page=_page, q_len=65, kv_len=1009),
            odd(65, 1, 7, 63, 65, 1009))  # fmt: skip


# ---- A14: groups ------------------------------------------------------------------------------------------


def heads_find_their_group(function, config):
    """V of KV head g is g + 1 everywhere."""
    import batches
    import torch

    for q_lens in ([1, 1, 1], [1, 70, 130]):
        batch = batches.random_batch(config, q_lens, [1, 100, 2049], len(q_lens))
        checked(function, config, batch)
        for values in batch.values:
            values[:] = torch.arange(1, config.kv_heads + 1, device=values.device)[:, None].to(values.dtype)
        out, _ = batches.attend(function, config, batch)
        code = torch.arange(config.heads, device=out.device) // (config.heads // config.kv_heads) + 1
        assert (out.double().round() == code[:, None]).all() and (
            out.double() / code[:, None] - 1
        ).abs().max() <= 2**-7


for _heads, _kv_heads in ((12, 4), (40, 8), (24, 4), (28, 4), (64, 4), (71, 1)):
    for _dtype in ("bf16", "f16"):
        add(f"A14 {_heads} heads on {_kv_heads}, {_dtype}",
            Attend(heads=_heads, kv_heads=_kv_heads, dim=64, dtype=_dtype, batch=3, q_len=130, kv_len=2049, mask=("none",)),
            heads_find_their_group)  # fmt: skip
for _heads, _kv_heads in ((33, 2), (3, 2), (8, 0)):
    add_refusal(
        f"A14 {_heads} heads on {_kv_heads}", Attend(heads=_heads, kv_heads=_kv_heads), "expects .*heads?"
    )


# ---- A19, A20, A22: which keys are visible -----------------------------------------------------------------


def causal_is_bottom_right(function, config):
    import batches

    pairs = [(2, 5), (5, 2), (1, 128), (3, 128), (128, 3), (64, 64), (65, 64)]
    for chosen in [pairs, *([pair] for pair in pairs)]:
        batch = batches.random_batch(config, *zip(*chosen), 19)
        seen = [k <= p for p, k in (positions(batch, r) for r in range(len(chosen)))]
        out, lse = check_visible(function, config, batch, seen)
        for r, (n, length) in enumerate(chosen):
            hidden = slice(batch.starts[r], batch.starts[r] + max(n - length, 0))
            assert (out[hidden] == 0).all() and (lse[hidden] == -math.inf).all()


for _page in (None, 16):
    for _dim in (64, 128):
        add(f"A19 dim {_dim}, {'dense' if _page is None else 'pages'}",
            Attend(heads=4, kv_heads=2, dim=_dim, page=_page, batch=7, q_len=128, kv_len=128), causal_is_bottom_right)  # fmt: skip


def windows_count_the_row_itself(size):
    def body(function, config):
        import batches

        for q_len in (40, 5, 1):
            batch = batches.random_batch(config, [q_len], [40], q_len)
            p, k = positions(batch, 0)
            seen = (k <= p) & (k > p - size) if size else (k <= p)
            assert seen.sum(1).tolist() == [min(size or 40, int(x) + 1) for x in p]
            check_visible(function, config, batch, [seen])

    return body


for _size in (8, 1, 40, 64, None):
    add(f"A20 window {_size}", Attend(heads=4, kv_heads=2, dim=64, page=4, mask=("window", _size) if _size else ("causal",),
                                      batch=1, q_len=40, kv_len=40), windows_count_the_row_itself(_size))  # fmt: skip


def lanes_past_the_length_do_not_count(function, config):
    """V = 1: a padding lane in the denominator would show, though the tail holds zeros and no NaN."""
    import batches

    lens = [1, 17, 255, 256, 257, 300]
    for q_len in (1, 3):
        batch = batches.random_batch(config, [q_len] * 6, lens, q_len)
        batch.q.zero_()
        for values in batch.values:
            values.fill_(1)
        cache = None if config.page is None else batches.paged(batch, config, 3, fill=0.0)
        out, lse = batches.attend(function, config, batch, cache=cache)
        assert (out == 1).all()
        expected = batches.f32([math.log(n) for n in lens for _ in range(q_len)])[:, None]
        assert ((lse - expected).abs() <= 1e-5).all()


for _dtype in ("bf16", "f16", "f32"):
    for _page in (None, 16):
        add(f"A22 {_dtype}, {'dense' if _page is None else 'pages'}",
            Attend(dtype=_dtype, page=_page, mask=("none",), batch=6, q_len=3, kv_len=300), lanes_past_the_length_do_not_count)  # fmt: skip


# ---- A26, A28, A31: scores ----------------------------------------------------------------------------------


def one_key_under_a_cap(function, config):
    """The mask comes after the cap: a masked score must not turn into -cap."""
    import batches

    batch = batches.random_batch(config, [1], [64], 26)
    batch.q.fill_(1.0)
    batch.keys[0].fill_(-5 / (config.scale * config.dim))
    out, lse = batches.attend(function, config, batch)
    group = config.heads // config.kv_heads
    assert (out[0] == batch.values[0][0].repeat_interleave(group, 0)).all()
    assert (lse + math.tanh(5.0)).abs().max() <= 2e-3


def huge_scores_under_a_cap(function, config):
    """Scores 0, 200, 2000, and those of q and k near 30. A tanh error of 1e-3 of the cap is allowed."""
    import batches

    cap = config.score[1]
    batch = batches.random_batch(config, [3, 130], [96, 500], 26)
    batch.q[:3] = 1.0
    for first, score in enumerate((0.0, 200.0, 2000.0)):
        batch.keys[0][first::3] = score / (config.scale * config.dim)
    batch.q[3:] = (30 * batch.q[3:].sign()).to(batch.q.dtype)
    batch.keys[1] = (30 * batch.keys[1].sign()).to(batch.q.dtype)
    checked(function, config, batch, slack=1.0 + (cap if cap else 0.0))


_A26 = {"batch": 2, "q_len": 130, "kv_len": 500}
for _dtype in ("bf16", "f16"):
    add(
        f"A26 one key, {_dtype}",
        Attend(**_A26, dtype=_dtype, mask=("prefix", 1), score=("cap", 1.0)),
        one_key_under_a_cap,
    )
    for _cap in (50.0, 30.0):
        add(
            f"A26 cap {_cap:g}, {_dtype}",
            Attend(**_A26, dtype=_dtype, score=("cap", _cap)),
            huge_scores_under_a_cap,
        )
    add(f"A26 cap 0 is none, {_dtype}", Attend(**_A26, dtype=_dtype, score=("cap", 0)),
        odd(130, 500))  # fmt: skip


def products_beyond_f16(function, config):
    import batches
    import torch

    batch = batches.random_batch(config, [3], [130], 28)
    batch.q.fill_(300.0)
    keys = 300 - torch.arange(130, device=batch.q.device) / 4
    batch.keys[0][:] = keys[:, None, None].to(batch.q.dtype)
    batch.values[0] = (batch.values[0].float().clamp(-1, 1) * 6e4).to(batch.q.dtype)
    first = batch.values[0][0].repeat_interleave(config.heads // config.kv_heads, 0)
    out, _ = batches.attend(function, config, batch)
    error = (out.double() - first.double()).norm(dim=(1, 2))
    assert (error <= 1e-3 * first.double().norm()).all(), "the first key is the only one that counts"
    batch.keys[0].fill_(300.0)
    out, _ = batches.attend(function, config, batch)
    mean = batch.values[0].double().mean(0).repeat_interleave(config.heads // config.kv_heads, 0)
    assert torch.isfinite(out).all() and ((out.double() - mean).norm(dim=(1, 2)) <= 1e-3 * mean.norm()).all()


for _page in (None, 16):
    add(f"A28 {'dense' if _page is None else 'pages'}",
        Attend(dtype="f16", page=_page, mask=("none",), batch=1, q_len=3, kv_len=130), products_beyond_f16)  # fmt: skip


def slopes_of(first, count):
    def body(function, config):
        import batches

        slopes = pf.alibi_slopes(count)[first : first + config.heads]
        batch = batches.random_batch(config, [1, 40, 129], [90, 40, 600], count)
        checked(function, config, batch, slopes=batches.f32(slopes.tolist()))

    return body


for _first, _count, _heads, _kv_heads in (
    (0, 6, 6, 2),
    (0, 12, 12, 4),
    (0, 40, 40, 8),
    (0, 71, 71, 1),
    (0, 12, 6, 2),
    (6, 12, 6, 2),
):
    add(f"A31 heads {_first} to {_first + _heads} of {_count}",
        Attend(heads=_heads, kv_heads=_kv_heads, dim=64, score=("alibi",), batch=3, q_len=129, kv_len=600),
        slopes_of(_first, _count))  # fmt: skip
