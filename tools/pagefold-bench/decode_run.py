# decode_run.py - times decode kernels beside their peers on a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs, captured once for each contender, of calls that go round several caches; replayed in turn."""

from __future__ import annotations

import functools
import math

import gpu_table
import torch
from decode_shapes import LARGE_TOKENS, SHAPES, batch_invariant
from gpu_run import DTYPES, Bench, in_turn, reference, series
from gpu_table import Column
from kernels import DENSE, chosen
from peers import Cubin, Ours, result

import pagefold as pf

ROUNDS, REPLAYS, WARM_UP = 5, 5, 3  # 25 timed replays of each
CUBIN, CUDNN, FA2 = PEERS = (Column("cubin", "cubin"), Column("cuDNN", "cuDNN", contiguous=True),
                             Column("FA2", "FA2", contiguous=True))  # fmt: skip
# Ours by other means: the same call on a cache of the queries' dtype, the same kernel with --batch-invariant.
UNSCALED, INVARIANT = Column("bf16", "unscaled"), Column("invar.", "invariant")
COLUMNS = (*PEERS, UNSCALED, INVARIANT)


# ---- Inputs -------------------------------------------------------------------------------------------


class Pool:
    """Random normal K and V, [slots, KV heads, dim] each. All shapes with the same cache read them: pages and dense
    tensors are views. scales: of K and V by KV head, where elements of 8 bits stand for products, else two None."""

    def __init__(self, shapes):
        kv_heads, dim, dtype = shapes[0].cache
        pages = [page for shape in shapes for page in shape.pages]
        slots = max(shape.rotations * shape.tokens(page) for shape in shapes for page in shape.pages)
        slots = -(-slots // max(pages)) * max(pages)
        generator = torch.Generator(device="cuda")
        generator.manual_seed(0)
        drawn = torch.bfloat16 if dtype == "f8e4m3" else DTYPES[dtype]
        self.k, self.v = (
            torch.randn(slots, kv_heads, dim, device="cuda", dtype=drawn, generator=generator).to(DTYPES[dtype])
            for _ in range(2)
        )
        self.scales = (None, None)
        if dtype == "f8e4m3":  # of each head another one, so that a wrong head's shows
            self.scales = tuple(
                0.5 + torch.rand(kv_heads, device="cuda", generator=generator) for _ in range(2)
            )

    def pages(self, page: int):
        """K and V as [pages, page, KV heads, dim]; what does not fill a page is left out."""
        return [x[: len(x) // page * page].unflatten(0, (-1, page)) for x in (self.k, self.v)]


class Inputs:
    """One cache of those that calls go round, and its queries. tables: by page size; number: which of them it is."""

    def __init__(self, shape, pool: Pool, number: int, tables: dict):
        self.shape, self.pool, self.number, self.tables = shape, pool, number, tables
        generator = torch.Generator(device="cuda")
        generator.manual_seed(number + 1)
        self.q = torch.randn(sum(shape.q_lens), shape.heads, shape.dim, device="cuda", dtype=DTYPES[shape.dtype],
                             generator=generator)  # fmt: skip
        offsets = [0]
        for q_len in shape.q_lens:
            offsets.append(offsets[-1] + q_len)
        int32 = lambda values: torch.tensor(values, dtype=torch.int32, device="cuda")
        self.rows, self.lens = int32(offsets), int32(shape.kv_lens)
        self.expected = functools.cache(self._expected)

    def cache(self, page: int) -> dict:
        k_scale, v_scale = self.pool.scales
        pages = self.pool.pages(page)
        return {"cache": pf.PagedKV(*pages, self.tables[page], self.lens, k_scale=k_scale, v_scale=v_scale)}

    def dense(self):
        if self.shape.stored != self.shape.dtype:
            raise ValueError(f"keys are {self.shape.stored} with scales")
        if not self.shape.uniform:
            raise ValueError("requests of several lengths are no dense batch")
        batch, length = self.shape.batch, self.shape.kv_len
        begin = self.number * batch * length
        keys = (x[begin : begin + batch * length].view(batch, -1, length, x.shape[-1])
                for x in (self.pool.k, self.pool.v))  # fmt: skip
        return self.q.unflatten(0, (batch, -1)).transpose(1, 2), *keys

    def keys(self, page, request: int):
        """What K and V of a request stand for, [kv_len, KV heads, dim]."""
        if page is DENSE:
            return [x[request].transpose(0, 1) for x in self.dense()[1:]]
        length = self.shape.kv_lens[request]
        own = self.tables[page][request, : -(-length // page)].long()
        found = []
        for pages, scale in zip(self.pool.pages(page), self.pool.scales):
            bits = pages.view(torch.uint8) if scale is not None else pages  # torch indexes no floats of 8 bits
            stored = bits[own].flatten(0, 1)[:length].view(pages.dtype)
            found.append(stored if scale is None else stored.double() * scale.double()[:, None])
        return found

    def _expected(self, page):
        """The float64 result, [tokens, heads, dim], for keys in one place."""
        queries = self.q.split(self.shape.q_lens)
        return torch.cat(
            [reference(q, *self.keys(page, i), self.shape.causal) for i, q in enumerate(queries)]
        )

    def worst_error(self, page, out) -> float:
        """The largest relative error of a request; NaN where a result is not finite."""
        expected = self.expected(page)
        requests = torch.arange(self.shape.batch, device="cuda").repeat_interleave(
            torch.tensor(self.shape.q_lens, device="cuda")
        )
        square = lambda x: torch.zeros(self.shape.batch, dtype=x.dtype, device="cuda").index_add_(
            0, requests, x.square().sum((1, 2))
        )
        return (square(out.double() - expected) / square(expected)).sqrt().max().item()


def rotation(shape, pool: Pool) -> list[Inputs]:
    """The caches that calls go round, their pages in one random order."""
    generator = torch.Generator(device="cuda")
    generator.manual_seed(0)
    tables = {}
    for page in shape.pages:
        need = torch.tensor([-(-length // page) for length in shape.kv_lens], device="cuda")
        count = int(need.sum())
        order = torch.randperm(shape.rotations * count, device="cuda", generator=generator).to(torch.int32)
        owned = torch.arange(int(need.max()), device="cuda") < need[:, None]
        tables[page] = []
        for own in order.split(count):
            table = torch.zeros(owned.shape, dtype=torch.int32, device="cuda")
            table[owned] = own
            tables[page].append(table)
    return [
        Inputs(shape, pool, number, {page: tables[page][number] for page in shape.pages})
        for number in range(shape.rotations)
    ]


# ---- Contenders and times -----------------------------------------------------------------------------


class Rotation:
    """A contender on each cache of a rotation; make: of inputs."""

    def __init__(self, rotation: list[Inputs], make):
        self.rotation, self.parts = rotation, [make(inputs) for inputs in rotation]
        self.shape = rotation[0].shape
        self.kind, self.name, self.own, self.page = (
            getattr(self.parts[0], field) for field in ("kind", "name", "own", "page")
        )

    def launch(self) -> None:
        for part in self.parts:
            part.launch()

    def check(self) -> None:
        torch.cuda.synchronize()
        for part in self.parts:
            part.check()

    def results(self) -> list:
        return [part.out.clone() for part in self.parts]

    def worst_error(self) -> float:
        errors = [inputs.worst_error(self.page, part.out) for inputs, part in zip(self.rotation, self.parts)]
        return max(errors, key=lambda error: (error != error, error))  # NaN before all

    def capture(self) -> None:
        """Needs a stream that is not the default one, on which it has been launched before."""
        for part in self.parts:
            part.out.fill_(math.nan)
        torch.cuda.synchronize()
        self.calls = self.shape.calls
        self.graph = torch.cuda.CUDAGraph()
        self.graph.capture_begin()
        try:
            for call in range(self.calls):
                self.parts[call % len(self.parts)].launch()
        finally:
            self.graph.capture_end()

    def measure(self, number: int) -> list[float]:
        """Milliseconds of a call, of some replays."""
        return [ms / self.calls for ms in series(self.graph.replay, REPLAYS, WARM_UP if number == 0 else 1)]


def cubin(kernel, page: int, inputs: Inputs) -> Cubin:
    _, lse = result(inputs.q, inputs.q.shape[:2])
    pages = inputs.pool.pages(page)
    bind = lambda out: kernel.paged(inputs.q, *pages, inputs.tables[page], inputs.lens, out, lse, inputs.pool.scales)
    return Cubin(kernel.name, page, inputs, bind)


def captured(rotation: list[Inputs], make):
    """A function that makes a contender, launches it once and captures it: whoever cannot do one of these is not there."""

    def ready():
        contender = Rotation(rotation, make)
        contender.launch()
        contender.check()
        contender.error, contender.first = contender.worst_error(), contender.results()
        contender.capture()
        return contender

    return ready


def ours(bench: Bench, rotation: list[Inputs], kind: str, key=lambda kernel: kernel.name):
    """(name, function that makes it) of the kernel for each page size; key: the manifest's, of a kernel."""
    shape = rotation[0].shape
    for page in shape.pages:
        make = lambda inputs, page=page: Ours(kind, inputs, page, bench.function(key(shape.kernel(page))), kind)
        yield kind, captured(rotation, make)


def contenders(bench: Bench, shape, pools: dict) -> list[Rotation]:
    inputs = rotation(shape, pools[shape.cache])
    own = [*ours(bench, inputs, "ours"), *ours(bench, inputs, INVARIANT.kind, batch_invariant)]
    if other := shape.on_cache_of_queries():
        own += ours(bench, rotation(other, pools[other.cache]), UNSCALED.kind)
    peers = [
        (kernel.name, captured(inputs, functools.partial(cubin, kernel, page)))
        for page in shape.pages
        for kernel in bench.cubins
        if kernel.takes(page=page, heads=shape.heads, kv_heads=shape.kv_heads, q_lens=shape.q_lens,
                        dim=shape.dim, dtype=shape.dtype, stored=shape.stored)
    ]  # fmt: skip
    back_ends = [(forms[0].name, [captured(inputs, form) for form in forms]) for forms in bench.back_ends]
    return bench.contenders(shape, own, peers, back_ends)


def measure(bench: Bench, shape, pools: dict) -> list[dict]:
    """Checks and times everyone; a record each. pools: by the cache of a shape."""
    found = contenders(bench, shape, pools)
    times = in_turn([contender.measure for contender in found], ROUNDS)
    for contender in found:
        contender.check()
    same = [all(map(torch.equal, contender.first, contender.results())) for contender in found]
    errors = [contender.error for contender in found]
    return bench.records(shape, found, errors, same, times)


# ---- The table ----------------------------------------------------------------------------------------

FIGURES = ["ours", "TB/s", *(column.title for column in COLUMNS)]


def text(line: dict) -> str:
    ms = lambda column: line[column] and f"{line[column]['ms']:.4f}"
    figures = [ms("ours"), line["ours"] and f"{line['ours']['rate']:.2f}", *(ms(c.title) for c in COLUMNS)]
    return gpu_table.text(line, figures, COLUMNS)


def summary(table: list[dict]) -> None:
    scaled = {str(shape) for shape in SHAPES if shape.stored != shape.dtype}
    large = {str(shape) for shape in SHAPES if sum(shape.kv_lens) >= LARGE_TOKENS}
    plain = [line for line in table if line["shape"] not in scaled]
    means = [
        *(gpu_table.mean(f"pages of {page}", [line for line in plain if line["page"] == page], CUBIN)
          for page in sorted({line["page"] for line in plain})),
        *(gpu_table.mean(f"from {LARGE_TOKENS} tokens up", [line for line in plain if line["shape"] in large], peer)
          for peer in PEERS),
        *(gpu_table.mean("all", plain, peer) for peer in PEERS),
        *(gpu_table.mean("fp8", [line for line in table if line["shape"] in scaled], column)
          for column in (UNSCALED, CUBIN)),
        gpu_table.mean("what batch invariance costs", table, INVARIANT, worst_of=max),
    ]  # fmt: skip
    print("\n".join(filter(None, means)))


def run(arguments) -> None:
    bench = Bench(arguments, "decode")
    print(f"{bench.machine()}; medians of {ROUNDS * REPLAYS} replays of a CUDA graph of calls that go round caches of "
          "300 MB and more, random normal inputs, pages permuted; peers of PyTorch on contiguous K and V; bf16: ours on a "
          "cache of the queries' dtype; invar.: ours with --batch-invariant")  # fmt: skip
    print(gpu_table.header("ms, and ours over each", FIGURES, COLUMNS), flush=True)
    shapes = chosen(SHAPES, arguments.only)
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        compared = [other for shape in shapes if (other := shape.on_cache_of_queries())]
        by_cache: dict[tuple, list] = {}
        for shape in [*shapes, *compared]:
            by_cache.setdefault(shape.cache, []).append(shape)
        pools = {cache: Pool(readers) for cache, readers in by_cache.items()}
        records, table = gpu_table.measured(
            shapes,
            lambda shape: measure(bench, shape, pools),
            COLUMNS,
            text,
            bench.between_shapes,
        )
    summary(table)
    print("\n".join(gpu_table.compile_times(bench.manifest)))
    bench.finish(arguments.json, records=records, table=table)
