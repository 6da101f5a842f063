# masks.py - which keys a query sees
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks as Python expressions, printed as the text of `#attn.mask`.

    from pagefold.masks import causal, window, q, k, q_len, kv_len, sym
    causal() & window(4096)
    (k <= q + kv_len - q_len) & (k > q + kv_len - q_len - sym("w", at_least=1))

`q` is the row's index in its request, `k` the key's; `q + kv_len - q_len` is the row's position: rows are
aligned at the end ("bottom-right"), so a single new row sees everything under `causal()`. A key is visible
where the mask holds and 0 <= k < kv_len. Masks are combined with `&` and `|`.
"""

from __future__ import annotations

import numpy as np

_NO_TRUTH = (
    "has no truth value in Python: combine with & and |, and write a chain a < b < c as (a < b) & (b < c)"
)


PER_ROW = "per_row"


class _Term:
    """Text with the names it takes from outside, {name: lower bound, None or PER_ROW}."""

    def __init__(self, text: str, symbols: dict | None = None, atomic: bool = False):
        self.text, self.symbols, self.atomic = text, dict(symbols or {}), atomic

    def __bool__(self):
        raise TypeError(f"'{self.text}' {_NO_TRUTH}")

    def __repr__(self):
        return self.text

    def _grouped(self) -> str:
        return self.text if self.atomic else f"({self.text})"


def _joined_symbols(*terms) -> dict:
    symbols: dict = {}
    for name, bound in (item for term in terms for item in term.symbols.items()):
        if symbols.setdefault(name, bound) != bound:
            raise ValueError(f"{name!r}: expects one declaration, got {symbols[name]} and {bound}")
    return symbols


class Affine(_Term):
    """An affine expression of q, k, q_len, kv_len and symbols."""

    def _combine(self, operator: str, other, swapped: bool = False) -> Affine:
        other = _affine(other)
        left, right = (other, self) if swapped else (self, other)
        # A sum on the left needs no parentheses: the operators associate to the left.
        first = left.text if operator in "+-" else left._grouped()
        return Affine(f"{first} {operator} {right._grouped()}", _joined_symbols(left, right))

    def _scale(self, operator: str, factor) -> Affine:
        if isinstance(factor, bool) or not isinstance(factor, (int, np.integer)):
            raise TypeError(f"a mask is affine: {operator} expects an integer constant, got {factor!r}")
        if operator != "*" and factor < 1:
            raise ValueError(f"a mask is affine: {operator} expects a positive constant, got {factor}")
        return Affine(f"{self._grouped()} {operator} {_affine(factor)._grouped()}", self.symbols)

    def __add__(self, other):
        return self._combine("+", other)

    def __radd__(self, other):
        return self._combine("+", other, swapped=True)

    def __sub__(self, other):
        return self._combine("-", other)

    def __rsub__(self, other):
        return self._combine("-", other, swapped=True)

    def __neg__(self):
        return self._scale("*", -1)

    def __mul__(self, factor):
        return self._scale("*", factor)

    __rmul__ = __mul__

    def __floordiv__(self, factor):
        return self._scale("floordiv", factor)

    def __mod__(self, factor):
        return self._scale("mod", factor)

    def _compare(self, operator: str, other) -> Mask:
        other = _affine(other)
        return Mask(f"{self.text} {operator} {other.text}", _joined_symbols(self, other), atomic=True)

    def __le__(self, other):
        return self._compare("<=", other)

    def __lt__(self, other):
        return self._compare("<", other)

    def __ge__(self, other):
        return self._compare(">=", other)

    def __gt__(self, other):
        return self._compare(">", other)

    def __eq__(self, other):
        return self._compare("==", other)

    def __ne__(self, other):
        return (self < other) | (self > other)

    __hash__ = object.__hash__


def _affine(value) -> Affine:
    if isinstance(value, Affine):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"a mask is affine in q, k, q_len, kv_len and symbols, got {value!r}")
    return Affine(str(int(value)), atomic=value >= 0)


def sym(name: str, at_least: int | None = None) -> Affine:
    """A number that is known at launch only, bound by `attention(..., symbols={name: value})`: an int32 for
    each request, or one scalar. `at_least` is the caller's promise, which sharpens the analysis of the mask.
    """
    return Affine(_checked_name(name), {name: at_least}, atomic=True)


def per_row(name: str) -> Affine:
    """A number of each query row that never falls from a request's row to the next, such as the start of its
    document. Bound by `attention(..., row_values={name: int32 [tokens] tensor})`.
    """
    return Affine(_checked_name(name), {name: PER_ROW}, atomic=True)


def _checked_name(name: str) -> str:
    if not name.isidentifier() or name in _RESERVED:
        raise ValueError(
            f"name: expects an identifier other than {', '.join(sorted(_RESERVED))}, got {name!r}"
        )
    return name


_RESERVED = {
    "q",
    "k",
    "q_len",
    "kv_len",
    "and",
    "or",
    "where",
    "mod",
    "floordiv",
    "ceildiv",
    "per_row",
    "none",
    "causal",
    "window",
    "prefix",
    "sink_window",
    "chunked",
}

q, k, q_len, kv_len = (Affine(name, atomic=True) for name in ("q", "k", "q_len", "kv_len"))


class Mask(_Term):
    """A union of integer sets."""

    def __and__(self, other: Mask) -> Mask:
        _expect_mask(other)
        return Mask(f"{self._in_and()} and {other._in_and()}", _joined_symbols(self, other), atomic=True)

    def __or__(self, other: Mask) -> Mask:
        _expect_mask(other)
        return Mask(f"{self.text} or {other.text}", _joined_symbols(self, other))

    def _in_and(self) -> str:
        return self._grouped()

    def mlir_text(self) -> str:
        """The text of the attribute: the sets, and the declarations of their symbols."""
        return (
            f"{self.text} where {', '.join(map(_declaration, self.symbols.items()))}"
            if self.symbols
            else self.text
        )


def _declaration(symbol: tuple) -> str:
    name, bound = symbol
    if bound == PER_ROW:
        return f"{name} {PER_ROW}"
    return name if bound is None else f"{name} >= {bound}"


def _expect_mask(value) -> None:
    if not isinstance(value, Mask):
        raise TypeError(f"expects a mask, got {value!r}")


def _size(value, spelling: str, least: int) -> Affine:
    """An argument of a spelling: a constant, or a symbol."""
    if isinstance(value, Affine):
        if value.text not in value.symbols:
            raise TypeError(f"{spelling}: expects an integer or a symbol, got '{value.text}'")
        return value
    term = _affine(value)
    if value < least:
        raise ValueError(f"{spelling}: expects at least {least}, got {value}")
    return term


def no_mask() -> Mask:
    """Every key below kv_len."""
    return Mask("none", atomic=True)


def causal() -> Mask:
    """Keys up to the row's own position, rows aligned at the end. SDPA's is_causal aligns at the start."""
    return Mask("causal", atomic=True)


def window(size) -> Mask:
    """The last `size` positions, the row's own included: size 1 sees the row's own key alone."""
    size = _size(size, "window", 1)
    return Mask(f"window({size.text})", size.symbols, atomic=True)


def prefix(size) -> Mask:
    """The first `size` keys, for every row."""
    size = _size(size, "prefix", 0)
    return Mask(f"prefix({size.text})", size.symbols, atomic=True)


def sink_window(sink, size) -> Mask:
    """Causal: the first `sink` keys and the last `size` positions."""
    sink, size = _size(sink, "sink_window", 0), _size(size, "sink_window", 1)
    return Mask(f"sink_window({sink.text}, {size.text})", _joined_symbols(sink, size), atomic=True)


def chunked(size: int) -> Mask:
    """Causal, within the row's chunk of `size` positions."""
    if isinstance(size, Affine):
        raise TypeError("chunked: expects a constant, since a mask divides by constants only")
    return Mask(f"chunked({_size(size, 'chunked', 1).text})", atomic=True)


