# test_artifact_cache.py - compiles of many processes that share what they compile
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each compile is a process of its own, as its memory would hide what is on disk. The cache's own tests: unittests/Jit."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import pagefold as pf
from pagefold import _abi

pytestmark = pytest.mark.usefixtures("library")
PACKAGE = Path(pf.__file__).resolve().parents[1]

# Compiles, calls, and says what became of it.
PROGRAM = """
import hashlib, json, sys
import numpy as np, pagefold as pf
with pf.Graph("g", batch=2, q_len=1, kv_len=64) as g:
    cache = g.paged_kv("cache", heads=1, dim=16, page=4)
    g.returns(pf.attention(g.tokens("q", heads=2, dim=16), cache, rows=g.rows(), scale=1.0))
module = pf.compile(g, **json.loads(sys.argv[1]))
said = [line for line in module.explain().splitlines() if "artifact-cache" in line]
total = None
if module.plan["target"]["kind"] == "host":
    pages = np.ones((2, 4, 1, 16), np.float32)
    kv = pf.PagedKV(pages, pages, np.array([[1, 0]], np.int32), np.array([5], np.int32))
    total = float(module(q=np.zeros((1, 2, 16), np.float32), rows=np.array([0, 1], np.int32), cache=kv).sum())
print(json.dumps({"said": said, "sum": total, "hash": hashlib.sha256(module.artifact).hexdigest()}))
"""


def start(options=None, **environment) -> subprocess.Popen:
    """A process that runs PROGRAM in the environment given, which has no HOME."""
    own = {"PYTHONPATH": str(PACKAGE), "PATH": os.environ["PATH"]}
    libraries = {name: value for name, value in os.environ.items() if name == "PAGEFOLD_LIBRARY_DIR"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(options or {})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**own, **libraries, **{name: str(value) for name, value in environment.items()}},
    )


def finish(process: subprocess.Popen) -> dict:
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(out)


def compiled(options=None, **environment) -> dict:
    return finish(start(options, **environment))


