"""Rates of heavy ball on quadratics, for every eigenvalue in an interval: claims and proofs.

Let a = step size * eigenvalue and A = 1 + beta - a. Along an eigenvector, e_(t+1) = A e_t - beta e_(t-1). For numbers
p and k, let

    V(e, d) = e^2 + p d^2 - k A e d = c(A) e^2 + p (d - k A e / (2 p))^2,     c(A) = 1 - k^2 A^2 / (4 p).

Then V is at least c(A) e^2. Without initial momentum (d = e), V is (1 + p - k A) e^2. After a unit impulse (e = 1, d
= 0), V is 1. With gamma = r^2 p - beta^2, q = beta - k (r^2 + beta) / 2, alpha = r^2 - p and zeta = 1 - k + q^2 /
gamma,

    r^2 V(e, d) - V(A e - beta d, e) = gamma (d + q A e / gamma)^2 + (alpha - zeta A^2) e^2,

which is nonnegative for |A| <= X if gamma >= 0 and alpha >= zeta X^2. Let s = beta / r and X = r + s. For A = X, the
recursion has the two real roots r and s. For any weight w in [0, 1], p = w s^2 + (1 - w) r^2 and k = 2 (w s + (1 - w)
r) / X satisfy the conditions. For larger rates, and for a single eigenvalue, a search on grids finds better values of
p and k. If all eigenvalues are underdamped (A^2 <= 4 beta), p = beta and k = 1 satisfy the conditions for every r >=
sqrt(beta).

Hence, without initial momentum, |e_t| <= C_0 r^t |e_0| if 1 + p - k A <= C_0^2 c(A) for every eigenvalue. A unit
impulse has an effect of at most C_1 r^t if 1 <= C_1^2 c(A). Both statements may use different values of p and k. In
both inequalities, the right side minus the left side is concave in A. So it suffices to check the ends of the
interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.freeze import freeze
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.rules import cases
from clusterproof.theory.rates.outcome import ClaimsFile, HeavyBallRate, stated
from clusterproof.theory.rates.parameters import Parameters, root_above, round_up

RATE_DIGITS = 12
CONSTANT_DIGITS = 9
GAP = Fraction(1, 10**6)
"""At critical damping, the exact rate q > 0 has no finite prefactor, and r is q + (1 - q) * GAP."""


def energy(e: Any, d: Any, trace: Any, form: Any) -> Any:
    """Return V(e, d) for an eigenvalue with A = ``trace``."""
    return e**2 + form[0] * d**2 - form[1] * trace * e * d


def share(trace: Any, form: Any) -> Any:
    """Return c(A), the smallest value of V(e, d) / e^2 over all d."""
    return 1 - form[1] ** 2 * trace**2 / (4 * form[0]) if form[0] > 0 else 1


SOURCE = '''"""{statement}"""

from fractions import Fraction

from clusterproof.theorem import Sides, at_most, claim, rationals
from clusterproof.theory.rates.quadratics import energy, share

MOMENTUM = {momentum!r}
RATE = {rate!r}
PREFACTOR = {prefactor!r}
DISTURBANCE = {disturbance!r}
REST = {rest!r}
IMPULSE = {impulse!r}
CURVATURES = rationals({smallest!r}, {largest!r}, 8)
REALS = rationals(-1, 1, 4, upwards=True, downwards=True)


@claim("rate/contraction")
def contraction(curvature: Fraction = CURVATURES, e: Fraction = REALS, d: Fraction = REALS) -> dict[str, Sides]:
    """A round multiplies each energy of a mode by RATE^2 at most."""
    trace = 1 + MOMENTUM - curvature
    after = trace * e - MOMENTUM * d
    return {{
        "rest": at_most(energy(after, e, trace, REST), before=RATE**2 * energy(e, d, trace, REST)),
        "impulse": at_most(energy(after, e, trace, IMPULSE), before=RATE**2 * energy(e, d, trace, IMPULSE)),
    }}


@claim("rate/distance")
def distance(curvature: Fraction = CURVATURES, e: Fraction = REALS, d: Fraction = REALS) -> dict[str, Sides]:
    """Each energy is at least a multiple of the squared distance."""
    trace = 1 + MOMENTUM - curvature
    return {{
        "rest": at_most(share(trace, REST) * e**2, energy=energy(e, d, trace, REST)),
        "impulse": at_most(share(trace, IMPULSE) * e**2, energy=energy(e, d, trace, IMPULSE)),
    }}


@claim("rate/start")
def start(curvature: Fraction = CURVATURES) -> dict[str, Sides]:
    """At rest, and after a unit impulse, the energy is at most a square times that multiple."""
    trace = 1 + MOMENTUM - curvature
    return {{
        "rest": at_most(energy(1, 1, trace, REST), start=PREFACTOR**2 * share(trace, REST)),
        "impulse": at_most(energy(1, 0, trace, IMPULSE), start=DISTURBANCE**2 * share(trace, IMPULSE)),
    }}
'''
Form = tuple[Fraction, Fraction]
"""The numbers p and k."""
ZOOMS, GRID, TINY, SCALE = 8, 61, 1e-9, 10**12
"""Number of nested grids, number of values of p and of k per grid, margin of an inequality, and denominator of p and k.

