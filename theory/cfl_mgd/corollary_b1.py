"""Corollary B1: Theorem B with tuned momentum, in fully closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from algorithms import InvalidArgument
from synthetic import Mixture
from theory.bound import Bound, Parts
from theory.bound_check import check_bound
from theory.cfl_mgd.theorem_b import require_quadratic
from theory.claim import Context, register
from theory.experiments import experiment, tuned_momentum
from theory.settings import Setting
from theory.verdict import Finding


@dataclass(frozen=True)
class CorollaryB1(Bound):
    """The bound of Corollary B1; the methods are the quantities of its statement."""

    def rate(self, setting: Setting) -> float:
        """q = 1 - sqrt(l mu / L) with l the smallest proportion."""
        smallest = min(setting.proportions)
        return 1 - math.sqrt(smallest * setting.strong_convexity / setting.smoothness)

    def start_constant(self, setting: Setting) -> float:
        """2 / sqrt(3): how far momentum can carry the error beyond its start (Lemma H)."""
        return 2 / math.sqrt(3)

    def floor(self, setting: Setting, proportion: float) -> float:
        """S_p = (v / L) sqrt(l_p / (m n')) sqrt((1 + beta) / (1 - beta)^3), the noise's rms."""
        additive, multiplicative = setting.own_noise
        variance = additive + multiplicative * setting.radius**2
        beta = self.rate(setting) ** 2
        averaged = variance * proportion / (setting.clients * setting.samples)
        return math.sqrt(averaged * (1 + beta) / (1 - beta) ** 3) / setting.smoothness

    def draw_momentum(self, task: Mixture, generator: np.random.Generator) -> float:
        """Give the tuned momentum, the only one that the corollary speaks of."""
        return tuned_momentum(task)

    def parts(self, setting: Setting) -> Parts:
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
        return Parts(
            mean=mean,
            variance=np.broadcast_to(floor**2, mean.shape),
            all_rounds=mean + spread,
            last_round=mean[-1] + math.sqrt(setting.clusters / last) * floor,
            all_rounds_failure=leave + wrong,
            last_round_failure=leave + last + wrong,
            applicable=inside and leave + last + wrong < 1,
        )


@register(
    "cfl-mgd/corollary-b1",
    label="Corollary B1 (ours)",
    kind="probability",
    bound_trace=CorollaryB1().bound_trace,
)
def corollary_b1(context: Context) -> Finding:
    """Tuned momentum gives the rate 1 - sqrt(l mu / L) for every cluster, down to O(1/sqrt(m n')).

    Hypotheses
        As Theorem B, with eta = 1/L, q = 1 - sqrt(l mu / L), beta = q^2,
        v^2 = v_*^2 + v_1^2 B^2 and (2 / sqrt(3)) ||e_0|| + sqrt(PT / delta_2) S_p <= B, where
        S_p = (v / L) sqrt(l_p / (m n')) sqrt((1 + beta) / (1 - beta)^3).

    Statement
        With probability at least 1 - delta_2 - T m (P - 1) pi, for all t <= T and all p,
        ||chi_p^t - chi*_p|| <= q^t (2 / sqrt(3) + (1 - q) t) ||e_0|| + sqrt(PT / delta_2) S_p;
        with probability at least 1 - delta_2 - delta_3 - T m (P - 1) pi, for all p,
        ||chi_p^T - chi*_p|| <= q^T (2 / sqrt(3) + (1 - q) T) ||e_0|| + sqrt(P / delta_3) S_p.

    Proof
        Lemma H; |h_k| <= (k + 1) q^k because every cluster with l_p >= l is critically damped or
        underdamped; sum (k + 1)^2 q^(2k) = (1 + beta) / (1 - beta)^3.

    Symbols
        As Theorem B; l = min l_p.

    Source
        Ours; replaces Theorem 1 and Remark 1 of Zhao et al. (2023) on quadratics: about
        sqrt(L / (l mu)) log(.) rounds instead of (8L / (l mu)) log(.). Upper bound; S_p is
        attained as T grows at kappa = 1, l_p = l.

    Checked
        As Theorem B, on S1, on S2 (four clusters of unequal size, kappa = 10) and on S3 with
        fifty times the samples, all at their tuned momentum.
    """
    experiments = [experiment(name, None) for name in ("S1", "S2", "S3+")]
    return check_bound(CorollaryB1(), experiments, context, claim="cfl-mgd/corollary-b1")
