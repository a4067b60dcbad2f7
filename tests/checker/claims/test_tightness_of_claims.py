"""Tightness: a ratio flips the verdict just below itself, and is that of instances at which something is claimed."""

import dataclasses
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from toy_claims import Digit, One, decided, stated

from clusterproof import checker
from clusterproof.checker import Claim, Kind
from clusterproof.checker.claims import (
    Expectation,
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    integers,
    probability,
    rationals,
)
from clusterproof.checker.claims.expectation import replicates_to_try
from clusterproof.checker.claims.judge import DECREASE, WHOLE, Entries, judge
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.checker.report.decide import decide
from clusterproof.checker.report.tables import NEEDED, evidence
from clusterproof.checker.search.strategy import search
from clusterproof.theory.papers.ifca.basin import ROUND, basin

Small = Annotated[int, integers(1, 12)]
Step = Annotated[Fraction, rationals(0, 1, 8)]


def ratios(verdict: checker.Verdict) -> dict[str, float]:
    """Return allowed over measured by term."""
    return {term: numbers["ratio"] for term, numbers in (verdict.tightness or {}).items()}


@pytest.mark.parametrize(("number", "least"), [(Fraction, Fraction(1, 10**9)), (float, 1e-3)])
def test_a_terms_ratio_is_what_it_could_shrink_by_beside_the_others(
    number: Any, least: Any, registry: Any
) -> None:
    def cubes(n: Small, *, whole: Any = 1, cube: Any = 1) -> Sides:
        total = number(sum(k * k for k in range(n + 1)))
        return at_most(total, cube=whole * cube * n**3, square=whole * n**2, idle=whole * n)

    sums = {n: Fraction(n * (n + 1) * (2 * n + 1), 6) for n in range(1, 13)}
    whole = max(total / (n**3 + n**2 + n) for n, total in sums.items())
    needed = max((total - n**2 - n) / n**3 for n, total in sums.items())
    expected = {"all": float(1 / whole), "cube": float(1 / needed), "square": None, "idle": None}
    found = decided(cubes)
    assert ratios(found) == pytest.approx(expected)
    assert found.worst_exact == (str(whole) if number is Fraction else None)
    for shrunk, refuted in ((1, False), (1 - least, True)):
        for term, factor in (("whole", whole), ("cube", needed)):
            cubes.__kwdefaults__.update({"whole": 1, "cube": 1} | {term: number(factor) * shrunk})
            assert (decided(cubes).verdict is Kind.VIOLATED) == refuted


def test_a_lower_bound_has_the_ratio_by_which_it_could_grow(registry: Any) -> None:
    def square(n: Small) -> Sides:
        return at_least(n * n, line=Fraction(n, 4))

    found = decided(square)
    assert (ratios(found), found.verdict) == ({"all": 4.0}, Kind.CERTIFIED)


def test_a_frequency_is_as_tight_as_its_interval_begins(registry: Any) -> None:
    def event(n: One, stream: Stream, replicates: Replicates, *, share: float = 0.2) -> Any:
        return probability(stream.uniform(size=replicates) < share, at_most=0.3)

    found = decided(event)
    assert found.confidence is not None
    assert ratios(found) == {"all": pytest.approx(0.3 / found.confidence.lower)}
    event.__kwdefaults__["share"] = 0.6
    assert decided(event).verdict is Kind.VIOLATED


@pytest.mark.parametrize(("factor", "attained"), [(1, True), (Fraction(1, 2), False)])
def test_a_step_of_zero_is_left_out_where_the_sides_are_the_same_number(
    factor: Fraction, attained: bool, registry: Any
) -> None:
    """At a step of 0 both sides are 1; elsewhere 1 - 3 step / 4 is .8 of 1 - factor step / 2 at most."""

    def contraction(step: Step, condition: Digit) -> Sides:
        return at_most(1 - 3 * step / 4, rate=1 - 3 * factor * step / 4)

    found = decided(contraction, evaluations=300, tight=True)
    numbers = (found.tightness or {})["all"]
    said = evidence(found)
    if attained:
        assert (numbers["ratio"], "only_at" in numbers) == (1, False)
        assert "attained" not in said
    else:
        assert numbers["only_at"] == {"step": 0}
        assert numbers["instance"]["step"] != 0
        step = Fraction(numbers["instance"]["step"])
        assert numbers["ratio"] == pytest.approx(float((1 - 3 * step / 8) / (1 - 3 * step / 4)))
        assert numbers["ratio"] > 1
        assert "only instances with step = 0 attain it" in said


