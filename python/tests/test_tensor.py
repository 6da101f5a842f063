# test_tensor.py - memory is borrowed, not copied
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import gc
import sys
import types

import numpy as np
import pytest

import pagefold as pf


class ThroughDLPack:
    """Shows an array through DLPack alone, as another library would."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("wrap", [lambda array: array, ThroughDLPack])
def test_A16_views_are_described_as_they_lie(wrap):
    array = np.arange(4 * 6 * 8, dtype=np.float32).reshape(4, 6, 8)
    for view in (array, array[1:, ::2, 2:], array.swapaxes(0, 1), array[::-1], array[:0], array[2, 3]):
        tensor = pf.as_tensor(wrap(view))
        assert tensor.shape == view.shape and tensor.dtype == "f32"
        if view.size:
            assert tensor.data == view.ctypes.data
            assert [4 * stride for stride in tensor.strides] == list(view.strides)
        described = tensor.dl_tensor()
        assert described.shape[: described.ndim] == list(view.shape) and described.device.device_type == 1


@pytest.mark.parametrize("wrap", [lambda array: array, ThroughDLPack])
def test_what_is_borrowed_is_given_back(wrap):
    array = np.zeros((3, 4), np.float32)
    before = sys.getrefcount(array)
    tensors = [pf.as_tensor(wrap(array)) for _ in range(10)]
    assert sys.getrefcount(array) >= before + 10  # kept alive as long as it is in use
    del tensors
    gc.collect()
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize(
    "dtype, name",
    [
        (np.float16, "f16"),
        (np.int8, "i8"),
        (np.uint8, "u8"),
        (np.int32, "i32"),
        (np.int64, "i64"),
        (np.bool_, "bool"),
    ],
)
def test_dtypes(dtype, name):
    array = np.zeros(3, dtype)
    assert pf.as_tensor(array).dtype == pf.as_tensor(ThroughDLPack(array)).dtype == name


def test_8_bit_floats_are_a_dtype_of_ml_dtypes_or_bytes():
    assert pf.as_tensor(np.zeros(3, np.uint8), "f8e4m3").dtype == "f8e4m3"
    assert pf.as_tensor(ThroughDLPack(np.zeros(3, np.uint8)), "f8e4m3").dtype == "f8e4m3"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tensor = pf.as_tensor(np.zeros(3, ml_dtypes.float8_e4m3fn))
    described = tensor.dl_tensor().dtype
    assert (tensor.dtype, described.code, described.bits) == ("f8e4m3", 10, 8)
    with pytest.raises(ValueError, match="x: expects a dtype of .*, got float8_e5m2"):
        pf.as_tensor(np.zeros(3, ml_dtypes.float8_e5m2), name="x")


def test_bf16_is_a_dtype_of_ml_dtypes_or_bits():
    assert pf.as_tensor(np.zeros(3, np.uint16), "bf16").dtype == "bf16"
    assert pf.as_tensor(ThroughDLPack(np.zeros(3, np.uint16)), "bf16").dtype == "bf16"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert pf.as_tensor(np.zeros(3, ml_dtypes.bfloat16)).dtype == "bf16"


@pytest.mark.parametrize(
    "array, dtype, message",
    [
        (np.zeros(3, np.complex64), None, "x: expects a dtype of .*, got complex64"),
        (np.zeros(3, np.uint16), None, "x: expects a dtype of .*, got uint16"),
        (np.zeros(3, np.float32), "bf16", "x: bf16 has 16 bits, float32 has 32"),
        (np.zeros(3, np.float32), "half", "x: expects a dtype of .*, got 'half'"),
        (np.zeros(3, ">f4"), None, "x: expects the machine's byte order, got >f4"),
        (np.zeros(13, np.uint8)[1:].view(np.float32), None, "x: expects strides and address"),
        ([1, 2], None, "x: expects an array .*, got list"),
        (
            ThroughDLPack(np.zeros(3), device=(10, 1)),
            None,
            "x: expects host or CUDA memory, got DLPack device type 10, id 1",
        ),
    ],
)
def test_A18_what_cannot_be_borrowed_is_refused_by_name(array, dtype, message):
    with pytest.raises(ValueError, match=message):
        pf.as_tensor(array, dtype, "x")


def test_torch_tensors_are_borrowed():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros((3, 4), dtype=torch.bfloat16)[:, 1:]
    borrowed = pf.as_tensor(tensor)
    assert (borrowed.dtype, borrowed.shape, borrowed.strides) == ("bf16", (3, 3), (4, 1))
    assert borrowed.data == tensor.data_ptr()


def test_torchs_8_bit_floats_are_borrowed_as_bytes(monkeypatch):
    """Its older versions export no float of 8 bits."""

    class Tensor(ThroughDLPack):
        dtype = "float8_e4m3fn"

        def __dlpack__(self, stream=None):
            raise BufferError("float8 types are not supported by dlpack")

        def view(self, dtype):
            return ThroughDLPack(self.array) if dtype == "uint8" else None

    stub = types.ModuleType("torch")
    stub.Tensor, stub.float8_e4m3fn, stub.uint8 = Tensor, "float8_e4m3fn", "uint8"
    monkeypatch.setitem(sys.modules, "torch", stub)
    array = np.zeros((4, 6), np.uint8)
    before = sys.getrefcount(array)
    for dtype in (None, "f8e4m3"):
        borrowed = pf.as_tensor(Tensor(array[:, 1:]), dtype)
        assert (borrowed.dtype, borrowed.shape, borrowed.strides) == ("f8e4m3", (4, 5), (6, 1))
        assert borrowed.data == array.ctypes.data + 1
    assert sys.getrefcount(array) > before  # kept alive as long as it is in use
