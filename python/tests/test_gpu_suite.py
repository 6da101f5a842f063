# test_gpu_suite.py - the machinery of the GPU suite, without a GPU
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That a hanging or failing variant costs one line, and that both machines know the same variants."""

import os
import runpy
import signal
import sys
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "gpu"


@pytest.fixture(scope="module")
def suite():
    """The names of the script, with its folder on the path."""
    sys.path.insert(0, str(FOLDER))
    yield runpy.run_path(str(FOLDER / "gpu-suite"), run_name="suite")
    sys.path.remove(str(FOLDER))


def outcomes(suite, tasks, **options):
    return {name: said for name, said, _ in suite["processes"].run(list(tasks.items()), **options)}


def test_what_becomes_of_a_variant(suite):
    def wrong():
        raise AssertionError("request 1: not finite\nmore")

    tasks = {
        "right": lambda: "ok, 3 %",
        "wrong": wrong,
        "hangs": lambda: time.sleep(60),
        "faults": lambda: os.kill(os.getpid(), signal.SIGKILL),
    }
    said = outcomes(suite, tasks, jobs=4, limit=1.0)
    assert said["right"] == "ok, 3 %"
    assert said["wrong"].startswith("FAILED: AssertionError: request 1: not finite (test_gpu_suite.py:")
    assert said["hangs"] == "FAILED: no end after 1 s"
    assert said["faults"] == "FAILED: ended by SIGKILL"


def test_what_was_late_beside_others_is_tried_alone(suite, tmp_path):
    def late_once():
        if not (tmp_path / "seen").exists():
            (tmp_path / "seen").touch()
            time.sleep(60)
        return "ok"

    tasks = {"late": late_once, "other": lambda: "ok"}
    assert outcomes(suite, tasks, jobs=2, limit=1.0, again_alone=True) == {"late": "ok", "other": "ok"}


def test_a_terminated_run_keeps_what_it_found(suite):
    def terminates():
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(60)

    tasks = {"first": lambda: "ok", "ends it": terminates, "waits": lambda: "ok"}
    said = outcomes(suite, tasks, jobs=1, limit=30.0)
    ended = "FAILED: the run was terminated before its end"
    assert said == {"first": "ok", "ends it": ended, "waits": ended}


def test_variants_have_their_own_names_and_the_cases_are_there(suite):
    variants = suite["registry"].variants(20, 12)
    assert len({v.name for v in variants}) == len({v.file for v in variants}) == len(variants)
    cases = {v.name.split()[0] for v in variants}
    needed = "A01 A03 A04 A06 A07 A08 A10 A12 A14 A16 A19 A20 A22 A26 A28 A29 A31 A32 A37 A38 A39 A42 A43 A65 A66 packed cascade uneven, matrix".split()
    assert not set(needed) - cases


def test_the_same_seed_draws_the_same_graphs(suite):
    drawn = [[(v.name, v.config) for v in suite["registry"].variants(seed, 6)][-6:] for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_options_become_flags(suite):
    flags = suite["flags"]({"splits": 1, "kv_tile": None, "fuse": False, "lazy_rescale": True, "code": "cubin",
                            "batch_invariant": True, "counters": False, "poll_limit": 7})  # fmt: skip
    assert flags == ["--splits=1", "--no-fuse", "--code=cubin", "--batch-invariant", "--poll-limit=7"]
