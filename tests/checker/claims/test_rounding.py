"""What rounding explains: no counterexample by it, none hidden by it, and as many digits as tell two sides apart."""

import inspect
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_claims import One, Unit, decided

from clusterproof import replay
from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    drawn,
    equal,
    integers,
    reals,
    suppose,
    vectors,
)
from clusterproof.checker.claims.judge import Entries, _single_exact, _sure
from clusterproof.checker.claims.rounding import as_float
from clusterproof.checker.real_numbers import comparison
from clusterproof.checker.report.sentences import digits_apart

pytestmark = pytest.mark.usefixtures("registry")


@pytest.mark.parametrize(
    "conclude",
    [
        lambda rest: at_most(rest, nothing=0.0),
        lambda rest: at_most(rest**2, nothing=0.0),
        lambda rest: at_most(np.array([rest, rest / 10]), nothing=np.array([0.0, rest / 20])),
        lambda rest: equal((rest, 0.0)),
        lambda rest: at_most(rest, nothing=0.0, rounding=0.0),
        lambda rest: equal((rest, 0.0), rounding=0.0),
        lambda rest: at_most(1e5 * rest, nothing=0.0),
        lambda rest: equal((1e5 * rest, 0.0)),
    ],
)
def test_what_is_0_over_the_real_numbers_breaks_nothing(conclude: Callable[[float], Sides]) -> None:
    def statement(scale: Annotated[float, reals(1, 2)]) -> Sides:
        return conclude((0.1 * 3 - 0.3) * scale)  # 5e-17 in floats

    def more(scale: Annotated[float, reals(1, 2)]) -> Sides:
        return conclude((0.1 * 3 - 0.2999) * scale)

    assert decided(statement, evaluations=50).verdict is Kind.CONSISTENT
    found = decided(more, evaluations=50)
    assert (found.verdict, found.basis) == (Kind.VIOLATED, "intervals")


Far = Annotated[float, reals(10**8, 100_010_000)]


def variance(x: Far, y: Far) -> Sides:
    # (x - y)^2 / 4, which is at least 0
    return at_least((x * x + y * y) / 2 - ((x + y) / 2) ** 2, zero=0)


def geometric(x: Unit, n: Annotated[int, integers(1, 10, upwards=True)]) -> Sides:
    suppose("x > 0", x > 0)
    return equal((sum((1 - x) ** t for t in range(n)), (1 - (1 - x) ** n) / x))


def there_and_back(x: Unit) -> Sides:
    return equal(((1 + x) - 1, x))


def printed(x: Annotated[float, choice(3e-10)]) -> Sides:
    return equal(((1 + x) - 1, x))


@pytest.mark.parametrize("statement", [variance, geometric, there_and_back, printed])
def test_what_breaks_in_floats_and_holds_for_the_same_fractions_is_not_violated(statement: Any) -> None:
    found = decided(statement, evaluations=100)
    assert found.proof in (None, "signs", "squares")  # floats exhaust nothing
    # a single instance of a range without others is all that there is
    assert found.verdict in (Kind.CONSISTENT, Kind.CERTIFIED), found.reason


def draw_five(stream: np.random.Generator) -> Any:
    return stream.uniform(-1, 1, 5)


def variances(x: np.ndarray) -> tuple[Any, Any]:
    """Mean of squares minus square of the mean, and the mean of squared deviations, of floats about 1e8."""
    y = x + 1e8
    return np.mean(y**2) - np.mean(y) ** 2, np.mean((y - np.mean(y)) ** 2)


def not_negative(x: np.ndarray) -> Sides:
    return at_least(variances(x)[0], zero=0)


def two_ways(x: np.ndarray) -> Sides:
    return equal(variances(x))


def not_above(x: np.ndarray) -> Sides:
    return at_most(variances(x)[0], deviations=variances(x)[1])


@pytest.mark.parametrize("allowed", [vectors(5, reals(-1, 1)), drawn(draw_five, write=list, read=np.array)])
@pytest.mark.parametrize("function", [not_negative, two_ways, not_above])
def test_true_statements_on_floats_about_a_large_number_are_not_accused(function: Any, allowed: Any) -> None:
    def statement(x: Any) -> Sides:
        return function(x)  # type: ignore[no-any-return]

    statement.__annotations__["x"] = Annotated[np.ndarray, allowed]
    found = decided(statement, evaluations=100)
    assert found.verdict is Kind.CONSISTENT, found.reason
    assert "over the real numbers, not in floats" in found.reason


