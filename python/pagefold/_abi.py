# _abi.py - the C ABI (include/pagefold-c) as ctypes
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the shared libraries and declares what they export.

Nothing is loaded until a function is used. The runtime library alone loads and launches artifacts, so
LLVM enters the process only with the first compilation. The two libraries meet in the artifact's bytes
and nowhere else; an error is read and freed by the library that made it.
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)
from pathlib import Path

from .errors import InvalidArgumentError, LibraryNotFoundError, PagefoldError

RUNTIME_LIBRARY = "libpagefold_runtime.so"
COMPILER_LIBRARY = "libpagefold.so"


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", c_int), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


# name: (result, arguments). Handles are void pointers.
_ERROR = {
    "pagefold_error_code": (c_int, [c_void_p]),
    "pagefold_error_message": (c_char_p, [c_void_p]),
    "pagefold_error_free": (None, [c_void_p]),
    "pagefold_string_free": (None, [c_void_p]),
}
_RUNTIME = {
    **_ERROR,
    "pagefold_module_load": (c_void_p, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "pagefold_module_free": (None, [c_void_p]),
    "pagefold_module_function": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "pagefold_module_function_for": (c_void_p, [c_void_p, c_char_p] + [c_int64] * 4 + [POINTER(c_void_p)]),
    "pagefold_function_plan_json": (c_char_p, [c_void_p]),
    "pagefold_function_workspace_size": (c_size_t, [c_void_p]),
    "pagefold_workspace_init": (c_void_p, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "pagefold_function_launch": (
        c_void_p,
        [c_void_p, POINTER(POINTER(DLTensor)), c_size_t, c_void_p, c_size_t, c_void_p],
    ),
    "pagefold_function_check": (c_void_p, [c_void_p]),
    "pagefold_function_explain": (
        c_void_p,
        [c_void_p, POINTER(POINTER(DLTensor)), c_size_t, c_double, c_char_p, POINTER(c_void_p)],
    ),
    "pagefold_function_counters_json": (c_void_p, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "pagefold_set_num_threads": (c_void_p, [c_int]),
    "pagefold_pages_create": (c_void_p, [c_int32] * 4 + [c_int, POINTER(c_void_p)]),
    "pagefold_pages_free": (None, [c_void_p]),
    "pagefold_pages_admit": (
        c_void_p,
        [c_void_p, c_uint64, POINTER(c_int32), c_size_t, c_char_p, c_int32, POINTER(c_int32), POINTER(c_int32)],
    ),
    "pagefold_pages_reserve": (c_void_p, [c_void_p, c_uint64, c_int32]),
    "pagefold_pages_append": (c_void_p, [c_void_p, c_uint64, POINTER(c_int32), c_size_t]),
    "pagefold_pages_mark_computed": (c_void_p, [c_void_p, c_uint64, c_int32]),
    "pagefold_pages_fork": (c_void_p, [c_void_p, c_uint64, c_uint64, POINTER(c_int32)]),
    "pagefold_pages_finish": (c_void_p, [c_void_p, c_uint64]),
    "pagefold_pages_abort": (c_void_p, [c_void_p, c_uint64]),
    "pagefold_pages_drain": (
        c_void_p,
        [c_void_p, POINTER(POINTER(c_int32)), POINTER(c_size_t), POINTER(POINTER(c_int32)), POINTER(c_size_t)],
    ),
    "pagefold_pages_free_array": (None, [POINTER(c_int32)]),
    "pagefold_pages_table": (c_void_p, [c_void_p, POINTER(c_int32), c_size_t]),
    "pagefold_pages_available": (c_int32, [c_void_p]),
    "pagefold_pages_verify": (c_void_p, [c_void_p]),
}
_COMPILER = {
    **_ERROR,
    "pagefold_compile": (
        c_void_p,
        [c_char_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_void_p)],
    ),
    "pagefold_bytes_free": (None, [c_void_p]),
}


def library_directories() -> list[Path]:
    """Where the shared libraries are looked for, in order."""
    override = os.environ.get("PAGEFOLD_LIBRARY_DIR")
    if override:
        return [Path(override)]
    package = Path(__file__).resolve().parent
    root = package.parents[1]  # of an unpacked package, or of a checkout
    return [package / "lib", package, root / "lib", root / "build" / "release" / "lib"]


def find_library(name: str) -> Path | None:
    """The path of a shared library, or None."""
    candidates = (directory / name for directory in library_directories())
    return next((path for path in candidates if path.is_file()), None)


def _open(path: Path, functions: dict) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in functions.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise LibraryNotFoundError(f"cannot load {path}: {error}") from error
    return library


def _require(names: tuple[str, ...], purpose: str) -> Path:
    for name in names:
        if path := find_library(name):
            return path
    where = ", ".join(str(directory) for directory in library_directories())
    raise LibraryNotFoundError(
        f"{purpose} needs {names[0]}, which is in none of: {where}; "
        "build Pagefold, or set PAGEFOLD_LIBRARY_DIR to the directory that holds it"
    )


@functools.cache
def runtime() -> ctypes.CDLL:
    """The library that loads and launches artifacts."""
    return _open(_require((RUNTIME_LIBRARY, COMPILER_LIBRARY), "running a module"), _RUNTIME)


@functools.cache
def compiler() -> ctypes.CDLL:
    """The library that compiles."""
    return _open(_require((COMPILER_LIBRARY,), "compiling"), _COMPILER)


def check(library: ctypes.CDLL, error: int | None) -> None:
    """Raises what `error`, a handle of `library`, says; None means success."""
    if not error:
        return
    code = library.pagefold_error_code(error)
    message = library.pagefold_error_message(error).decode("utf-8", "replace")
    library.pagefold_error_free(error)
    raise (InvalidArgumentError if code == PagefoldError.INVALID_ARGUMENT else PagefoldError)(code, message)


def take_string(library: ctypes.CDLL, string: c_void_p) -> str:
    """The text of a string that the library handed over, which is freed."""
    if not string.value:
        return ""
    text = ctypes.string_at(string.value).decode("utf-8", "replace")
    library.pagefold_string_free(string)
    return text
