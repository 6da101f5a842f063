# function.py - calling a compiled function with arrays
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the arguments of a call against the launch plan, makes room for the results, launches."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import json
import threading

import numpy as np

from . import _abi, _torch
from ._tensor import ANY_DEVICE, CPU, CUDA, Tensor, as_tensor, numpy_dtype
from .cache import PagedKV
from .errors import PagefoldError

_CACHE_PARTS = ("k_pages", "v_pages", "table", "lens", "k_scale", "v_scale")
_WORKSPACE_ALIGNMENT = 64


class Parameter:
    """What a call passes under one name: a tensor, a number, or the tensors of a cache.

    `specs` are entries of the plan: name, dtype, shape, access.
    """

    def __init__(self, name: str, specs: list[dict]):
        self.name, self.specs = name, specs

    def __repr__(self):
        kinds = ", ".join("{dtype} {shape}".format(**spec) for spec in self.specs)
        return f"Parameter({self.name}: {kinds})"

    def tensors(self, value, memory: int) -> list[Tensor]:
        """The tensors that `value` passes; ValueError, naming the argument, for what does not fit.

        `memory` is the DLPack device type that the function works in.
        """
        if len(self.specs) > 1:
            if not isinstance(value, PagedKV):
                raise ValueError(f"{self.name}: expects a PagedKV, got {type(value).__name__}")
            tensors = value.tensors(self.name)
            if len(tensors) != len(self.specs):
                needed = "k_scale and v_scale" if len(tensors) < len(self.specs) else "no scales"
                raise ValueError(f"{self.name}: expects {needed} for pages of {self.specs[0]['dtype']}")
        elif isinstance(value, (int, float)) and not self.specs[0]["shape"]:
            tensors = [_number(value, self.specs[0])]
        else:
            tensors = [as_tensor(value, _stored_as_bits(value, self.specs[0]), self.name)]
        return [_fitted(tensor, spec, memory) for tensor, spec in zip(tensors, self.specs)]


