"""Units: statements that are right and wrong in their units, and what is said of the wrong ones."""

import math
import re
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_claims import claim

from clusterproof import theory
from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker import (
    Sides,
    at_least,
    at_most,
    drawn,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.unit_check import Mismatch, candidates, check_units

Q = Annotated[Fraction, rationals(Fraction(1, 8), 3, 8)]
WORDS = {"sqrt": math.sqrt, "log": math.log, "at_most": at_most, "at_least": at_least, "equal": equal, "Q": Q}
D2, SQUARED, RADIUS = (0, 2), (2, -2), (3, -4)
STEPS = {"gamma": "step", "mu": "curvature"}
CONTRACTION = "max((1 - gamma * mu)**4, (1 - p**2)**4) * Psi_0"
ORDERS = {"beta": "curvature", "sigma": "gradient", "G": "gradient", "epsilon": "value"}
DRIFT = "sqrt(beta) * G / epsilon**1.5"
# name: (units, numbers, left side, right side)
RIGHT: dict[str, tuple[dict[str, Any], str, str]] = {
    "ProxSkip (8)": ({**STEPS, "Psi": D2, "Psi_0": D2}, "p", f"at_most(Psi, start={CONTRACTION})"),
    "SProxSkip (9)": (
        {**STEPS, "Psi": D2, "Psi_0": D2, "C": SQUARED},
        "p",
        f"at_most(Psi, start={CONTRACTION}, floor=gamma**2 * C / min(gamma * mu, p**2))",
    ),
    "NASTYA 2.3": (
        {**STEPS, "eta": "step", "e": "length", "D": "length", "L": "curvature"}
        | {"zeta": "gradient", "sigma": "gradient"},
        "n",
        "at_most(e**2, start=(1 - eta * mu / 2)**4 * D**2, "
        "floor=9 * gamma**2 * n * L / mu / 2 * ((n + 1) * zeta**2 + sigma**2))",
    ),
    "Q-RR 2.1": (
        {**STEPS, "e": "length", "D": "length", "radius": RADIUS},
        "",
        "at_most(e**2, start=(1 - gamma * mu)**6 * D**2, floor=2 * gamma**2 * radius / mu)",
    ),
    "shuffling radius": (
        {"measured": RADIUS, "mu": "curvature", "L": "curvature", "sigma": "gradient"},
        "n",
        "{'lower': at_least(measured, low=mu * n * sigma**2 / 8), "
        "'upper': at_most(measured, high=L * n * sigma**2 / 4)}",
    ),
    "SCAFFOLD III": (
        {"mu": "curvature", "beta": "curvature", "sigma": "gradient", "epsilon": "value"},
        "R K N S",
        "at_most(R, noise=sigma**2 / (mu * K * S * epsilon), rate=beta / mu, sampling=N / S)",
    ),
    "SCAFFOLD IV": (
        {
            "mu": "curvature",
            "beta": "curvature",
            "delta": "curvature",
            "sigma": "gradient",
            "epsilon": SQUARED,
        },
        "R K N",
        "at_most(R, noise=beta * sigma**2 / (mu * K * N * epsilon), rate=(beta + delta * K) / (mu * K))",
    ),
    "SCAFFOLD's bias": (
        {"b": "length", "gamma": "step", "tau": (1, -3), "sigma": "gradient", "a": "curvature"},
        "N H",
        "equal((b, -tau * sigma**2 * gamma / (4 * a**2 * N) "
        "- tau * sigma**2 * (H - 1) * (5 * H - 1) / H * gamma**2 / (12 * a)))",
    ),
    "FedLin": (
        {"gap": "value", "gap_0": "value", "mu": "curvature", "L": "curvature"},
        "",
        "at_most(gap, start=(1 - mu / (6 * L))**5 * gap_0)",
    ),
    "local GD (5)": (
        {"gap": "value", "gamma": "step", "D": "length", "sigma": "gradient", "L": "curvature"},
        "T H",
        "at_most(gap, start=2 * D**2 / (gamma * T), floor=24 * gamma**2 * sigma**2 * H**2 * L)",
    ),
}
LEFT = {"Psi", "e", "measured", "gap", "b"}
# name: (units, numbers, statement, what the message names)
WRONG: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "SCAFFOLD I convex, D = ||.||^2": (
        {**ORDERS, "D": D2},
        "R B",
        f"at_most(R, drift={DRIFT}, rate=B**2 * beta * D**2 / epsilon)",
        "the term rate lacks a factor of the unit length^-2, such as D^-1",
    ),
    "SCAFFOLD I convex": (
        {**ORDERS, "D": "length"},
        "R B",
        f"at_most(R, drift={DRIFT}, rate=B**2 * beta * D**2 / epsilon)",
        "the term drift lacks a factor of the unit length^2, such as D^2",
    ),
    "SCAFFOLD III convex": (
        {"beta": "curvature", "D": "length", "F": "value", "epsilon": "value"},
        "R N S",
        "at_most(R, rate=beta * D**2 / epsilon, sampling=N * F / S)",
        "the term sampling lacks a factor of the unit value^-1, such as F^-1",
    ),
    "SCAFFOLD I non-convex, drift": (
        {**ORDERS, "epsilon": SQUARED, "F": "value"},
        "R B",
        f"at_most(R, drift={DRIFT}, rate=B**2 * beta * F / epsilon)",
        "beta^1/2 F",
    ),
    "SCAFFOLD I non-convex, sampling": (
        {**ORDERS, "epsilon": SQUARED, "F": "value"},
        "R S",
        "at_most(R, sampling=G**2 * F / (S * epsilon**2))",
        "the term sampling lacks a factor of the unit value length^-2, such as beta",
    ),
    "SCAFFOLD (6)": (
        {"y": "length", "move": "length", "g": "gradient", "gamma": "step"},
        "",
        "equal((y + move, y + g))",
        "adds, compares or takes functions of unlike units",
    ),
    "ProxSkip with gamma / p": (
        {"gamma": "step", "Psi": D2, "h": "gradient", "D": "length"},
        "p",
        "at_most(Psi, models=D**2, controls=gamma / p * h**2)",
        "the term controls lacks a factor of the unit value^-1",
    ),
    "NASTYA with gamma": (
        {**STEPS, "e": "length", "L": "curvature", "zeta": "gradient"},
        "n",
        "at_most(e**2, floor=gamma * n * L / mu * zeta**2)",
        "such as gamma or ",
    ),
    "SCAFFOLD IV, epsilon a gap": (
        {"mu": "curvature", "beta": "curvature", "sigma": "gradient", "epsilon": "value"},
        "R K N",
        "at_most(R, noise=beta * sigma**2 / (mu * K * N * epsilon), rate=beta / (mu * K))",
        "the term noise lacks a factor of the unit value^-1 length^2, such as beta^-1 or mu^-1",
    ),
    "Q-RR without 1 / mu": (
        {**STEPS, "e": "length", "radius": RADIUS},
        "",
        "at_most(e**2, floor=2 * gamma**2 * radius)",
        "such as gamma or mu^-1",
    ),
    "rate 1 - gamma": (
        {"gamma": "step", "D": "length", "e": "length"},
        "",
        "at_most(e**2, start=(1 - gamma)**4 * D**2)",
        "adds, compares or takes functions of unlike units",
    ),
}
ALTERED = [(name, symbol) for name, (units, _, _) in RIGHT.items() for symbol in units if symbol not in LEFT]