def test_a_false_statement_on_floats_about_a_large_number_is_violated() -> None:
    def half(x: Annotated[np.ndarray, vectors(5, reals(-1, 1))]) -> Sides:
        return at_most(variances(x)[1], half=0.5 * variances(x)[0])

    assert decided(half, evaluations=100).verdict is Kind.VIOLATED


def test_rounding_at_a_corner_of_the_range_is_no_counterexample() -> None:
    """Small changes stay in the range: those out of it say nothing. The function takes floats only."""

    def inequality(x: Annotated[np.ndarray, vectors(5, reals(-1, 1))]) -> Sides:
        y = np.array(x, dtype=float) + 1e7
        return at_least(np.mean(y**2) - np.mean(y) ** 2, zero=0)

    def equation(x: Annotated[np.ndarray, vectors(5, reals(-1, 1))]) -> Sides:
        y = np.array(x, dtype=float) + 1e7
        return equal((np.mean(y**2) - np.mean(y) ** 2, np.var(y)))

    for function in (inequality, equation):
        found = decided(function, evaluations=400)
        assert found.verdict is Kind.CONSISTENT, found.reason


def test_what_chance_may_explain_is_no_counterexample() -> None:
    """A sure comparison of random numbers: rounding breaks the first, and chance may break the second."""

    def of_a_stream(n: Annotated[int, integers(1, 50)], stream: Stream) -> Sides:
        return not_negative(stream.normal(size=10))

    def mean(n: Annotated[int, integers(1, 50)], stream: Stream) -> Sides:
        return at_most(stream.uniform(0, 1, 1000).mean(), bound=0.5)

    for function in (of_a_stream, mean):
        found = decided(function)
        assert found.verdict is Kind.INCONCLUSIVE
        assert "expectation(...)" in found.reason


def drawn_by_itself(factor: float) -> Callable[..., Sides]:
    """A comparison of two variances of numbers that the function draws: the real numbers say nothing of it."""

    def statement(n: Annotated[int, integers(1, 50)]) -> Sides:
        x = np.random.default_rng(n).normal(size=10)
        return at_most(variances(x)[1], variance=factor * variances(x)[0]) if factor else not_negative(x)

    return statement


def test_where_the_real_numbers_say_nothing_a_margin_decides_and_proves_nothing() -> None:
    found = decided(drawn_by_itself(0))
    assert found.verdict is Kind.INCONCLUSIVE
    assert "numpy.random.default_rng has no rigorous value (line" in found.reason
    found = decided(drawn_by_itself(0.5))
    assert (found.verdict, found.basis, found.word) == (Kind.VIOLATED, "floats", "violated in floats")
    assert np.random.default_rng(1).random() == np.random.default_rng(1).random()


def test_an_instance_that_breaks_in_fractions_too_is_violated(plant: Callable[..., Any]) -> None:
    plant(comparison, "FUEL", 20_000)

    def less(x: Unit) -> Sides:
        return at_most((1 + x) - 1, less=x - Fraction(1, 10**4))

    def slower(x: Unit) -> Sides:
        count = 0
        while 0.1 * 3 == 0.3:  # over the real numbers only
            count += 1
        return less(x)

    for function, basis in ((less, "exact"), (slower, "floats")):
        found = decided(function, evaluations=60)
        assert (found.verdict, found.basis) == (Kind.VIOLATED, basis)
        assert replay("toy/one", found.counterexample or {}).verdict is Kind.VIOLATED


def root(x: Unit, y: Unit) -> Sides:
    return at_most(x**0.5 + y**0.5, of_the_sum=(x + y) ** 0.5)


def cosine(x: Annotated[float, reals(1e-8, 1e-2)]) -> Sides:
    # 1 - cos x, which is at most x^2 / 2, has an absolute error of 1e-16
    return at_most(1 - math.cos(x), half=x * x / 2)


@pytest.mark.parametrize(("statement", "verdict"), [(cosine, Kind.CONSISTENT), (root, Kind.VIOLATED)])
def test_a_counterexample_by_cancellation_is_none(statement: Any, verdict: Kind) -> None:
    assert decided(statement, evaluations=300).verdict is verdict


def spectral_radius(rate: Annotated[float, reals(0.01, 0.9)]) -> tuple[float, float]:
    """Heavy ball with the momentum at which both eigenvalues are sqrt(momentum)."""
    momentum = (1 - rate**0.5) ** 2
    step = np.array([[1 + momentum - rate, -momentum], [1.0, 0.0]], dtype=float)
    return float(np.abs(np.linalg.eigvals(step)).max()), momentum**0.5


def squares(a: Unit, b: Unit) -> tuple[float, float]:
    """The same sum of squares from the mean, by its definition and by the squares."""
    x = np.array([1e6 + float(a), 1e6 + float(b), 1e6])
    return float(((x - x.mean()) ** 2).sum()), float((x**2).sum() - 3 * x.mean() ** 2)


