"""Claims whose truth is known by argument, at the instances where floats are wrong; and what has no rigorous value."""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from scipy.special import ellipk
from toy_claims import decided, stated

from clusterproof import replay
from clusterproof.checker import Kind
from clusterproof.checker.claims import (
    Sides,
    at_least,
    at_most,
    choice,
    equal,
    given,
    integers,
    rationals,
    reals,
    suppose,
    vectors,
)
from clusterproof.checker.real_numbers.comparison import over_the_reals
from clusterproof.checker.search.confirmation import computes_in_floats

pytestmark = pytest.mark.usefixtures("registry")
Tiny = Annotated[float, reals(0, 1e-8)]
Far = Annotated[float, reals(-1000, 1000)]
Under = Annotated[float, reals(0, 1e-200)]
Whole = Annotated[int, integers(1, 70)]
RATE = 0.1
THIRD = 1 / 3


def quotient(x: Tiny, *, factor: float = 1.0) -> Sides:
    """(e^x - 1) / x >= 1."""
    suppose("x > 0", x > 0)
    return at_least((math.exp(x) - 1) / x, factor)


def log_sum(a: Far, b: Far, *, factor: float = 1.0) -> Sides:
    """log(e^a + e^b) <= max(a, b) + log 2."""
    return at_most(np.log(np.exp(a) + np.exp(b)), largest=max(a, b), slack=factor * math.log(2))


def norm(x: Under, y: Under, *, factor: float = 1.0) -> Sides:
    """||(x, y)|| >= max(x, y)."""
    return at_least(math.sqrt(x * x + y * y), factor * max(x, y))


def cosine(x: Tiny, *, factor: float = 1.0) -> Sides:
    """1 - cos x >= x^2 / 4 for small x; it is x^2 / 2 nearly."""
    return at_least(1 - math.cos(x), factor * x * x / 4)


def factorial(n: Whole, *, factor: float = 1.0) -> Sides:
    """2^(n - 1) <= n!, with equality at 1 and 2."""
    return at_most(factor * 2 ** (n - 1), product=int(np.prod(np.arange(1, n + 1))))


def tenth(n: Whole, *, factor: float = 1.0) -> Sides:
    """floor(n RATE 10) = n."""
    return equal((math.floor(n * RATE * 10), math.floor(factor * n)))


def overflow(n: Annotated[int, integers(1, 1000)], *, factor: float = 1.0) -> Sides:
    """e^n >= factor (1 + n)."""
    return at_least(math.exp(n), factor * (1 + n))


def invalid(x: Annotated[float, reals(1e8, 1e9)], *, factor: float = 1.0) -> Sides:
    """sqrt((x + 1)^2 - x^2 - 2 x) = 1, where floats have roots of negative numbers."""
    return at_most(math.sqrt((x + 1) ** 2 - x**2 - 2 * x), factor)


HARD = [
    (quotient, 1.1),
    (log_sum, 0.5),
    (norm, 1.5),
    (cosine, 2.1),
    (factorial, 1.01),
    (tenth, 1.1),
    (overflow, 1.5),
    (invalid, 0.9),
]


@pytest.mark.parametrize(("function", "false"), HARD)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_a_true_theorem_is_not_accused_and_its_false_neighbour_is(
    function: Callable[..., Sides], false: float
) -> None:
    found = decided(function, evaluations=300)
    assert found.verdict is Kind.CONSISTENT, found.reason
    known = dict(function.__kwdefaults__)
    function.__kwdefaults__["factor"] = false
    try:
        found = decided(function, evaluations=300)
    finally:
        function.__kwdefaults__.update(known)
    assert (found.verdict, found.basis) == (Kind.VIOLATED, "intervals"), found.reason


def test_a_finite_space_that_holds_over_the_real_numbers_is_consistent_and_not_certified() -> None:
    def roots(n: Annotated[int, integers(0, 40)]) -> Sides:
        return at_most(math.sqrt(n), (1 + n) / 2)

    found = decided(roots)
    assert (found.verdict, found.proof) == (Kind.CONSISTENT, None)
    assert found.reason == "holds at all 41 instances over the real numbers"


