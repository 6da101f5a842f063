# expr.py - traced scalar expressions of the score and epilogue regions
#
# Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions, as the lambdas of `attention(score=..., epilogue=...)` see them.

A lambda is called once, with expression objects; what it returns is printed as arith, math and attn ops.
Numbers are f32 or i32. An i32 next to an f32 is converted, `/` always divides as f32, `//` and `%` take a
positive constant and round down as Python's. Comparisons give conditions for `where`, combined with `&`, `|` and `~`.
"""

from __future__ import annotations

import inspect
import math

import numpy as np


class Expr:
    """One scalar: an op's text with {0}, {1}, ... for its operands, or a named argument of the region."""

    def __init__(self, kind: str, template: str, operands: tuple = ()):
        self.kind, self.template, self.operands = kind, template, operands

    def __bool__(self):
        raise TypeError(
            "a traced value has no truth value: use where(condition, a, b), and & | ~ on conditions"
        )

    def __add__(self, other):
        return _arithmetic("add", self, other)

    def __radd__(self, other):
        return _arithmetic("add", other, self)

    def __sub__(self, other):
        return _arithmetic("sub", self, other)

    def __rsub__(self, other):
        return _arithmetic("sub", other, self)

    def __mul__(self, other):
        return _arithmetic("mul", self, other)

    def __rmul__(self, other):
        return _arithmetic("mul", other, self)

    def __truediv__(self, other):
        return _op("arith.divf", _as_f32(self), _as_f32(other))

    def __rtruediv__(self, other):
        return _op("arith.divf", _as_f32(other), _as_f32(self))

    def __floordiv__(self, divisor):
        return _op("arith.divsi", self - _modulo(self, divisor), _constant(divisor, "i32"))

    def __mod__(self, divisor):
        return _modulo(self, divisor)

    def __neg__(self):
        return _op("arith.negf", self) if self.kind == "f32" else 0 - self

    def __abs__(self):
        return _op("math.absf", self) if self.kind == "f32" else maximum(self, -self)

    def __lt__(self, other):
        return _compare("lt", self, other)

    def __le__(self, other):
        return _compare("le", self, other)

    def __gt__(self, other):
        return _compare("gt", self, other)

    def __ge__(self, other):
        return _compare("ge", self, other)

    def __eq__(self, other):
        return _compare("eq", self, other)

    def __ne__(self, other):
        return _compare("ne", self, other)

    __hash__ = object.__hash__

    def __and__(self, other):
        return _logic("arith.andi", self, other)

    def __or__(self, other):
        return _logic("arith.ori", self, other)

    def __invert__(self):
        return _logic("arith.xori", self, Expr("i1", "arith.constant true"))


class Argument(Expr):
    """An argument of the region; `role` is what it means: s, q, k, h, b, o or d."""

    def __init__(self, kind: str, name: str, role: str):
        super().__init__(kind, name)
        self.role = role


class Capture(Expr):
    """A tensor or a scalar of the graph, read inside a region."""

    def __init__(self, value, kind: str = "tensor"):
        super().__init__(kind, f"%{value.name}_in")
        self.value = value


# ---- Building ---------------------------------------------------------------------------------------


def float_literal(value: float) -> str:
    """A number as MLIR spells an f64 or f32 constant: it wants a point, and bits for what is not finite."""
    if not math.isfinite(value):
        return f"0x{np.float32(value).view(np.uint32):08X}"
    mantissa, e, exponent = repr(float(value)).partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def _constant(value, kind: str) -> Expr:
    if kind == "f32":
        return Expr("f32", f"arith.constant {float_literal(float(value))} : f32")
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"expects an integer of 32 bits, got {value}")
    return Expr("i32", f"arith.constant {int(value)} : i32")


