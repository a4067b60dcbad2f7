"""Proofs by coefficients: against another library's polynomials, and what they may not prove."""

from fractions import Fraction
from typing import Annotated, Any

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.theory.checker import (
    Sides,
    at_least,
    at_most,
    choice,
    earlier,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.claim_parts import Parts
from clusterproof.theory.checker.deciding import decide
from clusterproof.theory.checker.polynomial_signs import expand, is_nonnegative, is_positive
from clusterproof.theory.checker.proof import Unproved, certify, is_empty
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.symbols import Polynomial, Symbol, symbols
from clusterproof.theory.checker.verdict import Kind

Unit = Annotated[Fraction, rationals(0, 1, 4)]
Above = Annotated[Fraction, rationals(1, 3, 2, upwards=True)]


def proves(function: Any) -> bool:
    statement = Statement("", function)
    try:
        certify(statement.space, statement.conclude)
    except Unproved:
        return False
    return True


TERMS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 2)),
    st.integers(-5, 5).filter(bool).map(lambda n: Fraction(n, 3)),
    max_size=5,
)
CONTEXT = flint.fmpq_mpoly_ctx.get([("x", 1), ("y", 1)], "lex")


def other(terms: dict[tuple[int, ...], Fraction]) -> Any:
    made = {powers: flint.fmpq(value.numerator, value.denominator) for powers, value in terms.items()}
    return CONTEXT.from_dict(made)


def same(ours: Polynomial, theirs: Any) -> bool:
    known = {tuple(map(int, k)): Fraction(int(v.p), int(v.q)) for k, v in theirs.to_dict().items()}
    return dict(ours.terms) == known


@given(TERMS, TERMS, st.integers(0, 3))
def test_arithmetic_is_that_of_flint(first: Any, second: Any, power: int) -> None:
    a, b = Polynomial(first), Polynomial(second)
    assert same(a + b, other(first) + other(second))
    assert same(a * b, other(first) * other(second))
    assert same(-a, -other(first))
    if first:
        assert same(a**power, other(first) ** power)


def value(polynomial: Polynomial, *at: Fraction) -> Fraction:
    total = Fraction(0)
    for powers, coefficient in polynomial.terms.items():
        for x, power in zip(at, powers, strict=True):
            coefficient *= x**power
        total += coefficient
    return total


FRACTIONS = st.fractions(0, 1, max_denominator=7)


@given(TERMS, FRACTIONS, FRACTIONS, st.sampled_from(["box", "half", "nested"]))
def test_the_expansion_is_the_polynomial(terms: Any, s: Fraction, t: Fraction, where: str) -> None:
    polynomial = Polynomial(terms)
    x = symbols(("x", "y"))["x"]
    bounds: list[tuple[Any, Any]] = [(Fraction(-1), Fraction(2)), (0, 3)]
    if where == "half":
        bounds[1] = (1, None)
    if where == "nested":
        bounds[1] = (x - 1, 2)
    expanded = expand(polynomial, bounds)
    assert expanded is not None
    at_x = (-1 + 2 * s) / (1 + s)
    low = {"box": Fraction(0), "half": Fraction(1), "nested": at_x - 1}[where]
    high = {"box": Fraction(3), "half": None, "nested": Fraction(2)}[where]
    at_y = low + t if high is None else (low + high * t) / (1 + t)
    scale = (1 + s) ** expanded[1][0] * (1 + t) ** expanded[1][1]
    assert value(expanded[0], s, t) == scale * value(polynomial, at_x, at_y)


@given(TERMS, FRACTIONS, FRACTIONS)
def test_what_is_called_nonnegative_is(terms: Any, x: Fraction, y: Fraction) -> None:
    polynomial, box = Polynomial(terms), [(Fraction(0), Fraction(1))] * 2
    if is_nonnegative(polynomial, box):
        assert value(polynomial, x, y) >= 0
    if is_positive(polynomial, box):
        assert all(value(polynomial, a, b) > 0 for a in (x, 0, 1) for b in (y, 0, 1))


def test_true_statements_are_proved() -> None:
    def square(x: Above, y: Unit) -> Sides:
        return at_most(2 * x * y, sum=x**2 + x * y)

    def quotient(x: Above) -> Sides:
        return at_most(1 / (1 + x), half=Fraction(1, 2))

    def negative(x: Unit) -> Sides:
        return at_most(1 / (x - 2), half=-Fraction(1, 2))

    def below(x: Unit, y: Annotated[Fraction, rationals(earlier("x"), 1, 4)]) -> Sides:
        return at_least(y - x, nothing=0)

    def cases(n: Annotated[int, choice(1, 2, 3)], x: Unit) -> Sides:
        return at_most(x**n, itself=x)

    def whole(n: Annotated[int, integers(1, 5, upwards=True)]) -> Sides:
        return at_most(n, square=n**2)

    def identity(x: Unit, y: Above) -> Sides:
        return equal(((x + y) ** 2 - (x - y) ** 2, 4 * x * y), (x / y / y, x * y**-2))

    def several(x: Unit) -> dict[str, Sides]:
        return {"above": at_least(x, nothing=0), "below": at_most(x, one=1)}

    for function in (square, quotient, negative, below, cases, whole, identity, several):
        assert proves(function), function.__name__


