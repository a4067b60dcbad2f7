"""Theorem B: a repaired Theorem 1 for quadratic expected losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.bounds.bound_parts import Bound, BoundParts
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.checker.statistics import binomial_quantile
from clusterproof.theory.exact.heavy_ball import impulse_envelope, impulse_sum, start_envelope


def require_quadratic(setting: Setting) -> None:
    """Refuse losses that are not quadratic.

    Raises
    ------
    InvalidArgument
        If they are not.
    """
    if not setting.quadratic:
        raise InvalidArgument(
            "task", "not quadratic", "must have quadratic expected losses", "use cfl-mgd/theorem-a"
        )


@dataclass(frozen=True)
class TheoremB(Bound):
    """The bound of Theorem B; the methods are the quantities of its statement."""

    def effective_step(self, setting: Setting, proportion: float) -> float:
        """Return alpha_p = eta l_p: the server divides by all clients."""
        return setting.step_size * proportion

    def mean_envelope(self, setting: Setting, proportion: float) -> np.ndarray:
        """G_t >= max |Pi_t(a)| over a in [alpha mu, alpha L], (T + 1,)."""
        step = self.effective_step(setting, proportion)
        return start_envelope(
            step * setting.strong_convexity, step * setting.smoothness, setting.momentum, setting.rounds
        )

    def noise_envelope(self, setting: Setting, proportion: float) -> np.ndarray:
        """Return a bound on max |h_t(a)|, (T + 1,)."""
        step = self.effective_step(setting, proportion)
        return impulse_envelope(step * setting.strong_convexity, setting.momentum, setting.rounds)

    def gradient_noise(self, setting: Setting, proportion: float, false_members: int) -> tuple[float, float]:
        """(s^2, tau^2) with E||noise||^2 <= s^2 + tau^2 ||e||^2 for the averaged gradient."""
        additive, multiplicative = setting.own_noise
        clients, samples = setting.clients, setting.samples
        members = proportion * clients * additive
        return (
            (members + false_members * setting.foreign_noise) / (clients**2 * samples),
            proportion * multiplicative / (clients * samples),
        )

    def counts(self, setting: Setting, proportion: float) -> tuple[int, int]:
        """(n_in, n_out): false and missing members that no round exceeds, up to delta_1."""
        tail = setting.failure[0] / (2 * max(setting.rounds, 1) * setting.clusters)
        members = round(proportion * setting.clients)
        pairwise = setting.misclassification
        return (
            binomial_quantile(setting.clients - members, pairwise, tail),
            binomial_quantile(members, min(1.0, (setting.clusters - 1) * pairwise), tail),
        )

    def parts(self, setting: Setting) -> BoundParts:
        """Compute the bound for every cluster.

        Raises
        ------
        InvalidArgument
            If the expected losses are not quadratic.
        """
        require_quadratic(setting)
        _, leave, last = setting.failure
        clusters = setting.clusters
        columns = [
            self._cluster(setting, *cluster)
            for cluster in zip(setting.proportions, setting.start, strict=True)
        ]
        mean, variance = (np.stack(column, axis=-1) for column in zip(*columns, strict=True))
        everywhere = mean + math.sqrt(clusters * setting.rounds / leave) * np.sqrt(variance)
        failure = setting.failure[0] + leave
        return BoundParts(
            mean=mean,
            variance=variance,
            all_rounds=everywhere,
            last_round=mean[-1] + math.sqrt(clusters / last) * np.sqrt(variance[-1]),
            all_rounds_failure=failure,
            last_round_failure=failure + last,
            applicable=bool((everywhere <= setting.radius).all()),
        )

    def _cluster(self, setting: Setting, proportion: float, start: float) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance bounds of one cluster, both (T + 1,)."""
        false_members, missing_members = self.counts(setting, proportion)
        clients, smoothness = setting.clients, setting.smoothness
        drift = false_members / clients * smoothness * (setting.diameter + setting.radius)
        drift += missing_members / clients * smoothness * setting.radius
        slowest = self.effective_step(setting, proportion) * setting.strong_convexity
        bias = setting.step_size * impulse_sum(slowest, setting.momentum) * drift
        mean = self.mean_envelope(setting, proportion) * start
        weights = setting.step_size**2 * self.noise_envelope(setting, proportion) ** 2
        additive, multiplicative = self.gradient_noise(setting, proportion, false_members)
        variance = np.zeros(setting.rounds + 1)
        inflow = np.zeros(setting.rounds)
        for t in range(setting.rounds + 1):
            variance[t] = weights[:t][::-1] @ inflow[:t]
            if t < setting.rounds:
                if bias == 0:
                    second_moment = mean[t] ** 2 + variance[t]
                else:
                    second_moment = (mean[t] + bias + math.sqrt(variance[t])) ** 2
                inflow[t] = additive + multiplicative * second_moment
        return mean + bias, variance
