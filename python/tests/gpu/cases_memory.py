# cases_memory.py - named cases: other requests' bytes, sizes, strides, pages, streams
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of failures that others reported; the number is that of the report's summary."""

from __future__ import annotations

import dataclasses
import math
import random

from cases_scores import checked
from graphs import Attend, Layer, Scaled, merge_graph
from registry import add

import pagefold as pf


class Skipped(Exception):
    """What this machine cannot show, and why."""


# ---- A01, A03: numbers that are not finite -------------------------------------------------------------------


def tails_are_never_read(q_len):
    def body(function, config):
        import batches
        import oracle
        import torch

        batch = batches.random_batch(config, [q_len] * 5, [13, 1, 64, 65, 127], q_len)
        expected = oracle.attention(config, batch)
        results = []
        for fill in (0.0, math.nan, math.inf):
            cache = batches.paged(batch, config, 1, fill=fill)
            out, lse = batches.attend(function, config, batch, cache=cache)
            oracle.check(config, batch, out, lse, expected)
            results.append((batches.bits(out), batches.bits(lse)))
        for other in results[1:]:
            assert all(torch.equal(a, b) for a, b in zip(results[0], other)), (
                "bytes of no request change the result"
            )

    return body


for _dtype in ("bf16", "f16"):
    for _page in (4, 8, 16, 64):
        for _q_len in (1, 7):
            add(f"A01 {_dtype}, pages of {_page}, q_len {_q_len}",
                Attend(dtype=_dtype, page=_page, batch=5, q_len=_q_len, kv_len=127), tails_are_never_read(_q_len))  # fmt: skip