def answer(function: Callable[..., Any], **instance: Any) -> Any:
    """Return what the real numbers say of an instance of a claim of one line."""
    return over_the_reals(stated(function).statements[0], instance, {"": False})[""]


@dataclass(frozen=True)
class Setting:
    smallest: Annotated[float, reals(0.1, 1)]
    largest: Annotated[float, reals(1, 10)] = 1.0

    @property
    def condition(self) -> float:
        return self.largest / self.smallest


def test_records_functions_closures_and_constants_are_those_of_the_source() -> None:
    share = Fraction(1, 4)

    @functools.cache
    def contraction(step: float) -> float:
        return 1 - share * step

    def claim(setting: Setting, x: Annotated[np.ndarray, vectors(2, reals(-1, 1))]) -> Sides:
        state = np.array(x, dtype=float)
        total = 0
        for k in range(3):
            state[k % 2] += RATE
            total += sum(contraction(each) for each in state.tolist())
        return equal((total + setting.condition + 3 * THIRD, float(8) + 10))

    # three rounds with four and a half tenths added: 6 - (x sums to 1, and .1 + .2 + .3 are there) / 4, and 10 + 1
    found = answer(claim, smallest=0.1, largest=1.0, x=np.array([0.25, 0.75]))
    assert (found.broken, found.allowed) == (True, 18.0)
    assert found.measured == pytest.approx(6 - (3 * 1 + 0.1 + 0.2 + 0.3) / 4 + 10 + 1, abs=1e-15)


def test_a_constant_that_has_changed_since_its_file_was_read_has_no_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def claim(n: Whole) -> Sides:
        return at_most(n * RATE, 7)

    assert answer(claim, n=3).broken is False
    monkeypatch.setitem(globals(), "RATE", 0.2)
    found = answer(claim, n=3)
    assert found.broken is None
    assert "RATE, which has changed since its file was read, has no rigorous value (line" in found.why


def from_elsewhere(n: Whole) -> Sides:
    return at_most(time.perf_counter(), n)


def drawn_inside(n: Whole) -> Sides:
    return at_most(np.random.default_rng(n).random(), 2)


def of_scipy(n: Whole) -> Sides:
    return at_most(ellipk(1 / (n + 1)), n * n)


def of_a_type(n: Whole) -> Sides:
    return at_most(1 if isinstance(n / 2, float) else 0, n)


def of_digits(n: Whole) -> Sides:
    return at_most(len(str(math.sqrt(n + 0.5))), 99)


def sorted_in_place(n: Whole) -> Sides:
    x = np.array([2.0, 1.0])
    x.sort()
    return at_most(x[0], n)


def complex_number(n: Whole) -> Sides:
    return at_most(abs(n * 1j), n)


def weights(n: Whole) -> Sides:
    return at_most(np.mean(np.ones(n), where=True), 1)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (from_elsewhere, "time.perf_counter"),
        (drawn_inside, "numpy.random.default_rng"),
        (of_scipy, "ellipk"),
        (of_a_type, "the type of a number"),
        (of_digits, "a text of a number's digits"),
        (sorted_in_place, "the attribute sort of an array"),
        (complex_number, "a complex number"),
        (weights, "numpy.mean of these arguments"),
    ],
)
def test_what_has_no_rigorous_value_is_named_with_its_line(function: Any, name: str) -> None:
    found = answer(function, n=3)
    assert found.broken is None
    assert name in found.why
    assert "has no rigorous value" in found.why
    assert "(line " in found.why or function is complex_number


def test_a_handler_of_the_user_does_not_catch_it() -> None:
    def claim(n: Whole) -> Sides:
        try:
            x = time.perf_counter()
        except Exception:
            x = 0.0
        return at_most(x, n)

    assert answer(claim, n=1).broken is None


def test_a_hypothesis_that_is_not_met_over_the_real_numbers_is_no_break() -> None:
    def claim(x: Annotated[float, choice(0.1, 0.3)]) -> Any:
        suppose("three tenths", x * 3 == 0.3 + 1e-17)
        return {"one": at_most(x, 0.0), "two": given("never", x > 1, lambda: at_most(x, 0.0))}

    statement = stated(claim).statements[0]
    found = over_the_reals(statement, {"x": 0.1}, {"one": False, "two": False})
    assert [each.outside for each in found.values()] == ["three tenths"] * 2


