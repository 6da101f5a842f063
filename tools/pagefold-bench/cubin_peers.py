# cubin_peers.py - attention kernels in cubins of others, launched by a recipe
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels to compare with, in the same process: a folder of cubins, each with a NAME.json.

  {"name": "x", "entry": "symbol", "code": "x.cubin", "smem": bytes, "threads": 384, ...}

("cubin" stands for "code" as well.) bf16 (but for caches of 8 bits), head dim 128, a persistent grid. Of two forms:

Prefill: "causal": 0 or 1, "page": tokens of a page (absent: dense), "output_pointer": false. Query tiles of 128 rows, drawn
from a counter. The parameters, in order:

  dense  maps of Q, K, V, O, each (64, tokens, 2, heads, batch); pointers lse [batch, heads, q_len] f32, O (unless
         output_pointer is false), counter; i32 q_len, kv_len, heads, group, tiles, row blocks, the order (heads of a
         section, full sections, heads of the last one); f32 scale times log2(e)
  paged  maps of Q and O (64, tokens, 2, heads, 1), of K and V pages (64, 8, 2 KV heads, page / 8, pages); pointers lse
         [heads, tokens], O, counter, table [batch, width], rows [batch + 1], lengths [batch]; i32 tokens, heads,
         heads, group, tiles, row blocks, the order, width, three factors of the page's coordinates, 1; f32 as above

Decode: "form": "decode", "page", "heads", "kv_heads", "q_len": the rows of every request, causal at the bottom right.
Warps share the keys of the batch out among themselves. The parameters:

         maps of K and V pages (64, page, 2, KV heads, pages), boxes of 16 tokens of one head; pointers q, K pages,
         V pages, table [batch, width], lengths [batch], out [batch, q_len, heads, 128], lse [batch, q_len, heads] f32,
         partial sums and partial maxima of 32-bit words that are all ones before and after a launch, counters that are 0;
         i32 batch, width; f32 as above

With "kv_dtype": "f8e4m3" and "box": [tokens, KV heads], pages hold bytes: the maps are (128, page, KV heads, pages), and
instead of K and V pages there are pointers to their scales, f32 [KV heads].

Everything is a torch tensor on the GPU; a driver call that fails is a RuntimeError with the driver's sentence.
"""

from __future__ import annotations

import ctypes
import json
import math
from pathlib import Path

HEAD_DIM, ROW_BLOCK, KV_TILE = 128, 128, 128
KV_SLICE = 16  # tokens that a warp of a decode kernel reads at once
_U8, _BF16, _SWIZZLE_128, _PROMOTE_NONE, _PROMOTE_256 = 0, 9, 3, 0, 3  # CUtensorMap's enumerations
_DYNAMIC_SHARED_BYTES = 8  # CUfunction_attribute


def driver():
    """call(name, arguments...) of the CUDA driver."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        error = getattr(cuda, name)(*args)
        if error:
            text = ctypes.c_char_p()
            cuda.cuGetErrorString(error, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else error}")

    return call


def tensor_map(call, x, extents, strides, box, promote=_PROMOTE_256, element=_BF16):
    """A 128-byte swizzled map, dimensions innermost first, strides in bytes. Returns (memory, address)."""
    memory = (ctypes.c_byte * 192)()
    address = (ctypes.addressof(memory) + 63) // 64 * 64
    rank = len(extents)
    array = lambda kind, values: (kind * len(values))(*values)
    call("cuTensorMapEncodeTiled", ctypes.c_void_p(address), element, rank, ctypes.c_void_p(x.data_ptr()),
         array(ctypes.c_uint64, extents), array(ctypes.c_uint64, strides), array(ctypes.c_uint32, box),
         array(ctypes.c_uint32, [1] * rank), 0, _SWIZZLE_128, promote, 0)  # fmt: skip
    return memory, address


def rows_map(call, x, rows):
    """`rows` rows of one head of [batch, tokens, heads, 128]."""
    batch, tokens, heads, _ = x.shape
    row = heads * HEAD_DIM * 2
    return tensor_map(
        call, x, (64, tokens, 2, heads, batch), (row, 128, HEAD_DIM * 2, tokens * row), (64, rows, 2, 1, 1)
    )


