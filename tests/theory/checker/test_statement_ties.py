"""What ties a proof by a separate function to the statement, and what does not."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import Digit, Share, claim

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.checker import Sides, at_most, equal, integers, rationals
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt

pytestmark = pytest.mark.usefixtures("registry")

Number = Annotated[Fraction, rationals(0, 9, 20)]


def square(x: Share) -> Sides:
    """What is proved: x^2 <= x on [0, 1]."""
    return at_most(x**2, itself=x)


def quarter(x: Number) -> Sides:
    return at_most((x / 9) ** 2, itself=x / 9)


def false(x: Number) -> Sides:
    """False for x > 8.5 alone, a twentieth of the fractions."""
    return at_most(x, limit=Fraction(17, 2) if x <= Fraction(17, 2) else Fraction(8))


def weaker(x: Number) -> Sides:
    return at_most((x / 9) ** 2, itself=2 * x / 9)


def turned(x: Number) -> dict[str, Sides]:
    return {"other": at_most((x / 9) ** 2, itself=x / 9)}


def rounded(x: Number) -> Sides:
    return at_most(float(x / 9) ** 2, itself=float(x / 9))


def nearly(x: Number) -> Sides:
    return at_most(float(x / 9) ** 2 + 1e-6, itself=float(x / 9) + 1e-6)


TIES: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, str]] = {
    "no tie": (quarter, None, "nothing says which of its quantities"),
    "other sides": (weaker, lambda x: {"x": x / 9}, "it has other sides than the statement"),
    "outside": (quarter, lambda x: {"x": x / 9 + 2}, "lies outside of its ranges"),
    "other conclusions": (turned, lambda x: {"x": x / 9}, "other conclusions"),
    "too few entries": (quarter, lambda x: [], "other conclusions"),
    "too many entries": (quarter, lambda x: [{"x": x / 9}, {"x": x / 9}], "other sides"),
    "tied": (quarter, lambda x: {"x": x / 9}, ""),
    "rounded": (rounded, lambda x: {"x": x / 9}, ""),
    "more than rounding": (nearly, lambda x: {"x": x / 9}, "other sides"),
}


@pytest.mark.parametrize("name", TIES)
def test_a_proof_counts_where_its_sides_are_those_of_the_statement(name: str) -> None:
    function, at, why = TIES[name]
    claim(function, exhaustible=0, budget=60).proof("algebra", at=at)(square)
    verdict = theory.check("toy/one")
    assert verdict.verdict is (Kind.CONSISTENT if why else Kind.CERTIFIED)
    if why:
        assert "algebra: this step is proved symbolically, the statement is not: " in verdict.reason
        assert why in verdict.reason
        assert verdict.steps == ("algebra",)
    else:
        assert verdict.steps == ()
        assert (
            "algebra: proved symbolically by a separate function, which agrees with the statement at "
            in verdict.reason
        )
        # of the instances tried; both ends, which are corners, attain it
        assert verdict.sharpness is not None
        assert verdict.sharpness["all"] == pytest.approx(1)
        assert verdict.instances is not None
        assert verdict.instances >= 60


def inconclusive(x: Share) -> Sides:
    """True, but of no use to a proof: the coefficients do not decide."""
    return at_most(x * (1 - x), quarter=Fraction(27, 100))


@pytest.mark.parametrize("prove", [False, True])
def test_a_step_that_asks_for_a_proof_and_gets_none_leaves_the_claim_uncertified(prove: bool) -> None:
    one = claim(quarter, exhaustible=0, budget=60)
    one.proof("algebra", at=lambda x: {"x": x / 9})(square)
    one.step("step", prove=prove, exhaustible=0, budget=60)(inconclusive)
    verdict = theory.check("toy/one")
    assert verdict.verdict is (Kind.CONSISTENT if prove else Kind.CERTIFIED)
    assert verdict.steps == (("algebra",) if prove else ())


def test_a_false_statement_with_an_unrelated_proof_is_refuted() -> None:
    claim(false, budget=50).proof("algebra")(square)
    assert theory.check("toy/one").verdict is Kind.VIOLATED


def test_one_set_of_quantities_for_each_entry() -> None:
    def vector(x: Number, y: Number) -> Sides:
        return at_most(np.array([(x / 9) ** 2, (y / 9) ** 2]), itself=np.array([x / 9, y / 9]))

    claim(vector, budget=60).proof("algebra", at=lambda x, y: [{"x": x / 9}, {"x": y / 9}])(square)
    assert theory.check("toy/one").verdict is Kind.CERTIFIED
    claim(vector, "two", budget=60).proof("algebra", at=lambda x, y: [{"x": y / 9}, {"x": x / 9}])(square)
    assert theory.check("toy/two").verdict is Kind.CONSISTENT


def test_sides_of_the_coordinates_are_added_for_a_statement_about_their_sum() -> None:
    def total(x: Number, y: Number) -> Sides:
        return at_most((x / 9) ** 2 + (y / 9) ** 2, itself=x / 9 + y / 9)

    claim(total, budget=60).proof("algebra", at=lambda x, y: [{"x": x / 9}, {"x": y / 9}])(square)
    assert theory.check("toy/one").verdict is Kind.CERTIFIED
    claim(total, "two", budget=60).proof("algebra", at=lambda x, y: [{"x": x / 9}, {"x": x / 9}])(square)
    assert theory.check("toy/two").verdict is Kind.CONSISTENT


def test_a_list_of_sets_is_added_up_to_one_entry() -> None:
    def sums(x: Number, y: Number) -> Sides:
        return at_most(
            np.array([(x / 9) ** 2 + (y / 9) ** 2, (x / 9) ** 2]), itself=np.array([x / 9 + y / 9, x / 9])
        )

    claim(sums, budget=60).proof("algebra", at=lambda x, y: [[{"x": x / 9}, {"x": y / 9}], {"x": x / 9}])(
        square
    )
    assert theory.check("toy/one").verdict is Kind.CERTIFIED
    claim(sums, "two", budget=60).proof(
        "algebra", at=lambda x, y: [[{"x": x / 9}], [{"x": y / 9}, {"x": x / 9}]]
    )(square)
    assert theory.check("toy/two").verdict is Kind.CONSISTENT


def test_sides_that_the_proof_itself_returns_are_no_comparison() -> None:
    one = claim(lambda_of_the_proof, budget=60)
    one.proof("algebra")(square)
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.CONSISTENT
    assert "nothing says which of its quantities" in verdict.reason


def lambda_of_the_proof(x: Share) -> Sides:
    return square(x)


def catching(x: Share) -> Sides:
    try:
        return at_most(x * x, itself=max(x, x * x))
    except TypeError:
        return at_most(0, none=0)


def inspecting(x: Share) -> Sides:
    return at_most(x if isinstance(x, Fraction) else 0 * x, one=1)


def dividing(x: Number) -> Sides:
    centre = Fraction(1, 23)  # no fraction with a denominator up to 20
    return equal(((x - centre) / (x - centre), 1))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (catching, "the function catches what symbols raise: "),
        (inspecting, "the function does not give what its formula gives at x = "),
        (dividing, "the statement is no formula: it divides by a quantity whose sign"),
    ],
)
def test_a_function_that_symbols_may_deceive_is_refused_by_name(function: Any, why: str) -> None:
    claim(function, budget=60, exhaustible=0, prove=True)
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.CONSISTENT
    assert f"no proof: {why}" in verdict.reason


class Large:
    """Zero of symbols and of small denominators: no search in the source finds what a method looks at."""

    def of(self, x: Any) -> int:
        return int(isinstance(x, Fraction) and x.denominator > 100)


LARGE = Large()


def by_method(x: Share) -> Sides:
    return at_most(x * LARGE.of(x), zero=0)


def finer(x: Any) -> bool:
    return isinstance(x, Fraction) and x.denominator > 100


def by_default(x: Share, *, fine: Any = finer) -> Sides:
    return at_most(x * fine(x), zero=0)


def by_text(x: Share) -> Sides:
    return at_most(x * (len(str(x)) > 6), zero=0)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (by_method, "the function does not give what its formula gives at x = "),
        (by_default, "the statement is no formula: a proof needs exact numbers"),
        (by_text, "the statement is no formula: a symbol is no text"),
    ],
)
def test_a_statement_that_is_true_of_symbols_alone_is_not_certified(function: Any, why: str) -> None:
    claim(function, prove=True)
    verdict = theory.check("toy/one")
    # the listed fractions have denominators up to 4: others are tried, too
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    assert Fraction(verdict.counterexample["x"]).denominator > 4
    statement = Statement("", function, prove=True)
    reason = attempt(statement, Context(0, None, 1e-9, "toy/one")).unproved
    assert reason is not None
    assert reason.startswith(why)


RARE = Fraction(7, 1009)


class Rare:
    """Where no comparison with the formula looks."""

    def of(self, x: Any) -> int:
        return int(isinstance(x, Fraction) and x == RARE)


HIDDEN = Rare()


def secret(x: Share) -> Sides:
    return at_most(x * HIDDEN.of(x), zero=0)


def test_an_instance_that_breaks_a_proved_statement_is_a_defect_of_the_proof() -> None:
    claim(secret, prove=True, extremes=[{"x": RARE}])
    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample == {"x": "7/1009"}
    assert "proof and instance disagree" in verdict.reason


def test_of_few_listed_instances_every_one_is_compared_in_each_part() -> None:
    """Ten digits and three halves: each is compared once."""

    def tenths(n: Digit) -> Sides:
        return at_most((n / 9) ** 2, itself=n / 9)

    one = claim(tenths)
    one.proof("algebra", at={"": lambda n: {"x": Fraction(n, 9)}, "halves": lambda n: {"x": Fraction(n, 2)}})(
        square
    )

    @one.also("halves")
    def halves(n: Annotated[int, integers(0, 2)]) -> Sides:
        return at_most(Fraction(n, 2) ** 2, itself=Fraction(n, 2))

    verdict = theory.check("toy/one")
    assert verdict.verdict is Kind.CERTIFIED
    assert verdict.proof == "separate"
    assert "agrees with the statement at 10 instances" in verdict.reason
    assert verdict.instances == 10 + 3  # those of the proof are none of the statement