def state(name: str, units: dict[str, Any], numbers: str, sides: str, **how: Any) -> Any:
    names = [*units, *numbers.split()]
    source = f"def stated({', '.join(f'{each}: Q' for each in names)}):\n    return {sides}"
    scope = dict(WORDS)
    exec(source, scope)
    return claim(scope["stated"], name=name, units=units, **how)


def checked(units: dict[str, Any], numbers: str, sides: str, **how: Any) -> theory.Verdict:
    state("one", units, numbers, sides, **how)
    return theory.check("toy/one", trials=5)


@pytest.mark.parametrize("name", RIGHT)
def test_the_units_of_a_right_statement_agree(registry: None, name: str) -> None:
    assert "units:" not in checked(*RIGHT[name]).reason


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_is_refused_with_its_term_and_what_it_lacks(registry: None, name: str) -> None:
    *statement, words = WRONG[name]
    verdict = checked(*statement)
    assert verdict.verdict in ("violated", "ill-posed")
    assert verdict.reason.startswith("units: ")
    assert words in verdict.reason
    again = theory.replay("toy/one", verdict.counterexample or {})
    assert again.verdict is verdict.verdict
    assert (again.measured, again.bound) == (verdict.measured, verdict.bound)


@pytest.mark.parametrize(("name", "symbol"), ALTERED)
def test_a_quantity_replaced_by_its_square_is_noticed(registry: None, name: str, symbol: str) -> None:
    units, numbers, sides = RIGHT[name]
    altered = re.sub(rf"\b{symbol}\b(?! ?=)", f"({symbol} * {symbol})", sides)
    verdict = checked(units, numbers, altered)
    assert verdict.reason.startswith("units: ")
    assert re.search(
        r"the (term \w+|right side) (lacks a factor of the unit|adds, compares or)", verdict.reason
    )


