"""How far from the truth a refuted statement is, by hand; which hypotheses are needed, which bounds not attained."""

from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from scipy import stats

from clusterproof.theory import check, replay
from clusterproof.theory.checker import (
    Family,
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    drawn,
    equal,
    expectation,
    integers,
    largest,
    probability,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.evaluation import evaluate
from clusterproof.theory.checker.needed_hypotheses import needed_hypotheses
from clusterproof.theory.checker.report import evidence
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.survey import Ratio, ratios
from clusterproof.theory.checker.trial import attempt

PAPER = Family("toy")


@pytest.mark.parametrize("constant", [Fraction(5), Fraction(10)])
def test_a_constant_shows_although_the_statement_is_false_with_it(
    registry: dict[str, Any], constant: Fraction
) -> None:
    @PAPER.claim("false", label="(1)", kind="upper")
    def false(clients: Annotated[int, integers(1, 20)]) -> Sides:
        """False."""
        return at_most(clients, constant=constant)

    verdict = check("toy/false")
    assert verdict.verdict == "violated"
    assert verdict.counterexample == {"clients": constant + 1}
    typical = float(np.median([float(constant / clients) for clients in range(1, 21)]))
    assert verdict.tightness == {
        "all": {
            "ratio": float(constant / 20),
            "instance": {"clients": 20},
            "typical": pytest.approx(typical),
            "instances": 20,
            "broken": 20 - constant,
        }
    }
    assert f"allowed over measured {float(constant / 20):.4g} at worst" in evidence(verdict)


def test_the_worst_of_a_searched_range_is_at_its_end_and_parts_count_alone(registry: dict[str, Any]) -> None:
    @PAPER.claim("false", label="(1)", kind="upper", part="first")
    def false(momentum: Annotated[float, reals(0.0, 0.9)], step: Annotated[float, reals(0.1, 1.0)]) -> Sides:
        """False where the momentum is above 1/2."""
        return at_most(momentum, half=0.5 - 0.1 * momentum * step, nothing=0.0)

    @false.step("second")
    def second(clients: Annotated[int, integers(1, 8)]) -> Sides:
        return at_least(1 / clients, quarter=0.25)

    found = check("toy/false").tightness or {}
    assert found["all"]["ratio"] == pytest.approx((0.5 - 0.09) / 0.9)
    assert found["second: all"]["ratio"] == pytest.approx(0.5)
    assert found["second: all"]["broken"] == 4
    assert found["half"]["ratio"] == pytest.approx(1, rel=0.05)
    assert found["nothing"]["ratio"] is None


def test_branches_of_a_maximum_count_alone(registry: dict[str, Any]) -> None:
    """The share that each branch of max{n t, 10} has is that of the instances at which it is the larger one."""

    @PAPER.claim("max", label="(1)", kind="upper")
    def maximum(
        clients: Annotated[int, integers(1, 8)], rounds: Annotated[int, integers(0, 4)]
    ) -> dict[str, Sides]:
        """True."""
        bound, branch = largest(growth=clients * rounds, start=10)
        return {branch: at_most(clients * rounds // 2, bound=bound)}

    verdict = check("toy/max")
    shares = {"growth: all": [n * t // 2 / (n * t) for n in range(1, 9) for t in range(5) if n * t >= 10]}
    shares["start: all"] = [n * t // 2 / 10 for n in range(1, 9) for t in range(5) if n * t < 10]
    assert verdict.sharpness is not None
    assert {name: verdict.sharpness[name] for name in shares} == {
        name: max(each) for name, each in shares.items()
    }


def of_one_instance(conclusion: Any) -> Ratio:
    def state(clients: Annotated[int, choice(1)]) -> Any:
        return conclusion

    statement = Statement("", state)
    one = evaluate(statement, Context(0, None, 1e-9, "toy/state"), {"clients": 1})
    return ratios(statement, one, several=False)["all"]


@pytest.mark.parametrize(
    ("conclusion", "typical"),
    [
        (at_most(np.array([1, 4, 8]), bound=2), 1 / 2),
        (equal((1, 2), (1, 1), (-1, 1)), 1),
        (equal((2, 6)), 3),
        (equal((np.array([1.0, 2.0, 4.0]), np.array([1.0, 6.0, 5.0]))), 3),  # where they differ by most
        (expectation(np.full((100, 1), 3.0), equal=6, range=(3, 3)), 2),
        (probability(np.arange(100) < 40, equal=0.8), 2),
        # the least of two conclusions, entry by entry of the ratio
        ({"one": at_most(np.array([1, 4, 8]), bound=2), "two": at_most(np.array([3, 6, 7]), bound=2)}, 1 / 3),
    ],
)
def test_the_median_is_over_entries(conclusion: Any, typical: float) -> None:
    assert of_one_instance(conclusion).typical == pytest.approx(typical)


SAMPLES = np.full((100, 1), 3.0)
EVENTS = np.arange(100) < 40


@pytest.mark.parametrize(
    ("conclusion", "ratio"),
    [
        (at_most(4, bound=1), 1 / 4),
        (at_most(4, bound=0), 0),
        (at_most(4, bound=-1), -1 / 4),
        (at_most(0, bound=-1), 0),
        (at_most(-1, bound=-2), 1 / 2),
        (at_most(0, bound=0), np.inf),
        (at_most(np.inf, bound=1.0), 0),
        # what is not a number breaks every bound, and no factor repairs it
        (at_most(np.nan, bound=1.0), 0),
        (at_least(np.nan, bound=1.0), 0),
        (at_least(1, bound=4), 1 / 4),
        (at_least(0, bound=4), 0),
        (at_least(-1, bound=4), -1 / 4),
        (at_most(np.array([1.0, 3.0]), bound=np.array([0.5, 1.0])), 1 / 3),
        (equal((1, 2)), 1 / 2),
        (equal((Fraction(-1), 1)), -1),
        (equal((0, 0)), 1),
        (equal((1.0, 1.0), (np.array([1.0, 2.0]), np.array([1.0, 4.0]))), 1 / 2),
        (expectation(SAMPLES, equal=6, range=(3, 3)), 1 / 2),
        (expectation(SAMPLES, at_most=1, range=(3, 3)), 1 / 3),
        (probability(EVENTS, equal=0.8), 1 / 2),
        (probability(EVENTS, equal=0.1), 1 / 4),
    ],
)
def test_ratio(conclusion: Any, ratio: float) -> None:
    assert of_one_instance(conclusion).worst == pytest.approx(ratio, rel=1e-6)


def test_hypotheses_are_met_at_their_boundary(registry: dict[str, Any]) -> None:
    """The grid of quarters ends at 3/4 below the hypothesis, which allows 9/10."""
    quarters = rationals(Fraction(0), 1, 4)

    @PAPER.claim("edge", label="(1)", kind="upper")
    def edge(first: Annotated[Fraction, quarters], second: Annotated[Fraction, quarters]) -> Sides:
        """True."""
        suppose("s + t <= 9/10", first + second <= Fraction(9, 10))
        return at_most(first + second, two=2)

    verdict = check("toy/edge")
    assert verdict.sharpness is not None
    assert verdict.sharpness["all"] == pytest.approx(0.45, rel=5e-3)


def test_drawn_objects_are_tried_at_corners(registry: dict[str, Any]) -> None:
    """Beside drawn objects and with replicates, false at one end of a range only."""
    number = drawn(lambda stream: float(stream.uniform()), write=float, read=float)

    @PAPER.claim("drawn", label="(1)", kind="upper", budget=20)
    def one(number: Annotated[float, number], momentum: Annotated[float, reals(0.0, 1.0)]) -> Sides:
        """False at momentum = 1."""
        return at_most(momentum, one=1.0 - 1e-6)

    @PAPER.claim("random", label="(2)", kind="probability", budget=20)
    def two(share: Annotated[float, reals(0.0, 1.0)], stream: Stream, replicates: Replicates) -> Frequency:
        """False at share = 1."""
        return probability(stream.uniform(size=replicates) < 0.1 * (share > 0.9999), at_most=0.01)

    for name, instance in (("drawn", {"momentum": 1.0}), ("random", {"share": 1.0})):
        verdict = check(f"toy/{name}")
        assert verdict.verdict == "violated"
        assert instance.items() <= (verdict.counterexample or {}).items()


@pytest.mark.parametrize(
    ("error", "left_out"),
    [(ZeroDivisionError, True), (ValueError, True), (NameError, False), (IndexError, False)],
)
def test_an_instance_where_the_statement_is_undefined_is_left_out_and_a_fault_is_raised(
    registry: dict[str, Any], error: type[Exception], left_out: bool
) -> None:
    """The search ends at n = 3, the survey comes to n = 7."""

    @PAPER.claim("false", label="(1)", kind="upper")
    def false(n: Annotated[int, integers(1, 9)]) -> Sides:
        """False."""
        if n == 7:
            raise error("at seven")
        return at_most(n, two=2)

    if left_out:
        found = check("toy/false").tightness
        assert found is not None
        assert (found["all"]["instances"], found["all"]["broken"]) == (8, 6)
    else:
        with pytest.raises(error, match="at seven"):
            check("toy/false")


def lower_end(events: int, repetitions: int, significance: float) -> float:
    """Clopper and Pearson's, by a quantile of scipy."""
    return float(stats.beta.ppf(significance / 2, events, repetitions - events + 1))


def test_parts_hypotheses_and_instances_share_the_level_of_a_claim(registry: dict[str, Any]) -> None:
    """120 of 1000 events are too many at a whole level, and not at half of it, or a twentieth."""
    events = np.arange(1000) < 120
    half = (lower_end(120, 1000, 1e-9) + lower_end(120, 1000, 1e-9 / 2)) / 2

    @PAPER.claim("two", label="(1)", kind="probability", part="first")
    def first(n: Annotated[int, integers(1, 2)]) -> Frequency:
        """False at n = 2."""
        return probability(events | (n == 2), at_most=half)

    @PAPER.claim("true", label="(2)", kind="probability", part="first")
    def true(n: Annotated[int, integers(1, 1)]) -> Frequency:
        """Not refuted."""
        return probability(events, at_most=half)

    for theorem in (first, true):
        theorem.step("second")(lambda: at_most(1, two=2))
    assert check("toy/true").verdict == "consistent"
    found = check("toy/two")
    assert found.counterexample == {"n": 2, "part": "first"}
    assert found.tightness is not None
    assert (found.tightness["all"]["broken"], found.tightness["all"]["instances"]) == (1, 2)
    assert replay("toy/two", {"n": 1, "part": "first"}).verdict == "consistent"

    def supposed(limit: float) -> Statement:
        def state(n: Annotated[int, integers(0, 3)]) -> Frequency:
            suppose("n is 0", n == 0)
            return probability(events & (n > 0), at_most=limit)

        return Statement("", state)

    context = Context(0, None, 1e-2, "toy/true")
    shared = lower_end(120, 1000, 1e-2 / 20)
    for factor, needed in ((0.999, True), (1.001, False)):
        assert needed_hypotheses([attempt(supposed(factor * shared), context)], context) == {"n is 0": needed}


def test_few_trials_look_at_few_instances(registry: dict[str, Any]) -> None:
    @PAPER.claim("false", label="(1)", kind="upper")
    def false(share: Annotated[Fraction, rationals(1, 2, 64)]) -> Sides:
        """False."""
        return at_most(share, nothing=Fraction(1, 2))

    few, many = (check("toy/false", trials=trials).tightness["all"]["instances"] for trials in (5, None))
    assert 5 <= few < 20  # the ends come to the trials
    assert many >= 100


def test_a_hypothesis_is_needed_where_an_instance_outside_of_it_alone_breaks_the_statement(
    registry: dict[str, Any],
) -> None:
    @PAPER.claim("one", label="(1)", kind="upper")
    def one(n: Annotated[int, integers(0, 12)]) -> Sides:
        """No instance is outside the last hypothesis alone, and at n = 0 there is a division by zero."""
        suppose("n is positive", n > 0)
        suppose("n is at most 8", n <= 8)
        suppose("n is not 5", n != 5)
        suppose("n is below 20", n < 20)
        return at_most(n, eight=8 * n // n)

    verdict = check("toy/one")
    assert verdict.needed == {
        "n is positive": None,
        "n is at most 8": True,
        "n is not 5": False,
        "n is below 20": None,
    }
    assert "2 hypotheses not exercised" in evidence(verdict)


@pytest.mark.parametrize(("factor", "says"), [(1, False), (2, True)])
def test_a_bound_that_is_called_tight_and_is_not_attained(
    registry: dict[str, Any], factor: int, says: bool
) -> None:
    @PAPER.claim("one", label="(1)", kind="tight")
    def one(n: Annotated[int, integers(1, 12)]) -> Sides:
        """Attained where the factor is 1."""
        return at_most(n, factor=factor * n)

    verdict = check("toy/one")
    assert ("not attained: 2 at best found" in evidence(verdict)) == says
    assert verdict.verdict == "certified"
