# prefill_peers.py - who computes a shape: ours, PyTorch's back ends, cubins of others
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contenders: objects with `name`, `page` (the place of K and V that they read), `launch()`, which enqueues one call on
torch's current stream, and `out`, its result [batch, q_len, heads, dim]. Making one that cannot compute a shape raises
an exception whose text is the reason."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as functional

import pagefold as pf

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


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

    def result(self, *, lse_shape):
        """(out like q, lse), filled with NaN."""
        lse = torch.full(lse_shape, math.nan, dtype=torch.float32, device="cuda")
        return torch.full_like(self.q, math.nan), lse


class Ours:
    """A bundle."""

    def __init__(self, name: str, inputs: Inputs, page, path):
        self.name, self.page = name, page
        self.function = pf.load(path).function()
        self._out, lse = inputs.result(lse_shape=inputs.q.shape[:2])
        if page is None:
            arguments = {"k": inputs.k, "v": inputs.v, "kv_rows": inputs.kv_rows}
        else:
            arguments = {"cache": pf.PagedKV(*inputs.pages(page), inputs.lens)}
        self.arguments = {"q": inputs.q, "rows": inputs.rows, **arguments, "out": (self._out, lse)}
        self.out = inputs.batched(self._out)

    def launch(self) -> None:
        self.function(**self.arguments)


class Cubin:
    """A kernel of another, by its recipe (cubin_peers)."""

    def __init__(self, kernel, inputs: Inputs, page):
        shape = inputs.shape
        self.name, self.page = kernel.name, page
        batched = inputs.batched
        if page is None:
            out, lse = inputs.result(lse_shape=(shape.batch, shape.heads, shape.q_len))
            self.launch = kernel.dense(*(batched(x) for x in (inputs.q, inputs.k, inputs.v, out)), lse)
        else:
            out, lse = inputs.result(lse_shape=(shape.heads, len(inputs.q)))
            self.launch = kernel.paged(
                inputs.q, *inputs.pages(page), inputs.rows, inputs.lens, out, lse, shape.q_len, shape.kv_len
            )
        self.out = batched(out)


class _Torch:
    """A function of q, k, v [batch, heads, rows, dim]; GQA by enable_gqa."""

    page = None

    def __init__(self, inputs: Inputs):
        self.shape = inputs.shape
        self.qkv = [inputs.batched(x).transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v)]
        self.options = {"enable_gqa": inputs.shape.heads != inputs.shape.kv_heads}
        self.bottom_right = inputs.shape.causal and inputs.shape.q_len != inputs.shape.kv_len
        self.prepare()
        self.launch()  # what it cannot do, or compiles at its first call, shows here
        torch.cuda.synchronize()

    def launch(self) -> None:
        self.result = self.call()

    @property
    def out(self):
        return self.result.transpose(1, 2)


class CuDnn(_Torch):
    name = "cuDNN"

    def prepare(self):
        if self.bottom_right:
            raise ValueError("SDPA's is_causal is top-left")

    def call(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return functional.scaled_dot_product_attention(
                *self.qkv, is_causal=self.shape.causal, **self.options
            )


class Fa2(_Torch):
    name = "FA2"

    def prepare(self):
        from torch.nn.attention.bias import causal_lower_right

        shape = self.shape
        if self.bottom_right:
            self.options["attn_mask"] = causal_lower_right(shape.q_len, shape.kv_len)
        else:
            self.options["is_causal"] = shape.causal

    def call(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return functional.scaled_dot_product_attention(*self.qkv, **self.options)


class Flex(_Torch):
    name = "Flex"

    def prepare(self):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        torch._dynamo.reset()  # a shape after another would count as recompilation, and past a limit run eagerly
        self.flex = torch.compile(flex_attention, dynamic=False)
        shape, offset = self.shape, self.shape.kv_len - self.shape.q_len
        if shape.causal:
            visible = lambda b, h, q, k: k <= q + offset
            self.options["block_mask"] = create_block_mask(
                visible, None, None, shape.q_len, shape.kv_len, device="cuda"
            )

    def call(self):
        return self.flex(*self.qkv, **self.options)


BACK_ENDS = {"cudnn": CuDnn, "fa2": Fa2, "flex": Flex}
