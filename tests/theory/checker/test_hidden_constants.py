"""Statements up to a constant: what grows without bound is violated, what is bounded or slower is not."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from scipy import stats
from toy_claims import claim

from clusterproof import theory
from clusterproof.algorithms import Algorithm, FedAvg, InvalidArgument, Scaffold, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker import (
    Sides,
    at_least,
    at_most,
    choice,
    equal,
    integers,
    rationals,
    up_to_constant,
)
from clusterproof.theory.checker.hidden_constants import growth
from clusterproof.theory.checker.report import evidence
from clusterproof.theory.papers.scaffold.printed_rates import TwoClients, theorem_2

DECADES = [10**k for k in range(1, 6)]
Kappa = Annotated[int, integers(1, 10, upwards=True)]
Number = Annotated[Fraction, rationals(Fraction(1, 4), 4, 4)]


@pytest.mark.parametrize(
    ("function", "power", "logarithm"),
    [
        (lambda x: 3 * x**0.5, 0.5, 0),
        (lambda x: x * math.log(x), 1.1, 0),
        (lambda x: x**0.1 + x**0.3, 0.27, 0),
        (math.log, None, 1),
        (lambda x: (4 + math.log(x)) ** 2, None, 2),
        (lambda x: 7, None, None),
        (lambda x: 1 / x, None, None),
        (lambda x: x / (x + 1000), None, None),
        (lambda x: x / (x + 10**5), None, None),
        (lambda x: 2 - 1 / x, None, None),
        (lambda x: 2 - x**-0.1, None, None),
        (lambda x: 1 - 1 / (1 + math.log(x)), None, None),
        (math.atan, None, None),
        # the limit is far beyond the last value
        (lambda x: 1e9 * x / (x + 1e12), None, None),
        (lambda x: math.log(x) / x**0.01, None, None),
        (lambda x: math.log(x) ** 7 / x**0.1, None, None),
        (lambda x: math.log(x) ** 9, None, 9),
        (lambda x: math.log(x) + 0.5772 + 1 / (2 * x), None, 1),
        # one jump is no growth: the interval for the power holds 0
        (lambda x: math.exp({10**4: 0.03, 10**5: 9}.get(x, x / 10**5)), None, None),
    ],
)
def test_growth(function: Callable[[float], float], power: float | None, logarithm: int | None) -> None:
    for values in (DECADES, [Fraction(1, value) for value in DECADES]):
        found = growth(values, [function(value) for value in DECADES])
        if power is None and logarithm is None:
            assert found is None
        else:
            assert found is not None
            line = stats.linregress(np.log(DECADES), np.log([function(value) for value in DECADES]))
            half = stats.t.isf(0.005, 3) * line.stderr
            interval = [line.slope, line.slope - half, line.slope + half]
            assert [found.power, found.lower, found.upper] == pytest.approx(interval, rel=1e-9)
            assert found.lower > 0
            assert found.logarithm == pytest.approx(logarithm, rel=0.15)
            if power is not None:
                assert found.power == pytest.approx(power, rel=0.1)


def test_the_last_values_decide() -> None:
    values = [10**k for k in range(9)]
    found = growth(values, [max(1, value / 1000) for value in values])
    assert found is not None
    assert found.power == pytest.approx(1)
    assert growth(values, [min(value, 1000) for value in values]) is None
    for dip, grows in ((5, True), (12, False)):  # the second half of a long family is to grow throughout
        values = [2.0**k for k in range(21)]
        ratios = [value * (3 if k == dip else 1) for k, value in enumerate(values)]
        assert (growth(values, ratios) is not None) == grows


@pytest.mark.parametrize(
    ("left", "right", "soft", "verdict"),
    [
        (lambda kappa: kappa, {"one": 1}, False, "violated"),
        (lambda kappa: kappa**0.25, {"one": 1}, True, "violated"),
        (math.log, {"one": 1}, False, "violated"),
        (math.log, {"one": 1}, True, "consistent"),
        (lambda kappa: 100 - 90 / kappa, {"one": 1}, False, "consistent"),
        # the second term bounds the ratio, though it is small on the family
        (lambda kappa: kappa, {"one": 1, "late": lambda kappa: 1e-9 * kappa}, False, "consistent"),
        # nothing is said of the ratio to a term that is 0 on some members
        (lambda kappa: kappa, {"one": 1, "late": lambda kappa: int(kappa < 50)}, False, "consistent"),
    ],
)
def test_a_bound_is_violated_where_the_ratio_to_each_term_grows(
    registry: None, left: Any, right: dict[str, Any], soft: bool, verdict: str
) -> None:
    def stated(kappa: Annotated[int, integers(2, 9, upwards=True)]) -> Sides:
        terms = {name: term(kappa) if callable(term) else term for name, term in right.items()}
        return up_to_constant(at_most(left(kappa), **terms), polylogarithmic=soft)

    claim(stated, families={"kappa": DECADES})
    found = theory.check("toy/one")
    assert found.verdict == verdict, found.reason
    if verdict == "violated":
        assert found.reason.startswith(
            "violated for every hidden constant: left over right grows like the power"
        )
        assert (found.measured, found.bound) == (pytest.approx(left(DECADES[-1])), 1)
        assert f", to {left(DECADES[-1]):.4g}; start " in found.reason
        # no instance breaks it by itself, and none is the simplest
        assert found.tightness is None
        assert evidence(found) == found.reason
        again = theory.replay("toy/one", found.counterexample or {})
        assert (again.verdict, again.measured, again.bound) == (found.verdict, found.measured, found.bound)
        with pytest.raises(InvalidArgument, match="must be a family"):
            theory.replay("toy/one", {"kappa": 2, "family": "K"})
    else:
        assert found.sharpness is None
        again = theory.replay("toy/one", {"kappa": 2, "family": "kappa"})
        assert (again.verdict, again.reason) == ("consistent", "replayed: holds")
        # the numbers are those of the last member
        assert again.measured == pytest.approx(left(DECADES[-1]))
        assert "; this is no theorem" in found.reason
        if "late" not in right and not soft:
            assert ": 100, at kappa = 100000;" in found.reason  # the last member of the family


@pytest.mark.parametrize("hidden", [0, 1])
def test_a_constant_is_hidden_in_one_part_alone(registry: None, hidden: int) -> None:
    """The other part, kappa <= 9, holds as it stands."""

    def grows(kappa: Annotated[int, integers(2, 9, upwards=True)]) -> Sides:
        return up_to_constant(at_most(kappa, one=1))

    def holds(kappa: Annotated[int, integers(2, 9)]) -> Sides:
        return at_most(kappa, nine=9)

    parts = [(grows, {"kappa": DECADES}), (holds, {})]
    (first, families), (second, others) = parts if hidden == 0 else parts[::-1]
    claim(first, families=families).step("second", families=others)(second)
    found = theory.check("toy/one")
    assert found.verdict == "violated"
    assert found.reason.startswith("violated for every hidden constant")


@pytest.mark.parametrize(
    ("left", "right", "conclude", "limit"),
    [
        # each ratio has the last number as its limit, which it reaches far beyond the family
        (lambda n: n**2 / (n + 1e8), lambda n: n, at_most, 1),
        (lambda n: Fraction(n, n + 10**20), lambda n: 1, at_most, 1),
        (lambda n: 1e9 * n / (n + 1e8), lambda n: 1, at_most, 1e9),
        (lambda n: min(n, 10**8), lambda n: 1, at_most, 1e8),
        (lambda n: 1, lambda n: 1e8 * n / (n + 1e8), at_least, 1e8),
    ],
)
def test_what_is_bounded_far_beyond_the_family_is_not_violated(
    registry: None, left: Any, right: Any, conclude: Any, limit: float
) -> None:
    def stated(n: Annotated[int, integers(2, 9, upwards=True)]) -> Sides:
        return up_to_constant(conclude(left(n), allowed=right(n)))

    ratios = [left(n) / right(n) if conclude is at_most else right(n) / left(n) for n in (10**5, 10**30)]
    assert ratios[0] <= ratios[1] == pytest.approx(limit)
    claim(stated, families={"n": DECADES})
    found = theory.check("toy/one")
    assert found.verdict == "consistent"
    assert "it still grows along n, by a factor of" in found.reason
    assert found.reason.index("10000 to 100000") > 0


@pytest.mark.parametrize(
    ("left", "right", "conclude"),
    [
        (lambda n: n * math.log(n), lambda n: 100 * n, at_most),
        (lambda n: n**1.01, lambda n: n, at_most),
        (lambda n: 1e-12 * n**2, lambda n: n, at_most),
        (lambda n: math.sqrt(n), lambda n: n, at_least),
        # evaluation beyond the family is slow, or the difference becomes 0
        (lambda n: sum(1 for _ in range(n)), lambda n: math.sqrt(n), at_most),
        (lambda n: math.sqrt(n * n + n) - n, lambda n: 1 / n, at_most),
    ],
)
def test_what_grows_slowly_or_from_a_small_constant_is_violated(
    registry: None, left: Any, right: Any, conclude: Any
) -> None:
    def stated(n: Annotated[int, integers(2, 9, upwards=True)]) -> Sides:
        return up_to_constant(conclude(left(n), allowed=right(n)))

    claim(stated, families={"n": DECADES})
    found = theory.check("toy/one")
    assert found.verdict == "violated"
    assert found.reason.startswith("violated for every hidden constant")
    assert theory.replay("toy/one", found.counterexample or {}).reason.endswith(found.reason)


@pytest.mark.parametrize(
    ("values", "scale", "verdict"),
    [
        ((1, 10, 100, 1000, 10**4), 1, "violated"),
        ((1, 10, 100, 1000, 10**4), 1e-5, "consistent"),
        ((1, 2, 4, 8, 16), 1, "consistent"),
    ],
)
def test_in_a_closed_range_a_family_must_reach_far(
    registry: None, values: Any, scale: float, verdict: str
) -> None:
    def stated(n: Annotated[int, choice(*values)]) -> Sides:
        return up_to_constant(at_most(n * scale, allowed=1))

    claim(stated, families={"n": values})
    assert theory.check("toy/one").verdict == verdict


def test_copies_far_away_are_tried_before_a_unit_is_said_to_violate_every_constant(registry: None) -> None:
    def stated(distance: Number) -> Sides:
        return up_to_constant(at_most(distance**2 / (distance + 10**8), start=distance))

    claim(stated, units={"distance": "length"})
    found = theory.check("toy/one")
    assert found.verdict == "ill-posed"
    assert "every hidden constant" not in found.reason


def test_the_least_constant_is_named_and_never_a_theorem(registry: None) -> None:
    @claim
    def stated(x: Annotated[int, choice(1, 2, 3)]) -> Sides:
        return up_to_constant(at_most(5 * x, allowed=x + 2))

    for prove in (False, True):
        registry.clear()  # type: ignore[attr-defined]
        claim(stated.function, prove=prove)
        found = theory.check("toy/one")
        assert (found.verdict, found.proof) == ("consistent", None)
        assert "least constant on 3 instances: 3, at x = 3; this is no theorem" in found.reason


def test_a_proof_that_the_constant_1_is_enough_is_not_asked_for(registry: None) -> None:
    def stated(x: Number) -> Sides:
        return up_to_constant(at_most(x, allowed=x + 2))

    claim(stated, prove=True)
    found = theory.check("toy/one")
    assert (found.verdict, found.proof) == ("consistent", None)
    assert "a proof needs sure and exact sides without a hidden constant" in found.reason


def test_a_lower_bound_has_a_largest_constant(registry: None) -> None:
    @claim
    def stated(x: Annotated[int, choice(1, 2, 3)]) -> Sides:
        return up_to_constant(at_least(x, allowed=4 * x * x))

    assert "largest constant on 3 instances: 0.08333, at x = 3" in theory.check("toy/one").reason
    registry.clear()  # type: ignore[attr-defined]

    def smaller(kappa: Kappa) -> Sides:
        return up_to_constant(at_least(1, allowed=kappa, other=1))

    claim(smaller, families={"kappa": DECADES})
    found = theory.check("toy/one")
    assert found.verdict == "violated"
    assert "right over left grows like the power" in found.reason


def test_a_ratio_that_is_no_float_is_no_constant(registry: None) -> None:
    @claim
    def stated(x: Annotated[int, choice(1, 400)]) -> Sides:
        return up_to_constant(at_most(10**x, allowed=1))

    found = theory.check("toy/one")
    assert found.verdict == "consistent"
    assert (
        "no constant was found on 2 instances: the ratio of the sides is beyond 1.8e308, at x = 400"
        in found.reason
    )


def test_no_constant_helps_a_bound_of_0(registry: None) -> None:
    @claim
    def stated(x: Annotated[int, choice(0, 1)]) -> Sides:
        return up_to_constant(at_most(1, allowed=x))

    found = theory.check("toy/one")
    assert (found.verdict, found.counterexample) == ("violated", {"x": 0})


@pytest.mark.parametrize(("terms", "verdict"), [({}, "violated"), ({"free": 1}, "ill-posed")])
def test_scaled_copies_violate_what_has_the_wrong_unit(registry: None, terms: Any, verdict: str) -> None:
    def stated(distance: Number) -> Sides:
        return up_to_constant(at_most(1, start=distance**2, **terms))

    claim(stated, units={"distance": "length"})
    found = theory.check("toy/one")
    assert found.verdict == verdict
    assert "the term start lacks a factor of the unit length^-2, such as distance^-2" in found.reason
    assert ("violated for every hidden constant" in found.reason) == (verdict == "violated")
    assert theory.replay("toy/one", found.counterexample or {}).verdict == verdict


@pytest.mark.parametrize(
    ("families", "words"),
    [
        ({"K": DECADES}, "not K; they are kappa"),
        ({"kappa": DECADES[:4]}, "5 or more"),
        ({"kappa": [1, 2, 3, 4, 5]}, "factor of 16"),
        ({"kappa": [0, *DECADES]}, "positive"),
        ({"kappa": [10, 1, 100, 1000, 10000]}, "in order"),
    ],
)
def test_families_that_show_nothing_are_refused(registry: None, families: Any, words: str) -> None:
    def stated(kappa: Kappa) -> Sides:
        return up_to_constant(at_most(1, allowed=kappa))

    with pytest.raises(InvalidArgument, match=words):
        claim(stated, families=families)


def test_families_of_a_statement_without_a_hidden_constant_are_refused(registry: None) -> None:
    def stated(kappa: Kappa) -> Sides:
        return at_most(1, allowed=kappa)

    claim(stated, families={"kappa": DECADES})
    with pytest.raises(InvalidArgument, match="no effect on a statement without up_to_constant"):
        theory.check("toy/one")


def test_only_sure_inequalities_hold_up_to_a_constant() -> None:
    for sides in (equal((1, 1)), at_most(np.zeros(3), failure=0.1, allowed=1)):
        with pytest.raises(InvalidArgument, match="must be at_most"):
            up_to_constant(sides)


def clients(*, steep: bool, local_steps: int, accuracy: Fraction, kappa: int = 8) -> TwoClients:
    half = Fraction(1, 2)
    return TwoClients(half * kappa, half, Fraction(3, 4), Fraction(2), accuracy, local_steps, steep)


@pytest.mark.parametrize("steep", [False, True])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_rounds_of_the_printed_rates_are_those_of_the_algorithms(steep: bool, local_steps: int) -> None:
    one = clients(steep=steep, local_steps=local_steps, accuracy=Fraction(1, 1000))
    a, g = np.array(one.curvatures), float(one.gradient)
    task = QuadraticMixture(
        hessians=a[:, None, None], centers=np.array([[-g / a[0]], [g / a[1]]]), labels=np.zeros(2, dtype=int)
    )

    def rounds(algorithm: Algorithm[Any], radius: float) -> float:
        trace = run(algorithm, task, rounds=200, initial=np.array([[float(one.distance)]]))
        reached = np.flatnonzero(np.abs(np.asarray(trace.models)[:, 0, 0]) <= radius)
        return float(reached[0]) if len(reached) else math.inf

    step = 1 / (float(one.smoothness) * local_steps)
    radius = math.sqrt(2 * float(one.accuracy) / (a.mean()))
    assert rounds(Scaffold(step_size=step, local_steps=local_steps), radius) == one.scaffold_rounds(
        radius, step
    )
    steps = [step * 2.0**-j for j in range(8)]
    for wide in (0.1, 2.5):  # the second holds the start
        fastest = min(rounds(FedAvg(step_size=each, local_steps=local_steps), wide) for each in steps)
        assert fastest == one.fedavg_rounds(wide)


def test_scaffold_needs_half_kappa_logarithms_on_equal_clients() -> None:
    for kappa in (64, 256):
        one = clients(steep=False, local_steps=4, accuracy=Fraction(1, 10**9), kappa=kappa)
        # at eta = 1 / (beta K) the controls' part of the error vanishes beside the start for large kappa
        expected = kappa * math.log(one.gap / float(one.accuracy)) / 2
        rounds = one.scaffold_rounds(one.near, 1 / (4 * float(one.smoothness)))
        assert rounds == pytest.approx(expected, rel=2 / kappa)


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        ("theorem-2", "consistent", "instances and along rounds: 0.07"),
        ("theorem-3", "consistent", "this is no theorem"),
        (
            "theorem-4",
            "ill-posed",
            "violated for every hidden constant: left over right grows like the power",
        ),
        (
            "theorem-4-meant",
            "consistent",
            "this is no theorem; tried on",
        ),  # and no family along which it grows
        ("theorem-3-convex", "ill-posed", "the term participants lacks a factor of the unit value^-1"),
        (
            "theorem-1-convex",
            "ill-posed",
            "the term drift lacks a factor of the unit length^2, such as distance^2",
        ),
        ("theorem-1-nonconvex", "ill-posed", "the term drift lacks a factor of the unit value^3/2 length^-1"),
        (
            "equation-6",
            "ill-posed",
            "the right side lacks a factor of the unit value^-1 length^2, such as step_size",
        ),
    ],
)
def test_the_printed_rates_of_scaffold(name: str, verdict: str, words: str) -> None:
    found = theory.check(f"scaffold/{name}")
    assert (found.verdict, found.transcribed) == (verdict, True)
    assert words in found.reason


@pytest.mark.parametrize("kappa", [2, 10, 100])
@pytest.mark.parametrize("rounds", [10, 32, 100])
def test_theorem_2_of_scaffold_by_plain_loops(kappa: int, rounds: int) -> None:
    def least_gap(start: float) -> float:
        steps = np.geomspace(1e-5, 2, 4000, endpoint=False) / kappa
        models = np.full_like(steps, start)
        for _ in range(rounds):
            local = [models, models]
            for _ in range(2):
                gradients = (local[0] + 1, kappa * local[1] - 1)
                local = [y - steps * gradient for y, gradient in zip(local, gradients, strict=True)]
            models = (local[0] + local[1]) / 2
        return float((1 + kappa) / 4 * np.min(models**2))

    constant = least_gap(-1.0) * rounds**2
    assert constant >= 0.075
    assert least_gap(1.0) * rounds**2 < 1e-4  # from the other side start and bias cancel
    for scale in (1, 3):
        sides = theorem_2(Fraction(scale), Fraction(2 * scale), kappa, rounds)
        assert sides.measured / sides.allowed == pytest.approx(constant, rel=1e-3)
