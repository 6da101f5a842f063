# values.py - the values of a graph, their types and what is asked of them
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types, values, and the checks of the builder. Faults are ValueError or TypeError and name the argument."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from .expr import Capture, lookup

if TYPE_CHECKING:
    from .graph import Graph

FLOATS = ("f32", "f16", "bf16")
SCALED = {"f8e4m3": "f8E4M3FN"}  # elements that a cache alone holds, with scales: MLIR's name


@dataclasses.dataclass(frozen=True)
class TensorType:
    """A ranked tensor; None stands for a dimension known at launch."""

    shape: tuple
    dtype: str

    def __str__(self):
        dims = "".join(f"{'?' if dim is None else dim}x" for dim in self.shape)
        return f"tensor<{dims}{self.dtype}>"


@dataclasses.dataclass(frozen=True)
class CacheType:
    heads: int
    dim: int
    v_dim: int
    dtype: str
    page: int

    @property
    def is_scaled(self) -> bool:
        return self.dtype in SCALED

    def __str__(self):
        element = SCALED.get(self.dtype, self.dtype)
        return f"!attn.paged_kv<{self.heads} heads, {self.dim} x {self.v_dim}, {element}, page {self.page}>"


@dataclasses.dataclass(frozen=True)
class ScalarType:
    """A number that a call passes: f32 or i32."""

    dtype: str

    def __str__(self):
        return self.dtype


@dataclasses.dataclass(eq=False)
class Value:
    """A value of a graph."""

    graph: Graph
    name: str
    type: TensorType | CacheType | ScalarType
    used_up: bool = False  # a cache that was appended to

    def __getitem__(self, indices):
        """Inside a score or epilogue lambda: one element of this table."""
        return lookup(expect(self, self.name), indices)

    def traced(self) -> Capture:
        """Inside such a lambda: this scalar."""
        if not isinstance(self.type, ScalarType):
            raise TypeError(
                f"{self.name}: expects a scalar where a number is needed, got {self.type}; index a table"
            )
        return Capture(self, self.type.dtype)


# ---- Checks -----------------------------------------------------------------------------------------


def fail(name: str, needed: str, got):
    raise ValueError(f"{name}: expects {needed}, got {got}")


def check_heads(name: str, heads: int) -> None:
    if heads < 1:
        fail(name, "at least 1 head", heads)


def check_dim(name: str, dim: int) -> None:
    if dim % 8 or not 8 <= dim <= 512:
        fail(name, "a head dim that is a multiple of 8 from 8 to 512", dim)


def check_float(name: str, dtype: str, known=FLOATS) -> None:
    if dtype not in known:
        fail(name, f"a dtype of {', '.join(known)}", repr(dtype))


def expect(
    value, name: str, *, rank: int | None = None, dtype: tuple | None = None, cache: bool = False
) -> Value:
    """`value`, when it is one of the kind that operand `name` takes."""
    if not isinstance(value, Value):
        raise TypeError(f"{name}: expects a value of the graph, got {type(value).__name__}")
    if value.used_up:
        fail(
            name,
            f"a cache that was not appended to; use what the append of '{value.name}' returned",
            "the old one",
        )
    if not isinstance(value.type, CacheType if cache else TensorType):
        fail(name, "a cache" if cache else "a tensor", value.type)
    if rank is not None and len(value.type.shape) != rank:
        fail(name, f"{rank} dimensions", value.type)
    if dtype is not None and value.type.dtype not in dtype:
        fail(name, f"a dtype of {', '.join(dtype)}", value.type)
    return value


def expect_tokens(value, name: str) -> Value:
    return expect(value, name, rank=3, dtype=FLOATS)


def expect_i32_vector(value, name: str) -> Value:
    return expect(value, name, rank=1, dtype=("i32",))


def expect_cache(value, name: str) -> Value:
    return expect(value, name, cache=True)
