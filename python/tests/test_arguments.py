# test_arguments.py - what a call takes: views without a copy, and clear refusals
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest
import reference
from harness import Config, paged, random_batch, run, storage
from test_tensor import ThroughDLPack

import pagefold as pf

pytestmark = pytest.mark.usefixtures("library")


@pytest.fixture
def call():
    """(config, batch, arguments of a call that works)."""
    config, rng = Config(), np.random.default_rng(18)
    batch = random_batch(rng, config, [3, 1], [20, 40])
    return config, batch, {"q": batch.q, "rows": batch.rows, "cache": paged(batch, config, rng)}


# ---- A16: views ------------------------------------------------------------------------------------


def test_A16_slices_of_a_fused_projection_give_the_same_bits():
    config, rng = Config(heads=16, kv_heads=1, page=None, q_len=2048, tokens=2048), np.random.default_rng(16)
    fused = rng.standard_normal((300, 18, 64), np.float32)
    rows = np.array([0, 300], np.int32)
    q, k, v = fused[:, :16], fused[:, 16:17], fused[:, 17:]
    views = config.compiled()(q=q, k=k, v=v, rows=rows, kv_rows=rows)
    copies = config.compiled()(q=q.copy(), k=k.copy(), v=v.copy(), rows=rows, kv_rows=rows)
    assert views[0].tobytes() == copies[0].tobytes() and views[1].tobytes() == copies[1].tobytes()
    reference.check(
        *views,
        reference.attention(q, [k], [v], rows, config.scale, visible=reference.mask("causal")),
        rows,
        [300],
        "f32",
    )


def test_A16_the_upper_half_of_wider_heads(call):
    config, batch, arguments = call
    wide = np.full((*batch.q.shape[:2], 128), np.nan, np.float32)
    wide[..., 64:] = batch.q
    expected = config.compiled()(**arguments)
    got = config.compiled()(**{**arguments, "q": wide[..., 64:]})
    assert got[0].tobytes() == expected[0].tobytes()


@pytest.mark.parametrize("layout", ["nhd", "hnd", "interleaved", "layers"])
def test_A16_caches_of_any_strides_give_the_same_bits(call, layout):
    config, batch, arguments = call
    plain = arguments["cache"]
    if layout == "layers":
        stack = np.full((3, 2, *plain.k_pages.shape), np.nan, np.float32)
        stack[1, 0], stack[1, 1] = plain.k_pages, plain.v_pages
        cache = pf.PagedKV(stack[1, 0], stack[1, 1], plain.table, plain.lens)
    else:
        cache = paged(batch, config, np.random.default_rng(18), layout)
    expected, got = config.compiled()(**arguments), config.compiled()(**{**arguments, "cache": cache})
    assert got[0].tobytes() == expected[0].tobytes() and got[1].tobytes() == expected[1].tobytes()


def test_A16_results_go_into_strided_arrays(call):
    config, batch, arguments = call
    expected = config.compiled()(**arguments)
    wide, lse = np.full((4, 8, 80), 7.0, np.float32), np.full((4, 16), 7.0, np.float32)
    returned = config.compiled()(**arguments, out=(wide[..., 8:72], lse[:, 4:12]))
    assert np.array_equal(returned[0], expected[0]) and np.array_equal(returned[1], expected[1])
    assert (
        (wide[..., :8] == 7).all()
        and (wide[..., 72:] == 7).all()
        and (np.delete(lse, range(4, 12), 1) == 7).all()
    )


@pytest.mark.parametrize(
    "break_it, message",
    [
        (lambda q: q[..., ::2].repeat(2, -1)[..., ::2].repeat(1, 0), "q: expects shape"),
        (lambda q: np.asfortranarray(q), "q: expects a contiguous innermost dimension"),
        (
            lambda q: np.frombuffer(b"\0" + q.tobytes(), np.uint8)[1:].view(np.float32).reshape(q.shape),
            "q: expects strides and address",
        ),
        (lambda q: q.astype(q.dtype.newbyteorder()), "q: expects the machine's byte order"),
    ],
)
def test_A16_views_that_cannot_be_read_are_refused(call, break_it, message):
    config, _, arguments = call
    with pytest.raises(ValueError, match=message):
        config.compiled()(**{**arguments, "q": break_it(arguments["q"])})


def test_arrays_come_through_dlpack_without_a_copy(call):
    config, _, arguments = call
    cache = arguments["cache"]
    wrapped = pf.PagedKV(*map(ThroughDLPack, (cache.k_pages, cache.v_pages, cache.table, cache.lens)))
    out = np.zeros((4, 8, 64), np.float32), np.zeros((4, 8), np.float32)
    expected = config.compiled()(**arguments)
    config.compiled()(
        q=ThroughDLPack(arguments["q"]),
        rows=ThroughDLPack(arguments["rows"]),
        cache=wrapped,
        out=tuple(map(ThroughDLPack, out)),
    )
    assert np.array_equal(out[0], expected[0]) and np.array_equal(out[1], expected[1])


