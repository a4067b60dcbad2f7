"""Find the least rate that can be proved, and its certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.calls import checked
from clusterproof.algorithms.validation import check_choice, check_number
from clusterproof.theory.certificates.certify_round import certify_round
from clusterproof.theory.certificates.companion import entries
from clusterproof.theory.certificates.heavy_ball import Certificate
from clusterproof.theory.certificates.lyapunov import System, Unknowns
from clusterproof.theory.certificates.one_round import RoundCertificate
from clusterproof.theory.certificates.parameters import Parameters, exact, root_above
from clusterproof.theory.certificates.quadratic import CONSTANT_DIGITS, at_rate, best_rate
from clusterproof.theory.certificates.record import NoCertificate
from clusterproof.theory.certificates.repair import balance, normalise, rounded, with_prefactor
from clusterproof.theory.squares.exact import fraction, rational

SECONDS = 60.0
"""Time limit of the search, in seconds."""

RATE_DIGITS = 7
"""Rates on smooth functions are multiples of 10^-7 (finer where 1 - r is below 10^-4)."""

SLACK = 3
"""Steps above the least rate that the solver claims, where a proof has a margin for rounding."""

RESOLUTION = 2e-7
"""Resolution of the least rate, relative to 1 - r."""

TILTS = (1e-3, 1e-4, 1e-5, 1e-7, 0.0)
"""Weights of a small prefactor relative to the margin, tried one after another."""

STEEP_TILTS = (0.5, 0.2, 0.1, 0.05, 0.02)
"""Weights that are tried before ``TILTS`` at a given rate, where the margin is larger."""


@checked
def certify(
    momentum: object = None,
    condition_number: object = None,
    proportion: object = None,
    step_size: object = None,
    *,
    function_class: str = "smooth",
    disturbance: bool = False,
    rate: object = None,
    algorithm: str | None = None,
    **setting: Any,
) -> Certificate | RoundCertificate | NoCertificate:
    """Prove a convergence rate of the cluster dynamics (noise-free CFL-MGD, gradient averaging), or bound one round.

    Parameters
    ----------
    momentum, condition_number, proportion, step_size
        beta, kappa, l and the step size times L (1 by default): numbers, or strings such as ``"1/3"``. A float stands
        for its shortest decimal.
    function_class
        ``"quadratic"``: the exact rate (spectral radius of the companion matrix, rounded up), in closed
        form. ``"smooth"``: the least rate that a Lyapunov function proves; needs Clarabel.
    disturbance
        For ``"smooth"``: only Lyapunov functions that also bound how disturbances propagate (C_1). The
        rate may be larger.
    rate
        The rate to prove, below 1; if None, the least that can be proved. At critical damping (tuned
        momentum) the least rate has a prefactor of 10^5, so that its bound is vacuous for a hundred rounds; a rate a
        few per cent of 1 - r above it has one of about 3.
    algorithm, **setting
        Instead of the above: an algorithm, one round of which is bounded, and the keywords of ``certify_round``.

    Returns
    -------
    Certificate or RoundCertificate or NoCertificate
        A certificate was checked in exact arithmetic. No certificate does not mean divergence.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """
    if algorithm is not None:
        dynamics = {"momentum": momentum, "condition_number": condition_number, "proportion": proportion}
        for name, value in dynamics.items():
            if value is not None:
                raise InvalidArgument(name, value, f"is not of a round of {algorithm}", "leave it out")
        return certify_round(algorithm, step_size=step_size, rate=rate, **setting)
    if setting:
        raise InvalidArgument(next(iter(setting)), "...", "is of a round of an algorithm", "give algorithm")
    check_choice("class", function_class, ("quadratic", "smooth"), remedy="choose one of the two")
    step_size = 1 if step_size is None else step_size
    parameters = _parameters(momentum, condition_number, proportion, step_size)
    chosen = None if rate is None else exact("rate", rate)
    if chosen is not None:
        remedy = "give one between that of the class and 1"
        check_number("rate", float(chosen), above=0, below=1, remedy=remedy)
    quadratic = best_rate(parameters)
    if quadratic is None:
        return NoCertificate(
            reason=f"with step_size * L * proportion = {parameters.largest} and momentum = {parameters.momentum} the"
            " quadratic of curvature L does not converge; that needs step_size * L * proportion < 2 (1 + momentum)"
        )
    if function_class == "quadratic":
        proved = quadratic if chosen is None else at_rate(parameters, chosen)
        if proved is None:
            return NoCertificate(
                reason="the rate is not above the spectral radius at an end of the spectrum: no prefactor is finite"
            )
        return Certificate(
            parameters=parameters,
            function_class="quadratic",
            rate=proved[0],
            prefactor=proved[1],
            disturbance=proved[2],
            proof=None,
        )
    prover = _Prover(parameters, disturbance=disturbance)
    certificate = prover.least(quadratic[0]) if chosen is None else prover.prove(chosen, STEEP_TILTS + TILTS)
    if certificate is None:
        return NoCertificate(
            reason="the solver gave no Lyapunov function that contracts and passes the exact check;"
            " this does not show divergence"
        )
    return certificate


def certify_at(
    rate: Fraction,
    momentum: object,
    condition_number: object,
    proportion: object,
    step_size: object = 1,
    *,
    norm: bool = False,
) -> Certificate | None:
    """Prove a given rate on smooth functions, with the smallest constants that pass the exact check.

    A rate above the least that can be proved has a smaller prefactor and a smaller disturbance constant.

    Parameters
    ----------
    rate
        r, below 1.
    momentum, condition_number, proportion, step_size
        As for ``certify``.
    norm
        Only Lyapunov functions that are squared norms (c_0 = c_1 = 0), under which the squares of
        independent disturbances add up.

    Returns
    -------
    Certificate or None
        The certificate, with the disturbance constant C_1; None if nothing was proved.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    """
    parameters = _parameters(momentum, condition_number, proportion, step_size)
    return _Prover(parameters, disturbance=True, norm=norm).prove(rate, STEEP_TILTS + TILTS)


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
    """Search for the provable rates of one set of parameters."""

    def __init__(self, parameters: Parameters, *, disturbance: bool, norm: bool = False) -> None:
        from clusterproof.theory.certificates.search import Search

        self.parameters = parameters
        self.disturbance = disturbance
        self.search = Search(*parameters.normalised, disturbance=disturbance, norm=norm)
        self.system = System(*parameters.normalised, rational)
        self.deadline = time.monotonic() + SECONDS

    def least(self, quadratic: Fraction) -> Certificate | None:
        """Find the least rate that passes the exact check, up to the resolution.

        The rate on quadratics is a lower bound; from the least rate that the solver claims the rate is
        raised until the exact check passes.
        """
        digits = RATE_DIGITS + max(0, math.ceil(-4 - math.log10(1 - quadratic)))
        scale = 10**digits
        lowest, largest = math.ceil(quadratic * scale), scale - 1
        if self.system.linear:  # the class is one quadratic, whose rate is attained
            start: float | None = lowest / scale
        else:
            start = self.least_claimed(lowest / scale, (largest - scale // 10**6) / scale)
        if start is None:
            return None
        numerator, step = min(math.ceil(start * scale) + SLACK, largest), 1
        while time.monotonic() < self.deadline:
            certificate = self.prove(Fraction(numerator, scale))
            if certificate is not None or numerator == largest:
                return certificate
            numerator, step = min(numerator + step, largest), 2 * step
        return None

    def least_claimed(self, low: float, high: float) -> float | None:
        """Follow the solver's margin to its zero in r^2, by Newton steps inside a shrinking interval.

        The margin is smooth except for a kink near its zero; each step uses the derivative on its side.

        Returns
        -------
        float or None
            The rate at the zero; None if the solver claims no margin below 1.
        """
        left, right = low**2, high**2
        resolution = RESOLUTION * (1 - left)
        square, tolerance = left, 0.0
        while time.monotonic() < self.deadline and right - left > resolution:
            answer = self.search.margin(square, tolerance)
            if answer is not None and answer[0] > 0:
                if square == left:
                    break
                right = square
            elif square == right:
                return None
            else:
                left = square
            margin, derivative = answer or (0.0, 0.0)
            target = square - margin / derivative if derivative > 0 else (left + right) / 2
            if abs(target - square) < resolution and answer is not None:
                return math.sqrt(target)
            tolerance = min(max(abs(margin) * 1e-4, 1e-8), 1e-5)
            inside = left < target < right
            square = target if inside else right if right == high**2 else (left + right) / 2
        return math.sqrt(square if square == left else right)

    def prove(self, rate: Fraction, tilts: Sequence[float] = TILTS) -> Certificate | None:
        """Return the certificate at a rate with the smallest prefactor that passes the exact check."""
        for tilt in tilts:
            if time.monotonic() > self.deadline:
                return None
            candidate = self.search.candidate(float(rate), tilt)
            proved = None if candidate is None else self.check(rounded(candidate), rate)
            if proved is not None:
                return proved
        return self.check(self.series(rate), rate) if self.system.linear else None

    def series(self, rate: Fraction) -> Unknowns:
        """Return the Lyapunov matrix of one quadratic, in closed form."""
        first, mixed, last = entries(self.parameters.largest, self.parameters.momentum, rate)
        matrix = (first, mixed, Fraction(0), last, Fraction(0), Fraction(0))
        return Unknowns.of_matrix(tuple(map(rational, matrix)), self.system.zero)

    def check(self, candidate: Unknowns, rate: Fraction) -> Certificate | None:
        """Repair and check a rational candidate in exact arithmetic."""
        scaled = normalise(self.system, balance(self.system, candidate, rational(rate) ** 2))
        completed = None if scaled is None else with_prefactor(self.system, scaled)
        if completed is None:
            return None
        unknowns, prefactor = completed
        square = fraction(unknowns.matrix[0] + unknowns.values[0] / 2) if self.disturbance else Fraction(0)
        certificate = Certificate(
            parameters=self.parameters,
            function_class="smooth",
            rate=rate,
            prefactor=prefactor,
            disturbance=root_above(max(square, Fraction(0)), CONSTANT_DIGITS) if self.disturbance else None,
            proof=unknowns.map(fraction),
        )
        return None if any(certificate.failures()) else certificate