class Function:
    """A compiled function; `parameters` lists what a call takes, `plan` is its launch plan."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p, owner):
        self._library, self._handle = library, handle
        self._owner = owner  # the handle lives as long as the module does
        self._local = threading.local()
        self.plan: dict = json.loads(library.pagefold_function_plan_json(handle))
        self.parameters = _parameters(_specs(self.plan["args"]))
        self._results = _specs(self.plan["results"])
        self._memory = CUDA if self.plan.get("target", {}).get("kind") == "cuda" else CPU

    def __call__(self, *args, out=None, stream=None, **kwargs):
        """Calls with arrays in the order of the graph's arguments, or by name.

        Returns the result, or a tuple of them: the arrays of `out` (one, or a tuple) when given, else new
        ones: torch tensors where an argument is one, numpy arrays where none is. Nothing that is passed is copied.

        Compiled for a GPU the call enqueues kernels on `stream` and returns: a number (a CUstream), or an object of
        torch or cupy; without one on torch's current stream, where torch is in use, else on the default one. The
        error of a request comes with the next call, or by `check`.
        """
        values = zip(self.parameters, self._bind(args, kwargs))
        tensors = [tensor for parameter, value in values for tensor in parameter.tensors(value, self._memory)]
        dims = _Dims(self.plan.get("bounds", {}))
        for tensor, spec in zip(tensors, (spec for parameter in self.parameters for spec in parameter.specs)):
            dims.bind(tensor, spec)
        results = (
            self._allocate(dims, tensors)
            if out is None
            else out if isinstance(out, (tuple, list)) else (out,)
        )
        returned = results[0] if len(results) == 1 else tuple(results) or None
        try:
            self._launch(tensors + self._checked_results(results, dims), stream)
        except PagefoldError as error:
            if self._memory == CPU:  # a GPU's error is of an earlier call
                error.results = results
            raise
        return returned

    def explain(self, *args, format: str = "dict", milliseconds: float = 0.0, **kwargs) -> dict | str:
        """What a call with these arguments would do, against the roofline of the chip: docs/explain.md.

        Without any argument the compile is explained alone. Nothing is launched, but lengths and offsets are read, which
        waits for a GPU; arguments of a function for a GPU may be arrays of the host here, and then no GPU is needed.
        `milliseconds` is what a call took, where it was measured. format is "dict", or "text" or "json" for its text.
        """
        tensors = []
        if args or kwargs:
            memory = self._memory_of(args, kwargs)
            values = zip(self.parameters, self._bind(args, kwargs))
            tensors = [tensor for parameter, value in values for tensor in parameter.tensors(value, memory)]
        device = _device_of(tensors)
        dl_tensors = [tensor.on(device).dl_tensor() for tensor in tensors]
        pointers = (ctypes.POINTER(_abi.DLTensor) * len(dl_tensors))(*map(ctypes.pointer, dl_tensors))
        text = ctypes.c_void_p()
        error = self._library.pagefold_function_explain(
            self._handle,
            pointers if dl_tensors else None,
            len(dl_tensors),
            milliseconds,
            ("json" if format == "dict" else format).encode(),
            text,
        )
        _abi.check(self._library, error)
        explained = _abi.take_string(self._library, text)
        return json.loads(explained) if format == "dict" else explained

    def _memory_of(self, args: tuple, kwargs: dict) -> int:
        """Where the arguments of an explanation lie: those of a function for a GPU may be the host's."""
        for value in itertools.chain(args, kwargs.values()) if self._memory == CUDA else ():
            array = value.k_pages if isinstance(value, PagedKV) else value
            if not isinstance(array, (int, float, np.ndarray)) and as_tensor(array).device[0] == CUDA:
                return CUDA
        return CPU

    def check(self) -> None:
        """Raises the error that a call on a GPU has left, once its stream has been waited for."""
        _abi.check(self._library, self._library.pagefold_function_check(self._handle))

    def counters(self) -> dict:
        """Tile counts of this thread's last call, for a module compiled with counters=True. Waits for a GPU."""
        workspace = getattr(self._local, "last_workspace", None)
        if workspace is None:
            raise ValueError("counters: expects a call before, of a module compiled with counters=True")
        if self._memory == CUDA:
            _torch.wait(workspace)
        text = ctypes.c_void_p()
        data = as_tensor(workspace).data
        error = self._library.pagefold_function_counters_json(self._handle, data, text)
        _abi.check(self._library, error)
        return json.loads(_abi.take_string(self._library, text))

    def _bind(self, args: tuple, kwargs: dict) -> list:
        names = [parameter.name for parameter in self.parameters]
        takes = f"the function takes {', '.join(names)}"
        if len(args) > len(names):
            raise TypeError(f"expects {len(names)} arguments, got {len(args)}; {takes}")
        bound = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in bound:
                raise TypeError(f"{name}: {'given twice' if name in bound else 'no such argument'}; {takes}")
            bound[name] = value
        if missing := [name for name in names if name not in bound]:
            raise TypeError(f"missing {', '.join(missing)}; {takes}")
        return [bound[name] for name in names]

    def _allocate(self, dims: _Dims, arguments: list[Tensor]) -> tuple:
        shapes = [(dims.shape(spec), spec["dtype"]) for spec in self._results]
        # Zeros, since rows that no request owns are not written: no stale memory in a result.
        if device := _torch.device_of(arguments, self._memory):
            return tuple(_torch.zeros(shape, dtype, device) for shape, dtype in shapes)
        if self._memory == CUDA and shapes:
            raise ValueError(
                "out: expects tensors for the results, since no argument is a torch tensor on a GPU"
            )
        return tuple(np.zeros(shape, numpy_dtype(dtype)) for shape, dtype in shapes)

    def _checked_results(self, results, dims: _Dims) -> list[Tensor]:
        if len(results) != len(self._results):
            raise ValueError(f"out: expects {len(self._results)} arrays, got {len(results)}")
        tensors = []
        for index, (array, spec) in enumerate(zip(results, self._results)):
            spec = {**spec, "name": "out" if len(results) == 1 else f"out[{index}]", "access": "write"}
            tensor = _fitted(
                as_tensor(array, _stored_as_bits(array, spec), spec["name"]), spec, self._memory
            )
            dims.bind(tensor, spec)
            tensors.append(tensor)
        return tensors

    def _launch(self, tensors: list[Tensor], stream) -> None:
        device = _device_of(tensors) if self._memory == CUDA else None
        dl_tensors = [tensor.on(device).dl_tensor() for tensor in tensors]
        pointers = (ctypes.POINTER(_abi.DLTensor) * len(dl_tensors))(*map(ctypes.pointer, dl_tensors))
        with _torch.device_guard(device):
            handle = None if device is None else _torch.stream_handle(stream, device)
            workspace, size = self._workspace(device, handle)
            error = self._library.pagefold_function_launch(
                self._handle, pointers, len(dl_tensors), workspace, size, handle
            )
        _abi.check(self._library, error)

    def _workspace(self, device: int | None, stream: int | None) -> tuple[int | None, int]:
        """Counters are read from the workspace, so that it is kept; else the launch takes one of its own."""
        if self.plan.get("counters") is None:
            return None, 0
        kept = self._local.__dict__.setdefault("workspaces", {})
        if (device, stream) not in kept:
            kept[device, stream] = self._new_workspace(device, stream)
        self._local.last_workspace = kept[device, stream]
        tensor = as_tensor(self._local.last_workspace)
        return tensor.data, tensor.shape[0]

    def _new_workspace(self, device: int | None, stream: int | None):
        size = self._library.pagefold_function_workspace_size(self._handle)
        if device is None:
            memory = np.empty(size + _WORKSPACE_ALIGNMENT, np.uint8)
        else:
            memory = _torch.bytes(size + _WORKSPACE_ALIGNMENT, device)
        start = -as_tensor(memory).data % _WORKSPACE_ALIGNMENT
        memory = memory[start : start + size]
        data = as_tensor(memory).data
        _abi.check(self._library, self._library.pagefold_workspace_init(self._handle, data, size, stream))
        return memory


