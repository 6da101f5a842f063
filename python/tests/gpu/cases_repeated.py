# cases_repeated.py - named cases: the same bits again, run after run, in CUDA graphs, beside any neighbours
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of failures that others reported; the number is that of the report's summary. Results are compared bit by bit on the
GPU, and the comparisons read at the end: a wait after each call would hide what calls in a row do to each other."""

from __future__ import annotations

import dataclasses
import random

from graphs import Attend, AttendTwice, Layer
from registry import add

RUNS = 500
SAMPLED = 50  # every so many of them are compared with float64


def count() -> int:
    """Without a GPU, where cases are tried, a few."""
    import batches

    return 20 if batches.device() == "cpu" else RUNS


class Differences:
    """Whether results of a run were others than they had to be, for all runs."""

    def __init__(self, runs: int):
        import batches

        self.found = batches.i32([0] * runs)

    def compare(self, run: int, got, expected) -> None:
        import batches

        for a, b in zip(got, expected):
            self.found[run] += (batches.bits(a) != batches.bits(b)).any()

    def check(self, what: str) -> None:
        runs = self.found.nonzero().flatten().tolist()
        assert not runs, f"{len(runs)} of {len(self.found)} {what}, the first is number {runs[0]}"


# ---- A37: the same bits in every run --------------------------------------------------------------------------


def runs_agree(q_lens, kv_lens):
    """500 runs on the same inputs, while matrix products on another stream take turns with them on the processors."""

    def body(function, config):
        import batches
        import oracle
        import torch

        batch = batches.random_batch(config, q_lens, kv_lens, 37)
        arguments = batches.arguments(config, batch)
        expected = batches.call(function, batches.results(config, len(batch.q)), **arguments)
        oracle.check(config, batch, *expected, oracle.attention(config, batch))
        results = [torch.full_like(x, batches.NAN) for x in expected]
        different, other = Differences(count()), other_work()
        for run in range(count()):
            other()
            for x in results:
                x.fill_(batches.NAN)
            function(**arguments, out=tuple(results))
            different.compare(run, results, expected)
        batches.synchronize()
        function.check()
        different.check("runs differ from the first one")

    return body


def other_work():
    """A function that enqueues work for all processors on a stream of its own."""
    import batches
    import torch

    if batches.device() == "cpu":
        return lambda: None
    stream, x = torch.cuda.Stream(), batches.normal(1, 4096, 4096, dtype="bf16")
    y = torch.empty_like(x)
    stream.wait_stream(torch.cuda.current_stream())

    def work():
        with torch.cuda.stream(stream):
            torch.mm(x, x, out=y)

    return work


_MANY = [9000, 1, 0, 700, 64, 2049, 333, 16]
for _name, _change, _q_lens, _kv_lens in (
    ("decode", {"q_len": 1}, [1] * 8, _MANY),
    ("decode, one long request", {"q_len": 1}, [1], [9000]),
    ("decode, fixed pieces", {"q_len": 1, "batch_invariant": True}, [1] * 8, _MANY),
    ("decode, fp8", {"q_len": 1, "kv_dtype": "f8e4m3"}, [1] * 8, _MANY),
    ("packed groups", {"q_len": 4, "heads": 16, "splits": 4}, [4] * 8, _MANY),
    ("packed groups, one long request", {"q_len": 4, "heads": 16, "splits": 8}, [4], [9000]),
    ("decode, pages of 1", {"q_len": 1, "page": 1}, [1] * 8, _MANY),
    ("decode, pages of 8", {"q_len": 1, "page": 8}, [1] * 8, _MANY),
    ("decode, pages of 1, fp8", {"q_len": 1, "page": 1, "kv_dtype": "f8e4m3"}, [1] * 8, _MANY),
    ("prefill", {"page": None}, [300, 17, 0, 129], [300, 17, 5, 300]),
    ("chunk, splits 3", {"splits": 3}, [130, 64], [9000, 700]),
    ("decodes and chunks", {}, [1, 300, 1, 2, 0, 64], [9000, 300, 2049, 40, 9, 700]),
):
    add(f"A37 runs, {_name}", Attend(**{"batch": 8, "q_len": 300, "kv_len": 9000, **_change}),
        runs_agree(_q_lens, _kv_lens))  # fmt: skip


# ---- A37: a request's bits do not depend on its neighbours -----------------------------------------------------


def neighbours_do_not_matter(function, config):
    """Each of 64 requests alone gives the bits that it has among the others."""
    import batches
    import oracle
    import torch

    rng = random.Random(37)
    q_lens = [rng.choice((1, 1, 1, rng.randint(1, config.q_len))) for _ in range(64)]
    kv_lens = [max(n, rng.choice((1, 17, rng.randint(1, 600), rng.randint(1, config.kv_len)))) for n in q_lens]
    batch = batches.random_batch(config, q_lens, kv_lens, 37)
    all_ = batches.attend(function, config, batch)
    oracle.check(config, batch, *all_, oracle.attention(config, batch))
    for r, (begin, n) in enumerate(zip(batch.starts, q_lens)):
        own = slice(begin, begin + n)
        one = batches.Batch(batch.q[own], [batch.keys[r]], [batch.values[r]], [n], batch.scales)
        for alone, among in zip(batches.attend(function, config, one, seed=r), all_):
            assert torch.equal(batches.bits(alone), batches.bits(among[own])), (
                f"request {r}, {n} rows on {kv_lens[r]} keys: other bits alone than among 63 others"
            )


for _name, _change in (
    ("decode", {}),
    ("decode, group 8", {"heads": 16}),
    ("decode, fp8", {"kv_dtype": "f8e4m3"}),
    ("decode, window", {"mask": ("window", 100)}),
    ("4 rows", {"q_len": 4}),
    ("4 rows, group 8", {"q_len": 4, "heads": 16}),
    ("decodes and chunks", {"q_len": 130}),
    ("decodes and chunks, dense", {"q_len": 130, "page": None}),
):
    add(f"A37 neighbours, {_name}", Attend(**{"batch": 64, "q_len": 1, "kv_len": 4096, "batch_invariant": True, **_change}),
        neighbours_do_not_matter)  # fmt: skip


# ---- A38: one CUDA graph for every batch ------------------------------------------------------------------------


class Slots:
    """Arguments at addresses that stay, with room for any batch up to the bounds of a configuration."""

    def __init__(self, config, seed: int):
        import batches
        import torch

        self.config = config
        self.width = -(-config.kv_len // config.page)
        self.pages = config.batch * self.width
        self.tokens = config.most_tokens
        draw = lambda number, *shape, dtype: batches.normal(1000 * seed + number, *shape, dtype=dtype)
        self.q = draw(0, self.tokens, config.heads, config.dim, dtype=config.dtype)
        self.rows, self.lens = batches.i32([0] * (config.batch + 1)), batches.i32([0] * config.batch)
        self.table = torch.zeros(config.batch, self.width, dtype=torch.int32, device=batches.device())
        shape = (self.pages, config.page, config.kv_heads)
        pools = [draw(1 + i, *shape, dim, dtype=config.stored) for i, dim in enumerate((config.dim, config.dim_of_values))]
        self.scales = None
        if config.stored == "f8e4m3":
            self.scales = tuple(batches.head_scales(config, seed + which) for which in (0, 1))
        self.cache = self.cache_of(pools)

    def cache_of(self, pools):
        import pagefold as pf

        k_scale, v_scale = self.scales or (None, None)
        return pf.PagedKV(*pools, self.table, self.lens, k_scale=k_scale, v_scale=v_scale)

    def fill(self, rng, q_lens, kv_lens) -> None:
        """Makes it another batch: lengths, row offsets, and pages in another order; entries of no request are garbage."""
        import batches
        import torch

        free = self.config.batch - len(q_lens)  # requests without rows, at the end
        self.q_lens, self.kv_lens = [*q_lens, *[0] * free], [*kv_lens, *[0] * free]
        self.rows.copy_(torch.tensor(batches.offsets(self.q_lens), dtype=torch.int32))
        self.lens.copy_(torch.tensor(self.kv_lens, dtype=torch.int32))
        order = torch.randperm(self.pages, generator=torch.Generator().manual_seed(rng.getrandbits(32)))
        table, used = torch.full(self.table.shape, rng.choice((-1, 2**30)), dtype=torch.int32), 0
        for r, length in enumerate(self.kv_lens):
            count = -(-length // self.config.page)
            table[r, :count] = order[used : used + count]
            used += count
        self.table.copy_(table)
        self.table_here = table  # to be read without a wait

    def batch(self):
        """The requests as float64 attention takes them."""
        import batches
        import matrix

        keys, values = matrix.gathered(self.config, self.cache, self.kv_lens)
        return batches.Batch(self.q[: sum(self.q_lens)], keys, values, self.q_lens, self.scales)


def captured(work):
    """A function that replays what `work` enqueues, captured once; without a GPU one that does it."""
    import batches
    import torch

    if batches.device() == "cpu":
        return work
    work()  # loads code, allocates
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        work()
    return graph.replay


def on_a_stream(body):
    """Runs a body on a stream that can be captured."""

    def run(function, config):
        import batches
        import torch

        if batches.device() == "cpu":
            return body(function, config)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            return body(function, config)

    return run


class Eagerly:
    """Calls on another stream, so in another workspace, after what is enqueued on this one and before what follows."""

    def __init__(self, call):
        import batches
        import torch

        self.call, self.stream = call, None if batches.device() == "cpu" else torch.cuda.Stream()

    def __call__(self) -> None:
        import torch

        if self.stream is None:
            return self.call()
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            self.call()
        here.wait_stream(self.stream)


def lengths(rng, config, number: int) -> tuple[list[int], list[int]]:
    """Of a batch: that of the capture (number 0), those of the report, then random ones of every size."""
    reported = ([4096, 1, 1, 1], [17, 4000, 333, 1], [1, 1, 1, 4096])
    if number < len(reported):
        return [1] * 4, [min(length, config.kv_len) for length in reported[number]]
    q_lens, kv_lens, left = [], [], config.most_tokens
    most = rng.choice((64, 700, config.kv_len))  # short batches are split otherwise than long ones
    for _ in range(rng.randint(0, config.batch)):
        n = min(left, rng.choice((0, 1, 1, 1, config.q_len, rng.randint(1, config.q_len))))
        some = rng.randint(1, min(most, config.kv_len))
        q_lens.append(n)
        kv_lens.append(rng.choice((0, 1, 16, some, some, some, min(most, config.kv_len))))
        left -= n
    return q_lens, kv_lens


@on_a_stream
def replays_are_eager_launches(function, config):
    """A graph is captured with one batch and replayed with others; each replay gives the bits of a launch on the same inputs."""
    import batches
    import oracle
    import torch

    rng, slots = random.Random(38), Slots(config, 38)
    slots.fill(rng, *lengths(rng, config, 0))
    shapes = batches.results(config, slots.tokens) * config.attentions
    replayed, launched = ([batches.Guarded(*shape) for shape in shapes] for _ in range(2))
    views = lambda guarded: tuple(g.view for g in guarded)
    call = lambda guarded: function(q=slots.q, rows=slots.rows, cache=slots.cache, out=views(guarded))
    replay, launch = captured(lambda: call(replayed)), Eagerly(lambda: call(launched))
    different = Differences(count())
    for number in range(count()):
        slots.fill(rng, *lengths(rng, config, number))
        for g in (*replayed, *launched):
            g.view.fill_(batches.NAN)
        replay()
        launch()
        different.compare(number, views(replayed), views(launched))
        if number < 3 or number % SAMPLED == 0:
            batches.synchronize()
            rows = sum(slots.q_lens)
            results = [x[:rows] for x in views(replayed)]
            for part in range(config.attentions):
                one, batch = config.attention(part), slots.batch()
                out, lse = results[2 * part : 2 * part + 2]
                oracle.check(one, batch, out, lse, oracle.attention(one, batch))
            assert all(torch.isnan(x[rows:]).all() for x in views(replayed)), "rows of no request are written"
    batches.synchronize()
    function.check()
    different.check("replays differ from launches on the same inputs")
    for index, g in enumerate((*replayed, *launched)):
        g.check(f"result {index % len(shapes)}")
    return f"{len(function.plan['kernels'])} kernels"


for _name, _config in (
    ("decode", Attend(q_len=1)),
    ("decode, group 8, pages of 64", Attend(heads=16, page=64, q_len=1)),
    ("decode, 40 requests", Attend(heads=32, kv_heads=8, q_len=1, batch=40)),
    ("decode, 40 requests, pages of 1", Attend(heads=32, kv_heads=8, page=1, q_len=1, batch=40)),
    ("decode, fp8", Attend(kv_dtype="f8e4m3", q_len=1)),
    ("decode, fixed pieces", Attend(q_len=1, batch_invariant=True)),
    ("4 rows", Attend(q_len=4)),
    ("decodes and chunks", Attend(q_len=130, tokens=300)),
    ("decodes and chunks, fixed pieces", Attend(q_len=130, tokens=300, batch_invariant=True)),
    ("chunks, splits 3", Attend(q_len=130, tokens=300, splits=3)),
    ("window and all, decode", AttendTwice(q_len=1)),
    ("window and all, decodes and chunks", AttendTwice(q_len=130, tokens=300)),
):
    add(f"A38 {_name}", dataclasses.replace(_config, kv_len=4096), replays_are_eager_launches)


# ---- A39: rows of padding in a graph ------------------------------------------------------------------------------


@on_a_stream
def padding_writes_nothing(function, config):
    """A step of a layer, captured for all rows, replayed with fewer requests: those left over have a row each, no keys, and
    garbage in the table. Of the pages only the new rows' slots change, to what a launch without padding writes."""
    import batches
    import oracle
    import torch

    import pagefold as pf

    rng, slots, kind = random.Random(39), Slots(config, 39), batches.TORCH[config.dtype]
    kv = [batches.normal(390 + i, slots.tokens, config.kv_heads, config.dim, dtype=config.dtype) for i in range(2)]
    gate = batches.normal(392, slots.tokens, config.heads)
    cos, sin = (torch.from_numpy(t).to(batches.device()) for t in pf.rope_tables(config.kv_len, config.rotary))
    pools = [slots.cache.k_pages, slots.cache.v_pages]
    replayed, launched = ([torch.full((slots.tokens, config.heads, config.dim), batches.NAN, device=batches.device()).to(kind)
                           for _ in range(1 + config.turned)] for _ in range(2))  # fmt: skip

    def step(cache, results, requests=config.batch, tokens=slots.tokens):
        some = pf.PagedKV(cache.k_pages, cache.v_pages, cache.table[:requests], cache.lens[:requests],
                          k_scale=cache.k_scale, v_scale=cache.v_scale)  # fmt: skip
        function(q=slots.q[:tokens], k=kv[0][:tokens], v=kv[1][:tokens], rows=slots.rows[: requests + 1], cache=some,
                 cos=cos, sin=sin, gate=gate[:tokens], out=tuple(x[:tokens] for x in results))  # fmt: skip

    def fill(real: int) -> int:
        kv_lens = [rng.choice((1, 16, 17, rng.randint(1, config.kv_len))) for _ in range(real)]
        q_lens = [min(length, rng.choice((1, config.q_len, rng.randint(1, config.q_len)))) for length in kv_lens]
        slots.fill(rng, [*q_lens, *[1] * (config.batch - real)], [*kv_lens, *[0] * (config.batch - real)])
        return sum(q_lens)

    fill(config.batch)
    other = slots.cache_of([x.clone() for x in pools])
    replay = captured(lambda: step(slots.cache, replayed))
    different, outside, padded = Differences(count()), Differences(count()), Differences(count())
    for number in range(count()):
        real = 5 if number == 0 else rng.randint(0, config.batch)
        rows = fill(real)
        before = [x.clone() for x in pools]
        for mine, theirs in zip(pools, (other.k_pages, other.v_pages)):
            batches.indexable(theirs).copy_(batches.indexable(mine))
        for x in (*replayed, *launched):
            x.fill_(batches.NAN)
        replay()
        step(other, launched, real, rows)
        different.compare(number, [x[:rows] for x in replayed], [x[:rows] for x in launched])
        different.compare(number, pools, (other.k_pages, other.v_pages))
        targets = new_slots(config, slots, real)
        for x in (*pools, *before):
            batches.indexable(x).flatten(0, 1)[targets] = 0
        outside.compare(number, pools, before)
        for mine, theirs in zip(pools, (other.k_pages, other.v_pages)):
            batches.indexable(mine).copy_(batches.indexable(theirs))
        out, end = replayed[0], rows + config.batch - real
        padded.compare(number, [out[rows:end]], [torch.zeros_like(out[rows:end])])
        if number % SAMPLED == 0:
            batches.synchronize()
            seen = slots.batch()
            if config.turned:
                turned = replayed[1][:end]
            else:  # padding has no position, and its rows see no key
                positions = torch.tensor([max(length - n + i, 0) for n, length in zip(seen.q_lens, seen.kv_lens) for i in range(n)])
                turned = oracle.rope(seen.q[:end], positions.to(batches.device()), config.rotary, 10000.0, config.pairing).to(kind)
            seen = dataclasses.replace(seen, q=turned)
            expected = oracle.attention(config, seen, {"gate": gate[:end]})
            oracle.check(config, seen, out[:end], None, expected)
    batches.synchronize()
    function.check()
    different.check("replays differ from launches without padding")
    outside.check("replays write to other slots than those of the new rows")
    padded.check("replays give rows of padding something else than 0")


