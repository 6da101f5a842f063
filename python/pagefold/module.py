# module.py - compiled modules: compile, load, call, explain
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a graph to a call.

    module = pagefold.compile(graph)
    out = module(q, cache, rows)              # or module(q=..., cache=..., rows=...)
    module.save("layer.pfb"); pagefold.load("layer.pfb")
"""

from __future__ import annotations

import ctypes
import json
import os
import threading

import numpy as np

from . import _abi
from ._tensor import CPU, Tensor, as_tensor, numpy_dtype
from .cache import PagedKV
from .errors import PagefoldError
from .graph import CacheType, Graph

_CACHE_PARTS = ("k_pages", "v_pages", "table", "lens")
_WORKSPACE_ALIGNMENT = 64


def compile(graph: Graph | str | bytes, *, target: str = "host", q_tile: int | None = None,
            kv_tile: int | None = None, splits: int | None = None, online_softmax: bool = True, fuse: bool = True,
            counters: bool = False) -> Module:
    """Compiles a graph, or the text of one.

    q_tile, kv_tile, splits override the schedule that the compiler would choose. online_softmax=False keeps
    the scores in memory (the baseline), fuse=False leaves each op a kernel of its own, counters=True
    counts the tiles that a call visits.
    """
    schedule = {"q_tile": q_tile, "kv_tile": kv_tile, "splits": splits}
    options = {
        "target": target,
        "schedule": {name: value for name, value in schedule.items() if value is not None},
        "online_softmax": online_softmax,
        "fuse": fuse,
        "counters": counters,
    }
    text = graph if isinstance(graph, bytes) else str(graph).encode()
    artifact, remarks = _compile(text, json.dumps(options).encode())
    return Module(artifact, remarks, graph if isinstance(graph, Graph) else None, counters)


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
    """A loaded artifact. Calling it calls its only function. Safe to use from many threads."""

    def __init__(self, artifact: bytes, remarks: str = "", graph: Graph | None = None, counters: bool = False):
        self._artifact, self._remarks, self._graph, self._counters = artifact, remarks, graph, counters
        self._library = _abi.runtime()
        self._handle = ctypes.c_void_p()
        _abi.check(self._library, self._library.pagefold_module_load(artifact, len(artifact), self._handle))
        self._functions: dict = {}

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.pagefold_module_free(self._handle)

    def function(self, name: str | None = None) -> Function:
        """A function by its name; without a name the only one."""
        if name not in self._functions:
            handle = ctypes.c_void_p()
            encoded = None if name is None else name.encode()
            _abi.check(self._library, self._library.pagefold_module_function(self._handle, encoded, handle))
            self._functions[name] = Function(self, handle)
        return self._functions[name]

    def __call__(self, *args, out=None, **kwargs):
        return self.function()(*args, out=out, **kwargs)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the artifact, for `load` and for runtimes without a compiler."""
        with open(path, "wb") as file:
            file.write(self._artifact)

    @property
    def artifact(self) -> bytes:
        return self._artifact

    @property
    def plan(self) -> dict:
        """The launch plan of the only function."""
        return self.function().plan

    def explain(self) -> str:
        """The decisions taken when it was compiled, and the launch plan."""
        remarks = [self._remarks.rstrip()] if self._remarks.strip() else []
        return "\n".join([*remarks, json.dumps(self.plan, indent=2)])


class Parameter:
    """One argument of a call: one tensor of the plan, or the four of a cache."""

    def __init__(self, name: str, specs: list[dict]):
        self.name, self.specs = name, specs
        self.is_cache = len(specs) == len(_CACHE_PARTS)

    def tensors(self, value) -> list[Tensor]:
        """What `value` passes, checked against the plan."""
        if not self.is_cache:
            return [_checked(as_tensor(value, name=self.name), self.specs[0], self.name)]
        if not isinstance(value, PagedKV):
            raise ValueError(f"{self.name}: expects a PagedKV, got {type(value).__name__}")
        parts = zip(value.tensors(self.name), self.specs, _CACHE_PARTS)
        return [_checked(tensor, spec, f"{self.name}.{part}") for tensor, spec, part in parts]


