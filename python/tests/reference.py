# reference.py - attention in float64, from the definition
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The oracle of the tests: plain numpy in float64 on the stored values. It shares nothing with the package.

Row i of n, with L keys, stands at position L - n + i. Scores, then the score function, then the mask, then
a softmax with the sink in its denominator.
"""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass
class Result:
    """out f64 [tokens, heads, v_dim], lse f64 [tokens, heads], peak: the largest |score| of each request."""

    out: np.ndarray
    lse: np.ndarray
    peak: list[float]


def attention(query, keys, values, rows, scale, *, visible=None, score=None, sinks=None) -> Result:
    """keys[r] is [L, kv_heads, dim], values[r] [L, kv_heads, v_dim].

    visible(r, q, k, q_len, kv_len) -> bool [n, L] and score(s, r, q, k, p, h) -> s get `q`, `p` as columns
    and `k` as a row of indices.
    """
    heads, v_dim = query.shape[1], values[0].shape[2] if values else 0
    out = np.zeros((query.shape[0], heads, v_dim))
    lse = np.full((query.shape[0], heads), -np.inf)
    peak = []
    for r, (key, value) in enumerate(zip(keys, values)):
        q = slice(int(rows[r]), int(rows[r + 1]))
        n, length = q.stop - q.start, key.shape[0]
        index, k = np.arange(n)[:, None], np.arange(length)[None, :]
        seen = (
            np.ones((n, length), bool)
            if visible is None
            else np.broadcast_to(visible(r, index, k, n, length), (n, length))
        )
        largest = 0.0
        for h in range(heads):
            g = h // (heads // key.shape[1])
            s = scale * (query[q, h].astype(np.float64) @ key[:, g].astype(np.float64).T)
            if score is not None:
                s = score(s, r, index, k, index + length - n, h)
            largest = max(largest, float(np.abs(s[seen & np.isfinite(s)]).max(initial=0.0)))
            sink = -np.inf if sinks is None else float(sinks[h])
            out[q, h], lse[q, h] = _softmax_rows(s, seen, value[:, g].astype(np.float64), sink)
        peak.append(largest)
    return Result(out, lse, peak)


def _softmax_rows(s, seen, value, sink):
    out, lse = np.zeros((s.shape[0], value.shape[1])), np.full(s.shape[0], -np.inf)
    for i in range(s.shape[0]):
        keys = np.nonzero(seen[i])[0]
        m = max(s[i, keys].max(initial=-np.inf), sink) if not np.isnan(s[i, keys]).any() else np.nan
        if m == -np.inf:
            continue
        weights = np.exp(s[i, keys] - m)
        total = weights.sum() + np.exp(sink - m)
        out[i] = weights @ value[keys] / total
        lse[i] = m + np.log(total)
    return out, lse


def merge(states):
    """Folds states (out [..., dim], lse [...]); an lse of -inf gives weight 0 and its out is not read."""
    top = np.max([lse for _, lse in states], axis=0)
    total, out = np.zeros_like(top), np.zeros_like(states[0][0], dtype=np.float64)
    for state, lse in states:
        with np.errstate(invalid="ignore"):
            weight = np.where(lse == -np.inf, 0.0, np.exp(lse - top))
        total = total + weight
        out = out + np.where(weight[..., None] > 0, weight[..., None] * state, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total[..., None] > 0, out / total[..., None], 0.0), np.where(
            total > 0, top + np.log(total), -np.inf
        )


def rope(x, positions, rotary_dim, theta, pairing="half_split"):
    """Rotates with float64 angles; rows with a negative position pass through."""
    half = rotary_dim // 2
    angles = np.asarray(positions, np.float64)[:, None, None] * theta ** (-2.0 * np.arange(half) / rotary_dim)
    y = x.astype(np.float64)
    first, second = (
        (slice(0, half), slice(half, rotary_dim))
        if pairing == "half_split"
        else (slice(0, rotary_dim, 2), slice(1, rotary_dim, 2))
    )
    a, b = y[..., first].copy(), y[..., second].copy()
    y[..., first] = a * np.cos(angles) - b * np.sin(angles)
    y[..., second] = b * np.cos(angles) + a * np.sin(angles)
    return np.where(np.asarray(positions)[:, None, None] < 0, x.astype(np.float64), y)


# Masks by name, each visible(r, q, k, q_len, kv_len) with p = q + kv_len - q_len.
def mask(name, *sizes):
    def visible(r, q, k, q_len, kv_len):
        p = q + kv_len - q_len
        if name == "none":
            return np.ones(np.broadcast_shapes(np.shape(q), np.shape(k)), bool)
        if name == "causal":
            return k <= p
        if name == "window":
            return (k <= p) & (k > p - sizes[0])
        if name == "prefix":
            return k < sizes[0] + 0 * p
        if name == "causal_or_prefix":
            return (k <= p) | (k < sizes[0])
        if name == "sink_window":
            return (k <= p) & ((k < sizes[0]) | (k > p - sizes[1]))
        if name == "chunked":
            return (k <= p) & (k // sizes[0] == p // sizes[0])
        raise ValueError(name)

    return visible


# ---- Tolerances ------------------------------------------------------------------------------------


def tolerance(dtype, kv_len, peak):
    """Allowed ||out - ref|| / ||ref|| of one request."""
    return {"f32": 1e-6 * (np.sqrt(kv_len) + peak), "f16": 1e-3, "bf16": 4e-3, "f8e4m3": 8e-3}[dtype]


# Half a unit in the last place, relative: what storing the exact result costs an element.
ROUNDING = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


def check(out, lse, expected, rows, kv_lens, dtype, kv_dtype=None):
    """Asserts that a result of `dtype` is within tolerance of the reference, request by request: the tolerance of keys
    and values of `kv_dtype`, where that is another one."""
    out = np.asarray(out).astype(np.float64)
    for r, kv_len in enumerate(kv_lens):
        q = slice(int(rows[r]), int(rows[r + 1]))
        got, ref = out[q], expected.out[q]
        bound = tolerance(kv_dtype or dtype, max(kv_len, 1), expected.peak[r])
        assert np.isfinite(got).all(), f"request {r}: not finite"
        error, norm = np.linalg.norm(got - ref), np.linalg.norm(ref)
        assert error <= bound * norm, (
            f"request {r}: relative error {error / max(norm, 1e-300):.3g}, bound {bound:.3g}"
        )
        # The RMS is that of the rows that see something: the others are exactly 0.
        if written := np.count_nonzero(ref.any(axis=-1)) * ref.shape[-1]:
            rms, rounding = norm / np.sqrt(written), ROUNDING[dtype] * np.abs(ref)
            worst = (np.abs(got - ref) - rounding).max()
            assert worst <= 8 * bound * rms, (
                f"request {r}: worst element off by {worst / max(rms, 1e-300):.3g} RMS"
            )
        if lse is not None:
            check_lse(
                np.asarray(lse)[q], expected.lse[q], kv_dtype or dtype, expected.peak[r], f"request {r}"
            )


def check_lse(got, ref, dtype, peak, what=""):
    empty = ref == -np.inf
    assert (np.asarray(got)[empty] == -np.inf).all(), f"{what}: lse of empty rows is not -inf"
    error = np.abs(got[~empty] - ref[~empty]).max(initial=0.0)
    bound = 1e-5 + 1e-6 * peak if dtype == "f32" else 1e-3
    assert error <= bound, f"{what}: lse off by {error:.3g}, bound {bound:.3g}"