def a_nan_stays_with_who_sees_it(function, config):
    import batches
    import torch

    batch = batches.random_batch(config, [8] * 3, [40] * 3, 3)
    clean = batches.attend(function, config, batch)
    batch.keys[1][36, 0] = math.nan
    dirty = batches.attend(function, config, batch)
    sees = torch.zeros(24, config.heads, dtype=torch.bool, device=batch.q.device)
    sees[8 + 4 : 16, : config.heads // config.kv_heads] = True  # rows at positions 36 to 39
    for before, after in zip(clean, dirty):
        assert torch.isnan(after[sees]).all(), "a NaN among the visible keys must show"
        assert torch.equal(batches.bits(before[~sees]), batches.bits(after[~sees])), (
            "a NaN reaches rows that do not see it"
        )


for _page in (None, 16):
    add(f"A03 {'dense' if _page is None else 'pages'}", Attend(page=_page, batch=3, q_len=8, kv_len=40),
        a_nan_stays_with_who_sees_it)  # fmt: skip


# ---- A06, A07: nothing to do ------------------------------------------------------------------------------------


def empty_requests(*shapes):
    def body(function, config):
        import batches

        for q_lens, kv_lens in shapes:
            batch = batches.random_batch(config, q_lens, kv_lens, 6)
            extras = {}  # of an empty batch, or one without tokens, a null pointer
            if config.mask == ("window_of",):
                extras["w"] = batches.i32([9] * len(q_lens))
            if config.mask == ("documents",):
                extras["doc"] = batches.i32([0] * sum(q_lens))
            out, lse = checked(function, config, batch, **extras)
            for begin, n, length in zip(batch.starts, q_lens, kv_lens):
                if length == 0:
                    assert (out[begin : begin + n] == 0).all() and (lse[begin : begin + n] == -math.inf).all()

    return body


_A06 = (([1] * 4, [0, 37, 0, 1]), ([2, 3, 0, 1], [0, 3, 0, 1]))
_A07 = (
    ([0, 1, 0, 1], [3, 3, 5, 5]),
    ([0, 0, 5, 0], [7, 0, 9, 3]),
    ([0] * 4, [3, 3, 5, 5]),
    ([], []),
    ([1, 2], [0, 0]),
)
for _dtype in ("bf16", "f32"):
    for _page in (None, 16):
        _where = f"{_dtype}, {'dense' if _page is None else 'pages'}"
        add(
            f"A06 {_where}",
            Attend(dtype=_dtype, page=_page, batch=4, q_len=3, kv_len=64),
            empty_requests(*_A06),
        )
        add(f"A07 {_where}", Attend(heads=9, kv_heads=3, dim=64, dtype=_dtype, page=_page, batch=4, q_len=5, kv_len=64),
            empty_requests(*_A07))  # fmt: skip
        for _mask in ("window_of", "documents"):
            add(f"A07 {_where}, {_mask}", Attend(heads=9, kv_heads=3, dim=64, dtype=_dtype, page=_page, mask=(_mask,), batch=4,
                q_len=5, kv_len=64), empty_requests(*_A07))  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Merge:
    dtype: str
    heads: int = 4
    dim: int = 64
    options = {}

    def graph(self):
        return merge_graph(self.heads, self.dim, self.dtype)


def merging_with_nothing_changes_nothing(function, config):
    import batches
    import torch

    kind = batches.TORCH[config.dtype]
    state = (
        batches.normal(1, 5, config.heads, config.dim, dtype=config.dtype),
        batches.normal(2, 5, config.heads),
    )
    empty = torch.full_like(state[0], math.nan), torch.full_like(state[1], -math.inf)
    nothing = torch.zeros_like(state[0]), empty[1]
    results = [(state[0].shape, kind), (state[1].shape, torch.float32)]
    for a, b, expected in ((state, empty, state), (empty, state, state), (empty, empty, nothing)):
        got = batches.call(function, results, a=a[0], a_lse=a[1], b=b[0], b_lse=b[1])
        assert all(torch.equal(batches.bits(x), batches.bits(y)) for x, y in zip(got, expected))


for _dtype in ("bf16", "f16", "f32"):
    add(f"A06 merge, {_dtype}", Merge(_dtype), merging_with_nothing_changes_nothing)


# ---- A08, A10: large numbers --------------------------------------------------------------------------------------


def pages_far_away(function, config):
    """Page ids whose element offsets pass 2^31 and 2^32."""
    import batches
    import torch

    ids, lens = [[131071, 131072, 131073], [262143, 262144, 0]], [40, 40]
    batch = batches.random_batch(config, [8, 8], lens, 8)
    kind = batches.TORCH[config.dtype]
    pools = [torch.full((262145, config.page, config.kv_heads, config.dim), math.nan, dtype=kind, device=batches.device())
             for _ in range(2)]  # fmt: skip
    for pool, parts in zip(pools, (batch.keys, batch.values)):
        for pages, tokens in zip(ids, parts):
            for j in range(0, len(tokens), config.page):
                some = tokens[j : j + config.page]
                pool[pages[j // config.page], : len(some)] = some
    checked(function, config, batch, cache=pf.PagedKV(*pools, batches.i32(ids), batches.i32(lens)))


add("A08 pages", Attend(heads=32, kv_heads=8, batch=2, q_len=8, kv_len=48), pages_far_away)


def bits_far_away(function, config):
    """Bit offsets past 2^31 and 2^32: the bitmap of one request begins shortly before each."""
    import batches
    import oracle
    import torch

    batch = batches.random_batch(config, [20, 20], [300, 300], 9)
    masks = [batches.normal(r, 20, 300) < 0.5 for r in range(2)]
    starts = torch.tensor([2**31 - 1001, 2**32 - 1003], device=batches.device())
    flat = torch.zeros(2**29 + 8192, dtype=torch.uint8, device=batches.device())
    for mask, start in zip(masks, starts.tolist()):
        at = start + mask.reshape(-1).nonzero()[:, 0]
        flat.index_put_((at // 8,), (1 << (at % 8)).to(torch.uint8), accumulate=True)
    out, lse = batches.attend(function, config, batch, bits=flat, starts=starts)
    oracle.check(config, batch, out, lse, oracle.attention(config, batch, masks=masks))


add(
    "A08 bits",
    Attend(dim=64, mask=("none",), bitmap=True, page=None, batch=2, q_len=20, kv_len=300),
    bits_far_away,
)


def triangle(length, device):
    """The causal mask of `length` rows as a bitmap; eight rows are `length` bytes."""
    import torch

    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8, device=device)
    key, parts = torch.arange(length, device=device), []
    for begin in range(0, length, 4096):
        rows = torch.arange(begin, min(begin + 4096, -(-length // 8) * 8), device=device)
        seen = (key <= rows[:, None]).view(-1, 8).to(torch.uint8)
        parts.append((seen * weights).sum(1, dtype=torch.uint8))
    return torch.cat(parts)


def rows_far_away(function, config):
    """A bitmap of more than 2^32 bits; the rows past 2^32 / length are compared with the causal ones."""
    import batches
    import oracle
    import torch

    length = config.q_len
    batch = batches.random_batch(config, [length], [length], 10)
    bits = triangle(length, batch.q.device)
    starts = torch.zeros(1, dtype=torch.int64, device=batch.q.device)
    kind = [((length, config.heads, config.dim), torch.bfloat16), ((length, config.heads), torch.float32)]
    whole = batches.i32([0, length])
    out, lse = batches.call(function, kind, q=batch.q, k=batch.keys[0], v=batch.values[0], rows=whole, kv_rows=whole,
                            bits=bits, starts=starts)  # fmt: skip
    last = 64
    tail = batches.Batch(batch.q[-last:], batch.keys, batch.values, [last])
    causal = dataclasses.replace(config, mask=("causal",), bitmap=False)
    oracle.check(causal, tail, out[-last:], lse[-last:], oracle.attention(causal, tail))


for _length in (65537, 73728):
    add(f"A08 bitmap of {_length} rows", Attend(heads=1, kv_heads=1, dim=64, mask=("none",), bitmap=True, page=None,
                                                batch=1, q_len=_length, kv_len=_length), rows_far_away)  # fmt: skip


def many_requests(count):
    def body(function, config):
        import batches
        import torch

        q = batches.normal(1, count, config.heads, config.dim, dtype=config.dtype)
        k, v = (batches.normal(n, count, 16, 1, config.dim, dtype=config.dtype) for n in (2, 3))
        order = torch.randperm(count, generator=batches.generator(4), device=q.device)
        table = torch.empty(count, dtype=torch.int32, device=q.device)
        table[:] = order.to(torch.int32)
        pools = [torch.empty_like(x).index_copy_(0, order, x) for x in (k, v)]
        lens = torch.full((count,), 16, dtype=torch.int32, device=q.device)
        kind = [(q.shape, q.dtype), (q.shape[:2], torch.float32)]
        rows = torch.arange(count + 1, dtype=torch.int32, device=q.device)
        out, lse = batches.call(
            function, kind, q=q, rows=rows, cache=pf.PagedKV(*pools, table[:, None], lens)
        )
        scores = config.scale * torch.einsum("bhd,bkd->bhk", q.double(), k[:, :, 0].double())
        expected = torch.softmax(scores, -1) @ v[:, :, 0].double()
        error = (out.double() - expected).norm(dim=(1, 2)) / expected.norm(dim=(1, 2))
        assert (error <= 4e-3).all(), f"{(error > 4e-3).sum().item()} requests are wrong"
        assert ((lse.double() - torch.logsumexp(scores, -1)).abs() <= 1e-3).all()

    return body


for _count in (65535, 65536, 70000):
    add(
        f"A10 batch {_count}",
        Attend(heads=8, kv_heads=1, dim=64, batch=_count, q_len=1, kv_len=16),
        many_requests(_count),
    )


# ---- A16: strides ---------------------------------------------------------------------------------------------


def same_as_contiguous(function, config, batch, strided: dict, **others):
    """`strided` are views; the call on copies of them gives the same bits."""
    import batches
    import torch

    kind = [
        ((len(batch.q), config.heads, config.dim), batch.q.dtype),
        ((len(batch.q), config.heads), torch.float32),
    ]
    views = batches.call(function, kind, **strided, **others)
    copies = {
        name: pf.PagedKV(x.k_pages.contiguous(), x.v_pages.contiguous(), x.table, x.lens)
        if isinstance(x, pf.PagedKV)
        else x.contiguous()
        for name, x in strided.items()
    }
    for x, y in zip(views, batches.call(function, kind, **copies, **others)):
        assert torch.equal(batches.bits(x), batches.bits(y)), "strides change the result"
    return views


def parts_of_a_projection(function, config):
    """q, k and v are slices of one tensor, and then q of a wider one; rows that TMA cannot take are refused by name."""
    import batches
    import oracle
    import torch

    tokens = 2048
    fused = batches.normal(16, tokens, 18, config.dim, dtype=config.dtype)
    q, k, v = fused[:, :16], fused[:, 16:17], fused[:, 17:]
    rows = batches.i32([0, tokens])
    batch = batches.Batch(q, [k], [v], [tokens])
    out, lse = same_as_contiguous(function, config, batch, {"q": q, "k": k, "v": v}, rows=rows, kv_rows=rows)
    oracle.check(config, batch, out, lse, oracle.attention(config, batch))
    wide = batches.normal(17, tokens, 16, 2 * config.dim, dtype=config.dtype)
    same_as_contiguous(
        function, config, batch, {"q": wide[..., config.dim :], "k": k, "v": v}, rows=rows, kv_rows=rows
    )
    odd = batches.normal(18, tokens, 16, config.dim + 1, dtype=config.dtype)[..., 1:]
    try:
        out, _ = same_as_contiguous(
            function, config, batch, {"q": odd, "k": k, "v": v}, rows=rows, kv_rows=rows
        )
    except (ValueError, pf.PagefoldError) as error:
        assert "q" in str(error) and "16" in str(error), (
            f"expects an error that names q and 16 bytes, got: {error}"
        )
        torch.cuda.synchronize()


add(
    "A16 fused projection",
    Attend(heads=16, kv_heads=1, dim=64, page=None, batch=1, q_len=2048, kv_len=2048),
    parts_of_a_projection,
)


def rows_for_pairs(function, config):
    """Queries of any stride that holds pairs of elements give the same bits; others are refused, and nothing faults."""
    import batches
    import torch

    batch = batches.random_batch(config, [1, 2], [300, 40], 16)
    keys = {"cache": batches.paged(batch, config, 1), "rows": batches.i32([0, 1, 3])}
    heads, dim = config.heads, config.dim
    even = batches.normal(18, 3, heads, dim + 2, dtype=config.dtype)[..., 2:]
    same_as_contiguous(function, config, batch, {"q": even}, **keys)
    for odd in (
        batches.normal(19, 3, heads, dim + 1, dtype=config.dtype)[..., 1:],
        batches.normal(20, 3 * heads * dim + 1, dtype=config.dtype)[1:].view(3, heads, dim),
    ):
        try:
            same_as_contiguous(function, config, batch, {"q": odd}, **keys)
        except (ValueError, pf.PagefoldError) as error:
            assert "q" in str(error) and "4 bytes" in str(error), (
                f"expects an error that names q and 4 bytes, got: {error}"
            )
        else:
            assert not function.plan["kernels"][0].get("params"), "odd rows are taken on a GPU"
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    same_as_contiguous(function, config, batch, {"q": even}, **keys)


add("A16 rows for pairs", Attend(batch=2, q_len=2, kv_len=300), rows_for_pairs)


def parts_of_a_pool(function, config):
    """K and V pages as views of [pages, 2, ...] and of [layers, pages, ...]."""
    import batches

    batch = batches.random_batch(config, [8, 130], [40, 300], 16)
    base = batches.paged(batch, config, 2)
    for shape in ("interleaved", "layers"):
        views = []
        for x in (base.k_pages, base.v_pages):
            both = (
                x[:, None].expand(-1, 2, -1, -1, -1)
                if shape == "interleaved"
                else x[None].expand(3, -1, -1, -1, -1)
            )
            both = both.clone()
            views.append(both[:, 1] if shape == "interleaved" else both[2])
        cache = pf.PagedKV(*views, base.table, base.lens)
        same_as_contiguous(
            function, config, batch, {"q": batch.q, "cache": cache}, rows=batches.i32([0, 8, 138])
        )


add("A16 pool", Attend(batch=2, q_len=130, kv_len=300), parts_of_a_pool)


def append_into_a_view(function, config):
    """Append, then attention, in a layer of a pool of several; the other layers stay as they are."""
    import batches
    import matrix
    import torch

    layers = []
    original = batches.pool

    def layered(*arguments):
        layers.append(original(*arguments)[None].expand(3, -1, -1, -1, -1).clone())
        return layers[-1][1]

    batches.pool = layered
    try:
        said = matrix.run_layer(function, config, "A16")
    finally:
        batches.pool = original
    assert layers and all(torch.isnan(x[0]).all() and torch.isnan(x[2]).all() for x in layers), (
        "another layer was written"
    )
    return said


add("A16 append", Layer(gate=True, batch=8, q_len=40, kv_len=700), append_into_a_view)


# ---- A42: streams and devices ---------------------------------------------------------------------------------


def need_gpu():
    import batches

    if batches.device() == "cpu":
        raise Skipped("needs a GPU")


def side_stream_and_capture(function, config):
    """q comes late, from a slow kernel on a side stream; the call under that stream waits for it. Then in a graph."""
    need_gpu()
    import batches
    import oracle
    import torch

    batch = batches.random_batch(config, [3, 64], [100, 64], 42)
    expected = oracle.attention(config, batch)
    late, cache = torch.full_like(batch.q, math.nan), batches.paged(batch, config, 1)
    rows, out, lse = (
        batches.i32([0, 3, 67]),
        torch.empty_like(batch.q),
        torch.empty(67, config.heads, device="cuda"),
    )
    work = lambda: (late.copy_(batch.q), function(q=late, rows=rows, cache=cache, out=(out, lse)))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        work()
    torch.cuda.synchronize()
    oracle.check(config, batch, out, lse, expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    for _ in range(2):
        late.fill_(math.nan), out.fill_(math.nan), lse.fill_(math.nan)
        graph.replay()
        torch.cuda.synchronize()
        oracle.check(config, batch, out, lse, expected)
    function.check()


add("A42 streams", Attend(batch=2, q_len=64, kv_len=128), side_stream_and_capture)


def another_device(function, config):
    need_gpu()
    import batches
    import torch

    if torch.cuda.device_count() < 2:
        raise Skipped("needs two GPUs")
    batches.use("cuda:1")
    torch.cuda.set_device(0)
    batch = batches.random_batch(config, [3, 64], [100, 64], 42)
    checked(function, config, batch)
    assert torch.cuda.current_device() == 0, "the current device changed"
    there = {"q": batch.q, "rows": batches.i32([0, 3, 67]), "cache": batches.paged(batch, config, 1)}
    out = torch.empty_like(batch.q), torch.empty(67, config.heads, device="cuda:1")
    try:
        function(**{**there, "q": batch.q.to("cuda:0")}, out=out)
    except (ValueError, pf.PagefoldError) as error:
        assert torch.cuda.current_device() == 0, "the current device changed"
        return f"mixed devices: {str(error)[:60]}"
    raise AssertionError("tensors of two devices were taken")


add("A42 another device", Attend(batch=2, q_len=64, kv_len=128), another_device)


# ---- A43, A66 -------------------------------------------------------------------------------------------------


def pages_of_any_size(function, config):
    import batches

    lens = [max(config.page - 1, 1), config.page, config.page + 1, 1, 1000, 17, 64]
    for q_lens in ([1] * 7, [min(n, 130) for n in lens]):
        checked(function, config, batches.random_batch(config, q_lens, lens, len(lens)))


for _page in (1, 2, 3, 19, 256, 512):
    for _mask in (("causal",), ("window", 100)):
        add(
            f"A43 pages of {_page}, {_mask[0]}",
            Attend(page=_page, mask=_mask, batch=7, q_len=130, kv_len=1000),
            pages_of_any_size,
        )


def decode_on_pages_of_any_size(function, config):
    """Few rows on lengths around a page, a slice of 16 or 32 keys and two of them, in each layout; ids past a request's
    pages are garbage, slots past its keys NaN."""
    import batches

    page = config.page
    lens = [0, 1, page, page + 1, 15, 16, 17, 31, 33, 47, 64, 65, 500, 1000 - page, 2047, 4099]
    extras = {"sinks": batches.normal(43, config.heads)} if config.sinks else {}
    for number, (layout, spare) in enumerate((("nhd", -1), ("hnd", 2**31 - 1), ("interleaved", -(2**31)))):
        kv_lens = (3 * lens)[: config.batch]
        q_lens = [1 + (number + r) % config.q_len for r in range(len(kv_lens))]
        batch = batches.random_batch(config, q_lens, kv_lens, 43 + number)
        checked(function, config, batch, cache=batches.paged(batch, config, number, layout, spare=spare), **extras)
    batch = batches.random_batch(config, [config.q_len], [4099], 49)  # shared out among all multiprocessors
    checked(function, config, batch, **extras)


_DECODE = {"q_len": 1, "batch": 16, "kv_len": 4100}
for _page in (1, 2, 4, 8, 12, 24):
    for _stored in (None, "f8e4m3"):
        add(f"A43 decode, pages of {_page}{', fp8' if _stored else ''}", Attend(**_DECODE, page=_page, kv_dtype=_stored),
            decode_on_pages_of_any_size)  # fmt: skip
for _page in (1, 8, 12):
    for _name, _change in (
        ("group 1", {"heads": 2}),
        ("group 8", {"heads": 16}),
        ("8 KV heads", {"heads": 32, "kv_heads": 8}),
        ("f16", {"dtype": "f16"}),
        ("window and sinks", {"mask": ("window", 100), "sinks": True}),
        ("first tokens and a window", {"mask": ("sink_window", 4, 150)}),
        ("dim 64", {"dim": 64}),
        ("dim 72", {"dim": 72}),
        ("dim 192, values 128", {"dim": 192, "v_dim": 128}),
        ("dim 256", {"dim": 256}),
        ("4 rows", {"q_len": 4}),
        ("fixed pieces", {"batch_invariant": True}),
        ("40 requests", {"batch": 40}),
    ):
        add(f"A43 decode, pages of {_page}, {_name}", Attend(**{**_DECODE, "page": _page, **_change}),
            decode_on_pages_of_any_size)  # fmt: skip


# Rows of bytes that end within 32 of them, as products read them.
for _page in (1, 8, 16):
    for _name, _change in (
        ("16", {"dim": 16}),
        ("48", {"dim": 48}),
        ("80, values 112", {"dim": 80, "v_dim": 112}),
        ("128, values 48", {"dim": 128, "v_dim": 48}),
        ("48, 4 rows", {"dim": 48, "q_len": 4, "heads": 4}),
        ("48, fixed pieces", {"dim": 48, "batch_invariant": True}),
    ):
        add(f"A43 decode, pages of {_page}, fp8, dim {_name}",
            Attend(**{**_DECODE, "page": _page, "kv_dtype": "f8e4m3", **_change}), decode_on_pages_of_any_size)  # fmt: skip


# ---- Uneven lengths ----------------------------------------------------------------------------------------------


def uneven(short: int, long: int, every: int):
    """Requests of up to `short` keys, and each `every`th of about `long`: what a segment costs counts beside its slices."""

    def run(function, config):
        import batches

        rng = random.Random(short)
        extras = {"sinks": batches.normal(38, config.heads)} if config.sinks else {}
        for seed in range(3):
            kv_lens = [
                rng.randint(long * 3 // 4, long) if r % every == seed else rng.choice((1, 15, 16, 17, rng.randint(1, short)))
                for r in range(config.batch - seed)
            ]
            q_lens = [rng.choice((0, n, 1, config.q_len)) if n < 20 else rng.randint(1, config.q_len) for n in kv_lens]
            q_lens = [min(q, n, config.q_len) for q, n in zip(q_lens, kv_lens)]
            batch = batches.random_batch(config, q_lens, kv_lens, 38 + seed)
            checked(function, config, batch, **extras)

    return run


_UNEVEN = {"heads": 32, "kv_heads": 8, "q_len": 1, "batch": 64, "kv_len": 16384}
for _name, _change in (
    ("decode", {}),
    ("fp8", {"kv_dtype": "f8e4m3"}),
    ("pages of 1", {"page": 1}),
    ("pages of 64, f16", {"page": 64, "dtype": "f16"}),
    ("4 rows", {"heads": 16, "q_len": 4}),
    ("window", {"mask": ("window", 3000)}),
    ("200 requests", {"batch": 200}),
    ("dim 256", {"dim": 256, "kv_heads": 4}),
    ("fixed pieces", {"batch_invariant": True}),
):
    add(f"uneven, {_name}", Attend(**{**_UNEVEN, **_change}), uneven(700, 16384, 9))
# Warps read heads of their own, where these have few rows.
for _name, _change in (("bf16", {}), ("fp8", {"kv_dtype": "f8e4m3"}), ("sinks", {"sinks": True, "page": 64}),
                       ("fixed pieces", {"batch_invariant": True}), ("1 row", {"heads": 8}), ("8 rows", {"heads": 64}),
                       ("up to 12 rows", {"q_len": 3}), ("up to 16 rows", {"q_len": 4}), ("2 rows, dim 192", {"heads": 16, "dim": 192})):
    add(f"uneven, many requests, {_name}", Attend(**{**_UNEVEN, "batch": 320, **_change}), uneven(280, 2000, 6))


def append_on_pages_of_any_size(function, config):
    import matrix

    return matrix.run_layer(function, config, f"A43 {config.page}")


for _page in (1, 8, 12):
    for _stored in (None, "f8e4m3"):
        add(f"A43 layer, pages of {_page}{', fp8' if _stored else ''}",
            Layer(page=_page, kv_dtype=_stored, gate=True, batch=8, q_len=1, kv_len=700), append_on_pages_of_any_size)  # fmt: skip


def broken_page_ids(function, config):
    """Ids outside the pool, at the first, a middle and the last key of a request: it is reported, nothing is read there, and
    the other requests are right. The next launch knows nothing of it."""
    import batches
    import oracle
    import torch

    lens = [300, 1000, 40]
    batch = batches.random_batch(config, [1] * 3, lens, 44)
    expected = oracle.attention(config, batch)
    intact = batches.paged(batch, config, 3)
    pages = len(intact.k_pages)
    for key in (0, 501, 999):
        for broken in (-1, pages, 2**31 - 1, -(2**31) + 1):
            table = intact.table.clone()
            table[1, key // config.page] = broken
            cache = pf.PagedKV(intact.k_pages, intact.v_pages, table, intact.lens, k_scale=intact.k_scale,
                               v_scale=intact.v_scale)  # fmt: skip
            out, lse = (torch.full(shape, math.nan, device=batches.device()).to(kind)
                        for shape, kind in batches.results(config, 3))  # fmt: skip
            try:
                function(**batches.arguments(config, batch, cache), out=(out, lse))
                batches.synchronize()
                function.check()
            except pf.PagefoldError as error:
                assert f"page id {broken}" in str(error) and "request 1" in str(error), str(error)
            else:
                raise AssertionError(f"page id {broken} of {pages} was not reported")
            if batches.device() != "cpu":  # on the host nothing is computed then
                kept = [0, 2]
                others = batches.Batch(batch.q[kept], *([x[r] for r in kept] for x in (batch.keys, batch.values)),
                                       [1, 1], batch.scales)  # fmt: skip
                oracle.check(config, others, out[kept], lse[kept], oracle.attention(config, others))
                assert torch.isfinite(out[1]).all(), "what a broken id points to was read"
    out, lse = batches.attend(function, config, batch, cache=intact)
    oracle.check(config, batch, out, lse, expected)


for _page in (1, 8, 12):
    for _stored in (None, "f8e4m3"):
        add(f"A43 broken ids, pages of {_page}{', fp8' if _stored else ''}",
            Attend(page=_page, kv_dtype=_stored, batch=3, q_len=1, kv_len=1000), broken_page_ids)  # fmt: skip


def scaled_rows(function, config):
    """Elementwise ops on queries and on new rows: what lies in the cache afterwards is exactly the rounded products."""
    import batches
    import matrix
    import oracle
    import torch

    q_lens, kv_lens = [config.q_len, 1, 0, config.q_len], [300, 1, 40, 699]
    batch = batches.random_batch(config, q_lens, kv_lens, 45)
    cache, tokens, kind = batches.paged(batch, config, 3), sum(q_lens), batches.TORCH[config.dtype]
    matrix.hide_new_rows(config, cache, q_lens, kv_lens)
    k, v = (batches.normal(450 + i, tokens, config.kv_heads, config.dim, dtype=config.dtype) for i in range(2))
    factors = {f"f_{x}": batches.normal(452 + i, n) for i, (x, n) in enumerate(zip("qkv", (config.heads, config.kv_heads, config.kv_heads)))}  # fmt: skip
    arguments = {"q": batch.q, "k": k, "v": v, "rows": batches.i32(batches.offsets(q_lens)), "cache": cache, **factors}
    shape = (tokens, config.heads, config.dim)
    (out,) = batches.call(function, [(shape, kind)], **arguments)
    q, k, v = ((x.float() * factors[f"f_{name}"][:, None]).to(kind) for x, name in ((batch.q, "q"), (k, "k"), (v, "v")))
    stored = matrix.gathered(config, cache, kv_lens)
    for side, new in zip(stored, (k, v)):
        written = torch.cat([rows[len(rows) - n :] for rows, n in zip(side, q_lens)])
        assert torch.equal(batches.bits(written), batches.bits(new)), "what is in the cache is not the product"
    seen = batches.Batch(q, *stored, q_lens, batch.scales)
    return f"{100 * oracle.check(config, seen, out, None, oracle.attention(config, seen)):.0f} % of the tolerance"


for _page, _q_len in ((16, 1), (16, 4), (1, 2)):
    add(f"A43 scaled rows, pages of {_page}, {_q_len} tokens",
        Scaled(page=_page, batch=4, q_len=_q_len, kv_len=700), scaled_rows)  # fmt: skip


def broken_page_of_a_new_row(function, config):
    """The page where a request's new row belongs is outside the pool: it is reported, and nothing is written but the rows of
    the others, whose results are numbers."""
    import batches
    import matrix
    import torch

    lens = [300, 1000, 40]
    batch = batches.random_batch(config, [1] * 3, lens, 44)
    kind = batches.TORCH[config.dtype]
    kv = [batches.normal(440 + i, 3, config.kv_heads, config.dim, dtype=config.dtype) for i in range(2)]
    cos, sin = (torch.from_numpy(t).to(batches.device()) for t in pf.rope_tables(config.kv_len, config.rotary))
    gate = batches.normal(442, 3, config.heads)
    for broken in (-1, 10**6, 2**31 - 1, -(2**31) + 1):
        intact = batches.paged(batch, config, 3)
        table = intact.table.clone()
        table[1, (lens[1] - 1) // config.page] = broken
        pools = [intact.k_pages, intact.v_pages]
        before = [x.clone() for x in pools]
        cache = pf.PagedKV(*pools, table, intact.lens, k_scale=intact.k_scale, v_scale=intact.v_scale)
        out = torch.full((3, config.heads, config.dim), math.nan, device=batches.device()).to(kind)
        try:
            function(q=batch.q, k=kv[0], v=kv[1], rows=batches.i32([0, 1, 2, 3]), cache=cache, cos=cos, sin=sin,
                     gate=gate, out=out)  # fmt: skip
            batches.synchronize()
            function.check()
        except pf.PagefoldError as error:
            assert f"page id {broken}" in str(error) and "request 1" in str(error), str(error)
        else:
            raise AssertionError(f"page id {broken} was not reported")
        if batches.device() == "cpu":  # on the host nothing is computed then
            continue
        assert torch.isfinite(out).all(), "what a broken id points to was read"
        for now, then in zip(pools, before):
            now, then = batches.bits(now), batches.bits(then)
            for r in (0, 2):
                page, slot = (x[-1] for x in matrix.slots(config, intact, r, lens[r]))
                assert not torch.equal(now[page, slot], then[page, slot]), f"the row of request {r} is missing"
                now[page, slot] = then[page, slot]
            assert torch.equal(now, then), "rows of the cache were written that are no new ones"


for _page, _stored in ((16, None), (16, "f8e4m3"), (1, None)):
    add(f"A44 step, pages of {_page}{', fp8' if _stored else ''}",
        Layer(page=_page, kv_dtype=_stored, gate=True, turned=False, batch=3, q_len=1, kv_len=1000), broken_page_of_a_new_row)  # fmt: skip


def memory_grows_with_the_length(function, config):
    """Right at 16384 keys, and the workspace is no score matrix. Says which kernels they are."""
    import batches

    batch = batches.random_batch(config, [64], [16384], 66)
    masks = [batches.normal(1, 64, 16384) < 0.5] if config.bitmap else None
    extras = {"sinks": batches.normal(2, config.heads)} if config.sinks else {}
    checked(function, config, batch, masks=masks, **extras)
    size = function.plan["workspace"]["size"]
    scores = 4 * config.heads * config.q_len * config.kv_len
    assert size <= scores // 8, f"a workspace of {size} bytes, where the scores would take {scores}"
    kinds = [
        "simt" if p["params"][0]["kind"] == "frame" else "pipelined"
        for p in function.plan.get("kernels", [])
        if p.get("params")
    ]
    return f"workspace {size} bytes, kernels: {', '.join(kinds) or 'of the host'}"


_A66 = {"heads": 4, "batch": 1, "q_len": 2048, "kv_len": 16384}
add("A66 f32", Attend(**_A66, dtype="f32"), memory_grows_with_the_length)
add("A66 bitmap", Attend(**_A66, page=None, bitmap=True, mask=("none",)), memory_grows_with_the_length)
add("A66 sinks", Attend(**_A66, sinks=True), memory_grows_with_the_length)
add("A66 dim 320", Attend(**_A66, dim=320), memory_grows_with_the_length, refused="head.dim|320|256")