Each grid is a fifth as wide as the previous one.
"""
SHARES = 8
"""Number of steps between the share with the smallest C_0 at A = X and the share with the smallest C_1."""


def best_rate(parameters: Parameters) -> Fraction | None:
    """Return the exact rate on quadratics, rounded up, with a proof, or None if no proof is found.

    If a slightly larger rate has at most a tenth of the prefactor, the function returns this larger rate.
    """
    beta = parameters.momentum
    root = root_above(beta, RATE_DIGITS)
    real = max(_real_root(parameters.smallest, beta), _real_root(parameters.largest, beta))
    step = Fraction(1, 10**RATE_DIGITS)
    gap = round_up((1 - root) * GAP, RATE_DIGITS) if beta > 0 else step
    damped = max(root + gap, round_up(real, RATE_DIGITS))
    best = None
    for rate in (root, damped, damped + step, damped + 5 * step):
        found = constants(parameters, rate)
        if found is not None and (best is None or 100 * found[0][0] < best[1]):
            best = rate, found[0][0]
    return None if best is None else best[0]


def constants(
    parameters: Parameters, rate: Fraction
) -> tuple[tuple[Fraction, Form], tuple[Fraction, Form]] | None:
    """Return the smallest C_0^2 and the smallest C_1^2, each with p and k, or None if the rate is not proved."""
    beta = parameters.momentum
    if not 0 < rate < 1 or rate**2 < beta:
        return None
    traces = [1 + beta - a for a in (parameters.smallest, parameters.largest)]
    forms: list[Form] = []
    if beta and all(trace**2 < 4 * beta for trace in traces):
        forms.append((beta, Fraction(1)))
    s = beta / rate
    largest = rate + s
    if rate**2 > beta and all(abs(trace) <= largest for trace in traces):
        ends = rate / largest, rate * (1 - rate) / (rate * (1 - rate) + s * (1 - s))
        shares = [ends[0] + (ends[1] - ends[0]) * Fraction(n, SHARES) for n in range(SHARES + 1)]
        forms += [(w * s**2 + (1 - w) * rate**2, 2 * (w * s + (1 - w) * rate) / largest) for w in shares]
        forms += [form for form in _searched(beta, rate, traces) if _contracts(beta, rate, traces, form)]
    starts, impulses = [], []
    for form in forms:
        multiples = [share(trace, form) for trace in traces]
        if min(multiples) > 0:
            values = [energy(1, 1, t, form) / c for t, c in zip(traces, multiples, strict=True)]
            starts.append((max(values), form))
            impulses.append((1 / min(multiples), form))
    return (min(starts), min(impulses)) if starts else None


def _contracts(beta: Fraction, rate: Fraction, traces: Sequence[Fraction], form: Form) -> bool:
    """Return whether a round multiplies the energy by at most the squared rate, for all |A| up to the largest."""
    p, k = form
    gamma, q = rate**2 * p - beta**2, beta - k * (rate**2 + beta) / 2
    if gamma <= 0:
        return False
    zeta = 1 - k + q**2 / gamma
    return zeta >= 0 and rate**2 - p >= zeta * max(map(abs, traces)) ** 2


def _searched(beta: Fraction, rate: Fraction, traces: Sequence[Fraction]) -> Iterator[Form]:
    """Yield (p, k) from nested grids, first with nearly the smallest C_0, then with nearly the smallest C_1."""
    b, r, ends = float(beta), float(rate), np.array([float(trace) for trace in traces])[:, None, None]
    for start in (1.0, 0.0):
        low, high = np.zeros(2), np.array([r**2, 2.5])
        for _ in range(ZOOMS):
            p, k = np.meshgrid(np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID))
            with np.errstate(all="ignore"):
                gamma, multiple = r**2 * p - b**2, 1 - (k * ends) ** 2 / (4 * p)
                zeta = 1 - k + (b - k * (r**2 + b) / 2) ** 2 / gamma
                slack = r**2 - p - zeta * np.abs(ends).max() ** 2
                constant = ((1 + start * (p - k * ends)) / multiple).max(axis=0)
                holds = (gamma > TINY) & (zeta > TINY) & (slack > TINY) & (multiple > TINY).all(axis=0)
            constant = np.where(holds, constant, np.inf)
            place = np.unravel_index(np.argmin(constant), constant.shape)
            if not np.isfinite(constant[place]):
                break
            best, width = np.array([p[place], k[place]]), (high - low) / 10
            low, high = np.maximum(best - width, 0), best + width
        else:
            yield Fraction(round(best[0] * SCALE), SCALE), Fraction(round(best[1] * SCALE), SCALE)


def at_rate(parameters: Parameters, rate: Fraction) -> QuadraticRate | None:
    """Prove a given rate on quadratics, or return None if the proof fails.

    Parameters
    ----------
    parameters
        The dynamics.
    rate
        The rate r.
    """
    known = constants(parameters, rate)
    if known is None:
        return None
    (start, _), (last, _) = known
    return QuadraticRate(
        parameters=parameters,
        rate=rate,
        prefactor=root_above(start, CONSTANT_DIGITS),
        disturbance=root_above(last, CONSTANT_DIGITS),
    )


@dataclass(frozen=True, kw_only=True)
class QuadraticRate(HeavyBallRate):
    """A rate on quadratics with all eigenvalues of the Hessian in [mu, L]."""

    members = "quadratic phi with all eigenvalues of its Hessian in [mu, L]"
    of_disturbance = "Adding delta to x_t changes x_(t+k) by at most ({}) * rate^k * |delta|."

    @property
    def claims_file(self) -> ClaimsFile:
        """The claims that together state the rate, with sums of squares for claims that need them."""
        parameters, known = self.parameters, constants(self.parameters, self.rate)
        assert known is not None, "the rate was proved"
        (_, rest), (_, impulse) = known
        source = SOURCE.format(
            statement=self.statement,
            momentum=parameters.momentum,
            rate=self.rate,
            prefactor=self.prefactor,
            disturbance=self.disturbance,
            rest=rest,
            impulse=impulse,
            smallest=parameters.smallest,
            largest=parameters.largest,
        )
        blocks: dict[str, Callable[[Form], list[Exact]]] = {
            "rate/contraction": lambda form: _blocks_of_contraction(parameters, self.rate, form),
            "rate/distance": lambda form: _blocks_of_distance(parameters.momentum, form),
        }
        evidence = []
        with stated(source) as claims:
            for claim in claims:
                statement = freeze(claim, {"": ("rest", "impulse")}, compared=False).statement("")
                witness = dict.fromkeys(statement.space.ranges, 0) | {"curvature": write(parameters.smallest)}
                for line, form in (("rest", rest), ("impulse", impulse)):
                    record: dict[str, Any] = {"claim": claim.id, "statement": "", "line": line}
                    record |= {"witness": witness, "rule": "signs"}
                    if claim.id in blocks:
                        (case,) = cases(statement, line, record)
                        assert case.sides is not None, "a quadratic leaves no goals"
                        unit = next(iter(case.sides.slacks[0].bottom.values()))
                        squares = [_scaled(each, unit) for each in blocks[claim.id](form)]
                        record |= {"rule": "squares", "blocks": [squares]}
                    evidence.append(record)
        return ClaimsFile(source, evidence)


Modes = list[tuple[tuple[int, int, int], Fraction]]
Exact = tuple[Fraction, list[int], Modes]
"""A term: a number, the indices of factors, and a polynomial in a, e and d.

