"""Statements on symbols: which are certified, and what proves nothing."""

from fractions import Fraction
from typing import Annotated, Any

import pytest
from attempts import verdict_on

from clusterproof.theory import Kind
from clusterproof.theory.claims import (
    Sides,
    at_least,
    at_most,
    choice,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)

Unit = Annotated[Fraction, rationals(0, 1, 4)]
Above = Annotated[Fraction, rationals(1, 3, 2, upwards=True)]
Half = Fraction(1, 2)


def square(x: Above, y: Unit) -> Sides:
    return at_most(2 * x * y, sum=x**2 + x * y)


def quotient(x: Above) -> Sides:
    return at_most(1 / (1 + x), half=Half)


def negative(x: Unit) -> Sides:
    return at_most(1 / (x - 2), half=-Half)


def below(x: Unit, y: Annotated[Fraction, rationals(lambda x: x, 1, 4)]) -> Sides:
    return at_least(y - x, nothing=0)


def cases(n: Annotated[int, choice(1, 2, 3)], x: Unit) -> Sides:
    return at_most(x**n, itself=x)


def whole(n: Annotated[int, integers(1, 5, upwards=True)]) -> Sides:
    return at_most(n, square=n**2)


def identity(x: Unit, y: Above) -> Sides:
    return equal(((x + y) ** 2 - (x - y) ** 2, 4 * x * y), (x / y / y, x * y**-2))


def several(x: Unit) -> dict[str, Sides]:
    return {"above": at_least(x, nothing=0), "below": at_most(x, one=1)}


def needless(x: Unit) -> Sides:
    suppose("x < 1", x < 1)
    suppose("x is no third", x != Fraction(1, 3))
    suppose("x is a half", x == Half)
    return at_most(x, one=1)


def excluded(n: Annotated[int, choice(1, 2)], x: Unit) -> Sides:
    suppose("n = 1", n == 1)
    return at_most(n * x, one=1)


@pytest.mark.parametrize(
    "function", [square, quotient, negative, below, cases, whole, identity, several, needless, excluded]
)
def test_true_statements_are_certified(function: Any) -> None:
    assert verdict_on(function, evaluations=40).verdict is Kind.CERTIFIED


def false_square(x: Above, y: Unit) -> Sides:
    return at_most(x**2 + x * y, product=Fraction(19, 10) * x * x)


def false_below(x: Unit, y: Unit) -> Sides:
    return at_least(y - x, nothing=0)


def false_cases(
    n: Annotated[int, choice(1, 2, 3, -1)], x: Annotated[Fraction, rationals(Half, 1, 4)]
) -> Sides:
    return at_most(x**n, itself=x)


def false_identity(x: Unit, y: Above) -> Sides:
    return equal(((x + y) ** 2, x**2 + y**2))


def false_line(x: Unit) -> dict[str, Sides]:
    return {"above": at_least(x, nothing=0), "below": at_most(x, half=Half)}


def pole_at_the_end(x: Unit) -> Sides:
    return at_least(1 / (1 - x), one=1)  # true for x < 1, but 1 belongs to the range


def pole_at_the_start(x: Unit) -> Sides:
    return at_least(1 / x, one=1)


def pole_inside(x: Unit) -> Sides:
    return at_least(1 / (2 * x - 1) ** 2, one=1)


def pole_of_an_equation(x: Unit) -> Sides:
    return equal(((x - Half) / (x - Half), 1))


def division_by_zero(x: Unit) -> Sides:
    return at_most(x / (x - x), one=1)


def needed(x: Unit) -> Sides:
    suppose("x <= 1/2", x <= Half)
    return at_most(x, half=Half)


def impossible(n: Annotated[int, choice(1, 2)], x: Unit) -> Sides:
    suppose("n = 3", n == 3)
    return at_most(n * x, one=1)


def least(x: Unit) -> Sides:
    return at_most(1 - min(x, 1 - x), none=1 - x)  # `min` of two symbols would take the first


def branch(x: Unit) -> Sides:
    return at_most(x if x < 1 else 5, one=1)


def truth(x: Unit) -> Sides:
    return at_most(x if x else 5, one=1)


def absolute(x: Unit) -> Sides:
    return at_most(abs(x), one=1)  # type: ignore[arg-type]


def floating(x: Unit) -> Sides:
    return at_most(0.5 * x, one=1)


