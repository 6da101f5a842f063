# prefill_build.py - compiles what `pagefold-bench prefill` times
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a folder that holds all that a run needs beside this checkout: bundles of cubins, the runtime library, and
manifest.json with the time that each compile took. Needs the compiler and CUDA's ptxas, no GPU."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prefill_shapes import SHAPES, VARIANTS, VARIED

import pagefold as pf
from pagefold import _abi

ROUNDS = 3  # compiles whose median counts


def code_section(artifact: bytes) -> bytes:
    """The code of an artifact with one section (docs/artifact.md, Bytes)."""
    (plan_size,) = struct.unpack_from("<I", artifact, 12)
    section = json.loads(artifact[16 : 16 + plan_size])["code"][0]
    start = -(-(16 + plan_size) // 64) * 64 + section["offset"]
    return artifact[start : start + section["size"]]


def milliseconds(work, clock=time.perf_counter):
    """(median milliseconds, last result)."""
    times = []
    for _ in range(ROUNDS):
        begin = clock()
        result = work()
        times.append((clock() - begin) * 1e3)
    return statistics.median(times), result


def assemble(ptx: bytes, ptxas: str) -> dict:
    """Milliseconds of ptxas, and what it says of registers and spills."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_bytes(ptx)
        command = [ptxas, "-arch=sm_90a", "-v", str(source), "-o", str(source.with_suffix(".cubin"))]
        ms, done = milliseconds(lambda: subprocess.run(command, capture_output=True, text=True))
    said = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"pagefold-bench: ptxas refuses the code: {said.strip()[:500]}")
    count = lambda pattern: sum(map(int, re.findall(pattern, said)))
    return {
        "ptxas_ms": ms,
        "registers": max(map(int, re.findall(r"Used (\d+) registers", said)), default=0),
        "spilled_bytes": count(r"(\d+) bytes spill (?:stores|loads)"),
        "serialised": "wgmma" in said and "serializ" in said,
    }


def build_kernel(kernel, options: dict, path: Path, ptxas: str) -> dict:
    """Compiles one kernel to a bundle at `path`; what there is to tell of it."""
    text = str(kernel.graph())
    work = lambda: pf.compile(text, target="cuda", **options)
    ms, module = milliseconds(work)
    cpu_ms, _ = milliseconds(work, time.process_time)
    ptx = code_section(module.artifact)
    pf.compile(text, target="cuda", code="cubin", **options).save(path)
    return {
        "bundle": path.name,
        "ptx_ms": ms,
        "ptx_cpu_ms": cpu_ms,
        "ptx_bytes": len(ptx),
        **assemble(ptx, ptxas),
    }


def jobs(shapes, variants: bool):
    """(key of the manifest, kernel, options) of everything to build, each once."""
    kernels = dict.fromkeys(shape.kernel(page) for shape in shapes for page in shape.pages)
    for kernel in kernels:
        yield kernel.name, kernel, {}
    if variants:
        for kernel in dict.fromkeys(shape.kernel(page) for shape in VARIED for page in shape.pages):
            for variant, options in VARIANTS.items():
                yield f"{kernel.name} {variant}", kernel, options


def build(arguments) -> None:
    folder = Path(arguments.build)
    folder.mkdir(parents=True, exist_ok=True)
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if ptxas is None:
        sys.exit("pagefold-bench: prefill --build needs CUDA's ptxas on the PATH")
    runtime = _abi.find_library(_abi.RUNTIME_LIBRARY)
    if runtime is None:
        sys.exit(f"pagefold-bench: {_abi.RUNTIME_LIBRARY} is not built")
    shutil.copy(runtime, folder)
    shapes = [shape for shape in SHAPES if re.search(arguments.only, str(shape))]
    manifest = {}
    for number, (key, kernel, options) in enumerate(jobs(shapes, arguments.variants)):
        try:
            manifest[key] = build_kernel(kernel, options, folder / f"{number:03}.pagefold", ptxas)
        except pf.PagefoldError as error:
            manifest[key] = {"refused": str(error)}
        entry = manifest[key]
        print(f"{key}: " + (f"refused: {entry['refused']}" if "refused" in entry else
              f"{entry['ptx_ms']:.0f} ms ({entry['ptx_cpu_ms']:.0f} of CPU) to PTX, {entry['ptxas_ms']:.0f} ms in ptxas, {entry['registers']} registers, "
              f"{entry['spilled_bytes']} bytes spilled" + (", wgmma SERIALISED" if entry["serialised"] else "")),
              flush=True)  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
