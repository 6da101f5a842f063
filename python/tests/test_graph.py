# test_graph.py - the text that the builder prints, and the misuse it refuses
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess

import pytest

import pagefold as pf
from pagefold.masks import k as key_index
from pagefold.masks import kv_len, q_len
from pagefold.masks import q as query_index


def decode_graph() -> pf.Graph:
    with pf.Graph("layer", batch=16, q_len=1, kv_len=8192) as g:
        q = g.tokens("q", heads=32, dim=128, dtype="bf16")
        k = g.tokens("k", heads=8, dim=128, dtype="bf16")
        v = g.tokens("v", heads=8, dim=128, dtype="bf16")
        rows, cache = g.rows(), g.paged_kv("cache", heads=8, dim=128, dtype="bf16", page=16)
        cos, sin = g.tensor("cos", None, 64), g.tensor("sin", None, 64)
        slopes, sinks, sizes = g.tensor("slopes", 32), g.tensor("sinks", 32), g.per_request("sizes")
        q = pf.rope(q, cos, sin, rows=rows, cache=cache)
        k = pf.rope(k, cos, sin, rows=rows, cache=cache)
        cache = pf.append(k, v, cache, rows=rows)
        o, lse = pf.attention(
            q,
            cache,
            rows=rows,
            scale=0.125,
            mask=pf.causal() & pf.window(pf.sym("w", at_least=1)),
            symbols={"w": sizes},
            sinks=sinks,
            lse=True,
            score=lambda s, q, k, h: pf.soft_cap(s, 30.0) - slopes[h] * (pf.position(q) - k),
            epilogue=lambda o, q, h: pf.where(o > 0, o, -o),
        )
        g.returns(o, lse)
    return g


GOLDEN = """\
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @layer(%q: tensor<?x32x128xbf16> {pagefold.name = "q"}, %k: tensor<?x8x128xbf16> {pagefold.name = "k"}, \
%v: tensor<?x8x128xbf16> {pagefold.name = "v"}, %rows: tensor<?xi32> {pagefold.name = "rows"}, %cache: !cache {pagefold.name = "cache"}, \
%cos: tensor<?x64xf32> {pagefold.name = "cos"}, %sin: tensor<?x64xf32> {pagefold.name = "sin"}, %slopes: tensor<32xf32> {pagefold.name = "slopes"}, \
%sinks: tensor<32xf32> {pagefold.name = "sinks"}, %sizes: tensor<?xi32> {pagefold.name = "sizes"}) \
-> (tensor<?x32x128xbf16>, tensor<?x32xf32>)
    attributes {attn.bounds = #attn.bounds<batch 16, q_len 1, kv_len 8192>} {
  %q_rope = attn.rope %q, %cos, %sin rows(%rows) of %cache half_split \
: tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
  %k_rope = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split \
: tensor<?x8x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
  %cache_new = attn.append %k_rope, %v to %cache rows(%rows) \
: tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  %out, %lse = attn.attention %q_rope, %cache_new rows(%rows) scale 0.125 \
mask <causal and window(w) where w >= 1> symbols(%sizes : tensor<?xi32>) sinks(%sinks : tensor<32xf32>)
    score(%s_in, %q_in, %k_in, %h_in, %b_in, %slopes_in = %slopes : tensor<32xf32>) {
      %0 = arith.constant 30.0 : f32
      %1 = arith.divf %s_in, %0 : f32
      %2 = math.tanh %1 : f32
      %3 = arith.mulf %0, %2 : f32
      %4 = attn.lookup %slopes_in[%h_in] : tensor<32xf32> -> f32
      %5 = attn.position %q_in
      %6 = arith.subi %5, %k_in : i32
      %7 = arith.sitofp %6 : i32 to f32
      %8 = arith.mulf %4, %7 : f32
      %9 = arith.subf %3, %8 : f32
      attn.yield %9 : f32
    }
    epilogue(%o_in, %q_in, %h_in, %d_in) {
      %0 = arith.constant 0.0 : f32
      %1 = arith.cmpf ogt, %o_in, %0 : f32
      %2 = arith.negf %o_in : f32
      %3 = arith.select %1, %o_in, %2 : f32
      attn.yield %3 : f32
    }
    : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>, tensor<?x32xf32>
  return %out, %lse : tensor<?x32x128xbf16>, tensor<?x32xf32>
}
"""


