# prefill_run.py - times prefill kernels beside their peers on a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what prefill_build made. All contenders of a shape are checked against float64 first, then timed in turn in this
process: figures count only within one run."""

from __future__ import annotations

import gc
import json
import math
import os
import re
import statistics
import sys
import time
from pathlib import Path

import torch
from prefill_peers import BACK_ENDS, Cubin, Inputs, Ours
from prefill_shapes import PREFILL, SHAPES, VARIANTS, VARIED

from pagefold import _abi

ROUNDS, CALLS, FEW_CALLS = 3, 10, 4  # timed calls of each: 30, or 12 where one takes milliseconds
LONG_FLOPS = 2e12
WARM_UP = 5
IDLE = 0.2  # seconds between shapes: the chip lowers its clock under long matrix work
BOUND = {"bf16": 4e-3, "f16": 1e-3}  # of the relative error
SPIN_CYCLES = 8_000_000  # some milliseconds, in which the calls to be timed are enqueued


# ---- Checks -------------------------------------------------------------------------------------------


def reference(inputs: Inputs, request: int, head: int):
    """float64 attention of one head of one request, [q_len, dim]."""
    shape = inputs.shape
    group = shape.heads // shape.kv_heads
    q = inputs.batched(inputs.q)[request, :, head]
    k, v = (inputs.batched(x)[request, :, head // group].double() for x in (inputs.k, inputs.v))
    out, key = torch.empty(shape.q_len, shape.dim, dtype=torch.float64, device="cuda"), None
    for begin in range(0, shape.q_len, 2048):
        scores = q[begin : begin + 2048].double() @ k.T * shape.dim**-0.5
        if shape.causal:
            row = torch.arange(len(scores), device="cuda")[:, None] + begin + shape.kv_len - shape.q_len
            key = torch.arange(shape.kv_len, device="cuda")[None] if key is None else key
            scores.masked_fill_(key > row, -math.inf)
        out[begin : begin + 2048] = torch.softmax(scores, -1) @ v
    return out


def worst_errors(contenders, inputs: Inputs) -> list[float]:
    """The largest relative error of each over a few (request, head) pairs; NaN where a result is not finite."""
    shape = inputs.shape
    picks = {(0, 0), (shape.batch - 1, shape.heads - 1), (shape.batch // 2, shape.heads // 3)}
    worst = [0.0] * len(contenders)
    for request, head in sorted(picks):
        expected = reference(inputs, request, head)
        for i, contender in enumerate(contenders):
            got = contender.out[request, :, head].double()
            error = ((got - expected).norm() / expected.norm()).item()
            worst[i] = error if not error <= worst[i] else worst[i]
    return worst


# ---- Times --------------------------------------------------------------------------------------------


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


def interleaved(contenders, flops: float) -> list[float]:
    """Median milliseconds of each, in turn, every other round backwards."""
    calls = FEW_CALLS if flops > LONG_FLOPS else CALLS
    times = [[] for _ in contenders]
    for number in range(ROUNDS):
        order = list(enumerate(contenders))
        for i, contender in order[::-1] if number % 2 else order:
            time.sleep(IDLE / 4)
            times[i] += series(contender.launch, calls, WARM_UP if number == 0 else 2)
    return [statistics.median(t) for t in times]


# ---- A shape ------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, arguments):
        self.folder = Path(arguments.run).resolve()
        if (self.folder / _abi.RUNTIME_LIBRARY).is_file():
            os.environ.setdefault("PAGEFOLD_LIBRARY_DIR", str(self.folder))
        self.manifest = json.loads((self.folder / "manifest.json").read_text())
        self.back_ends = [BACK_ENDS[name] for name in arguments.peers.split(",") if name]
        self.cubins = []
        if arguments.peer_cubins:
            from cubin_peers import load_folder

            self.cubins = load_folder(arguments.peer_cubins)
        self.failures: list[str] = []

    def bundle(self, key: str) -> Path:
        entry = self.manifest.get(key, {"refused": "not built"})
        if "bundle" not in entry:
            raise ValueError(f"{key}: {entry['refused']}")
        return self.folder / entry["bundle"]

    def contenders(self, inputs: Inputs, keys: dict, peers: bool) -> list:
        """Whoever can compute a shape: ours, {(name, page): key of the manifest}, and peers. Says why others cannot."""
        shape, found = inputs.shape, []

        def add(name, make):
            try:
                found.append(make())
            except Exception as error:  # whatever a peer raises is the reason that it is not in the table
                reason = str(error).strip().splitlines() or [type(error).__name__]
                print(f"    {name}: not here: {reason[0][:150]}", flush=True)
                if name == "ours":
                    self.failures.append(f"{shape}: {reason[0]}")

        for (name, page), key in keys.items():
            add("ours", lambda: Ours(name, inputs, page, self.bundle(key)))
        for page in shape.pages if peers else ():
            for kernel in self.cubins:
                if kernel.takes(page=page, causal=shape.causal, dim=shape.dim, dtype=shape.dtype):
                    add(kernel.name, lambda: Cubin(kernel, inputs, page))
        for back_end in self.back_ends if peers else ():
            add(back_end.name, lambda: back_end(inputs))
        return found

    def measure(self, shape, keys: dict, peers: bool = True) -> list[dict]:
        """Checks and times everyone; a record each."""
        inputs = Inputs(shape, seed=0)
        contenders = self.contenders(inputs, keys, peers)
        for contender in contenders:
            contender.launch()
        torch.cuda.synchronize()
        errors = worst_errors(contenders, inputs)
        first = [contender.out.clone() for contender in contenders]
        times = interleaved(contenders, shape.flops())
        records = []
        for contender, error, out, ms in zip(contenders, errors, first, times):
            ours = isinstance(contender, Ours)
            if not ours and not error < 2 * BOUND[shape.dtype]:
                print(
                    f"    {contender.name}: relative error {error:.1e}: it computes something else",
                    flush=True,
                )
            if ours and not error < BOUND[shape.dtype]:
                self.failures.append(f"{shape}, {contender.name}: relative error {error:.1e}")
            if ours and not torch.equal(out.view(torch.int16), contender.out.contiguous().view(torch.int16)):
                self.failures.append(f"{shape}, {contender.name}: calls differ bitwise")
            kind = "ours" if ours else "cubin" if isinstance(contender, Cubin) else contender.name
            records.append({"shape": str(shape), "kind": kind, "name": contender.name, "page": contender.page, "ms": ms,
                            "tflops": shape.flops() / ms / 1e9, "error": error})  # fmt: skip
        del contenders, first, inputs
        gc.collect()
        torch.cuda.empty_cache()
        time.sleep(IDLE)
        return records


# ---- The table ----------------------------------------------------------------------------------------

COLUMNS = ("ours", "cubin", "cuDNN", "FA2", "Flex")


def best(records, kind: str, page) -> float | None:
    """TFLOP/s; of several cubins the fastest."""
    return max((r["tflops"] for r in records if r["kind"] == kind and r["page"] == page), default=None)


def lines(shape, records) -> list[dict]:
    """A line for each place of K and V: TFLOP/s by column, and what they are compared with."""
    result = []
    for page in shape.pages:
        figures = {kind: best(records, kind, page) for kind in COLUMNS}
        result.append({"shape": str(shape), "table": shape.table, "page": page, **figures,
                       "contiguous": best(records, "ours", None) if page else None})  # fmt: skip
    return result


def ratio(line: dict, peer: str) -> float | None:
    return line["ours"] / line[peer] if line["ours"] and line.get(peer) else None


def text(line: dict) -> str:
    place = f", pages of {line['page']}" if line["page"] else ""
    figures = "".join(f"{line[kind]:>8.0f}" if line[kind] else f"{'-':>8}" for kind in COLUMNS)
    ratios = [ratio(line, peer) for peer in (*COLUMNS[1:], "contiguous")]
    return f"{line['shape'] + place:<40}{figures} |" + "".join(
        f"{r:>7.3f}" if r else f"{'-':>7}" for r in ratios
    )


def header() -> str:
    figures = "".join(f"{kind:>8}" for kind in COLUMNS)
    ratios = "".join(f"{'/' + peer:>7}" for peer in (*COLUMNS[1:], "dense"))
    return f"{'TFLOP/s, and ours over each':<40}{figures} |{ratios}"


def summary(table: list[dict]) -> None:
    prefill = {str(shape) for shape in PREFILL}
    for peer in COLUMNS[1:]:
        ratios = {line["shape"]: ratio(line, peer) for line in table if line["shape"] in prefill}
        ratios = {shape: r for shape, r in ratios.items() if r}
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
            worst = min(ratios, key=ratios.get)
            print(
                f"prefill, ours over {peer}: geometric mean {mean:.3f} of {len(ratios)} rows, worst {ratios[worst]:.3f} ({worst})"
            )
    paged = sorted((r, line) for line in table if (r := ratio(line, "contiguous")) for line in [text(line)])
    if paged:
        print(f"pages, ours over ours contiguous: worst {paged[0][0]:.3f} ({paged[0][1].split('  ')[0]})")


def compile_times(manifest: dict) -> None:
    built = {key: entry for key, entry in manifest.items() if "bundle" in entry}
    if not built:
        return
    largest = max(built, key=lambda key: built[key]["ptx_bytes"])
    for what, keys in (("largest kernel", [largest]), ("median of all", list(built))):
        middle = lambda field: statistics.median(built[key][field] for key in keys)
        print(f"compile, {what}: {middle('ptx_ms'):.0f} ms ({middle('ptx_cpu_ms'):.0f} of CPU) from graph to PTX ({middle('ptx_bytes') / 1024:.0f} KiB), "
              f"{middle('ptxas_ms'):.0f} ms in ptxas" + (f" ({largest})" if len(keys) == 1 else ""))  # fmt: skip
    for key, entry in built.items():
        if entry["spilled_bytes"] or entry["serialised"]:
            print(
                f"compile, {key}: {entry['spilled_bytes']} bytes spilled, serialised: {entry['serialised']}"
            )


def variants(bench: Bench, only: str) -> list[dict]:
    """What each pass is worth: the same kernels built without it."""
    print(f"\n{'TFLOP/s (share of all passes)':<32}" + "".join(f"{name:>20}" for name in ("all", *VARIANTS)))
    table = []
    for shape in (s for s in VARIED if re.search(only, str(s))):
        base = shape.kernel(None).name
        keys = {("all", None): base, **{(name, None): f"{base} {name}" for name in VARIANTS}}
        figures = {r["name"]: r["tflops"] for r in bench.measure(shape, keys, peers=False)}
        table.append({"shape": str(shape), **figures})
        cells = [f"{figures[n]:.0f} ({figures[n] / figures.get('all', math.nan):.2f})" if n in figures else "-"
                 for n in ("all", *VARIANTS)]  # fmt: skip
        print(f"{str(shape):<32}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    return table


def run(arguments) -> None:
    bench = Bench(arguments)
    device = torch.cuda.get_device_properties(0)
    print(f"{device.name}, {device.multi_processor_count} multiprocessors, torch {torch.__version__}, cuDNN "
          f"{torch.backends.cudnn.version()}; medians of {ROUNDS * CALLS} calls ({ROUNDS * FEW_CALLS} of long ones), "
          "random normal inputs, pages permuted")  # fmt: skip
    print(header(), flush=True)
    records, table = [], []
    with torch.no_grad():
        for shape in (s for s in SHAPES if re.search(arguments.only, str(s))):
            measured = bench.measure(shape, {("ours", page): shape.kernel(page).name for page in shape.pages})
            records += measured
            for line in lines(shape, measured):
                table.append(line)
                print(text(line), flush=True)
        summary(table)
        compile_times(bench.manifest)
        varied = variants(bench, arguments.only) if arguments.variants else []
    if arguments.json:
        everything = {"device": device.name, "torch": torch.__version__, "records": records, "table": table,
                      "variants": varied, "manifest": bench.manifest, "failures": bench.failures}  # fmt: skip
        Path(arguments.json).write_text(json.dumps(everything, indent=1))
    if bench.failures:
        sys.exit("pagefold-bench: " + "; ".join(bench.failures))
