"""A rate of heavy ball on quadratics, for every eigenvalue between two ends: the claims that state it, and their proof.

Write a = step * eigenvalue, A = 1 + beta - a; a mode is e_(t+1) = A e_t - beta e_(t-1). With a number k

    V(e, d) = e^2 + beta (d^2 - k A e d) = (1 - beta k^2 A^2 / 4) e^2 + beta (d - k A e / 2)^2

is at least c(A) e^2, c(A) = 1 - beta k^2 A^2 / 4, and at rest, d = e, it is (1 + beta - beta k A) e^2. Moving e by v
changes its root by |v| at most, as V is a squared norm. Let gamma = beta (r^2 - beta) and q = beta (1 - k (r^2 + beta)
/ 2). Then

    r^2 V(e, d) - V(A e - beta d, e) = (r^2 - beta - (1 - beta k) A^2) e^2 + 2 q A e d + gamma d^2

is a square, gamma (d + q A e / gamma)^2, plus (alpha - zeta A^2) e^2, alpha = r^2 - beta, zeta = 1 - beta k + q^2 /
gamma. It is nonnegative up to |A| = X if alpha >= zeta X^2 and zeta >= 0. With k = 4 / X^2, X = r + beta / r, that is
an equation; where all modes oscillate, A^2 <= 4 beta, k = 1 / beta does for every r >= sqrt(beta).

Hence |e_t| <= C_0 r^t |e_0| from rest if 1 + beta - beta k A <= C_0^2 c(A) for every eigenvalue, and a unit disturbance
has at most C_1 times that effect if 1 <= C_1^2 c(A). Both are nonnegative at the ends of the interval and concave.
"""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from typing import Any

from clusterproof.theory.certificates.document import Document, stated
from clusterproof.theory.certificates.heavy_ball import Certificate, sentence
from clusterproof.theory.certificates.parameters import Parameters, root_above, round_up
from clusterproof.theory.claims.in_language import statement_of
from clusterproof.theory.kernel.numbers import write
from clusterproof.theory.kernel.rules import cases

RATE_DIGITS = 12
CONSTANT_DIGITS = 9
GAP = Fraction(1, 10**6)
"""At critical damping no prefactor is finite at the exact rate q; there r is q + (1 - q) * GAP (q > 0)."""


def energy(e: Any, d: Any, trace: Any, momentum: Any, mixed: Any) -> Any:
    """V(e, d), of a mode with A = trace."""
    return e**2 + momentum * (d**2 - mixed * trace * e * d)


SOURCE = '''"""{statement}"""

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theorem import Sides, at_most, claim, rationals

MOMENTUM = {momentum!r}
RATE = {rate!r}
PREFACTOR = {prefactor!r}
DISTURBANCE = {disturbance!r}
MIXED = {mixed!r}
Curvature = Annotated[Fraction, rationals({smallest!r}, {largest!r}, 8)]
Real = Annotated[Fraction, rationals(-1, 1, 4, upwards=True, downwards=True)]


{energy}

@claim("certificate/contraction")
def contraction(curvature: Curvature, e: Real, d: Real) -> Sides:
    """A round multiplies the energy of a mode by RATE^2 at most."""
    trace = 1 + MOMENTUM - curvature
    after = energy(trace * e - MOMENTUM * d, e, trace, MOMENTUM, MIXED)
    return at_most(after, before=RATE**2 * energy(e, d, trace, MOMENTUM, MIXED))


@claim("certificate/distance")
def distance(curvature: Curvature, e: Real, d: Real) -> Sides:
    """The energy is at least a multiple of the squared distance."""
    trace = 1 + MOMENTUM - curvature
    share = 1 - MOMENTUM * MIXED**2 * trace**2 / 4
    return at_most(share * e**2, energy=energy(e, d, trace, MOMENTUM, MIXED))


@claim("certificate/start")
def start(curvature: Curvature) -> Sides:
    """At rest the energy is at most PREFACTOR^2 times that multiple."""
    trace = 1 + MOMENTUM - curvature
    share = 1 - MOMENTUM * MIXED**2 * trace**2 / 4
    return at_most(energy(1, 1, trace, MOMENTUM, MIXED), start=PREFACTOR**2 * share)


@claim("certificate/impulse")
def impulse(curvature: Curvature) -> Sides:
    """The energy of a unit impulse is at most DISTURBANCE^2 times that multiple."""
    trace = 1 + MOMENTUM - curvature
    share = 1 - MOMENTUM * MIXED**2 * trace**2 / 4
    return at_most(energy(1, 0, trace, MOMENTUM, MIXED), impulse=DISTURBANCE**2 * share)
'''


def best_rate(parameters: Parameters) -> Fraction | None:
    """Return the exact rate on quadratics, rounded up, and larger if its prefactor is a tenth then; None if none is."""
    beta = parameters.momentum
    root = root_above(beta, RATE_DIGITS)
    real = max(_real_root(parameters.smallest, beta), _real_root(parameters.largest, beta))
    step = Fraction(1, 10**RATE_DIGITS)
    gap = round_up((1 - root) * GAP, RATE_DIGITS) if beta > 0 else step
    damped = max(root + gap, round_up(real, RATE_DIGITS))
    best = None
    for rate in (root, damped, damped + step, damped + 5 * step):
        found = constants(parameters, rate)
        if found is not None and (best is None or 100 * found[1] < best[1]):
            best = rate, found[1]
    return None if best is None else best[0]


