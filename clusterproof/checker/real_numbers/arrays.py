"""Replacements for NumPy functions: entrywise operations on arrays of objects, and linear algebra with intervals."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from clusterproof.checker.real_numbers.functions import (
    ELEMENTARY,
    Float,
    Int,
    add_up,
    arctan2,
    hypot,
    largest,
    least,
    multiply_up,
)
from clusterproof.checker.real_numbers.interval import (
    Interval,
    NoValue,
    Undecided,
    ball_of,
    larger,
    power,
    root,
    smaller,
)
from clusterproof.checker.real_numbers.operators import (
    COMPARISONS,
    OPERATIONS,
    as_truth,
    divide,
    entrywise,
    fuel,
    matmul,
    plain,
)

Entries = list[Any]


# ---- arrays


def array(value: Any, dtype: Any = None, **_named: Any) -> Any:
    """Return an array of dtype object, or of dtype bool if all entries are booleans."""
    if isinstance(value, range | map | filter | zip):
        raise NoValue("an array of an iterator")
    is_truth = getattr(getattr(value, "dtype", None), "kind", "") == "b"
    found = as_truth(np.array(plain(value), dtype=None if is_truth else object))
    if found.dtype.kind == "b" and dtype in (None, bool, np.bool_):
        return found
    fuel.spend(found.size)
    kind: Any = {Int: Int, bool: bool, np.bool_: bool}.get(dtype, plain)
    entries = np.empty(found.size, dtype=object)
    entries[:] = [kind(each) for each in found.ravel().tolist()]
    return as_truth(entries.reshape(found.shape)) if kind is bool else entries.reshape(found.shape)


def _filled(shape: Any, value: Any, dtype: Any = None, **_named: Any) -> Any:
    found = np.empty(shape, dtype=object)
    fuel.spend(found.size)
    found[...] = plain(value)
    return found.astype(bool) if dtype in (bool, np.bool_) else found


def _like(value: Any) -> Callable[..., Any]:
    return lambda array_, dtype=None: _filled(np.shape(array_), value, dtype)


def _arange(*ends: Any, dtype: Any = None) -> Any:
    start, stop, step = (plain(each) for each in ((0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]))
    count = max(0, math.ceil(divide(stop - start, step)))
    return _numbers([start + step * k for k in range(count)])


def _linspace(low: Any, high: Any, num: int = 50, endpoint: bool = True) -> Any:
    parts = max(num - 1 if endpoint else num, 1)
    return _numbers([plain(low) + (plain(high) - plain(low)) * Fraction(k, parts) for k in range(num)])


def _geomspace(low: Any, high: Any, num: int = 50) -> Any:
    ratio = divide(plain(high), plain(low))
    return _numbers([plain(low) * power(ratio, Fraction(k, max(num - 1, 1))) for k in range(num)])


def _numbers(values: Entries) -> Any:
    fuel.spend(len(values))
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _identity(rows: int, columns: int | None = None, dtype: Any = None) -> Any:
    return array([[int(i == j) for j in range(columns or rows)] for i in range(rows)])


def _moves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement for a NumPy function that only rearranges entries."""

    def call(*values: Any, **named: Any) -> Any:
        given = [
            array(each) if isinstance(each, list | tuple) and _holds_numbers(each) else each
            for each in values
        ]
        return function(*given, **named)

    return call


def _holds_numbers(several: Any) -> bool:
    """Return whether a list contains fractions or intervals, for which NumPy would not create an array of objects."""
    inner = (each for each in several)
    return any(
        _holds_numbers(e) if isinstance(e, list | tuple) else type(e) in (Fraction, Interval) for e in inner
    )


def reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a function of a list to a function that reduces an array along some axes, by default along all."""

    def reduce(
        values: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None, ddof: int = 0
    ) -> Any:
        x = np.asarray(array(values) if isinstance(values, list | tuple) else plain(values), dtype=object)
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        places = tuple(each % x.ndim for each in axes)
        rest = [each for each in range(x.ndim) if each not in places]
        moved = np.transpose(x, [*rest, *places])
        rows = moved.reshape(*moved.shape[: len(rest)], -1)
        apply: Any = functools.partial(function, ddof=ddof) if ddof else function
        if not rest and not keepdims:
            return apply(rows.tolist())
        found = np.empty(moved.shape[: len(rest)], dtype=object)
        for place in np.ndindex(*found.shape):
            found[place] = apply(rows[place].tolist())
        found = as_truth(found)
        return np.expand_dims(found, places) if keepdims else found

    return reduce


def _mean(values: Entries) -> Any:
    return divide(add_up(values), len(values))


def _variance(values: Entries, ddof: int = 0) -> Any:
    middle = _mean(values)
    return divide(
        add_up([(each - middle) * (each - middle) for each in map(plain, values)]), len(values) - ddof
    )


def _place(sign: str) -> Callable[[Entries], int]:
    def find(values: Entries) -> int:
        best = 0
        for k, each in enumerate(values):
            best = k if COMPARISONS[sign](each, values[best]) else best
        return best

    return find


def _median(values: Entries) -> Any:
    ordered = sorted(map(plain, values))
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else divide(ordered[half - 1] + ordered[half], 2)


def _accumulated(name: str) -> Callable[..., Any]:
    def run(values: Any, axis: Any = None) -> Any:
        x = array(values)
        if x.ndim > 1 and axis is None:
            x = x.ravel()
        found, along = np.array(x, dtype=object), np.moveaxis(np.array(x, dtype=object), axis or 0, 0)
        target = np.moveaxis(found, axis or 0, 0)
        for k in range(1, len(along)):
            target[k] = OPERATIONS[name](target[k - 1], along[k])
        return found

    return run


def _sorted(values: Any, axis: Any = -1) -> Any:
    x = array(values)
    if x.ndim != 1:
        raise NoValue("numpy.sort of a matrix")
    return _numbers(sorted(x.tolist()))


def _order(values: Any, axis: Any = -1, kind: Any = None) -> Any:
    entries = [plain(each) for each in values]
    return np.array(sorted(range(len(entries)), key=lambda i: entries[i]), dtype=int)


def _where(condition: Any, *others: Any) -> Any:
    if not others:
        return np.where(condition)
    return np.where(
        np.asarray(condition, dtype=bool), *(np.asarray(plain(each), dtype=object) for each in others)
    )


def _clip(values: Any, low: Any = None, high: Any = None) -> Any:
    values = values if low is None else NUMPY[np.maximum](values, low)
    return values if high is None else NUMPY[np.minimum](values, high)


def _average(values: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return reduced(_mean)(values, axis=axis)
    if axis is not None:
        raise NoValue("numpy.average with weights along an axis")
    total = reduced(add_up)(OPERATIONS["__multiply"](array(values), array(weights)))
    return OPERATIONS["__divide"](total, reduced(add_up)(array(weights)))


def _difference(values: Any) -> Any:
    x = array(values)
    return OPERATIONS["__subtract"](x[1:], x[:-1])


def _all_close(a: Any, b: Any, rtol: Any = Fraction(1, 10**5), atol: Any = Fraction(1, 10**8)) -> Any:
    gap = NUMPY[np.abs](OPERATIONS["__subtract"](array(a), array(b)))
    return COMPARISONS["<="](
        gap, OPERATIONS["__add"](atol, OPERATIONS["__multiply"](rtol, NUMPY[np.abs](array(b))))
    )


# ---- linear algebra


class Complex:
    """A complex number that supports only the real part, the imaginary part and the absolute value."""

    def __init__(self, ball: Any) -> None:
        self.ball = ball

    def __abs__(self) -> Interval:
        return Interval(abs(self.ball))

    real = property(lambda self: Interval(self.ball.real))
    imag = property(lambda self: Interval(self.ball.imag))


def matrix_of(values: Any) -> Any:
    """Convert an array to a python-flint matrix of intervals."""
    x = array(values)
    if x.ndim != 2:
        raise NoValue("the linear algebra of a stack of matrices")
    fuel.spend(x.shape[0] * x.size)
    return flint.arb_mat([[ball_of(each) for each in row] for row in x])


def entries_of_matrix(matrix: Any) -> Any:
    """Convert a python-flint matrix to an array."""
    return array([[Interval(each) for each in row] for row in matrix.tolist()])


def _singular(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        try:
            return function(*values)
        except ZeroDivisionError as error:
            raise Undecided("whether a matrix is singular") from error

    return call


def _solve(a: Any, b: Any) -> Any:
    right = array(b)
    return entries_of_matrix(matrix_of(a).solve(matrix_of(right.reshape(len(right), -1)))).reshape(
        right.shape
    )


def _spectrum(values: Any) -> Entries:
    try:
        found = flint.acb_mat(matrix_of(values)).eig(multiple=True)
    except (ValueError, ZeroDivisionError) as error:
        raise Undecided("an eigenvalue") from error
    return list(found)


def _eigenvalues(values: Any) -> Any:
    return _numbers([Complex(each) for each in _spectrum(values)])


def _symmetric(values: Any) -> Any:
    """Return the eigenvalues of a symmetric matrix.

    The k-th eigenvalue lies between the k-th smallest lower end and the k-th smallest upper end of the intervals.
    """
    x = array(values)
    n = len(x)
    found = [each.real for each in _spectrum([[x[max(i, j), min(i, j)] for j in range(n)] for i in range(n)])]
    order = functools.cmp_to_key(_order_of_ends)
    lower = sorted((each.lower() for each in found), key=order)
    upper = sorted((each.upper() for each in found), key=order)
    return _numbers([Interval(low.union(high)) for low, high in zip(lower, upper, strict=True)])


def _order_of_ends(first: Any, second: Any) -> int:
    return -1 if first < second else int(first > second)


def _singular_values(values: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if compute_uv:
        raise NoValue("the vectors of numpy.linalg.svd")
    x = array(values)
    gram = matmul(x.T, x) if x.shape[0] >= x.shape[1] else matmul(x, x.T)
    return _numbers([root(larger(each, 0)) for each in _symmetric(gram)[::-1]])


def _norm(values: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002 - NumPy's name
    x = array(values)
    is_vector = x.ndim == 1 or isinstance(axis, int)
    if ord in (None, "fro") or (ord == 2 and is_vector):
        return reduced(lambda entries: hypot(*entries))(x, axis=axis, keepdims=keepdims)
    if is_vector and ord == 1:
        return reduced(lambda entries: add_up(map(abs, entries)))(x, axis=axis, keepdims=keepdims)
    if is_vector and ord == math.inf:
        return reduced(lambda entries: largest(map(abs, entries)))(x, axis=axis, keepdims=keepdims)
    if ord == 2 and axis is None:
        return _singular_values(x, compute_uv=False)[0]
    if is_vector and type(ord) in (int, Fraction) and ord > 0:
        powers = entrywise(lambda x: power(abs(x), ord), 1)
        return entrywise(lambda x: power(x, divide(1, ord)), 1)(
            reduced(add_up)(powers(x), axis=axis, keepdims=keepdims)
        )
    raise NoValue(f"numpy.linalg.norm of order {ord}")


def _matrix_power(values: Any, exponent: int) -> Any:
    if exponent < 0:
        return _matrix_power(LINEAR[np.linalg.inv](values), -exponent)
    return functools.reduce(matmul, [array(values)] * exponent, _identity(len(values)))


def _condition(values: Any, p: Any = None) -> Any:
    if p not in (None, 2):
        raise NoValue("numpy.linalg.cond of this order")
    found = _singular_values(values, compute_uv=False)
    return OPERATIONS["__divide"](found[0], found[-1])


LINEAR: dict[Any, Any] = {
    np.linalg.norm: _norm, np.linalg.solve: _singular(_solve), np.linalg.eigvals: _eigenvalues,
    np.linalg.inv: _singular(lambda a: entries_of_matrix(matrix_of(a).inv())), np.linalg.eigvalsh: _symmetric,
    np.linalg.det: lambda a: Interval(matrix_of(a).det()), np.linalg.svd: _singular_values,
    np.linalg.matrix_power: _matrix_power, np.linalg.cond: _condition,
}  # fmt: skip


# ---- the table

MOVES = """
    reshape transpose swapaxes moveaxis broadcast_to expand_dims squeeze ravel repeat tile roll flip stack concatenate
    vstack hstack column_stack atleast_1d atleast_2d triu tril diagonal diag ndim shape size array_equal any all
    flatnonzero argwhere nonzero count_nonzero ix_ indices triu_indices tril_indices diag_indices unravel_index meshgrid
    append split array_split delete broadcast_arrays take take_along_axis logical_and logical_or logical_not isin
    fill_diagonal ndindex ndenumerate errstate tensordot outer inner vdot kron trace cross
