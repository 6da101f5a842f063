# matrix.py - seeded random graphs and batches
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generated part of the GPU suite: each graph is called with several batches and layouts. The seed stands in a
variant's name; another draw is `gpu-suite ... --seed N --graphs N`."""

from __future__ import annotations

import random

from graphs import EPS, Attend, Layer

import pagefold as pf

CALLS = 4
MASKS = [
    ("none",),
    ("causal",),
    ("causal",),
    ("window", 1),
    ("window", 7),
    ("window", 100),
    ("window_of",),
    ("prefix", 33),
    ("causal_or_prefix", 20),
    ("sink_window", 4, 150),
    ("chunked", 200),
    ("documents",),
]
DIMS = (8, 24, 40, 64, 64, 72, 96, 128, 128, 128, 160, 192, 256)
PAGES = (None, None, 1, 8, 16, 16, 48, 64, 64)


def _heads(rng) -> dict:
    group = rng.choice((1, 1, 2, 3, 4, 4, 5, 7, 8, 71))
    kv_heads = 1 if group == 71 else rng.choice((1, 2, 3))
    return {"heads": group * kv_heads, "kv_heads": kv_heads}


def _page(rng, pages) -> dict:
    """Of the caches in pages some hold 8 bits."""
    page = rng.choice(pages)
    return {"page": page, "kv_dtype": "f8e4m3" if page is not None and rng.random() < 0.25 else None}


def attend_config(rng) -> Attend:
    dtype = rng.choice(("bf16", "bf16", "f16", "f16", "f32"))
    small = dtype == "f32"  # one thread a worker: kept short
    return Attend(
        **_heads(rng),
        dim=rng.choice(DIMS),
        v_dim=rng.choice((None, None, None, 64, 128)),
        dtype=dtype,
        **_page(rng, PAGES),
        mask=rng.choice(MASKS),
        score=rng.choice((None, None, None, ("cap", 20.0), ("alibi",))),
        sinks=rng.random() < 0.3,
        bitmap=rng.random() < 0.15,
        gate=rng.random() < 0.3,
        batch=8,
        q_len=rng.choice((1, 40) if small else (1, 40, 300, 300)),
        kv_len=700 if small else rng.choice((700, 2100)),
        splits=rng.choice((None, None, None, 1, 3)),
    )


def decode_config(rng) -> Attend:
    """Few query rows, many requests, long histories: the streaming schedule, where it takes them."""
    group = rng.choice((1, 2, 3, 4, 4, 5, 8, 8, 16))
    kv_heads = rng.choice((1, 2, 3, 8))
    batch = rng.choice((1, 8, 40, 40, 130))
    return Attend(
        heads=group * kv_heads,
        kv_heads=kv_heads,
        dim=rng.choice(DIMS),
        v_dim=rng.choice((None, None, None, 64, 128)),
        dtype=rng.choice(("bf16", "bf16", "f16")),
        **_page(rng, (None, 1, 8, 12, 16, 16, 32, 48, 64)),
        mask=rng.choice(MASKS),
        score=rng.choice((None, None, None, ("cap", 20.0), ("alibi",))),
        sinks=rng.random() < 0.3,
        gate=rng.random() < 0.3,
        batch=batch,
        q_len=rng.choice([q for q in (1, 1, 1, 2, 3, 4, 16) if q * group <= 16]),
        kv_len=rng.choice((300, 2100, 2100, 9000)) if batch > 8 else rng.choice((300, 9000, 40000)),
    )


def layer_config(rng) -> Layer:
    dim = rng.choice((64, 128))
    return Layer(
        **_heads(rng),
        dim=dim,
        dtype=rng.choice(("bf16", "f16", "f32")),
        **_page(rng, PAGES[2:]),
        gate=True,
        pairing=rng.choice(("half_split", "interleaved")),
        rotary=rng.choice((32, dim)),
        fuse=rng.random() < 0.7,
        batch=8,
        q_len=rng.choice((1, 40, 130)),
        kv_len=700,
        norm=rng.random() < 0.5,
    )


