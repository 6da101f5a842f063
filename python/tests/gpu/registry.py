# registry.py - the list of variants of the GPU suite
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A variant is one graph and what is checked of it, in a process of its own. Both sides know the same list: the machine
that builds makes NAME.pagefold of each, the one that runs finds it by the name."""

from __future__ import annotations

import dataclasses
import re
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Variant:
    """`body(function, config)` asserts, and returns what is worth telling. `config` has graph() and options.

    refused: a pattern of the error with which building the graph or compiling it may end instead.
    must_refuse: it has to.
    """

    name: str
    config: object
    body: Callable | None
    refused: str | None = None
    must_refuse: bool = False

    @property
    def file(self) -> str:
        return re.sub(r"[^\w-]+", "-", self.name) + ".pagefold"


CASES: list[Variant] = []


def add(name: str, config, body, refused: str | None = None) -> None:
    CASES.append(Variant(name, config, body, refused))


def add_refusal(name: str, config, pattern: str) -> None:
    CASES.append(Variant(name, config, None, pattern, must_refuse=True))


def variants(seed: int, graphs: int) -> list[Variant]:
    """The named cases, then the generated matrix."""
    import cases_cascade  # noqa: F401
    import cases_f8  # noqa: F401
    import cases_memory  # noqa: F401
    import cases_packed  # noqa: F401
    import cases_repeated  # noqa: F401
    import cases_scores  # noqa: F401
    import matrix

    generated = [
        Variant(name, config, lambda f, c, run=run, name=name: run(f, c, name))
        for name, config, run in matrix.variants(seed, graphs)
    ]
    return [*CASES, *generated]
