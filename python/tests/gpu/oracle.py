# oracle.py - attention in float64 with torch, and the tolerances
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The definition, on the stored values, in float64: the independent reference of the GPU suite.

Row i of n, with L keys, stands at position p = L - n + i. Scores, then the score function, then the mask, then a softmax
with the sink in its denominator. A row that sees nothing gives 0, and a log-sum-exp of -inf (or the sink).
"""

from __future__ import annotations

import dataclasses
import math

import torch


@dataclasses.dataclass
class Expected:
    """out f64 [tokens, heads, v_dim], lse f64 [tokens, heads], peak: the largest |score| of each request."""

    out: torch.Tensor
    lse: torch.Tensor
    peak: list[float]


def visible(mask: tuple, r: int, p, k, extras: dict, first_row: int):
    """bool [n, L] of request r; `first_row` is its first row in the batch, extras what the graph gets beside q and keys."""
    name, *sizes = mask
    causal = k <= p
    if name == "none":
        return (k >= 0) & (p == p)
    if name == "causal":
        return causal
    if name == "window":
        return causal & (k > p - sizes[0])
    if name == "window_of":
        return causal & (k > p - int(extras["w"][r]))
    if name == "prefix":
        return (k < sizes[0]) & (p == p)
    if name == "causal_or_prefix":
        return causal | (k < sizes[0])
    if name == "sink_window":
        return causal & ((k > p - sizes[1]) | (k < sizes[0]))
    if name == "chunked":
        floor = lambda x: torch.div(x, sizes[0], rounding_mode="floor")
        return causal & (floor(k) == floor(p))
    if name == "documents":
        return causal & (k >= extras["doc"][first_row : first_row + len(p)].long()[:, None])
    raise ValueError(name)


def score_function(config, extras: dict):
    """(scores [heads, n, L], p, k, heads) -> scores, of the configuration."""
    kind = config.score and config.score[0]
    if kind == "cap" and config.score[1]:
        return lambda s, p, k, heads: config.score[1] * torch.tanh(s / config.score[1])
    if kind == "alibi":
        return lambda s, p, k, heads: s - extras["slopes"].double()[heads, None, None] * (p - k)
    if kind == "bias":
        return lambda s, p, k, heads: s + extras["bias"].double()[: s.shape[1], : s.shape[2]]
    return lambda s, p, k, heads: s


def attention(config, batch, extras: dict | None = None, masks=None) -> Expected:
    """`masks`: a bool [n, L] for each request beside the mask of the configuration."""
    extras = extras or {}
    device = batch.q.device
    shape = (batch.q.shape[0], config.heads, config.dim_of_values)
    out = torch.zeros(shape, dtype=torch.float64, device=device)
    lse = torch.full(shape[:2], -math.inf, dtype=torch.float64, device=device)
    score, group, peak = score_function(config, extras), config.heads // config.kv_heads, []
    for r, (begin, n, length) in enumerate(zip(batch.starts, batch.q_lens, batch.kv_lens)):
        keys, values = (batch.dequantised(which, r) for which in (0, 1))
        k = torch.arange(length, device=device)[None]
        p = torch.arange(n, device=device)[:, None] + length - n
        seen = visible(config.mask, r, p, k, extras, begin)
        seen = seen & masks[r] if masks is not None else seen
        largest = 0.0
        for g in range(config.kv_heads if n else 0):
            heads = torch.arange(g * group, (g + 1) * group, device=device)
            q = batch.q[begin : begin + n, heads].double().transpose(0, 1)
            s = score(config.scale * (q @ keys[:, g].T), p, k, heads)
            known = s[seen.expand_as(s) & torch.isfinite(s)]
            largest = max(largest, known.abs().max().item() if known.numel() else 0.0)
            s = s.masked_fill(~seen, -math.inf)
            sink = extras["sinks"].double()[heads] if config.sinks else s.new_full((group,), -math.inf)
            top = torch.maximum(s.amax(-1), sink[:, None]) if length else sink[:, None].expand(group, n)
            some = torch.where(top == -math.inf, torch.zeros_like(top), top)  # of rows that see nothing
            weights = torch.exp(s - some[..., None])
            total = weights.sum(-1) + torch.exp(sink[:, None] - some)
            result = (weights / total.clamp_min(1e-300)[..., None]) @ values[:, g]
            out[begin : begin + n, heads] = result.transpose(0, 1)
            lse[begin : begin + n, heads] = (some + torch.log(total)).transpose(0, 1)
        peak.append(largest)
    if config.gate:
        out *= torch.sigmoid(extras["gate"].double())[..., None]
    return Expected(out, lse, peak)


def rms_norm(x, weight, eps: float):
    """In float64."""
    x = x.double()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.double()


def rope(x, positions, rotary: int, theta: float, pairing: str):
    """Rotates with float64 angles, to float64."""
    half = rotary // 2
    exponents = -2.0 * torch.arange(half, dtype=torch.float64, device=x.device) / rotary
    angles = positions.double()[:, None, None] * theta**exponents
    y = x.double()
    first, second = (
        (slice(0, half), slice(half, rotary))
        if pairing == "half_split"
        else (slice(0, rotary, 2), slice(1, rotary, 2))
    )
    a, b = y[..., first].clone(), y[..., second].clone()
    y[..., first] = a * torch.cos(angles) - b * torch.sin(angles)
    y[..., second] = b * torch.cos(angles) + a * torch.sin(angles)
    return y


# ---- Tolerances ------------------------------------------------------------------------------------------

# Half a unit in the last place, relative: what storing the exact result costs an element.
ROUNDING = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
ULP = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f8e4m3": 2.0**-3}


def tolerance(dtype: str, kv_len: int, peak: float) -> float:
    """Allowed ||out - ref|| / ||ref|| of one request."""
    rounded = {"f16": 1e-3, "bf16": 4e-3, "f8e4m3": 8e-3}
    return 1e-6 * (math.sqrt(max(kv_len, 1)) + peak) if dtype == "f32" else rounded[dtype]


def check(config, batch, out, lse, expected: Expected, slack: float = 1.0) -> float:
    """Asserts that a result is within tolerance, request by request; the largest share of the tolerance that was used."""
    used = 0.0
    for r, (begin, n) in enumerate(zip(batch.starts, batch.q_lens)):
        got, ref = out[begin : begin + n].double(), expected.out[begin : begin + n]
        bound = slack * tolerance(config.stored, len(batch.keys[r]), expected.peak[r])
        assert torch.isfinite(got).all(), (
            f"request {r}: {(~torch.isfinite(got)).sum().item()} elements not finite"
        )
        error, norm = (got - ref).norm().item(), ref.norm().item()
        assert error <= bound * norm, (
            f"request {r}: relative error {error / max(norm, 1e-300):.2e}, bound {bound:.1e}"
        )
        used = max(used, error / (bound * norm) if norm else 0.0)
        # The RMS is that of the rows that see something: the others are exactly 0.
        if written := int(ref.any(-1).sum()) * ref.shape[-1]:
            rms = norm / math.sqrt(written)
            worst = ((got - ref).abs() - ROUNDING[config.dtype] * ref.abs()).max().item()
            assert worst <= 8 * bound * rms, f"request {r}: worst element off by {worst / rms:.2e} of the RMS"
        if lse is not None:
            check_lse(
                lse[begin : begin + n],
                expected.lse[begin : begin + n],
                config.stored,
                expected.peak[r],
                slack,
                r,
            )
    return used


def check_lse(got, ref, dtype: str, peak: float, slack: float, r: int) -> None:
    empty = ref == -math.inf
    assert (got[empty] == -math.inf).all(), f"request {r}: lse of rows that see nothing is not -inf"
    error = (got.double() - ref)[~empty].abs()
    bound = slack * (1e-5 + 1e-6 * peak if dtype == "f32" else 1e-3)
    worst = error.max().item() if error.numel() else 0.0
    assert worst <= bound, f"request {r}: lse off by {worst:.2e}, bound {bound:.1e}"
