"""The norm inequality W, evaluated from the printed Lemma N: its three forms, and their least value.

Nothing of clusterproof is imported. Double precision suffices: each form is a short expression of positive terms, and
only gamma subtracts, for which a series takes over at small arguments.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import chdtri


def gamma(z: float) -> float:
    """gamma(z) = 2 (-log(1 - z) - z) / z^2 = 2 sum_i z^i / (i + 2); infinite for z >= 1."""
    if z >= 1:
        return math.inf
    if z < 0.05:
        return 2 * math.fsum(z**i / (i + 2) for i in range(14))
    return 2 * (-math.log1p(-z) - z) / z**2


@functools.cache
def ball_quantile(d: int, eps: float) -> float:
    """q, the quantile of chi^2_d of order 1 - eps."""
    return float(chdtri(d, eps))


def scale_factor(scale: float, length: float, b: float, q: float) -> float:
    """gamma(Gamma (length + sqrt(q / b))), the least g that N1 (length c) and N2 (length r / b) admit."""
    return gamma(scale * (length + math.sqrt(q / b)))


def determinant(tr: float, d: int, v: Sequence[float] | None, eps_1: float, b: float, g: float) -> float:
    """Lambda of N2."""
    if v is None:
        return d * math.log1p(g * tr / (d * b))
    return float(np.log1p(g * np.asarray(v) / b).sum()) + g * eps_1 / (b + g * min(v))


def first_form(tr: float, op: float, u: float, b: float, c: float, g: float, eps: float) -> float:
    """N1: r = g (op c / 2 + tr / (2 b c)) + b c / 2 + u' / c."""
    return g * (op * c / 2 + tr / (2 * b * c)) + b * c / 2 + (u - math.log1p(-eps)) / c


def second_form(
    tr: float,
    op: float,
    u: float,
    d: int,
    v: Sequence[float] | None,
    eps_1: float,
    b: float,
    g: float,
    eps: float,
) -> float:
    """N2: r^2 = (b + g op) (2u' + Lambda)."""
    return math.sqrt((b + g * op) * (2 * (u - math.log1p(-eps)) + determinant(tr, d, v, eps_1, b, g)))


def third_form(tr: float, scale: float, u: float, x: float) -> float:
    """N3, d = 1: r = x v gamma(Gamma x) / 2 + (u + log 2) / x."""
    return x * tr * gamma(scale * x) / 2 + (u + math.log(2)) / x


def least_second(
    tr: float,
    op: float,
    scale: float,
    u: float,
    d: int,
    v: Sequence[float] | None,
    eps_1: float,
    b: float,
    eps: float,
) -> float:
    """N2 at b and eps with the least g that is admitted: the limit of g <- gamma(Gamma (r / b + sqrt(q / b)))."""
    q, g = ball_quantile(d, eps) if scale else 0.0, 1.0
    for _ in range(400):
        r = second_form(tr, op, u, d, v, eps_1, b, g, eps)
        needed = scale_factor(scale, r / b, b, q)
        if needed > 200:
            return math.inf
        if needed - g <= 1e-13 * g:
            return second_form(tr, op, u, d, v, eps_1, b, max(g, needed), eps)
        g = needed
    return math.inf


def least_norm(
    tr: float, op: float, scale: float, u: float, d: int, v: Sequence[float] | None = None, eps_1: float = 0.0
) -> float:
    """W: the infimum of the three forms over b, c, g and eps in (0, 1), from several starts."""
    if tr == 0:
        return 0.0
    unit = math.sqrt(op * tr / (2 * u))
    found = []

    def second(point: np.ndarray) -> float:
        eps = 1 / (1 + math.exp(-min(point[1], 30)))
        return least_second(tr, op, scale, u, d, v, eps_1, unit * math.exp(point[0]), max(eps, 1e-300))

    def first(point: np.ndarray) -> float:
        b, c, eps = unit * math.exp(point[0]), math.exp(point[1]), 1 / (1 + math.exp(-min(point[2], 30)))
        q = ball_quantile(d, eps) if scale else 0.0
        return first_form(tr, op, u, b, c, scale_factor(scale, c, b, q), eps)

    options = {"xatol": 1e-9, "fatol": 1e-13 * math.sqrt(tr), "maxiter": 2000, "maxfev": 2000}
    grid = [
        (z, least_second(tr, op, scale, u, d, v, eps_1, unit * math.exp(z), 0.01))
        for z in np.linspace(-4, 8, 25)
    ]
    start, value = min(grid, key=lambda pair: pair[1])
    if math.isfinite(value):
        found.append(minimize(second, [start, math.log(0.01)], method="Nelder-Mead", options=options).fun)
    # N1 is finite for any Gamma: c takes a part of x / Gamma and sqrt(q / b) the rest, unless Gamma asks for less
    starts = []
    free = math.sqrt(2 * u / op)
    for x in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99):
        for part in (0.2, 0.35, 0.5, 0.65, 0.8):
            for eps in (0.03, 0.3):
                c = min(free / math.sqrt(gamma(x)), part * x / scale) if scale else free
                rest = ball_quantile(d, eps) * (scale / ((1 - part) * x)) ** 2 if scale else 0.0
                b = max(math.sqrt(gamma(x) * tr) / c, rest)
                starts.append([math.log(b / unit), math.log(c), math.log(eps / (1 - eps))])
    best = min(starts, key=lambda point: first(np.array(point)))
    if not found or first(np.array(best)) < 1.1 * min(found):
        for _ in range(2):  # a second simplex from where the first one stopped
            result = minimize(first, best, method="Nelder-Mead", options=options)
            best = result.x
        found.append(result.fun)
    if d == 1:
        free = math.sqrt(2 * (u + math.log(2)) / tr)
        top = min(free * 4, (1 - 1e-12) / scale) if scale else free * 4
        found.append(
            minimize_scalar(
                lambda x: third_form(tr, scale, u, x),
                bounds=(0, top),
                method="bounded",
                options={"xatol": 1e-10 * top},
            ).fun
        )
    return min(found)
