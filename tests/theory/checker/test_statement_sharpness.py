"""Sharpness: measured / f flips a verdict, a needed term cannot be dropped."""

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
from planted_sides import verdict_with

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.checker import (
    Family,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    integers,
    probability,
)
from clusterproof.theory.checker.theorem import Theorem
from clusterproof.theory.checker.verdict import idle_parts

PAPER = Family("toy")
Small = Annotated[int, integers(1, 12)]


def measured_over(factor: float, conclusion: str) -> Callable[[str, Sides], Sides]:
    def change(name: str, sides: Sides) -> Sides:
        if name != conclusion:
            return sides
        terms = {key: factor * np.asarray(term, dtype=float) for key, term in sides.terms.items()}
        return dataclasses.replace(sides, measured=np.asarray(sides.measured, dtype=float), terms=terms)

    return change


def without(term: str, conclusion: str) -> Callable[[str, Sides], Sides]:
    def change(name: str, sides: Sides) -> Sides:
        if name != conclusion:
            return sides
        return dataclasses.replace(sides, terms=dict(sides.terms) | {term: 0 * np.asarray(sides.terms[term])})

    return change


def assert_sharp(theorem: Theorem[..., Any], part: str = "", conclusion: str = "", prefix: str = "") -> None:
    """Each factor flips the verdict just below itself and not above; terms with one cannot be dropped."""
    sharpness = theory.check(theorem.id).sharpness
    assert sharpness
    whole = sharpness[f"{prefix}all"]
    assert whole
    assert verdict_with(theorem, measured_over(whole * (1 - 1e-4), conclusion), part=part) is Kind.VIOLATED
    assert (
        verdict_with(theorem, measured_over(whole * (1 + 1e-6), conclusion), part=part) is not Kind.VIOLATED
    )
    for key, factor in sharpness.items():
        term = key.removeprefix(prefix)
        if not key.startswith(prefix) or term == "all" or ":" in term or factor is None:
            continue
        dropped = verdict_with(theorem, without(term, conclusion), part=part)
        assert (dropped is Kind.VIOLATED) == (factor > 0), (key, factor)


def test_terms_of_an_exact_bound(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="upper")
    def one(n: Small) -> Sides:
        """Sum of squares."""
        total = sum(k * k for k in range(n + 1))
        return at_most(total, cube=n**3, square=n**2, idle=n)

    sums = {n: n * (n + 1) * (2 * n + 1) / 6 for n in range(1, 13)}
    sharpness = theory.check("toy/one").sharpness or {}
    assert sharpness["all"] == pytest.approx(max(total / (n**3 + n**2 + n) for n, total in sums.items()))
    assert sharpness["idle"] == 0
    assert sharpness["square"] == 0
    needed = max((total - n**2 - n) / n**3 for n, total in sums.items())
    assert sharpness["cube"] == pytest.approx(needed)
    assert_sharp(one)


def test_terms_of_a_probability(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="probability", replicates=3000)
    def one(level: Annotated[float, choice(0.05, 0.1)], stream: Stream, replicates: Replicates) -> Sides:
        """Exponential."""
        draws = 1 + stream.exponential(size=(replicates, 2)).min(axis=1)
        return at_most(draws[:, None], shift=0.9, tail=-np.log(level) / 2 + 0.1, idle=1e-9, failure=level)

    assert_sharp(one)


def test_the_same_term_on_three_spaces_is_one_and_each_part_keeps_its_bound(
    registry: dict[str, Any],
) -> None:
    @PAPER.claim("one", label="(1)", kind="upper", part="loose")
    def one(n: Small) -> Sides:
        """n <= 8 n."""
        return at_most(float(n), linear=8.0 * n)

    @one.also("sharp")
    def sharp(m: Small) -> Sides:
        return at_most(4.0 * m, linear=8.0 * m)

    @one.also("last")
    def last(m: Small) -> Sides:
        return at_most(2.0 * m, linear=8.0 * m)

    @one.step("step")
    def step(m: Small) -> Sides:
        return at_most(7.0 * m, linear=10.0 * m)

    sharpness = theory.check("toy/one").sharpness or {}
    assert sharpness == {
        "all": pytest.approx(0.5),
        "loose: all": pytest.approx(0.125),
        "sharp: all": pytest.approx(0.5),
        "last: all": pytest.approx(0.25),
        "step: all": pytest.approx(0.7),
    }


def test_a_frequency_is_sharp_where_its_interval_begins(registry: dict[str, Any]) -> None:
    def often(share: float, allowed: float) -> Callable[..., Any]:
        def one(n: Annotated[int, choice(1)], stream: Stream, replicates: Replicates) -> Any:
            """Event."""
            return probability(stream.uniform(size=replicates) < share, at_most=allowed)

        return one

    for name, share, verdict in (("true", 0.2, Kind.CONSISTENT), ("false", 0.6, Kind.VIOLATED)):
        PAPER.claim(name, label="(1)", kind="probability")(often(share, 0.3))
        assert theory.check(f"toy/{name}").verdict is verdict
    found = theory.check("toy/true")
    assert found.confidence is not None
    assert found.sharpness == {"all": pytest.approx(found.confidence.lower / 0.3)}


def test_an_equal_probability_is_missed_on_both_sides(registry: dict[str, Any]) -> None:
    for number, (share, verdict) in enumerate(
        ((0.3, Kind.CONSISTENT), (0.15, Kind.VIOLATED), (0.45, Kind.VIOLATED))
    ):

        def one(
            n: Annotated[int, choice(1)], stream: Stream, replicates: Replicates, *, p: float = share
        ) -> Any:
            """Event."""
            return probability(stream.uniform(size=replicates) < p, equal=0.3)

        PAPER.claim(f"one-{number}", label="(1)", kind="probability", replicates=2000)(one)
        assert theory.check(f"toy/one-{number}").verdict is verdict


@pytest.mark.slow(reason="evaluates claims at their own budget")
def test_claims_of_the_catalogue_are_as_sharp_as_they_say() -> None:
    from clusterproof.theory.papers.fpfc.repaired import repaired_duals
    from clusterproof.theory.papers.sofl.tables_3_4 import table_3_in_table_4

    assert_sharp(table_3_in_table_4)
    sharpness = theory.check(repaired_duals.id).sharpness or {}
    whole = sharpness["all"]
    assert whole is not None
    assert verdict_with(repaired_duals, measured_over(whole * (1 - 1e-4), "")) is Kind.VIOLATED
    assert verdict_with(repaired_duals, without("descent", "")) is Kind.VIOLATED


def test_parts_that_no_instance_needed_are_named() -> None:
    factors = {"start": 1.0, "noise": 1e-4, "drift": 1e-2, "not evaluated": None}
    finding: Any = SimpleNamespace(sharpness=factors, needed={"L = 1": False})
    assert idle_parts(finding) == ["noise"]
