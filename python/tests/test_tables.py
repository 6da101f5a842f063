# test_tables.py - rotary tables and ALiBi slopes
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import math

import numpy as np
import pytest

import pagefold as pf


@pytest.mark.parametrize("heads", [1, 2, 6, 8, 12, 40, 64, 71])
def test_A31_slopes_of_any_number_of_heads(heads):
    power = 2 ** int(math.floor(math.log2(heads)))
    expected = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    expected += [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]
    assert pf.alibi_slopes(heads).tolist() == np.array(expected, np.float32).tolist()


def test_A31_twelve_heads_end_as_published():
    assert np.allclose(pf.alibi_slopes(12)[-4:], [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5], rtol=1e-7)


@pytest.mark.parametrize("theta", [1e4, 1e6])
def test_A45_angles_stay_exact_at_large_positions(theta):
    positions = [0, 1, 255, 256, 257, 4095, 15962, 131071, 1000003]
    cos, sin = pf.rope_tables(np.array(positions), 64, theta)
    assert cos.shape == sin.shape == (9, 32) and cos.dtype == np.float32
    for row, position in enumerate(positions):
        for j in range(32):
            angle = position * theta ** (-2 * j / 64)
            # The exponent of the power may differ in its last place from this one.
            slack = 2**-24 + position * 2**-50
            assert abs(cos[row, j] - math.cos(angle)) <= slack and abs(sin[row, j] - math.sin(angle)) <= slack


@pytest.mark.parametrize(
    "arguments", [(4, 3), (4, 0), (4, 8, 0.0), (np.zeros((2, 2), int), 8), (np.zeros(3), 8)]
)
def test_A45_tables_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ValueError):
        pf.rope_tables(*arguments)


def test_A31_no_heads_are_refused():
    with pytest.raises(ValueError):
        pf.alibi_slopes(0)
