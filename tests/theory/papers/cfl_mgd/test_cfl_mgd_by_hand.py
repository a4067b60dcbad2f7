"""Counterexamples of CFL-MGD's lemmas and theorem, and its proofs, by hand."""

import math
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


def test_lemma_2_counterexample_by_hand() -> None:
    """The printed instance, with nothing but the paper's own update on floats."""
    found = checked("cfl-mgd/lemma-2").counterexample
    assert found is not None
    clients, own = found["clients"], found["own"]
    numerator, _, denominator = str(found["momentum"]).partition("/")
    momentum = float(numerator) / float(denominator or 1)
    start = 0.5 if found["start"] == "1/2" else pytest.fail("the simplest start is 1/2")
    smallest = min(own, clients - own) / clients
    chi, previous = 1.0 - start, 1.0 - start
    errors = [start]
    for _ in range(found["round"] + 1):
        # every one of the own clients has gradient chi - 1; eta = 1/L = 1
        chi, previous = chi - own / clients * (chi - 1.0) + momentum * (chi - previous), chi
        errors.append(abs(chi - 1.0))
    assert errors[0] <= 0.25 * 2.0  # Assumption 4 with mu = L and Delta = 2
    assert errors[-1] > (1 - smallest / 8) * errors[-2] + smallest / 4


def test_theorem_1_is_vacuous_by_proof(plant: Callable[..., Any]) -> None:
    """For every l, kappa and Delta, and because of c_4 = 1/4 alone."""
    verdict = theory.check("cfl-mgd/theorem-1")
    assert verdict.verdict is Kind.VACUOUS
    assert [line.verdict for line in verdict.lines[1:]] == [Kind.CERTIFIED] * 3
    plant(lemma_2, "MISMATCH", Fraction(1, 64))
    assert theory.check("cfl-mgd/theorem-1").verdict is not Kind.VACUOUS


def test_one_instance_refutes_every_small_constant() -> None:
    """(clients, own, beta) for which |e_T| > 16 c_4 with each T, by heavy ball in floating point."""
    found = checked("cfl-mgd/theorem-1-small-constant").counterexample
    assert found is not None
    share, momentum = found["own"] / found["clients"], float(Fraction(found["momentum"]))
    for constant in (1 / 33, 1 / 64, 1 / 256, 1 / 1024):
        rounds = math.ceil(8 / min(share, 1 - share) * math.log(1 / (16 * constant)))
        error = before = 0.5
        for _ in range(rounds):
            error, before = error - share * error + momentum * (error - before), error
        assert abs(error) > 16 * constant


def test_asymptotic_rate_is_the_square_root_of_the_momentum() -> None:
    verdict = checked("cfl-mgd/asymptotic-rate")
    assert verdict.measured == pytest.approx(0.9**0.5, abs=1e-9)
    assert verdict.bound == 0.9375
    error = before = 0.5
    for t in range(1, 81):  # (A39) holds: its floor is 8 kappa c_4 = 2
        error, before = error - error / 2 + 0.9 * (error - before), error
        assert abs(error) <= 0.9375**t * 0.5 + 8 / 0.5 * 0.5 / 4
