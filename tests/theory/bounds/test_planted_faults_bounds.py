"""Wrong versions of the claims are called violated by the checks that pass the true ones."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from catalogue import decided

from clusterproof.theory.bounds.bound_parts import Bound, BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.checker.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.checker.evaluation import Evaluation
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.trial import attempt
from clusterproof.theory.checker.verdict import Kind
from clusterproof.theory.papers.cfl_mgd.lemma_1 import lemma_1_cantelli
from clusterproof.theory.papers.cfl_mgd.lemma_2 import lemma_h as lemma_h_module
from clusterproof.theory.papers.cfl_mgd.repaired import corollary_b1, theorem_b

Plant = Callable[..., Any]


def part_of(bound: Bound, name: str) -> Statement:
    """Return the part of Theorem B's or of Corollary B1's claim that shows the fault."""
    claim = corollary_b1.corollary_b1 if isinstance(bound, CorollaryB1) else theorem_b.theorem_b
    return next(part for part in claim.parts if part.name == name)


def tried(part: Statement) -> Evaluation | None:
    """Return the refutation of a part, if any."""
    context = Context(seed=0, trials=60, significance=CLAIM_SIGNIFICANCE, claim="test")
    return attempt(part, context).found


class StepWithoutProportion(TheoremB):
    """Theorem B's rate with alpha = eta instead of eta l_p."""

    def effective_step(self, setting: Setting, proportion: float) -> float:
        return setting.step_size


class EnvelopeWithoutUnderdamping(TheoremB):
    """G_t as if the flattest direction were always overdamped: the paper's contraction."""

    def mean_envelope(self, setting: Setting, proportion: float) -> np.ndarray:
        slowest = self.effective_step(setting, proportion) * setting.strong_convexity
        return np.asarray((1 - slowest) ** np.arange(setting.rounds + 1))


class NoiseOverClientsSquared(TheoremB):
    """The averaged gradient's variance without the number of the cluster's clients."""

    def gradient_noise(self, setting: Setting, proportion: float, false_members: int) -> tuple[float, float]:
        additive, multiplicative = super().gradient_noise(setting, proportion, false_members)
        return additive / (proportion * setting.clients), multiplicative / (proportion * setting.clients)


class NoMultiplicativeNoise(TheoremB):
    """v^2 taken at the optimum only."""

    def gradient_noise(self, setting: Setting, proportion: float, false_members: int) -> tuple[float, float]:
        return super().gradient_noise(setting, proportion, false_members)[0], 0.0


class NoMemoryOfNoise(TheoremB):
    """Each round's noise counted as if momentum did not carry it on."""

    def noise_envelope(self, setting: Setting, proportion: float) -> np.ndarray:
        step = self.effective_step(setting, proportion)
        return np.asarray((1 - step * setting.strong_convexity) ** np.arange(setting.rounds + 1))


class LargeBasin(TheoremB):
    """A basin of half the separation whatever the conditioning."""

    def largest_radius(self, smoothness: float, strong_convexity: float, separation: float) -> float:
        return separation / 2


class SmallFloor(CorollaryB1):
    """B1's floor too small by sqrt(1 - beta): the noise of plain descent."""

    def floor(self, setting: Setting, proportion: float) -> float:
        return super().floor(setting, proportion) * math.sqrt(1 - self.rate(setting) ** 2)


class FastRate(CorollaryB1):
    """B1 with the rate 1 - sqrt(mu / L), as if the server divided by the cluster's clients."""

    def parts(self, setting: Setting) -> BoundParts:
        parts = super().parts(setting)
        rate = 1 - math.sqrt(setting.strong_convexity / setting.smoothness)
        times = np.arange(setting.rounds + 1)
        envelope = rate**times * (2 / math.sqrt(3) + (1 - rate) * times)
        return dataclasses.replace(parts, mean=envelope[:, None] * np.asarray(setting.start))


class NoTransient(CorollaryB1):
    """B1 without the factor that grows with t: the eigenvalue alone."""

    def parts(self, setting: Setting) -> BoundParts:
        parts = super().parts(setting)
        envelope = self.rate(setting) ** np.arange(setting.rounds + 1)
        return dataclasses.replace(parts, mean=envelope[:, None] * np.asarray(setting.start))


class TooGoodAtTheEnd(TheoremB):
    """The last-round bound without its noise term: only real runs can tell."""

    def parts(self, setting: Setting) -> BoundParts:
        parts = super().parts(setting)
        return dataclasses.replace(parts, last_round=parts.mean[-1])


@pytest.mark.parametrize(
    ("bound", "part", "conclusion"),
    [
        (StepWithoutProportion(), "envelope", ""),
        (EnvelopeWithoutUnderdamping(), "envelope", ""),
        (FastRate(), "envelope", ""),
        (NoTransient(), "envelope", ""),
        (NoiseOverClientsSquared(), "variance", ""),
        (NoMultiplicativeNoise(), "variance", ""),
        (NoMemoryOfNoise(), "variance", ""),
        (SmallFloor(), "variance", ""),
        (LargeBasin(), "misclassification", "expected loss"),
        (TooGoodAtTheEnd(), "runs", "last round"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Bound) else "",
)
def test_wrong_bounds_are_violated_where_they_are_wrong(
    bound: Bound, part: str, conclusion: str, plant: Plant
) -> None:
    for module in (theorem_b, corollary_b1):
        plant(module, "BOUND", bound)
    refutation = tried(part_of(bound, part))
    assert refutation is not None
    assert refutation.broken == conclusion


def test_a_wrong_cantelli_bound_is_violated(plant: Callable[..., Any]) -> None:
    true = lemma_1_cantelli.cantelli_bound
    plant(lemma_1_cantelli, "cantelli_bound", lambda pair: true(pair) / 8)
    finding = decided("cfl-mgd/lemma-1-cantelli")
    assert finding.verdict is Kind.VIOLATED
    assert finding.measured is not None
    assert finding.bound is not None
    assert finding.measured > finding.bound


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
    finding = decided("cfl-mgd/lemma-h", trials=400)
    assert finding.verdict is Kind.VIOLATED
    assert finding.counterexample is not None
