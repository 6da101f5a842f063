# test_runtime.py - loading and calling with the runtime alone: no compiler, no LLVM
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hand-made artifact (docs/artifact.md) around a kernel in C: what is under test is how arguments travel."""

import json
import os
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

import pagefold as pf
from pagefold import _abi

# out[t, h, d] = factor * q[t, h, d], and ids[r] = the first element of the second token of V's page table[r, 0].
# A memref takes 3 + 2 rank words of the frame: base, base, 0, sizes, strides.
KERNEL = r"""
#include <stdint.h>
#include <string.h>
void scale_k0(const int64_t *frame) {
  const int64_t *q = frame, *k = q + 9, *v = k + 11, *table = v + 11, *lens = table + 7, *factor = lens + 5;
  const int64_t *out = factor + 1, *ids = out + 9;
  uint32_t bits = (uint32_t)*factor;
  float by;
  memcpy(&by, &bits, 4);
  for (int64_t t = 0; t < q[3]; ++t)
    for (int64_t h = 0; h < q[4]; ++h)
      for (int64_t d = 0; d < q[5]; ++d)
        ((float *)out[0])[t * out[6] + h * out[7] + d * out[8]] = by * ((float *)q[0])[t * q[6] + h * q[7] + d * q[8]];
  for (int64_t r = 0; r < table[3]; ++r)
    ((int32_t *)ids[0])[r * ids[4]] = (int32_t)((float *)v[0])[((int32_t *)table[0])[r * table[5]] * v[7] + v[8]];
}
"""


def argument(name, dtype, shape, access="read", **more):
    return {"name": name, "dtype": dtype, "shape": shape, "access": access, **more}


@pytest.fixture(scope="module")
def artifact(runtime, tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("clang-22")
    if compiler is None:
        pytest.skip("no C compiler for the hand-made kernel")
    directory = tmp_path_factory.mktemp("artifact")
    (directory / "kernel.c").write_text(KERNEL)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "kernel.c", "-o", "kernel.so"], cwd=directory, check=True
    )
    code = (directory / "kernel.so").read_bytes()
    pages = ["cache.pages", 4, 2, 8]
    function = {
        "name": "scale",
        "bounds": {"batch": 3, "q_len": 4, "kv_len": 16, "tokens": 8},
        "args": [
            argument("q", "f32", ["tokens", 2, 8]),
            argument("cache.k_pages", "f32", pages),
            argument("cache.v_pages", "f32", pages, "readwrite"),
            argument("cache.table", "i32", ["batch", "cache.width"]),
            argument("cache.lens", "i32", ["batch"]),
            argument("factor", "f32", [], scalar=True),
            argument("out0", "f32", ["tokens", 2, 8], "write"),
            argument("out1", "i32", ["batch"], "write"),
        ],
        "workspace": {"size": 64, "init": [{"offset": 0, "size": 64, "byte": 0}]},
        "scratch": 0,
        "error_word": 0,
        "counters": None,
        "kernels": [{"symbol": "scale_k0", "workers": "one"}],
    }
    target = {"kind": "host", "triple": "x86_64-unknown-linux-gnu", "cpu": "x86-64", "features": []}
    plan = json.dumps(
        {
            "version": 1,
            "compiler": "by hand",
            "target": target,
            "functions": [function],
            "code": [{"kind": "elf-shared", "offset": 0, "size": len(code)}],
        }
    ).encode()
    head = b"PAGEFOLD" + struct.pack("<II", 1, len(plan)) + plan
    body = head + b"\0" * (-len(head) % 64) + code
    return body + struct.pack("<Q", fnv1a(body))


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


@pytest.fixture
def call(artifact):
    rng = np.random.default_rng(1)
    k, v = np.zeros((5, 4, 2, 8), np.float32), np.zeros((5, 4, 2, 8), np.float32)
    v[:, 1, 0, 0] = [10, 11, 12, 13, 14]
    cache = pf.PagedKV(k, v, np.array([[3, 0], [1, 0]], np.int32), np.array([2, 2], np.int32))
    return pf.load(artifact), {"q": rng.standard_normal((6, 2, 8), np.float32), "cache": cache, "factor": 2.5}


def test_results_are_allocated_and_filled(call):
    module, arguments = call
    out, ids = module(**arguments)
    assert np.array_equal(out, np.float32(2.5) * arguments["q"]) and ids.tolist() == [13, 11]


def test_A16_strides_of_arguments_and_results_are_kept(call):
    module, arguments = call
    q, cache = arguments["q"], arguments["cache"]
    wide, out, ids = (
        np.full((6, 5, 20), 9.0, np.float32),
        np.full((6, 4, 9), 7.0, np.float32),
        np.zeros(2, np.int32),
    )
    wide[:, 1:3, 3:11] = q
    swapped = pf.PagedKV(
        *(pages.swapaxes(1, 2).copy() for pages in (cache.k_pages, cache.v_pages)),
        cache.table,
        cache.lens,
        "hnd",
    )
    module(q=wide[:, 1:3, 3:11], cache=swapped, factor=2.5, out=(out[:, 2:, 1:], ids))
    assert np.array_equal(out[:, 2:, 1:], np.float32(2.5) * q) and ids.tolist() == [13, 11]
    assert (out[:, :2] == 7).all() and (out[..., 0] == 7).all()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q": np.zeros((6, 2, 8), np.float16)}, "q: expects dtype f32, got f16"),
        ({"q": np.zeros((6, 2, 9), np.float32)}, r"q: expects shape \[tokens, 2, 8\], got \[6, 2, 9\]"),
        ({"q": np.zeros((9, 2, 8), np.float32)}, "q: expects at most 8 tokens, the graph's bound, got 9"),
        ({"factor": "2"}, "factor: expects an array"),
        (
            {"out": (np.zeros((5, 2, 8), np.float32), np.zeros(2, np.int32))},
            r"out\[0\]: expects tokens = 6 as q has it",
        ),
    ],
)
def test_A18_what_does_not_fit_is_refused_by_name(call, change, message):
    module, arguments = call
    with pytest.raises(ValueError, match=message):
        module(**{**arguments, **change})


def test_A18_lens_of_another_batch_than_the_table(call):
    module, arguments = call
    arguments["cache"].lens = np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="cache.lens: expects batch = 2 as cache.table has it"):
        module(**arguments)


def test_pages_that_are_written_must_be_writable(call):
    module, arguments = call
    arguments["cache"].k_pages.flags.writeable = False  # only read: fine
    module(**arguments)
    arguments["cache"].v_pages.flags.writeable = False
    with pytest.raises(ValueError, match="cache.v_pages: expects an array that can be written"):
        module(**arguments)


def test_what_only_the_runtime_refuses_is_a_value_error_too(call):
    module, arguments = call
    rows_on_top_of_each_other = np.lib.stride_tricks.as_strided(
        np.zeros(16, np.float32), (6, 2, 8), (0, 32, 4)
    )
    with pytest.raises(ValueError, match="stride 0") as caught:
        module(**arguments, out=(rows_on_top_of_each_other, np.zeros(2, np.int32)))
    assert (
        isinstance(caught.value, pf.PagefoldError) and caught.value.code == pf.PagefoldError.INVALID_ARGUMENT
    )


def test_a_module_goes_through_a_file(call, tmp_path):
    module, arguments = call
    module.save(tmp_path / "scale.pagefold")
    loaded = pf.load(tmp_path / "scale.pagefold")
    assert np.array_equal(loaded(**arguments)[0], module(**arguments)[0])
    assert loaded.plan["name"] == "scale" and loaded.function("scale").plan == loaded.plan
    assert "kernels, in order" in loaded.explain() and loaded.explanation["function"] == "scale"
    with pytest.raises(pf.PagefoldError, match="nothing"):
        loaded.function("nothing")


@pytest.mark.parametrize("size", [0, 7, 100, -1])
def test_damaged_artifacts_are_refused(artifact, size):
    with pytest.raises(pf.PagefoldError):
        pf.load(artifact[:size])


def test_loading_brings_no_llvm(artifact, tmp_path):
    if _abi.find_library(_abi.RUNTIME_LIBRARY) is None:
        pytest.skip(f"{_abi.RUNTIME_LIBRARY} not built, {_abi.COMPILER_LIBRARY} stands in for it")
    (tmp_path / "scale.pagefold").write_bytes(artifact)
    code = f"""if True:
        import numpy as np, pagefold as pf
        pages = np.zeros((1, 4, 2, 8), np.float32)
        cache = pf.PagedKV(pages, pages, np.zeros((1, 1), np.int32), np.ones(1, np.int32))
        pf.load({str(tmp_path / "scale.pagefold")!r})(q=np.zeros((1, 2, 8), np.float32), cache=cache, factor=1.0)
        print(sorted({{line.split()[-1].rpartition("/")[2] for line in open("/proc/self/maps") if ".so" in line}}))"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr
    assert "libpagefold_runtime.so" in ran.stdout
    assert not any(name in ran.stdout for name in ("libLLVM", "libMLIR", "'libpagefold.so'"))
