"""Lemma R bounds the cumulant of one sample's gradient, and Lemma N bounds the norm of a sum.

This module checks the steps of the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from clusterproof.checker.claims import Sides, at_least, at_most, claim, equal, suppose
from clusterproof.checker.claims.ranges import choice, integers, rationals, reals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.theory.bounds.norm_inequality import (
    ball_quantile,
    first_form,
    norm_bound,
    second_form,
)
from clusterproof.theory.bounds.rows import gamma, gradient_cumulant


@lru_cache(maxsize=8)
def gaussian_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of a quadrature: E f(z) = weights @ f(nodes) for z ~ N(0, 1) and polynomials f.

    Parameters
    ----------
    count
        Number of nodes. The formula is exact for polynomials of degree at most 2 ``count`` - 1.

    Returns
    -------
    tuple
        The nodes and the weights, each of shape (count,). They are cached, so do not modify them.
    """
    nodes, weights = hermegauss(count)
    weights = weights / math.sqrt(2 * math.pi)
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


Dimension = Annotated[int, choice(1, 2, 10, 100)]
Rows = Annotated[int, choice(1, 5, 1000)]
Failure = Annotated[float, choice(0.5, 0.1, 0.01)]
Radius = Annotated[float, reals(0.01, 400)]
Scale = Annotated[float, choice(0.0, 0.01, 0.1, 1.0)]
Size = Annotated[float, reals(0.01, 10)]
Shift = Annotated[float, reals(-3, 3)]
Positive = Annotated[Fraction, rationals(Fraction(1, 4), 3, 4, upwards=True)]


@claim(
    "cfl-mgd/norm-inequality",
    label="Lemma N",
    source="ours",
    replicates=2000,
    evaluations=36,
    expected="consistent, tight within 2",
)
def norm_inequality(
    dimension: Dimension, rows: Rows, failure: Failure, replicates: Replicates, stream: Stream
) -> Sides:
    """With probability at least 1 - e^-u, the norm of a sum of heavy-tailed terms is at most an explicit number W.

    Hypotheses
        S = sum_k xi_k in R^d with log E[exp<theta, xi_k> | past] <= (theta' V_k theta / 2) gamma(Gamma ||theta||)
        wherever Gamma ||theta|| < 1, sum_k V_k <= diag(v) + E, tr E <= eps_1.

    Statement
        P(||S|| > W(tr, op, Gamma, u, d; v, eps_1)) <= e^-u. Here W is the smallest of three explicit bounds N1, N2 and
        N3. For Gamma = 0, W is at most sqrt(tr) + sqrt(2 op u').

    Proof
        For each direction, there is a supermartingale. N1 averages these supermartingales over a Gaussian posterior
        restricted to a ball (Donsker-Varadhan). N2 averages them over a restricted, symmetric Gaussian prior (method
        of mixtures). N3 is Chernoff's bound in one dimension.

    Symbols
        tr and op are the trace and the largest eigenvalue of the covariance, and u = log(1 / failure).

    Source
        Ours, after Catoni and Giulini (2017) and Chugg, Wang and Ramdas (2023).
    """
    residuals = stream.chisquare(rows, replicates)
    norms = np.sqrt(residuals / rows * stream.chisquare(dimension, replicates))
    bound = norm_bound(
        dimension, 1.0, 2 / math.sqrt(rows), -math.log(failure), dimension, profile=np.ones(dimension)
    )
    return at_most(norms, norm=float(bound.radius), failure=failure)


@norm_inequality.step("divergence")
def divergence(b: Positive, c: Positive, away: Positive) -> Sides:
    """N1, step (2): the posterior is symmetric about its centre, so log(posterior / prior) has mean b c^2 / 2."""
    at = [b / 2 * ((c + z) ** 2 - z**2) for z in (away, -away)]
    return equal(((at[0] + at[1]) / 2, b * c**2 / 2))


@norm_inequality.step("restricted posterior", evaluations=200)
def restricted_posterior(dimension: Dimension, radius: Radius) -> Sides:
    """N1, step (4): a standard Gaussian restricted to a centred ball has variance at most 1 along each axis."""
    from scipy.special import chdtr

    mass = float(chdtr(dimension, radius))
    suppose("the ball has mass", mass > 1e-9)
    return at_most(float(chdtr(dimension + 2, radius)) / mass, whole=1.0)


