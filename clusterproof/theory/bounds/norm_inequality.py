"""The bound W on the norm of a martingale sum with sub-gamma increments.

**Lemma N** (``cfl-mgd/norm-inequality``). Let S = sum_k xi_k with values in R^d, a filtration and predictable V_k >=
0 such that log E[exp<theta, xi_k> | past] <= (theta' V_k theta / 2) gamma(Gamma ||theta||) wherever Gamma ||theta|| <
1. Let sum_k V_k <= diag(v) + E in a fixed orthonormal basis, where v is deterministic, and E >= 0 is random with tr E
<= eps_1. Write tr = sum v_j + eps_1, op = max v_j + eps_1, q for the chi^2_d quantile of order 1 - eps, and u' = u +
log(1 / (1 - eps)). Then P(||S|| > r) <= e^-u for each of these r:

    N1  r = g (op c / 2 + tr / (2 b c)) + b c / 2 + u' / c, any b, c > 0,        g = gamma(Gamma (c + sqrt(q / b)))
    N2  r^2 = (b + g op) (2 u' + Lambda), any b > 0, any g >= gamma(Gamma (r / b + sqrt(q / b))),
        Lambda = sum_j log(1 + g v_j / b) + g eps_1 / (b + g min v); d log(1 + g tr / (d b)) if v is unknown
    N3  d = 1: r = x tr gamma(Gamma x) / 2 + (u + log 2) / x, any x > 0

*Proof of N1.* (1) For fixed theta, exp(<theta, S_k> - gamma(Gamma ||theta||) theta' V^(k) theta / 2) is a
supermartingale that starts at 1 (set it to 0 where Gamma ||theta|| >= 1). (2) Take the prior N(0, I/b) and the
posterior N(c S/||S||, I/b) restricted to the ball of radius sqrt(q/b) about its centre, which has probability 1 -
eps. The divergence is log(1 / (1 - eps)) + b c^2 / 2. (3) By Donsker-Varadhan and Markov, with probability 1 - e^-u,
for all posteriors at once, the mean of the logarithm is at most divergence + u. (4) On the support ||theta|| <= c +
sqrt(q/b), so gamma <= g. The mean of theta' V theta is at most c^2 op + tr / b, because restricting a Gaussian to a
ball about its centre shrinks its covariance. (5) The mean of <theta, S> is c ||S||; divide by c. (Catoni, Giulini
2017; Chugg, Wang, Ramdas 2023.)

*Proof of N2.* The prior restricted to ||theta|| <= r / b + sqrt(q / b) =: R leads to a variable Z with E Z <= 1. It
is even, so Z is an integral of cosh and increases with ||S||: on {||S|| >= r} it is at least its value at r S/||S||,
which is prod (1 + g w_j / b)^(-1/2) exp(r^2 s' A s / 2) P(N(m, A) in the ball), A = (b I + g V)^-1 <= I / b, ||m|| <=
r / b: the probability is at least 1 - eps. s' A s >= 1 / (b + g op) and log det(I + g V / b) <= Lambda. N2 follows
from Markov's inequality.

N3 is Chernoff's bound for x and -x. The bounds are valid for all admissible b, c and g, so a poor search only makes
them looser.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from clusterproof.theory.bounds.rows import gamma

TRUNCATIONS = (0.01, 0.3)
"""Values of eps. N1 and N2 use the first value, and N1 also tries the second value."""

LARGEST_FACTOR = 50.0
"""Largest g for which the bound uses N2."""

COARSE = np.geomspace(0.02, 8, 13)
FINE = np.geomspace(1 / 1.5, 1.5, 9)
"""Values of b that N2 tries, in units of sqrt(op tr / 2 u'), and factors to change the best value afterwards."""

STEPS = 40
"""Number of iterations to find the fixed point g. Ten iterations are usually enough."""

LEAST_SCALE = 1e-150
"""Smallest positive Gamma.

If Gamma is smaller, we raise it to this value, so that 1 / Gamma^2 stays finite. This only increases the bounds.
"""

MARGIN = 1 + 1e-7
"""Factor by which the g that we use exceeds the fixed point."""

SPREADS = np.concatenate([np.arange(1, 100) / 100, [0.993, 0.997, 0.999]])
SHARES = np.array([0.2, 0.35, 0.5, 0.65, 0.8])
"""Values of Gamma (c + sqrt(q / b)) that N1 tries, and values for the share of c in this sum."""
SPREAD_OF_PAIR = np.repeat(SPREADS, len(SHARES))[:, None]
SHARE_OF_PAIR = np.tile(SHARES, len(SPREADS))[:, None]
GAMMA_OF_PAIR = gamma(SPREAD_OF_PAIR)
"""All pairs of such a value and a share, and gamma at the value."""


@dataclass(frozen=True)
class NormBound:
    """Bounds on the norms of sums, and the parameters that prove these bounds. All arrays have the same shape (...).

    Attributes
    ----------
    radius
        Radius r with P(||S|| > r) <= e^-u.
    form
        Number of the smallest bound: 1, 2 or 3 for N1, N2 or N3, or 0 if the sum is certainly 0.
    inverse_variance
        Parameter b of N1 and N2.
    tilt
        Parameter c of N1, or x of N3.
    factor
        Parameter g.
    truncation
        Parameter eps of N1 and N2.
    """

    radius: np.ndarray
    form: np.ndarray
    inverse_variance: np.ndarray
    tilt: np.ndarray
    factor: np.ndarray
    truncation: np.ndarray


@lru_cache(maxsize=64)
def ball_quantile(dimension: int, truncation: float) -> float:
    """Return q with P(chi^2_d > q) <= eps, rounded up."""
    from scipy.special import chdtri

    return float(chdtri(dimension, truncation)) * (1 + 1e-12)


def norm_bound(
    trace: Any,
    largest: Any,
    scale: Any,
    level: float,
    dimension: int,
    *,
    profile: np.ndarray | None = None,
    slack: Any = 0.0,
) -> NormBound:
    """Evaluate W(tr, op, Gamma, u, d; v, eps_1), the smallest of the bounds N1, N2 and N3 that a fixed search finds.

    Parameters
    ----------
    trace, largest
        Arguments tr and op, (...).
    scale
        Argument Gamma, (...).
    level
        Argument u = log(1 / failure probability).
    dimension
        Dimension d.
    profile
        Argument v, (..., d), or None if only tr and op are known.
    slack
        Argument eps_1, (...). The arguments tr and op must include it.
    """
    arrays = np.broadcast_arrays(
        *(np.asarray(value, dtype=float) for value in (trace, largest, scale, slack))
    )
    shape = arrays[0].shape
    tr, op, gam, eps = (array.reshape(-1) for array in arrays)
    gam = np.where(gam > 0, np.maximum(gam, LEAST_SCALE), gam)
    v = None if profile is None else np.broadcast_to(profile, (*shape, dimension)).reshape(-1, dimension)
    candidates = [_second(tr, op, gam, level, dimension, v, eps)]
    candidates += [_first(tr, op, gam, level, dimension, truncation) for truncation in TRUNCATIONS]
    if dimension == 1:
        candidates.append(_third(tr, gam, level))
    table = np.stack(candidates)  # axes: candidate, six fields, sums
    best = table[np.argmin(table[:, 0], axis=0), :, np.arange(len(tr))]
    best[~(op > 0)] = 0.0
    return NormBound(*(column.reshape(shape) for column in best.T))


def first_form(
    trace: Any, largest: Any, scale: Any, level: float, dimension: int, *, b: Any, c: Any, truncation: float
) -> np.ndarray:
    """Evaluate N1 for given b and c. The result is infinite where Gamma (c + sqrt(q / b)) >= 1."""
    g = gamma(scale * (c + np.sqrt(ball_quantile(dimension, truncation) / b)))
    raised = level - math.log1p(-truncation)
    return np.asarray(g * (largest * c / 2 + trace / (2 * b * c)) + b * c / 2 + raised / c)


def second_form(
    trace: Any,
    largest: Any,
    level: float,
    dimension: int,
    *,
    b: Any,
    g: Any,
    truncation: float,
    profile: np.ndarray | None = None,
    slack: Any = 0.0,
) -> np.ndarray:
    """Evaluate N2 for given b and g. The caller must ensure that g is large enough for Gamma.

    The shapes are the same as for ``norm_bound``.
    """
    if profile is None:
        volume = dimension * np.log1p(g * trace / (dimension * b))
    else:
        ratio = np.asarray(g / b)
        volume = np.log1p(ratio[..., None] * profile).sum(axis=-1)
        volume = volume + g * slack / (b + g * profile.min(axis=-1))
    raised = level - math.log1p(-truncation)
    return np.asarray(np.sqrt((b + g * largest) * (2 * raised + volume)))


def _second(
    tr: np.ndarray,
    op: np.ndarray,
    gam: np.ndarray,
    level: float,
    dimension: int,
    v: np.ndarray | None,
    eps: np.ndarray,
) -> np.ndarray:
    """Search for the best b in N2, first on a coarse grid and then near the best point.

    The function returns the fields of ``NormBound``.
    """
    truncation = TRUNCATIONS[0]
    quantile = ball_quantile(dimension, truncation)
    unit = np.sqrt(op * tr / (2 * level)) + (op <= 0)
    columns = [array[:, None] for array in (tr, op, gam, eps)]
    spread = None if v is None else v[:, None, :]

    def best(b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        def radius(g: np.ndarray) -> np.ndarray:
            return second_form(
                columns[0],
                columns[1],
                level,
                dimension,
                b=b,
                g=g,
                truncation=truncation,
                profile=spread,
                slack=columns[3],
            )

        g = np.ones_like(b)
        for _ in range(STEPS if gam.any() else 0):
            needed = gamma(columns[2] * (radius(g) / b + np.sqrt(quantile / b)))
            following = np.minimum(needed, 2 * LARGEST_FACTOR)
            converged = (np.abs(following - g) <= 1e-9 * g).all()
            g = following
            if converged:
                break
        g = np.where(columns[2] > 0, g * MARGIN, g)
        r = radius(g)
        valid = gamma(columns[2] * (r / b + np.sqrt(quantile / b))) <= g
        r = np.where(valid & (g <= LARGEST_FACTOR), r, np.inf)
        index = (np.arange(len(b)), np.argmin(r, axis=1))
        return r[index], b[index], g[index]

    coarse = best(unit[:, None] * COARSE)
    fine = best(coarse[1][:, None] * FINE)
    r, b, g = np.where(fine[0] < coarse[0], fine, coarse)
    return np.stack([r, np.full_like(r, 2), b, np.zeros_like(r), g, np.full_like(r, truncation)])


def _first(
    tr: np.ndarray, op: np.ndarray, gam: np.ndarray, level: float, dimension: int, truncation: float
) -> np.ndarray:
    """Search for the best b and c in N1, with a fixed-point iteration and on a grid where N1 is always finite."""
    quantile = ball_quantile(dimension, truncation)
    raised = level - math.log1p(-truncation)
    positive = op > 0
    tr, op = np.where(positive, tr, 1.0), np.where(positive, op, 1.0)
    tilts, inverses, g = [], [], np.ones_like(tr)
    for _ in range(8):
        c = np.sqrt(2 * raised / (g * op))
        b = np.sqrt(g * tr) / c
        tilts.append(c)
        inverses.append(b)
        g = np.minimum(gamma(gam * (c + np.sqrt(quantile / b))), 2 * LARGEST_FACTOR)
    if gam.any():
        share = SHARE_OF_PAIR
        reach = SPREAD_OF_PAIR / np.where(gam > 0, gam, np.nan)
        c = np.minimum(np.sqrt(2 * raised / (GAMMA_OF_PAIR * op)), share * reach)
        b = np.maximum(
            np.sqrt(GAMMA_OF_PAIR * tr) / c, (math.sqrt(quantile) / ((1 - share) * reach)) ** 2 * (1 + 1e-12)
        )
        tilts.extend(c)
        inverses.extend(b)
    c, b = np.array(tilts), np.array(inverses)
    with np.errstate(invalid="ignore"):
        g = gamma(gam * (c + np.sqrt(quantile / b)))
        r = g * (op * c / 2 + tr / (2 * b * c)) + b * c / 2 + raised / c
    r = np.where(np.isnan(r), np.inf, r)
    index = (np.argmin(r, axis=0), np.arange(len(tr)))
    fields = [r[index], np.full_like(tr, 1), b[index], c[index], g[index], np.full_like(tr, truncation)]
    return np.stack(fields)


def _third(tr: np.ndarray, gam: np.ndarray, level: float) -> np.ndarray:
    """Search for the best x in N3."""
    raised = level + math.log(2)
    v = np.where(tr > 0, tr, 1.0)
    tilts, g = [], np.ones_like(v)
    for _ in range(30):
        x = np.sqrt(2 * raised / (g * v))
        tilts.append(x)
        g = np.minimum(gamma(gam * x), 2 * LARGEST_FACTOR)
    if gam.any():
        tilts.extend(SPREADS[:, None] / np.where(gam > 0, gam, np.nan))
    x = np.array(tilts)
    g = gamma(gam * x)
    r = x * v * g / 2 + raised / x
    r = np.where(np.isnan(r), np.inf, r)
    index = (np.argmin(r, axis=0), np.arange(len(v)))
    zero = np.zeros_like(v)
    return np.stack([r[index], zero + 3, zero, x[index], g[index], zero])
