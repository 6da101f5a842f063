# model.py - a Llama in numpy, all but its attention
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The transformer around the attention. Everything here is f32 matrix products of numpy."""

from __future__ import annotations

import numpy as np
from weights import Weights


class Model:
    def __init__(self, weights: Weights):
        self.weights, self.shape = weights, weights.shape

    def forward(self, tokens: np.ndarray, rows: np.ndarray, attend) -> np.ndarray:
        """Logits of the last token of each request, [batch, vocabulary].

        `tokens` of all requests lie one after another, request r's at rows[r] to rows[r + 1]. What happens
        between tokens is left to attend(layer, q, k, v) -> [tokens, heads, dim].
        """
        w, s = self.weights, self.shape
        x = w["token_embd.weight"][tokens]
        for layer in range(s.layers):
            name = f"blk.{layer}."
            y = self._norm(x, w[name + "attn_norm.weight"])
            q, k, v = (_heads(y @ w[f"{name}attn_{part}.weight"].T, s.dim) for part in "qkv")
            x = x + attend(layer, q, k, v).reshape(len(x), -1) @ w[name + "attn_output.weight"].T
            y = self._norm(x, w[name + "ffn_norm.weight"])
            gate = y @ w[name + "ffn_gate.weight"].T
            x = (
                x
                + (gate / (1 + np.exp(-gate)) * (y @ w[name + "ffn_up.weight"].T))
                @ w[name + "ffn_down.weight"].T
            )
        x = self._norm(x[rows[1:] - 1], w["output_norm.weight"])
        return x @ w["token_embd.weight"].T

    def _norm(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(self.shape.norm_eps)) * weight


def _heads(x: np.ndarray, dim: int) -> np.ndarray:
    return x.reshape(len(x), -1, dim)