def new_slots(config, slots, real: int):
    """Where the new rows of the first requests go, as numbers of a slot in the pool."""
    import batches
    import torch

    found = []
    for r in range(real):
        keys = torch.arange(slots.kv_lens[r] - slots.q_lens[r], slots.kv_lens[r])
        pages = slots.table_here[r].long()[torch.div(keys, config.page, rounding_mode="floor")]
        found.append(pages * config.page + keys % config.page)
    return torch.cat([torch.zeros(0, dtype=torch.int64), *found]).to(batches.device())


for _name, _change in (
    ("decode", {}),
    ("decode, each op a kernel", {"fuse": False}),
    ("decode, pages of 1", {"page": 1}),
    ("decode, fp8", {"kv_dtype": "f8e4m3"}),
    ("decodes and chunks", {"q_len": 40}),
    ("step", {"turned": False}),
    ("step, 4 tokens", {"turned": False, "q_len": 4}),
    ("step, fp8", {"turned": False, "kv_dtype": "f8e4m3"}),
    ("step, fixed pieces", {"turned": False, "batch_invariant": True, "kv_len": 3000}),
):
    add(f"A39 {_name}", Layer(**{"gate": True, "batch": 8, "q_len": 1, "kv_len": 700, **_change}), padding_writes_nothing)