def _lift(value) -> Expr:
    """A traced value, or a Python number as a constant."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"expects a number, got {value}")
    if isinstance(value, (int, np.integer)):
        return _constant(value, "i32")
    if isinstance(value, (float, np.floating)):
        return _constant(value, "f32")
    if hasattr(value, "traced"):  # a scalar of the graph
        return value.traced()
    if isinstance(value, Expr) and value.kind in ("f32", "i32"):
        return value
    kind = f"a value of kind {value.kind}" if isinstance(value, Expr) else repr(value)
    raise TypeError(f"expects a number or a traced f32 or i32 value, got {kind}")


def _as_f32(value) -> Expr:
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return _constant(value, "f32")
    value = _lift(value)
    return value if value.kind == "f32" else Expr("f32", "arith.sitofp {0} : i32 to f32", (value,))


def _as_i32(value, what: str) -> Expr:
    value = _lift(value)
    if value.kind != "i32":
        raise TypeError(f"{what}: expects an integer, got f32")
    return value


def _unified(left, right) -> tuple[Expr, Expr]:
    """Both as one kind: f32 as soon as one of them is."""
    kinds = {_lift(left).kind, _lift(right).kind}
    return (_as_f32(left), _as_f32(right)) if "f32" in kinds else (_lift(left), _lift(right))


def _op(mnemonic: str, *operands: Expr) -> Expr:
    places = ", ".join(f"{{{index}}}" for index in range(len(operands)))
    return Expr(operands[0].kind, f"{mnemonic} {places} : {operands[0].kind}", operands)


def _arithmetic(name: str, left, right) -> Expr:
    left, right = _unified(left, right)
    return _op(f"arith.{name}{'f' if left.kind == 'f32' else 'i'}", left, right)


def _modulo(value, divisor) -> Expr:
    """The remainder from 0 to divisor - 1. Only a constant divisor is sure not to be 0."""
    if isinstance(divisor, (bool, np.bool_)) or not isinstance(divisor, (int, np.integer)) or divisor < 1:
        raise TypeError(f"// and %: expect a positive integer constant on the right, got {divisor!r}")
    remainder = _op("arith.remsi", _as_i32(value, "// and %"), _constant(divisor, "i32"))
    return where(remainder < 0, remainder + divisor, remainder)


def _compare(name: str, left, right) -> Expr:
    left, right = _unified(left, right)
    if left.kind == "f32":
        # As Python's: an unordered comparison is false, but for "not equal".
        mnemonic = f"arith.cmpf {'une' if name == 'ne' else 'o' + name},"
    else:
        mnemonic = f"arith.cmpi {name if name in ('eq', 'ne') else 's' + name},"
    return Expr("i1", f"{mnemonic} {{0}}, {{1}} : {left.kind}", (left, right))


def _logic(mnemonic: str, left, right) -> Expr:
    for value in (left, right):
        if not isinstance(value, Expr) or value.kind != "i1":
            raise TypeError(
                f"& | ~ combine conditions, got {value.kind if isinstance(value, Expr) else value!r}"
            )
    return _op(mnemonic, left, right)


def lookup(table, indices) -> Expr:
    """table[i, ...]: one element of a tensor of the graph. Indices are clamped into the table."""
    indices = indices if isinstance(indices, tuple) else (indices,)
    if len(indices) != len(table.type.shape):
        raise ValueError(f"{table.name}: expects {len(table.type.shape)} indices, got {len(indices)}")
    kind = "f32" if table.type.dtype in ("f32", "f16", "bf16") else "i32"
    places = ", ".join(f"{{{index + 1}}}" for index in range(len(indices)))
    operands = (Capture(table), *(_as_i32(index, f"{table.name}[...]") for index in indices))
    return Expr(kind, f"attn.lookup {{0}}[{places}] : {table.type} -> {kind}", operands)


# ---- Functions --------------------------------------------------------------------------------------


def _unary(name: str):
    def function(value) -> Expr:
        return _op(f"math.{name}", _as_f32(value))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(value), in f32."
    return function


exp, exp2, log, log2 = _unary("exp"), _unary("exp2"), _unary("log"), _unary("log2")
sqrt, rsqrt, tanh, erf = _unary("sqrt"), _unary("rsqrt"), _unary("tanh"), _unary("erf")
sin, cos, floor, ceil = _unary("sin"), _unary("cos"), _unary("floor"), _unary("ceil")


def to_i32(value) -> Expr:
    """An f32 as an integer, rounded towards 0."""
    return Expr("i32", "arith.fptosi {0} : f32 to i32", (_as_f32(value),))


def minimum(left, right) -> Expr:
    """The smaller one; NaN if one is NaN."""
    left, right = _unified(left, right)
    return _op("arith.minimumf" if left.kind == "f32" else "arith.minsi", left, right)


def maximum(left, right) -> Expr:
    """The larger one; NaN if one is NaN."""
    left, right = _unified(left, right)
    return _op("arith.maximumf" if left.kind == "f32" else "arith.maxsi", left, right)


def where(condition: Expr, left, right) -> Expr:
    """`left` where the condition holds, else `right`; both are computed."""
    if not isinstance(condition, Expr) or condition.kind != "i1":
        raise TypeError("where: expects a comparison of traced values as its condition")
    left, right = _unified(left, right)
    return Expr(left.kind, f"arith.select {{0}}, {{1}}, {{2}} : {left.kind}", (condition, left, right))


def _of_row(name: str, row) -> Expr:
    if not isinstance(row, Argument) or row.role != "q":
        raise TypeError(f"{name}: expects the row index that the lambda was given, nothing computed from it")
    return Expr("i32", f"attn.{name} {{0}}", (row,))


def position(row) -> Expr:
    """The position of a query row in its request: q + kv_len - q_len."""
    return _of_row("position", row)


def token(row) -> Expr:
    """The row of a query row in the ragged batch: rows[r] + q."""
    return _of_row("token", row)


def soft_cap(value, cap):
    """cap * tanh(value / cap), in (-cap, cap); the number 0 leaves the value as it is.

    A cap that is a scalar of the graph must be above 0 in every call.
    """
    if isinstance(cap, (int, float)):
        if cap < 0 or not math.isfinite(cap):
            raise ValueError(f"soft_cap: expects a finite cap of at least 0, got {cap}")
        if cap == 0:
            return value
    return _as_f32(cap) * tanh(value / _as_f32(cap))


# ---- Printing ---------------------------------------------------------------------------------------


class Region:
    """A traced lambda: its captures, and its body as lines of MLIR."""

    def __init__(self, name: str, roles: str, function):
        """`roles` has a letter for each argument: s and o are f32, the others i32."""
        self.arguments = [Argument("f32" if role in "so" else "i32", f"%{role}_in", role) for role in roles]
        self.captures: list[Capture] = []
        self.lines: list[str] = []
        self._names: dict[str, str] = {}  # of ops, by their text
        self._done: dict[int, str] = {}  # of expressions, by identity
        result = _as_f32(function(*self.arguments[: _argument_count(name, function, len(roles))]))
        self.is_identity = result is self.arguments[0]
        self.lines.append(f"attn.yield {self._emit(result)} : f32")

    def _emit(self, expr: Expr) -> str:
        """Prints what `expr` needs and returns its name; an op that was printed already is not repeated."""
        if isinstance(expr, Argument):
            return expr.template
        if isinstance(expr, Capture):
            if expr.template not in (capture.template for capture in self.captures):
                self.captures.append(expr)
            return expr.template
        if id(expr) not in self._done:
            text = expr.template.format(*[self._emit(operand) for operand in expr.operands])
            if text not in self._names:
                self._names[text] = f"%{len(self._names)}"
                self.lines.append(f"{self._names[text]} = {text}")
            self._done[id(expr)] = self._names[text]
        return self._done[id(expr)]


def _argument_count(name: str, function, most: int) -> int:
    """How many arguments a lambda takes: it may leave out the last one."""
    parameters = inspect.signature(function).parameters.values()
    count = sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters
    )
    if count not in (most - 1, most):
        raise ValueError(f"{name}: expects a function of {most - 1} or {most} arguments, got one of {count}")
    return count
