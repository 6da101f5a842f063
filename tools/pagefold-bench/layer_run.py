# layer_run.py - times the small ops of a layer on a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs of whole layers and of attention alone, whose difference is what the small ops cost; prompts beside a copy
of as many bytes."""

from __future__ import annotations

import torch
from decode_run import REPLAYS, ROUNDS, Pool, Rotation, rotation
from gpu_run import Bench, in_turn
from kernels import chosen
from layer_shapes import PAGE, SHAPES, THETA
from peers import Contender, Ours, result

import pagefold as pf


class Step(Contender):
    """A layer on one of the caches: new queries, keys and values."""

    page = PAGE

    def __init__(self, kind: str, inputs, function):
        self.kind = self.name = kind
        self.inputs, self.function, shape = inputs, function, inputs.shape
        tokens = sum(shape.q_lens)
        generator = torch.Generator(device="cuda").manual_seed(inputs.number)
        self.new = [
            torch.randn(tokens, shape.kv_heads, shape.dim, device="cuda", dtype=inputs.q.dtype, generator=generator)
            for _ in range(2)
        ]  # fmt: skip
        self.tables = [torch.from_numpy(t).cuda() for t in pf.rope_tables(shape.kv_len, shape.dim, THETA)]
        self.out, lse = result(inputs.q, inputs.q.shape[:2])
        self.arguments = {
            "q": inputs.q, **dict(zip("kv", self.new)), "rows": inputs.rows, **inputs.cache(PAGE),
            **dict(zip(("cos", "sin"), self.tables)), "out": (self.out, lse) if shape.attends else self.out,
        }  # fmt: skip

    def launch(self) -> None:
        self.function(**self.arguments)

    def check(self) -> None:
        self.function.check()

    def turned(self, x):
        """RoPE of rows at the end of their requests, in float64."""
        shape = self.inputs.shape
        positions = torch.cat([torch.arange(kv - q, kv) for q, kv in zip(shape.q_lens, shape.kv_lens)]).cuda()
        cos, sin = (t.double()[positions][:, None] for t in self.tables)
        a, b = x.double().chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def worst_error(self) -> float:
        """Of the result and of what lies in the cache; the largest relative one."""
        shape, inputs = self.inputs.shape, self.inputs
        keys = [inputs.keys(PAGE, i) for i in range(shape.batch)]
        stored = [torch.cat([x[side][-q:] for x, q in zip(keys, shape.q_lens)]) for side in range(2)]
        pairs = list(zip(stored, (self.turned(self.new[0]), self.new[1].double())))
        q = self.turned(inputs.q)
        if shape.attends:
            inputs.q, given = q.to(inputs.q.dtype), inputs.q
            pairs.append((self.out, inputs._expected(PAGE)))
            inputs.q = given
        else:
            pairs.append((self.out, q))
        return max(((got.double() - want).norm() / want.norm()).item() for got, want in pairs)


class Copy(Contender):
    """A copy that reads and writes as many bytes as the small ops of a prompt."""

    kind = name = "copy"
    page = None

    def __init__(self, inputs):
        elements = inputs.shape.row_bytes() // 2 // inputs.q.element_size()
        self.source = torch.randn(elements, dtype=inputs.q.dtype, device="cuda")
        self.out = torch.empty_like(self.source)

    def launch(self) -> None:
        self.out.copy_(self.source)

    def worst_error(self) -> float:
        return 0.0 if torch.equal(self.out, self.source) else float("inf")


class Calls(Rotation):
    """A contender on each cache of a rotation, whose parts check themselves."""

    def worst_error(self) -> float:
        return self.parts[0].worst_error()


def measure(bench: Bench, shape, pool: Pool) -> dict:
    """Milliseconds of each kind of call."""
    inputs = rotation(shape, pool)
    layer, plain = shape.kernel(PAGE).name, shape.plain(PAGE).name
    makes = [
        lambda one: Step("layer", one, bench.function(layer)),
        lambda one: Step("apart", one, bench.function(f"{layer} apart")),
        (lambda one: Ours("attention", one, PAGE, bench.function(plain))) if shape.attends else Copy,
    ]
    found = []
    for make in makes:
        calls = Calls(inputs, make)
        calls.launch()
        calls.check()
        error = calls.worst_error() if isinstance(calls.parts[0], (Step, Copy)) else 0.0
        if not error < shape.bound:
            bench.failures.append(f"{shape}: {calls.name}: relative error {error:.1e}")
        calls.capture()
        found.append(calls)
    times = in_turn([calls.measure for calls in found], ROUNDS)
    for calls in found:
        calls.check()
    return {"shape": str(shape), "bytes": shape.row_bytes(),
            **{calls.parts[0].name: ms for calls, ms in zip(found, times)}}  # fmt: skip


def text(line: dict) -> str:
    rows = "attention" not in line
    alone = line["copy" if rows else "attention"]
    figures = [f"{line['layer']:.4f}", f"{line['apart']:.4f}", f"{alone:.4f}"]
    if rows:
        figures += ["", f"{line['bytes'] / line['layer'] / 1e9:.2f}", f"{alone / line['layer']:.3f}"]
    else:
        figures += [f"{(line['layer'] - alone) * 1e3:.1f}", "", f"{alone / line['layer']:.3f}"]
    return f"{line['shape']:<24}" + "".join(f"{figure:>12}" for figure in figures)


def run(arguments) -> None:
    bench = Bench(arguments, "layer")
    print(f"{bench.machine()}; medians of {ROUNDS * REPLAYS} replays of a CUDA graph; bf16, 32/8 heads, d 128, pages of {PAGE}. "
          "step: RoPE, append and attention beside attention alone; prompt: RoPE and append beside a copy of as many bytes")  # fmt: skip
    titles = ("ms", "apart", "alone", "us more", "TB/s", "alone/ms")
    print(f"{'':<24}" + "".join(f"{title:>12}" for title in titles), flush=True)
    shapes = chosen(SHAPES, arguments.only)
    table = []
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        pool = Pool(shapes)
        for shape in shapes:
            table.append(measure(bench, shape, pool))
            print(text(table[-1]), flush=True)
            bench.between_shapes()
    bench.finish(arguments.json, table=table)
