# test_import.py - importing touches no device and needs no library
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pagefold as pf

PACKAGE = Path(pf.__file__).resolve().parents[1]
LIBRARY = {name: value for name, value in os.environ.items() if name in ("PAGEFOLD_LIBRARY_DIR", "PAGEFOLD_CACHE")}


def python(code: str, **environment) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PACKAGE), "CUDA_VISIBLE_DEVICES": "", **LIBRARY, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_A63_import_loads_no_shared_library_and_opens_no_device():
    out = python(
        "import pagefold, os\n"
        "maps = open('/proc/self/maps').read()\n"
        "files = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')]\n"
        "print([name for name in ('libpagefold', 'libcuda', 'libLLVM') if name in maps], [f for f in files if 'nvidia' in f])"
    )
    assert out.strip() == "[] []"


def test_A63_a_graph_is_built_and_printed_without_any_library(tmp_path):
    out = python(
        "import pagefold as pf\n"
        "with pf.Graph('g', batch=1, q_len=1, kv_len=8) as g:\n"
        "    cache = g.paged_kv('cache', heads=1, dim=8)\n"
        "    g.returns(pf.attention(g.tokens('q', heads=1, dim=8), cache, rows=g.rows(), scale=1.0))\n"
        "print(g)",
        PAGEFOLD_LIBRARY_DIR=str(tmp_path),
    )
    assert "attn.attention" in out


@pytest.mark.parametrize(
    "call, library", [("pf.compile('')", "libpagefold.so"), ("pf.load(b'')", "libpagefold_runtime.so")]
)
def test_A63_using_a_missing_library_gives_one_clear_error(tmp_path, call, library):
    out = python(
        f"import pagefold as pf\ntry:\n    {call}\nexcept pf.PagefoldError as error:\n    print(error)",
        PAGEFOLD_LIBRARY_DIR=str(tmp_path),
    )
    assert (
        library in out and str(tmp_path) in out and "PAGEFOLD_LIBRARY_DIR" in out and "\n" not in out.strip()
    )


def test_A63_a_file_that_is_no_library_gives_one_clear_error(tmp_path):
    (tmp_path / "libpagefold.so").write_bytes(b"not a library")
    out = python(
        "import pagefold as pf\ntry:\n    pf.compile('')\nexcept pf.PagefoldError as error:\n    print(error)",
        PAGEFOLD_LIBRARY_DIR=str(tmp_path),
    )
    assert out.startswith(f"cannot load {tmp_path / 'libpagefold.so'}")


def test_A63_a_forked_child_compiles_and_runs(library):
    out = python(
        "import os, numpy as np, pagefold as pf\n"
        "pid = os.fork()\n"
        "if pid:\n"
        "    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "with pf.Graph('g', batch=1, q_len=1, kv_len=8) as g:\n"
        "    cache = g.paged_kv('cache', heads=1, dim=8, page=4)\n"
        "    g.returns(pf.attention(g.tokens('q', heads=1, dim=8), cache, rows=g.rows(), scale=1.0))\n"
        "pages = np.ones((2, 4, 1, 8), np.float32)\n"
        "kv = pf.PagedKV(pages, pages, np.array([[1, 0]], np.int32), np.array([5], np.int32))\n"
        "print(pf.compile(g)(q=np.zeros((1, 1, 8), np.float32), rows=np.array([0, 1], np.int32), cache=kv).sum(), flush=True)"
    )
    assert out.strip() == "8.0"
