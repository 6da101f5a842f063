# test_options.py - every way in takes the same options
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of lib/Pipeline/Options.cpp is what the C ABI's JSON takes; Python, the command line and their texts agree."""

import inspect
import json
import re
import subprocess
from pathlib import Path

import pytest

import pagefold as pf
from pagefold import _abi, module

pytestmark = pytest.mark.usefixtures("library")

ROOT = Path(__file__).resolve().parents[2]
SCHEDULE = {"form", "q_tile", "kv_tile", "splits"}
CACHE = {"cache", "cache_dir", "cache_max_bytes"}


def known(options: dict) -> set[str]:
    """What the compiler says that it knows, when it is given what it does not."""
    with pytest.raises(pf.PagefoldError, match="unknown option .*nonsense; known are ") as caught:
        module._compile(b"module {}", json.dumps(options).encode())
    return set(re.split(r", ", str(caught.value).split("known are ")[1].strip()))


def options() -> set[str]:
    names = known({"nonsense": 1})
    assert known({"schedule": {"nonsense": 1}}) == SCHEDULE
    return names - {"schedule"} | SCHEDULE


def test_python_takes_them_all():
    parameters = inspect.signature(pf.compile).parameters
    assert set(parameters) - {"graph"} == options()
    for name in options():
        assert re.search(rf"\b{name}\b", pf.compile.__doc__), f"{name} is not described"


def test_the_header_of_the_c_abi_names_them_all():
    text = (ROOT / "include/pagefold-c/Compiler.h").read_text()
    assert {name for name in options() if f'"{name}"' not in text} == set()


def test_the_command_line_takes_them_all():
    tool = next(
        (path for path in (directory.parent / "bin/pagefold-compile" for directory in _abi.library_directories()) if path.exists()),
        None,
    )
    if tool is None:
        pytest.skip("pagefold-compile is not built")
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    flags = {flag.removeprefix("no-").replace("-", "_") for flag in re.findall(r"--([\w-]+)", text)}
    assert options() - CACHE - flags == set()