def everything_graph() -> pf.Graph:
    """Every operation and clause that the golden graph leaves out."""
    with pf.Graph("everything", batch=4, q_len=64, kv_len=256, tokens=128) as g:
        q, k, v = (g.tokens(name, heads=heads, dim=64) for name, heads in (("q", 6), ("k", 2), ("v", 2)))
        rows, kv_rows, positions = g.rows(), g.rows("kv_rows"), g.positions(dtype="i64")
        cos, sin, weight = g.tensor("cos", None, 16), g.tensor("sin", None, 16), g.tensor("weight", 64)
        first, second = (
            g.paged_kv(name, heads=2, dim=64, page=page) for name, page in (("first", 16), ("second", 3))
        )
        bitmap = (g.tensor("bits", None, dtype="i8"), g.tensor("starts", None, dtype="i64"))
        ids = g.tensor("ids", 6, 4, dtype="i32")
        q = pf.rope(pf.rms_norm(q, weight), cos, sin, positions=positions, pairing="interleaved")
        mask = (key_index <= query_index + kv_len - q_len) & (key_index // 8 == (2 * query_index + 1) // 16)
        a = pf.attention(
            q, k, v, rows=rows, kv_rows=kv_rows, scale=1e-5, mask=mask | pf.prefix(4), bitmap=bitmap, lse=True
        )
        b = pf.attention(
            q,
            first,
            rows=rows,
            scale=0.125,
            lse=True,
            score=lambda s, q, k, h, b: pf.where(
                (ids[h, b % 4] == pf.token(q) // 3) | ~(abs(k - 9) < pf.to_i32(pf.floor(s))),
                pf.maximum(s, abs(s) / 3),
                s * pf.exp(-s),
            ),
        )
        c = pf.attention(
            q,
            second,
            rows=rows,
            scale=0.125,
            dtype="bf16",
            mask=pf.sink_window(4, 16) | pf.chunked(8) | pf.causal() & (key_index >= pf.per_row("start")),
            row_values={"start": g.positions("document_starts")},
        )
        g.returns(*pf.merge(a, b), c)
    return g


def test_printed_text_is_as_documented():
    assert str(decode_graph()) == GOLDEN


@pytest.mark.parametrize("graph", [decode_graph, everything_graph])
def test_pagefold_opt_parses_and_verifies_what_is_printed(opt, graph):
    parsed = subprocess.run([opt, "-"], input=str(graph()), capture_output=True, text=True)
    assert parsed.returncode == 0, f"{parsed.stderr}\n{graph()}"
    assert "attn.attention" in parsed.stdout


def test_two_cache_types_get_two_names():
    text = str(everything_graph())
    assert "!cache = !attn.paged_kv<2 heads, 64 x 64, f32, page 16>" in text
    assert "!cache1 = !attn.paged_kv<2 heads, 64 x 64, f32, page 3>" in text
    assert text.count("!attn.paged_kv") == 2


def test_an_unchanged_score_prints_no_region():
    with pf.Graph("plain", batch=1, q_len=1, kv_len=8) as g:
        q, rows, cache = g.tokens("q", heads=2, dim=8), g.rows(), g.paged_kv("cache", heads=2, dim=8)
        g.returns(pf.attention(q, cache, rows=rows, scale=1.0, score=lambda s, q, k, h: pf.soft_cap(s, 0)))
    assert "score" not in str(g)


# ---- Misuse ----------------------------------------------------------------------------------------


def small(heads=4, kv_heads=2, dim=64, **cache):
    g = pf.Graph("small", batch=2, q_len=4, kv_len=64)
    return (
        g,
        g.tokens("q", heads=heads, dim=dim),
        g.rows(),
        g.paged_kv("cache", **{"heads": kv_heads, "dim": dim, **cache}),
    )


@pytest.mark.parametrize("heads, kv_heads", [(33, 2), (3, 2), (8, 0), (130, 1)])
def test_A14_head_groups_that_do_not_divide_are_refused(heads, kv_heads):
    with pytest.raises(ValueError, match="heads"):
        g, q, rows, cache = small(heads, kv_heads)
        pf.attention(q, cache, rows=rows, scale=1.0)


@pytest.mark.parametrize("dim", [0, 4, 20, 100, 520])
def test_A12_head_dims_that_are_not_supported_are_refused_before_compilation(dim):
    with pytest.raises(
        ValueError, match=f"q.dim: expects a head dim that is a multiple of 8 from 8 to 512, got {dim}"
    ):
        small(dim=dim)


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=0.0),
            "scale: expects a finite number above 0, got 0.0",
        ),
        (lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=float("nan")), "scale"),
        (
            lambda g, q, rows, c: pf.attention(g.tokens("x", heads=4, dim=32), c, rows=rows, scale=1.0),
            "query: expects the keys' head dim 64, got 32",
        ),
        (
            lambda g, q, rows, c: pf.attention(
                g.tokens("x", heads=4, dim=64, dtype="f16"), c, rows=rows, scale=1.0
            ),
            "query: expects the dtype of keys and values, f32",
        ),
        (lambda g, q, rows, c: pf.attention(q, c, rows=q, scale=1.0), "rows: expects 1 dimensions"),
        (
            lambda g, q, rows, c: pf.attention(q, c, rows=g.positions(dtype="i64"), scale=1.0),
            "rows: expects a dtype of i32",
        ),
        (lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, kv_rows=rows), "kv_rows"),
        (
            lambda g, q, rows, c: pf.attention(q, q, q, rows=rows, scale=1.0),
            "kv_rows: expects the row offsets",
        ),
        (
            lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, mask=pf.window(pf.sym("w"))),
            r"symbols: expects a value for each of \['w'\], got \[\]",
        ),
        (
            lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, sinks=g.tensor("s", 3)),
            "sinks: expects 4 entries",
        ),
        (lambda g, q, rows, c: pf.append(q, q, c, rows=rows), "key: expects"),
        (
            lambda g, q, rows, c: pf.rope(
                q, g.tensor("a", None, 40), g.tensor("b", None, 40), rows=rows, cache=c
            ),
            "cos: expects at most half",
        ),
        (
            lambda g, q, rows, c: pf.rope(q, g.tensor("a", None, 8), g.tensor("b", None, 8)),
            "either rows and cache, or positions",
        ),
        (lambda g, q, rows, c: pf.rms_norm(q, g.tensor("w", 65)), "weight: expects 64 entries"),
        (lambda g, q, rows, c: g.paged_kv("d", heads=1, dim=8, page=1025), "d.page"),
        (lambda g, q, rows, c: g.tokens("q", heads=1, dim=8), "'q' again"),
        (
            lambda g, q, rows, c: g.tokens("x", heads=1, dim=8, dtype="f64"),
            "x.dtype: expects a dtype of f32, f16, bf16, got 'f64'",
        ),
        (
            lambda g, q, rows, c: pf.Graph("g", batch=2, q_len=4, kv_len=1, tokens=9),
            "tokens: expects at most batch x q_len = 8",
        ),
        (
            lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, score=lambda s, q: s),
            "score: expects a function of 4 or 5 arguments",
        ),
    ],
)
def test_misuse_is_a_value_error_that_names_the_argument(build, message):
    with pytest.raises(ValueError, match=message):
        build(*small())


