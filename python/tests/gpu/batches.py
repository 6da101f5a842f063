# batches.py - batches on a device, poisoned memory, and calls that are repeated
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the variants of the GPU suite share: ragged batches, caches whose other bytes are NaN, results with guard bands."""

from __future__ import annotations

import dataclasses
import math

import torch

import pagefold as pf

NAN = math.nan
TORCH = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f8e4m3": torch.float8_e4m3fn}
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
GUARD = 256  # elements of NaN before and after each result
_device = "cuda"


def use(device: str) -> None:
    """Where tensors are made from here on: "cuda", "cuda:1", or "cpu" to try the suite itself."""
    global _device
    _device = device


def device() -> str:
    return _device


def synchronize() -> None:
    if _device != "cpu":
        torch.cuda.synchronize(_device)


def poison(bytes_: int = 1 << 30) -> None:
    """Leaves NaN in memory that nobody owns, where a workspace may be allocated next."""
    if _device != "cpu":
        torch.full((bytes_,), 255, dtype=torch.uint8, device=_device)
        torch.cuda.empty_cache()


def bits(x):
    """The stored bits, which tell NaNs and zeros apart."""
    return x.contiguous().view(BITS[x.element_size()])


def filled(shape, fill: float, dtype: str):
    return torch.full(shape, fill, device=_device).to(TORCH[dtype])


def indexable(x):
    """The same memory, with elements that torch indexes and copies: bytes for those of 8 bits."""
    return x.view(torch.uint8) if x.element_size() == 1 else x


def i32(values):
    return torch.tensor(values, dtype=torch.int32, device=_device)


def f32(values):
    return torch.tensor(values, dtype=torch.float32, device=_device)


def offsets(lens) -> list[int]:
    result = [0]
    for length in lens:
        result.append(result[-1] + length)
    return result


def generator(seed: int):
    made = torch.Generator(device=_device)
    made.manual_seed(seed)
    return made


def normal(seed: int, *shape: int, dtype: str = "f32"):
    return torch.randn(shape, generator=generator(seed), device=_device).to(TORCH[dtype])


@dataclasses.dataclass
class Batch:
    """Queries of all requests one after another, and each request's keys and values as they are stored; with scales,
    those of keys and of values by KV head, they stand for the products."""

    q: torch.Tensor
    keys: list
    values: list
    q_lens: list
    scales: tuple | None = None

    @property
    def kv_lens(self) -> list[int]:
        return [len(key) for key in self.keys]

    @property
    def starts(self) -> list[int]:
        return offsets(self.q_lens)[:-1]

    def dequantised(self, which: int, r: int):
        """What the keys (0) or values (1) of request r stand for, in f64."""
        stored = (self.keys, self.values)[which][r].to(torch.float64)
        return stored if self.scales is None else stored * self.scales[which].double()[:, None]


def random_batch(config, q_lens, kv_lens, seed: int, q_scale: float = 1.0) -> Batch:
    draw = lambda number, *shape, dtype: normal(1000 * seed + number, *shape, dtype=dtype)
    dims = ((0, config.dim), (1, config.dim_of_values))
    keys, values = (
        [
            draw(2 * r + 1 + which, length, config.kv_heads, dim, dtype=config.stored)
            for r, length in enumerate(kv_lens)
        ]
        for which, dim in dims
    )
    q = draw(0, sum(q_lens), config.heads, config.dim, dtype=config.dtype)
    batch = Batch((q * q_scale).to(TORCH[config.dtype]), keys, values, list(q_lens))
    if config.stored == "f8e4m3":
        batch.scales = tuple(head_scales(config, seed + which) for which in (0, 1))
    return batch


def head_scales(config, seed: int):
    """Of each KV head another one from 0.25 to 1, so that a wrong head's shows."""
    return 0.25 + 0.75 * torch.rand(config.kv_heads, generator=generator(seed), device=_device)


def pool(config, pages: int, dim: int, layout: str, fill: float):
    inner = (config.kv_heads, config.page) if layout == "hnd" else (config.page, config.kv_heads)
    return filled((pages, *inner, dim), fill, config.stored)