@norm_inequality.step("N1 without a search")
def without_a_search(root_of_op: Positive, root_of_tr: Positive, root_of_2u: Positive) -> Sides:
    """For c = sqrt(2 u' / (g op)) and b = sqrt(g tr) / c, N1 is sqrt(g tr) + sqrt(2 g op u'). Here g = 1."""
    c = root_of_2u / root_of_op
    b = root_of_tr / c
    value = root_of_op**2 * c / 2 + root_of_tr**2 / (2 * b * c) + b * c / 2 + root_of_2u**2 / (2 * c)
    return equal((value, root_of_tr + root_of_op * root_of_2u))


@norm_inequality.step("Gaussian integral", evaluations=200)
def gaussian_integral(b: Size, variance: Size, g: Size, along: Shift) -> Sides:
    """N2, step (4): check the closed form of the prior mean of exp(theta s - g v theta^2 / 2) along an axis."""
    nodes, weights = gaussian_nodes(100)
    shrunk = 1 / (b + g * variance)
    suppose("the quadrature converges", along**2 * shrunk < 20)
    # integrated against the Gaussian factor of the exponent
    theta = nodes * math.sqrt(shrunk)
    density = np.exp(along * theta - g * variance * theta**2 / 2 - b * theta**2 / 2 + nodes**2 / 2)
    mean = float(weights @ density) * math.sqrt(shrunk * b)
    closed = math.exp(along**2 * shrunk / 2) / math.sqrt(1 + g * variance / b)
    return equal((mean / closed, 1.0), rounding=1e-9)


@norm_inequality.step("volume", evaluations=60)
def volume(dimension: Dimension, b: Size, g: Size, stream: Stream) -> dict[str, Sides]:
    """N2, step (5): log det(I + g V / b) is at most both forms of Lambda, and s' (b I + g V)^-1 s >= 1 / (b + g op)."""
    profile = stream.exponential(size=dimension)
    errors = stream.standard_normal((dimension, 2)) * stream.uniform(0, 1)
    slack = float((errors**2).sum())
    covariance = np.diag(profile) + errors @ errors.T
    exact = float(np.linalg.slogdet(np.eye(dimension) + g * covariance / b)[1])
    ratio = g / b
    known = float(np.log1p(ratio * profile).sum())
    direction = stream.standard_normal(dimension)
    direction /= np.linalg.norm(direction)
    inside = direction @ np.linalg.solve(b * np.eye(dimension) + g * covariance, direction)
    trace, largest = float(profile.sum()) + slack, float(profile.max()) + slack
    return {
        "known profile": at_most(exact, profile=known, error=g * slack / (b + g * float(profile.min()))),
        "known trace": at_most(exact, trace=dimension * math.log1p(ratio * trace / dimension)),
        "inverse": at_least(float(inside), norm=1 / (b + g * largest)),
    }


@norm_inequality.step("what the search found", evaluations=60)
def found(dimension: Dimension, scale: Scale, failure: Failure, stream: Stream) -> dict[str, Sides]:
    """W equals its formula at the parameters that the search returns, and g is large enough for the tail."""
    profile, slack = stream.exponential(size=dimension), float(stream.exponential())
    trace, largest = float(profile.sum()) + slack, float(profile.max()) + slack
    level = -math.log(failure)
    bound = norm_bound(trace, largest, scale, level, dimension, profile=profile, slack=slack)
    form, radius, b, c, g = (
        float(value) for value in (bound.form, bound.radius, bound.inverse_variance, bound.tilt, bound.factor)
    )
    truncation = float(bound.truncation)
    if form == 3:
        needed, value = scale * c, c * trace * g / 2 + (level + math.log(2)) / c
    else:
        beyond = math.sqrt(ball_quantile(dimension, truncation) / b)
        needed = scale * ((c if form == 1 else radius / b) + beyond)
        value = float(
            first_form(trace, largest, scale, level, dimension, b=b, c=c, truncation=truncation)
            if form == 1
            else second_form(
                trace,
                largest,
                level,
                dimension,
                b=b,
                g=g,
                truncation=truncation,
                profile=profile,
                slack=slack,
            )
        )
    return {
        "radius": at_most(value, radius=radius),
        "factor": at_most(float(gamma(needed)), g=g),
    }


Spread = Annotated[float, reals(1e-4, 0.49999)]
SmallSpread = Annotated[float, reals(1e-4, 0.25)]
Correlation = Annotated[float, reals(-1, 1)]
Argument = Annotated[float, reals(0, 0.999)]
Exponent = Annotated[float, reals(-20, 0.999)]
Power = Annotated[int, integers(0, 20, upwards=True)]
FromZero = Annotated[Fraction, rationals(0, 3, 4, upwards=True)]
Number = Annotated[Fraction, rationals(-3, 3, 2, upwards=True, downwards=True)]