def test_torch_tensors_come_through_dlpack(call):
    torch = pytest.importorskip("torch")
    config, _, arguments = call
    cache = arguments["cache"]
    on_torch = lambda array: torch.from_numpy(array)
    wrapped = pf.PagedKV(*map(on_torch, (cache.k_pages, cache.v_pages, cache.table, cache.lens)))
    got = config.compiled()(q=on_torch(arguments["q"]), rows=on_torch(arguments["rows"]), cache=wrapped)
    assert np.array_equal(got[0], config.compiled()(**arguments)[0])


# ---- A18: dtypes and devices -----------------------------------------------------------------------


@pytest.mark.parametrize("part", ["rows", "cache.table", "cache.lens"])
@pytest.mark.parametrize(
    "change, message",
    [
        (lambda array: array.astype(np.int64), "expects dtype i32, got i64"),
        (lambda array: array.astype(np.float32), "expects dtype i32, got f32"),
        (lambda array: np.repeat(array, 2, axis=-1)[..., ::2], "expects a contiguous innermost dimension"),
        (lambda array: array[None], "expects shape"),
        (
            lambda array: ThroughDLPack(array, device=(2, 1)),
            "expects host memory, got a tensor on a GPU",
        ),
        (lambda array: array.tolist(), "expects an array"),
    ],
)
def test_A18_metadata_of_a_wrong_kind_is_refused_by_name(call, part, change, message):
    config, _, arguments = call
    if part == "rows":
        arguments["rows"] = change(arguments["rows"])
    else:
        field = part.partition(".")[2]
        setattr(arguments["cache"], field, change(getattr(arguments["cache"], field)))
    with pytest.raises(ValueError, match=f"{part}: {message}"):
        config.compiled()(**arguments)


def test_A18_a_cache_of_another_dtype_is_refused():
    for dtype, other in (("bf16", "f16"), ("f16", "bf16"), ("bf16", "f32"), ("f32", "f16")):
        config, given = Config(dtype=dtype), Config(dtype=other)
        batch = random_batch(np.random.default_rng(18), config, [1], [20])
        cache = paged(
            random_batch(np.random.default_rng(18), given, [1], [20]), given, np.random.default_rng(1)
        )
        with pytest.raises(ValueError, match=f"cache.k_pages: expects dtype {dtype}, got {other}"):
            run(config, batch, cache=cache)
        with pytest.raises(ValueError, match=f"q: expects dtype {dtype}, got {other}"):
            config.compiled()(
                q=batch.q.astype(storage(other)),
                rows=batch.rows,
                cache=paged(batch, config, np.random.default_rng(1)),
            )


def test_A18_bf16_comes_as_bits_where_numpy_has_no_such_type():
    config = Config(dtype="bf16")
    batch = random_batch(np.random.default_rng(18), config, [1, 2], [20, 3])
    cache = paged(batch, config, np.random.default_rng(1))
    expected = config.compiled()(q=batch.q, rows=batch.rows, cache=cache)
    bits = pf.PagedKV(
        cache.k_pages.view(np.uint16), cache.v_pages.view(np.uint16), cache.table, cache.lens, dtype="bf16"
    )
    out = np.zeros(expected[0].shape, np.uint16), np.zeros(expected[1].shape, np.float32)
    config.compiled()(q=pf.as_tensor(batch.q.view(np.uint16), "bf16"), rows=batch.rows, cache=bits, out=out)
    assert out[0].tobytes() == expected[0].tobytes()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q": np.zeros((4, 8, 32), np.float32)}, r"q: expects shape \[.*8, 64\], got \[4, 8, 32\]"),
        ({"q": np.zeros((4, 512), np.float32)}, "q: expects shape"),
        ({"cache": np.zeros(3)}, "cache: expects a PagedKV, got ndarray"),
        ({"rows": np.zeros(4, np.int32)}, "expects|got"),
        ({"out": np.zeros((4, 8, 64), np.float32)}, "out: expects 2 arrays, got 1"),
        ({"out": (np.zeros((3, 8, 64), np.float32), np.zeros((4, 8), np.float32))}, r"out\[0\]: expects"),
        (
            {"out": (np.zeros((4, 8, 64), np.float16), np.zeros((4, 8), np.float32))},
            r"out\[0\]: expects dtype f32, got f16",
        ),
    ],
)
def test_A18_arguments_that_do_not_fit_are_refused_by_name(call, change, message):
    config, _, arguments = call
    with pytest.raises(ValueError, match=message):
        config.compiled()(**{**arguments, **change})


def test_results_are_not_written_into_read_only_arrays(call):
    config, _, arguments = call
    out = np.zeros((4, 8, 64), np.float32), np.zeros((4, 8), np.float32)
    out[1].flags.writeable = False
    with pytest.raises(ValueError, match=r"out\[1\]: expects an array that can be written"):
        config.compiled()(**arguments, out=out)


