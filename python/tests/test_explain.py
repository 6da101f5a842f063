# test_explain.py - explanations of compiles and of launches
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of explanations against numbers by hand, and against what a launch counts itself."""

import json

import numpy as np
import pytest
from test_visits import LENGTHS, MASKS

import pagefold as pf

pytestmark = pytest.mark.usefixtures("library")


def decode_graph(dtype="f32", heads=2, kv_heads=1, dim=8, page=4, batch=4, q_len=4, kv_len=64, mask=None, **attention):
    with pf.Graph("decode", batch=batch, q_len=q_len, kv_len=kv_len) as g:
        q = g.tokens("q", heads=heads, dim=dim, dtype=dtype)
        cache = g.paged_kv("cache", heads=kv_heads, dim=dim, dtype=dtype, page=page)
        mask = pf.causal() if mask is None else mask
        g.returns(pf.attention(q, cache, rows=g.rows(), scale=0.125, mask=mask, **attention))
    return g


def arguments(q_lens, kv_lens, heads=2, kv_heads=1, dim=8, page=4, dtype=np.float32):
    """Arguments of decode_graph; the pages of all requests are the same few, which nobody reads."""
    rows = np.cumsum([0, *q_lens], dtype=np.int32)
    width = max(-(-length // page) for length in kv_lens)
    pages = np.zeros((2, page, kv_heads, dim), dtype)
    table = np.zeros((len(q_lens), width), np.int32)
    cache = pf.PagedKV(pages, pages, table, np.array(kv_lens, np.int32), dtype="bf16" if dtype == np.uint16 else None)
    return {"q": np.zeros((rows[-1], heads, dim), dtype), "rows": rows, "cache": cache}


def space_of(explained: dict) -> dict:
    [kernel] = [kernel for kernel in explained["kernels"] if kernel["op"] == "tile.space"]
    return kernel


# ---- A compile -------------------------------------------------------------------------------------------


def test_a_compile_says_what_it_made_and_why():
    module = pf.compile(decode_graph(), fuse=False, kv_tile=16)
    explained = module.explanation
    kernel = space_of(explained)
    assert explained["options"] == ["fuse=false", "kv-tile=16"]
    assert (kernel["form"], kernel["kv_tile"], kernel["splits"]) == ("dot", 16, 1)
    assert kernel["pages"] == {"path": "loads", "page": 4}
    assert kernel["workers"] == "all" and "registers" not in kernel
    chosen = [remark for remark in explained["remarks"] if remark["pass"] == "tile-select-schedule"]
    assert chosen[0]["kind"] == "passed" and "from row decode" in chosen[0]["text"]
    text = module.explain()
    assert "options: fuse=false, kv-tile=16" in text
    assert "Passed tile-select-schedule: in decode: #tile.schedule<dot" in text
    assert json.loads(module.explain("json")) == explained


def test_an_artifact_explains_itself_where_there_is_no_compiler(tmp_path):
    module = pf.compile(decode_graph(), target="cuda")
    module.save(tmp_path / "decode.bundle")
    assert pf.load(tmp_path / "decode.bundle").explanation == module.explanation


def test_rejected_alternatives_come_with_reasons():
    remarks = pf.compile(decode_graph(), target="cuda").explanation["remarks"]
    rejected = {remark["text"]: remark["reason"] for remark in remarks if remark["kind"] == "analysis"}
    assert rejected["row pipelined rejected"] == "keys are neither bf16 nor f16"
    assert "row streaming rejected" in rejected


def test_an_unknown_format_is_refused():
    with pytest.raises(pf.PagefoldError, match="expects the format text or json, got 'xml'"):
        pf.compile(decode_graph()).explain("xml")


# ---- A launch --------------------------------------------------------------------------------------------


def test_a_tiny_batch_by_hand():
    module = pf.compile(decode_graph(), form="dot", q_tile=4, kv_tile=16, counters=True)
    call = arguments([2, 1], [20, 32])
    explained = module.function().explain(**call)
    launch = space_of(explained)["launch"]
    # Request 0: rows at positions 18 and 19 of 20 keys see 19 + 20; request 1: one row sees 32; 2 heads.
    assert launch["flops"] == 2 * (8 + 8) * 2 * (19 + 20 + 32)
    # 4 packed rows over the tiles [full, partial], 2 over [full, full].
    assert launch["tiles"] == {"full": 3, "partial": 1, "skipped": 0}
    assert launch["executed_flops"] == 2 * (8 + 8) * (2 * 4 * 16 + 2 * 2 * 16)
    # K and V of 52 tokens, 3 rows of 2 heads in and out, 5 + 8 page ids, 3 row offsets and 2 lengths.
    assert launch["bytes"] == 52 * 2 * 8 * 4 + 3 * 2 * (8 + 8) * 4 + 13 * 4 + 5 * 4
    # The roofline is that of a GPU: there is no table of hosts.
    assert "class" not in launch and "class" not in explained["launch"]
    module(**call)
    counted = module.function().counters()
    assert {name: counted[f"tiles_{name}"] for name in ("full", "partial", "skipped")} == launch["tiles"]


@pytest.mark.parametrize("form", ["outer", "dot", "simt"])
@pytest.mark.parametrize("name", MASKS)
def test_tiles_are_those_that_a_launch_counts(name, form):
    q_tile = 1 if form == "simt" else 16
    graph = decode_graph(heads=6, kv_heads=2, batch=len(LENGTHS), q_len=64, kv_len=128, mask=MASKS[name][0])
    module = pf.compile(graph, form=form, q_tile=q_tile, kv_tile=16, counters=True)
    call = arguments(*zip(*LENGTHS), heads=6, kv_heads=2)
    launch = space_of(module.function().explain(**call))["launch"]
    module(**call)
    counted = module.function().counters()
    assert {kind: counted[f"tiles_{kind}"] for kind in launch["tiles"]} == launch["tiles"]


@pytest.mark.parametrize("name", MASKS)
def test_operations_are_those_of_the_visible_pairs(name):
    mask, visible, _ = MASKS[name]
    graph = decode_graph(heads=6, kv_heads=2, batch=len(LENGTHS), q_len=64, kv_len=128, mask=mask)
    explained = pf.compile(graph).function().explain(**arguments(*zip(*LENGTHS), heads=6, kv_heads=2))
    pairs = 0
    for q_len, kv_len in LENGTHS:
        positions = np.arange(q_len)[:, None] + kv_len - q_len
        pairs += int(visible(positions, np.arange(kv_len)[None, :]).sum())
    assert space_of(explained)["launch"]["flops"] == 2 * (8 + 8) * 6 * pairs


def test_values_of_symbols_and_rows_are_read():
    with pf.Graph("attend", batch=2, q_len=8, kv_len=64) as g:
        q, rows = g.tokens("q", heads=1, dim=8, dtype="f32"), g.rows()
        cache = g.paged_kv("cache", heads=1, dim=8, page=4)
        mask = pf.causal() & pf.window(pf.sym("w", at_least=1)) & (pf.masks.k >= pf.per_row("start"))
        g.returns(
            pf.attention(q, cache, rows=rows, scale=1.0, mask=mask, symbols={"w": g.per_request("w")},
                         row_values={"start": g.positions("start")})
        )  # fmt: skip
    call = arguments([2, 1], [10, 20], heads=1)
    call |= {"w": np.array([4, 100], np.int32), "start": np.array([0, 8, 5], np.int32)}
    explained = pf.compile(g).function().explain(**call)
    # Rows at 8 and 9 see 5..8 and 8..9; the row at 19 sees 5..19.
    assert space_of(explained)["launch"]["flops"] == 2 * (8 + 8) * (4 + 2 + 15)


# ---- A GPU's launch, explained without a GPU ---------------------------------------------------------------


def big(q_lens, kv_lens, dtype=np.uint16):
    return arguments(q_lens, kv_lens, heads=32, kv_heads=8, dim=128, page=16, dtype=dtype)


BIG = {"dtype": "bf16", "heads": 32, "kv_heads": 8, "dim": 128, "page": 16}


def test_long_decodes_are_bound_by_memory():
    graph = decode_graph(**BIG, batch=32, q_len=1, kv_len=8192)
    explained = pf.compile(graph, target="cuda", strict=True).function().explain(**big([1] * 32, [8192] * 32))
    kernel = space_of(explained)
    assert (kernel["form"], kernel["pages"]) == ("streaming", {"path": "boxes", "page": 16, "box_keys": 16})
    launch = kernel["launch"]
    keys = 32 * 8192 * 8 * 2 * 128 * 2
    assert keys < launch["bytes"] < 1.001 * keys and launch["loads"] == launch["bytes"]
    assert launch["flops"] == 2 * 256 * 32 * 32 * 8192
    assert launch["tiles"] == {"full": 32 * 8 * 512, "partial": 0, "skipped": 0}
    assert launch["class"] == "memory" and launch["busy"] == 1
    assert launch["memory_us"] == pytest.approx(launch["bytes"] / 4.66e6, rel=1e-4)


def test_short_decodes_are_bound_by_their_launch():
    graph = decode_graph(**BIG, batch=1, q_len=1, kv_len=8192)
    explained = pf.compile(graph, target="cuda").function().explain(**big([1], [100]))
    assert space_of(explained)["launch"]["class"] == explained["launch"]["class"] == "launch"


def test_prefill_is_bound_by_computation_and_its_padding_by_shape():
    graph = decode_graph(**BIG, batch=64, q_len=4096, kv_len=8192)
    function = pf.compile(graph, target="cuda", split_rows=False).function()
    kernel = space_of(function.explain(**big([4096], [4096])))
    assert kernel["form"] == "pipelined" and kernel["stages"] == 2
    launch = kernel["launch"]
    assert launch["flops"] == 2 * 256 * 32 * (4096 * 4097 // 2) and launch["sampled"]
    # 32 query tiles of 128 rows: each has one partial tile, the last one of the diagonal.
    assert launch["tiles"] == {"full": 32 * (31 * 32 // 2), "partial": 32 * 32, "skipped": 32 * (31 * 32 // 2)}
    assert launch["class"] == "compute" and launch["loads"] > 10 * launch["bytes"]
    # One row in each tile of 128.
    assert space_of(function.explain(**big([17] * 64, [4096] * 64)))["launch"]["class"] == "shape"


def test_packed_tiles_read_keys_once_for_a_group():
    graph = decode_graph(**BIG, batch=32, q_len=16, kv_len=8192)
    function = pf.compile(graph, target="cuda", split_rows=False).function()
    call = big([16] * 32, [8192] * 32)
    kernel = space_of(function.explain(**call))
    assert (kernel["form"], kernel["group_rows"]) == ("pipelined", 4)
    assert "q_tile 128, group_rows 4, kv_tile 128" in function.explain(format="text", **call)
    launch = kernel["launch"]
    # One tile a request and KV head: 64 rows, multiplied as 128. The last of 64 KV tiles holds the diagonal.
    assert launch["tiles"] == {"full": 32 * 8 * 63, "partial": 32 * 8, "skipped": 0}
    assert launch["executed_flops"] == 2 * 256 * 128 * 128 * 32 * 8 * 64
    assert launch["loads"] == launch["bytes"]


def test_a_padded_group_fills_tiles_sooner():
    sizes = {"heads": 10, "kv_heads": 2, "dim": 64, "page": 16}
    graph = decode_graph(dtype="bf16", **sizes, batch=2, q_len=20, kv_len=1024, mask=pf.no_mask())
    function = pf.compile(graph, target="cuda", split_rows=False).function()
    kernel = space_of(function.explain(**arguments([20, 16], [1024, 1024], dtype=np.uint16, **sizes)))
    assert kernel["group_rows"] == 8
    # 20 rows of 5 heads take 160 rows of tiles, 16 take 128: two tiles and one, of each of 2 KV heads.
    assert kernel["launch"]["tiles"] == {"full": 2 * 3 * 8, "partial": 0, "skipped": 0}
    assert kernel["launch"]["executed_flops"] == 2 * 128 * 128 * 128 * 2 * 3 * 8


def test_a_measured_time_is_a_part_of_the_roofline():
    graph = decode_graph(**BIG, batch=32, q_len=1, kv_len=8192)
    function = pf.compile(graph, target="cuda").function()
    call = big([1] * 32, [8192] * 32)
    total = function.explain(milliseconds=0.25, **call)["launch"]
    assert total["measured_us"] == 250
    assert total["fraction_of_roofline"] == pytest.approx(total["roofline_us"] / 250, rel=1e-4)
    text = function.explain(milliseconds=0.25, format="text", **call)
    assert "memory bound on H200" in text and "% of the roofline" in text


def test_a_space_for_few_rows_beside_one_for_many():
    graph = decode_graph(**BIG, batch=64, q_len=512, kv_len=8192)
    explained = pf.compile(graph, target="cuda").function().explain(**big([1] * 60 + [512] * 4, [4096] * 64))
    forms = {kernel["form"]: kernel["launch"]["flops"] for kernel in explained["kernels"]}
    pairs = 512 * 4096 - 512 * 511 // 2
    assert forms == {"streaming": 2 * 256 * 32 * 60 * 4096, "pipelined": 2 * 256 * 32 * 4 * pairs}


def test_arguments_that_do_not_fit_are_refused():
    function = pf.compile(decode_graph()).function()
    with pytest.raises(TypeError, match="missing cache, rows"):
        function.explain(np.zeros((1, 2, 8), np.float32))


# ---- Strict ----------------------------------------------------------------------------------------------


def test_A66_every_fallback_is_told_and_strict_refuses_it():
    rows = {"batch": 4, "q_len": 512, "kv_len": 4096}
    wide = {"heads": 8, "kv_heads": 2, "dim": 128, "page": 16}

    def bitmap():
        with pf.Graph("decode", **rows) as g:
            q = g.tokens("q", heads=8, dim=128, dtype="bf16")
            cache = g.paged_kv("cache", heads=2, dim=128, dtype="bf16", page=16)
            bits = (g.tensor("bits", None, dtype="i8"), g.tensor("starts", None, dtype="i64"))
            g.returns(pf.attention(q, cache, rows=g.rows(), scale=0.1, mask=pf.no_mask(), bitmap=bits))
        return g

    def sink_and_f8():
        with pf.Graph("decode", **rows) as g:
            q = g.tokens("q", heads=8, dim=128, dtype="bf16")
            cache = g.paged_kv("cache", heads=2, dim=128, dtype="f8e4m3", page=16)
            g.returns(
                pf.attention(q, cache, rows=g.rows(), scale=0.1, mask=pf.causal(), sinks=g.tensor("sinks", 8))
            )
        return g

    cases = {
        "keys are neither bf16 nor f16": lambda: decode_graph(dtype="f32", **wide, **rows),
        "the mask is a bitmap": bitmap,
        "2048 rows, it takes at most 16": sink_and_f8,
    }
    for reason, graph in cases.items():
        explained = pf.compile(graph(), target="cuda").explanation
        assert space_of(explained)["form"] == "simt"
        missed = [remark for remark in explained["remarks"] if remark["name"] == "OneThreadARow"]
        assert len(missed) == 1 and missed[0]["kind"] == "missed"
        with pytest.raises(pf.PagefoldError, match="tile-select-schedule falls back: the space has one") as caught:
            pf.compile(graph(), target="cuda", strict=True)
        assert reason in str(caught.value)
        assert "or ask for one thread a row (form simt)" in str(caught.value)
        # What is asked for is no fallback.
        assert space_of(pf.compile(graph(), target="cuda", strict=True, form="simt").explanation)["form"] == "simt"


def test_A66_what_no_target_takes_is_refused_with_and_without_strict():
    graph = decode_graph(dtype="bf16", heads=8, kv_heads=2, dim=320, page=16, batch=4, q_len=512, kv_len=4096)
    for strict in (False, True):
        with pytest.raises(pf.PagefoldError, match="expects head dimensions up to 256 on target cuda, got 320"):
            pf.compile(graph, target="cuda", strict=strict)


@pytest.mark.parametrize("target", ["host", "cuda"])
def test_A66_memory_grows_as_the_length(target):
    """No S x S scores, whatever the combination: the workspace is bounded by the declared maxima."""
    sizes = []
    for length in (8192, 16384):
        graph = decode_graph(dtype="f32", heads=8, kv_heads=2, dim=64, page=16, batch=1, q_len=length, kv_len=length)
        sizes.append(pf.compile(graph, target=target).explanation["workspace"])
    assert sizes[1] <= 2 * sizes[0] < 1 << 30


def test_A66_ops_that_stay_outside():
    with pf.Graph("outside", batch=2, q_len=4, kv_len=64) as g:
        q, rows = g.tokens("q", heads=2, dim=8, dtype="f32"), g.rows()
        cache = g.paged_kv("cache", heads=1, dim=8, page=4)
        weight = g.tensor("weight", 8)
        o = pf.attention(q, cache, rows=rows, scale=1.0, mask=pf.causal())
        g.returns(pf.rms_norm(o, weight, eps=1e-5))
    with pytest.raises(pf.PagefoldError, match="strict: in outside: attn-fuse falls back: .* stays and becomes a kernel"):
        pf.compile(g, strict=True)
    assert pf.compile(g, strict=True, fuse=False).explanation["options"] == ["fuse=false"]


def test_A66_strict_takes_what_has_no_fallback():
    """Decodes and prefills of every page size that boxes bring, with sinks, 8-bit keys and positions in the queries."""
    with pf.Graph("layer", batch=8, q_len=1, kv_len=1024) as g:
        q, rows = g.tokens("q", heads=8, dim=128, dtype="bf16"), g.rows()
        cache = g.paged_kv("cache", heads=2, dim=128, dtype="f8e4m3", page=16)
        q = pf.rope(q, g.tensor("cos", None, 64), g.tensor("sin", None, 64), rows=rows, cache=cache)
        g.returns(pf.attention(q, cache, rows=rows, scale=0.1, mask=pf.causal(), sinks=g.tensor("sinks", 8)))
    kernels = pf.compile(g, target="cuda", strict=True).explanation["kernels"]
    assert [kernel.get("form") for kernel in kernels] == ["streaming"]
