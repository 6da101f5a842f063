# errors.py - what went wrong, in one sentence
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of the package.

`ValueError` and `TypeError` mean that the caller gave something that the call excludes; the message
names the argument. `PagefoldError` carries what the compiler or the runtime said; where they refuse an argument
it is a ValueError as well.
"""

from __future__ import annotations


class PagefoldError(RuntimeError):
    """An error of the compiler or the runtime.

    `code` is one of the class constants. After a launch that failed for some requests only, `results`
    holds the results: those of the other requests are valid.
    """

    INVALID_ARGUMENT = 1
    OUT_OF_CAPACITY = 2
    NOT_FOUND = 3
    UNSUPPORTED = 4
    BAD_INPUT = 5
    INTERNAL = 6

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code
        self.results = None


class InvalidArgumentError(PagefoldError, ValueError):
    """The runtime or the compiler refuses what it was given: it names the argument."""


class LibraryNotFoundError(PagefoldError):
    """A shared library of Pagefold is not where it was looked for."""

    def __init__(self, message: str):
        super().__init__(PagefoldError.NOT_FOUND, message)
