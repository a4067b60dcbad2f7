"""Statements that symbols may deceive are not certified, and what is false of fractions alone is refuted."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from attempts import Share, verdict_on

from clusterproof.theory import Kind
from clusterproof.theory.claims import Sides, at_most

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
