"""Proofs by coefficients: against another library's polynomials, and what they may not prove."""

from fractions import Fraction
from typing import Annotated, Any

import flint
import pytest
from attempts import verdict_on
from hypothesis import given
from hypothesis import strategies as st

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
from clusterproof.theory.claims import prove as prove_module
from clusterproof.theory.claims.claim import Statement
from clusterproof.theory.claims.polynomial_signs import expand, is_nonnegative, is_positive
from clusterproof.theory.claims.prove import Unproved, prove
from clusterproof.theory.claims.symbols import Polynomial, symbols

Unit = Annotated[Fraction, rationals(0, 1, 4)]
Above = Annotated[Fraction, rationals(1, 3, 2, upwards=True)]
Half = Fraction(1, 2)


def why_not(function: Any) -> str:
    """Why a function is not proved; empty if it is."""
    statement = Statement("", function)
    try:
        return "; ".join(filter(None, prove(statement.space, statement.lines).unproved.values()))
    except Unproved as reason:
        return str(reason)


# ---- polynomials and their signs

TERMS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 2)),
    st.integers(-5, 5).filter(bool).map(lambda n: Fraction(n, 3)),
    max_size=5,
)
CONTEXT = flint.fmpq_mpoly_ctx.get([("x", 1), ("y", 1)], "lex")
FRACTIONS = st.fractions(0, 1, max_denominator=7)


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


def value(polynomial: Polynomial, x: Any, y: Any) -> Fraction:
    """Value of a polynomial, by its definition."""
    return sum((c * x**i * y**j for (i, j), c in polynomial.terms.items()), start=Fraction(0))


@given(TERMS, FRACTIONS, FRACTIONS, st.sampled_from(["box", "half", "nested"]))
def test_the_expansion_is_the_polynomial(terms: Any, s: Fraction, t: Fraction, where: str) -> None:
    polynomial, x = Polynomial(terms), symbols(("x", "y"))["x"]
    at_x = (-1 + 2 * s) / (1 + s)
    low, high, least = {"box": (0, 3, 0), "half": (1, None, 1), "nested": (x - 1, 2, at_x - 1)}[where]
    expanded = expand(polynomial, [(Fraction(-1), Fraction(2)), (low, high)])
    assert expanded is not None
    at_y = least + t if high is None else (least + high * t) / (1 + t)
    scale = (1 + s) ** expanded[1][0] * (1 + t) ** expanded[1][1]
    assert value(expanded[0], s, t) == scale * value(polynomial, at_x, at_y)


@given(TERMS, FRACTIONS, FRACTIONS)
def test_what_is_called_nonnegative_is(terms: Any, x: Fraction, y: Fraction) -> None:
    polynomial, box = Polynomial(terms), [(Fraction(0), Fraction(1))] * 2
    if is_nonnegative(polynomial, box):
        assert value(polynomial, x, y) >= 0
    if is_positive(polynomial, box):
        assert all(value(polynomial, a, b) > 0 for a in (x, 0, 1) for b in (y, 0, 1))


def test_a_symbol_is_no_number() -> None:
    x = symbols(("x",))["x"]
    for act in (bool, str, float, hash, lambda x: bool(x == 1), lambda x: x**x, lambda x: 0.5 * x):
        with pytest.raises(TypeError):
            act(x)


# ---- statements


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
def test_true_statements_are_proved(function: Any) -> None:
    assert why_not(function) == ""


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


NO_PROOF = "the coefficients do not decide"
NO_FORMULA = "is no formula"
UNPROVED = {
    **dict.fromkeys((false_square, false_below, false_cases, false_identity, false_line, needed), NO_PROOF),
    **dict.fromkeys((pole_at_the_end, pole_at_the_start, pole_inside), NO_PROOF),
    pole_of_an_equation: "divides by a quantity whose sign neither a range nor a hypothesis gives",
    impossible: "no combination of choices meets the hypotheses",
    **dict.fromkeys((division_by_zero, least, branch, truth, absolute, floating, real, chance), NO_FORMULA),
}


@pytest.mark.parametrize("function", UNPROVED)
def test_what_is_false_or_no_formula_is_not_proved(function: Any) -> None:
    assert UNPROVED[function] in why_not(function)


@pytest.mark.parametrize("count", [1000, 1001])
def test_a_proof_goes_through_a_thousand_choices(count: int) -> None:
    def stated(n: Annotated[int, choice(*range(count))], x: Unit) -> Sides:
        return at_most(n * x, limit=n)

    assert ("there are more than 1000 combinations of choices" in why_not(stated)) == (count > 1000)


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


def test_a_formula_that_grows_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def tower(x: Unit, y: Unit) -> Sides:
        value = x + y
        for _ in range(40):
            value = value**2 + x
        return at_most(value, nothing=0)

    monkeypatch.setattr(prove_module, "MOST", 1000)
    assert why_not(tower) == "the statement is no formula: the formula is too long"


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
