"""Rate and prefactors on quadratics, for every eigenvalue between two ends, in rational arithmetic.

Write a = step * eigenvalue, A = 1 + beta - a, q = sqrt(beta), and per mode e_(t+1) = A e_t - beta e_(t-1).
h_t is the response to an impulse (e_(-1) = 0, e_0 = 1) and Pi_t that to a start from rest
(e_(-1) = e_0 = 1); h_t = q^t U_t(A / 2q) and Pi_t = h_t - beta h_(t-1) = q^t (T_t + (x - q) U_(t-1))
with x = A / 2q and Chebyshev polynomials T, U. For a in [a_1, a_2] and a rational r in (0, 1):

**Oscillating modes.** If A^2 < 4 beta, then W_t = e_t^2 - A e_t e_(t-1) + beta e_(t-1)^2 obeys
W_(t+1) = beta W_t and W_t >= e_t^2 (1 - A^2 / 4 beta); W_0 = a from rest and 1 for an impulse. So
Pi_t^2 <= c_0(a) beta^t and h_t^2 <= c_1(a) beta^t with c_1 = 4 beta / (4 beta - A^2), c_0 = a c_1.
1 / c_0 = 1 - (a - 1 + beta)^2 / (4 a beta) and 1 / c_1 = 1 - A^2 / 4 beta are concave in a: c_0 and c_1
are largest at an end of any interval, and c_0 increases for a >= 1 - beta.

**Any modes.** Let r^2 > beta, s = beta / r < r, and r^2 - (1 + beta - a_1) r + beta >= 0 and
r^2 + (1 + beta - a_2) r + beta >= 0. Then |A| <= r + s for every a of the interval. With
X = (r + s) / 2q >= 1: |U_t| <= U_t(X) and |T_t| <= T_t(X) on [-X, X]. So |h_t| is at most its value
H_t = (r^(t+1) - s^(t+1)) / (r - s) at A = r + s, whence |h_t| <= C_1 r^t with C_1 = r^2 / (r^2 - beta), and
|Pi_t| <= H_t + beta H_(t-1) <= r^t r (r + beta) / (r^2 - beta). Where a <= 1 - beta, that is x >= q, also
0 <= x - q <= X - q, so |Pi_t| <= H_t - beta H_(t-1) <= r^t r (r - beta) / (r^2 - beta), because s >= beta.
(For beta = 0: h_t = Pi_t = A^t and |A| <= r.) Where a_2 > 1 - beta is an oscillating mode, the modes between
1 - beta and a_2 have c_0(a) <= c_0(a_2).

In either case V(z) = sup over k of r^(-2k) |e_k|^2, along the run that starts at z = (e_t, e_(t-1)), is the square
of a norm with V >= |e_t|^2 and V(next) <= r^2 V; it is at most C_0^2 |e|^2 from rest, and moving e_t by delta adds
at most C_1 |delta| to its root.

At critical damping, a_1 = (1 - q)^2, Pi_t(a_1) is q^t (1 + (1 - q) t): no prefactor is finite at the rate q itself.
That envelope is no certificate of the form above, as no V with V(next) <= q^2 V has it; little is lost without it.
With r = q + x (1 - q) for a chosen x, the bound above on C_0 r^t is, at the x that is best for a round t, at most 1.37
times the envelope (towards e / 2 as t and kappa grow): ``at_rate`` proves that rate.

Every comparison is between rationals, and the least of the bounds that apply is proved.
"""

from __future__ import annotations

import math
from fractions import Fraction

from clusterproof.theory.certificates.parameters import Parameters, root_above, round_up

RATE_DIGITS = 12
CONSTANT_DIGITS = 9
GAP = Fraction(1, 10**6)
"""At critical damping no prefactor is finite at the exact rate q; there r is q + (1 - q) * GAP (q > 0)."""


def constants_squared(parameters: Parameters, rate: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return the least C_0^2 and C_1^2 that the argument of this module proves at a rate.

    Parameters
    ----------
    parameters
        The dynamics.
    rate
        r.

    Returns
    -------
    tuple or None
        C_0^2 and C_1^2 with |Pi_t| <= C_0 r^t and |h_t| <= C_1 r^t for every eigenvalue; None if r is not proved.
    """
    beta, lowest, highest = parameters.momentum, parameters.smallest, parameters.largest
    if not 0 < rate < 1 or rate**2 < beta:
        return None
    at_start, at_impulse = [], []
    low, high = (4 * beta - (1 + beta - a) ** 2 for a in (lowest, highest))
    if low > 0 and high > 0:
        at_impulse.append(max(4 * beta / low, 4 * beta / high))
        at_start.append(max(4 * beta * lowest / low, 4 * beta * highest / high))
    excess = rate**2 - beta
    positive = excess > 0 and rate**2 - (1 + beta - lowest) * rate + beta >= 0
    if positive and rate**2 + (1 + beta - highest) * rate + beta >= 0:
        at_impulse.append((rate**2 / excess) ** 2)
        at_start.append((rate * (rate + beta) / excess) ** 2)
        slow = (rate * (rate - beta) / excess) ** 2
        if highest <= 1 - beta:
            at_start.append(slow)
        elif high > 0:
            at_start.append(max(slow, 4 * beta * highest / high))
    return (min(at_start), min(at_impulse)) if at_start else None


def best_rate(parameters: Parameters) -> tuple[Fraction, Fraction, Fraction] | None:
    """Find the exact rate on quadratics, rounded up, with C_0 and C_1.

    Parameters
    ----------
    parameters
        The dynamics.

    Returns
    -------
    tuple or None
        r, C_0 and C_1, proved; None if some quadratic of the class does not converge.
    """
    beta = parameters.momentum
    root = root_above(beta, RATE_DIGITS)
    real = max(_real_root(parameters.smallest, beta), _real_root(parameters.largest, beta))
    step = Fraction(1, 10**RATE_DIGITS)
    gap = round_up((1 - root) * GAP, RATE_DIGITS) if beta > 0 else step
    damped = max(root + gap, round_up(real, RATE_DIGITS))
    best = None
    for rate in (root, damped, damped + step, damped + 5 * step):
        proved = constants_squared(parameters, rate)
        if proved is not None and (best is None or 100 * proved[0] < best[1][0]):
            best = rate, proved
    if best is None:
        return None
    return at_rate(parameters, best[0])


def at_rate(parameters: Parameters, rate: Fraction) -> tuple[Fraction, Fraction, Fraction] | None:
    """Prove a given rate on quadratics: return it with C_0 and C_1, rounded up; None if it is not proved.

    Parameters
    ----------
    parameters
        The dynamics.
    rate
        r.
    """
    proved = constants_squared(parameters, rate)
    if proved is None:
        return None
    start, impulse = proved
    return rate, root_above(start, CONSTANT_DIGITS), root_above(impulse, CONSTANT_DIGITS)


def _real_root(curvature: Fraction, momentum: Fraction) -> float:
    """Return the larger modulus of the real roots of a mode, 0 if they are not real."""
    half_trace = abs(1 + momentum - curvature) / 2
    discriminant = half_trace**2 - momentum
    return float(half_trace) + math.sqrt(discriminant) if discriminant >= 0 else 0.0