def test_arguments_are_bound_by_position_or_by_name(call):
    config, _, arguments = call
    module = config.compiled()
    assert [parameter.name for parameter in module.function().parameters] == ["q", "rows", "cache"]
    expected = module(**arguments)
    assert np.array_equal(module(*arguments.values())[0], expected[0])
    assert np.array_equal(
        module(arguments["q"], cache=arguments["cache"], rows=arguments["rows"])[0], expected[0]
    )
    for args, kwargs, message in [
        ((), {"q": 0}, "missing rows, cache"),
        ((0,), {"q": 0}, "q: given twice"),
        ((), {"x": 0}, "x: no such argument"),
        ((0, 0, 0, 0), {}, "expects 3 arguments, got 4"),
    ]:
        with pytest.raises(TypeError, match=message):
            module(*args, **kwargs)


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("rows", [0, 5, 4], "request"),
        ("rows", [0, 3, 9], "request"),
        ("lens", [20, -1], "request 1"),
        ("lens", [20, 5000], "request 1"),
        ("lens", [20, 160], "request 1"),
    ],
)
def test_A44_lengths_and_offsets_that_break_the_contract_name_their_request(call, field, value, message):
    config, _, arguments = call
    if field == "rows":
        arguments["rows"] = np.array(value, np.int32)
    else:
        arguments["cache"].lens = np.array(value, np.int32)
    with pytest.raises(pf.PagefoldError, match=message):
        config.compiled()(**arguments)


# ---- Modules ---------------------------------------------------------------------------------------


def test_a_module_saved_and_loaded_gives_the_same_bits(call, tmp_path):
    config, _, arguments = call
    module = config.compiled()
    module.save(tmp_path / "attend.pagefold")
    for loaded in (pf.load(tmp_path / "attend.pagefold"), pf.load(module.artifact)):
        assert loaded(**arguments)[0].tobytes() == module(**arguments)[0].tobytes()
        assert loaded.function("attend").plan == loaded.plan == module.plan
    with pytest.raises(pf.PagefoldError, match="nothing"):
        module.function("nothing")


def test_damaged_artifacts_are_refused(call, tmp_path):
    artifact = call[0].compiled().artifact
    for damaged in (b"", artifact[:7], artifact[:100], artifact[:-1], b"X" + artifact[1:], b"\0" * 4096):
        with pytest.raises(pf.PagefoldError):
            pf.load(damaged)


def test_a_function_outlives_the_last_name_of_its_module(call):
    config, _, arguments = call
    function = pf.compile(config.graph()).function()
    assert np.array_equal(function(**arguments)[0], config.compiled()(**arguments)[0])


def test_text_that_does_not_parse_is_a_pagefold_error_with_its_place():
    with pytest.raises(pf.PagefoldError, match="2") as caught:
        pf.compile("func.func @f() {\n  attn.nothing\n}")
    assert caught.value.code in (pf.PagefoldError.INVALID_ARGUMENT, pf.PagefoldError.BAD_INPUT)


def test_explain_tells_the_plan_and_counters_count(call):
    config, _, arguments = call
    module = pf.compile(config.graph(), counters=True)
    assert "kernels" in module.explain()
    with pytest.raises(ValueError, match="a call before"):
        module.function().counters()
    module(**arguments)
    counted = module.function().counters()
    assert counted["tiles_full"] + counted["tiles_partial"] >= 1
    with pytest.raises(ValueError, match="counters=True"):
        config.compiled().function().counters()


def test_scalars_are_numbers():
    with pf.Graph("capped", batch=1, q_len=1, kv_len=64) as g:
        q, rows, cache = g.tokens("q", heads=1, dim=8), g.rows(), g.paged_kv("cache", heads=1, dim=8)
        cap, size = g.scalar("cap"), g.scalar("size", "i32")
        g.returns(
            pf.attention(
                q,
                cache,
                rows=rows,
                scale=1.0,
                score=lambda s, q, k, h: pf.soft_cap(s, cap),
                mask=pf.causal() & pf.window(pf.sym("w", at_least=1)),
                symbols={"w": size},
            )
        )
    module, config = pf.compile(g), Config(heads=1, kv_heads=1, dim=8)
    batch = random_batch(np.random.default_rng(3), config, [1], [40])
    arguments = {"q": batch.q, "rows": batch.rows, "cache": paged(batch, config, np.random.default_rng(3))}
    got = module(**arguments, cap=2.0, size=7)
    expected = reference.attention(
        batch.q,
        batch.keys,
        batch.values,
        batch.rows,
        1.0,
        visible=reference.mask("window", 7),
        score=lambda s, *_: 2 * np.tanh(s / 2),
    )
    assert np.abs(got - expected.out).max() < 1e-5
    with pytest.raises(ValueError, match="size: expects an integer of 32 bits, got 1.5"):
        module(**arguments, cap=2.0, size=1.5)


def test_rows_of_no_request_hold_no_stale_memory(call):
    config, batch, arguments = call
    out, lse = config.compiled()(**{**arguments, "rows": np.array([0, 1, 2], np.int32)})
    assert (out[2:] == 0).all() and (lse[2:] == 0).all()
