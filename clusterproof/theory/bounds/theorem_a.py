"""Theorem A: a repaired Theorem 1 of CFL-MGD, for smooth strongly convex expected losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from clusterproof.checker.claims.statistics import binomial_quantile
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.setting import Setting, setting_of_trace
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.rates import HeavyBallRate, heavy_ball_at, heavy_ball_rate


@dataclass(frozen=True)
class Contraction:
    """A proved rate of the noise-free recursion, with the constants that Theorem A needs.

    Attributes
    ----------
    rate, start, disturbance
        Rate r, and constants C_0 and C_1.
    is_norm
        Whether the Lyapunov function is a squared norm, that is, c_0 = c_1 = 0.
    """

    rate: float
    start: float
    disturbance: float
    is_norm: bool


@lru_cache(maxsize=256)
def contractions(
    momentum: float, condition_number: float, proportion: Fraction, step: float
) -> tuple[Contraction, ...]:
    """Return the constants for the smallest proved rate of the recursion, and for some larger rates.

    Larger rates have smaller constants. Each rate was proved in exact arithmetic.

    Parameters
    ----------
    momentum, condition_number
        Momentum beta, and condition number kappa.
    proportion
        Proportion l_p, as a fraction.
    step
        The product eta L, at most 1.
    """
    # round kappa up: the class of losses for a larger kappa contains the task's losses
    condition = Fraction(math.ceil(condition_number * (1 - 1e-12) * 10**9), 10**9)
    arguments = (momentum, max(condition, Fraction(1)), proportion, min(step, 1.0))
    fastest = heavy_ball_rate(*arguments, function_class="smooth", disturbance=True)
    if not isinstance(fastest, HeavyBallRate):
        return ()
    gap = 1 - fastest.rate
    rates = [1 - gap * Fraction(share, 100) for share in (98, 95, 90, 80, 65, 50)]
    slower = [
        heavy_ball_at(rate.limit_denominator(10**8), *arguments, norm=norm)
        for norm in (False, True)
        for rate in rates
    ]
    return tuple(_constants_of(found) for found in (fastest, *slower) if found is not None)


def _constants_of(found: HeavyBallRate) -> Contraction:
    """Return the constants for a rate, given the constant C_1."""
    assert found.disturbance is not None, "it was asked for"
    return Contraction(
        rate=float(found.rate),
        start=float(found.prefactor),
        disturbance=float(found.disturbance),
        is_norm=found.is_norm,
    )


@dataclass(frozen=True)
class BoundParts:
    """The intermediate bounds in a proof.

    Attributes
    ----------
    mean
        Bound on the noise-free error, (T + 1, P).
    variance
        Bound on the second moment of the error that is due to noise, (T + 1, P).
    all_rounds
        Bound on the error that holds at all rounds and clusters at once, (T + 1, P).
    last_round
        Bound on the error after T rounds, for all clusters at once, (P,).
    all_rounds_failure, last_round_failure
        Probabilities that a run breaks these bounds.
    applicable
        Whether the hypotheses hold, that is, the bound never leaves the basin, and the failure probability is below
        1.
    """

    mean: np.ndarray
    variance: np.ndarray
    all_rounds: np.ndarray
    last_round: np.ndarray
    all_rounds_failure: float
    last_round_failure: float
    applicable: bool


@dataclass(frozen=True)
class TheoremA:
    """The bound of Theorem A. Each cluster uses the proved rate for which the bound after T rounds is smallest."""

    def parts(self, setting: Setting) -> BoundParts:
        """Compute the bound for every cluster. It is infinite if there is no proved rate."""
        _, leave, last = setting.failure

        def preference(column: tuple[np.ndarray, np.ndarray, np.ndarray, float]) -> tuple[bool, float]:
            return bool(column[2].max() > setting.radius), column[3]

        columns = [
            min(self._candidates(setting, *cluster), key=preference)
            for cluster in zip(setting.proportions, setting.start, strict=True)
        ]
        mean, variance, everywhere = (
            np.stack([column[index] for column in columns], axis=-1) for index in range(3)
        )
        failure = setting.failure[0] + leave
        return BoundParts(
            mean=mean,
            variance=variance,
            all_rounds=everywhere,
            last_round=np.array([float(column[3]) for column in columns]),
            all_rounds_failure=failure,
            last_round_failure=failure + last,
            applicable=bool((everywhere <= setting.radius).all()),
        )

    def best_parts(self, setting: Setting) -> BoundParts:
        """Compute the bound for the radius of the basin that is best after T rounds.

        The theorem holds for every admissible radius. The function tries a grid of 60 radii. It selects the radii for
        which the hypotheses hold and the failure probability is within 0.001 of the smallest failure probability.
        Among these radii, it uses the radius with the smallest bound. If there is no such radius, it uses the radius
        of the setting.
        """
        return _at_best_radius(self, setting)

    def bound_trace(
        self, task: Mixture, trace: Trace, failure_probability: float | None = None
    ) -> TraceBound:
        """Bound all rounds of a run.

        Parameters
        ----------
        task, trace
            The task and the run.
        failure_probability
            Probability that a replicate may break the bound. If None, it is 0.03.

        Raises
        ------
        InvalidArgument
            If the theorem does not apply to the run, or a hypothesis fails.
        """
        parts = self.best_parts(setting_of_trace(task, trace, failure_probability))
        if not parts.applicable:
            raise InvalidArgument(
                "trace",
                f"bound up to {parts.all_rounds.max():.3g}",
                "must have a bound that stays inside the basin",
                "use more clients or samples, initial models nearer to the optima, or a smaller momentum",
            )
        return TraceBound(parts.all_rounds, parts.all_rounds_failure)

    def gradient_noise(self, setting: Setting, proportion: float, false_members: int) -> tuple[float, float]:
        """Return (s^2, tau^2) with E||noise||^2 <= s^2 + tau^2 ||e||^2, for the noise of the averaged gradient."""
        additive, multiplicative = setting.own_noise
        clients, samples = setting.clients, setting.samples
        members = proportion * clients * additive
        return (
            (members + false_members * setting.foreign_noise) / (clients**2 * samples),
            proportion * multiplicative / (clients * samples),
        )

    def counts(self, setting: Setting, proportion: float) -> tuple[int, int]:
        """Return bounds on the numbers of clients that wrongly joined (n_in) and wrongly left (n_out) a cluster."""
        tail = setting.failure[0] / (2 * max(setting.rounds, 1) * setting.clusters)
        members = round(proportion * setting.clients)
        pairwise = setting.misclassification
        return (
            binomial_quantile(setting.clients - members, pairwise, tail),
            binomial_quantile(members, min(1.0, (setting.clusters - 1) * pairwise), tail),
        )

    def _candidates(
        self, setting: Setting, proportion: float, start: float
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
        """Return, for each proved rate, the bounds on mean and second moment, for all rounds and for the last round."""
        share = Fraction(round(proportion * setting.clients), setting.clients)
        found = contractions(
            setting.momentum,
            setting.smoothness / setting.strong_convexity,
            share,
            setting.step_size * setting.smoothness,
        )
        columns = [self._with(each, setting, proportion, start) for each in found]
        infinite = np.full(setting.rounds + 1, np.inf)
        return [
            (infinite, infinite, infinite, math.inf),
            *(column for column in columns if column is not None),
        ]

    def _with(
        self, contraction: Contraction, setting: Setting, proportion: float, start: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float] | None:
        """Evaluate the theorem for one rate, or return None if misassigned clients make r_bar at least 1."""
        false_members, missing_members = self.counts(setting, proportion)
        additive, multiplicative = self.gradient_noise(setting, proportion, false_members)
        reach = contraction.disturbance * setting.step_size
        drift = false_members / setting.clients * setting.smoothness * (setting.diameter + setting.radius)
        rate = contraction.rate + reach * setting.smoothness * missing_members / setting.clients
        if rate >= 1:
            return None
        times = np.arange(setting.rounds + 1)
        mean = rate**times * contraction.start * start + reach * drift * (1 - rate**times) / (1 - rate)
        moment = np.empty(setting.rounds + 1)
        moment[0] = (contraction.start * start) ** 2
        with np.errstate(over="ignore"):  # an overflow makes the bound infinite
            for t in range(setting.rounds):
                spread = reach**2 * (additive + multiplicative * moment[t])
                moment[t + 1] = (rate * math.sqrt(moment[t]) + reach * drift) ** 2 + spread
        _, leave, last = setting.failure
        weight = setting.clusters * reach**2 / ((1.0 if contraction.is_norm else 1 - rate) * leave)
        excess = _positive_root(
            1 - weight * setting.rounds * multiplicative,
            -2 * weight * multiplicative * mean[:-1].sum(),
            -weight * (setting.rounds * additive + multiplicative * (mean[:-1] ** 2).sum()),
        )
        everywhere = mean + excess
        final = min(everywhere[-1], math.sqrt(setting.clusters / last) * math.sqrt(moment[-1]))
        return mean, moment, everywhere, float(final)


def _positive_root(square: float, linear: float, constant: float) -> float:
    """Return the largest root of square x^2 + linear x + constant, for constant <= 0, or infinity if square <= 0."""
    if square <= 0:
        return math.inf if constant < 0 or linear < 0 else 0.0
    return (-linear + math.sqrt(linear**2 - 4 * square * constant)) / (2 * square)


@lru_cache(maxsize=64)
def _at_best_radius(bound: TheoremA, setting: Setting) -> BoundParts:
    """Search the radii once per bound and setting. The result is cached, because both arguments are immutable."""
    limit = setting.separation / (1 + math.sqrt(setting.smoothness / setting.strong_convexity))
    radii = np.linspace(max(setting.start), limit, 62)[1:-1]
    admissible = [
        parts for radius in radii if (parts := bound.parts(setting.with_radius(float(radius)))).applicable
    ]
    if not admissible:
        return bound.parts(setting)
    least = min(parts.last_round_failure for parts in admissible)
    likely = [parts for parts in admissible if parts.last_round_failure <= least + 1e-3]
    return min(likely, key=lambda parts: float(parts.last_round.max()))
