"""Search for the smallest provable rate of heavy ball for one cluster."""

from __future__ import annotations

import math
from fractions import Fraction

from clusterproof.common.calls import checked
from clusterproof.common.validation import check_choice, check_number
from clusterproof.theory.rates import quadratics
from clusterproof.theory.rates.lyapunov_search import Search
from clusterproof.theory.rates.outcome import HeavyBallRate, NoRate
from clusterproof.theory.rates.parameters import Parameters, exact
from clusterproof.theory.rates.smooth_losses import proved

RATE_DIGITS = 7
"""Number of decimals of a rate on smooth functions. If 1 - r is below 10^-4, the rate has more decimals."""
SLACK = 3
"""Number of units of the last decimal between a rate and the solver's smallest rate, as a margin for rounding."""
RESOLUTION = 2e-7
"""Resolution of the smallest rate, relative to 1 - r."""
MARGIN = 2e-9
"""A Lyapunov function is accepted if its margin, for forms with trace 1, is at least this number."""
STEPS = 24
"""Largest number of rates to try above the solver's smallest rate, at increasing distances."""


@checked
def heavy_ball_rate(
    momentum: object,
    condition_number: object,
    proportion: object,
    step_size: object = 1,
    *,
    function_class: str = "smooth",
    disturbance: bool = False,
    rate: object = None,
) -> HeavyBallRate | NoRate:
    """Prove a convergence rate of the cluster dynamics: noise-free CFL-MGD with gradient averaging.

    Parameters
    ----------
    momentum, condition_number, proportion, step_size
        beta, kappa, l, and step size times L, as numbers or strings such as ``"1/3"``. A float is replaced by its
        shortest decimal representation.
    function_class
        For ``"quadratic"``, the rate is exact and has a closed form: the spectral radius of the companion matrix,
        rounded up. For ``"smooth"``, the rate is the smallest rate that some Lyapunov function proves. The search
        needs Clarabel.
    disturbance
        For ``"smooth"``, whether to use only Lyapunov functions that also bound the effect of disturbances (C_1). The
        rate may then be larger.
    rate
        The rate to prove, below 1. If None, it is the smallest rate that can be proved. At critical damping (tuned
        momentum), the smallest rate has a prefactor of 10^5, so the bound is vacuous for a hundred rounds. For a rate
        that is larger by a few per cent of 1 - r, the prefactor is about 3.

    Returns
    -------
    HeavyBallRate or NoRate
        The proved rate, or the reason why no rate was found. ``NoRate`` does not mean that the method diverges.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """
    check_choice("class", function_class, ("quadratic", "smooth"), remedy="choose one of the two")
    parameters = _parameters(momentum, condition_number, proportion, step_size)
    chosen = None if rate is None else exact("rate", rate)
    if chosen is not None:
        remedy = "give a rate between the rate of the class and 1"
        check_number("rate", float(chosen), above=0, below=1, remedy=remedy)
    least = quadratics.best_rate(parameters)
    if least is None:
        return NoRate(
            reason=f"with step_size * L * proportion = {parameters.largest} and momentum = {parameters.momentum} the"
            " quadratic of curvature L does not converge; that needs step_size * L * proportion < 2 (1 + momentum)"
        )
    if function_class == "quadratic" or parameters.condition_number == 1:  # such a function is a quadratic
        return quadratics.at_rate(parameters, least if chosen is None else chosen) or NoRate(
            reason="the rate is not above the spectral radius at an end of the spectrum: no prefactor is finite"
        )
    prover = _Prover(parameters, disturbance=disturbance)
    found = prover.least(least) if chosen is None else prover.prove(chosen)
    return found or NoRate(
        reason="the solver gave no Lyapunov function that contracts and passes the exact check;"
        " this does not show divergence"
    )


def heavy_ball_at(
    rate: Fraction,
    momentum: object,
    condition_number: object,
    proportion: object,
    step_size: object = 1,
    *,
    norm: bool = False,
) -> HeavyBallRate | None:
    """Prove a given rate on smooth functions, with the smallest constants that pass the exact check.

    If the rate is above the smallest provable rate, prefactor and disturbance constant are smaller.

    Parameters
    ----------
    rate
        r, below 1.
    momentum, condition_number, proportion, step_size
        See ``heavy_ball_rate``.
    norm
        Whether to use only Lyapunov functions that are squared norms (c_0 = c_1 = 0). For such a norm, the squares of
        independent disturbances add up.

    Returns
    -------
    HeavyBallRate or None
        The rate, with the disturbance constant C_1, or None if no proof was found.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """
    parameters = _parameters(momentum, condition_number, proportion, step_size)
    if parameters.condition_number == 1:
        return quadratics.at_rate(parameters, rate)
    return _Prover(parameters, disturbance=True, norm=norm).prove(rate)


def _parameters(
    momentum: object, condition_number: object, proportion: object, step_size: object
) -> Parameters:
    return Parameters(
        momentum=exact("momentum", momentum),
        condition_number=exact("condition_number", condition_number),
        proportion=exact("proportion", proportion),
        step_size=exact("step_size", step_size),
    )


class _Prover:
    """Search for rates that can be proved, for one set of parameters."""

    def __init__(self, parameters: Parameters, *, disturbance: bool, norm: bool = False) -> None:
        self.parameters, self.disturbance = parameters, disturbance
        self.search = Search(parameters, disturbance=disturbance, norm=norm)

    def least(self, quadratic_rate: Fraction) -> HeavyBallRate | None:
        """Find the smallest provable rate, up to the resolution.

        The rate on quadratics is a lower bound. The search begins at the smallest rate for which the solver finds a
        margin, and increases the rate until a proof succeeds.
        """
        digits = RATE_DIGITS + max(0, math.ceil(-4 - math.log10(1 - quadratic_rate)))
        scale = 10**digits
        lowest, largest = math.ceil(quadratic_rate * scale), scale - 1
        start = self.least_claimed(lowest / scale, (largest - scale // 10**6) / scale)
        if start is None:
            return None
        numerator, step = min(math.ceil(start * scale) + SLACK, largest), 1
        for _ in range(STEPS):
            found = self.prove(Fraction(numerator, scale))
            if found is not None or numerator == largest:
                return found
            numerator, step = min(numerator + step, largest), 2 * step
        return None

    def least_claimed(self, low: float, high: float) -> float | None:
        """Find the smallest rate for which the solver finds a margin, by bisection.

        The result is None if there is no such rate below 1.
        """

        def has_margin(square: float) -> bool:
            margin = self.search.margin(square)
            return margin is not None and margin > MARGIN

        left, right = low**2, high**2
        resolution = RESOLUTION * (1 - left)
        if has_margin(left):
            return low
        if not has_margin(right):
            return None
        while right - left > resolution:
            middle = (left + right) / 2
            left, right = (left, middle) if has_margin(middle) else (middle, right)
        return math.sqrt(right)

    def prove(self, rate: Fraction) -> HeavyBallRate | None:
        """Prove a given rate with the smallest provable prefactor, or return None if no proof is found."""
        for candidate in self.search.candidates(rate):
            found = proved(self.parameters, rate, *candidate, disturbance=self.disturbance)
            if found is not None:
                return found
        return None
