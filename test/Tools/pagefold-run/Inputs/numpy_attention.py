"""The oracle against numpy, written from the definitions a second time: two independent references agree.

Decode and chunks over a paged cache with RoPE, an append, a causal window, a soft cap and sinks.
"""
import pathlib
import subprocess
import sys

import numpy as np

HEADS, KV_HEADS, DIM, PAGE, WINDOW, CAP, SCALE, THETA = 6, 2, 16, 4, 9, 5.0, 0.25, 10000.0
GRAPH = pathlib.Path(__file__).parent / "numpy-attention.mlir"
directory = pathlib.Path(sys.argv[1])
random = np.random.default_rng(3)

lens, q_lens = np.array([5, 0, 23, 8, 3], np.int32), np.array([1, 0, 7, 8, 4], np.int32)  # the last has a padding row
rows = np.concatenate([[0], np.cumsum(q_lens)]).astype(np.int32)
tokens = rows[-1]
pages_of = [-(-length // PAGE) for length in lens]
order, table, at = random.permutation(sum(pages_of) + 3), np.full((len(lens), max(pages_of)), -1, np.int32), 0
for r, count in enumerate(pages_of):
    table[r, :count] = order[at:at + count]
    at += count


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


q, k, v = normal(tokens, HEADS, DIM), normal(tokens, KV_HEADS, DIM), normal(tokens, KV_HEADS, DIM)
k_pages, v_pages = normal(len(order), PAGE, KV_HEADS, DIM), normal(len(order), PAGE, KV_HEADS, DIM)
angle = np.arange(64)[:, None] * THETA ** (-np.arange(DIM // 4) / (DIM // 4))  # half the head turns
arrays = dict(q=q, k=k, v=v, rows=rows, k_pages=k_pages, v_pages=v_pages, table=table, lens=lens,
              cos=np.cos(angle).astype(np.float32), sin=np.sin(angle).astype(np.float32), sinks=normal(HEADS))
np.savez(directory / "inputs.npz", **arrays)

position = np.concatenate([length - n + np.arange(n) for length, n in zip(lens, q_lens)])


def rope(x):
    half, out = DIM // 4, x.astype(np.float64)
    for t, p in enumerate(position):
        if p >= 0:
            cos, sin = arrays["cos"][p].astype(np.float64), arrays["sin"][p].astype(np.float64)
            a, b = x[t, :, :half].astype(np.float64), x[t, :, half:2 * half].astype(np.float64)
            out[t, :, :half], out[t, :, half:2 * half] = a * cos - b * sin, b * cos + a * sin
    return out


query, new_key = rope(q), rope(k).astype(np.float32)
request = np.repeat(np.arange(len(lens)), q_lens)
for t, (r, p) in enumerate(zip(request, position)):
    if p >= 0:
        k_pages[table[r, p // PAGE], p % PAGE], v_pages[table[r, p // PAGE], p % PAGE] = new_key[t], v[t]

out, lse = np.zeros((tokens, HEADS, DIM)), np.full((tokens, HEADS), -np.inf)
for t, (r, p) in enumerate(zip(request, position)):
    keys = np.arange(lens[r])
    gathered_k = k_pages[table[r, keys // PAGE], keys % PAGE].astype(np.float64)
    gathered_v = v_pages[table[r, keys // PAGE], keys % PAGE].astype(np.float64)
    visible = (keys <= p) & (keys > p - WINDOW)
    for h in range(HEADS):
        g = h // (HEADS // KV_HEADS)
        s = SCALE * gathered_k[visible, g] @ query[t, h]
        s = np.append(CAP * np.tanh(s / CAP), np.float64(arrays["sinks"][h]))
        m = s.max()
        weight = np.exp(s - m)
        out[t, h] = weight[:-1] @ gathered_v[visible, g] / weight.sum()
        lse[t, h] = m + np.log(weight.sum())

for target, tolerance in ("oracle", 1e-13), ("host", 2e-6):
    result = directory / f"{target}.npz"
    subprocess.run(["pagefold-run", GRAPH, "--inputs", directory / "inputs.npz", f"--target={target}", "--outputs",
                    result], check=True)
    got = np.load(result)
    for name, want in ("out0", out), ("out1", lse), ("k_pages", k_pages), ("v_pages", v_pages):
        np.testing.assert_allclose(got[name], want, rtol=tolerance, atol=tolerance, err_msg=f"{target}: {name}")
print("numpy agrees")
