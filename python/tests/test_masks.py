# test_masks.py - mask expressions and packed bitmaps
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess

import numpy as np
import pytest

import pagefold as pf
from pagefold.masks import k, kv_len, q, q_len, sym

TEXTS = [
    (pf.no_mask(), "none"),
    (pf.causal() & pf.window(4096), "causal and window(4096)"),
    (pf.causal() | pf.prefix(7), "causal or prefix(7)"),
    (pf.sink_window(4, 1024), "sink_window(4, 1024)"),
    (pf.causal() & (pf.window(8) | pf.prefix(2)), "causal and (window(8) or prefix(2))"),
    (pf.chunked(64) | pf.causal() & pf.window(3), "chunked(64) or causal and window(3)"),
    (k <= q + kv_len - q_len, "k <= q + kv_len - q_len"),
    (k - (q - q_len) > -3, "k - (q - q_len) > -3"),
    (5 <= k, "k >= 5"),
    (2 * k + 1 == (q + 3) // 4, "k * 2 + 1 == (q + 3) floordiv 4"),
    ((q - k) % 4 == 0, "(q - k) mod 4 == 0"),
    (k != q, "k < q or k > q"),
    (k < 10 - q, "k < 10 - q"),
    (pf.window(sym("w", at_least=1)), "window(w) where w >= 1"),
    ((k > q - sym("w")) & (k < sym("end", at_least=0)), "k > q - w and k < end where w, end >= 0"),
    (pf.causal() & (k >= pf.per_row("start")), "causal and k >= start where start per_row"),
]


@pytest.mark.parametrize("mask, text", TEXTS)
def test_text_of_masks(mask, text):
    assert mask.mlir_text() == text


@pytest.mark.parametrize("mask, text", TEXTS)
def test_pagefold_opt_parses_masks(opt, mask, text):
    with pf.Graph("masked", batch=1, q_len=8, kv_len=8) as g:
        q, rows, cache = g.tokens("query", heads=1, dim=8), g.rows(), g.paged_kv("cache", heads=1, dim=8)
        bound = {name: g.per_request(f"{name}_value") for name in mask.symbols}
        keyword = "row_values" if "per_row" in text else "symbols"
        g.returns(pf.attention(q, cache, rows=rows, scale=1.0, mask=mask, **{keyword: bound}))
    parsed = subprocess.run([opt, "-"], input=str(g), capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: pf.window(0), ValueError),
        (lambda: pf.window(-1), ValueError),
        (lambda: pf.chunked(sym("c")), TypeError),
        (lambda: q * k, TypeError),
        (lambda: q // 0, ValueError),
        (lambda: q < 1.5, TypeError),
        (lambda: 0 <= k < 4, TypeError),
        (lambda: pf.causal() and pf.window(4), TypeError),
        (lambda: pf.causal() & (k + 1), TypeError),
        (lambda: sym("q_len"), ValueError),
        (lambda: sym("a b"), ValueError),
        (lambda: (k < sym("w", at_least=1)) & (k < sym("w", at_least=2)), ValueError),
    ],
)
def test_what_is_not_a_mask_is_refused(make, error):
    with pytest.raises(error):
        make()


def test_A23_packed_bits_run_on_between_requests():
    rng = np.random.default_rng(23)
    shapes = [(3, 7), (5, 11), (1, 9)]
    masks = [rng.random(shape) < 0.5 for shape in shapes]
    bits, starts = pf.pack_mask(masks, np.array([0, 3, 8, 9], np.int32), np.array([7, 11, 9], np.int32))
    assert starts.tolist() == [0, 21, 76] and bits.dtype == np.uint8 and bits.size == 11
    for mask, start, (height, width) in zip(masks, starts, shapes):
        for row in range(height):
            for key in range(width):
                bit = int(start) + row * width + key
                assert bool(bits[bit // 8] >> (bit % 8) & 1) == mask[row, key]


@pytest.mark.parametrize("shape", [(10, 15), (20, 10), (10, 20, 1), (200,)])
def test_A23_masks_of_a_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"masks\[0\]: expects a boolean array of shape \(10, 20\)"):
        pf.pack_mask([np.ones(shape, bool)], [0, 10], [20])


def test_A23_masks_of_a_wrong_dtype_or_number_are_refused():
    with pytest.raises(ValueError, match="boolean"):
        pf.pack_mask([np.ones((10, 20), np.float32)], [0, 10], [20])
    with pytest.raises(ValueError, match="expects one for each of 2 requests"):
        pf.pack_mask([np.ones((10, 20), bool)], [0, 10, 20], [20, 20])


def test_A23_an_empty_batch_packs_to_nothing():
    bits, starts = pf.pack_mask([], [0], [])
    assert bits.size == 0 and starts.size == 0
