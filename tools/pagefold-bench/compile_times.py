# compile_times.py - what a start costs: compiling, assembling, loading
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the ways from a graph to a module. What has to be new is a new process, so that nothing is in its memory;
the time to open the libraries is told apart.

On a machine with a GPU --launch goes on to the end of the first launch, cold and with what an earlier process has left on
disk. It takes the compiler; where there is none, --save keeps artifacts in a folder, once as PTX and once as a cubin, and
--load times on the GPU's machine what a first launch there waits for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpu_build import assemble
from prefill_shapes import SHAPES

import pagefold as pf
from pagefold import _abi, _torch, module

ROOT = Path(__file__).resolve().parents[2]
BUILT_IN = ("causal: 8 x 2k", "chunk: 512 on 32k x 4", "d256 causal: 8 x 2k")  # of the prefill table


def graphs(arguments) -> dict[str, str]:
    """Text by name: files, the .mlir files of folders, or, where none is given, examples and shapes of the prefill table."""
    paths = [Path(path) for path in arguments.graphs] or [ROOT / "examples"]
    files = [file for path in paths for file in (sorted(path.glob("*.mlir")) if path.is_dir() else [path])]
    texts = {file.stem: file.read_text() for file in files}
    if not arguments.graphs and arguments.target == "cuda":
        for shape in SHAPES:
            if str(shape) in BUILT_IN:
                texts[str(shape)] = str(shape.kernel(shape.pages[-1]).graph())
    return texts


# ---- A process of its own --------------------------------------------------------------------------------


def child() -> None:
    """Reads a job and writes what it took, in milliseconds."""
    job = json.load(sys.stdin)
    json.dump((first_launch if job["launch"] else compilations)(job), sys.stdout)


def compilations(job: dict) -> dict:
    """The first compile of a process, job["again"] others, and loading what came of them."""
    begin = time.perf_counter()
    _abi.compiler(), _abi.runtime()
    opened = time.perf_counter()
    options = json.dumps(job["options"]).encode()
    walls, cpus = [], []
    for _ in range(1 + job["again"]):
        wall, cpu = time.perf_counter(), time.process_time()
        artifact, remarks = module._compile(job["text"].encode(), options)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    wall = time.perf_counter()
    pf.load(artifact)
    return {
        "open": (opened - begin) * 1e3,
        "first": walls[0] * 1e3,
        "again": statistics.median(walls[1:] or walls) * 1e3,
        "again_cpu": statistics.median(cpus[1:] or cpus) * 1e3,
        "load": (time.perf_counter() - wall) * 1e3,
        "found": "artifact-cache: found in " in remarks,
    }


def first_launch(job: dict) -> dict:
    """From text to the end of a launch on a GPU whose context is there, and of another one."""
    import torch

    def timed(work):
        begin = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3, result

    torch.zeros(1, device="cuda")  # the context
    _abi.compiler(), _abi.runtime()
    options = json.dumps(job["options"]).encode()
    compiled, (artifact, remarks) = timed(lambda: module._compile(job["text"].encode(), options))
    loaded, function = timed(lambda: pf.load(artifact).function())
    arguments = empty_batch(function, lambda shape, dtype: _torch.zeros(shape, dtype, "cuda"))
    first, next_ = (timed(lambda: function(**arguments))[0] for _ in range(2))
    found = "artifact-cache: found in " in remarks
    return {"compile": compiled, "first": loaded + first, "next": next_, "found": found}


def empty_batch(function, zeros) -> dict:
    """Arguments of a function for one request without rows and without keys; zeros(shape, dtype) makes a tensor."""
    sizes = lambda shape: [
        size if isinstance(size, int) else 1 + int((size or "").partition("+")[2] or 0) for size in shape
    ]
    arguments = {}
    for parameter in function.parameters:
        tensors = [zeros(sizes(spec["shape"]), spec["dtype"]) for spec in parameter.specs]
        if len(tensors) == 1:
            arguments[parameter.name] = 0 if parameter.specs[0].get("scalar") else tensors[0]
        else:
            scales = dict(zip(("k_scale", "v_scale"), tensors[4:]))
            arguments[parameter.name] = pf.PagedKV(*tensors[:4], **scales)
    return arguments


def in_new_processes(text: str, options: dict, rounds: int, again: int = 0, launch: bool = False, **environment) -> dict:
    """Medians over processes."""
    job = json.dumps({"text": text, "options": options, "again": again, "launch": launch})
    command = [sys.executable, __file__, "--child"]
    environment = {**os.environ, "PYTHONPATH": str(Path(pf.__file__).parents[1]), **environment}
    runs = []
    for _ in range(rounds):
        done = subprocess.run(command, input=job, capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"pagefold-bench: {done.stderr.strip().splitlines()[-1]}")
        runs.append(json.loads(done.stdout))
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


# ---- Tables ----------------------------------------------------------------------------------------------


def code_of(artifact: bytes) -> bytes:
    """The first code section (docs/artifact.md)."""
    [size] = struct.unpack("<I", artifact[12:16])
    section = json.loads(artifact[16 : 16 + size])["code"][0]
    base = (16 + size + 63) // 64 * 64 + section["offset"]
    return artifact[base : base + section["size"]]


