# test_cuda.py - calls on a GPU, by a driver that writes down its calls
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reaches the driver when tensors of a GPU are passed; no kernel runs. Device memory is the process's own."""

import ctypes
import json
import struct
import sys
import types

import numpy as np
import pytest
from test_runtime import argument, fnv1a

import pagefold as pf

CUDA = 2


def artifact(**change) -> bytes:
    """out0 of q by one kernel that takes a frame, with a scalar argument."""
    function = {
        "name": "scale",
        "bounds": {"tokens": 8},
        "args": [
            argument("q", "bf16", ["tokens", 8]),
            argument("factor", "f32", [], scalar=True),
            argument("out0", "bf16", ["tokens", 8], "write"),
        ],
        "workspace": {"size": 256, "init": [{"offset": 0, "size": 256, "byte": 0}]},
        "scratch": 0,
        "error_word": None,
        "counters": None,
        "kernels": [
            {
                "symbol": "scale_k0",
                "threads": 128,
                "shared": 0,
                "ctas_per_sm": 2,
                "params": [{"kind": "frame"}, {"kind": "error_word"}],
            }
        ],
        **change,
    }
    code = b".version 8.6"
    plan = {
        "version": 1,
        "compiler": "by hand",
        "target": {"kind": "cuda", "triple": "nvptx64-nvidia-cuda", "cpu": "sm_90a", "features": []},
        "functions": [function],
        "code": [{"kind": "ptx", "offset": 0, "size": len(code)}],
    }
    text = json.dumps(plan).encode()
    head = b"PAGEFOLD" + struct.pack("<II", 1, len(text)) + text
    body = head + b"\0" * (-len(head) % 64) + code
    body += b"\0" * (-len(body) % 64)
    return body + struct.pack("<Q", fnv1a(body))


