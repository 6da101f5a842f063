"""Writes a .npy file without numpy: npy.py FILE DESCR SHAPE VALUE..., the last value repeated as needed."""
import struct
import sys

CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "<f2": "e"}
path, descr, shape, *values = sys.argv[1:]
dims = [int(dim) for dim in shape.split("x")]
count = 1
for dim in dims:
    count *= dim
numbers = [float(value) if descr[1] == "f" else int(value) for value in values]
numbers += numbers[-1:] * (count - len(numbers))
header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, dims))},), }}\n".encode()
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    file.write(struct.pack(f"<{count}{CODES[descr]}", *numbers[:count]))