def test_false_statements_are_not() -> None:
    def square(x: Above, y: Unit) -> Sides:
        return at_most(x**2 + x * y, product=Fraction(19, 10) * x * x)

    def below(x: Unit, y: Unit) -> Sides:
        return at_least(y - x, nothing=0)

    def cases(
        n: Annotated[int, choice(1, 2, 3, -1)], x: Annotated[Fraction, rationals(Fraction(1, 2), 1, 4)]
    ) -> Sides:
        return at_most(x**n, itself=x)

    def identity(x: Unit, y: Above) -> Sides:
        return equal(((x + y) ** 2, x**2 + y**2))

    def several(x: Unit) -> dict[str, Sides]:
        return {"above": at_least(x, nothing=0), "below": at_most(x, half=Fraction(1, 2))}

    for function in (square, below, cases, identity, several):
        assert not proves(function), function.__name__


def test_a_denominator_that_may_vanish_proves_nothing() -> None:
    def at_the_end(x: Unit) -> Sides:
        return at_least(1 / (1 - x), one=1)  # true for x < 1, but 1 belongs to the range

    def at_the_start(x: Unit) -> Sides:
        return at_least(1 / x, one=1)

    def inside(x: Unit) -> Sides:
        return at_least(1 / (2 * x - 1) ** 2, one=1)

    def by_nought(x: Unit) -> Sides:
        return at_most(x / (x - x), one=1)

    for function in (at_the_end, at_the_start, inside, by_nought):
        assert not proves(function), function.__name__


def test_choices_that_hang_on_a_comparison_have_no_formula() -> None:
    """`min` of two symbols would silently take the first; then a false statement would be certified."""

    def smaller(x: Unit) -> Sides:
        return at_most(1 - min(x, 1 - x), none=1 - x)

    def branch(x: Unit) -> Sides:
        return at_most(x if x < 1 else 5, one=1)

    def truth(x: Unit) -> Sides:
        return at_most(x if x else 5, one=1)

    def absolute(x: Unit) -> Sides:
        return at_most(abs(x), one=1)

    def floating(x: Unit) -> Sides:
        return at_most(0.5 * x, one=1)

    def real(x: Annotated[float, reals(0.0, 1.0)]) -> Sides:  # type: ignore[arg-type]
        return at_most(x, one=1)

    def chance(x: Unit) -> Sides:
        return at_most(x, one=1, failure=0.5)

    for function in (smaller, branch, truth, absolute, floating, real, chance):
        assert not proves(function), function.__name__


def test_hypotheses_are_left_out_so_that_more_is_proved() -> None:
    def needless(x: Unit) -> Sides:
        suppose("x < 1", x < 1)
        suppose("x is no third", x != Fraction(1, 3))
        suppose("x is a half", x == Fraction(1, 2))
        return at_most(x, one=1)

    def needed(x: Unit) -> Sides:
        suppose("x <= 1/2", x <= Fraction(1, 2))
        return at_most(x, half=Fraction(1, 2))

    def excluded(n: Annotated[int, choice(1, 2)], x: Unit) -> Sides:
        suppose("n = 1", n == 1)
        return at_most(n * x, one=1)

    def impossible(n: Annotated[int, choice(1, 2)], x: Unit) -> Sides:
        suppose("n = 3", n == 3)
        return at_most(n * x, one=1)

    assert proves(excluded)
    assert not proves(impossible)
    assert proves(needless)
    assert not proves(needed)


def test_a_symbol_is_no_number() -> None:
    x = symbols(("x",))["x"]
    assert isinstance(x, Symbol)
    for act in (lambda: bool(x), lambda: bool(x == 1), lambda: {x: 1}, lambda: float(x), lambda: x**x):
        with pytest.raises(TypeError):
            act()


def test_hypotheses_that_nothing_meets_are_vacuous_though_the_rest_is_proved() -> None:
    def contradiction(x: Unit) -> Sides:
        suppose("x > 2", x > 2)
        return at_most(x, one=1)

    def rare(x: Annotated[Fraction, rationals(0, 1, 100)]) -> Sides:
        suppose("x > 9/10", x > Fraction(9, 10))
        return at_most(x, one=1)

    verdicts = []
    for function in (contradiction, rare):
        statement = Statement("", function, prove=True)
        verdicts.append(decide(Parts("p/name", [statement], False), Context(0, None, 1e-9, "p/name")).verdict)
    assert verdicts == [Kind.VACUOUS, Kind.CERTIFIED]


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


@pytest.mark.parametrize(
    ("function", "empty"),
    [
        (never, True),
        (never_reversed, True),
        (at_one_point, False),
        (nearly_never, False),
        (an_equation, False),
    ],
)
def test_hypotheses_that_no_instance_meets(function: Any, empty: bool) -> None:
    """A closed box touches y <= x at x = y = 1, and y has no largest value; of equations nothing is shown."""
    statement = Statement("", function)
    assert is_empty(statement.space, statement.conclude) == empty


def test_a_vacuity_that_is_proved_says_so() -> None:
    for function, proved in ((never, True), (an_equation, False)):
        found = decide(Parts("toy/one", [Statement("", function)]), Context(0, None, 1e-9, "toy/one"))
        assert found.verdict is (Kind.VACUOUS if proved else Kind.INCONCLUSIVE)
        assert ("proved symbolically that no instance in the ranges does" in found.reason) == proved
        assert ("not all were tried" in found.reason) == (not proved)