def test_an_endless_loop_over_the_real_numbers_alone_is_stopped() -> None:
    def claim(x: Annotated[float, reals(1, 4)]) -> Sides:
        root, before = x, 0.0
        while root != before:
            before, root = root, (root + x / root) / 2
            root = min(before, root)
        return at_most(root, x)

    assert answer(claim, x=2.0).broken is None


def test_ends_of_ranges_are_what_is_written() -> None:
    def least(x: Annotated[Fraction, rationals(1e-12, 1, 8)]) -> Sides:
        return at_least(x, Fraction(1, 10**12))

    def tenths(x: Annotated[float, reals(0.3, 0.7)]) -> Sides:
        return at_least(math.floor(10 * x), 3)

    def open_end(x: Annotated[Fraction, rationals(0, 1 - Fraction(1, 10**12), 8)]) -> Sides:
        return at_most(math.floor(x), 0)

    def narrow(x: Annotated[Fraction, rationals(Fraction(1, 10**16), Fraction(2, 10**16), 8)]) -> Sides:
        return at_most(10**16 * x, Fraction(3, 2))

    for true in (least, tenths, open_end):
        found = decided(true)
        assert found.verdict in (Kind.CONSISTENT, Kind.CERTIFIED), found.reason
        assert (found.instances or 0) >= 30
    assert decided(narrow).verdict is Kind.VIOLATED


def test_a_counterexample_that_floats_do_not_show_is_replayed_over_the_real_numbers() -> None:
    def rounded_away(x: Annotated[float, reals(0, 1e-9)]) -> Sides:
        return at_most(1 - math.cos(x), x * x / 3)

    found = decided(rounded_away)
    assert found.verdict is Kind.VIOLATED
    assert found.counterexample is not None
    again = replay("toy/one", found.counterexample)
    assert again.verdict is Kind.VIOLATED
    assert (again.measured, again.bound) == (found.measured, found.bound)
    assert replay("toy/one", {"x": 0.0}).verdict is Kind.CONSISTENT


def test_a_variable_that_changes_is_read_again_and_an_infinite_bound_is_none() -> None:
    limits = [0.5]

    def claim(n: Whole) -> Sides:
        return at_most(n / 100, limits[-1])

    def infinite(n: Whole) -> Sides:
        return at_least(n, math.inf)

    assert answer(claim, n=60).broken is True
    limits.append(0.7)
    assert answer(claim, n=60).broken is False
    assert answer(infinite, n=1).broken is True


@dataclass(frozen=True)
class Halvings:
    part: Annotated[Fraction, choice(1 - Fraction(1, 10**17), Fraction(1, 3))]

    @property
    def number(self) -> int:
        return math.ceil(math.log(self.inverse()) / math.log(2))

    def inverse(self) -> Fraction:
        return 1 / self.part


def of_record(halvings: Halvings) -> Sides:
    return at_most(Fraction(1, 2) ** halvings.number, part=halvings.part)


def of_class(part: Annotated[Fraction, choice(1 - Fraction(1, 10**17), Fraction(1, 3))]) -> Sides:
    return at_most(Fraction(1, 2) ** Halvings(part).number, part=part)


@pytest.mark.parametrize("claim", [of_record, of_class])
def test_whole_numbers_that_a_class_computes_in_floats_are_no_exact_ones(claim: Callable[..., Any]) -> None:
    """2^-ceil(log_2(1 / part)) <= part; in floats the logarithm of 1 + 1e-17 is 0."""
    found = decided(claim)
    assert found.verdict is Kind.CONSISTENT, found.reason
    assert found.reason == "holds at all 2 instances over the real numbers"


@dataclass(frozen=True)
class Exactly:
    part: Annotated[Fraction, choice(Fraction(5, 2), Fraction(1, 3))]


def test_a_record_of_fractions_is_exact_beside_functions_that_give_whole_numbers() -> None:
    """The methods that Python writes for a record have names that its module of functions has too."""

    def below(record: Exactly) -> Sides:
        return at_most(record.part, math.floor(record.part))

    assert not computes_in_floats(below, frozenset([Exactly]))
    found = decided(below)
    assert (found.verdict, found.basis) == (Kind.VIOLATED, "exact")
