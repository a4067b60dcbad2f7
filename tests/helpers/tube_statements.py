"""The norm inequality W, evaluated from the printed Lemma N, and what Theorem D puts into it at one round.

Nothing of clusterproof is imported. Double precision suffices: each form is a short expression of positive terms, or a
sum of positive terms over the past. Only gamma subtracts, for which a series takes over at small arguments.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import chdtri


@dataclass(frozen=True)
class Past:
    """The rounds (or local steps) k < t that act on a chain's error at t, one entry each.

    ``response`` is h_(t,k) mode by mode, (t, d); ``own_weight`` w_k and ``false_weight`` w_k^x; ``reach`` y_k and
    ``false_reach`` R_k; ``drift`` bounds the drift, without the factor max_j |h_j|; ``tail`` is the factor
    eta / (N n') of one row's gradient; ``has_false`` whether n_in,k > 0; ``fluctuation`` the step's coefficient.
    """

    response: np.ndarray
    own_weight: np.ndarray
    false_weight: np.ndarray
    reach: np.ndarray
    false_reach: np.ndarray
    drift: np.ndarray
    tail: np.ndarray
    has_false: np.ndarray
    fluctuation: np.ndarray


@dataclass(frozen=True)
class Arguments:
    """bias_t and the arguments of W: tr, op, Gamma, v (None where only tr and op are known) and eps_1."""

    bias: float
    tr: float
    op: float
    scale: float
    v: np.ndarray | None
    eps_1: float


def constant_responses(a: np.ndarray, momentum: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Pi_t and h_t of each mode, (steps + 1, d): Pi_-1 = Pi_0 = 1; h_-1 = 0, h_0 = 1."""
    path, impulse = np.ones((steps + 2, len(a))), np.ones((steps + 2, len(a)))
    impulse[0] = 0
    for t in range(1, steps + 1):
        path[t + 1] = (1 + momentum - a) * path[t] - momentum * path[t - 1]
        impulse[t + 1] = (1 + momentum - a) * impulse[t] - momentum * impulse[t - 1]
    return path[1:], impulse[1:]


def varying_responses(
    a: np.ndarray, momentum: float, held: np.ndarray, resets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same for a step a_t, (S, d), that varies: the path (S + 1, d), and the response at t to a disturbance of step
    k < t, (S + 1, S, d). In held steps the state stands still; before steps with a reset e_(t-1) := e_t.
    """
    steps, d = a.shape
    path = np.ones((steps + 1, d))
    impulse = np.zeros((steps + 1, steps, d))
    before = np.ones(d)
    impulse_before = np.zeros((steps, d))
    for t in range(steps):
        if resets[t]:
            before, impulse_before = path[t], impulse[t].copy()
        if held[t]:
            path[t + 1], impulse[t + 1] = path[t], impulse[t]
            continue
        path[t + 1] = (1 + momentum - a[t]) * path[t] - momentum * before
        impulse[t + 1] = (1 + momentum - a[t]) * impulse[t] - momentum * impulse_before
        impulse[t + 1, t] = 1
        before, impulse_before = path[t], impulse[t].copy()
    return path, impulse


def arguments(past: Past, spectrum: np.ndarray, spectra: np.ndarray, noise: float) -> Arguments:
    """bias_t, v_j, eps_1, tr, op and Gamma_t; ``spectrum`` is the chain's, ``spectra`` all clusters', (P, d)."""
    L = spectra.max()
    widest = np.abs(past.response).max(1)  # max_j |h_j|
    weighted = (np.abs(past.response) * spectrum).max(1)  # max_j |h_j| lambda_j
    own, false = noise**2 + L * past.reach**2, noise**2 + L * past.false_reach**2  # tau^2, tau_x^2
    bias = math.fsum(widest * past.drift)
    common = np.all(spectra == spectra[0])
    power = past.own_weight * own + (past.false_weight * false if common else 0)
    v = (power[:, None] * past.response**2).sum(0) * spectrum
    rank_one = past.own_weight * past.reach**2 + (past.false_weight * past.false_reach**2 if common else 0)
    eps_1 = math.fsum((rank_one + past.fluctuation * past.reach**2) * weighted**2)
    tr, op = v.sum() + eps_1, v.max() + eps_1
    known = common or not past.has_false.any()
    if not known:  # the false members' part, with bounds
        at = past.false_weight * widest**2
        tr += math.fsum(at * (false * spectra.sum(1).max() + L**2 * past.false_reach**2))
        op += math.fsum(at * (false * L + L**2 * past.false_reach**2))
    tau = np.sqrt(np.where(past.has_false, np.maximum(own, false), own))
    scale = float((2 * past.tail * widest * math.sqrt(L) * tau).max())
    return Arguments(bias, float(tr), float(op), scale, v if known else None, eps_1)


def theorem_d_past(
    t: int,
    impulse: np.ndarray,
    *,
    own: int,
    clients: int,
    rows: int,
    step: float,
    L: float,
    reach: np.ndarray,
    diameter: float,
    n_in: np.ndarray,
    n_out: np.ndarray,
) -> Past:
    """Theorem D: alpha = eta l_p, w = eta^2 l_p / (m n'), w_x = eta^2 n_in / (m^2 n'), R = D + y, from y_k, k < t."""
    y, n_in, n_out = reach[:t], n_in[:t], n_out[:t]
    R, flat = diameter + y, np.ones(t)
    return Past(
        response=impulse[t - 1 :: -1][:t] if t else impulse[:0],  # h_(t-1-k)
        own_weight=step**2 * (own / clients) / (clients * rows) * flat,
        false_weight=step**2 * n_in / (clients**2 * rows),
        reach=y,
        false_reach=R,
        drift=step * L / clients * (n_in * R + n_out * y),
        tail=step / (clients * rows) * flat,
        has_false=n_in > 0,
        fluctuation=0 * flat,
    )


def participation_past(
    t: int,
    response: np.ndarray,
    *,
    members: np.ndarray,
    divisor: np.ndarray,
    rows: int,
    step: float,
    local_steps: int,
    reach: np.ndarray,
    inside: bool = False,
    fluctuation: float = 0.0,
) -> Past:
    """Participation: w_i = eta^2 k_i / (N_i^2 n'), one row's factor eta / (N_i n'); k_i ``members``, N_i ``divisor``.

    ``response`` is (t, d). Option II has the divisor k_i, whose w_i is eta^2 / (k_i n'); ``inside`` a round the
    client's own noise, eta^2 / n', replaces the mean's from the round's start on. On the record k_i is known; rounds
    with k_i = 0 add no noise. Before the run: k_i the least count where N_i is the same, else the largest, with the
    ``fluctuation`` of the step.
    """
    rounds = np.arange(t) // local_steps
    k, N = members[rounds].astype(float), divisor[rounds].astype(float)
    if inside:
        k[rounds == t // local_steps] = N[rounds == t // local_steps] = 1
    N[k == 0] = math.inf
    zero = np.zeros(t)
    return Past(
        response=response,
        own_weight=step**2 * k / (N**2 * rows),
        false_weight=zero,
        reach=reach[:t],
        false_reach=zero,
        drift=zero,
        tail=step / (N * rows),
        has_false=zero > 0,
        fluctuation=zero + fluctuation,
    )


def counted_past(
    t: int,
    response: np.ndarray,
    *,
    members: np.ndarray,
    divisor: np.ndarray | None,
    rows: int,
    step: float,
    L: float,
    reach: np.ndarray,
    diameter: float,
    n_in: np.ndarray,
    n_out: np.ndarray,
) -> Past:
    """On the record with misassigned clients counted; ``divisor`` None is the cluster's members.

    There a = k - n_out >= 1 own members are sure: ||mis|| <= n_in / (a + n_in) L (D + 2y), the own rows' weight is
    at most eta^2 / (a n'), the false members' eta^2 i / ((a + i)^2 n') at i = min(n_in, a), one row's factor
    eta / (a n').
    """
    k, n_in, n_out, y = members[:t], n_in[:t], n_out[:t], reach[:t]
    R = diameter + y
    if divisor is None:
        a = (k - n_out).astype(float)
        i = np.minimum(n_in, a)
        own, false, tail = 1 / a, i / (a + i) ** 2, 1 / a
        drift = n_in / (a + n_in) * L * (diameter + 2 * y)
    else:
        N = divisor[:t].astype(float)
        own, false, tail = k / N**2, n_in / N**2, 1 / N
        drift = L / N * (n_in * R + n_out * y)
    return Past(
        response=response,
        own_weight=step**2 * own / rows,
        false_weight=step**2 * false / rows,
        reach=y,
        false_reach=R,
        drift=step * drift,
        tail=step * tail / rows,
        has_false=n_in > 0,
        fluctuation=0 * y,
    )


def step_fluctuation(step: float, clients: int, drawn: int, divisor: int) -> float:
    """Before the run, divisor K or m: the coefficient (eta^2 K / (4 N^2)) (1 - (K - 1) / m) of h^2 y^2 in eps_1."""
    return step**2 * drawn / (4 * divisor**2) * (1 - (drawn - 1) / clients)


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