def pages_map(call, pages):
    """A page of one head, or 128 rows of it, of [pages, page, heads, 128]."""
    count, page, heads, _ = pages.shape
    row = heads * HEAD_DIM * 2
    return tensor_map(call, pages, (64, 8, 2 * heads, page // 8, count), (row, 128, 8 * row, page * row),
                      (64, 8, 2, min(page, KV_TILE) // 8, 1))  # fmt: skip


def slices_map(call, pages):
    """Some tokens of one head of a page of [pages, page, heads, 128]."""
    count, page, heads, _ = pages.shape
    row = heads * HEAD_DIM * 2
    return tensor_map(call, pages, (64, page, 2, heads, count), (row, 128, HEAD_DIM * 2, page * row),
                      (64, KV_SLICE, 2, 1, 1), promote=_PROMOTE_NONE)  # fmt: skip


def byte_slices_map(call, pages, tokens, heads_of_box):
    """Some tokens of some heads of a page of [pages, page, heads, 128] of 8 bits."""
    count, page, heads, _ = pages.shape
    row = heads * HEAD_DIM
    return tensor_map(call, pages, (HEAD_DIM, page, heads, count), (row, HEAD_DIM, page * row),
                      (HEAD_DIM, tokens, heads_of_box, 1), promote=_PROMOTE_NONE, element=_U8)  # fmt: skip


def sections(causal, kv_len, heads, group, row_blocks, processors):
    """Tile order as (heads of a section, full sections, heads of the last one). Full attention needs no balance: one head
    at a time. Causal: sections with at most 8 MiB of K and V, the last one with three tiles a multiprocessor."""
    if not causal:
        return 1, heads, 1
    kv_bytes = kv_len * HEAD_DIM * 4
    section = min(max(1, (8 << 20) // kv_bytes) * group, heads)
    tail = min(max(-(-3 * processors // row_blocks), 1), heads)
    full = max(0, (heads - tail) // section) if tail > 1 else heads // section
    return section, full, heads - full * section or 1


class CubinKernel:
    """One loaded kernel."""

    def __init__(self, call, recipe: dict, folder):
        import torch

        self.torch, self.call, self.recipe = torch, call, recipe
        code = (Path(folder) / (recipe.get("code") or recipe["cubin"])).read_bytes() + b"\0"
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.module), code)
        call("cuModuleGetFunction", ctypes.byref(self.function), self.module, recipe["entry"].encode())
        call("cuFuncSetAttribute", self.function, _DYNAMIC_SHARED_BYTES, recipe["smem"])
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count

    @property
    def name(self) -> str:
        return self.recipe["name"]

    def _launch(self, grid, maps, pointers, numbers):
        """A function that launches it on torch's current stream."""
        values = [ctypes.c_uint64(p.data_ptr()) for p in pointers] + [ctypes.c_int32(n) for n in numbers]
        values.append(ctypes.c_float(math.log2(math.e) / math.sqrt(HEAD_DIM)))
        addresses = [address for _, address in maps] + [ctypes.addressof(x) for x in values]
        array = (ctypes.c_void_p * len(addresses))(*addresses)
        threads, shared = self.recipe["threads"], self.recipe["smem"]

        def launch():
            stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
            self.call("cuLaunchKernel", self.function, grid, 1, 1, threads, 1, 1, shared, stream, array, None)

        launch.keep = (maps, values, pointers)
        return launch


class PrefillKernel(CubinKernel):
    """`dense` and `paged` return a function that launches it on torch's current stream."""

    def __init__(self, call, recipe: dict, folder):
        super().__init__(call, recipe, folder)
        self.counter = self.torch.zeros(1, dtype=self.torch.int32, device="cuda")

    def takes(self, *, page, causal, dim, dtype) -> bool:
        """Whether it computes this; what its recipe does not tell is taken to be plain."""
        recipe = self.recipe
        plain = recipe.get("pack", 1) == 1 and not recipe.get("split")
        return plain and (recipe.get("page"), bool(recipe["causal"]), 128, "bf16") == (
            page,
            causal,
            dim,
            dtype,
        )

    def dense(self, q, k, v, out, lse):
        """q, out [batch, q_len, heads, 128], k, v [batch, kv_len, KV heads, 128], lse [batch, heads, q_len]."""
        batch, q_len, heads, _ = q.shape
        kv_len, kv_heads = k.shape[1:3]
        row_blocks, group = -(-q_len // ROW_BLOCK), heads // kv_heads
        maps = [
            rows_map(self.call, x, rows)
            for x, rows in ((q, ROW_BLOCK), (k, KV_TILE), (v, KV_TILE), (out, 64))
        ]
        pointers = [lse] + ([out] if self.recipe.get("output_pointer", True) else []) + [self.counter]
        order = sections(self.recipe["causal"], kv_len, heads * batch, group, row_blocks, self.processors)
        tiles = row_blocks * heads * batch
        return self._persistent(
            tiles, maps, pointers, [q_len, kv_len, heads, group, tiles, row_blocks, *order]
        )

    def paged(self, q, k_pages, v_pages, table, rows, lens, out, lse, max_q_len, max_kv_len):
        """q, out [tokens, heads, 128], pages [pages, page, KV heads, 128], lse [heads, tokens]."""
        tokens, heads, _ = q.shape
        group, batch = heads // k_pages.shape[2], len(lens)
        row_blocks = -(-max_q_len // ROW_BLOCK)
        maps = [rows_map(self.call, q[None], ROW_BLOCK), pages_map(self.call, k_pages),
                pages_map(self.call, v_pages), rows_map(self.call, out[None], 64)]  # fmt: skip
        order = sections(1, max_kv_len, heads * batch, group, row_blocks, self.processors)
        if 2 * max_q_len <= max_kv_len:  # a chunk on a long context: the heads of one KV head at a time
            order = group, heads * batch // group, group
        tiles = row_blocks * heads * batch
        numbers = [tokens, heads, heads, group, tiles, row_blocks, *order, table.shape[1], 2, 1, 0, 1]
        return self._persistent(tiles, maps, [lse, out, self.counter, table, rows, lens], numbers)

    def _persistent(self, tiles, maps, pointers, numbers):
        return self._launch(min(self.processors, tiles), maps, pointers, numbers)


class DecodeKernel(CubinKernel):
    """`paged` returns a function that launches it on torch's current stream. Launches follow one another: they share the
    memory of partial results."""

    def __init__(self, call, recipe: dict, folder):
        super().__init__(call, recipe, folder)
        int32 = {"dtype": self.torch.int32, "device": "cuda"}
        warps, rows = recipe["threads"] // 32, recipe["q_len"] * recipe["heads"] // recipe["kv_heads"]
        rows *= self.box[1]
        # Twice what is written: rows are touched in whole groups.
        partial = 2 * self.processors * warps * rows
        self.sums = self.torch.full((partial * HEAD_DIM,), -1, **int32)
        self.maxima = self.torch.full((partial * 2,), -1, **int32)
        self.counters = self.torch.zeros(1 << 16, **int32)

    @property
    def stored(self) -> str:
        return self.recipe.get("kv_dtype", "bf16")

    @property
    def box(self) -> tuple[int, int]:
        """Tokens and KV heads that a warp reads at once."""
        tokens, heads = self.recipe.get("box", (KV_SLICE, 1))
        return tokens, heads

    def takes(self, *, page, heads, kv_heads, q_lens, dim, dtype, stored) -> bool:
        """Whether it computes this; q_lens: the rows of each request, stored: the dtype of K and V."""
        recipe = self.recipe
        return (recipe["page"], recipe["heads"], recipe["kv_heads"], {recipe["q_len"]}, HEAD_DIM, "bf16", self.stored) == (
            page, heads, kv_heads, set(q_lens), dim, dtype, stored)  # fmt: skip

    def paged(self, q, k_pages, v_pages, table, lens, out, lse, scales):
        """q, out [tokens, heads, 128], pages [pages, page, KV heads, 128], lse [tokens, heads], scales of K and of V
        [KV heads] where pages hold bytes."""
        both, keys = (k_pages, v_pages), (k_pages, v_pages) if self.stored == "bf16" else scales
        maps = [slices_map(self.call, x) if self.stored == "bf16" else byte_slices_map(self.call, x, *self.box)
                for x in both]  # fmt: skip
        pointers = [q, *keys, table, lens, out, lse, self.sums, self.maxima, self.counters]
        return self._launch(self.processors, maps, pointers, [len(lens), table.shape[1]])


FORMS = {"prefill": PrefillKernel, "decode": DecodeKernel}


def load_folder(folder, form: str) -> list[CubinKernel]:
    """All kernels of a folder that are of a form; needs torch with a GPU."""
    import torch

    torch.zeros(1, device="cuda")  # the context
    call = driver()
    recipes = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]
    return [FORMS[form](call, recipe, folder) for recipe in recipes if recipe.get("form", "prefill") == form]
