"""Replacements for SciPy's special functions and linear algebra, found by name because SciPy is imported lazily."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from clusterproof.checker.real_numbers.arrays import LINEAR, array, entries_of_matrix, matrix_of, reduced
from clusterproof.checker.real_numbers.functions import ELEMENTARY, add_up, largest, pi
from clusterproof.checker.real_numbers.interval import Interval, NoValue, ball_of, root
from clusterproof.checker.real_numbers.operators import OPERATIONS, divide, entrywise, plain

exponential, logarithm = ELEMENTARY["exp"], ELEMENTARY["log"]


def _sigmoid(x: Any) -> Any:
    return divide(1, 1 + exponential(-x))


def _normal(x: Any) -> Any:
    """Evaluate the distribution function of the standard normal distribution."""
    return divide(ELEMENTARY["erfc"](divide(-x, root(2))), 2)


def _times_log(x: Any, y: Any) -> Any:
    return 0 if type(x) is not Interval and x == 0 else x * logarithm(y)


def _relative_entropy(x: Any, y: Any) -> Any:
    return _times_log(x, divide(x, y)) if type(x) is Interval or x != 0 else 0


def _log_beta(a: Any, b: Any) -> Any:
    of = ELEMENTARY["lgamma"]
    return of(a) + of(b) - of(a + b)


def _combinations(n: Any, k: Any) -> int:
    if not all(type(each) is int or (type(each) is Fraction and each.denominator == 1) for each in (n, k)):
        raise NoValue("scipy.special.comb of other than whole numbers")
    return math.comb(int(n), int(k)) if n >= 0 and k >= 0 else 0


def _choose(n: Any, k: Any) -> Any:
    of = ELEMENTARY["gamma"]
    return divide(of(n + 1), of(k + 1) * of(n - k + 1))


def _log_sum(values: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """Compute ``logsumexp`` without intermediate exponentials that may be too large."""
    if b is not None:
        raise NoValue("scipy.special.logsumexp with weights")

    def of_entries(entries: list[Any]) -> Any:
        top = largest(entries)
        return top + logarithm(add_up(exponential(each - top) for each in map(plain, entries)))

    return reduced(of_entries)(values, axis=axis, keepdims=keepdims)


def _softmax(values: Any, axis: Any = None) -> Any:
    x = array(values)
    return entrywise(exponential, 1)(
        OPERATIONS["__subtract"](x, _log_sum(x, axis=axis, keepdims=axis is not None))
    )


def _log_softmax(values: Any, axis: Any = None) -> Any:
    x = array(values)
    return OPERATIONS["__subtract"](x, _log_sum(x, axis=axis, keepdims=axis is not None))


ONE: dict[str, Callable[[Any], Any]] = {
    name: ELEMENTARY[name] for name in ("erf", "erfc", "gamma", "expm1", "log1p", "cbrt", "exp2")
} | {
    "gammaln": ELEMENTARY["lgamma"],
    "loggamma": ELEMENTARY["lgamma"],
    "expit": _sigmoid,
    "ndtr": _normal,
    "log_expit": lambda x: -logarithm(1 + exponential(-x)),
    "log_ndtr": lambda x: logarithm(_normal(x)),
    "logit": lambda x: logarithm(divide(x, 1 - x)),
    "entr": lambda x: -_times_log(x, x),
    "psi": lambda x: Interval(ball_of(x).digamma()),
    "digamma": lambda x: Interval(ball_of(x).digamma()),
    "exprel": lambda x: 1 if type(x) is not Interval and x == 0 else divide(ELEMENTARY["expm1"](x), x),
    "cosm1": lambda x: ELEMENTARY["cos"](x) - 1,
    "erfcx": lambda x: exponential(x * x) * ELEMENTARY["erfc"](x),
    "factorial": lambda n: math.factorial(n) if type(n) is int else ELEMENTARY["gamma"](n + 1),
    "zeta": lambda x: Interval(ball_of(x).zeta()),
}
TWO: dict[str, Callable[..., Any]] = {
    "xlogy": _times_log,
    "xlog1py": lambda x, y: _times_log(x, 1 + y),
    "rel_entr": _relative_entropy,
    "kl_div": lambda x, y: _relative_entropy(x, y) - x + y,
    "betaln": _log_beta,
    "beta": lambda a, b: exponential(_log_beta(a, b)),
    "binom": _choose,
}
SPECIAL: dict[str, Callable[..., Any]] = (
    {name: entrywise(function, 1) for name, function in ONE.items()}
    | {name: entrywise(function, 2) for name, function in TWO.items()}
    | {
        "comb": lambda n, k, exact=False: entrywise(_combinations, 2)(n, k),
        "logsumexp": _log_sum,
        "softmax": _softmax,
        "log_softmax": _log_softmax,
    }
)
LINEAR_ALGEBRA: dict[str, Callable[..., Any]] = {
    name: LINEAR[getattr(np.linalg, name)] for name in ("norm", "solve", "inv", "det", "eigvals", "eigvalsh")
} | {
    "svdvals": lambda a: LINEAR[np.linalg.svd](a, compute_uv=False),
    "expm": lambda a: entries_of_matrix(matrix_of(a).exp()),
}


class StandardNormal:
    """Replacement for ``scipy.stats.norm`` that supports only the standard normal distribution."""

    cdf = staticmethod(entrywise(_normal, 1))
    sf = staticmethod(entrywise(lambda x: _normal(-x), 1))
    logcdf = staticmethod(entrywise(lambda x: logarithm(_normal(x)), 1))
    logsf = staticmethod(entrywise(lambda x: logarithm(_normal(-x)), 1))
    pdf = staticmethod(
        entrywise(
            lambda x: divide(exponential(divide(-x * x, 2)), root(OPERATIONS["__multiply"](2, pi()))), 1
        )
    )


@cache
def _table(_loaded: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for module, functions in (("scipy.special", SPECIAL), ("scipy.linalg", LINEAR_ALGEBRA)):
        live = sys.modules.get(module)
        found |= {getattr(live, name): each for name, each in functions.items() if hasattr(live, name)}
    return found


def of_scipy(value: Any) -> Any:
    """Return the replacement for a function of SciPy, or None if it has none."""
    loaded = sum(name in sys.modules for name in ("scipy.special", "scipy.linalg"))
    if type(value).__name__ == "norm_gen":
        return StandardNormal
    return _table(loaded).get(value)