def paged(batch: Batch, config, seed: int, layout="nhd", fill=NAN, spare=-1, extra=2) -> pf.PagedKV:
    """Scatters the batch's keys and values over randomly ordered pages.

    Slots of no request hold `fill`, table entries past a request's pages `spare`. Layout "interleaved" holds K and V of
    a page side by side in one allocation.
    """
    counts = [-(-length // config.page) for length in batch.kv_lens]
    pages, width = sum(counts) + extra, max(counts, default=0) + extra
    order = torch.randperm(pages, generator=generator(seed), device=_device)
    table = torch.full((len(counts), width), spare, dtype=torch.int32, device=_device)
    dims = (config.dim, config.dim_of_values)
    if layout == "interleaved":
        both = filled((pages, 2, config.page, config.kv_heads, max(dims)), fill, config.stored)
        pools = [both[:, which, :, :, :dim] for which, dim in enumerate(dims)]
    else:
        pools = [pool(config, pages, dim, layout, fill) for dim in dims]
    used = 0
    for r, count in enumerate(counts):
        ids = order[used : used + count]
        table[r, :count] = ids.to(torch.int32)
        used += count
        for target, tokens in zip(pools, (batch.keys[r], batch.values[r])):
            if not count:
                continue
            rows = indexable(filled((count * config.page, *tokens.shape[1:]), fill, config.stored))
            rows[: len(tokens)] = indexable(tokens)
            rows = rows.view(count, config.page, *tokens.shape[1:])
            indexable(target)[ids] = rows.transpose(1, 2) if layout == "hnd" else rows
    k_scale, v_scale = batch.scales or (None, None)
    layout = "hnd" if layout == "hnd" else "nhd"
    return pf.PagedKV(*pools, table, i32(batch.kv_lens), layout, k_scale=k_scale, v_scale=v_scale)


def joined(parts, heads: int, dim: int, dtype: str):
    """Keys or values of all requests, one after another."""
    return torch.cat([torch.zeros(0, heads, dim, dtype=TORCH[dtype], device=_device), *parts])


class Guarded:
    """A result between guard bands, all NaN at first."""

    def __init__(self, shape, dtype):
        count = math.prod(shape)
        self.memory = torch.full((count + 2 * GUARD,), NAN, dtype=dtype, device=_device)
        self.view = self.memory[GUARD : GUARD + count].view(shape)
        self.before = bits(self.memory)

    def check(self, what: str) -> None:
        after = bits(self.memory)
        for side in (slice(0, GUARD), slice(-GUARD, None)):
            assert torch.equal(after[side], self.before[side]), f"{what}: written outside"


def call(function, results, **arguments):
    """Calls twice into new memory full of NaN; results are [(shape, dtype)]. Asserts that the calls agree bit for bit, that
    nothing beside the results was written, and that no request was reported. Returns the results."""
    runs = []
    for _ in range(2):
        guarded = [Guarded(shape, dtype) for shape, dtype in results]
        function(**arguments, out=tuple(g.view for g in guarded))
        synchronize()
        function.check()
        for index, g in enumerate(guarded):
            g.check(f"result {index}")
        runs.append([g.view for g in guarded])
    for index, (first, second) in enumerate(zip(*runs)):
        assert torch.equal(bits(first), bits(second)), f"result {index}: two calls differ"
    return runs[1]


def results(config, tokens: int) -> list:
    """(shape, dtype) of out and lse."""
    return [
        ((tokens, config.heads, config.dim_of_values), TORCH[config.dtype]),
        ((tokens, config.heads), torch.float32),
    ]


def arguments(config, batch: Batch, cache=None, seed: int = 7, **extras) -> dict:
    """Of an Attend graph."""
    made = {"q": batch.q, "rows": i32(offsets(batch.q_lens)), **extras}
    if config.page is None:
        made["k"] = joined(batch.keys, config.kv_heads, config.dim, config.dtype)
        made["v"] = joined(batch.values, config.kv_heads, config.dim_of_values, config.dtype)
        made["kv_rows"] = i32(offsets(batch.kv_lens))
    else:
        made["cache"] = cache or paged(batch, config, seed)
    return made


def attend(function, config, batch: Batch, cache=None, seed: int = 7, **extras):
    """(out, lse) of an Attend graph."""
    return call(function, results(config, len(batch.q)), **arguments(config, batch, cache, seed, **extras))


def pack(masks) -> dict:
    """The operands of `bitmap` for a bool [q_len, kv_len] of each request."""
    flat = [mask.reshape(-1).cpu() for mask in masks]
    starts = offsets(len(part) for part in flat)[:-1]
    joined_ = torch.cat([torch.zeros(0, dtype=torch.bool), *flat]).numpy()
    import numpy as np

    packed = torch.from_numpy(np.packbits(joined_, bitorder="little"))
    return {"bits": packed.to(_device), "starts": torch.tensor(starts, dtype=torch.int64, device=_device)}