@claim(
    "cfl-mgd/row-lemma",
    label="Lemma R",
    source="ours",
    tight=True,
    evaluations=2000,
    expected="consistent, tight within 2",
)
def row_lemma(spread: Spread, correlation: Correlation, *, scale: float = 2.0) -> Sides:
    """The gradient of one Gaussian sample is sub-Gaussian with its own covariance, up to a factor gamma.

    Hypotheses
        x ~ N(0, Sigma), y = x' theta + N(0, s^2), g = x (x' e - eps), tau^2 = s^2 + e' Sigma e,
        2 tau sqrt(nu' Sigma nu) < 1.

    Statement
        log E exp<nu, g - E g> <= (nu' C_e nu / 2) gamma(2 tau sqrt(nu' Sigma nu)), where C_e = tau^2 Sigma +
        Sigma e e' Sigma and gamma(z) = 2 (-log(1 - z) - z) / z^2.

    Proof
        <nu, g> is a product of two Gaussians. The left side is [psi(c + x) + psi(c - x)] / 2 with c = nu' Sigma e,
        x = tau sqrt(nu' Sigma nu), psi(z) = -log(1 - z) - z, and psi(z) / z^2 increases.

    Symbols
        e = chi - theta, and s is ``noise``.

    Source
        Ours. Both sides agree to second order at nu = 0, so the bound cannot be improved to this order. Moreover, the
        factor 2 in the argument of gamma cannot be replaced by 1.
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
    small: FromZero, large: FromZero, noise: FromZero, nu: Number, nu_2: Number, e: Number, e_2: Number
) -> Sides:
    """c^2 + x^2 equals nu' C_e nu. Here Sigma = diag(small, large) and noise = s^2."""
    tau_squared = noise + small * e**2 + large * e_2**2
    c = nu * small * e + nu_2 * large * e_2
    x_squared = tau_squared * (small * nu**2 + large * nu_2**2)
    first, second = small * e, large * e_2
    matrix = (tau_squared * small + first**2, first * second, tau_squared * large + second**2)
    form = matrix[0] * nu**2 + 2 * matrix[1] * nu * nu_2 + matrix[2] * nu_2**2
    return equal((c**2 + x_squared, form))


@row_lemma.step("two logarithms")
def two_logarithms(c: Number, x: FromZero) -> Sides:
    """(1 - c - x) (1 - c + x) = (1 - c)^2 - x^2, and (c + x)^2 + (c - x)^2 = 2 (c^2 + x^2)."""
    return equal(
        ((1 - c) ** 2 - x**2, (1 - (c + x)) * (1 - (c - x))), ((c + x) ** 2 + (c - x) ** 2, 2 * (c**2 + x**2))
    )


@row_lemma.step("moment", evaluations=200)
def moment(spread: SmallSpread, correlation: Correlation) -> Sides:
    """Compare the formula E e^(a w) = ((1 - c)^2 - x^2)^(-1/2) with Gauss-Hermite quadrature in both variables."""
    nodes, weights = gaussian_nodes(100)
    other = correlation * nodes[:, None] + math.sqrt(1 - correlation**2) * nodes
    moments = weights @ np.exp(spread * nodes[:, None] * other) @ weights
    c = correlation * spread
    return equal((float(moments) * math.sqrt((1 - c) ** 2 - spread**2), 1.0), rounding=1e-9)


@row_lemma.step("psi", evaluations=500)
def psi(lower: Exponent, upper: Exponent) -> Sides:
    """psi(z) / z^2 increases on (-infinity, 1), where psi(z) = -log(1 - z) - z."""
    suppose("lower <= upper", lower <= upper)
    suppose("z is not lost in rounding", min(abs(lower), abs(upper)) > 1e-3)
    ends = np.array([lower, upper])
    ratio = (-np.log1p(-ends) - ends) / ends**2
    return at_most(float(ratio[0]), later=float(ratio[1]))


@row_lemma.step("coefficients")
def coefficients(i: Power) -> Sides:
    """The coefficients 2 / (i + 2) of gamma's power series are at most 1, the coefficients of 1 / (1 - z)."""
    return at_most(Fraction(2) / (i + 2), pole=1)