def step_config(rng) -> Layer:
    """A layer at decode: whoever streams the keys appends the new ones and rotates the queries, where it can."""
    group = rng.choice((1, 2, 4, 4, 5, 8))
    kv_heads = rng.choice((1, 2, 3, 8))
    dim = rng.choice((64, 80, 96, 128, 128, 128, 256))
    return Layer(
        heads=group * kv_heads,
        kv_heads=kv_heads,
        dim=dim,
        dtype=rng.choice(("bf16", "bf16", "f16")),
        **_page(rng, (1, 8, 12, 16, 16, 32, 64)),
        mask=rng.choice((("causal",), ("causal",), ("window", 7), ("prefix", 33), ("sink_window", 4, 150))),
        gate=True,
        pairing=rng.choice(("half_split", "half_split", "interleaved")),
        rotary=rng.choice((16, 32, dim, dim)),
        batch=rng.choice((8, 40, 40)),
        q_len=rng.choice([q for q in (1, 1, 1, 2, 3, 4, 8) if q * group <= 16]),
        kv_len=rng.choice((300, 2100, 9000)),
        norm=rng.random() < 0.3,
        batch_invariant=rng.random() < 0.2,
        turned=False,
    )


def lens(rng, config) -> tuple[list[int], list[int]]:
    """Query and key counts of a batch: zeros, ones and odd sizes beside each other."""
    q_lens, kv_lens = [], []
    for _ in range(rng.randint(1, config.batch)):
        longest = config.q_len
        q_lens.append(
            min(longest, rng.choice((0, 1, 1, 2, rng.randint(1, longest), rng.randint(1, longest))))
        )
        some = rng.randint(1, config.kv_len)
        kv_lens.append(rng.choice((0, 1, 17, 64, 128, min(some, 200), some)))
    return q_lens, kv_lens


def run_attend(function, config: Attend, seed: str, lens=lens) -> str:
    import batches
    import oracle
    import torch

    rng, used = random.Random(seed), 0.0
    for number in range(CALLS):
        q_lens, kv_lens = lens(rng, config)
        batch = batches.random_batch(config, q_lens, kv_lens, number)
        extras, masks = {}, None
        if config.score == ("alibi",):
            extras["slopes"] = batches.f32(pf.alibi_slopes(config.heads).tolist())
        if config.sinks:
            extras["sinks"] = batches.normal(number + 91, config.heads)
        if config.gate:
            extras["gate"] = batches.normal(number + 92, len(batch.q), config.heads)
        if config.mask == ("window_of",):
            extras["w"] = batches.i32([rng.randint(1, 400) for _ in q_lens])
        if config.mask == ("documents",):
            extras["doc"] = batches.i32(
                [start for n, length in zip(q_lens, kv_lens) for start in documents(rng, n, length)]
            )
        if config.bitmap:
            masks = [
                batches.normal(93 + r, n, length) < 0.5 for r, (n, length) in enumerate(zip(q_lens, kv_lens))
            ]
            packed = batches.pack(masks)
        if config.page is not None:
            layout, spare = rng.choice(("nhd", "hnd", "interleaved")), rng.choice((-1, 2**31 - 1, 0))
            extras["cache"] = batches.paged(batch, config, number, layout, spare=spare)
        expected = oracle.attention(config, batch, extras, masks)
        out, lse = batches.attend(function, config, batch, **extras, **(packed if config.bitmap else {}))
        try:
            used = max(used, oracle.check(config, batch, out, lse, expected))
        except AssertionError as error:
            raise AssertionError(f"call {number}, q_lens {q_lens}, kv_lens {kv_lens}: {error}") from None
        del out, lse, expected
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return f"{100 * used:.0f} % of the tolerance"


def documents(rng, n: int, length: int) -> list[int]:
    """For each row the first key of its document, never falling."""
    starts = sorted(rng.randint(0, max(length, 1)) for _ in range(3))
    positions = [length - n + i for i in range(n)]
    return [max([0, *(start for start in starts if start <= p)]) for p in positions]


