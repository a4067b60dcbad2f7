"""A proof of another formula is a remark, whose count says where the statement, computed by itself, has its sides."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from attempts import Digit, Number, Share, stated, verdict_on

from clusterproof.theory import Kind, Verdict
from clusterproof.theory.claims import Sides, at_most, integers, rationals
from clusterproof.theory.claims.verdict import decide

AGREES = "a formula that agrees with it"


def square(x: Share) -> Sides:
    """What is proved: x^2 <= x on [0, 1]."""
    return at_most(x**2, itself=x)


def ninth(x: Any) -> Fraction:
    """A ninth of a number; a symbol is refused, so that no statement below proves itself."""
    return Fraction(x) / 9


def quarter(x: Number) -> Sides:
    return at_most(ninth(x) ** 2, itself=ninth(x))


def weaker(x: Number) -> Sides:
    return at_most(ninth(x) ** 2, itself=2 * ninth(x))


def weaker_at_an_end(x: Number) -> Sides:
    return at_most(ninth(x) ** 2, itself=ninth(x) * (2 if x == 9 else 1))


def another_name(x: Number) -> Sides:
    return at_most(ninth(x) ** 2, other=ninth(x))


def another_line(x: Number) -> dict[str, Sides]:
    return {"other": quarter(x)}


def rounded(x: Number) -> Sides:
    return at_most(float(ninth(x)) ** 2, itself=float(ninth(x)))


def nearly(x: Number) -> Sides:
    return at_most(float(ninth(x)) ** 2 + 1e-6, itself=float(ninth(x)) + 1e-6)


def proved(function: Any, at: Any = lambda x: {"x": x / 9}, proof: Any = square, **how: Any) -> Verdict:
    theorem = stated(function, **{"evaluations": 60} | how)
    theorem.proof("algebra", at=at)(proof)
    return decide(theorem)


TIES: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, str]] = {
    "no tie": (quarter, None, ""),
    "other sides": (weaker, lambda x: {"x": x / 9}, "it has other sides than the statement at x = "),
    "other sides at one instance": (weaker_at_an_end, lambda x: {"x": x / 9}, "it has other sides"),
    "another term": (another_name, lambda x: {"x": x / 9}, "it has other sides than the statement"),
    "another line": (another_line, lambda x: {"x": x / 9}, ""),
    "outside": (quarter, lambda x: {"x": x / 9 + 2}, "an instance lies outside of its ranges"),
    "an unknown quantity": (quarter, lambda x: {"y": x / 9}, "an instance lies outside of its ranges"),
    "too few entries": (quarter, lambda x: [], ""),
    "too many entries": (quarter, lambda x: [{"x": x / 9}, {"x": x / 9}], "it has other sides"),
    "more than rounding": (nearly, lambda x: {"x": x / 9}, "it has other sides"),
}


@pytest.mark.parametrize("name", TIES)
def test_a_proof_of_other_sides_is_a_step(name: str) -> None:
    function, at, why = TIES[name]
    verdict = proved(function, at)
    assert (verdict.verdict, verdict.proof, verdict.steps) == (Kind.CONSISTENT, None, ("algebra",))
    reason = "algebra: this step is proved symbolically" + (f", the statement is not: {why}" if why else "")
    assert reason in verdict.reason


@pytest.mark.parametrize("function", [quarter, rounded])
def test_a_proof_of_the_same_sides_is_a_remark(function: Any) -> None:
    verdict = proved(function)
    assert (verdict.verdict, verdict.proof, verdict.steps) == (Kind.CONSISTENT, None, ("algebra",))
    assert f"algebra: {AGREES} at 6" in verdict.reason
    # of the instances tried; both ends, which are corners, attain it
    assert verdict.worst == pytest.approx(1)
    assert (verdict.instances or 0) >= 60


def test_fifty_instances_are_compared_however_few_are_wanted() -> None:
    verdict = proved(quarter, evaluations=9)
    assert verdict.verdict is Kind.CONSISTENT
    assert f"{AGREES} at 50 instances is proved symbolically" in verdict.reason


def test_a_tautology_in_the_place_of_a_false_statement_certifies_nothing() -> None:
    """With the slack itself as a quantity the proof is x <= x + slack; the instances that are tried have a slack."""

    def false(n: Annotated[int, integers(1, 10**6)]) -> Sides:
        return at_most(n + int(n == 777_777), bound=n + Fraction(1, 2))

    def tautology(x: Annotated[Fraction, rationals(0, 10**7, 1)], slack: Number) -> Sides:
        return at_most(x, bound=x + slack)

    def at(n: int) -> dict[str, Any]:
        left = n + Fraction(n == 777_777)
        return {"x": left, "slack": n + Fraction(1, 2) - left}

    verdict = proved(false, at, tautology)
    assert (verdict.verdict, verdict.proof) == (Kind.CONSISTENT, None)
    assert proved(false, at, tautology, says_nothing="it always holds").verdict is Kind.CONSISTENT
    assert proved(false, at, tautology, example={"n": 777_777}).verdict is Kind.VIOLATED


def test_of_a_list_that_is_all_every_instance_is_compared_in_each_line() -> None:
    """Ten digits and three halves: each is compared once; floats, so that the lists alone prove nothing."""

    def tenths(n: Digit) -> Sides:
        return at_most(float(ninth(n)) ** 2, itself=float(ninth(n)))

    theorem = stated(tenths)

    @theorem.line("halves")
    def halves(n: Annotated[int, integers(0, 2)]) -> Sides:
        return at_most(float(Fraction(n) / 2) ** 2, itself=float(Fraction(n) / 2))

    at = {"": lambda n: {"x": Fraction(n, 9)}, "halves": lambda n: {"x": Fraction(n, 2)}}
    theorem.proof("algebra", at=at)(square)
    verdict = decide(theorem)
    assert {line.proof for line in verdict.lines} == {None}
    reasons = [line.reason for line in verdict.lines]
    assert all(f"at {count} instances" in reason for count, reason in zip((10, 3), reasons, strict=True))
    assert [line.instances for line in verdict.lines] == [10, 3]


def unknown(x: Share) -> Sides:
    """True, but `abs` is no polynomial."""
    return at_most(abs(x * (1 - x)), quarter=Fraction(27, 100))


@pytest.mark.parametrize("needed", [False, True])
def test_a_lemma_without_a_proof_leaves_the_claim_uncertified(needed: bool) -> None:
    theorem = stated(square, evaluations=60)
    theorem.step("step", needed=needed, evaluations=60)(unknown)
    verdict = decide(theorem)
    assert verdict.verdict is (Kind.CONSISTENT if needed else Kind.CERTIFIED)
    assert ("the proof is not complete: step" in verdict.reason) == needed


def test_a_false_statement_with_an_unrelated_proof_is_refuted() -> None:
    def false(x: Number) -> Sides:
        return at_most(x, limit=Fraction(17, 2) if x <= Fraction(17, 2) else Fraction(8))

    assert proved(false, None).verdict is Kind.VIOLATED


def vector(x: Number, y: Number) -> Sides:
    both = np.array([ninth(x), ninth(y)])
    return at_most(both**2, itself=both)


def total(x: Number, y: Number) -> Sides:
    return at_most(ninth(x) ** 2 + ninth(y) ** 2, itself=ninth(x) + ninth(y))


def sums(x: Number, y: Number) -> Sides:
    a, b = ninth(x), ninth(y)
    return at_most(np.array([a**2 + b**2, a**2]), itself=np.array([a + b, a]))


@pytest.mark.parametrize(
    ("function", "right", "wrong"),
    [
        pytest.param(vector, lambda x, y: [x, y], lambda x, y: [y, x], id="one for each entry"),
        pytest.param(total, lambda x, y: [x, y], lambda x, y: [x, x], id="their sum"),
        pytest.param(sums, lambda x, y: [[x, y], x], lambda x, y: [[x], [y, x]], id="a sum for each entry"),
    ],
)
def test_lists_of_quantities_for_the_entries(function: Any, right: Any, wrong: Any) -> None:
    for entries, agrees in ((right, True), (wrong, False)):

        def at(x: Fraction, y: Fraction, entries: Any = entries) -> Any:
            def quantities(each: Any) -> Any:
                return [quantities(one) for one in each] if isinstance(each, list) else {"x": each / 9}

            return quantities(entries(x, y))

        verdict = proved(function, at)
        assert (verdict.verdict, AGREES in verdict.reason) == (Kind.CONSISTENT, agrees)


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
    assert "the symbolic proof is wrong" not in verdict.reason  # it was refused


def test_an_instance_that_breaks_a_proved_statement_is_a_defect_of_the_proof() -> None:
    def secret(x: Share) -> Sides:
        return at_most(x * HIDDEN.of(x), zero=0)

    verdict = verdict_on(secret, example={"x": Fraction(7, 1009)})
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample == {"x": "7/1009"}
    assert "proof and instance disagree" in verdict.reason