def compared(function: Any, units: dict[str, Any], **how: Any) -> Mismatch | str:
    return check_units(Statement("", function, units=units, **how), Context(0, None, 1e-9, "toy/one"))


POSITIVE = Annotated[float, reals(Fraction(1, 10), 10)]
NUMBERS = [
    "1 + gamma * L",
    "max(1, gamma * L)",
    "min(n, L * D / G)",
    "math.log(1 + n * L * D**2 / F)",
    "math.exp(-gamma * L)",
    "(1 - gamma * L / 100)**n",
    "math.sqrt(F / (L * D**2))",
    "abs(1 - gamma * G / D)",
    "(G**2 / (L * F))**(n / 10)",
    # digits cancel, so that rounding is far above 1e-9 of what is left
    "((F + 1e-13 * L * D**2) - F) / F",
    "1 - math.sqrt(1 - 1e-15 * gamma * L)",
    "(G * 3 - G - 2 * G) / G",
    "((gamma * L)**1.7 + 1e-12) - (gamma * L)**1.7",
    "math.log(1 + 1e-14 * gamma * L)",
]
EXPONENTS = st.sampled_from([-2, -1, -0.5, 0, 0.5, 1, 2])


@given(st.data())
def test_no_statement_of_consistent_units_raises_an_alarm(data: st.DataObject) -> None:
    value, length = data.draw(EXPONENTS), data.draw(EXPONENTS)

    def term() -> str:
        # G^a gamma^b F^c times the power of D that is missing; units (1, -1), (-1, 2), (1, 0) and (0, 1)
        a, b = data.draw(EXPONENTS), data.draw(EXPONENTS)
        powers = f"G**{a} * gamma**{b} * F**({value - a + b}) * D**({length + a - 2 * b})"
        return f"{powers} * ({data.draw(st.sampled_from(NUMBERS))})"

    sums = [f"{term()} + {term()}", f"max({term()}, {term()})", f"{term()} - {term()}", term()]
    left, first, second = (data.draw(st.sampled_from(sums)) for _ in range(3))
    source = f"def stated(L, D, G, gamma, F, n):\n    return at_most({left}, first={first}, second={second})"
    scope: dict[str, Any] = {"math": math, "at_most": at_most}
    exec(source, scope)
    names = ("L", "D", "G", "gamma", "F")
    scope["stated"].__annotations__ = dict.fromkeys(names, POSITIVE) | {"n": Annotated[int, integers(1, 9)]}
    units = dict(zip(names, ("curvature", "length", "gradient", "step", "value"), strict=True))
    found = compared(scope["stated"], units, budget=15)
    assert re.fullmatch("both sides have the same units at [1-9][0-9]* instances", str(found)), source


def test_two_sides_that_differ_by_rounding_raise_no_alarm() -> None:
    def stated(x: Any, y: Any, n: Any) -> Sides:
        # far from 0 the left side loses its digits, and the number of digits depends on the units
        models = np.array([y, 3 * y, -2 * y])
        moves = n * 1e-4 / x**3 * np.array([1.0, 3.0, -1.0])
        return at_most(abs((models + moves) - models), moves=abs(moves))

    def cancelling(G: Any, gamma: Any, L: Any) -> Sides:
        tail = G * math.exp(
            -gamma * L
        )  # down to 1e-44, beside a rounding error of 1e-16 that depends on the digits of G
        return at_most(tail + (G * 3 - G - 2 * G), tail=tail)

    stated.__annotations__ = dict.fromkeys("xyn", POSITIVE)
    cancelling.__annotations__ = dict.fromkeys(("G", "gamma", "L"), POSITIVE)
    for found in (
        compared(stated, {"x": "length"}),
        compared(cancelling, {"G": "gradient", "gamma": "step", "L": "curvature"}),
    ):
        assert found == "both sides have the same units at 20 instances"


