# peers.py - who computes a call: ours, PyTorch's back ends, cubins of others
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contenders: objects with `kind` (the column), `name`, `own` (whether a fault of it is one of ours), `shape` (what it
computes), `page` (the place of K and V that it reads), `launch()`, which enqueues one call on torch's current stream, and
`out`, its result [tokens, heads, dim]. Making one that cannot compute a call raises an exception whose text is the reason.

What they compute comes as inputs (prefill_run, decode_run): `shape`, which has q_len, kv_len, heads, kv_heads and causal;
`q` [tokens, heads, dim], `rows` and `lens`; `cache(page)`, the arguments of a graph for K and V on pages, or DENSE ones;
`dense()`, Q, K and V as [batch, heads, rows, dim], an error for requests of several lengths.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as functional


def result(q, lse_shape):
    """(out like q, lse), filled with NaN."""
    lse = torch.full(lse_shape, math.nan, dtype=torch.float32, device=q.device)
    return torch.full_like(q, math.nan), lse


class Contender:
    own = False

    def check(self) -> None:
        """Raises what a kernel has reported of earlier calls, once they have been waited for."""


class Ours(Contender):
    """A function of a bundle."""

    own = True

    def __init__(self, name: str, inputs, page, function, kind: str = "ours"):
        self.kind, self.name, self.shape, self.page, self.function = kind, name, inputs.shape, page, function
        self.out, lse = result(inputs.q, inputs.q.shape[:2])
        self.arguments = {"q": inputs.q, "rows": inputs.rows, **inputs.cache(page), "out": (self.out, lse)}

    def launch(self) -> None:
        self.function(**self.arguments)

    def check(self) -> None:
        self.function.check()


class Cubin(Contender):
    """A kernel of another, by its recipe (cubin_peers). bind(out): what launches it."""

    kind = "cubin"

    def __init__(self, name: str, page, inputs, bind):
        self.name, self.shape, self.page = name, inputs.shape, page
        self.out = torch.full_like(inputs.q, math.nan)
        self.launch = bind(self.out)


class _Torch(Contender):
    """A function of q, k, v [batch, heads, rows, dim]; GQA by enable_gqa."""

    page = None

    def __init__(self, inputs):
        self.shape = shape = inputs.shape
        self.qkv = self.prepared(*inputs.dense())
        self.options = {"enable_gqa": self.qkv[0].shape[1] != self.qkv[1].shape[1]}
        self.top_left = shape.causal and shape.q_len == shape.kv_len
        self.bottom_right = shape.causal and 1 < shape.q_len != shape.kv_len
        self.prepare()
        self.launch()  # what it cannot do, or compiles at its first call, shows here
        torch.cuda.synchronize()

    def prepared(self, q, k, v):
        return q, k, v

    def launch(self) -> None:
        self.result = self.call()

    @property
    def out(self):
        return self.result.transpose(1, 2).flatten(0, 1)


class CuDnn(_Torch):
    kind = name = "cuDNN"

    def prepare(self):
        if self.bottom_right:
            raise ValueError("SDPA's is_causal is top-left")

    def call(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return functional.scaled_dot_product_attention(*self.qkv, is_causal=self.top_left, **self.options)


class Fa2(_Torch):
    kind = name = "FA2"

    def prepare(self):
        from torch.nn.attention.bias import causal_lower_right

        if self.bottom_right:
            self.options["attn_mask"] = causal_lower_right(self.shape.q_len, self.shape.kv_len)
        else:
            self.options["is_causal"] = self.top_left

    def call(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return functional.scaled_dot_product_attention(*self.qkv, **self.options)


class _GroupAsRows:
    """One query row on grouped heads, passed as the group's rows on each KV head: another way to ask for the same."""

    def prepared(self, q, k, v):
        batch, heads, rows, dim = q.shape
        if rows != 1 or heads == k.shape[1]:
            raise ValueError("a group becomes rows where there is one row, and a group")
        return q.reshape(batch, k.shape[1], -1, dim), k, v

    @property
    def out(self):
        return self.result.flatten(1, 2)


class CuDnnGroupAsRows(_GroupAsRows, CuDnn):
    name = "cuDNN, group as rows"


class Fa2GroupAsRows(_GroupAsRows, Fa2):
    name = "FA2, group as rows"


class Flex(_Torch):
    kind = name = "Flex"

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


# By the names of --peers: one and the same library may be asked in several ways, of which the fastest counts.
BACK_ENDS = {"cudnn": (CuDnn, CuDnnGroupAsRows), "fa2": (Fa2, Fa2GroupAsRows), "flex": (Flex,)}