def pack_mask(masks, rows, lens) -> tuple[np.ndarray, np.ndarray]:
    """Packs one boolean array [q_len, kv_len] a request into the operands (bits, starts) of `bitmap`.

    `rows` and `lens` are the arrays that the launch gets; they say which shapes are needed. `bits` is uint8,
    least significant bit first, with no padding between requests; `starts` int64 [batch] holds bit offsets.
    """
    lens = np.asarray(lens)
    q_lens = np.diff(np.asarray(rows))
    if not len(masks) == len(lens) == len(q_lens):
        raise ValueError(
            f"masks: expects one for each of {len(lens)} requests (rows has {len(q_lens)}), got {len(masks)}"
        )
    flat, starts, offset = [], np.zeros(len(masks), np.int64), 0
    for request, mask in enumerate(masks):
        mask, needed = np.asarray(mask), (int(q_lens[request]), int(lens[request]))
        if mask.shape != needed or mask.dtype != np.bool_:
            raise ValueError(
                f"masks[{request}]: expects a boolean array of shape {needed} (q_len, kv_len), "
                f"got {mask.dtype} {mask.shape}"
            )
        starts[request] = offset
        offset += mask.size
        flat.append(mask.reshape(-1))
    bits = np.packbits(np.concatenate(flat), bitorder="little") if flat else np.zeros(0, np.uint8)
    return bits, starts