def lengths(stream: np.random.Generator) -> float | None:
    """A length, or none in a third of the draws."""
    return float(stream.uniform(1, 2)) if stream.random() > 1 / 3 else None


@pytest.mark.parametrize(("budget", "most"), [(None, 20), (5, 3), (40, 8), (1000, 20)])
def test_drawn_instances_are_compared_too(budget: int | None, most: int) -> None:
    def searched(x: POSITIVE) -> Sides:
        return at_most(x, itself=x)

    def sampled(x: Annotated[float, drawn(lengths, write=float, read=float)]) -> Sides:
        return at_most(x, itself=x)

    context = Context(0, None, 1e-9, "toy/one")
    for function in (searched, sampled):
        part = Statement("", function, units={"x": "length"}, budget=budget, extremes=({"x": 7.0},))
        first, *others = (one["x"] for one in candidates(part, context))
        assert first == 7
        assert len(set(others)) == len(others) <= most
        assert None not in others
        assert len(others) == most or function is sampled
    assert most < 8 or 0 < len(others) < most  # some draws are none

    def example(x: Annotated[int, theory.checker.searched(lambda: st.integers(1, 9))]) -> Sides:
        return at_most(x, itself=x)

    tried = [one["x"] for one in candidates(Statement("", example, budget=budget), context)]
    assert set(tried) <= {*range(1, 10)}
    assert 3 <= len(tried) <= most


def test_hypotheses_that_fix_the_units_are_named(registry: None) -> None:
    @claim
    def stated(distance: Q) -> Sides:
        suppose("D <= 1", distance <= 1)
        return at_most(distance**2, distance=distance)

    claim(stated.function, name="two", units={"distance": "length"})
    verdict = theory.check("toy/two")
    assert verdict.verdict == "consistent"
    assert verdict.reason.endswith('units not compared: "D <= 1" fixes them')
    assert "units" not in theory.check("toy/one").reason
    assert [one.units for one in theory.catalogue()] == [False, True]


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ({"L": "curvature"}, "not L; they are x"),
        ({"x": "metre"}, "length, value, gradient, curvature, step or the powers"),
        ({"x": (1, 2, 3)}, "or the powers"),
    ],
)
def test_unknown_units_are_refused(units: dict[str, Any], words: str) -> None:
    def stated(x: Q) -> Sides:
        return at_most(x, allowed=x)

    stated.__annotations__ = {"x": Q}
    with pytest.raises(InvalidArgument, match=words):
        Statement("", stated, units=units)


@pytest.mark.parametrize("scaling", [["1"], "16", [1, -1], ["1", "1", "1"], None, {"value": 1}])
def test_a_written_scaling_must_be_two_positive_fractions(registry: None, scaling: Any) -> None:
    checked({"x": "length"}, "", "at_most(x, allowed=x**2)")
    with pytest.raises(InvalidArgument, match=r"counterexample\.scaling"):
        theory.replay("toy/one", {"x": "1/2", "scaling": scaling})
    state("two", {}, "x", "at_most(x, allowed=1)")


def test_certified_claims_of_three_papers_declare_units_and_agree() -> None:
    declared = [one for one in theory.catalogue() if one.units and not one.transcribed]
    assert len(declared) >= 10
    assert {one.paper for one in declared} >= {"cfl-mgd", "gradient-loss", "sofl"}
    for one in declared:
        assert one.parts is not None
        for part in one.parts.parts:
            if part.units is not None:
                found = check_units(part, Context(0, None, 1e-9, one.id))
                assert re.fullmatch("both sides have the same units at [1-9][0-9]* instances", str(found))


def test_an_instance_that_breaks_a_statement_with_wrong_units_is_its_counterexample(registry: None) -> None:
    def one(distance: Q, noise: Q) -> Sides:
        return at_most(distance**2 + noise, start=distance**2)

    claim(one, units={"distance": "length", "noise": "gradient"})
    for seed in range(4):
        verdict = theory.check("toy/one", seed=seed)
        assert verdict.verdict == "violated"
        assert verdict.counterexample
        assert verdict.measured > verdict.bound  # type: ignore[operator]
        assert theory.replay("toy/one", verdict.counterexample).verdict == "violated"
