"""A proof by another function says nothing of the statement: it is a remark, whatever agrees with it."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
from attempts import Number, Share, stated, verdict_on

from clusterproof.theory import Kind, Verdict
from clusterproof.theory.claims import Sides, at_most, integers
from clusterproof.theory.claims.verdict import decide


def square(x: Share) -> Sides:
    """What is proved: x^2 <= x on [0, 1]."""
    return at_most(x**2, itself=x)


def rounded(x: Number) -> Sides:
    """A true statement on floats, which are not of the kernel's language."""
    return at_most((float(x) / 9) ** 2, itself=float(x) / 9)


def weaker_at_an_end(x: Number) -> Sides:
    return at_most((float(x) / 9) ** 2, itself=float(x) / 9 * (2 if x == 9 else 1))


def proved(function: Any, at: Any = lambda x: {"x": x / 9}, proof: Any = square, **how: Any) -> Verdict:
    theorem = stated(function, **{"evaluations": 60} | how)
    theorem.proof("algebra", at=at)(proof)
    return decide(theorem)


def test_a_formula_that_agrees_is_a_remark() -> None:
    verdict = proved(rounded)
    assert (verdict.verdict, verdict.proof, verdict.steps) == (Kind.CONSISTENT, None, ("algebra",))
    assert "algebra: a formula that agrees with it at 6" in verdict.reason


@pytest.mark.parametrize(
    ("function", "at", "why"),
    [
        (weaker_at_an_end, lambda x: {"x": x / 9}, "it has other sides than the statement at x = "),
        (rounded, lambda x: {"x": x / 9 + 2}, "an instance lies outside of its ranges"),
        (rounded, None, ""),
    ],
)
def test_a_formula_that_differs_is_none_of_the_statement(function: Any, at: Any, why: str) -> None:
    verdict = proved(function, at)
    assert verdict.verdict is Kind.CONSISTENT
    assert "algebra: this step is proved symbolically" + (
        f", the statement is not: {why}" if why else ""
    ) in (verdict.reason)


def left(n: int) -> Fraction:
    return Fraction(int(n == 777_777))


def test_a_tautology_certifies_nothing() -> None:
    """x <= x + slack is proved, with x the left side and slack the gap of a statement that is false at 777 777."""

    def false(n: Annotated[int, integers(1, 1_000_000)]) -> Sides:
        return at_most(left(n) + n, bound=n + Fraction(1, 2))

    def tautology(x: Number, slack: Number) -> Sides:
        return at_most(x, bound=x + slack)

    found = proved(
        false, lambda n: {"x": left(n) + n, "slack": Fraction(1, 2) - left(n)}, tautology, evaluations=2000
    )
    assert found.verdict in (Kind.CONSISTENT, Kind.VIOLATED)


def test_a_false_statement_with_an_unrelated_proof_is_refuted() -> None:
    def false(x: Number) -> Sides:
        return at_most(x, limit=Fraction(17, 2) if x <= Fraction(17, 2) else Fraction(8))

    assert proved(false, None).verdict is Kind.VIOLATED


# ---- the claim's own function on symbols


def catching(x: Share) -> Sides:
    try:
        return at_most(x * x, itself=max(x, x * x))
    except TypeError:
        return at_most(0, none=0)


def inspecting(x: Share) -> Sides:
    return at_most(x if isinstance(x, Fraction) else 0 * x, one=1)


class Rare:
    """Whether a number is a fraction that satisfies a condition, which no search in the source finds."""

    def __init__(self, condition: Callable[[Fraction], bool]) -> None:
        self.condition = condition

    def of(self, x: Any) -> int:
        return int(isinstance(x, Fraction) and self.condition(x))


LARGE = Rare(lambda x: x.denominator > 100)
HIDDEN = Rare(lambda x: x == Fraction(7, 1009))


def by_method(x: Share) -> Sides:
    return at_most(x * LARGE.of(x), zero=0)


def by_default(x: Share, *, fine: Any = LARGE.condition) -> Sides:
    return at_most(x * (isinstance(x, Fraction) and fine(x)), zero=0)


def by_text(x: Share) -> Sides:
    return at_most(x * (len(str(x)) > 6), zero=0)


@pytest.mark.parametrize("function", [catching, inspecting])
def test_a_function_that_symbols_may_deceive_is_not_certified(function: Any) -> None:
    assert verdict_on(function, evaluations=50).verdict is Kind.CONSISTENT


@pytest.mark.parametrize("function", [by_method, by_default, by_text])
def test_a_statement_that_is_true_of_symbols_alone_is_refuted(function: Any) -> None:
    verdict = verdict_on(function)
    # the listed fractions have denominators up to 4: others are tried, too
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    assert Fraction(verdict.counterexample["x"]).denominator > 4
    assert verdict.proof is None


def test_a_condition_that_hides_from_symbols_proves_nothing() -> None:
    def secret(x: Share) -> Sides:
        return at_most(x * HIDDEN.of(x), zero=0)

    verdict = verdict_on(secret, example={"x": Fraction(7, 1009)})
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample == {"x": "7/1009"}
