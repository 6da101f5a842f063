# test_docs.py - the pages about Python say what happens
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the python blocks of a page one after another; an mlir block is what was printed just before it."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(python|mlir)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(page: str, until: str | None = None) -> None:
    """Runs the blocks of a page; only those before the first that contains `until`, when given."""
    text, names, printed = (DOCS / page).read_text(), {"__name__": page}, ""
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        if until is not None and until in body:
            return
        if language == "mlir":
            assert body.rstrip() == printed.rstrip()
            continue
        line = text[: block.start(2)].count("\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("\n" * line + body, str(DOCS / page), "exec"), names)
        printed = out.getvalue()


def test_graphs_of_the_python_page():
    run("python.md", until="pagefold.compile")


def test_calls_of_the_python_page(library):
    run("python.md")


@pytest.mark.parametrize("page", ["howto/debug-a-wrong-answer.md"])
def test_other_pages(page):
    run(page)
