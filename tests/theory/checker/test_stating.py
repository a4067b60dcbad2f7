"""The public door for claims: what it makes known, what it refuses, and how it says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

import clusterproof
from clusterproof import (
    FedAvg,
    InvalidArgument,
    QuadraticMixture,
    Sides,
    Trace,
    TraceBound,
    assert_holds,
    at_most,
    check,
    claim,
    rationals,
    replay,
    run,
    suppose,
)
from clusterproof.theory import REGISTRY, find_claim
from clusterproof.theory.checker.family import Family

Step = Annotated[Fraction, rationals(0, 2, 8)]


def contraction(step: Step) -> Sides:
    """A step of gradient descent contracts.

    Statement
        |1 - eta| <= 1 - eta / 2.
    """
    suppose("the step moves", step > 0)
    return at_most(abs(1 - step), contraction=1 - step / 2)


def true_contraction(step: Step) -> Sides:
    """A step of gradient descent does not go beyond 1."""
    return at_most(abs(1 - step), start=1)


def test_a_function_becomes_a_claim_and_stays_a_function(registry: dict[str, Any]) -> None:
    made = claim("my-paper/lemma-1", label="Lemma 1")(contraction)
    # 1 - eta / 2 < eta - 1 beyond 4/3, and 3/2 is the simplest such number but 2
    verdict = check("my-paper/lemma-1")
    assert (verdict.verdict, verdict.label) == ("violated", "Lemma 1")
    assert (verdict.judges, verdict.failure) == ("printed", "false statement")
    assert verdict.counterexample is not None
    assert Fraction(verdict.counterexample["step"]) > Fraction(4, 3)
    assert replay("my-paper/lemma-1", verdict.counterexample).verdict == "violated"
    with pytest.raises(InvalidArgument, match="the step moves"):
        replay("my-paper/lemma-1", {"step": 0})
    assert made(Fraction(1, 2)).measured == Fraction(1, 2)
    assert "|1 - eta| <= 1 - eta / 2" in find_claim("my-paper/lemma-1").card


def test_stating_it_again_replaces_it_and_another_function_may_not(registry: dict[str, Any]) -> None:
    claim("my-paper/lemma-1")(contraction)
    claim("my-paper/lemma-1", label="Lemma 1, again")(contraction)
    assert REGISTRY["my-paper/lemma-1"].label == "Lemma 1, again"
    with pytest.raises(InvalidArgument, match="must be new"):
        claim("my-paper/lemma-1")(true_contraction)


@pytest.mark.parametrize(
    ("judges", "failure", "claimed", "found"),
    [
        ("printed", "false statement", "(7)", "(7)"),
        ("printed", "misprint", "(7)", "(7) (misprint)"),
        ("reading", "wording", "(7), reading", "(7), reading (wording)"),
        ("ours", "false statement", "(7) (ours)", "(7) (ours)"),
    ],
)
def test_what_is_judged_is_said_with_the_label(
    registry: dict[str, Any], judges: str, failure: str, claimed: str, found: str
) -> None:
    claim("my-paper/lemma-1", label="(7)", judges=judges, failure=failure)(contraction)
    claim("my-paper/lemma-2", label="(7)", judges=judges, failure=failure)(true_contraction)
    assert find_claim("my-paper/lemma-1").source == claimed
    assert check("my-paper/lemma-1").source == found
    assert check("my-paper/lemma-2").source == claimed  # nothing failed
    assert f"({claimed}, upper)" in repr(find_claim("my-paper/lemma-1"))


def test_a_wrong_word_is_refused_by_a_family_and_takes_no_claim_away(registry: dict[str, Any]) -> None:
    claim("my-paper/lemma-1")(contraction)
    with pytest.raises(InvalidArgument, match="must be one of printed"):
        claim("my-paper/lemma-1", judges="theirs")(contraction)
    with pytest.raises(InvalidArgument, match="must be one of false statement"):
        Family("my-paper").claim("lemma-2", label="(2)", kind="upper", failure="typo")(contraction)
    assert list(registry) == ["my-paper/lemma-1"]


def test_nobody_takes_the_place_of_a_claim_of_ours() -> None:
    ours = REGISTRY["cfl-mgd/lemma-2"]
    with pytest.raises(InvalidArgument, match="must be new"):
        claim("cfl-mgd/lemma-2")(true_contraction)
    assert REGISTRY["cfl-mgd/lemma-2"] is ours


@pytest.mark.parametrize(
    ("id_", "options", "said"),
    [
        ("lemma-1", {}, "must be paper/name"),
        ("My Paper/lemma", {}, "must be paper/name"),
        ("my-paper/a/b", {}, "must be paper/name"),
        ("my-paper/lemma-1", {"kind": "theorem"}, "must be one of tight, upper"),
        ("my-paper/lemma-1", {"judges": "theirs"}, "must be one of printed, reading, ours"),
        ("my-paper/lemma-1", {"failure": "typo"}, "must be one of false statement, misprint, wording"),
        ("my-paper/lemma-1", {"bugdet": 3}, "is no option of a claim; they are .*budget"),
    ],
)
def test_what_is_no_claim_is_refused_where_it_is_written(
    registry: dict[str, Any], id_: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        claim(id_, **options)(contraction)
    assert not registry


def test_a_function_that_says_too_little_is_told_what_is_missing(registry: dict[str, Any]) -> None:
    def without_range(step: Fraction) -> Sides:
        return at_most(step, one=1)

    def unknown_name(step: Nowhere) -> Sides:  # type: ignore[name-defined]  # noqa: F821
        return at_most(step, one=1)

    def without_sides(step: Step) -> None:
        """Return nothing."""

    with pytest.raises(InvalidArgument, match="must be Annotated with a range"):
        claim("my-paper/one")(without_range)
    with pytest.raises(InvalidArgument, match=r"Nowhere.*top of the file"):
        claim("my-paper/two")(unknown_name)
    claim("my-paper/three")(without_sides)
    with pytest.raises(InvalidArgument, match=r"must be two sides; end the function with `return at_most"):
        check("my-paper/three")
    with pytest.raises(InvalidArgument, match="must decorate a function"):
        claim("my-paper/four")(3)  # type: ignore[arg-type]


def test_a_run_is_held_to_a_claim_of_ones_own(registry: dict[str, Any]) -> None:
    task = QuadraticMixture(hessians=[[[1.0]], [[0.5]]], centers=[[1.0], [1.0]], labels=[0, 0])

    def allowed(task: QuadraticMixture, trace: Trace) -> Any:
        suppose("one local step", trace.settings["algorithm"]["local_steps"] == 1)
        return 0.25 ** np.arange(trace.rounds + 1)[:, None] * trace.errors[0]  # type: ignore[index]

    claim("my-paper/rate", bound=allowed)(contraction)
    start = np.array([[3.0]])
    # the mean curvature is 3/4: a step of 1 contracts by 1/4, one of 1/2 by 5/8
    assert_holds("my-paper/rate", task, run(FedAvg(step_size=1.0), task, rounds=3, initial=start))
    with pytest.raises(AssertionError, match="my-paper/rate"):
        assert_holds("my-paper/rate", task, run(FedAvg(step_size=0.5), task, rounds=3, initial=start))
    with pytest.raises(InvalidArgument, match="one local step"):
        assert_holds("my-paper/rate", task, run(FedAvg(step_size=1.0, local_steps=2), task, rounds=1))
    trace = run(FedAvg(step_size=1.0), task, rounds=1)
    with pytest.raises(InvalidArgument, match="its bound is sure"):
        assert_holds("my-paper/rate", task, trace, failure_probability=0.1)


@pytest.mark.parametrize("allowed", [np.nan, None, TraceBound(bound=np.array([[1.0], [np.nan]]))])
def test_a_bound_that_is_not_a_number_is_refused(registry: dict[str, Any], allowed: Any) -> None:
    task = QuadraticMixture(hessians=[[[1.0]]], centers=[[1.0]], labels=[0])
    claim("my-paper/rate", bound=lambda task, trace: allowed)(contraction)
    with pytest.raises(InvalidArgument, match="bound = 'nan': must return numbers"):
        assert_holds("my-paper/rate", task, run(FedAvg(step_size=0.5), task, rounds=1))


def test_one_door_holds_all_that_a_statement_needs() -> None:
    for name in (
        *("claim", "falsify", "suppose", "at_most", "at_least", "equal", "probability", "integers"),
        *("rationals", "reals", "choice", "earlier", "drawn", "searched", "Stream", "Replicates", "Sides"),
        *("load_claims", "code_of", "check", "replay", "bound", "Inconclusive", "TraceBound"),
    ):
        assert name in dir(clusterproof)
        assert getattr(clusterproof, name) is not None