The value is the number times the factors times the square of the polynomial.
"""


def _blocks_of_distance(beta: Fraction, form: Form) -> list[Exact]:
    """Return the term p (d - k A e / (2 p))^2."""
    p, k = form
    return [(p, [], _mode(beta, -k / (2 * p)))] if p else []


def _blocks_of_contraction(parameters: Parameters, rate: Fraction, form: Form) -> list[Exact]:
    """Return gamma (d + q A e / gamma)^2 and (alpha - zeta A^2) e^2, as terms.

    Since A^2 = X^2 - (X - A)(X + A), the second term is a sum of products. X - A and X + A are distances of a from an
    end of its range, plus constants.
    """
    beta = parameters.momentum
    p, k = form
    gamma, q = rate**2 * p - beta**2, beta - k * (rate**2 + beta) / 2
    ratio = q / gamma if gamma else Fraction(0)  # in this case q is also 0
    alpha, zeta = rate**2 - p, 1 - k + q * ratio
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
    """Return the polynomial d + factor A e."""
    return [((0, 0, 1), Fraction(1)), ((0, 1, 0), factor * (1 + beta)), ((1, 1, 0), -factor)]


def _scaled(block: Exact, unit: Fraction) -> dict[str, Any]:
    """Write a number times a term, in the format of the kernel."""
    factor, places, polynomial = block
    basis = [[list(powers), write(value)] for powers, value in polynomial if value]
    return {"factors": places, "basis": [basis], "matrix": [[write(factor * unit)]]}


def _real_root(curvature: Fraction, momentum: Fraction) -> float:
    """Return the larger modulus of the real roots for one eigenvalue, or 0 if the roots are not real."""
    half_trace = abs(1 + momentum - curvature) / 2
    discriminant = half_trace**2 - momentum
    return float(half_trace) + math.sqrt(discriminant) if discriminant >= 0 else 0.0
