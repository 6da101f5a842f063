# _tensor.py - arrays of any library as DLTensor, without a copy
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Borrows the memory of numpy arrays and of anything with `__dlpack__` for the time of one call.

On a GPU nothing here waits: that what a tensor holds is written before the launch reads it is a matter of the stream.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import sys

import numpy as np

from . import _abi, _torch

CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA
ANY_DEVICE = -1  # the number of a device that the exporter does not tell

# name: (DLPack code, bits). The names are MLIR's; u8 stands for the bytes of a bitmap, f8e4m3 for float8_e4m3fn.
DTYPES = {
    "f32": (2, 32),
    "f64": (2, 64),
    "f16": (2, 16),
    "bf16": (4, 16),
    "f8e4m3": (10, 8),
    "i8": (0, 8),
    "u8": (1, 8),
    "i32": (0, 32),
    "i64": (0, 64),
    "bool": (6, 8),
}
_DTYPE_NAMES = {code: name for name, code in DTYPES.items()}
_NUMPY_NAMES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
    "int64": "i64",
    "bool": "bool",
}


def numpy_dtype(name: str) -> np.dtype:
    """numpy's dtype for a result. Without ml_dtypes, bf16 comes as its bits in uint16."""
    if name != "bf16":  # no result is of f8e4m3
        numpy_name = next(key for key, value in _NUMPY_NAMES.items() if value == name)
        return np.dtype(numpy_name)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Borrowed memory: valid while `owner` lives. Strides are in elements."""

    data: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: tuple[int, int]
    writable: bool
    owner: object

    def transposed(self, *axes: int) -> Tensor:
        """The same memory with its dimensions in another order."""
        return dataclasses.replace(
            self,
            shape=tuple(self.shape[axis] for axis in axes),
            strides=tuple(self.strides[axis] for axis in axes),
        )

    def on(self, device: int | None) -> Tensor:
        """The same memory, where its exporter did not tell the GPU's number: that of `device`."""
        return dataclasses.replace(self, device=(CUDA, device)) if self.device[1] == ANY_DEVICE else self

    def dl_tensor(self) -> _abi.DLTensor:
        code, bits = DTYPES[self.dtype]
        dims = ctypes.c_int64 * len(self.shape)
        return _abi.DLTensor(
            data=self.data,
            device=_abi.DLDevice(*self.device),
            ndim=len(self.shape),
            dtype=_abi.DLDataType(code, bits, 1),
            shape=dims(*self.shape),
            strides=dims(*self.strides),
            byte_offset=0,
        )


def as_tensor(array, dtype: str | None = None, name: str = "array") -> Tensor:
    """Borrows `array`: a numpy array, or an object with `__dlpack__`, the CUDA array interface or the array interface.

    `dtype` reads the elements as another type of the same width, such as "bf16" for uint16, "f8e4m3" for uint8.
    Raises ValueError, naming the argument `name`, for what cannot be passed without a copy.
    """
    if isinstance(array, Tensor):
        tensor = array
    elif isinstance(array, np.ndarray):
        tensor = _from_numpy(array, name, dtype)
    elif (stored := _torch_bytes(array)) is not None:
        borrowed = _from_dlpack(stored, name, "f8e4m3")
        tensor = dataclasses.replace(borrowed, dtype="f8e4m3", owner=(array, borrowed))
    elif hasattr(array, "__dlpack__"):
        tensor = _from_dlpack(array, name, dtype)
    elif hasattr(array, "__cuda_array_interface__"):
        tensor = _from_cuda_interface(array, name, dtype)
    elif hasattr(array, "__array_interface__"):
        tensor = _from_numpy(np.asarray(array), name, dtype)
    else:
        raise ValueError(f"{name}: expects an array (numpy, or with __dlpack__), got {type(array).__name__}")
    return tensor if dtype is None else dataclasses.replace(tensor, dtype=dtype)


@functools.cache
def _numpy_name(dtype: np.dtype) -> tuple[str, str | None]:
    """numpy's name of a dtype, which it puts together anew for every question, and ours."""
    return dtype.name, _NUMPY_NAMES.get(dtype.name)