class Function:
    """A compiled function. `parameters` lists what a call takes."""

    def __init__(self, module: Module, handle):
        self._module, self._handle, self._library = module, handle, module._library
        self._local = threading.local()
        self.plan: dict = json.loads(self._library.pagefold_function_plan_json(handle))
        self.parameters = _parameters(self.plan["args"], module._graph)
        self._result_sources = self._sources_of_results(module._graph)

    def __call__(self, *args, out=None, **kwargs):
        """Calls with arrays in the order of the graph's arguments, or by name.

        Returns the result, or a tuple of them: arrays of `out` (one, or a tuple) when given, else new
        numpy arrays. Nothing that is passed is copied.
        """
        values = self._bind(args, kwargs)
        tensors = [tensor for parameter, value in zip(self.parameters, values) for tensor in parameter.tensors(value)]
        results = self._allocate(tensors) if out is None else _as_tuple(out)
        if len(results) != len(self.plan["results"]):
            raise ValueError(f"out: expects {len(self.plan['results'])} arrays, got {len(results)}")
        tensors += [self._checked_out(index, array, tensors) for index, array in enumerate(results)]
        returned = results[0] if len(results) == 1 else tuple(results) or None
        try:
            self._launch(tensors)
        except PagefoldError as error:
            error.results = returned
            raise
        return returned

    def counters(self) -> dict:
        """Tile counts of this thread's last call, for a module compiled with counters=True."""
        workspace = getattr(self._local, "workspace", None)
        if workspace is None:
            raise ValueError("counters: expects a call before, of a module compiled with counters=True")
        text = ctypes.c_void_p()
        error = self._library.pagefold_function_counters_json(self._handle, workspace.ctypes.data, text)
        _abi.check(self._library, error)
        return json.loads(_abi.take_string(self._library, text))

    # Arguments.

    def _bind(self, args: tuple, kwargs: dict) -> list:
        names = [parameter.name for parameter in self.parameters]
        if len(args) > len(names):
            raise TypeError(f"expects {len(names)} arguments ({', '.join(names)}), got {len(args)}")
        bound = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in bound:
                raise TypeError(f"{name}: {'given twice' if name in bound else 'no such argument'}; "
                                f"expects {', '.join(names)}")
            bound[name] = value
        missing = [name for name in names if name not in bound]
        if missing:
            raise TypeError(f"missing arguments: {', '.join(missing)}")
        return [bound[name] for name in names]

    # Results.

    def _sources_of_results(self, graph: Graph | None) -> list[int]:
        """For each result the index of the flat argument whose first dimension is its own number of tokens.

        A graph knows; else it is the first argument of three dimensions, by custom the query.
        """
        args = self.plan["args"]
        default = next((i for i, spec in enumerate(args) if len(spec["shape"]) == 3), 0)
        if graph is None:
            return [default] * len(self.plan["results"])
        flat = [value.name for value in graph.arguments for _ in (range(4) if _is_cache(value) else range(1))]
        sources = [value.tokens_of for value in graph.results if not _is_cache(value)]
        return [flat.index(source) if source in flat else default for source in sources]

    def _shape(self, index: int, tensors: list[Tensor]) -> tuple[int, ...]:
        tokens = tensors[self._result_sources[index]].shape[0]
        return tuple(tokens if dim is None else dim for dim in self.plan["results"][index]["shape"])

    def _allocate(self, tensors: list[Tensor]) -> tuple[np.ndarray, ...]:
        specs = self.plan["results"]
        return tuple(np.empty(self._shape(i, tensors), numpy_dtype(spec["dtype"])) for i, spec in enumerate(specs))

    def _checked_out(self, index: int, array, tensors: list[Tensor]) -> Tensor:
        spec, name = self.plan["results"][index], "out" if len(self.plan["results"]) == 1 else f"out[{index}]"
        tensor = as_tensor(array, _bits_of_bf16(array, spec["dtype"]), name)
        _checked(tensor, {**spec, "shape": self._shape(index, tensors)}, name)
        if not tensor.writable:
            raise ValueError(f"{name}: expects an array that can be written")
        return tensor

    # The launch.

    def _launch(self, tensors: list[Tensor]) -> None:
        dl_tensors = [tensor.dl_tensor() for tensor in tensors]
        pointers = (ctypes.POINTER(_abi.DLTensor) * len(dl_tensors))(*map(ctypes.pointer, dl_tensors))
        workspace, size = self._workspace()
        error = self._library.pagefold_function_launch(self._handle, pointers, len(dl_tensors), workspace, size, None)
        _abi.check(self._library, error)

    def _workspace(self) -> tuple[int | None, int]:
        """Counters are read from the workspace, so it is kept; else the launch takes one of its own."""
        if not self._module._counters:
            return None, 0
        if not hasattr(self._local, "workspace"):
            size = max(self._library.pagefold_function_workspace_size(self._handle), 1)
            memory = np.empty(size + _WORKSPACE_ALIGNMENT, np.uint8)
            start = -memory.ctypes.data % _WORKSPACE_ALIGNMENT
            self._local.workspace = memory[start : start + size]
            data = self._local.workspace.ctypes.data
            _abi.check(self._library, self._library.pagefold_workspace_init(self._handle, data, size, None))
        return self._local.workspace.ctypes.data, self._local.workspace.size


def _is_cache(value) -> bool:
    return isinstance(value.type, CacheType)


def _as_tuple(value) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _bits_of_bf16(array, dtype: str) -> str | None:
    """numpy without ml_dtypes holds bf16 as uint16."""
    return "bf16" if dtype == "bf16" and isinstance(array, np.ndarray) and array.dtype == np.uint16 else None


def _parameters(specs: list[dict], graph: Graph | None) -> list[Parameter]:
    """Groups the flat arguments of a plan: four in a row, named x.k_pages to x.lens, are the cache x."""
    names = [value.name for value in graph.arguments] if graph else []
    parameters, index = [], 0
    while index < len(specs):
        base, _, part = specs[index]["name"].rpartition(".")
        count = 4 if part == _CACHE_PARTS[0] else 1
        name = names[len(parameters)] if len(parameters) < len(names) else base if count == 4 else specs[index]["name"]
        parameters.append(Parameter(name, specs[index : index + count]))
        index += count
    return parameters


def _checked(tensor: Tensor, spec: dict, name: str) -> Tensor:
    """`tensor`, when it fits what the plan says of the argument; ValueError else."""
    dtype, shape = spec["dtype"], spec["shape"]
    if tensor.dtype != dtype and (tensor.dtype, dtype) != ("u8", "i8"):
        raise ValueError(f"{name}: expects dtype {dtype}, got {tensor.dtype}")
    if len(tensor.shape) != len(shape) or any(need not in (None, have) for need, have in zip(shape, tensor.shape)):
        needed = ", ".join("?" if dim is None else str(dim) for dim in shape)
        raise ValueError(f"{name}: expects shape [{needed}], got {list(tensor.shape)}")
    if tensor.device[0] != CPU:
        raise ValueError(f"{name}: expects host memory, got DLPack device {tensor.device}")
    if tensor.shape and tensor.shape[-1] > 1 and tensor.strides[-1] != 1:
        raise ValueError(f"{name}: expects a contiguous innermost dimension, got strides {list(tensor.strides)}")
    return tensor
