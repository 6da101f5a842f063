# tables.py - rotary tables and ALiBi slopes
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables that graphs read."""

from __future__ import annotations

import numpy as np


def rope_tables(positions, rotary_dim: int, theta: float = 10000.0) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine, f32 [positions, rotary_dim / 2], of the angles p * theta^(-2 j / rotary_dim).

    `positions` is the number of positions from 0, or an array of them, one row each. The angles are taken
    in float64: at position 1,000,000 a float32 angle is off by 0.06 radians.
    """
    if rotary_dim < 2 or rotary_dim % 2:
        raise ValueError(f"rotary_dim: expects an even number of at least 2, got {rotary_dim}")
    if not theta > 0:
        raise ValueError(f"theta: expects a number above 0, got {theta}")
    positions = np.arange(positions) if np.ndim(positions) == 0 else np.asarray(positions)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise ValueError(
            f"positions: expects a count or a list of integers, got {positions.dtype} {positions.shape}"
        )
    frequencies = float(theta) ** (-np.arange(0, rotary_dim, 2, dtype=np.float64) / rotary_dim)
    angles = positions.astype(np.float64)[:, None] * frequencies
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def alibi_slopes(heads: int) -> np.ndarray:
    """The slopes of ALiBi for `heads` heads, f32 [heads].

    With p the largest power of two up to `heads`, the first p are 2^(-8 (i + 1) / p); the others are the
    odd ones of the series for 2 p. A rank that holds some of the heads slices the whole array.
    """
    if heads < 1:
        raise ValueError(f"heads: expects at least 1, got {heads}")
    power = 1 << (int(heads).bit_length() - 1)
    first = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    rest = 2.0 ** (-4.0 * np.arange(1, 2 * (heads - power), 2) / power)
    return np.concatenate([first, rest]).astype(np.float32)
