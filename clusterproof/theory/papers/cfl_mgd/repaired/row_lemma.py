"""Lemma R: the cumulant of one row's gradient, and each step of its proof."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.bounds.row_lemma import gamma, gradient_cumulant
from clusterproof.theory.claims import Sides, at_most, claim, equal, integers, rationals, reals, suppose
from clusterproof.theory.exact.quadrature import gaussian_nodes

Spread = Annotated[float, reals(1e-4, 0.49999)]
SmallSpread = Annotated[float, reals(1e-4, 0.25)]
Correlation = Annotated[float, reals(-1, 1)]
Argument = Annotated[float, reals(0, 0.999)]
Exponent = Annotated[float, reals(-20, 0.999)]
Power = Annotated[int, integers(0, 20, upwards=True)]
Positive = Annotated[Fraction, rationals(0, 3, 4, upwards=True)]
Number = Annotated[Fraction, rationals(-3, 3, 2, upwards=True, downwards=True)]


@claim("cfl-mgd/row-lemma", label="Lemma R", judges="ours", tight=True, evaluations=2000)
def row_lemma(spread: Spread, correlation: Correlation, *, scale: float = 2.0) -> Sides:
    """One Gaussian row's gradient is sub-Gaussian with its own covariance, up to a factor gamma.

    Hypotheses
        x ~ N(0, Sigma), y = x' theta + N(0, s^2), g = x (x' e - eps), tau^2 = s^2 + e' Sigma e,
        2 tau sqrt(nu' Sigma nu) < 1.

    Statement
        log E exp<nu, g - E g> <= (nu' C_e nu / 2) gamma(2 tau sqrt(nu' Sigma nu)), where C_e = tau^2 Sigma +
        Sigma e e' Sigma and gamma(z) = 2 (-log(1 - z) - z) / z^2.

    Proof
        <nu, g> is a product of two Gaussians; the left side is [psi(c + x) + psi(c - x)] / 2 with c = nu' Sigma e,
        x = tau sqrt(nu' Sigma nu), psi(z) = -log(1 - z) - z, and psi(z) / z^2 increases.

    Symbols
        e = chi - theta, s ``noise``.

    Source
        Ours. Tight: equal to second order at nu = 0, and the 2 in the argument cannot be a 1.
    """
    covariance, x = correlation * spread, spread
    return at_most(
        gradient_cumulant(covariance, x), gamma=(covariance**2 + x**2) * float(gamma(scale * x)) / 2
    )


@row_lemma.step("gamma", evaluations=500)
def pole(argument: Argument) -> Sides:
    """gamma(z) is at most 1 / (1 - z)."""
    return at_most(float(gamma(argument)), pole=1 / (1 - argument))


@row_lemma.step("covariance")
def covariance(
    small: Positive, large: Positive, noise: Positive, nu: Number, nu_2: Number, e: Number, e_2: Number
) -> Sides:
    """c^2 + x^2 = nu' C_e nu, here with Sigma = diag(small, large) and noise = s^2."""
    tau_squared = noise + small * e**2 + large * e_2**2
    c = nu * small * e + nu_2 * large * e_2
    x_squared = tau_squared * (small * nu**2 + large * nu_2**2)
    first, second = small * e, large * e_2
    matrix = (tau_squared * small + first**2, first * second, tau_squared * large + second**2)
    form = matrix[0] * nu**2 + 2 * matrix[1] * nu * nu_2 + matrix[2] * nu_2**2
    return equal((c**2 + x_squared, form))


@row_lemma.step("two logarithms")
def two_logarithms(c: Number, x: Positive) -> Sides:
    """(1 - c)^2 - x^2 is the product whose logarithm is psi's, and the squares of c + x and c - x add up."""
    return equal(
        ((1 - c) ** 2 - x**2, (1 - (c + x)) * (1 - (c - x))), ((c + x) ** 2 + (c - x) ** 2, 2 * (c**2 + x**2))
    )


@row_lemma.step("moment", evaluations=200)
def moment(spread: SmallSpread, correlation: Correlation) -> Sides:
    """E e^(a w) = ((1 - c)^2 - x^2)^(-1/2), against Gauss and Hermite's quadrature in both variables."""
    nodes, weights = gaussian_nodes(100)
    other = correlation * nodes[:, None] + math.sqrt(1 - correlation**2) * nodes
    moments = weights @ np.exp(spread * nodes[:, None] * other) @ weights
    c = correlation * spread
    return equal((float(moments) * math.sqrt((1 - c) ** 2 - spread**2), 1.0), rounding=1e-9)


@row_lemma.step("psi", evaluations=500)
def psi(lower: Exponent, upper: Exponent) -> Sides:
    """psi(z) / z^2 increases on (-infinity, 1), psi(z) = -log(1 - z) - z."""
    suppose("lower <= upper", lower <= upper)
    suppose("z is not lost in rounding", min(abs(lower), abs(upper)) > 1e-3)
    ends = np.array([lower, upper])
    ratio = (-np.log1p(-ends) - ends) / ends**2
    return at_most(float(ratio[0]), later=float(ratio[1]))


@row_lemma.step("coefficients")
def coefficients(i: Power) -> Sides:
    """The coefficients 2 / (i + 2) of gamma are at most those of its pole."""
    return at_most(Fraction(2) / (i + 2), pole=1)
