"""Counterexamples of CFL-MGD's lemmas and theorem, and its proofs, by hand."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from catalogue import checked

from clusterproof import theory
from clusterproof.theory import Kind
from clusterproof.theory.papers.cfl_mgd.lemma_2 import lemma_2


def test_same_seed_same_numbers() -> None:
    first, second = (theory.check("cfl-mgd/equation-32", seed=3, evaluations=20) for _ in range(2))
    assert replace(first, seconds=0.0) == replace(second, seconds=0.0)


def test_theorem_1_is_vacuous_by_proof(plant: Callable[..., Any]) -> None:
    """For every l, kappa and Delta, and because of c_4 = 1/4 alone."""
    verdict = theory.check("cfl-mgd/theorem-1")
    assert verdict.verdict is Kind.VACUOUS
    assert [line.verdict for line in verdict.lines[1:]] == [Kind.CERTIFIED] * 3
    plant(lemma_2, "MISMATCH", Fraction(1, 64))
    assert theory.check("cfl-mgd/theorem-1").verdict is not Kind.VACUOUS


def test_asymptotic_rate_is_the_square_root_of_the_momentum() -> None:
    verdict = checked("cfl-mgd/asymptotic-rate")
    assert verdict.measured == pytest.approx(0.9**0.5, abs=1e-9)
    assert verdict.bound == 0.9375
    error = before = 0.5
    for t in range(1, 81):  # (A39) holds: its floor is 8 kappa c_4 = 2
        error, before = error - error / 2 + 0.9 * (error - before), error
        assert abs(error) <= 0.9375**t * 0.5 + 8 / 0.5 * 0.5 / 4
