"""Both sides of the steps of proofs, at generic numbers and vectors, from what each step says."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_pairs, assert_sides, sides_at, sides_with

from clusterproof.theory.claims import Outside


def inner(first: tuple[F, ...], second: tuple[F, ...]) -> F:
    return sum((a * b for a, b in zip(first, second, strict=True)), F(0))


def check(step: str, instance: dict[str, Any], measured: Any, **terms: Any) -> None:
    """Compare a step, "claim: part" or "claim: part: name"; without terms it is an equation."""
    claim, part, *name = step.split(": ")
    found = sides_at(claim, instance, part, *name)
    if found.identity:
        assert_pairs(found, *measured)
    else:
        assert_sides(found, measured, **terms)


def test_a_fresh_batch_is_unbiased() -> None:
    """The mean over three batches, whatever the chances with which each is chosen."""
    names = ("first", "second", "third")
    weights, chances, gradients = (
        (F(3, 2), F(2, 3), F(1)),
        (F(1, 4), F(3, 4), F(1)),
        (F(1, 2), F(-3, 2), F(2)),
    )
    one = dict(zip(names, weights, strict=True))
    one |= {f"chosen_{name}": chance for name, chance in zip(names, chances, strict=True)}
    one |= {f"slope_{name}": slope for name, slope in zip(names, gradients, strict=True)}
    mean = inner(weights, gradients) / sum(weights)
    check("cfl-mgd/assumption-5-resampled: algebra", one, [mean])
    with pytest.raises(Outside, match="some batch"):
        sides_at(
            "cfl-mgd/assumption-5-resampled", one | {f"chosen_{name}": F(0) for name in names}, "algebra"
        )


def test_the_volume_of_lemma_n() -> None:
    stream = np.random.default_rng(3)
    profile, errors = stream.exponential(size=10), stream.standard_normal((10, 2)) * stream.uniform(0, 1)
    direction = stream.standard_normal(10)
    whole, b_, g = np.diag(profile) + errors @ errors.T, 1.5, 2.5
    slack, trace = np.trace(errors @ errors.T), np.trace(whole)
    exact = math.log(np.linalg.det(np.eye(10) + g * whole / b_))
    inside = direction @ np.linalg.inv(b_ * np.eye(10) + g * whole) @ direction / (direction @ direction)
    rows = {
        "known profile": (exact, {"profile": sum(math.log(1 + g * v / b_) for v in profile)}),
        "known trace": (exact, {"trace": 10 * math.log(1 + g * trace / (10 * b_))}),
        "inverse": (inside, {"norm": 1 / (b_ + g * (max(profile) + slack))}),
    }
    rows["known profile"][1]["error"] = g * slack / (b_ + g * min(profile))
    for name, (measured, terms) in rows.items():
        found = sides_with(
            "cfl-mgd/norm-inequality", 10, b_, g, np.random.default_rng(3), statement="volume", line=name
        )
        assert_sides(found, measured, **terms)


def test_a_determinant_of_theorem_a_prime() -> None:
    shares = np.random.default_rng(3).uniform(size=30) ** 4
    determinant = np.prod([1 - 0.6 * share for share in shares])
    found = sides_with(
        "cfl-mgd/theorem-a-prime", 30, F(3, 5), np.random.default_rng(3), statement="determinant"
    )
    assert_sides(found, -math.log(determinant) / 2, bound=-sum(shares) * math.log(0.4) / 2)