# ---- The plan's arguments ---------------------------------------------------------------------------


def _specs(entries: list[dict]) -> list[dict]:
    """Entries of the plan, with sizes that are known at launch only by their names instead of null."""
    return [{**entry, "shape": entry.get("symbolic_shape", entry["shape"])} for entry in entries]


def _parameters(specs: list[dict]) -> list[Parameter]:
    """Groups the arguments: those in a row from x.k_pages that are parts of x are the cache x."""
    parameters, index = [], 0
    while index < len(specs):
        name, _, part = specs[index]["name"].rpartition(".")
        group = specs[index : index + 1]
        if name and part == _CACHE_PARTS[0]:
            parts = {f"{name}.{part}" for part in _CACHE_PARTS}
            group = list(itertools.takewhile(lambda spec: spec["name"] in parts, specs[index:]))
        else:
            name = specs[index]["name"]
        parameters.append(Parameter(name, group))
        index += len(group)
    return parameters


class _Dims:
    """Sizes that the plan names: the first argument that has a name says what it is, later ones must agree."""

    def __init__(self, bounds: dict):
        self._bounds = bounds
        self._sizes: dict[str, tuple[int, str]] = {}  # with the argument that said so

    def bind(self, tensor: Tensor, spec: dict) -> None:
        for dim, size in zip(spec["shape"], tensor.shape):
            if not isinstance(dim, str):
                continue
            symbol, extra = _split(dim)
            known, by = self._sizes.setdefault(symbol, (size - extra, spec["name"]))
            if known != size - extra:
                raise ValueError(
                    f"{spec['name']}: expects {dim} = {known + extra} as {by} has it, got shape {list(tensor.shape)}"
                )
            if known > self._bounds.get(symbol, known):
                raise ValueError(
                    f"{spec['name']}: expects at most {self._bounds[symbol]} {symbol}, the graph's bound, got {known}"
                )

    def shape(self, spec: dict) -> tuple[int, ...]:
        """The shape of a result."""
        return tuple(self._size(dim, spec["name"]) for dim in spec["shape"])

    def _size(self, dim, name: str) -> int:
        if isinstance(dim, int):
            return dim
        symbol, extra = _split(dim) if dim is not None else (None, 0)
        if symbol not in self._sizes:
            raise ValueError(
                f"out: expects arrays for the results, since no argument says how large {name} is"
            )
        return self._sizes[symbol][0] + extra