def constants(parameters: Parameters, rate: Fraction) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return the k of the least C_0^2, then C_0^2 and C_1^2; None if the rate is not proved."""
    beta = parameters.momentum
    if not 0 < rate < 1 or rate**2 < beta:
        return None
    traces = [1 + beta - a for a in (parameters.smallest, parameters.largest)]
    candidates = []
    if beta and all(trace**2 < 4 * beta for trace in traces):
        candidates.append(1 / beta)
    largest = rate + beta / rate
    if rate**2 > beta and all(abs(trace) <= largest for trace in traces):
        candidates.append(4 / largest**2)
    found = []
    for k in candidates:
        shares = [1 - beta * k**2 * trace**2 / 4 for trace in traces]
        if min(shares) > 0:
            starts = [1 + beta - beta * k * trace for trace in traces]
            start = max(value / share for value, share in zip(starts, shares, strict=True))
            found.append((k, start, 1 / min(shares)))
    return min(found, key=lambda each: each[1], default=None)


def at_rate(parameters: Parameters, rate: Fraction) -> Certificate | None:
    """Prove a given rate on quadratics; None if it is not proved.

    Parameters
    ----------
    parameters
        The dynamics.
    rate
        r.
    """
    known = constants(parameters, rate)
    if known is None:
        return None
    k, start, impulse = known
    prefactor, disturbance = (root_above(each, CONSTANT_DIGITS) for each in (start, impulse))
    source = SOURCE.format(
        statement=sentence(parameters, "quadratic", rate, prefactor, disturbance),
        momentum=parameters.momentum,
        rate=rate,
        prefactor=prefactor,
        disturbance=disturbance,
        mixed=k,
        smallest=parameters.smallest,
        largest=parameters.largest,
        energy=inspect.getsource(energy),
    )
    blocks: dict[str, list[Exact]] = {
        "certificate/contraction": _blocks_of_contraction(parameters, rate, k),
        "certificate/distance": [(parameters.momentum, [], _mode(parameters.momentum, -k / 2))],
    }
    evidence = []
    with stated(source) as claims:
        for claim in claims:
            statement = statement_of(claim.statements[0])
            record: dict[str, Any] = {"claim": claim.id, "line": "", "digest": statement.digest}
            record["witness"] = dict.fromkeys(statement.space.ranges, 0)
            record["witness"]["curvature"] = write(parameters.smallest)
            record["rule"] = "squares" if claim.id in blocks else "signs"
            if claim.id in blocks:
                (case,) = cases(statement, "")
                (slack,) = case.sides.slacks
                unit = next(iter(slack.bottom.values()))
                record["blocks"] = [[_scaled(each, unit) for each in blocks[claim.id]]]
            evidence.append(record)
    single: dict[str, Any] = {}
    if parameters.condition_number == 1:  # of one quadratic the energy is that of ``heavy_ball``
        product = -parameters.momentum * k * (1 + parameters.momentum - parameters.largest) / 2
        entries = (Fraction(1), product, Fraction(0), parameters.momentum, Fraction(0), Fraction(0))
        single = {"matrix": tuple(impulse * entry for entry in entries), "weights": (Fraction(0),) * 2}
    return Certificate(
        **single,
        parameters=parameters,
        function_class="quadratic",
        rate=rate,
        prefactor=prefactor,
        disturbance=disturbance,
        document=Document(source, evidence),
    )


Modes = list[tuple[tuple[int, int, int], Fraction]]
Exact = tuple[Fraction, list[int], Modes]
"""A number, the places of factors, and a polynomial in a, e and d, whose square they multiply."""


def _blocks_of_contraction(parameters: Parameters, rate: Fraction, k: Fraction) -> list[Exact]:
    """Return gamma (d + q A e / gamma)^2, and the rest by (X - A)(X + A), each a distance from an end and a number."""
    beta = parameters.momentum
    gamma, q = beta * (rate**2 - beta), beta * (1 - k * (rate**2 + beta) / 2)
    ratio = q / gamma if gamma else Fraction(0)  # q is 0, too
    alpha, zeta = rate**2 - beta, 1 - beta * k + q * ratio
    high, low = (1 + beta - a for a in (parameters.smallest, parameters.largest))
    largest = max(abs(high), abs(low))
    error = [((0, 1, 0), Fraction(1))]
    above, below = largest - high, largest + low
    rest = alpha - zeta * largest**2 + zeta * above * below
    return [
        (gamma, [], _mode(beta, ratio)),
        (rest, [], error),
        (zeta * below, [0], error),
        (zeta * above, [1], error),
        (zeta, [0, 1], error),
    ]


def _mode(beta: Fraction, factor: Fraction) -> Modes:
    """Return d + factor A e."""
    return [((0, 0, 1), Fraction(1)), ((0, 1, 0), factor * (1 + beta)), ((1, 1, 0), -factor)]


def _scaled(block: Exact, unit: Fraction) -> dict[str, Any]:
    """Write a block times a number as the kernel reads it."""
    factor, places, polynomial = block
    basis = [[list(powers), write(value)] for powers, value in polynomial if value]
    return {"factors": places, "basis": [basis], "matrix": [[write(factor * unit)]]}


def _real_root(curvature: Fraction, momentum: Fraction) -> float:
    """Return the larger modulus of the real roots of a mode, 0 if they are not real."""
    half_trace = abs(1 + momentum - curvature) / 2
    discriminant = half_trace**2 - momentum
    return float(half_trace) + math.sqrt(discriminant) if discriminant >= 0 else 0.0
