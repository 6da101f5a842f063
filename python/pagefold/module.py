# module.py - compiled modules: compile, load, save, explain
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a graph to a module.

module = pagefold.compile(graph)
out = module(q, cache, rows)              # or module(q=..., cache=..., rows=...)
module.save("layer.pagefold"); pagefold.load("layer.pagefold")
"""

from __future__ import annotations

import ctypes
import json
import os

from . import _abi
from .function import Function
from .graph import Graph, bounds_text


# Options that the compiler takes in an object of their own.
_SCHEDULE = ("form", "q_tile", "kv_tile", "splits")


def compile(
    graph: Graph | str | bytes,
    *,
    target: str = "host",
    cpu: str | None = None,
    bounds: str | list[dict] | None = None,
    code: str = "ptx",
    form: str | None = None,
    q_tile: int | None = None,
    kv_tile: int | None = None,
    splits: int | None = None,
    online_softmax: bool = True,
    cascade: str = "auto",
    fuse: bool = True,
    overlap_products: bool = True,
    lazy_rescale: bool = True,
    sections: bool = True,
    overlap_launches: bool = True,
    stage_queries: bool = True,
    fuse_append: bool = True,
    join_rows: bool = True,
    split_rows: bool = True,
    pack_groups: bool = True,
    batch_invariant: bool = False,
    strict: bool = False,
    counters: bool = False,
    poll_limit: int | None = None,
    keep_graph: bool = False,
    cache: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    cache_max_bytes: int | None = None,
) -> Module:
    """Compiles a graph, or the text of one.

    target is "host" or "cuda" (Hopper; code="cubin" assembles with CUDA's ptxas, where "ptx" leaves that to the
    driver); cpu is a processor of the host by LLVM's name. bounds declares maxima in place of the graph's, as
    [{"batch": 64, "q_len": 1, "kv_len": 8192}, ...] or as text, smaller ones first; with several each function is compiled
    for each, and `Module.function("layer", batch=3, q_len=1, kv_len=500)` finds the one for a batch.
    form, q_tile, kv_tile, splits override the schedule that
    the compiler would choose: form is "outer" or "dot" on the host, "streaming" or "pipelined" on cuda, and "simt" on
    both, where the host plays the GPU's threads. online_softmax=False keeps the scores in memory (the baseline),
    fuse=False leaves each op a kernel of its own; overlap_products, lazy_rescale and sections=False leave out what
    makes cuda fast, to see what it is worth. stage_queries=False keeps the ops of queries in the attention kernel on
    cuda, which then takes the form "simt"; split_rows=False gives requests of few rows no kernel of their own there, and
    pack_groups=False each head query tiles of its own where requests have few rows.
    fuse_append=False keeps the append out of the kernel that streams keys, join_rows=False makes each append and each
    change of rows a kernel of its own, overlap_launches=False starts a kernel
    when the one before it has ended. cascade: whether attention over a cache with a shared_prefix reads it once for all
    requests: "auto" (where it pays), "always" or "off".

    strict=True makes an error of every fallback: of what is slower than it could be and was not asked for.
    batch_invariant=True makes a request's bits independent of its neighbours. counters=True counts the tiles that a
    call visits, poll_limit ends a kernel of cuda that waits for so many polls, keep_graph=True keeps the graph in the
    artifact, for pagefold-run.

    What was compiled before is taken from memory or from disk: cache is "disk" (and memory), "memory" or "off",
    cache_dir the directory, cache_max_bytes what it may hold. Left out, the environment says (PAGEFOLD_CACHE,
    PAGEFOLD_CACHE_DIR, PAGEFOLD_CACHE_MAX_BYTES), else it is "disk", in the user's cache folder, 1 GiB.
    """
    options = {name: value for name, value in locals().items() if name != "graph" and value is not None}
    options["schedule"] = {name: options.pop(name) for name in _SCHEDULE if name in options}
    if bounds is not None and not isinstance(bounds, str):
        options["bounds"] = "; ".join(bounds_text(**entry) for entry in bounds)
    if cache_dir is not None:
        options["cache_dir"] = os.fspath(cache_dir)
    text = graph if isinstance(graph, bytes) else str(graph).encode()
    artifact, remarks = _compile(text, json.dumps(options).encode())
    return Module(artifact, remarks)


def _compile(text: bytes, options: bytes) -> tuple[bytes, str]:
    library = _abi.compiler()
    data, size, remarks = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
    _abi.check(library, library.pagefold_compile(text, len(text), options, data, size, remarks))
    try:
        return ctypes.string_at(data.value, size.value), _abi.take_string(library, remarks)
    finally:
        library.pagefold_bytes_free(data)


def load(source: str | os.PathLike | bytes) -> Module:
    """Loads an artifact from a file or from its bytes. No compiler is needed."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Module(bytes(source))
    with open(source, "rb") as file:
        return Module(file.read())