class Driver:
    """The fake driver's log."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.fakeCallText.restype = ctypes.c_char_p
        self.library.fakeParameter.restype = ctypes.c_void_p
        self.library.fakeParameter.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)]
        self.library.fakeReset(b"", 0)
        self.library.fakeKernel(b"scale_k0", (ctypes.c_size_t * 2)(8 * (7 + 1 + 7 + 5), 8), 2)

    def calls(self, name: str) -> list[str]:
        return [call for call in self.library.fakeCallText().decode().split("\n") if call.startswith(name)]

    def words(self, launch: int, parameter: int = 0) -> list[int]:
        size = ctypes.c_size_t()
        data = self.library.fakeParameter(launch, parameter, size)
        return list(struct.unpack(f"<{size.value // 8}q", ctypes.string_at(data, size.value)))


@pytest.fixture
def driver(runtime, fake_driver_path, monkeypatch):
    monkeypatch.setenv("PAGEFOLD_CUDA_DRIVER", str(fake_driver_path))
    return Driver(fake_driver_path)


class OnGpu:
    """A numpy array that another library would show as memory of a GPU, through DLPack."""

    def __init__(self, array, device=0):
        self.array, self.number, self.streams = array, device, []

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        pointer = get_pointer(capsule, b"dltensor")
        ctypes.c_int.from_address(pointer + 8).value = CUDA  # DLTensor: data, device type, device id
        ctypes.c_int.from_address(pointer + 12).value = self.number
        ctypes.c_uint8.from_address(pointer + 20).value = 4  # after ndim the dtype's code: bfloat
        return capsule

    def __dlpack_device__(self):
        return CUDA, self.number


class ThroughInterface:
    """The same through the CUDA array interface, which has neither bfloat16 nor a device."""

    def __init__(self, array, **change):
        self.array = array  # what lends memory keeps it
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": array.strides,
            "version": 3,
            **change,
        }


@pytest.fixture
def arrays():
    return np.zeros((6, 8), np.uint16), np.zeros((6, 8), np.uint16)


def test_a_call_enqueues_on_the_stream_and_waits_for_nothing(driver, arrays):
    q, out = map(OnGpu, arrays)
    module = pf.load(artifact())
    for stream in (77, types.SimpleNamespace(cuda_stream=77), types.SimpleNamespace(ptr=77)):
        assert module(q=q, factor=2.5, out=out, stream=stream) is out
    assert driver.calls("cuLaunchKernel") == ["cuLaunchKernel(300, [264 1 1 128 1 1 0], stream 77)"] * 3
    assert not any(driver.calls(name) for name in ("cuMemcpy", "cuStreamSynchronize", "cuCtxSynchronize"))
    data = [array.ctypes.data for array in arrays]
    factor = struct.unpack("<I", struct.pack("<f", 2.5))[0]
    words = driver.words(0)
    assert words[:15] == [data[0], data[0], 0, 6, 8, 8, 1, factor, data[1], data[1], 0, 6, 8, 8, 1]
    assert words[15] % 64 == 0 and words[17:] == [0, 256, 1]
    assert set(q.streams) == {-1}, "the exporter is not to wait"


def test_without_a_stream_it_is_the_default_one(driver, arrays):
    q, out = map(OnGpu, arrays)
    pf.load(artifact())(q, 1.0, out=out)
    assert driver.calls("cuLaunchKernel") == ["cuLaunchKernel(300, [264 1 1 128 1 1 0], stream 0)"]


def test_the_cuda_array_interface_is_borrowed(driver, arrays):
    shifted = ThroughInterface(arrays[0][1:, :], strides=None)
    tensor = pf.as_tensor(shifted, "bf16")
    assert (tensor.data, tensor.shape, tensor.strides) == (arrays[0].ctypes.data + 16, (5, 8), (8, 1))
    function = {"args": [argument("q", "i32", ["tokens", 8]), argument("out0", "i32", ["tokens", 8], "write")]}
    q, out = np.zeros((6, 8), np.int32), np.zeros((6, 8), np.int32)
    driver.library.fakeKernel(b"scale_k0", (ctypes.c_size_t * 2)(8 * (7 + 7 + 5), 8), 2)
    pf.load(artifact(**function))(ThroughInterface(q), out=OnGpuOf(1, out))
    assert driver.words(0)[:2] == [q.ctypes.data] * 2
    assert driver.calls("cuCtxSetCurrent(111)"), "the device is that of the tensor that says so"


class OnGpuOf(OnGpu):
    """int32 on a device of a number."""

    def __init__(self, number, array):
        super().__init__(array, number)

    def __dlpack__(self, stream=None):
        capsule = super().__dlpack__(stream)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
        ctypes.c_uint8.from_address(pointer + 20).value = 0
        return capsule


@pytest.mark.parametrize(
    "change, message",
    [
        ({"q": "host"}, "q: expects a tensor on a GPU, got host memory; copy it to the GPU"),
        ({"out": "host"}, "out: expects a tensor on a GPU, got host memory"),
        ({"stream": "first"}, "stream: expects a number or a stream of torch or cupy, got str"),
        ({"out": None}, "out: expects tensors for the results, since no argument is a torch tensor on a GPU"),
    ],
)
def test_A18_what_does_not_fit_is_refused_by_name(driver, arrays, change, message):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.zeros((6, 8), ml_dtypes.bfloat16)
    arguments = {"q": OnGpu(arrays[0]), "factor": 1.0, "out": OnGpu(arrays[1]), **change}
    arguments = {name: host if value == "host" else value for name, value in arguments.items()}
    with pytest.raises(ValueError, match=message):
        pf.load(artifact())(**arguments)
    assert not driver.calls("cuLaunchKernel")


def aligned(shape, past=0):
    """A float16 array that begins so many bytes past a multiple of 16."""
    memory = np.zeros(int(np.prod(shape)) + 16, np.float16)
    start = (-memory.ctypes.data % 16 + past) // memory.itemsize
    return memory[start : start + int(np.prod(shape))].reshape(shape)


def test_A16_rows_that_a_kernel_reads_in_vectors_lie_at_multiples_of_16_bytes(library, driver):
    """Pages of 12 slots are copied by the kernel itself: no tensor map is there to refuse them."""
    with pf.Graph("attend", batch=2, q_len=32, kv_len=256) as g:
        q, rows = g.tokens("q", heads=2, dim=64, dtype="f16"), g.rows()
        cache = g.paged_kv("cache", heads=2, dim=64, dtype="f16", page=12)
        g.returns(pf.attention(q, cache, rows=rows, scale=0.125, mask=pf.causal()))
    function = pf.compile(g, target="cuda", split_rows=False).function()
    plan = {arg["name"]: arg["align"] for arg in function.plan["args"] + function.plan["results"]}
    assert plan == {"q": 1, "rows": 1, "cache.k_pages": 16, "cache.v_pages": 16, "cache.table": 1, "cache.lens": 1, "out0": 16}
    ints = lambda *shape: ThroughInterface(np.zeros(shape, np.int32))

    def call(k_pages, v_pages):
        pages = pf.PagedKV(ThroughInterface(k_pages), ThroughInterface(v_pages), ints(2, 3), ints(2))
        arguments = {"q": ThroughInterface(aligned((20, 2, 64))), "rows": ints(3), "cache": pages}
        function(**arguments, out=ThroughInterface(aligned((20, 2, 64))))

    pool = (5, 12, 2, 64)
    call(aligned(pool), aligned((5, 12, 4, 64))[:, :, 1:3])
    assert len(driver.calls("cuLaunchKernel")) == 1
    message = "'cache.v_pages': expects an address that is a multiple of 16 bytes, got one at 8 past it; copy the"
    with pytest.raises(ValueError, match=message):
        call(aligned(pool), aligned(pool, past=8))
    message = r"'cache.k_pages': expects strides that are multiples of 8 elements \(16 bytes\), got 68 in dimension 2"
    with pytest.raises(ValueError, match=message):
        call(aligned((5, 12, 2, 68))[..., :64], aligned(pool))
    assert len(driver.calls("cuLaunchKernel")) == 1


def test_a_scalar_on_the_gpu_is_refused(driver, arrays):
    q, out = map(OnGpu, arrays)
    factor = ThroughInterface(np.array(1.0, np.float32))
    with pytest.raises(ValueError, match="factor: expects a number or host memory, got a tensor on a GPU"):
        pf.load(artifact())(q, factor, out=out)


def test_a_gpu_tensor_for_the_host_is_refused(runtime, arrays):
    function = pf.function.Parameter("x", [argument("x", "bf16", ["tokens", 8])])
    with pytest.raises(ValueError, match="x: expects host memory, got a tensor on a GPU; copy it to the host"):
        function.tensors(OnGpu(arrays[0]), memory=1)


def test_an_error_of_a_request_comes_with_the_next_call_or_by_check(driver, arrays):
    q, out = map(OnGpu, arrays)
    module = pf.load(artifact())
    module(q, 1.0, out=out)
    module.function().check()
    word = (ctypes.c_int64 * 4).from_address(driver.words(0, 1)[0])
    word[:] = [2, 5, 99, 64]
    with pytest.raises(pf.PagefoldError, match="request 1: page id 99 expects 0 <= id < 64") as caught:
        module.function().check()
    assert caught.value.code == pf.PagefoldError.BAD_INPUT
    module.function().check()
    word[:] = [2, 5, 99, 64]
    with pytest.raises(pf.PagefoldError, match="an earlier launch reported this") as caught:
        module(q, 1.0, out=out)
    assert caught.value.results is None
    module(q, 1.0, out=out)
    assert len(driver.calls("cuLaunchKernel")) == 2


def test_without_a_driver_a_plan_can_be_read_and_a_call_says_what_is_missing(runtime, arrays, monkeypatch):
    monkeypatch.setenv("PAGEFOLD_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    module = pf.load(artifact())
    assert module.plan["target"]["cpu"] == "sm_90a"
    module.function().check()
    q, out = map(OnGpu, arrays)
    with pytest.raises(pf.PagefoldError, match="cannot open the CUDA driver: expects '/nowhere/") as caught:
        module(q, 1.0, out=out)
    assert caught.value.code == pf.PagefoldError.NOT_FOUND


# ---- torch, as far as we ask it -----------------------------------------------------------------------


class TorchTensor(OnGpu):
    @property
    def device(self):
        return types.SimpleNamespace(type="cuda", index=self.number)

    @property
    def dtype(self):
        return "bfloat16"


@pytest.fixture
def torch(monkeypatch):
    """A module with the part of torch that a call uses."""
    stub = types.ModuleType("torch")
    stub.made, stub.guarded = [], []

    class Guard:
        def __init__(self, device):
            self.device = device

        def __enter__(self):
            stub.guarded.append(self.device)

        def __exit__(self, *_):
            stub.guarded.append("left")

    def zeros(shape, dtype, device):
        stub.made.append((shape, dtype, device.index))
        return TorchTensor(np.zeros(shape, np.uint16), device.index)

    stub.Tensor, stub.bfloat16, stub.zeros = TorchTensor, "bfloat16", zeros
    stub.cuda = types.SimpleNamespace(
        is_initialized=lambda: True,
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=900 + device),
        device=Guard,
    )
    monkeypatch.setitem(sys.modules, "torch", stub)
    return stub


def test_results_are_torchs_on_the_arguments_device_and_the_stream_is_torchs(driver, torch, arrays):
    out = pf.load(artifact())(TorchTensor(arrays[0], 1), 2.5)
    assert torch.made == [((6, 8), "bfloat16", 1)]
    assert isinstance(out, TorchTensor) and driver.words(0)[8] == out.array.ctypes.data
    assert driver.calls("cuLaunchKernel") == ["cuLaunchKernel(300, [264 1 1 128 1 1 0], stream 901)"]
    assert torch.guarded == [1, "left"] * 3, "two borrowed tensors, one launch"


def test_an_explicit_stream_goes_before_torchs(driver, torch, arrays):
    pf.load(artifact())(TorchTensor(arrays[0]), 2.5, stream=5)
    assert driver.calls("cuLaunchKernel") == ["cuLaunchKernel(300, [264 1 1 128 1 1 0], stream 5)"]
