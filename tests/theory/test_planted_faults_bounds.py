"""Wrong versions of the claims are called violated by the checks that pass the true ones."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest

from theory.basin_pairs import Pair, check_pairs
from theory.bound import Bound, Parts
from theory.bound_check import check_bound
from theory.cfl_mgd import lemma_h as lemma_h_module
from theory.cfl_mgd.corollary_b1 import CorollaryB1
from theory.cfl_mgd.lemma_1 import printed_bound
from theory.cfl_mgd.lemma_1_cantelli import cantelli_bound
from theory.cfl_mgd.theorem_b import TheoremB
from theory.checking import REPORT_SIGNIFICANCE
from theory.claim import Context
from theory.experiments import experiment
from theory.settings import Setting
from theory.verdict import Finding, Kind


def context(trials: int | None = None) -> Context:
    return Context(seed=0, trials=trials, significance=REPORT_SIGNIFICANCE / 40, claim="test")


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

    def gradient_noise(self, setting: Setting, proportion: float, intruders: int) -> tuple[float, float]:
        additive, multiplicative = super().gradient_noise(setting, proportion, intruders)
        return additive / (proportion * setting.clients), multiplicative / (proportion * setting.clients)


class NoMultiplicativeNoise(TheoremB):
    """v^2 taken at the optimum only."""

    def gradient_noise(self, setting: Setting, proportion: float, intruders: int) -> tuple[float, float]:
        return super().gradient_noise(setting, proportion, intruders)[0], 0.0


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

    def parts(self, setting: Setting) -> Parts:
        parts = super().parts(setting)
        rate = 1 - math.sqrt(setting.strong_convexity / setting.smoothness)
        times = np.arange(setting.rounds + 1)
        envelope = rate**times * (2 / math.sqrt(3) + (1 - rate) * times)
        return dataclasses.replace(parts, mean=envelope[:, None] * np.asarray(setting.start))


class NoTransient(CorollaryB1):
    """B1 without the factor that grows with t: the eigenvalue alone."""

    def parts(self, setting: Setting) -> Parts:
        parts = super().parts(setting)
        envelope = self.rate(setting) ** np.arange(setting.rounds + 1)
        return dataclasses.replace(parts, mean=envelope[:, None] * np.asarray(setting.start))


class TooGoodAtTheEnd(TheoremB):
    """The last-round bound without its noise term: only real runs can tell."""

    def parts(self, setting: Setting) -> Parts:
        parts = super().parts(setting)
        return dataclasses.replace(parts, last_round=parts.mean[-1])


@pytest.mark.parametrize(
    ("bound", "quantity"),
    [
        (StepWithoutProportion(), "noise-free error"),
        (EnvelopeWithoutUnderdamping(), "noise-free error"),
        (FastRate(), "noise-free error"),
        (NoTransient(), "noise-free error"),
        (NoiseOverClientsSquared(), "variance"),
        (NoMultiplicativeNoise(), "variance"),
        (NoMemoryOfNoise(), "variance"),
        (SmallFloor(), "variance"),
        (LargeBasin(), "expected loss"),
        (TooGoodAtTheEnd(), "share of runs"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Bound) else "",
)
def test_wrong_bounds_are_violated_where_they_are_wrong(bound: Bound, quantity: str) -> None:
    finding = check_bound(bound, [experiment("S1", None)], context(60), claim="test")
    assert finding.verdict is Kind.VIOLATED
    assert finding.reason.startswith(quantity)
    assert finding.counterexample is not None


@pytest.mark.parametrize("bound", [TheoremB(), CorollaryB1()])
def test_the_true_bounds_pass_the_same_check(bound: Bound) -> None:
    assert check_bound(bound, [experiment("S1", None)], context(60), claim="test").verdict is Kind.CONSISTENT


@pytest.mark.parametrize(
    "bound",
    [
        lambda pair: printed_bound(pair, constant=1.0),
        lambda pair: cantelli_bound(pair) / 8,
        lambda pair: printed_bound(pair) / pair.task.samples,
    ],
    ids=["lemma 1 with constant 1", "Cantelli over 8", "Chebyshev with the samples squared"],
)
def test_wrong_misclassification_bounds_are_violated(bound: Callable[[Pair], float]) -> None:
    finding = check_pairs(bound, context(3000), name="the planted bound")
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
    planted: Callable[[float, float, int], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lemma_h_module.lemma_h(context(400)).verdict is Kind.CONSISTENT
    monkeypatch.setattr(lemma_h_module, "lemma_h_bound", planted)
    finding: Finding = lemma_h_module.lemma_h(context(400))
    assert finding.verdict is Kind.VIOLATED
    assert finding.counterexample is not None
