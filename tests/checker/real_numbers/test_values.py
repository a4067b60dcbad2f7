"""The tables of functions of Python, ``math``, NumPy and SciPy, compared with mpmath, NumPy and SciPy."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated, Any

import flint
import mpmath
import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from toy_claims import Unit, decided

from clusterproof.checker import Kind
from clusterproof.checker.claims import Sides, at_least, at_most, reals
from clusterproof.checker.real_numbers.arrays import NUMPY
from clusterproof.checker.real_numbers.comparison import nearest_float
from clusterproof.checker.real_numbers.counterparts import Counterparts
from clusterproof.checker.real_numbers.functions import ELEMENTARY, FUNCTIONS
from clusterproof.checker.real_numbers.interval import Interval, NoValue, Undecided, ball_of, decimal
from clusterproof.checker.real_numbers.operators import COMPARISONS, OPERATIONS
from clusterproof.checker.real_numbers.special_functions import ONE, TWO


@pytest.fixture(autouse=True, scope="module")
def _precision() -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, 128
    yield
    flint.ctx.prec = before


OF_MPMATH = {"lgamma": mpmath.loggamma, "fabs": mpmath.fabs, "exp2": lambda x: mpmath.mpf(2) ** x}
OF_MPMATH |= {"log2": lambda x: mpmath.log(x, 2), "degrees": mpmath.degrees, "radians": mpmath.radians}
FROM_ONE = ("acosh",)
FRACTIONS = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(9, 10), max_denominator=60)


def contains(number: Any, value: Any) -> bool:
    """Return whether a number's interval contains a value of mpmath's sixty digits, and is not wider than 1e-30."""
    ball = ball_of(number)
    near = flint.arb(mpmath.nstr(value, 60)) + flint.arb(0, 1e-45)
    return bool(ball.overlaps(near)) and float(ball.rad()) <= 1e-30 * max(1.0, abs(float(value)))


@given(st.data())
def test_elementary_functions_are_those_of_mpmath(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(ELEMENTARY)))
    x = data.draw(FRACTIONS) + (name in FROM_ONE)
    with mpmath.workdps(60):
        exact = mpmath.mpf(x.numerator) / x.denominator
        expected = OF_MPMATH.get(name, getattr(mpmath, name, None))(exact)
        assert contains(ELEMENTARY[name](x), expected), name


@pytest.mark.parametrize("name", sorted(ELEMENTARY))
def test_an_exact_value_is_that_of_the_library(name: str) -> None:
    for x in (0, 1):
        try:
            expected = getattr(math, name)(x)
        except (AttributeError, ValueError):
            continue
        assert nearest_float(ELEMENTARY[name](x)) == pytest.approx(expected, abs=1e-15)


@given(FRACTIONS, FRACTIONS, st.integers(-4, 9), st.sampled_from(sorted(OPERATIONS)))
def test_operators_are_those_of_fractions(x: Fraction, y: Fraction, n: int, name: str) -> None:
    if name in ("__inner", "__power"):
        assert OPERATIONS["__power"](x, n) == x**n
        return
    expected = {
        "__add": x + y,
        "__subtract": x - y,
        "__multiply": x * y,
        "__divide": x / y,
        "__divide_whole": x // y,
        "__remainder": x % y,
    }[name]
    assert OPERATIONS[name](x, y) == expected
    if name not in ("__divide_whole", "__remainder") or (x / y).denominator > 1:
        wide = OPERATIONS[name](Interval(ball_of(x)), y)
        assert bool(ball_of(wide).overlaps(ball_of(expected)))


def test_whole_numbers_are_divided_as_fractions_and_never_wrap() -> None:
    assert OPERATIONS["__divide"](1, 3) == Fraction(1, 3)
    assert OPERATIONS["__power"](2, -3) == Fraction(1, 8)
    product = NUMPY[np.prod](NUMPY[np.arange](1, 30))
    assert product == math.factorial(29)
    assert NUMPY[np.array]([2**62, 2**62]).sum() == 2**63


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_is_the_number_that_is_written(x: float) -> None:
    number = decimal(repr(x))
    if type(number) is Fraction:
        assert number == Fraction(repr(x))
    else:
        assert number.ball.contains(ball_of(Fraction(repr(x))))
        assert not number.ball.contains(ball_of(Fraction(repr(x)) * (1 + Fraction(1, 10**13))))


def test_only_what_is_certain_is_answered() -> None:
    two = OPERATIONS["__multiply"](ELEMENTARY["sqrt"](2), ELEMENTARY["sqrt"](2))
    for sign in COMPARISONS:
        with pytest.raises(Undecided):
            COMPARISONS[sign](two, 2)
        assert COMPARISONS[sign](two, 3) == (sign in ("<", "<=", "!="))
    for ask in (math.floor, math.ceil, bool):
        with pytest.raises(Undecided):
            ask(two - 2)
    assert round(ELEMENTARY["exp"](1), 3) == Fraction(2718, 1000)
    assert math.trunc(-ELEMENTARY["exp"](1)) == -2
    assert nearest_float(FUNCTIONS[max](two, 2, 1)) == 2.0  # whichever it is


@pytest.mark.parametrize("ask", [float, str, "{}".format, hash, lambda x: x + 0.5, lambda x: x < 0.5])
def test_no_digit_is_asked_or_lost(ask: Callable[[Any], Any]) -> None:
    with pytest.raises((NoValue, TypeError)):
        ask(ELEMENTARY["exp"](1))


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sums": lambda np, a, m: [
        np.sum(a),
        np.mean(a),
        np.prod(a),
        np.var(a),
        np.std(a),
        np.median(a),
        np.ptp(a),
    ],
    "axes": lambda np, a, m: [
        np.sum(m, axis=0),
        np.mean(m, axis=1),
        np.max(m, axis=0),
        np.sum(m, 1, keepdims=True),
    ],
    "extremes": lambda np, a, m: [np.max(a), np.min(a), np.argmax(a), np.argmin(a), np.clip(a, 1, 2)],
    "orders": lambda np, a, m: [np.sort(a), np.argsort(a), np.cumsum(a), np.cumprod(a), np.diff(a)],
    "along": lambda np, a, m: [np.cumsum(m, axis=0), np.cumsum(m, axis=1), np.cumsum(m)],
    "products": lambda np, a, m: [np.dot(m, a), np.einsum("ij,j->i", m, a), np.trace(m), np.kron(a, a)],
    "grids": lambda np, a, m: [np.linspace(0, 1, 5), np.arange(1, 2, 0.25), np.geomspace(1, 8, 4), np.eye(2)],
    "entries": lambda np, a, m: [np.sqrt(a), np.exp(-a), np.log(a), np.abs(-a), np.sign(a - 2), np.floor(a)],
    "pairs": lambda np, a, m: [
        np.maximum(a, 2),
        np.minimum(a, a[::-1]),
        np.hypot(a, 1),
        np.arctan2(a, 1),
        a**2,
    ],
    "shapes": lambda np, a, m: [np.stack([a, a]), np.concatenate([a, a]), np.diag(a), np.where(a > 2, a, -a)],
    "solutions": lambda np, a, m: [np.linalg.solve(m, a), np.linalg.inv(m), np.linalg.det(m)],
    "norms": lambda np, a, m: [np.linalg.norm(a), np.linalg.norm(a, 1), np.linalg.norm(m, 2)],
    "values": lambda np, a, m: [
        np.linalg.eigvalsh(m + m.T),
        np.linalg.svd(m, compute_uv=False),
        np.linalg.cond(m),
    ],
    "powers": lambda np, a, m: [
        np.linalg.matrix_power(m, 3),
        np.linalg.eigvalsh(np.eye(3)),
        np.average(a, weights=a),
    ],
    "methods": lambda np, a, m: [
        a.sum(),
        a.mean(),
        m.max(axis=1),
        a.std(),
        m.reshape(9)[2],
        a.dot(a),
        m.T[0],
    ],
    "places": lambda np, a, m: [m[np.argsort(a)], a[a > 2], m[np.argmax(a), 1:], m[:, [0, 2]], (a > 2).sum()],
}
"""Each of a module like NumPy, a vector of three numbers, and a matrix of three rows."""
VECTOR, MATRIX = [1.5, 3.25, 2.125], [[2.0, 0.5, 0.25], [0.125, 3.0, 1.0], [0.5, 0.75, 4.0]]


@pytest.mark.parametrize("name", CALLS)
def test_numpys_functions_give_what_numpy_gives(name: str) -> None:
    call = CALLS[name]
    expected = call(np, np.array(VECTOR), np.array(MATRIX))
    counterparts = Counterparts()
    vector, matrix = (counterparts.real(np.array(each), chosen=True) for each in (VECTOR, MATRIX))
    found = counterparts.of(call, globals(), name)(np, vector, matrix)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        floats = np.vectorize(nearest_float, otypes=[float])(np.asarray(one, dtype=object))
        np.testing.assert_allclose(floats, np.asarray(other, dtype=float), rtol=1e-12, atol=1e-13)


CALLS_SPECIAL_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda a, m: [
        sp.logsumexp(a),
        sp.logsumexp(m, axis=1),
        sp.softmax(a),
        sp.log_softmax(a),
        sp.comb(5, 2),
    ],
    "normal": lambda a, m: [norm.cdf(a), norm.sf(a), norm.pdf(a), norm.logcdf(a), norm.logsf(a)],
    "linear": lambda a, m: [sl.expm(m), sl.norm(a), sl.solve(m, a), sl.inv(m), sl.det(m), sl.svdvals(m)],
}
VECTOR_SPECIAL_FUNCTIONS, MATRIX_SPECIAL_FUNCTIONS = (
    np.array([0.5, 0.25, 0.75]),
    np.array([[2.0, 0.5, 0.25], [0.125, 3.0, 1.0], [0.5, 0.75, 4.0]]),
)


def same(found: Any, expected: Any) -> None:
    floats = np.vectorize(nearest_float, otypes=[float])(np.asarray(found, dtype=object))
    np.testing.assert_allclose(floats, np.asarray(expected, dtype=float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CALLS_SPECIAL_FUNCTIONS)
def test_scipys_functions_give_what_scipy_gives(name: str) -> None:
    counterparts = Counterparts()
    vector, matrix = (
        counterparts.real(each, chosen=True) for each in (VECTOR_SPECIAL_FUNCTIONS, MATRIX_SPECIAL_FUNCTIONS)
    )
    found = counterparts.of(CALLS_SPECIAL_FUNCTIONS[name], globals(), name)(vector, matrix)
    for one, other in zip(
        found, CALLS_SPECIAL_FUNCTIONS[name](VECTOR_SPECIAL_FUNCTIONS, MATRIX_SPECIAL_FUNCTIONS), strict=True
    ):
        same(one, other)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_a_function_of_numbers_gives_what_scipy_gives(name: str) -> None:
    values = (2.5, 3.25) if name == "zeta" else (0.25, 0.75)
    counterparts = Counterparts()
    live = getattr(sp, name)
    function = counterparts.of(live, {}, name)
    for arguments in [values[:1], values[1:]] if name in ONE else [values, values[::-1]]:
        same(
            function(*(counterparts.real(each, chosen=True) for each in arguments)), np.real(live(*arguments))
        )


@pytest.mark.usefixtures("registry")
def test_digits_that_scipy_loses_accuse_nobody() -> None:
    def tail(x: Annotated[float, reals(0, 30)]) -> Sides:
        return at_least(1 - norm.cdf(x), norm.sf(x))

    def false_tail(x: Annotated[float, reals(0, 30)]) -> Sides:
        return at_most(1 - norm.cdf(x), norm.pdf(x) / (1 + x))

    def entropy(x: Unit) -> Sides:
        return at_most(sp.entr(x) + sp.entr(1 - x), 0.69)

    assert decided(tail, evaluations=200).verdict is Kind.CONSISTENT
    for false in (false_tail, entropy):
        found = decided(false, evaluations=200)
        assert (found.verdict, found.basis) == (Kind.VIOLATED, "intervals")
