# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the files of this folder. Needs numpy and ml_dtypes; run it here."""
import ml_dtypes
import numpy as np

FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn,
          "f64": np.float64}
TYPES = FLOATS | {"i8": np.int8, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "bool": np.bool_}


def counting(dtype, shape):
    count = np.arange(np.prod(shape))
    return (count * 0.5 if dtype in FLOATS.values() else count % 2).astype(dtype).reshape(shape)


for name, dtype in TYPES.items():
    np.save(f"{name}.npy", counting(dtype, (2, 3)))
np.save("fortran.npy", np.asfortranarray(counting(np.float32, (2, 3))))
arrays = {"q": counting(np.float16, (2, 3)), "lens": counting(np.int32, (4,))}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)
