"""Claims about every function of a class: certified, refuted by an explicit function, or not traced and said so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.space import Space
from clusterproof.checker.kernel import Refused
from clusterproof.checker.report.decide import decide
from clusterproof.checker.report.replay import replay
from clusterproof.checker.report.sentences import doubts_of_worst, of_worst
from clusterproof.checker.report.tables import to_json
from clusterproof.checker.report.verdict import Verdict
from clusterproof.checker.search.worst_functions import AtSetting, WorstCase
from clusterproof.common import InvalidArgument
from clusterproof.theorem import (
    Function,
    Operator,
    Sides,
    at_most,
    choice,
    claim,
    equal,
    functions,
    integers,
    operators,
    rationals,
    sets,
    suppose,
)

Smooth = Annotated[Function, functions(smoothness=1)]
Strong = Annotated[Function, functions(smoothness=1, strong_convexity=Fraction(1, 10))]
Rounds = Annotated[int, integers(1, 3)]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def verdict_on(function: Callable[..., Sides], seed: int = 0, name: str = "toy/claim") -> Verdict:
    """State a function as a claim, and decide it."""
    return decide(claim(name)(function), seed)


def descend(f: Any, rounds: int, step: Any = 1) -> Any:
    x = f.start
    for _ in range(rounds):
        x = x - step * f.gradient(x)
    return x


def with_constant(constant: Callable[[int], Any]) -> Callable[..., Sides]:
    def gradient_descent(f: Smooth, rounds: Rounds) -> Sides:
        """Gradient descent ends at a share of R^2."""
        return at_most(f(descend(f, rounds)) - f.minimum, bound=f.distance**2 / constant(rounds))

    return gradient_descent


# ---- three verdicts


def test_a_smaller_bound_is_refuted_by_a_function_whose_conditions_hold() -> None:
    verdict = verdict_on(with_constant(lambda rounds: 4 * rounds + 3))
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.counterexample is not None
    found = verdict.counterexample["f"]
    (several,) = found["triplets"]
    triplets = [([*map(Fraction, x)], [*map(Fraction, g)], Fraction(f)) for x, g, f in several]
    minimiser, minimum = [*map(Fraction, found["solution"])], Fraction(found["minimum"])
    assert (minimiser, [0] * len(minimiser), minimum) in triplets
    for x, g, f in triplets:
        for y, h, e in triplets:
            product = sum((b * (c - d) for b, c, d in zip(h, x, y, strict=True)), Fraction(0))
            square = sum(((a - b) ** 2 for a, b in zip(g, h, strict=True)), Fraction(0))
            assert f >= e + product + square / 2
    start = [Fraction(entry) for entry in found["start"]]
    distance = sum(((a - b) ** 2 for a, b in zip(start, minimiser, strict=True)), Fraction(0))
    rounds = verdict.counterexample["rounds"]
    x = start
    for _ in range(rounds):
        (gradient,) = {tuple(g) for at, g, _ in triplets if at == x}
        x = [a - b for a, b in zip(x, gradient, strict=True)]
    (value,) = {f for at, _, f in triplets if at == x}
    assert value - minimum > distance / (4 * rounds + 3)


# ---- sums, sets, operators, hypotheses, paths


def test_what_holds_of_no_function_is_not_certified() -> None:
    def empty(f: Smooth) -> Sides:
        """Suppose what nothing meets."""
        suppose("below the minimum", equal((f(f.start), f.minimum - 1)))
        return at_most(f(f.start) - f.minimum, bound=f.distance**2 / 1000)

    found = verdict_on(empty)
    assert found.verdict is Kind.INCONCLUSIVE
    assert "no function was found that meets the hypotheses" in found.reason


def test_a_setting_of_no_function_says_nothing_of_the_others() -> None:
    def some(f: Smooth, far: Annotated[int, choice(0, 2)]) -> Sides:
        """Suppose what no function meets at far = 2."""
        suppose("near", f.distance**2 <= 1)
        suppose("far", f.distance**2 >= far)
        return at_most(f(f.start) - f.minimum, bound=f.distance**2 / 2)

    verdict = verdict_on(some)
    assert (verdict.verdict, verdict.proof) == (Kind.CERTIFIED, "dual")
    assert verdict.evidence is not None
    assert verdict.evidence["witness"]["far"] == 0


MonotoneAndLipschitz = Annotated[Operator, operators(lipschitz=1)]


def forward(a: MonotoneAndLipschitz) -> Sides:
    """|x - A x - x*| <= |x - x*|: false, as a rotation shows."""
    new, away = a.start - a(a.start) - a.solution, a.start - a.solution
    return at_most(new @ new, away @ away)


def halfway(a: MonotoneAndLipschitz) -> Sides:
    """A at the middle is the middle of two images: true of affine operators, and false of others."""
    x, y = a.start, a.point()
    apart = a((x + y) / 2) - (a(x) + a(y)) / 2
    return at_most(apart @ apart, 0)


@pytest.mark.parametrize("statement", [forward, halfway], ids=lambda each: each.__name__)
def test_an_operator_that_breaks_a_claim_is_replayed(statement: Callable[..., Sides]) -> None:
    found = verdict_on(statement)
    assert (found.verdict, found.proof) == (Kind.VIOLATED, None)
    assert found.evidence is not None
    assert found.evidence["rule"] == "instance"
    assert found.counterexample is not None
    assert "at a = an operator on R^" in found.reason
    assert replay(found.claim, found.counterexample).verdict == "violated"
    assert ("matrices" in found.counterexample["a"]) is (statement is forward)


def extragradient(a: MonotoneAndLipschitz, step: Annotated[Fraction, rationals(0, 1, 12)]) -> Sides:
    """A step of extragradient does not increase the distance, for every s <= 1."""
    new = a.start - step * a(a.start - step * a(a.start)) - a.solution
    return at_most(new @ new, (a.start - a.solution) @ (a.start - a.solution))


def test_operators_with_two_conditions_are_certified_for_every_value() -> None:
    found = verdict_on(extragradient)
    assert (found.verdict, found.proof) == (Kind.CERTIFIED, "family")
    assert "proved for every operator of the class" in found.reason


# ---- what is not traced


def coordinates(f: Strong) -> Sides:
    """Take a coordinate."""
    return at_most(f.gradient(f.start)[0], bound=100 * f.distance**2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: functions(smoothness=0.5),  # type: ignore[arg-type]  # what is refused
        lambda: functions(smoothness=-1),
        lambda: functions(smoothness=1, strong_convexity=2),
        lambda: functions(convex=False),
        lambda: functions(lipschitz=1, strong_convexity=1),
        lambda: functions(count=0),
        lambda: functions(count="some"),
        lambda: functions(smoothness=1, convex=False, count="any"),
        lambda: functions(smoothness=1, count="any") + functions(),
        lambda: functions() + functions(smoothness=1, count="any"),
        lambda: functions(smoothness=1, convex=False) + functions(),
        lambda: operators(monotone=False),
        lambda: functions(distance=1) + functions(distance=1),
    ],
)
def test_classes_that_contradict_themselves_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgument):
        make()


CONSTANTS = [
    (make, name)
    for make, names in (
        (functions, ("smoothness", "strong_convexity", "lipschitz", "distance")),
        (operators, ("strong_monotonicity", "cocoercivity", "lipschitz", "distance")),
        (sets, ("diameter",)),
    )
    for name in names
]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, np.float64("inf"), np.float32("nan")])
@pytest.mark.parametrize(("make", "name"), CONSTANTS)
def test_a_constant_that_is_not_finite_is_refused_with_what_to_write(
    make: Any, name: str, value: float
) -> None:
    """As a number, and as a function of an earlier quantity."""
    with pytest.raises(InvalidArgument, match=rf"{name} is .*finite number.*Leave it out"):
        make(**{name: value})

    single, of_class = choice(1), make(**{name: lambda mu: value})

    def one(mu: int = single, f: Any = of_class) -> Sides:
        """Suppose nothing."""
        return at_most(0, bound=mu)

    with pytest.raises(InvalidArgument, match=rf"{name} is .*finite number.*Leave it out"):
        verdict_on(one)


@pytest.mark.parametrize("count", [1, 4, 9])
def test_as_many_further_points_are_given_as_are_asked_for(count: int) -> None:
    def least_value(f: Smooth) -> Sides:
        """The minimum is at most the mean value at any points."""
        points = [f.point() for _ in range(count)]
        return at_most(f.minimum, bound=sum(f(x) for x in points) / count)

    assert verdict_on(least_value).verdict is Kind.CERTIFIED

    def all_at_the_minimum(f: Smooth) -> Sides:
        """The last of the points is a minimiser."""
        points = [f.point() for _ in range(count)]
        return at_most(f(points[-1]), bound=f.minimum)

    verdict = verdict_on(all_at_the_minimum, name="toy/other")
    assert verdict.verdict is Kind.VIOLATED
    assert replay("toy/other", json.loads(to_json(verdict.counterexample))).verdict is Kind.VIOLATED


@pytest.mark.parametrize(
    ("constants", "shown"),
    [
        ({"strong_convexity": lambda mu: mu}, True),
        ({"strong_convexity": lambda mu: 1 - mu}, False),  # at mu = 0 it is the smoothness
        ({"distance": lambda mu: mu}, True),
        ({"lipschitz": lambda mu: mu}, True),
        ({"strong_convexity": lambda mu: 2 * mu}, False),  # beyond 1/2 there is no such function
    ],
)
def test_a_constant_may_be_a_quantity_up_to_the_ends_of_its_range(constants: Any, shown: bool) -> None:
    of_class = functions(smoothness=1, **constants)
    mu_range = rationals(0, Fraction(9, 10), 10)

    def one(mu: Fraction = mu_range, f: Any = of_class) -> Sides:
        """A step of size 1 does not increase f, and a step of size 3 does."""
        x = f.start
        return at_most(f(x - f.gradient(x)), bound=f(x))

    def other(mu: Fraction = mu_range, f: Any = of_class) -> Sides:
        """A step of size 3 does not increase f."""
        x = f.start
        return at_most(f(x - 3 * f.gradient(x)), bound=f(x))

    expected = (Kind.CERTIFIED,) if shown else (Kind.CONSISTENT, Kind.INCONCLUSIVE)
    assert verdict_on(one).verdict in expected
    assert verdict_on(other, name="toy/other").verdict is Kind.VIOLATED


def test_a_step_that_is_a_float_is_tried_on_drawn_functions() -> None:
    smooth = functions(smoothness=3)

    def stepped(step: float, bound: float) -> Callable[..., Sides]:
        def one(f: Any = smooth) -> Sides:
            """A step of this size decreases f by as much."""
            x, g = f.start, f.gradient(f.start)
            return at_most(f(x - step * g), bound=f(x) - bound * (g @ g))

        return one

    for step in (1 / 3, np.float64(1 / 3)):  # of which 1/6 is attained, and one bit more would be false
        assert verdict_on(stepped(step, 1 / 6)).verdict in (Kind.INCONCLUSIVE, Kind.CONSISTENT)
    verdict = verdict_on(stepped(0.7, 0.0), name="toy/other")
    assert verdict.verdict is Kind.VIOLATED
    assert replay("toy/other", json.loads(to_json(verdict.counterexample))).verdict is Kind.VIOLATED
    with pytest.raises(Refused, match="a point times nan"):
        verdict_on(stepped(math.nan, 0.0))


# ---- counterexamples from files


def test_an_altered_counterexample_is_refused() -> None:
    verdict = verdict_on(with_constant(lambda rounds: 8 * rounds))
    example = json.loads(to_json(verdict.counterexample))
    assert replay("toy/claim", example).verdict is Kind.VIOLATED
    (triplets,) = example["f"]["triplets"]
    steeper = [[x, [str(2 * Fraction(entry)) for entry in g], f] for x, g, f in triplets]
    changes = {"minimum": "-1", "solution": ["1"] * len(example["f"]["start"]), "triplets": [steeper]}
    for field, value in changes.items():
        with pytest.raises(InvalidArgument):
            replay("toy/claim", {**example, "f": {**example["f"], field: value}})


def test_what_no_function_of_a_class_answers_is_an_error_with_its_line() -> None:
    with pytest.raises(TypeError, match="subscriptable") as caught:
        verdict_on(coordinates)
    line = coordinates.__code__.co_firstlineno + 2
    assert f"test_every_function.py, line {line}" in "".join(caught.value.__notes__)


def two_conditions(alpha: Annotated[Fraction, rationals(0, 1, 12)], f: Smooth) -> Sides:
    """A claim in which a hypothesis has one condition too many."""
    suppose("0 < alpha < 1", alpha > 0, alpha < 1)  # type: ignore[call-arg]  # that is the mistake
    return at_most(f.minimum, bound=f(f.start))


def test_a_wrong_call_is_an_error_with_its_line() -> None:
    with pytest.raises(InvalidArgument, match="one positional argument too many for suppose") as caught:
        verdict_on(two_conditions)
    line = two_conditions.__code__.co_firstlineno + 2
    assert f"test_every_function.py, line {line}" in "".join(caught.value.__notes__)


def test_settings_that_exceed_the_bound_are_not_said_to_keep_it() -> None:
    def stated(step: Annotated[Fraction, rationals(0, 1, 12)], f: Smooth) -> Sides:
        """Suppose nothing."""
        return at_most(f.minimum, f(f.start))

    def at(ratio: float | None, exceeded: float | None) -> AtSetting:
        return AtSetting({}, ratio, None, False, exceeded)

    space = Space.of(stated)
    for cases, phrase in (
        ((at(1.0, None), at(1.0, None)), "the 2 settings of step"),
        ((at(1.0, None), at(None, 0.5)), "the 1 other setting of step"),
        ((at(1.0, 0.5), at(None, 0.5)), ""),
    ):
        worst = WorstCase(cases)
        text = of_worst(worst, space, proved=False)
        assert ("finds no function" in text) is bool(phrase)
        assert phrase in text
        exceeding = sum(case.exceeded is not None for case in cases)
        assert ("of the bound" in text or "attains the bound" in text) is (exceeding == 0)
        doubts = doubts_of_worst(worst, "function", 3)
        assert doubts == [] if not exceeding else f"at {exceeding} of 2 settings" in doubts[0]


@pytest.mark.parametrize(
    "quantity",
    [functions(smoothness=1), functions(count=2, smoothness=1), functions(count="any", smoothness=1)],
)
def test_a_false_claim_about_a_constant_alone_is_violated(quantity: Any) -> None:
    """The line has no points, so that the counterexample's space has dimension 0."""

    def stated(f: Any) -> Sides:
        return at_most(f.smoothness, Fraction(1, 2))

    stated.__annotations__["f"] = Annotated[Any, quantity]
    assert verdict_on(stated).verdict is Kind.VIOLATED


class Unmarked(Exception):
    """An error without a list of notes."""

    __notes__ = 5


def without_notes(n: Annotated[int, integers(1, 3)]) -> Sides:
    """A claim whose error takes no note."""
    raise Unmarked(n)


def test_an_error_that_takes_no_note_is_raised_as_it_is() -> None:
    with pytest.raises(Unmarked):
        verdict_on(without_notes)