def set_num_threads(threads: int) -> None:
    """Threads that launches on the host use; the machine's cores at first."""
    library = _abi.runtime()
    _abi.check(library, library.pagefold_set_num_threads(threads))


class Module:
    """A loaded artifact. Calling it calls its only function. Many threads may use it at once."""

    def __init__(self, artifact: bytes, remarks: str = ""):
        self.artifact = artifact
        # The artifact holds the rest.
        lines = remarks.splitlines(keepends=True)
        self._remarks = "".join(line for line in lines if " artifact-cache: " in line)
        self._handle = ctypes.c_void_p()
        self._library = _abi.runtime()
        _abi.check(self._library, self._library.pagefold_module_load(artifact, len(artifact), self._handle))
        self._by_name: dict[str | None, Function] = {}
        self._by_handle: dict[int, Function] = {}

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.pagefold_module_free(self._handle)

    def function(
        self,
        name: str | None = None,
        *,
        batch: int | None = None,
        q_len: int | None = None,
        kv_len: int | None = None,
        tokens: int | None = None,
    ) -> Function:
        """A function by its name; without a name the only one.

        With batch, q_len and kv_len (and tokens, batch x q_len when left out) the variant of the graph of that name for
        such a batch: the first in the order of the graph's declared maxima that hold it.
        """
        extent, encoded = (batch, q_len, kv_len), None if name is None else name.encode()
        if extent == (None, None, None) and tokens is None:
            if name not in self._by_name:
                self._by_name[name] = self._found(self._library.pagefold_module_function, encoded)
            return self._by_name[name]
        if None in extent:
            raise ValueError("function: expects batch, q_len and kv_len together, or none of them")
        return self._found(self._library.pagefold_module_function_for, encoded, *extent, tokens or 0)

    def _found(self, find, *wanted) -> Function:
        handle = ctypes.c_void_p()
        _abi.check(self._library, find(self._handle, *wanted, handle))
        if handle.value not in self._by_handle:
            self._by_handle[handle.value] = Function(self._library, handle, owner=self)
        return self._by_handle[handle.value]

    def __call__(self, *args, out=None, stream=None, **kwargs):
        return self.function()(*args, out=out, stream=stream, **kwargs)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the artifact, for `load` and for runtimes without a compiler."""
        with open(path, "wb") as file:
            file.write(self.artifact)

    @property
    def plan(self) -> dict:
        """The launch plan of the only function."""
        return self.function().plan

    def explain(self, format: str = "text") -> str:
        """What the only function was compiled to, and why: docs/explain.md. format is "text" or "json".

        Text ends with what became of the artifact where it was compiled in this process (not kept by save).
        """
        explained = self.function().explain(format=format)
        return explained if format == "json" else explained + self._remarks

    @property
    def explanation(self) -> dict:
        """The JSON of `explain`, as a dictionary."""
        return self.function().explain()
