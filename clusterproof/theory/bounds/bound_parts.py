"""The common form of the repaired high-probability bounds, which one check covers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.setting import Setting, setting_of_trace
from clusterproof.theory.checker.trace_bound import TraceBound


@dataclass(frozen=True)
class BoundParts:
    """The intermediate bounds of a proof.

    Attributes
    ----------
    mean
        Bound on the noise-free error, (T + 1, P).
    variance
        Bound on the second moment of the noise's part of the error, (T + 1, P).
    all_rounds
        Bound on the error that holds at all rounds and clusters at once, (T + 1, P).
    last_round
        Bound on the error after T rounds, for all clusters at once, (P,).
    all_rounds_failure, last_round_failure
        Probabilities with which a run may break them.
    applicable
        Whether the hypotheses hold: the bound never leaves the basin and the failure
        probability is below 1.
    """

    mean: np.ndarray
    variance: np.ndarray
    all_rounds: np.ndarray
    last_round: np.ndarray
    all_rounds_failure: float
    last_round_failure: float
    applicable: bool


class Bound(ABC):
    """A bound on the error of option I, computed from a setting with every constant."""

    @abstractmethod
    def parts(self, setting: Setting) -> BoundParts:
        """Compute the bound and its parts."""

    def best_parts(self, setting: Setting) -> BoundParts:
        """Compute the bound at the basin radius that is best after T rounds.

        The statement holds for every admissible radius. Among those of a grid of 60 for which
        the hypotheses hold, and whose failure probability is within 0.001 of the least, the one
        with the smallest bound is taken; if there is none, the setting's radius.
        """
        return _at_best_radius(self, setting)

    def bound_trace(
        self, task: Mixture, trace: Trace, failure_probability: float | None = None
    ) -> TraceBound:
        """Bound all rounds of a run.

        Parameters
        ----------
        task, trace
            The run.
        failure_probability
            Probability with which a replicate may break the bound; 0.03 if None.

        Raises
        ------
        InvalidArgument
            If the theorem does not apply to the run, or its hypotheses fail.
        """
        parts = self.best_parts(setting_of_trace(task, trace, failure_probability))
        if not parts.applicable:
            raise InvalidArgument(
                "trace",
                f"bound up to {parts.all_rounds.max():.3g}",
                "must have a bound that stays inside the basin",
                "raise the clients or the samples, start nearer, or lower the momentum",
            )
        return TraceBound(parts.all_rounds, parts.all_rounds_failure)

    def largest_radius(self, smoothness: float, strong_convexity: float, separation: float) -> float:
        """Supremum of the admissible basin radii: Delta / (1 + sqrt(kappa))."""
        return float(separation / (1 + (smoothness / strong_convexity) ** 0.5))


@lru_cache(maxsize=64)
def _at_best_radius(bound: Bound, setting: Setting) -> BoundParts:
    """Search the radii once for each bound and setting; the cache is valid as both are immutable."""
    limit = bound.largest_radius(setting.smoothness, setting.strong_convexity, setting.separation)
    radii = np.linspace(max(setting.start), limit, 62)[1:-1]
    admissible = [
        parts for radius in radii if (parts := bound.parts(setting.with_radius(float(radius)))).applicable
    ]
    if not admissible:
        return bound.parts(setting)
    least = min(parts.last_round_failure for parts in admissible)
    likely = [parts for parts in admissible if parts.last_round_failure <= least + 1e-3]
    return min(likely, key=lambda parts: float(parts.last_round.max()))