def _from_numpy(array: np.ndarray, name: str, dtype: str | None) -> Tensor:
    if not array.dtype.isnative:
        raise ValueError(f"{name}: expects the machine's byte order, got {array.dtype.str}")
    size, flags, (spelled, found) = array.dtype.itemsize, array.flags, _numpy_name(array.dtype)
    if not flags.aligned or any(stride % size for stride in array.strides):
        raise ValueError(f"{name}: expects strides and address to be multiples of its {size}-byte elements")
    return Tensor(
        data=array.__array_interface__["data"][0],
        shape=array.shape,
        strides=tuple([stride // size for stride in array.strides]),
        dtype=_check_dtype(found, spelled, size, name, dtype),
        device=(CPU, 0),
        writable=flags.writeable,
        owner=array,
    )


def _torch_bytes(array):
    """The bytes of a float8_e4m3fn tensor of torch, whose older versions export no such type; None for all else."""
    torch = sys.modules.get("torch")
    f8 = getattr(torch, "float8_e4m3fn", None)
    if f8 is None or not isinstance(array, torch.Tensor) or array.dtype != f8:
        return None
    return array.view(torch.uint8)


def _from_dlpack(array, name: str, dtype: str | None) -> Tensor:
    device = tuple(int(part) for part in array.__dlpack_device__())
    if device[0] not in (CPU, CUDA):
        raise ValueError(
            f"{name}: expects host or CUDA memory, got DLPack device type {device[0]}, id {device[1]}"
        )
    try:
        # -1: the exporter makes no stream wait. Torch exports tensors of the current device alone.
        with _torch.device_guard(device[1] if device[0] == CUDA else None):
            capsule = array.__dlpack__(stream=-1) if device[0] == CUDA else array.__dlpack__()
    except (BufferError, RuntimeError, TypeError) as error:
        raise ValueError(f"{name}: cannot be borrowed through DLPack: {error}") from error
    # An unconsumed capsule frees its tensor when it dies, so holding it is all that borrowing takes.
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _abi.DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[: tensor.ndim])
    found = _DTYPE_NAMES.get((tensor.dtype.code, tensor.dtype.bits))
    spelled = f"DLPack dtype ({tensor.dtype.code}, {tensor.dtype.bits} bits)"
    return Tensor(
        data=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _row_major(shape),
        dtype=_check_dtype(found, spelled, tensor.dtype.bits // 8, name, dtype),
        device=device,
        writable=True,
        owner=(array, capsule),
    )


def _from_cuda_interface(array, name: str, dtype: str | None) -> Tensor:
    interface = array.__cuda_array_interface__
    element, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    spelled, found = _numpy_name(element)
    strides, size = interface.get("strides"), element.itemsize
    if strides is not None and any(stride % size for stride in strides):
        raise ValueError(f"{name}: expects strides to be multiples of its {size}-byte elements")
    address, read_only = interface["data"]
    return Tensor(
        data=address or 0,
        shape=shape,
        strides=_row_major(shape) if strides is None else tuple(stride // size for stride in strides),
        dtype=_check_dtype(found, spelled, size, name, dtype),
        device=(CUDA, ANY_DEVICE),
        writable=not read_only,
        owner=array,
    )


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for dim in reversed(shape):
        strides.append(step)
        step *= dim
    return tuple(reversed(strides))


def _check_dtype(found: str | None, spelled: str, size: int, name: str, wanted: str | None) -> str:
    if wanted is not None and wanted not in DTYPES:
        raise ValueError(f"{name}: expects a dtype of {', '.join(DTYPES)}, got {wanted!r}")
    if wanted is not None and DTYPES[wanted][1] != 8 * size:
        raise ValueError(f"{name}: {wanted} has {DTYPES[wanted][1]} bits, {spelled} has {8 * size}")
    if found is None and wanted is None:
        raise ValueError(f"{name}: expects a dtype of {', '.join(DTYPES)}, got {spelled}")
    return found or wanted