def ptxas_ms(artifact: bytes, ptxas: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_bytes(code_of(artifact))
        return assemble(path, ptxas)["ptxas_ms"]


def after_another(text: str, options: dict, folder: str, rounds: int, **job) -> dict:
    """What new processes take once another one has filled an artifact cache in a folder."""
    kept = {**options, "cache": "disk", "cache_dir": folder}
    in_new_processes(text, kept, 1, **job)
    warm = in_new_processes(text, kept, rounds, **job)
    if not warm["found"]:
        sys.exit("pagefold-bench: nothing was found in a cache that has just been filled")
    return warm


def measure(text: str, arguments, ptxas: str | None) -> dict:
    options = {"target": arguments.target}
    cold = in_new_processes(text, {**options, "cache": "off"}, arguments.rounds, again=2)
    with tempfile.TemporaryDirectory() as folder:
        warm = after_another(text, options, folder, arguments.rounds, again=4)
    row = {
        "open": cold["open"],
        "first": cold["first"],
        "compile": cold["again"],
        "CPU": cold["again_cpu"],
        "disk": warm["first"],
        "memory": warm["again"],
        "load": warm["load"],
    }
    if arguments.target == "cuda":
        artifact = module._compile(text.encode(), json.dumps({**options, "cache": "off"}).encode())[0]
        row["ptxas"] = ptxas_ms(artifact, ptxas) if ptxas else float("nan")
    return row


def print_table(rows: dict[str, dict], digits: int = 1) -> None:
    width = max(map(len, rows)) + 2
    columns = list(next(iter(rows.values())))
    print(" " * width + "".join(f"{column:>11}" for column in columns))
    for name, row in rows.items():
        print(f"{name:<{width}}" + "".join(f"{row[column]:>11.{digits}f}" for column in columns), flush=True)


def times(arguments) -> None:
    ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    print(
        "ms; open: the libraries. Graph to artifact: first in a process, compile: later ones, and their CPU;\n"
        "disk: from the artifact cache, first in a process; memory: later ones. load: artifact to module, on the host."
    )
    print_table({name: measure(text, arguments, ptxas) for name, text in graphs(arguments).items()})


# ---- On a GPU --------------------------------------------------------------------------------------------


def need_gpu(step: str):
    """torch, where it has a GPU."""
    import torch

    if not torch.cuda.is_available():
        sys.exit(f"pagefold-bench: compile --{step} needs a GPU, got none")
    return torch


def measure_launch(text: str, arguments) -> dict:
    options = {"target": "cuda"}
    job = {"launch": True, "CUDA_CACHE_DISABLE": "1"}  # the driver's own cache of what it assembles
    cold = in_new_processes(text, {**options, "cache": "off"}, arguments.rounds, **job)
    with tempfile.TemporaryDirectory() as folder:
        job.update(CUDA_CACHE_DISABLE="0", CUDA_CACHE_PATH=folder)
        warm = after_another(text, options, folder, arguments.rounds, **job)
    return {
        "compile": cold["compile"],
        "assemble": cold["first"],
        "cold": cold["compile"] + cold["first"],
        "disk": warm["compile"],
        "load": warm["first"],
        "warm": warm["compile"] + warm["first"],
        "next": warm["next"],
    }


def launch(arguments) -> None:
    torch = need_gpu("launch")
    print(
        "ms, first in a process that has a context; cold, from a graph's text to the end of its first launch: compile (to PTX),\n"
        "assemble (by the driver, with the launch of an empty batch). warm, with what an earlier process has left on disk:\n"
        f"disk (from the artifact cache), load (from the driver's). next: another launch. {torch.cuda.get_device_name()}"
    )
    print_table({name: measure_launch(text, arguments) for name, text in graphs(arguments).items()})


def save(arguments) -> None:
    folder = Path(arguments.save)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(_abi.find_library(_abi.RUNTIME_LIBRARY), folder)
    for name, text in graphs(arguments).items():
        for code in ("ptx", "cubin"):
            options = json.dumps({"target": "cuda", "code": code, "cache": "off"})
            artifact, _ = module._compile(text.encode(), options.encode())
            (folder / f"{re.sub('[^A-Za-z0-9]+', '-', name)}.{code}").write_bytes(artifact)
    print(f"{len(list(folder.glob('*.cubin')))} graphs in {folder}")


def ready_ms(path: Path) -> tuple[float, float]:
    """Milliseconds from the artifact's bytes to a module, and to code on the GPU."""
    import torch

    artifact = path.read_bytes()
    begin = time.perf_counter()
    function = pf.load(artifact).function()
    loaded = time.perf_counter()
    size = function._library.pagefold_function_workspace_size(function._handle)
    workspace = torch.empty(size + 64, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    address = (workspace.data_ptr() + 63) // 64 * 64
    ready = time.perf_counter()
    _abi.check(
        function._library, function._library.pagefold_workspace_init(function._handle, address, size, None)
    )
    torch.cuda.synchronize()
    return (loaded - begin) * 1e3, (time.perf_counter() - ready) * 1e3


def load(arguments) -> None:
    os.environ["PAGEFOLD_LIBRARY_DIR"] = arguments.load
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    torch = need_gpu("load")
    torch.zeros(1, device="cuda")
    rows = {}
    for path in sorted(Path(arguments.load).glob("*.cubin")):
        both = {}
        for code in ("ptx", "cubin"):
            runs = [ready_ms(path.with_suffix(f".{code}")) for _ in range(arguments.rounds)]
            both[f"{code} load"], both[f"{code} GPU"] = (statistics.median(column) for column in zip(*runs))
        rows[path.stem] = both
    print(f"ms; load: artifact to module, on the host; GPU: its code on the GPU; {torch.cuda.get_device_name()}")
    print_table(rows, digits=2)


def run(arguments) -> None:
    if arguments.save or arguments.launch:
        arguments.target = "cuda"
    (save if arguments.save else load if arguments.load else launch if arguments.launch else times)(arguments)


if __name__ == "__main__" and sys.argv[1:] == ["--child"]:
    child()
