# processes.py - work in processes of their own, under a time limit
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel that hangs or faults takes its process with it, and no more. Children are forked from a process that has loaded
its modules and has touched no GPU, so that starting one costs a CUDA context and nothing else."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import tempfile
import time
import traceback


@dataclasses.dataclass
class _Child:
    name: str
    work: object
    pid: int
    output: object  # a file: what the work returned, or what went wrong
    began: float


def _start(name: str, work) -> _Child:
    output = tempfile.TemporaryFile("w+")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _in_child(work, output)
    return _Child(name, work, pid, output, time.monotonic())


def _in_child(work, output) -> None:
    """Never returns."""
    status = 0
    try:
        output.write(work() or "")
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        first = (str(error).strip().splitlines() or [""])[0]
        output.write(
            f"FAILED: {type(error).__name__}: {first} ({os.path.basename(last.filename)}:{last.lineno})"
        )
        status = 1
    output.flush()
    os._exit(status)  # no clean-up: it could wait for a GPU


def _outcome(child: _Child, status: int) -> str:
    child.output.seek(0)
    said = child.output.read()
    child.output.close()
    if os.WIFSIGNALED(status):
        return f"FAILED: ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return said


def _end(child: _Child) -> None:
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    child.output.close()


def run(tasks, jobs: int, limit: float, again_alone: bool = False) -> list[tuple[str, str, float]]:
    """Runs (name, function) pairs, `jobs` at a time; returns (name, what the function returned or "FAILED: ...", seconds).

    again_alone: what did not end in time beside others gets a second chance by itself, for one kernel that hangs slows
    all others down. SIGTERM, as of a time limit on all of it, ends what runs: the rest is "FAILED: ...", and what was
    found is returned.
    """
    terminated = []
    before = signal.signal(signal.SIGTERM, lambda *_: terminated.append(True))
    try:
        return _run(tasks, jobs, limit, again_alone, terminated)
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(tasks, jobs: int, limit: float, again_alone: bool, terminated: list) -> list[tuple[str, str, float]]:
    waiting, running, done, late = list(reversed(tasks)), [], [], []
    while waiting or running:
        if terminated:
            for child in running:
                _end(child)
            names = [child.name for child in running] + [name for name, _ in [*waiting, *late]]
            return done + [(name, "FAILED: the run was terminated before its end", 0.0) for name in names]
        while waiting and len(running) < jobs:
            running.append(_start(*waiting.pop()))
        for child in list(running):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            seconds = time.monotonic() - child.began
            if pid == 0 and seconds <= limit:
                continue
            running.remove(child)
            if pid:
                done.append((child.name, _outcome(child, status), seconds))
                continue
            _end(child)
            if again_alone and jobs > 1:
                late.append((child.name, child.work))
            else:
                done.append((child.name, f"FAILED: no end after {limit:.0f} s", seconds))
        time.sleep(0.01)
    return done + (_run(late, 1, limit, False, terminated) if late else [])
