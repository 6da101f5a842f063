# conftest.py - what tests need and may not have
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import shutil
from pathlib import Path

import pytest

from pagefold import _abi

ROOT = Path(__file__).resolve().parents[2]

# Tests compile what they test; those of the artifact cache (test_artifact_cache.py) say where it is.
os.environ["PAGEFOLD_CACHE"] = "off"


@pytest.fixture(scope="session")
def library():
    """Tests that compile and run take this; without the shared libraries they are skipped, saying so."""
    missing = [name for name in (_abi.COMPILER_LIBRARY,) if _abi.find_library(name) is None]
    if missing:
        pytest.skip(
            f"{', '.join(missing)} not built (looked in {', '.join(map(str, _abi.library_directories()))})"
        )


@pytest.fixture(scope="session")
def runtime():
    """For tests that load artifacts and compile none."""
    if all(_abi.find_library(name) is None for name in (_abi.RUNTIME_LIBRARY, _abi.COMPILER_LIBRARY)):
        pytest.skip(
            f"{_abi.RUNTIME_LIBRARY} not built (looked in {', '.join(map(str, _abi.library_directories()))})"
        )


@pytest.fixture(scope="session")
def fake_driver_path():
    """The CUDA driver that writes down its calls (runtime/test/cuda)."""
    default = ROOT / "build/release/runtime/test/cuda/libpagefold_fake_driver.so"
    path = Path(os.environ.get("PAGEFOLD_FAKE_DRIVER", default))
    if not path.is_file():
        pytest.skip(f"{path} not built")
    return path


@pytest.fixture(scope="session")
def opt():
    """The path of pagefold-opt."""
    for candidate in (os.environ.get("PAGEFOLD_OPT"), ROOT / "build/release/bin/pagefold-opt"):
        if candidate and (found := shutil.which(str(candidate))):
            return found
    pytest.skip("pagefold-opt not built (build/release/bin, or name it in PAGEFOLD_OPT)")
