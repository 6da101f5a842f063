# gpu_table.py - tables of measurements, and what they say in short
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records (one contender on one shape), lines (one shape with K and V in one place, a column for each kind of contender),
and means over lines. Needs neither a GPU nor torch."""

from __future__ import annotations

import dataclasses
import math
import statistics

NAME_WIDTH = 44


@dataclasses.dataclass(frozen=True)
class Column:
    """The fastest contender of a kind. contiguous: of those on dense K and V, also in a line for pages."""

    title: str
    kind: str
    contiguous: bool = False


OURS = Column("ours", "ours")


def record(shape, contender, ms: float, error: float) -> dict:
    """Of a contender in the row of a shape; what it computes may be another shape, to be compared."""
    return {
        "shape": str(shape),
        "kind": contender.kind,
        "name": contender.name,
        "page": contender.page,
        "ms": ms,
        "rate": contender.shape.rate(ms),
        "error": error,
    }


def line(shape, page, records, columns) -> dict:
    """What was measured with K and V in one place; {"ms", "rate", "name"} of each column, or None."""

    def best(column: Column):
        if column.contiguous and page is None:
            return None
        place = None if column.contiguous else page
        found = [r for r in records if (r["kind"], r["page"]) == (column.kind, place)]
        fastest = min(found, key=lambda r: r["ms"], default=None)
        return fastest and {key: fastest[key] for key in ("ms", "rate", "name")}

    figures = {column.title: best(column) for column in (OURS, *columns)}
    return {"shape": str(shape), "table": shape.table, "page": page, **figures}


def measured(shapes, measure, columns, text, pause) -> tuple[list[dict], list[dict]]:
    """(records, lines) of a table, printed row by row: measure(shape) gives the records of a shape, text(line) a row;
    pause() between shapes."""
    records, table = [], []
    for shape in shapes:
        found = measure(shape)
        records += found
        for page in shape.pages:
            table.append(line(shape, page, found, columns))
            print(text(table[-1]), flush=True)
        pause()
    return records, table


def ratio(line: dict, column: Column) -> float | None:
    """How many times as fast as a column ours is."""
    ours, peer = line[OURS.title], line[column.title]
    return peer["ms"] / ours["ms"] if ours and peer else None


def name(line: dict) -> str:
    return line["shape"] + (f", pages of {line['page']}" if line["page"] else "")


def header(what: str, figures: list[str], columns) -> str:
    ratios = "".join(f"{'/' + column.title:>8}" for column in columns)
    return f"{what:<{NAME_WIDTH}}" + "".join(f"{figure:>9}" for figure in figures) + f" |{ratios}"


def text(line: dict, figures: list[str], columns) -> str:
    """A line of the table: its figures, None where there is none, and ours over each column."""
    cells = "".join(f"{figure or '-':>9}" for figure in figures)
    ratios = [ratio(line, column) for column in columns]
    return f"{name(line):<{NAME_WIDTH}}{cells} |" + "".join(
        f"{r:>8.3f}" if r else f"{'-':>8}" for r in ratios
    )


def mean(what: str, lines, column: Column, worst_of=min) -> str | None:
    """Geometric mean of the ratios and the worst, min or max of them; None where there are none."""
    ratios = {name(line): r for line in lines if (r := ratio(line, column))}
    if not ratios:
        return None
    geometric = math.exp(statistics.fmean(map(math.log, ratios.values())))
    worst = worst_of(ratios, key=ratios.get)
    return (
        f"{what}, ours over {column.title}: geometric mean {geometric:.3f} of {len(ratios)} rows, "
        f"worst {ratios[worst]:.3f} ({worst})"
    )


def compile_times(manifest: dict) -> list[str]:
    """Of the largest kernel and in the middle; who spills."""
    built = {key: entry for key, entry in manifest.items() if "bundle" in entry}
    if not built:
        return []
    result = []
    largest = max(built, key=lambda key: built[key]["ptx_bytes"])
    for what, keys in (("largest kernel", [largest]), ("median of all", list(built))):
        middle = lambda field: statistics.median(built[key][field] for key in keys)
        result.append(f"compile, {what}: {middle('ptx_ms'):.0f} ms ({middle('ptx_cpu_ms'):.0f} of CPU) from graph to PTX "
                      f"({middle('ptx_bytes') / 1024:.0f} KiB), {middle('ptxas_ms'):.0f} ms in ptxas"
                      + (f" ({largest})" if len(keys) == 1 else ""))  # fmt: skip
    for key, entry in built.items():
        if entry["spilled_bytes"] or entry["serialised"]:
            result.append(
                f"compile, {key}: {entry['spilled_bytes']} bytes spilled, serialised: {entry['serialised']}"
            )
    return result
