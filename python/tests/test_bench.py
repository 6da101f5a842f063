# test_bench.py - the GPU tables of pagefold-bench, without a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That the rows are those that are asked for, that their kernels are built, and that tables say what was measured."""

import argparse
import importlib
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import pagefold as pf
from pagefold._tensor import numpy_dtype

ROOT = Path(__file__).parents[2]
FOLDER, EXAMPLES = ROOT / "tools" / "pagefold-bench", ROOT / "examples"
L2_BYTES = 60 << 20


@pytest.fixture
def bench(monkeypatch):
    """Modules of the tool by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def jobs(shapes, only=""):
    return {key: kernel for key, kernel, _ in shapes.jobs(argparse.Namespace(only=only, variants=True))}


def test_decode_has_the_rows_of_the_table(bench):
    shapes = {str(shape): shape for shape in bench("decode_shapes").SHAPES}
    equal = "1 x 1k,1 x 8k,1 x 128k,8 x 8k,32 x 1k,32 x 8k,32 x 32k,128 x 1k,128 x 8k".split(",")
    packed = ["4 new tokens, 64/8 heads: 32 x 8k", "32/1 heads: 32 x 8k", "32/1 heads: 128 x 8k"]
    short = ["short pages: 8 x 8k", "short pages: 32 x 8k"]
    others = ["64/8 heads: 32 x 8k", "4 new tokens: 32 x 8k", *packed, *short, "mixed: 60 x 1 on 8k, 4 x 512"]
    large = "1 x 128k,8 x 8k,32 x 8k,32 x 32k,128 x 1k,128 x 8k,Zipf mix of 64".split(",")
    decode = [f"decode: {label}" for label in [*equal, "Zipf mix of 64"]]
    assert list(shapes) == [*decode, *others, *(f"fp8: {label}" for label in large)]
    for label in equal:
        batch, length = label.removesuffix("k").split(" x ")
        assert shapes[f"decode: {label}"].kv_lens == (int(length) * 1024,) * int(batch)
    zipf, mixed = shapes["decode: Zipf mix of 64"], shapes["mixed: 60 x 1 on 8k, 4 x 512"]
    assert (len(zipf.kv_lens), min(zipf.kv_lens), max(zipf.kv_lens)) == (64, 101, 32768)
    assert sorted(set(zip(mixed.q_lens, mixed.kv_lens))) == [(1, 8192), (512, 512)]
    assert [str(shape) for shape in shapes.values() if not shape.uniform] == [str(zipf), str(mixed), f"fp8: {zipf.label}"]
    assert all(shape.pages == ((1, 8) if name in short else (16, 64)) for name, shape in shapes.items())


def test_rows_of_8_bits_are_those_of_bf16_on_half_the_bytes(bench):
    shapes = {str(shape): shape for shape in bench("decode_shapes").SHAPES}
    for name, shape in shapes.items():
        assert (shape.kv_dtype, shape.bound) == (("f8e4m3", 8e-3) if name.startswith("fp8") else (None, 4e-3))
        if shape.kv_dtype is None:
            assert shape.on_cache_of_queries() is None
            continue
        bf16, row = shape.on_cache_of_queries(), shapes[f"decode: {shape.label}"]
        assert (bf16.kv_lens, bf16.q_lens, bf16.kernel(16)) == (row.kv_lens, row.q_lens, row.kernel(16))
        assert bf16.kv_bytes() == 2 * shape.kv_bytes() and bf16.cache != shape.cache


def test_calls_go_round_caches_that_outrun_the_l2(bench):
    for shape in bench("decode_shapes").SHAPES:
        assert shape.rotations * shape.kv_bytes() > 4 * L2_BYTES
        assert shape.calls % shape.rotations == 0


def test_slots_are_those_of_whole_pages(bench):
    shape = next(s for s in bench("decode_shapes").SHAPES if "Zipf" in str(s))
    for page in shape.pages:
        spare = shape.tokens(page) - sum(shape.kv_lens)
        assert shape.tokens(page) % page == 0 and 0 <= spare < len(shape.kv_lens) * page


@pytest.mark.parametrize("name", ["decode_shapes", "layer_shapes", "prefill_shapes"])
def test_every_shape_has_its_kernels(bench, name):
    shapes = bench(name)
    built = jobs(shapes)
    for shape in shapes.SHAPES:
        for page in shape.pages:
            kernel = built[shape.kernel(page).name]
            assert kernel == shape.kernel(page)
            assert (
                shape.batch <= kernel.batch and shape.q_len <= kernel.q_len and shape.kv_len <= kernel.kv_len
            )
    first = shapes.SHAPES[0]
    assert first.kernel(first.pages[0]).name in jobs(shapes, f"^{first}$")


def test_decode_graphs_are_causal_attention_on_pages(bench):
    text = {key: str(kernel.graph()) for key, kernel in jobs(bench("decode_shapes")).items() if key == kernel.name}
    element = lambda key: "f8E4M3FN" if "f8e4m3" in key else "bf16"
    assert all("mask <causal>" in graph and f", {element(key)}, page " in graph for key, graph in text.items())
    assert len(set(text.values())) == len(text)


def test_decode_kernels_are_built_batch_invariant_too(bench):
    shapes = bench("decode_shapes")
    built = list(shapes.jobs(argparse.Namespace(only="")))
    plain = {key: kernel for key, kernel, options in built if not options}
    invariant = {key: kernel for key, kernel, options in built if options == ("--batch-invariant",)}
    assert len(plain) + len(invariant) == len(built)
    assert {shapes.batch_invariant(kernel): kernel for kernel in plain.values()} == invariant
    # One row of 8 bits needs both caches, and the option for its own.
    few = list(shapes.jobs(argparse.Namespace(only="^fp8: 8 x 8k$")))
    what = [("f8e4m3" in key, bool(options)) for key, _, options in few]
    assert what == [(True, False)] * 2 + [(False, False)] * 2 + [(True, True)] * 2


# ---- Tables -----------------------------------------------------------------------------------------


class Shape:
    """A shape as tables see it."""

    table = "t"

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name

    def rate(self, ms):
        return 8 / ms


def records(table, shape, *measured):
    """measured: (kind, name, page, ms)"""
    return [
        table.record(shape, types.SimpleNamespace(kind=kind, name=name, page=page, shape=shape), ms, 0.0)
        for kind, name, page, ms in measured
    ]


def test_a_line_takes_the_fastest_of_its_place(bench):
    table = bench("gpu_table")
    shape, cubin, library = (
        Shape("a"),
        table.Column("cubin", "cubin"),
        table.Column("lib", "lib", contiguous=True),
    )
    measured = records(table, shape, ("ours", "ours", 16, 2.0), ("ours", "ours", 64, 1.0), ("cubin", "x", 16, 1.0),
                       ("cubin", "y", 16, 1.5), ("lib", "one way", None, 4.0), ("lib", "another", None, 3.0))  # fmt: skip
    line = table.line(shape, 16, measured, [cubin, library])
    assert line["ours"] == {"ms": 2.0, "rate": 4.0, "name": "ours"}
    assert (line["cubin"]["name"], line["lib"]["name"]) == ("x", "another")
    assert (table.ratio(line, cubin), table.ratio(line, library)) == (0.5, 1.5)
    other = table.line(shape, 64, measured, [cubin, library])
    assert (other["ours"]["ms"], other["cubin"], table.ratio(other, cubin)) == (1.0, None, None)
    assert table.text(other, ["1.0", None], [cubin, library]).split("|")[1].split() == ["-", "3.000"]


def test_rows_are_measured_and_printed_one_by_one(bench, capsys):
    table, said = bench("gpu_table"), []
    shapes = [types.SimpleNamespace(table="t", pages=pages, rate=lambda ms: 8 / ms) for pages in ((16, 64), (16,))]

    def measure(shape):
        said.append("measure")
        return records(table, shape, *(("ours", "ours", page, 2.0) for page in shape.pages))

    text = lambda line: f"pages of {line['page']}: {line['ours']['rate']}"
    found, lines = table.measured(shapes, measure, [], text, lambda: said.append(capsys.readouterr().out))
    assert said == ["measure", "pages of 16: 4.0\npages of 64: 4.0\n", "measure", "pages of 16: 4.0\n"]
    assert len(found) == 3 and [line["page"] for line in lines] == [16, 64, 16]


def test_a_dense_line_is_not_compared_with_itself(bench):
    table = bench("gpu_table")
    dense = table.Column("dense", "ours", contiguous=True)
    measured = records(table, Shape("a"), ("ours", "ours", None, 1.0), ("ours", "ours", 16, 1.25))
    ratios = [table.ratio(table.line(Shape("a"), page, measured, [dense]), dense) for page in (None, 16)]
    assert ratios == [None, 0.8]


def test_means_are_geometric_and_name_the_worst(bench):
    table = bench("gpu_table")
    peer = table.Column("lib", "lib")
    lines = []
    for name, ms in (("a", 4.0), ("b", 0.25), ("c", None)):
        peers = [("lib", "lib", 16, ms)] if ms else []
        measured = records(table, Shape(name), ("ours", "ours", 16, 0.5), *peers)
        lines.append(table.line(Shape(name), 16, measured, [peer]))
    said = table.mean("all", lines, peer)
    assert said == "all, ours over lib: geometric mean 2.000 of 2 rows, worst 0.500 (b, pages of 16)"
    assert table.mean("all", lines[2:], peer) is None
    costs = table.mean("cost", lines, peer, worst_of=max)
    assert costs == "cost, ours over lib: geometric mean 2.000 of 2 rows, worst 8.000 (a, pages of 16)"


# ---- Cubins of others -------------------------------------------------------------------------------


def kernel(cubins, **change):
    recipe = {"page": 16, "heads": 32, "kv_heads": 8, "q_len": 1, **change}
    found = object.__new__(cubins.DecodeKernel)
    found.recipe = recipe
    return found


def test_a_decode_cubin_takes_what_its_recipe_says(bench):
    cubins, shapes = bench("cubin_peers"), bench("decode_shapes")

    def taken(kernel, page=16):
        return [
            str(s)
            for s in shapes.SHAPES
            if page in s.pages
            and kernel.takes(page=page, heads=s.heads, kv_heads=s.kv_heads, q_lens=s.q_lens, dim=s.dim, dtype=s.dtype,
                            stored=s.stored)
        ]  # fmt: skip

    assert taken(kernel(cubins)) == [str(s) for s in shapes.SHAPES if s.table == "decode"]
    assert taken(kernel(cubins), page=64) == []
    assert taken(kernel(cubins, heads=64)) == ["64/8 heads: 32 x 8k"]
    assert taken(kernel(cubins, q_len=4)) == ["4 new tokens: 32 x 8k"]
    assert taken(kernel(cubins, kv_dtype="f8e4m3", box=[16, 2])) == [str(s) for s in shapes.SHAPES if s.table == "fp8"]


def test_the_map_of_a_decode_cubin(bench):
    """(64, page, 2, KV heads, pages), boxes of 16 tokens of one head, no promotion in the L2."""
    calls = []
    pages = types.SimpleNamespace(shape=(7, 64, 8, 128), data_ptr=lambda: 4096)
    bench("cubin_peers").slices_map(lambda *call: calls.append(call), pages)
    [(name, _, _, rank, address, extents, strides, box, _, interleave, _, promotion, _)] = calls
    assert (name, rank, address.value, interleave, promotion) == ("cuTensorMapEncodeTiled", 5, 4096, 0, 0)
    assert list(extents) == [64, 64, 2, 8, 7]
    assert list(strides) == [8 * 256, 128, 256, 64 * 8 * 256]
    assert list(box) == [64, 16, 2, 1, 1]


def test_the_map_of_a_decode_cubin_for_bytes(bench):
    """(128, page, KV heads, pages) of u8, boxes of some tokens of some heads."""
    calls = []
    pages = types.SimpleNamespace(shape=(7, 64, 8, 128), data_ptr=lambda: 4096)
    bench("cubin_peers").byte_slices_map(lambda *call: calls.append(call), pages, 16, 2)
    [(_, _, element, rank, _, extents, strides, box, _, _, swizzle, promotion, _)] = calls
    assert (element, rank, swizzle, promotion) == (0, 4, 3, 0)
    assert [list(x) for x in (extents, strides, box)] == [[128, 64, 8, 7], [8 * 128, 128, 64 * 8 * 128], [128, 16, 2, 1]]


def test_what_a_decode_cubin_is_launched_with(bench):
    """Scales stand where K and V pages do, and partial results have room for all rows that a warp shares."""
    cubins, launched = bench("cubin_peers"), []
    pages = types.SimpleNamespace(shape=(7, 16, 8, 128), data_ptr=lambda: 4096)
    for change, keys in (({}, [pages, pages]), ({"kv_dtype": "f8e4m3", "box": [16, 2]}, ["k_scale", "v_scale"])):
        found = kernel(cubins, **change)
        found.call, found.processors = lambda *call: None, 132
        found.sums, found.maxima, found.counters = "sums", "maxima", "counters"
        found._launch = lambda grid, maps, pointers, numbers: launched.append((grid, pointers, numbers))
        table = types.SimpleNamespace(shape=(3, 5))
        found.paged("q", pages, pages, table, [1, 2, 3], "out", "lse", ("k_scale", "v_scale"))
        grid, pointers, numbers = launched.pop()
        assert (grid, pointers[1:3], pointers[7:], numbers) == (132, keys, ["sums", "maxima", "counters"], [3, 5])


# ---- Compile times ----------------------------------------------------------------------------------


def test_compile_prints_a_line_for_each_graph(library, tmp_path):
    with pf.Graph("small", batch=1, q_len=1, kv_len=64) as g:
        q, rows = g.tokens("q", heads=2, dim=16), g.rows()
        g.returns(pf.attention(q, g.paged_kv("cache", heads=1, dim=16), rows=rows, scale=0.25, mask=pf.causal()))
    (tmp_path / "small.mlir").write_text(str(g))
    command = [sys.executable, str(FOLDER / "pagefold-bench"), "compile", str(tmp_path), "--rounds", "1"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[-2].split() == "open first compile CPU disk memory load".split()
    name, *figures = said[-1].split()
    assert name == "small" and len(figures) == 7 and all(float(figure) >= 0 for figure in figures)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.stem)
def test_examples_take_an_empty_batch(bench, library, example):
    """What --launch calls them with."""
    function = pf.compile(example.read_text()).function()
    zeros = lambda shape, dtype: np.zeros(shape, numpy_dtype(dtype))
    results = function(**bench("compile_times").empty_batch(function, zeros))
    for result in results if isinstance(results, tuple) else (results,):
        assert result.shape[0] == 1 and not result.astype(np.float32).any()
