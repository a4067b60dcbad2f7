"""What the line of a verdict says beside the worst instance: the typical one, idle hypotheses, the allowed level."""

from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.theory.checker import (
    Family,
    Frequency,
    Replicates,
    Sides,
    Stream,
    at_most,
    integers,
    probability,
    suppose,
)
from clusterproof.theory.checker.report import evidence

PAPER = Family("toy")
Small = Annotated[int, integers(1, 12)]


def test_half_of_the_instances_are_within_the_median_ratio(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="upper")
    def one(n: Small) -> Sides:
        """Attained at n = 1 only."""
        return at_most(n, square=n**2)

    verdict = theory.check("toy/one")
    assert verdict.tightness
    ratio = 1 / np.median([1 / n for n in range(1, 13)])
    assert verdict.tightness["all"]["ratio"] == 1
    assert verdict.tightness["all"]["typical"] == pytest.approx(ratio)
    assert f"(half of the instances within \N{MULTIPLICATION SIGN}{ratio:.3g})" in evidence(verdict)


def test_a_bound_that_every_instance_attains_has_nothing_beside_it(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="upper")
    def one(n: Small) -> Sides:
        """An equality."""
        return at_most(n, same=n)

    assert "half" not in evidence(theory.check("toy/one"))


def test_an_instance_counts_by_the_median_over_its_entries(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="upper")
    def one(n: Small) -> Sides:
        """Attained in the first entry but at n = 1, where it would be an identity otherwise."""
        return at_most(n * np.ones(3), growing=n * np.array([1.0 if n > 1 else 2.0, 2.0, 4.0]))

    tightness = theory.check("toy/one").tightness
    assert tightness
    assert tightness["all"]["ratio"] == pytest.approx(1)
    assert tightness["all"]["typical"] == pytest.approx(2)


def test_a_hypothesis_that_excludes_nothing_is_reported(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="upper")
    def one(n: Small) -> Sides:
        """The range implies the first hypothesis, and not the second."""
        suppose("n is positive", n > 0)
        suppose("n is even", n % 2 == 0)
        return at_most(n, same=n)

    verdict = theory.check("toy/one")
    assert verdict.rejected == {"n is positive": 0, "n is even": 6}
    assert "1 hypothesis excludes no instance" in evidence(verdict)


def test_the_line_names_the_probability_that_is_allowed(registry: dict[str, Any]) -> None:
    @PAPER.claim("one", label="(1)", kind="probability", replicates=100)
    def one(stream: Stream, replicates: Replicates) -> Frequency:
        """A rare event."""
        return probability(stream.random(replicates) < 0.01, at_most=0.375)

    assert "no more than its probability 0.375 allows" in evidence(theory.check("toy/one"))


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

    verdict = theory.check("toy/one")
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
    def one(n: Small) -> Sides:
        """Attained where the factor is 1."""
        return at_most(n, factor=factor * n)

    verdict = theory.check("toy/one")
    assert ("not attained: 2 at best found" in evidence(verdict)) == says
    assert verdict.verdict == "certified"