def test_terms_are_named_with_their_ratios_and_a_loose_bound_holds_all_the_same(registry: Any) -> None:
    def loose(n: Small) -> Sides:
        return at_most(n, square=200 * n**2, idle=Fraction(n, 100))

    found = decided(loose)
    assert found.verdict is Kind.CERTIFIED
    said = evidence(found)
    assert "loose: at least 200 times what was measured" in said
    assert "square loose" in said
    assert "idle loose" in said


def test_each_space_keeps_its_own_tightness_and_the_nearest_line_decides(registry: Any) -> None:
    def linear(n: Small) -> Sides:
        return at_most(float(n), linear=8.0 * n)

    made = stated(linear)

    @made.line("near", evaluations=60)
    def near(m: Small) -> Sides:
        return at_most(4.0 * m, linear=8.0 * m)

    @made.step("step", evaluations=60)
    def step(m: Small) -> Sides:
        return at_most(7.0 * m, linear=10.0 * m)

    found = decide(made)
    assert [line.worst for line in found.lines] == pytest.approx([1 / 8, 1 / 2, 7 / 10])
    assert (found.name, ratios(found)) == ("near", {"all": pytest.approx(2)})


# ---- constants of the catalogue that are known


def test_half_the_rate_of_the_basin_is_loose() -> None:
    """With one curvature every round contracts by 1 - eta l mu exactly."""

    def share(rate: float) -> float:
        errors = basin.function(**ROUND, stream=np.random.default_rng(0), rate=rate)["errors"]
        return float((errors.measured / errors.allowed).max())

    assert share(1.0) == pytest.approx(1)
    assert share(1.01) > 1.001
    assert share(0.5) < 0.9


# ---- ratios of the catalogue: nothing is listed here, the registry says which claims there are


BELOW, ABOVE = 1 - 1e-3, 1 + 1e-6
TRUE = [each for each in checker.catalogue() if not each.repaired_by and each.quick][::36]


def scaled(line: Any, term: str, factor: Any) -> Any:
    """Multiply everything that is allowed, or one term; divide what is negative."""
    if isinstance(line, Frequency | Expectation):
        return dataclasses.replace(line, allowed=line.allowed * factor)
    sign = -1 if line.lower else 1
    exact = all(isinstance(value, int | Fraction) for value in line.terms.values())
    terms = {name: value if exact else np.asarray(value, dtype=float) for name, value in line.terms.items()}
    factor = Fraction(factor) if exact else float(factor)
    total = sum(terms.values())
    for name in terms if term == WHOLE else [term]:
        large = sign * (total if term == WHOLE else terms[name]) >= 0
        larger, smaller = terms[name] * factor, terms[name] / factor
        terms[name] = (larger if large else smaller) if exact else np.where(large, larger, smaller)
    return dataclasses.replace(line, terms=terms)


def resolved(line: Any) -> bool:
    """Whether a change of what is allowed by 1 - BELOW exceeds the tolerance of the tightest entry."""
    if not isinstance(line, Sides):
        return True
    entries = Entries(line)
    place = entries.worst()
    tolerance = np.broadcast_to(entries.tolerance, entries.measured.shape)[place]
    return float(tolerance) < (1 - BELOW) / 2 * abs(float(entries.measured[place]))


def changed(factor: Any, change: float) -> Any:
    """Change a factor, exactly if it is exact: far beyond the ranges floats do not tell the two apart."""
    return factor * Fraction(change) if isinstance(factor, int | Fraction) else float(factor) * change


@pytest.mark.slow(reason="checks claims with each factor changed")
@pytest.mark.parametrize("claim", TRUE, ids=lambda claim: claim.id)
def test_each_ratio_of_the_catalogue_flips_its_comparison(claim: Claim) -> None:
    """Of few instances; every ratio that a line says is held against the instance that it comes from."""
    for statement in claim.statements:
        repetitions = min(statement.replicates, 60 if statement.replicates >= 100 else 5)
        evaluations = repetitions if statement.repeated else 1
        tried = search(statement, 0, CLAIM_SIGNIFICANCE, evaluations)
        for name, findings in tried.lines.items():
            if findings.found is not None or findings.rounding is not None:
                return
            for term, (factor, instance) in findings.factors.items():
                if (
                    term == DECREASE
                    or factor is None
                    or not NEEDED < factor < np.inf
                    or not findings.tightest
                ):
                    continue
                lines = tried.evaluator.lines(instance, findings.tightest.replicates)
                level = tried.evaluator.significance / tried.evaluator.settings
                if isinstance(
                    lines[name], Expectation
                ):  # the level is shared by the looks at growing samples
                    level /= 2 * len([*replicates_to_try(repetitions)])
                where = (statement.name, name, term, factor)
                for change, broken in ((BELOW, True), (ABOVE, False)):
                    other = lines | {name: scaled(lines[name], term, changed(factor, change))}
                    if not broken or resolved(lines[name]):
                        assert judge(other, level, instance)[name].broken is broken, where