def frank_wolfe(optimum: Unit, rounds: Annotated[int, integers(1, 60)]) -> tuple[float, float]:
    """Exact line search on [-1, 2]: the optimum is met in the first round, but for rounding."""
    x = 1.0
    for _ in range(rounds):
        vertex = -1.0 if x > optimum else 2.0
        step = min(max((float(optimum) - x) / (vertex - x), 0.0), 1.0)
        x = x + step * (vertex - x)
    return abs(x - float(optimum)), 0.5**rounds


@pytest.mark.parametrize("function", [spectral_radius, squares, frank_wolfe])
def test_rounding_is_no_counterexample_and_a_false_factor_is(function: Any) -> None:
    """Of the true statements nothing is said against; .9 of what is allowed is too little but for Frank-Wolfe."""

    def times(factor: float) -> Callable[..., Sides]:
        def compared(**one: Any) -> Sides:
            measured, allowed = function(**one)
            return at_most(measured, allowed=factor * allowed)

        compared.__annotations__ = function.__annotations__ | {"return": Sides}
        compared.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return compared

    true = decided(times(1.0), evaluations=300)
    assert true.verdict in (Kind.CONSISTENT, Kind.INCONCLUSIVE), true.reason
    if function is not frank_wolfe:
        assert decided(times(0.9), evaluations=300).verdict is Kind.VIOLATED


def test_the_sums_of_squares_do_differ_in_floats() -> None:
    pairs = [squares(a, b) for a, b in itertools.product(np.linspace(0, 1, 20), repeat=2)]
    assert any(left > right * (1 + 1e-9) for left, right in pairs)


# ---- exact numbers


NUMBERS = st.one_of(st.integers(-3, 3), st.fractions(-2, 2, max_denominator=4), st.just(10**400))
INEQUALITIES = st.builds(
    lambda conclude, measured, terms: conclude(measured, **terms),
    st.sampled_from([at_most, at_least]),
    NUMBERS,
    st.dictionaries(st.sampled_from(["one", "two", "three"]), NUMBERS, min_size=1),
)
EQUATIONS = st.builds(
    lambda pairs: equal(*pairs), st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3)
)


@given(INEQUALITIES | EQUATIONS)
def test_single_exact_numbers_are_judged_as_arrays_are(sides: Sides) -> None:
    assert _single_exact(sides) == _sure(sides, Entries(sides))


def test_an_exact_number_beyond_all_floats_becomes_infinite_with_its_sign() -> None:
    assert [as_float(sign * Fraction(10) ** 400) for sign in (1, -1)] == [math.inf, -math.inf]


# ---- digits that are printed

NEAR = Fraction(1, 10**20)


@pytest.mark.parametrize(
    ("measured", "bound", "said"),
    [
        (1.0000001, 1.0, "1.0000001 > 1"),
        (10**6 + 1.0, 10**6, "1000001 > 1000000"),
        (0.3 + 1e-12, 0.3, "0.300000000001 > 0.3"),
        (1 + NEAR, 1, "1 > 1, by 1e-20"),
        (np.array([1, 1 + NEAR], dtype=object), 1, "1 > 1 at entry 1, by 1e-20"),
        (Fraction(10**4501, 3), Fraction(10**4500), "3.3333e+4500 > 1.0e+4500"),
        (Fraction(10**400 + 1), Fraction(10**400), "1.0e+400 > 1.0e+400, by 1.0"),
        (np.array([1, 7 * 10**400], dtype=object), Fraction(2 * 10**400), "7.0e+400 > 2.0e+400 at entry 1"),
    ],
)
def test_sides_that_differ_are_written_differently(measured: Any, bound: Any, said: str) -> None:
    def statement(x: One) -> Sides:
        return at_most(measured, bound=bound, rounding=0)

    reason = decided(statement).reason.removeprefix("at x = 1: ")
    assert reason.replace("1e+06", "1000000").replace("1.0e-20", "1e-20").replace("0000e+", "0e+") == said


@pytest.mark.parametrize(
    ("first", "second"), [(0.1, 0.2), (1.0, 1 + 2**-52), (0.1 + 0.2, 0.3), (1e9, 1e9 + 1)]
)
def test_two_numbers_get_the_fewest_digits_that_tell_them_apart(first: float, second: float) -> None:
    digits = digits_apart(first, second)
    assert f"{first:.{digits}g}" != f"{second:.{digits}g}"
    assert digits == 5 or f"{first:.{digits - 1}g}" == f"{second:.{digits - 1}g}"