def real(x: Annotated[float, reals(0.0, 1.0)]) -> Sides:  # type: ignore[arg-type]
    return at_most(x, one=1)


def chance(x: Unit) -> Sides:
    return at_most(x, one=1, failure=0.5)


FALSE = (false_square, false_below, false_cases, false_identity, false_line)
NO_FORMULA = (
    pole_at_the_end,
    pole_at_the_start,
    pole_inside,
    pole_of_an_equation,
    division_by_zero,
    floating,
    chance,
)


@pytest.mark.parametrize("function", FALSE)
def test_what_is_false_is_violated_exactly(function: Any) -> None:
    found = verdict_on(function, evaluations=40)
    assert (found.verdict, found.basis) == (Kind.VIOLATED, "exact")


@pytest.mark.parametrize("function", NO_FORMULA)
def test_what_divides_by_zero_or_has_floats_is_not_certified(function: Any) -> None:
    try:
        assert verdict_on(function, evaluations=40).verdict is not Kind.CERTIFIED
    except ZeroDivisionError:
        assert function.__name__.startswith(("pole", "division"))


@pytest.mark.parametrize("count", [1000, 1001])
def test_a_proof_goes_through_a_thousand_choices(count: int) -> None:
    def stated(n: Annotated[int, choice(*range(count))], x: Unit) -> Sides:
        return at_most(n * x, limit=n)

    assert (verdict_on(stated, evaluations=40).verdict is Kind.CERTIFIED) == (count <= 1000)


# ---- hypotheses that nothing meets


def never(x: Unit, y: Above) -> Sides:
    suppose("x y <= -1", x * y <= -1)
    return at_most(x, y=y)


def never_reversed(x: Unit, y: Above, sign: Annotated[int, choice(-1, 1)]) -> Sides:
    suppose("the sign is positive", sign > 0)
    suppose("y < x / 2", x / 2 > y * sign)
    return at_most(max(x, y), z=0)  # no formula


def at_one_point(x: Unit, y: Above) -> Sides:
    suppose("y <= x", y <= x)
    return at_most(x, y=y)


def nearly_never(x: Unit, y: Above) -> Sides:
    suppose("x + y >= 399/100", x + y >= Fraction(399, 100))
    return at_most(x, y=y)


def an_equation(x: Unit, y: Above) -> Sides:
    suppose("x + y = 0", x + y == 0)
    return at_most(x, y=y)


def of_a_magnitude(x: Unit, y: Above) -> Sides:
    suppose("|x| > 2", abs(x) > 2)
    return at_most(x, y=y)


def never_a_float(x: Annotated[float, reals(0.0, 1.0)]) -> Sides:
    suppose("x > 2", x > 2)
    return at_most(x, one=1)


@pytest.mark.parametrize(
    ("function", "empty"),
    [
        (never, True),
        (never_reversed, True),
        (at_one_point, False),
        (nearly_never, False),
        (an_equation, True),
        (never_a_float, True),
    ],
)
def test_hypotheses_that_no_instance_meets(function: Any, empty: bool) -> None:
    """A closed box touches y <= x at x = y = 1, and y has no largest value."""
    assert (verdict_on(function, evaluations=40).verdict is Kind.VACUOUS) == empty


def test_a_vacuity_needs_a_proof_and_says_so() -> None:
    for function, proved in ((never, True), (of_a_magnitude, False)):
        found = verdict_on(function, evaluations=40)
        assert found.verdict is (Kind.VACUOUS if proved else Kind.INCONCLUSIVE)
        assert ("proved symbolically that no instance in the ranges does" in found.reason) == proved
        assert ("not all were tried" in found.reason) == (not proved)


def test_hypotheses_that_nothing_meets_are_vacuous_though_the_rest_is_proved() -> None:
    def contradiction(x: Unit) -> Sides:
        suppose("x > 2", x > 2)
        return at_most(x, one=1)

    def rare(x: Annotated[Fraction, rationals(0, 1, 100)]) -> Sides:
        suppose("x > 9/10", x > Fraction(9, 10))
        return at_most(x, one=1)

    assert verdict_on(contradiction, evaluations=40).verdict is Kind.VACUOUS
    found = verdict_on(rare, evaluations=40)
    assert (found.verdict, found.proof) == (Kind.CERTIFIED, "signs")
