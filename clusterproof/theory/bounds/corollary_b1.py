"""Corollary B1: Theorem B with tuned momentum, in fully closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.bounds.bound_parts import Bound, BoundParts
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_b import require_quadratic


@dataclass(frozen=True)
class CorollaryB1(Bound):
    """The bound of Corollary B1; the methods are the quantities of its statement."""

    def rate(self, setting: Setting) -> float:
        """q = 1 - sqrt(l mu / L) with l the smallest proportion."""
        smallest = min(setting.proportions)
        return 1 - math.sqrt(smallest * setting.strong_convexity / setting.smoothness)

    def start_constant(self, setting: Setting) -> float:
        """2 / sqrt(3): how far momentum can carry the error beyond its start: ``cfl-mgd/lemma-h``."""
        return 2 / math.sqrt(3)

    def floor(self, setting: Setting, proportion: float) -> float:
        """S_p = (v / L) sqrt(l_p / (m n')) sqrt((1 + beta) / (1 - beta)^3), the noise's rms."""
        additive, multiplicative = setting.own_noise
        variance = additive + multiplicative * setting.radius**2
        beta = self.rate(setting) ** 2
        averaged = variance * proportion / (setting.clients * setting.samples)
        return math.sqrt(averaged * (1 + beta) / (1 - beta) ** 3) / setting.smoothness

    def parts(self, setting: Setting) -> BoundParts:
        """Compute the bound for every cluster.

        Raises
        ------
        InvalidArgument
            If the losses are not quadratic, the step size is not 1/L or the momentum is not the tuned one.
        """
        require_quadratic(setting)
        rate = self.rate(setting)
        if not math.isclose(setting.step_size * setting.smoothness, 1.0, rel_tol=1e-9):
            raise InvalidArgument("step_size", setting.step_size, "must be 1/L in Corollary B1", "set it so")
        if not math.isclose(setting.momentum, rate**2, rel_tol=1e-9, abs_tol=1e-12):
            raise InvalidArgument(
                "momentum", setting.momentum, f"must be q^2 = {rate**2:.6g} in Corollary B1", "set it so"
            )
        _, leave, last = setting.failure
        times = np.arange(setting.rounds + 1)
        start = np.asarray(setting.start)
        constant = self.start_constant(setting)
        envelope = rate**times * (constant + (1 - rate) * times)
        mean = envelope[:, None] * start
        floor = np.array([self.floor(setting, proportion) for proportion in setting.proportions])
        spread = math.sqrt(setting.clusters * setting.rounds / leave) * floor
        wrong = setting.rounds * setting.clients * (setting.clusters - 1) * setting.misclassification
        inside = bool((constant * start + spread <= setting.radius).all())
        return BoundParts(
            mean=mean,
            variance=np.broadcast_to(floor**2, mean.shape),
            all_rounds=mean + spread,
            last_round=mean[-1] + math.sqrt(setting.clusters / last) * floor,
            all_rounds_failure=leave + wrong,
            last_round_failure=leave + last + wrong,
            applicable=inside and leave + last + wrong < 1,
        )