def _split(dim: str) -> tuple[str, int]:
    """A symbol and what is added to it: "batch+1" is ("batch", 1)."""
    symbol, _, extra = dim.partition("+")
    return symbol.strip(), int(extra or 0)


def _misplaced(spec: dict, memory: int) -> str:
    if memory == CPU:
        return "expects host memory, got a tensor on a GPU; copy it to the host, or compile with target='cuda'"
    if spec.get("scalar"):
        return "expects a number or host memory, got a tensor on a GPU, which a call would have to wait for"
    return "expects a tensor on a GPU, got host memory; copy it to the GPU, or compile with target='host'"


def _number(value: int | float, spec: dict) -> Tensor:
    """A Python number as a tensor without dimensions."""
    integer = spec["dtype"] == "i32"
    if integer and not (isinstance(value, int) and -(2**31) <= value < 2**31):
        raise ValueError(f"{spec['name']}: expects an integer of 32 bits, got {value}")
    return as_tensor(np.array(value, np.int32 if integer else np.float32), name=spec["name"])


def _stored_as_bits(array, spec: dict) -> str | None:
    """numpy without ml_dtypes holds bf16 as uint16."""
    return "bf16" if spec["dtype"] == "bf16" and getattr(array, "dtype", None) == np.uint16 else None


def _device_of(tensors: list[Tensor]) -> int:
    """The GPU of a call: that of the first tensor that says where it lies."""
    devices = [number for kind, number in (tensor.device for tensor in tensors) if kind == CUDA]
    return next((number for number in devices if number != ANY_DEVICE), 0)


def _fitted(tensor: Tensor, spec: dict, memory: int) -> Tensor:
    """`tensor`, where it fits what the plan says of the argument; else ValueError."""
    name, dtype, shape = spec["name"], spec["dtype"], spec["shape"]
    if {tensor.dtype, dtype} == {"u8", "i8"}:  # bytes are bytes: a bitmap comes as either
        tensor = dataclasses.replace(tensor, dtype=dtype)
    if tensor.dtype != dtype:
        raise ValueError(f"{name}: expects dtype {dtype}, got {tensor.dtype}")
    fits = all(not isinstance(need, int) or need == have for need, have in zip(shape, tensor.shape))
    if len(tensor.shape) != len(shape) or not fits:
        needed = ", ".join("?" if dim is None else str(dim) for dim in shape)
        raise ValueError(f"{name}: expects shape [{needed}], got {list(tensor.shape)}")
    if tensor.device[0] != (CPU if spec.get("scalar") else memory):
        raise ValueError(f"{name}: {_misplaced(spec, memory)}")
    # numpy gives arrays without elements strides of 0.
    if tensor.shape and tensor.shape[-1] > 1 and tensor.strides[-1] != 1 and 0 not in tensor.shape:
        raise ValueError(
            f"{name}: expects a contiguous innermost dimension, got strides {list(tensor.strides)}"
        )
    if "write" in spec.get("access", "read") and not tensor.writable:
        raise ValueError(f"{name}: expects an array that can be written")
    return tensor