@pytest.mark.parametrize(
    "build",
    [
        lambda g, q, rows, c: pf.attention(q, rows=rows, scale=1.0),
        lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, mask="causal"),
        lambda g, q, rows, c: pf.attention("q", c, rows=rows, scale=1.0),
        lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, bitmap=rows),
        lambda g, q, rows, c: pf.attention(
            q, c, rows=rows, scale=1.0, score=lambda s, q, k, h: s if s > 0 else -s
        ),
        lambda g, q, rows, c: pf.attention(
            q, c, rows=rows, scale=1.0, score=lambda s, q, k, h: s - pf.position(q + 1)
        ),
        lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, score=lambda s, q, k, h: s // 2),
        lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, score=lambda s, q, k, h: s + k // h),
        lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, score=lambda s, q, k, h: s + k % 0),
        lambda g, q, rows, c: pf.attention(q, c, rows=rows, scale=1.0, score=lambda s, q, k, h: None),
        lambda g, q, rows, c: g.returns("q"),
    ],
)
def test_wrong_kinds_of_value_are_type_errors(build):
    with pytest.raises(TypeError):
        build(*small())


def test_a_cache_is_used_up_by_an_append():
    g, q, rows, cache = small(kv_heads=4)
    new = pf.append(q, q, cache, rows=rows)
    with pytest.raises(ValueError, match="cache: expects a cache that was not appended to"):
        pf.attention(q, cache, rows=rows, scale=1.0)
    pf.attention(q, new, rows=rows, scale=1.0)


def test_values_of_another_graph_are_refused():
    g, q, rows, cache = small()
    _, other, _, _ = small()
    table = pf.Graph("other", batch=1, q_len=1, kv_len=1).tensor("table", 4)
    with pytest.raises(ValueError, match="cache: expects a value of graph 'small', got one of 'small'"):
        pf.attention(other, cache, rows=rows, scale=1.0)
    with pytest.raises(ValueError, match="table: expects a value of graph 'small', got one of 'other'"):
        pf.attention(q, cache, rows=rows, scale=1.0, score=lambda s, q, k, h: s + table[h])


def test_a_graph_that_returns_nothing_is_refused():
    with pytest.raises(ValueError, match="expects returns"):
        with pf.Graph("nothing", batch=1, q_len=1, kv_len=1) as g:
            g.rows()


def test_a_cache_of_8_bits_takes_rows_and_queries_of_other_types():
    with pf.Graph("layer", batch=1, q_len=1, kv_len=64) as g:
        q, k = g.tokens("q", heads=4, dim=64, dtype="bf16"), g.tokens("k", heads=2, dim=64, dtype="f16")
        v, rows = g.tokens("v", heads=2, dim=64), g.rows()
        cache = pf.append(k, v, g.paged_kv("cache", heads=2, dim=64, dtype="f8e4m3"), rows=rows)
        g.returns(pf.attention(q, cache, rows=rows, scale=0.125))
    text = str(g)
    assert text.startswith("!cache = !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>\n")
    assert ": tensor<?x2x64xf16>, tensor<?x2x64xf32>, !cache, tensor<?xi32>" in text
    assert ": tensor<?x4x64xbf16>, !cache, tensor<?xi32> -> tensor<?x4x64xbf16>" in text
