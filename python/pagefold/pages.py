# pages.py - who owns which page: the runtime's page manager
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page manager from Python: page tables, prefix reuse, copy-on-write, eviction.

pages = PagePool(num_pages=1000, page_size=16, max_requests=64, max_pages_per_request=64)
row, hit = pages.admit(7, prompt_tokens)     # `hit` tokens need not be computed
changes = pages.drain()                      # copy pages, before anything of this step is launched
...                                          # compute tokens hit.. of the prompt into pages.table()[row]
pages.mark_computed(7, len(prompt_tokens))
pages.append(7, [token]); pages.reserve(7, len(prompt_tokens) + 1)
pages.finish(7)                              # its pages stay findable until they are needed

A call that fails raises PagefoldError and changes nothing. Threads may share a pool; the calls for one request are the
caller's to order.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from . import _abi

_INT32 = ctypes.POINTER(ctypes.c_int32)


class Changes(NamedTuple):
    """What a step must do before it launches: `copies` [n, 3] of (source page, destination page, tokens), and
    `updates` [n, 3] of (row, column, page) to the table."""

    copies: np.ndarray
    updates: np.ndarray


class PagePool:
    """A pool of `num_pages` pages of `page_size` tokens and a page table of `max_requests` rows."""

    def __init__(
        self,
        num_pages: int,
        page_size: int,
        max_requests: int,
        max_pages_per_request: int = 0,
        prefix_caching: bool = True,
    ):
        self._library, self._handle = _abi.runtime(), ctypes.c_void_p()
        self.shape = (max_requests, max_pages_per_request or num_pages)
        self._call("create", num_pages, page_size, *self.shape, int(prefix_caching), self._handle, owner=False)

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.pagefold_pages_free(self._handle)

    def _call(self, name: str, *arguments, owner: bool = True) -> None:
        first = (self._handle,) if owner else ()
        _abi.check(self._library, getattr(self._library, f"pagefold_pages_{name}")(*first, *arguments))

    def admit(self, request: int, tokens, salt: str = "", new_tokens: int = 0) -> tuple[int, int]:
        """(row of the table, tokens that a cached prefix of the same `salt` saves)."""
        data = np.ascontiguousarray(tokens, np.int32)
        row, hit = ctypes.c_int32(), ctypes.c_int32()
        self._call("admit", request, data.ctypes.data_as(_INT32), data.size, salt.encode(), new_tokens, row, hit)
        return row.value, hit.value

    def reserve(self, request: int, tokens: int) -> None:
        """Pages for the first `tokens` tokens; shared pages that would be written become copies."""
        self._call("reserve", request, tokens)

    def append(self, request: int, tokens) -> None:
        """Generated tokens, which make the pages that they fill findable."""
        data = np.ascontiguousarray(tokens, np.int32)
        self._call("append", request, data.ctypes.data_as(_INT32), data.size)

    def mark_computed(self, request: int, tokens: int) -> None:
        """K and V of the first `tokens` tokens are written."""
        self._call("mark_computed", request, tokens)

    def fork(self, parent: int, child: int) -> int:
        """The row of a child that shares what its parent has computed."""
        row = ctypes.c_int32()
        self._call("fork", parent, child, row)
        return row.value

    def finish(self, request: int) -> None:
        self._call("finish", request)

    def abort(self, request: int) -> None:
        self._call("abort", request)

    def drain(self) -> Changes:
        """The changes since the last drain."""
        arrays, counts = (_INT32(), _INT32()), (ctypes.c_size_t(), ctypes.c_size_t())
        self._call("drain", arrays[0], counts[0], arrays[1], counts[1])
        return Changes(*map(self._take, arrays, counts))

    def _take(self, array, count) -> np.ndarray:
        if not count.value:
            return np.empty((0, 3), np.int32)
        taken = np.ctypeslib.as_array(array, (count.value, 3)).copy()
        self._library.pagefold_pages_free_array(array)
        return taken

    def table(self) -> np.ndarray:
        """The whole table, int32 `shape`, -1 where a row has no page."""
        table = np.empty(self.shape, np.int32)
        self._call("table", table.ctypes.data_as(_INT32), table.size)
        return table

    @property
    def available(self) -> int:
        """Pages that an allocation can get."""
        return self._library.pagefold_pages_available(self._handle)

    def verify(self) -> None:
        """Checks every invariant of the manager."""
        self._call("verify")
