# cache.py - a paged KV cache as the caller holds it
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PagedKV` names the arrays that make a cache argument: four, and two of scales where it has them."""

from __future__ import annotations

from ._tensor import Tensor, as_tensor

LAYOUTS = ("nhd", "hnd")


class PagedKV:
    """K and V pages, page table and lengths: views of the caller's arrays, nothing is copied.

    layout "nhd": pages are [pages, page, heads, dim]; "hnd": [pages, heads, page, dim]. Any strides will
    do as long as the innermost dimension is contiguous, so `kv[:, 0]` and `kv[:, 1]` of one allocation
    are fine. `table` is int32 [batch, width], `lens` int32 [batch]: the tokens of each request once this
    step's append is done. `dtype` reads pages as "bf16" (16 bits) or "f8e4m3" (8 bits) where numpy has no such type.

    Pages of "f8e4m3" (float8_e4m3fn) come with `k_scale` and `v_scale`, float32 [heads], finite and above 0: a stored
    element of KV head g stands for itself times scale[g].
    """

    def __init__(
        self,
        k_pages,
        v_pages,
        table,
        lens,
        layout: str = "nhd",
        dtype: str | None = None,
        k_scale=None,
        v_scale=None,
    ):
        if layout not in LAYOUTS:
            raise ValueError(f"layout: expects one of {', '.join(LAYOUTS)}, got {layout!r}")
        if (k_scale is None) != (v_scale is None):
            raise ValueError("k_scale, v_scale: expects both or none, got one")
        self.k_pages, self.v_pages, self.table, self.lens = k_pages, v_pages, table, lens
        self.layout, self.dtype = layout, dtype
        self.k_scale, self.v_scale = k_scale, v_scale

    def tensors(self, name: str) -> list[Tensor]:
        """The arguments of the C ABI, in its order: pages as [pages, page, heads, dim], scales where it has them."""
        pages = [self._pages(self.k_pages, f"{name}.k_pages"), self._pages(self.v_pages, f"{name}.v_pages")]
        others = ("table", "lens") if self.k_scale is None else ("table", "lens", "k_scale", "v_scale")
        return pages + [as_tensor(getattr(self, part), name=f"{name}.{part}") for part in others]

    def _pages(self, pages, name: str) -> Tensor:
        tensor = as_tensor(pages, self.dtype, name)
        if len(tensor.shape) != 4:
            raise ValueError(f"{name}: expects 4 dimensions (layout {self.layout}), got shape {tensor.shape}")
        return tensor.transposed(0, 2, 1, 3) if self.layout == "hnd" else tensor
