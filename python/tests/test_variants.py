# test_variants.py - one graph for several declared maxima
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which variant a batch takes, and that each computes the same."""

import numpy as np
import pytest
import reference
from harness import Config, paged, random_batch

import pagefold as pf

CONFIG = Config(heads=4, kv_heads=2, batch=4, q_len=32, kv_len=300, tokens=None)
MAXIMA = [
    {"batch": 4, "q_len": 1, "kv_len": 300},
    {"batch": 2, "q_len": 32, "kv_len": 300},
    {"batch": 4, "q_len": 32, "kv_len": 300, "tokens": 100},
]


@pytest.fixture(scope="module")
def module():
    return pf.compile(CONFIG.graph(), bounds=MAXIMA)


def bounds(function) -> dict:
    return function.plan["bounds"]


@pytest.mark.parametrize(
    "q_lens, kv_lens, taken",
    [([1, 1, 1], [300, 7, 40], 0), ([32, 1], [33, 300], 1), ([1, 20, 1], [300, 20, 1], 2)],
)
def test_a_batch_takes_the_first_that_holds_it(module, q_lens, kv_lens, taken):
    name = CONFIG.graph().name
    function = module.function(
        name, batch=len(q_lens), q_len=max(q_lens), kv_len=max(kv_lens), tokens=sum(q_lens)
    )
    tokens = MAXIMA[taken].get("tokens", MAXIMA[taken]["batch"] * MAXIMA[taken]["q_len"])
    assert bounds(function) == {**MAXIMA[taken], "tokens": tokens}
    assert function.plan["graph"] == name and function is module.function(function.plan["name"])
    rng = np.random.default_rng(taken)
    batch = random_batch(rng, CONFIG, q_lens, kv_lens)
    out, lse = function(q=batch.q, rows=batch.rows, cache=paged(batch, CONFIG, rng))
    reference.check(out, lse, batch.expected(CONFIG), batch.rows, batch.lens, CONFIG.dtype)


def test_a_batch_that_none_holds(module):
    with pytest.raises(pf.PagefoldError, match="holds the batch: q_len 2 > 1 of .*, batch 3 > 2 of .*, kv_len 301 > 300"):
        module.function(batch=3, q_len=2, kv_len=301)


def test_all_numbers_or_none(module):
    with pytest.raises(ValueError, match="expects batch, q_len and kv_len together"):
        module.function(batch=1, q_len=1)
    with pytest.raises(ValueError, match="expects batch, q_len and kv_len together"):
        module.function(tokens=1)


def test_a_graph_of_several_has_no_function_of_its_name(module):
    with pytest.raises(pf.PagefoldError, match="was compiled for several maxima, as"):
        module.function(CONFIG.graph().name)


def test_one_entry_is_the_function_itself():
    module = pf.compile(CONFIG.graph(), bounds="batch 2, q_len 3, kv_len 50")
    assert module.plan["name"] == module.plan["graph"] == CONFIG.graph().name
    assert bounds(module.function()) == {"batch": 2, "q_len": 3, "kv_len": 50, "tokens": 6}
    assert module.function(batch=2, q_len=2, kv_len=50) is module.function()


@pytest.mark.parametrize("bad", [[{"batch": 0, "q_len": 1, "kv_len": 1}], [{"batch": 1, "q_len": 1}], "batch 1"])
def test_what_cannot_be_declared(bad):
    with pytest.raises((ValueError, TypeError, pf.PagefoldError), match="batch|kv_len"):
        pf.compile(CONFIG.graph(), bounds=bad)