"""
"""NumPy functions that only rearrange entries, or only use the operators of the entries."""
ENTRIES: dict[str, Callable[..., Any]] = {
    name: function for name, function in ELEMENTARY.items() if isinstance(getattr(np, name, None), np.ufunc)
} | {
    "arcsin": ELEMENTARY["asin"], "arccos": ELEMENTARY["acos"], "arctan": ELEMENTARY["atan"],
    "arcsinh": ELEMENTARY["asinh"], "arccosh": ELEMENTARY["acosh"], "arctanh": ELEMENTARY["atanh"], "absolute": abs,
    "square": lambda x: x * x, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
    "sign": lambda x: (x > 0) - (x < 0), "reciprocal": lambda x: divide(1, x), "negative": operator.neg,
    "isfinite": lambda x: not isinstance(x, float), "isnan": lambda x: False,
    "isinf": lambda x: isinstance(x, float), "deg2rad": ELEMENTARY["radians"], "rad2deg": ELEMENTARY["degrees"],
}  # fmt: skip
PAIRS: dict[str, Callable[..., Any]] = {
    "maximum": larger, "minimum": smaller, "fmax": larger, "fmin": smaller, "power": power, "divide": divide,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "floor_divide": operator.floordiv,
    "mod": operator.mod, "hypot": hypot, "arctan2": arctan2, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
    "logaddexp": lambda a, b: ELEMENTARY["log"](ELEMENTARY["exp"](a) + ELEMENTARY["exp"](b)),
    "copysign": lambda a, b: abs(a) if b >= 0 else -abs(a), "float_power": power,
}  # fmt: skip
REDUCED: dict[str, Callable[..., Any]] = {
    "sum": add_up, "prod": multiply_up, "mean": _mean, "max": largest, "min": least, "amax": largest, "amin": least,
    "nanmax": largest, "nanmin": least, "nansum": add_up, "var": _variance, "median": _median,
    "std": lambda values, ddof=0: root(_variance(values, ddof)), "argmax": _place(">"), "argmin": _place("<"),
    "ptp": lambda values: largest(values) - least(values),
}  # fmt: skip
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp")
NUMPY: dict[Any, Any] = (
    {getattr(np, name): _moves(getattr(np, name)) for name in MOVES.split()}
    | {getattr(np, name): entrywise(function, 1) for name, function in ENTRIES.items()}
    | {getattr(np, name): entrywise(function, 2) for name, function in PAIRS.items()}
    | {getattr(np, name): reduced(function) for name, function in REDUCED.items()}
    | {
        np.array: array, np.asarray: array, np.copy: array, np.ascontiguousarray: array, np.asanyarray: array,
        np.zeros: lambda shape, dtype=None: _filled(shape, 0, dtype), np.zeros_like: _like(0), np.empty_like: _like(0),
        np.ones: lambda shape, dtype=None: _filled(shape, 1, dtype), np.ones_like: _like(1),
        np.empty: lambda shape, dtype=None: _filled(shape, 0, dtype), np.full: _filled,
        np.full_like: lambda x, value, dtype=None: _filled(np.shape(x), value, dtype),
        np.eye: _identity, np.identity: _identity, np.arange: _arange, np.linspace: _linspace,
        np.geomspace: _geomspace, np.where: _where, np.clip: _clip, np.average: _average, np.diff: _difference,
        np.sort: _sorted, np.argsort: _order, np.cumsum: _accumulated("__add"), np.cumprod: _accumulated("__multiply"),
        np.dot: matmul, np.matmul: matmul, np.isclose: _all_close,
        np.allclose: lambda *values, **named: bool(np.all(_all_close(*values, **named))),
        np.einsum: lambda words, *values: np.einsum(words, *(np.asarray(array(each), dtype=object) for each in values)),
        **{getattr(np, name): Int for name in WHOLE},
        np.float32: Float, np.float16: Float, np.longdouble: Float, np.float64: Float,
        np.round: lambda x, decimals=0: entrywise(lambda v: round(v, decimals), 1)(x),
        np.ndarray: np.ndarray, np.integer: np.integer, np.bool_: bool,
    }
    | LINEAR
)  # fmt: skip
"""Replacements for NumPy functions, indexed by function."""
SAME = (
    "T",
    "shape",
    "size",
    "ndim",
    "flat",
    "copy",
    "tolist",
    "flatten",
    "fill",
    "item",
    "reshape",
    "transpose",
)
"""Attributes of arrays that also work for arrays of objects."""


def array_attribute(value: np.ndarray, name: str) -> Any:
    """Return an attribute of an array; a method is replaced like the NumPy function of the same name."""
    if name in SAME or (value.dtype == bool and name in ("any", "all", "sum", "nonzero")):
        return getattr(value, name)
    if name == "astype":
        return functools.partial(array, value)
    function = NUMPY.get(getattr(np, name, None))
    if function is None or name == "sort":
        raise NoValue(f"the attribute {name} of an array")
    return functools.partial(function, value)
