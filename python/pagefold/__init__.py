# __init__.py - attention over paged KV caches: build, compile, call
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pagefold: a compiler for the attention of LLM serving.

Build a graph (`Graph`, `attention`, ...), compile it (`compile`) or load an artifact (`load`), call it with
arrays. Importing loads no library and touches no device.
"""

from ._tensor import as_tensor
from .cache import PagedKV
from .errors import InvalidArgumentError, LibraryNotFoundError, PagefoldError
from .expr import (
    ceil,
    cos,
    erf,
    exp,
    exp2,
    floor,
    log,
    log2,
    maximum,
    minimum,
    position,
    rsqrt,
    sin,
    soft_cap,
    sqrt,
    tanh,
    to_i32,
    token,
    where,
)
from .function import Function
from .graph import Graph
from .masks import Mask, causal, chunked, no_mask, pack_mask, per_row, prefix, sink_window, sym, window
from .module import Module, compile, load, set_num_threads
from .ops import append, attention, merge, rms_norm, rope, shared_prefix
from .pages import PagePool
from .tables import alibi_slopes, rope_tables

__version__ = "0.1.0"
