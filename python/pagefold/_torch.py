# _torch.py - what is asked of torch, where a program uses it
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results, streams and devices of torch. Nothing here imports torch: who passes its tensors has done so."""

from __future__ import annotations

import contextlib
import sys

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._tensor import Tensor

_DTYPES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
    "i64": "int64",
    "bool": "bool",
}


def device_of(tensors: list[Tensor], memory: int):
    """The device of the first torch tensor among the arguments in a kind of memory; None where there is none."""
    torch = sys.modules.get("torch")
    for tensor in tensors if torch else ():
        array = tensor.owner[0] if isinstance(tensor.owner, tuple) else tensor.owner
        if tensor.device[0] == memory and isinstance(array, torch.Tensor):
            return array.device
    return None


def zeros(shape: tuple[int, ...], dtype: str, device):
    torch = sys.modules["torch"]
    return torch.zeros(shape, dtype=getattr(torch, _DTYPES[dtype]), device=device)


def bytes(size: int, device: int):
    """Memory of a GPU."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise ValueError("counters: on a GPU they need torch, for a workspace to count in")
    return torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")


def wait(tensor) -> None:
    """Until what has been enqueued on the tensor's GPU is done."""
    sys.modules["torch"].cuda.synchronize(tensor.device)


def _cuda():
    """torch.cuda, where it has a context."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None


def device_guard(device: int | None):
    """Makes a GPU current, as torch sees it, for a block."""
    cuda = None if device is None else _cuda()
    return cuda.device(device) if cuda else contextlib.nullcontext()


def stream_handle(stream, device: int) -> int:
    """The CUstream of what a call passes as stream; 0 is the default one."""
    if stream is None:
        cuda = _cuda()
        return cuda.current_stream(device).cuda_stream if cuda else 0
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr"):  # torch, cupy
        if isinstance(handle := getattr(stream, name, None), int):
            return handle
    raise ValueError(f"stream: expects a number or a stream of torch or cupy, got {type(stream).__name__}")
