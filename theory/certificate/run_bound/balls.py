"""Real numbers as balls: values that are certainly inside, comparisons that hold for every point, with python-flint."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

Ball = Any
"""A ``flint.arb``: <= and < are true only where they hold for all points of the balls."""


def ball(value: Fraction | int) -> Ball:
    """Enclose a rational number."""
    from flint import arb, fmpq

    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def largest(values: Sequence[Ball]) -> Ball:
    """Upper bound on all of some balls."""
    best = values[0].abs_upper() if len(values) == 1 else values[0].upper()
    for value in values[1:]:
        end = value.upper()
        if end > best:
            best = end
    return best


def gamma(z: Ball) -> Ball:
    """2 (-log(1 - z) - z) / z^2 for z in (0, 1); 1 for z = 0; None where z may be 1."""
    if z == 0:
        return ball(1)
    if not z < 1:
        return None
    return 2 * (-(-z).log1p() - z) / (z * z)


def binomial_tail(count: int, exceeded: int, probability: Fraction) -> Ball:
    """P(Bin(count, probability) > exceeded), by the regularised incomplete beta function."""
    if exceeded >= count:
        return ball(0)
    if probability >= 1:
        return ball(1)
    return ball(probability).beta_lower(exceeded + 1, count - exceeded, regularized=1)


def outside(clients: int, marked: int, drawn: int, fewest: int, most: int) -> Fraction:
    """P(k < fewest or k > most) for the number k of marked clients among those drawn, exactly."""
    ways = sum(
        comb(marked, k) * comb(clients - marked, drawn - k)
        for k in range(max(0, drawn - clients + marked), min(marked, drawn) + 1)
        if fewest <= k <= most
    )
    return 1 - Fraction(ways, comb(clients, drawn))


def pairwise_error(
    smoothness: Fraction,
    strong_convexity: Fraction,
    separation: Fraction,
    variance: Fraction,
    radius: Fraction,
    samples: int,
) -> Ball:
    """I_{1 / (1 + rho)}(n'/2, n'/2) of Lemma P, for a radius below the basin's limit.

    Written without the threshold: 1 / (1 + rho) is (s^2 + a^2) / (2 s^2 + a^2 + b^2) or (1 - u) / 2. Where the case is
    not decided, both are taken: they agree at the border.
    """
    near = ball(smoothness).sqrt() * ball(radius)
    far = ball(strong_convexity).sqrt() * ball(separation - radius)
    noise = ball(variance)
    shares = []
    if not noise > near * far:
        shares.append((noise + near * near) / (2 * noise + near * near + far * far))
    if not noise < near * far:
        ratio = (far - near) ** 2 / noise
        shares.append((1 - (ratio / (ratio + 4)).sqrt()) / 2)
    half = ball(Fraction(samples, 2))
    return largest([share.beta_lower(half, half, regularized=1) for share in shares])


def chi_squared_tail(dimension: int, quantile: Fraction) -> Ball:
    """P(chi^2_d > q), by the regularised upper incomplete gamma function."""
    return (ball(quantile) / 2).gamma_upper(ball(Fraction(dimension, 2)), regularized=1)
