# gpu_run.py - what checks and times on a GPU have in common
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what gpu_build made: contenders of a shape, float64 attention, times taken in turn, verdicts, the end of a report.
All contenders of a shape are checked first, then timed in this process: figures count only within one run."""

from __future__ import annotations

import functools
import gc
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

import gpu_table
import torch
from peers import BACK_ENDS

import pagefold as pf
from pagefold import _abi

IDLE = 0.2  # seconds between shapes: the chip lowers its clock under long matrix work
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f8e4m3": torch.float8_e4m3fn}
REFERENCE_SCORES = 1 << 26  # at once, in float64
SPIN_CYCLES = 8_000_000  # some milliseconds, in which the calls to be timed are enqueued


def reference(q, k, v, causal: bool):
    """float64 attention of one request, [q_len, heads, dim]: q as that, k and v [kv_len, KV heads, dim]; causal at the
    bottom right."""
    (q_len, heads, dim), (kv_len, kv_heads, _) = q.shape, k.shape
    k, v = (x.double().transpose(0, 1) for x in (k, v))
    result = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    rows = max(1, REFERENCE_SCORES // (heads * kv_len))
    for begin in range(0, q_len, rows):
        part = q[begin : begin + rows].double()
        n = len(part)
        part = part.view(n, kv_heads, -1, dim).transpose(0, 1).reshape(kv_heads, -1, dim)
        scores = (part @ k.transpose(1, 2) * dim**-0.5).view(kv_heads, n, -1, kv_len)
        if causal:
            last = torch.arange(begin, begin + n, device=q.device) + kv_len - q_len
            hidden = torch.arange(kv_len, device=q.device) > last[:, None]
            scores.masked_fill_(hidden[None, :, None], -math.inf)
        weighted = torch.softmax(scores, -1).flatten(1, 2) @ v
        result[begin : begin + n] = weighted.view(kv_heads, n, -1, dim).transpose(0, 1).reshape(n, heads, dim)
    return result


def series(launch, calls: int, warm_up: int) -> list[float]:
    """Milliseconds of each call. The stream is held back while they are enqueued, so that host time is in none."""
    for _ in range(warm_up):
        launch()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(calls)]
    torch.cuda._sleep(SPIN_CYCLES)
    for begin, end in events:
        begin.record()
        launch()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]


def in_turn(measures, rounds: int) -> list[float]:
    """Medians of what each returns in all rounds, `measure(round)` a list of milliseconds; every other round backwards."""
    times = [[] for _ in measures]
    for number in range(rounds):
        order = list(enumerate(measures))
        for i, measure in order[::-1] if number % 2 else order:
            times[i] += measure(number)
    return [statistics.median(t) for t in times]


class Bench:
    """One run: what --build left, who else there is, what went wrong."""

    def __init__(self, arguments, form: str):
        self.begin = time.perf_counter()
        self.folder = Path(arguments.run).resolve()
        if (self.folder / _abi.RUNTIME_LIBRARY).is_file():
            os.environ.setdefault("PAGEFOLD_LIBRARY_DIR", str(self.folder))
        self.manifest = json.loads((self.folder / "manifest.json").read_text())
        names = [name for name in arguments.peers.split(",") if name]
        if unknown := [name for name in names if name not in BACK_ENDS]:
            sys.exit(f"pagefold-bench: --peers expects some of {', '.join(BACK_ENDS)}, got {', '.join(unknown)}")
        self.back_ends = [BACK_ENDS[name] for name in names]
        self.cubins = []
        if arguments.peer_cubins:
            from cubin_peers import load_folder

            self.cubins = load_folder(arguments.peer_cubins, form)
        self.failures: list[str] = []
        self.device = torch.cuda.get_device_properties(0)

    def machine(self) -> str:
        return (f"{self.device.name}, {self.device.multi_processor_count} multiprocessors, torch {torch.__version__}, cuDNN "
                f"{torch.backends.cudnn.version()}")  # fmt: skip

    @functools.cache
    def function(self, key: str):
        """The compiled function under a key of the manifest."""
        entry = self.manifest.get(key, {"refused": "not built"})
        if "bundle" not in entry:
            raise ValueError(f"{key}: {entry['refused']}")
        return pf.load(self.folder / entry["bundle"]).function()

    def contenders(self, shape, ours, others, back_ends) -> list:
        """Whoever can compute a shape, of functions that make them. back_ends: for each of self.back_ends, functions
        of which any will do. Says why others cannot."""
        found = []

        def made(make) -> str | None:
            try:
                found.append(make())
            except Exception as error:  # whatever a peer raises is the reason that it is not in the table
                return (str(error).strip().splitlines() or [type(error).__name__])[0]

        def say(name, reason):
            print(f"    {name}: not here: {reason[:150]}", flush=True)

        for name, make in ours:
            if reason := made(make):
                say(name, reason)
                self.failures.append(f"{shape}: {reason}")
        for name, make in others:
            if reason := made(make):
                say(name, reason)
        for name, makes in back_ends:
            reasons = [made(make) for make in makes]
            if all(reasons):
                say(name, reasons[0])
        return found

    def records(self, shape, contenders, errors, same, times) -> list[dict]:
        """What is known of each: its largest relative error, whether its results after all calls were those of the
        first one bit by bit, milliseconds of a call. Peers that are wrong do not count; ours are a failure."""
        found = []
        for contender, error, equal, ms in zip(contenders, errors, same, times):
            record, bound = gpu_table.record(shape, contender, ms, error), contender.shape.bound
            who = f"{gpu_table.name(record)}, {contender.name}"
            if contender.own:
                if not error < bound:
                    self.failures.append(f"{who}: relative error {error:.1e}")
                if not equal:
                    self.failures.append(f"{who}: calls differ bitwise")
            elif not error < 2 * bound:
                print(
                    f"    {contender.name}: relative error {error:.1e}: it computes something else",
                    flush=True,
                )
                continue
            found.append(record)
        return found

    def between_shapes(self) -> None:
        gc.collect()
        torch.cuda.empty_cache()
        time.sleep(IDLE)

    def finish(self, path, **measured) -> None:
        """The end of a run: writes everything to a file, says what was wrong."""
        print(f"the run took {time.perf_counter() - self.begin:.0f} s")
        if path:
            everything = {"device": self.device.name, "torch": torch.__version__, **measured,
                          "manifest": self.manifest, "failures": self.failures}  # fmt: skip
            Path(path).write_text(json.dumps(everything, indent=1))
        if self.failures:
            sys.exit("pagefold-bench: " + "; ".join(self.failures))
