# prefill_run.py - times prefill kernels beside their peers on a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Events round each call, contenders in turn."""

from __future__ import annotations

import math
import time

import gpu_table
import torch
from gpu_run import DTYPES, IDLE, Bench, in_turn, reference, series
from gpu_table import Column
from kernels import DENSE, chosen
from peers import Cubin, Ours, result
from prefill_shapes import PREFILL, SHAPES, VARIANTS, VARIED

import pagefold as pf

ROUNDS, CALLS, FEW_CALLS = 3, 10, 4  # timed calls of each: 30, or 12 where one takes milliseconds
LONG_FLOPS = 2e12
WARM_UP = 5
PEERS = tuple(Column(kind, kind) for kind in ("cubin", "cuDNN", "FA2", "Flex"))
OURS_DENSE = Column("dense", "ours", contiguous=True)


# ---- Inputs and checks --------------------------------------------------------------------------------


class Inputs:
    """Random normal Q, K and V of a shape: rows of all requests one after another, and pages in a random order."""

    def __init__(self, shape, seed: int):
        self.shape = shape
        generator = torch.Generator(device="cuda")
        generator.manual_seed(seed)
        normal = lambda length, heads: torch.randn(
            shape.batch * length,
            heads,
            shape.dim,
            device="cuda",
            dtype=DTYPES[shape.dtype],
            generator=generator,
        )
        self.q = normal(shape.q_len, shape.heads)
        self.k, self.v = (normal(shape.kv_len, shape.kv_heads) for _ in range(2))
        offsets = lambda length: torch.arange(shape.batch + 1, dtype=torch.int32, device="cuda") * length
        self.rows, self.kv_rows = offsets(shape.q_len), offsets(shape.kv_len)
        self.lens = torch.full((shape.batch,), shape.kv_len, dtype=torch.int32, device="cuda")
        self._pages = {}

    def batched(self, x):
        """Rows of all requests as [batch, rows of one, heads, dim]."""
        return x.view(self.shape.batch, -1, *x.shape[1:])

    def dense(self):
        return [self.batched(x).transpose(1, 2) for x in (self.q, self.k, self.v)]

    def cache(self, page) -> dict:
        if page is DENSE:
            return {"k": self.k, "v": self.v, "kv_rows": self.kv_rows}
        return {"cache": pf.PagedKV(*self.pages(page), self.lens)}

    def pages(self, page: int):
        """(K pages, V pages, table): spare pages and slots past the length hold NaN."""
        if page not in self._pages:
            shape = self.shape
            width = -(-shape.kv_len // page)
            count = shape.batch * width
            order = torch.randperm(count + 3, device="cuda")[:count]
            pools = []
            for x in (self.k, self.v):
                padded = x.new_full((shape.batch, width * page, *x.shape[1:]), math.nan)
                padded[:, : shape.kv_len] = self.batched(x)
                pool = x.new_full((count + 3, page, *x.shape[1:]), math.nan)
                pool[order] = padded.view(count, page, *x.shape[1:])
                pools.append(pool)
            self._pages[page] = (*pools, order.to(torch.int32).view(shape.batch, width))
        return self._pages[page]


def worst_errors(contenders, inputs: Inputs) -> list[float]:
    """The largest relative error of each over a few (request, head) pairs; NaN where a result is not finite."""
    shape = inputs.shape
    picks = {(0, 0), (shape.batch - 1, shape.heads - 1), (shape.batch // 2, shape.heads // 3)}
    worst = [0.0] * len(contenders)
    for request, head in sorted(picks):
        kv_head = head // (shape.heads // shape.kv_heads)
        q, k, v = (inputs.batched(x)[request, :, h : h + 1]
                   for x, h in ((inputs.q, head), (inputs.k, kv_head), (inputs.v, kv_head)))  # fmt: skip
        expected = reference(q, k, v, shape.causal)
        for i, contender in enumerate(contenders):
            got = inputs.batched(contender.out)[request, :, head : head + 1].double()
            error = ((got - expected).norm() / expected.norm()).item()
            worst[i] = error if not error <= worst[i] else worst[i]
    return worst


# ---- A shape ------------------------------------------------------------------------------------------


def cubin(kernel, page, inputs: Inputs) -> Cubin:
    shape, batched = inputs.shape, inputs.batched

    def bind(out):
        if page is DENSE:
            _, lse = result(inputs.q, (shape.batch, shape.heads, shape.q_len))
            return kernel.dense(*(batched(x) for x in (inputs.q, inputs.k, inputs.v, out)), lse)
        _, lse = result(inputs.q, (shape.heads, len(inputs.q)))
        return kernel.paged(
            inputs.q, *inputs.pages(page), inputs.rows, inputs.lens, out, lse, shape.q_len, shape.kv_len
        )

    return Cubin(kernel.name, page, inputs, bind)


def contenders(bench: Bench, inputs: Inputs, keys: dict, peers: bool) -> list:
    """keys: of the manifest, by (name, page) of ours."""
    shape = inputs.shape
    ours = [
        (name, lambda name=name, page=page, key=key: Ours(name, inputs, page, bench.function(key)))
        for (name, page), key in keys.items()
    ]
    if not peers:
        return bench.contenders(shape, ours, [], [])
    cubins = [
        (kernel.name, lambda kernel=kernel, page=page: cubin(kernel, page, inputs))
        for page in shape.pages
        for kernel in bench.cubins
        if kernel.takes(page=page, causal=shape.causal, dim=shape.dim, dtype=shape.dtype)
    ]
    back_ends = [
        (forms[0].name, [lambda form=form: form(inputs) for form in forms]) for forms in bench.back_ends
    ]
    return bench.contenders(shape, ours, cubins, back_ends)


def measure(bench: Bench, shape, keys: dict, peers: bool = True) -> list[dict]:
    """Checks and times everyone; a record each."""
    inputs = Inputs(shape, seed=0)
    found = contenders(bench, inputs, keys, peers)
    for contender in found:
        contender.launch()
    torch.cuda.synchronize()
    for contender in found:
        contender.check()
    errors = worst_errors(found, inputs)
    first = [contender.out.clone() for contender in found]
    calls = FEW_CALLS if shape.flops() > LONG_FLOPS else CALLS

    def timed(contender):
        def rounds(number: int) -> list[float]:
            time.sleep(IDLE / 4)
            return series(contender.launch, calls, WARM_UP if number == 0 else 2)

        return rounds

    times = in_turn([timed(contender) for contender in found], ROUNDS)
    same = [torch.equal(out, contender.out) for out, contender in zip(first, found)]
    return bench.records(shape, found, errors, same, times)


# ---- The table ----------------------------------------------------------------------------------------

COLUMNS = (*PEERS, OURS_DENSE)
FIGURES = ["ours", *(column.title for column in PEERS)]


def text(line: dict) -> str:
    rates = [line[title] and f"{line[title]['rate']:.0f}" for title in FIGURES]
    return gpu_table.text(line, rates, COLUMNS)


def summary(table: list[dict]) -> None:
    prefill = {str(shape) for shape in PREFILL}
    prefill = [line for line in table if line["shape"] in prefill]
    means = [gpu_table.mean("prefill", prefill, peer) for peer in PEERS]
    print("\n".join(filter(None, [*means, gpu_table.mean("pages", table, OURS_DENSE)])))


def variants(bench: Bench, only: str) -> list[dict]:
    """What each pass is worth: the same kernels built without it."""
    print(f"\n{'TFLOP/s (share of all passes)':<32}" + "".join(f"{name:>20}" for name in ("all", *VARIANTS)))
    table = []
    for shape in chosen(VARIED, only):
        base = shape.kernel(None).name
        keys = {("all", None): base, **{(name, None): f"{base} {name}" for name in VARIANTS}}
        figures = {r["name"]: r["rate"] for r in measure(bench, shape, keys, peers=False)}
        bench.between_shapes()
        table.append({"shape": str(shape), **figures})
        cells = [f"{figures[n]:.0f} ({figures[n] / figures.get('all', math.nan):.2f})" if n in figures else "-"
                 for n in ("all", *VARIANTS)]  # fmt: skip
        print(f"{str(shape):<32}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    return table


def run(arguments) -> None:
    bench = Bench(arguments, "prefill")
    print(f"{bench.machine()}; medians of {ROUNDS * CALLS} calls ({ROUNDS * FEW_CALLS} of long ones), random normal "
          "inputs, pages permuted")  # fmt: skip
    print(gpu_table.header("TFLOP/s, and ours over each", FIGURES, COLUMNS), flush=True)
    keys = lambda shape: {("ours", page): shape.kernel(page).name for page in shape.pages}
    with torch.no_grad():
        records, table = gpu_table.measured(
            chosen(SHAPES, arguments.only),
            lambda shape: measure(bench, shape, keys(shape)),
            COLUMNS,
            text,
            bench.between_shapes,
        )
        summary(table)
        print("\n".join(gpu_table.compile_times(bench.manifest)))
        varied = variants(bench, arguments.only) if arguments.variants else []
    bench.finish(arguments.json, records=records, table=table, variants=varied)