def kept(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def test_A58_sixteen_processes_start_cold(tmp_path):
    directory = tmp_path / "shared"
    results = [finish(p) for p in [start(PAGEFOLD_CACHE_DIR=directory) for _ in range(16)]]
    assert len({r["hash"] for r in results}) == 1
    assert {r["sum"] for r in results} == {32.0}
    assert [path.suffix for path in kept(directory)] == [".artifact"]
    assert compiled(PAGEFOLD_CACHE_DIR=directory)["said"] == [
        f"Analysis artifact-cache: found in {directory}"
    ]


def test_A60_a_damaged_file_is_never_run(tmp_path):
    first = compiled(PAGEFOLD_CACHE_DIR=tmp_path)
    [path] = kept(tmp_path)
    good = path.read_bytes()
    code = good.index(b"\x7fELF")
    path.write_bytes(good[: code + 64] + bytes(len(good) - code - 64))
    again = compiled(PAGEFOLD_CACHE_DIR=tmp_path)
    assert "was damaged" in again["said"][0]
    assert (again["sum"], again["hash"]) == (first["sum"], first["hash"])
    assert path.read_bytes() == good


def test_A60_another_build_of_the_same_version_compiles_again(tmp_path):
    source = _abi.find_library(_abi.COMPILER_LIBRARY)
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # of a build id of 20 bytes
    data = bytearray(source.read_bytes())
    at = data.index(note) + len(note)
    data[at] ^= 1
    libraries = tmp_path / "other build"
    libraries.mkdir()
    (libraries / source.name).write_bytes(data)
    os.utime(libraries / source.name, (0, 0))  # older than the one before: time says nothing

    directory = tmp_path / "cache"
    assert "compiled" in compiled(PAGEFOLD_CACHE_DIR=directory)["said"][0]
    other = {"PAGEFOLD_CACHE_DIR": directory, "PAGEFOLD_LIBRARY_DIR": libraries}
    assert "compiled" in compiled(**other)["said"][0]
    assert len(kept(directory)) == 2
    assert "found" in compiled(**other)["said"][0]


def fake_ptxas(directory: Path, release: str) -> Path:
    """A ptxas that writes its own release where a cubin should be."""
    directory.mkdir()
    script = directory / "ptxas"
    script.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && echo "Cuda compilation tools, release {release}, V{release}.1" && exit\n'
        f'while [ "$1" != -o ]; do shift; done\necho "cubin of {release}" > "$2"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return directory


def test_A60_another_ptxas_compiles_again(tmp_path):
    directory = tmp_path / "cache"
    options = {"target": "cuda", "code": "cubin"}
    hashes = {}
    for release in ("13.0", "13.1"):
        path = f"{fake_ptxas(tmp_path / release, release)}:/bin"
        first = compiled(options, PAGEFOLD_CACHE_DIR=directory, PATH=path)
        assert "compiled, kept" in first["said"][0]
        assert "found" in compiled(options, PAGEFOLD_CACHE_DIR=directory, PATH=path)["said"][0]
        hashes[release] = first["hash"]
    assert hashes["13.0"] != hashes["13.1"]


@pytest.mark.parametrize(
    "environment, reason",
    [
        ({"HOME": "/proc"}, "cannot make the directory /proc/.cache/pagefold"),
        ({"HOME": "/dev/null"}, "cannot make the directory /dev/null/.cache/pagefold"),
        ({"PAGEFOLD_CACHE_DIR": "/proc/none"}, "cannot make the directory /proc/none"),
    ],
)
def test_A61_where_nothing_can_be_kept_it_says_so_once_and_works(environment, reason):
    result = compiled(**environment)
    assert result["sum"] == 32.0
    [said] = result["said"]
    assert said.startswith(f"Missed artifact-cache: compiled, kept in memory only: {reason}")
    assert "set PAGEFOLD_CACHE_DIR to a directory of your own" in said


def test_A61_spaces_and_letters_in_paths(tmp_path):
    home = tmp_path / "a home ü"
    for outcome in ("compiled, kept", "found"):
        assert compiled(HOME=home)["said"] == [
            f"Analysis artifact-cache: {outcome} in {home / '.cache/pagefold'}"
        ]


def test_A62_an_old_ptxas_is_told_by_its_release(tmp_path):
    path = f"{fake_ptxas(tmp_path / 'old', '11.8')}:/bin"
    process = start({"target": "cuda", "code": "cubin"}, PAGEFOLD_CACHE="off", PATH=path)
    _, errors = process.communicate()
    assert process.returncode != 0
    assert (
        "a cubin expects the ptxas of CUDA 12.7 or later, got that of CUDA 11.8 at "
        f"{tmp_path / 'old' / 'ptxas'}; put a newer one first on the PATH" in errors
    )


def test_options_of_a_compile(tmp_path):
    for outcome in ("compiled, kept in", "found in"):
        [said] = compiled({"cache_dir": str(tmp_path)}, PAGEFOLD_CACHE_DIR="/proc/none")["said"]
        assert said == f"Analysis artifact-cache: {outcome} {tmp_path}"
    assert compiled({"cache": "off", "cache_dir": str(tmp_path)})["said"] == []
    assert compiled({"cache": "memory"})["said"] == ["Analysis artifact-cache: compiled"]
    [said] = compiled({"cache_dir": str(tmp_path), "cache_max_bytes": 10, "fuse": False})["said"]
    assert "bytes are more than the 10 that" in said


def test_in_one_process_memory_is_enough():
    with pf.Graph("memory", batch=1, q_len=1, kv_len=8) as g:
        cache = g.paged_kv("cache", heads=1, dim=8, page=4)
        g.returns(pf.attention(g.tokens("q", heads=1, dim=8), cache, rows=g.rows(), scale=1.0))
    first, second = (pf.compile(g, cache="memory") for _ in range(2))
    assert first.artifact == second.artifact
    assert first.explain().replace("artifact-cache: compiled", "artifact-cache: found in memory") == second.explain()


def test_a_misspelt_word_is_refused():
    with pytest.raises(pf.PagefoldError, match="expects cache disk, memory or off, got disc"):
        pf.compile("module {}", cache="disc")
