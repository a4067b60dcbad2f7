"""Wrong versions of the claims are called violated by the checks that pass the true ones."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planted_sides import is_refuted, refuted_lines

from clusterproof.theory.bounds import statements
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_a import BoundParts, TheoremA
from clusterproof.theory.papers.cfl_mgd import lemma_1 as lemma_1_cantelli
from clusterproof.theory.papers.cfl_mgd import lemma_h as lemma_h_module
from clusterproof.theory.papers.cfl_mgd.repaired import theorem_a
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_a import pairwise_error

Plant = Callable[..., Any]


def test_a_basin_of_half_the_separation_is_violated(plant: Plant) -> None:
    plant(statements, "largest_radius", lambda task: task.separation / 2)
    assert "expected loss" in refuted_lines(pairwise_error.statements[0], 60)


class TooGoodAtTheEnd(TheoremA):
    """The last-round bound without its noise term: only real runs can tell."""

    def parts(self, setting: Setting) -> BoundParts:
        parts = super().parts(setting)
        return dataclasses.replace(parts, last_round=parts.mean[-1])


@pytest.mark.slow(reason="several seconds")
def test_a_last_bound_without_noise_is_violated(plant: Plant) -> None:
    plant(theorem_a, "BOUND", TooGoodAtTheEnd())
    assert refuted_lines(theorem_a.theorem_a.statements[0], 60) == ["last round"]


def test_a_wrong_cantelli_bound_is_violated(plant: Callable[..., Any]) -> None:
    true = lemma_1_cantelli.cantelli_bound
    plant(lemma_1_cantelli, "cantelli_bound", lambda pair: true(pair) / 8)
    assert is_refuted("cfl-mgd/lemma-1-cantelli")


def lemma_h_with_ball_invariance(curvature: float, momentum: float, rounds: int) -> np.ndarray:
    """Lemma H with the constant 1 for 1 / sqrt(1 - beta / 4): as if the ball were invariant."""
    bound = TRUE_LEMMA_H(curvature, momentum, rounds)
    return bound * math.sqrt(1 - momentum / 4) if curvature > 1 - momentum else bound


def lemma_h_without_polynomial(curvature: float, momentum: float, rounds: int) -> np.ndarray:
    """Lemma H with q^t alone at and above critical damping."""
    times = np.arange(rounds + 1)
    overdamped = curvature < (1 - math.sqrt(momentum)) ** 2
    return TRUE_LEMMA_H(curvature, momentum, rounds) if overdamped else math.sqrt(momentum) ** times


TRUE_LEMMA_H = lemma_h_module.lemma_h_bound


@pytest.mark.parametrize("planted", [lemma_h_with_ball_invariance, lemma_h_without_polynomial])
def test_wrong_lemma_h_is_violated(
    planted: Callable[[float, float, int], np.ndarray], plant: Callable[..., Any]
) -> None:
    plant(lemma_h_module, "lemma_h_bound", planted)
    assert is_refuted("cfl-mgd/lemma-h", evaluations=400)