def run_layer(function, config: Layer, seed: str) -> str:
    import batches
    import oracle
    import torch

    rng, used = random.Random(seed), 0.0
    for number in range(CALLS):
        q_lens, kv_lens = lens(rng, config)
        kv_lens = [max(n, length) for n, length in zip(q_lens, kv_lens)]  # the new rows are among the keys
        batch = batches.random_batch(config, q_lens, kv_lens, number)
        cache = batches.paged(batch, config, number, rng.choice(("nhd", "hnd")))
        ends = lambda parts: [part[len(part) - n :] for part, n in zip(parts, q_lens)]
        new_k, new_v = (
            batches.joined(ends(parts), config.kv_heads, config.dim, config.dtype)
            for parts in (as_given(config, batch, which) for which in (0, 1))
        )
        cos, sin = (
            torch.from_numpy(t).to(batches.device()) for t in pf.rope_tables(config.kv_len, config.rotary)
        )
        gate = batches.normal(number + 92, len(batch.q), config.heads)
        hide_new_rows(config, cache, q_lens, kv_lens)
        kind = batches.TORCH[config.dtype]
        results = [((len(batch.q), config.heads, config.dim), kind)] * (1 + config.turned)
        arguments = {"q": batch.q, "k": new_k, "v": new_v, "rows": batches.i32(batches.offsets(q_lens))}
        weights = {}
        if config.norm:
            weights = {f"w_{x}": batches.normal(number + 94 + i, config.dim) for i, x in enumerate("qk")}
        out, *turned = batches.call(
            function, results, **arguments, cache=cache, cos=cos, sin=sin, gate=gate, **weights
        )
        # Attention is checked on the rotated q and the cached K as they were stored, these against float64. Where nobody
        # has stored the q, it is that of float64, rounded.
        positions = torch.tensor([length - n + i for n, length in zip(q_lens, kv_lens) for i in range(n)],
                                 device=batches.device())  # fmt: skip

        def exactly(given, w):
            normed = oracle.rms_norm(given, weights[w], EPS) if config.norm else given
            return oracle.rope(normed, positions, config.rotary, 10000.0, config.pairing)

        turned = turned[0] if turned else exactly(batch.q, "w_q").to(kind)
        stored = gathered(config, cache, kv_lens)
        seen = batches.Batch(turned, stored[0], batch.values, q_lens, batch.scales)
        new_rows = torch.cat([seen.dequantised(0, r)[length - n :] for r, (n, length) in enumerate(zip(q_lens, kv_lens))])
        for got, given, kind, w in ((turned, batch.q, config.dtype, "w_q"), (new_rows, new_k, config.stored, "w_k")):
            exact = exactly(given, w)
            # A norm that is a kernel of its own rounds elements near 1 before they are turned.
            slack = 2 * oracle.ULP[kind] * exact.abs().clamp_min(1 if config.norm else 2**-6) + 4e-6
            assert ((got.double() - exact).abs() <= slack).all(), f"call {number}: rotation is off"
        for r, (values, whole) in enumerate(zip(batch.values, stored[1])):
            assert torch.equal(batches.bits(values), batches.bits(whole)), (
                f"call {number}: values of request {r} changed"
            )
        used = max(
            used, oracle.check(config, batch, out, None, oracle.attention(config, seen, {"gate": gate}))
        )
    return f"{100 * used:.0f} % of the tolerance"


def as_given(config, batch, which: int) -> list:
    """Keys or values as they come to be appended: to stored ones of 8 bits they are rounded back."""
    import batches

    if batch.scales is None:
        return (batch.keys, batch.values)[which]
    kind = batches.TORCH[config.dtype]
    return [batch.dequantised(which, r).to(kind) for r in range(len(batch.keys))]


def slots(config, cache, r: int, length: int):
    """(page ids, slots) of the keys of a request."""
    import torch

    key = torch.arange(length, device=cache.table.device)
    return cache.table[r].long()[torch.div(key, config.page, rounding_mode="floor")], key % config.page


def gathered(config, cache, kv_lens):
    """Keys and values of each request, as the cache holds them."""
    import batches

    pools = (cache.k_pages, cache.v_pages)
    views = [x.transpose(1, 2) if cache.layout == "hnd" else x for x in map(batches.indexable, pools)]
    return [
        [x[slots(config, cache, r, length)].view(pools[0].dtype) for r, length in enumerate(kv_lens)]
        for x in views
    ]


def hide_new_rows(config, cache, q_lens, kv_lens) -> None:
    """NaN where append is going to write."""
    import batches

    nan = batches.indexable(batches.filled((1,), float("nan"), config.stored))
    for r, (n, length) in enumerate(zip(q_lens, kv_lens)):
        pages, slot = (x[length - n :] for x in slots(config, cache, r, length))
        for x in map(batches.indexable, (cache.k_pages, cache.v_pages)):
            (x.transpose(1, 2) if cache.layout == "hnd" else x)[pages, slot] = nan


def variants(seed: int, graphs: int):
    """(name, configuration, body(function, config, seed)) of `graphs` graphs, every sixth of them a layer, of half
    as many for decode, and of as many layers at decode."""
    for number in range(graphs):
        name = f"matrix {seed}-{number}"
        rng = random.Random(name)
        if number % 6 == 5:
            yield name, layer_config(rng), run_layer
        else:
            yield name, attend_config(rng), run_attend
    for number in range(graphs // 2):
        name = f"decode {seed}-{number}"
        yield name, decode_config(random.Random(name)), run_attend
    for number in range(graphs // 2):
        name = f"step {seed}-{number}"
        yield name, step_config(random.Random(name)), run_layer
