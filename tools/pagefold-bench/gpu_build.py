# gpu_build.py - compiles what pagefold-bench times on a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a folder that holds all that a run needs beside this checkout: bundles of cubins, the runtime library, and
manifest.json with the time that each compile took. Needs pagefold-compile and CUDA's ptxas, no GPU."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pagefold import _abi

ROUNDS = 3  # processes whose median counts


def milliseconds(command: list) -> tuple[float, float, subprocess.CompletedProcess]:
    """Medians of wall and CPU time of a process, its start included, and how the last one ended."""
    walls, cpus = [], []
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), used()
        done = subprocess.run(command, capture_output=True, text=True)
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((used() - cpu) * 1e3)
    return statistics.median(walls), statistics.median(cpus), done


def assemble(ptx: Path, ptxas: str) -> dict:
    """Milliseconds of ptxas, and what it says of registers and spills."""
    command = [ptxas, "-arch=sm_90a", "-v", str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
    ms, _, done = milliseconds(command)
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


def build_kernel(kernel, options: dict, path: Path, tool: Path, ptxas: str) -> dict:
    """Compiles one kernel to a bundle at `path`; what there is to tell of it."""
    with tempfile.TemporaryDirectory() as folder:
        graph, ptx = Path(folder) / "graph.mlir", Path(folder) / "kernel.ptx"
        graph.write_text(str(kernel.graph()))
        command = [str(tool), str(graph), "--target=cuda", *options]
        ms, cpu_ms, done = milliseconds([*command, "--emit=ptx", "-o", str(ptx)])
        if done.returncode == 0:
            done = subprocess.run([*command, "--code=cubin", "-o", str(path)], capture_output=True, text=True)
        if done.returncode:
            return {"refused": " ".join(done.stderr.split())[:500] or f"ended by signal {-done.returncode}"}
        return {
            "bundle": path.name,
            "ptx_ms": ms,
            "ptx_cpu_ms": cpu_ms,
            "ptx_bytes": ptx.stat().st_size,
            **assemble(ptx, ptxas),
        }


def needed(path, what: str):
    if path is None or not Path(path).is_file():
        sys.exit(f"pagefold-bench: --build needs {what}")
    return path


def build(arguments, jobs) -> None:
    """jobs: (key of the manifest, kernel, compiler's options) each."""
    folder = Path(arguments.build)
    folder.mkdir(parents=True, exist_ok=True)
    ptxas = needed(
        shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas"), "CUDA's ptxas on the PATH"
    )
    os.environ["PATH"] += os.pathsep + str(Path(ptxas).parent)  # pagefold-compile looks there too
    tool = needed(
        Path(arguments.bin) / "pagefold-compile", f"{arguments.bin}/pagefold-compile; build it, or see --bin"
    )
    runtime = tool.resolve().parents[1] / "lib" / _abi.RUNTIME_LIBRARY  # in a build and in a package
    shutil.copy(needed(runtime, str(runtime)), folder)
    manifest = {}
    for number, (key, kernel, options) in enumerate(jobs):
        manifest[key] = build_kernel(kernel, options, folder / f"{number:03}.pagefold", tool, ptxas)
        print(f"{key}: {told(manifest[key])}", flush=True)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))


def told(entry: dict) -> str:
    if "refused" in entry:
        return f"refused: {entry['refused']}"
    return (
        f"{entry['ptx_ms']:.0f} ms ({entry['ptx_cpu_ms']:.0f} of CPU) to PTX, {entry['ptxas_ms']:.0f} ms in ptxas, "
        f"{entry['registers']} registers, {entry['spilled_bytes']} bytes spilled"
        + (", wgmma SERIALISED" if entry["serialised"] else "")
    )
