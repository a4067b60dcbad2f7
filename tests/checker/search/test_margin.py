"""Violations in floats where the real numbers say nothing: what the margin takes, and what it leaves."""

import math
import platform
import re
from typing import Annotated, Any

import numpy as np
import pytest
import scipy.integrate
from toy_claims import decided

from clusterproof.checker import Kind
from clusterproof.checker.claims import Sides, at_most, drawn, equal, integers, reals, suppose
from clusterproof.checker.report.tables import count_table, read_kinds, refuted_words, sentence, summary
from clusterproof.checker.report.verdict import records
from clusterproof.checker.search.confirmation import approximation_in
from clusterproof.checker.search.margin import MODES

pytestmark = pytest.mark.usefixtures("registry")
Digit = Annotated[int, integers(1, 50)]


def noise(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=10)


def far(n: Digit) -> Sides:
    return at_most(np.abs(noise(n)).max() + 1, 1.5)


def close(n: Digit) -> Sides:
    return at_most(np.abs(noise(n)).max() * 0 + 1 + 1e-9, 1.0, rounding=0.0)


def whole(n: Digit) -> Sides:
    return at_most(int(np.sum(noise(n) < 9)), 9)


def infinite(n: Digit) -> Sides:
    return at_most(math.inf if noise(n)[0] < 9 else 0.0, 1.0)


def integral(a: Annotated[float, reals(1, 1e5)]) -> Sides:
    """The integral of e^(-x^2) over [-a, a] is at least .8 of sqrt(pi), where quadrature misses the peak."""
    value = scipy.integrate.quad(lambda x: math.exp(-x * x), -a, a)[0]
    return at_most(0.8 * math.sqrt(math.pi), value)


def cancelling(n: Digit) -> Sides:
    """The variance of numbers about 1e8 is at least 0; their squares have 1 as their last digit."""
    x = noise(n) * 1e-3 + 1e8
    return at_most(-(np.mean(x**2) - np.mean(x) ** 2), 0.0)


def below_the_margin(n: Digit) -> Sides:
    return at_most(np.abs(noise(n)).max() * 0 + 1 + 2e-8, 1.0)


ROUNDED = math.exp(1.0)
BELOW = math.nextafter(ROUNDED, 0)


def last_digit(n: Digit) -> Sides:
    """The last digit of an elementary function, which is another one on other processors."""
    return at_most((math.exp(1.0) - BELOW) * 2**51, abs(noise(n)[0]) * 0 + 0.5)


def last_digit_of_an_equation(n: Digit) -> Sides:
    """One side is larger, or the other one, as the last digit is rounded."""
    return equal(((math.exp(1.0) - BELOW) * 2**51, abs(noise(n)[0]) * 0), rounding=0.5)


def knife_edge(x: Annotated[float, reals(0, 1)]) -> Sides:
    return at_most(float(noise(1)[0] * 0 + (x in (0.0, 1.0))), 0.5)


def knife_edge_of_an_object(
    x: Annotated[tuple[float, ...], drawn(lambda _: (0.5,), write=list, read=tuple)],
) -> Sides:
    return at_most(float(noise(1)[0] * 0 + (x[0] == 0.5)), 0.5)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (below_the_margin, "less than 1e-7 of the largest side"),
        (last_digit, "it holds if the processor rounds"),
        (last_digit_of_an_equation, "it holds if the processor rounds"),
        (knife_edge, "it holds after a small change of the instance"),
        (knife_edge_of_an_object, "it holds after a small change of the instance"),
    ],
)
def test_what_other_digits_explain_is_no_violation(function: Any, why: str) -> None:
    found = decided(function, evaluations=60)
    assert found.verdict is Kind.INCONCLUSIVE
    assert why in found.reason


def test_what_holds_at_few_instances_is_not_consistent() -> None:
    def at_the_ends(x: Annotated[float, reals(0, 1)]) -> Sides:
        suppose("an end", x in (0.0, 1.0))
        return at_most(x, 1.0)

    found = decided(at_the_ends)
    assert found.verdict is Kind.INCONCLUSIVE
    assert found.reason.startswith("2 different instances are too few to refute it; 30 are needed")


def test_what_is_far_beyond_rounding_is_violated_in_floats_and_counts_as_no_false_statement() -> None:
    found = decided(far)
    assert (found.verdict, found.basis, found.word) == (Kind.VIOLATED, "floats", "violated in floats")
    assert "violated in floats, not proved" in str(sentence(found, None))
    assert refuted_words([found]) == ""
    assert "1 violated in floats" in summary([found], 0, 0, 1.0)
    head, row = count_table([found], None)[:2]
    assert dict(zip(re.split(" {2,}", head), re.split(" {2,}", row), strict=True))["violated"] == "0"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (whole, "its whole numbers come from floats"),
        (infinite, "a side is not finite in floats"),
        (integral, "scipy.integrate has method errors"),
        (cancelling, "not confirmed"),
    ],
)
def test_what_may_be_none_is_inconclusive_with_the_reason(function: Any, why: str) -> None:
    found = decided(function)
    assert (found.verdict, found.counterexample) == (Kind.INCONCLUSIVE, None)
    assert why in found.reason
    assert "has no rigorous value (line " in found.reason


def test_a_difference_that_the_author_excludes_counts_only_if_rounding_does_not_explain_it() -> None:
    assert decided(close).word == "violated in floats"


def test_this_processors_rounding_modes_are_known_and_differ() -> None:
    import ctypes

    library, third = ctypes.CDLL(None), []
    before = library.fegetround()
    for mode in MODES[platform.machine()].values():
        assert library.fesetround(mode) == 0
        try:
            third.append(1.0 / float(np.array([3.0]).sum()))
        finally:
            library.fesetround(before)
    down, up, _ = third
    assert down < up


def test_a_function_may_name_what_numpy_had_once() -> None:
    """A name of Python's, such as object, which NumPy warns of; warnings of this package are errors here."""

    def of_objects(x: float) -> Any:
        return np.array([x], dtype=object)

    assert approximation_in(of_objects) == ""


def test_what_is_violated_in_floats_only_fails_nothing_that_does_not_name_it() -> None:
    found = decided(far)
    assert found.word not in read_kinds("violated,vacuous")
    assert found.word in read_kinds("violated,floats")
    assert [each["basis"] for each in records(found)] == ["floats"]
