# test_smollm2.py - a real model writes the same text as with a float64 attention
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs examples/smollm2 on two prompts. Skipped, saying so, where the packages with weights are missing."""

import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "smollm2"
NEW_TOKENS = 10


@pytest.fixture(scope="module")
def example():
    for package in ("gguf", "tokenizers"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    sys.path.insert(0, str(EXAMPLE))
    try:
        import generate
        from weights import Weights, default_path

        try:
            return generate, Weights(default_path())
        except FileNotFoundError as error:
            pytest.skip(str(error))
    finally:
        sys.path.remove(str(EXAMPLE))


@pytest.fixture(scope="module")
def reference(example):
    generate, weights = example
    prompts = [generate.PROMPTS[2], generate.PROMPTS[0]]  # the long one takes several chunks
    return prompts, generate.run(weights, generate.PlainAttention(weights.shape), prompts, NEW_TOKENS)[0]


def test_tokens_go_back_to_their_text(example):
    _, weights = example
    for text in (
        "Hello, world! 2024 naïve façade — 東京 🙂\n  two  spaces",
        "<|im_start|>user\nHi<|im_end|>\n",
    ):
        tokens = weights.tokenizer.encode(text).ids
        assert weights.tokenizer.decode(tokens, skip_special_tokens=False) == text
    assert len(weights.tokenizer.encode("2024").ids) == 4  # digits one by one


def test_the_reference_writes_sense(example, reference):
    _, weights = example
    assert "Paris" in weights.tokenizer.decode(reference[1][1].answer)


def test_A24_pagefold_writes_the_same_tokens(library, example, reference):
    generate, weights = example
    prompts, expected = reference
    attention = generate.PagedAttention(weights.shape, batch=2, chunk=generate.CHUNK, context=256)
    got, _ = generate.run(weights, attention, prompts, NEW_TOKENS)
    assert [generate.first_difference(a, b) for a, b in zip(got, expected)] == [None, None]
    assert not attention.pages and sorted(attention.free) == list(range(32))  # every page came back
