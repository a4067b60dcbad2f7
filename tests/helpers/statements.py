"""The bounds of Theorems A and A', evaluated from their printed statements, and exact second moments.

Each function follows one statement line by line, with its symbols. Nothing of clusterproof is imported. Numbers are
mpmath's at 30 digits, but for sums of positive terms (the beta function), which are floats; ``oracle_moments`` works in
whatever numbers it is given, exact fractions included.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp

CONTEXT = mp.mp.clone()
CONTEXT.dps = 30
real = CONTEXT.mpf


def responses(a: Any, beta: Any, rounds: int) -> tuple[list[Any], list[Any]]:
    """Pi_t and h_t for t = 0..T: x_(t+1) = (1 + beta - a) x_t - beta x_(t-1), Pi_-1 = Pi_0 = 1; h_-1 = 0, h_0 = 1."""
    one = a - a + 1
    path, impulse = [one, one], [one - one, one]
    for _ in range(rounds):
        path.append((1 + beta - a) * path[-1] - beta * path[-2])
        impulse.append((1 + beta - a) * impulse[-1] - beta * impulse[-2])
    return path[1:], impulse[1:]


def norm(vector: Sequence[Any]) -> Any:
    """Euclidean norm."""
    return CONTEXT.sqrt(CONTEXT.fsum(real(x) ** 2 for x in vector))


def regularised_beta(a: Any, x: Any) -> Any:
    """I_x(a, a) = x^a (1 - x)^a / (a B(a, a)) sum_k prod_(i<k) (2a + i) / (a + 1 + i) x^k, x < 1/2.

    Every term is positive and a factor of at most 2x from the last: the sum keeps its digits in double precision.
    """
    total = term = 1.0
    k, half, ratio = 0, float(a), float(x)
    while term > total * 1e-17:
        term *= (2 * half + k) / (half + 1 + k) * ratio
        total += term
        k += 1
    log_beta = 2 * CONTEXT.loggamma(a) - CONTEXT.loggamma(2 * a)
    return CONTEXT.exp(a * CONTEXT.log(x * (1 - x)) - log_beta) / a * total


def worst_pairwise_error(L: float, mu: float, separation: float, s: float, B: float, n: int) -> Any:
    """pi(B), the worst pairwise error in the basin of radius B."""
    if math.isinf(separation):  # one cluster: there is no other to be preferred
        return real(0)
    a0, b0, s2 = CONTEXT.sqrt(real(L)) * B, CONTEXT.sqrt(real(mu)) * (real(separation) - B), real(s) ** 2
    if b0 <= a0:
        return real(1)
    if s2 <= a0 * b0:
        if s2 + a0**2 == 0:
            return real(0)
        rho = (s2 + b0**2) / (s2 + a0**2)
    else:
        x = (b0 - a0) ** 2 / s2
        u = CONTEXT.sqrt(x / (x + 4))
        rho = (1 + u) / (1 - u)
    return regularised_beta(real(n) / 2, 1 / (1 + rho))


def binomial_quantile(N: int, pi: Any, eps: Any) -> int:
    """Q(N, pi; eps): the least k with P(Bin(N, pi) > k) <= eps, by summing the distribution."""
    if pi >= 1:
        return N
    k, term = 0, (1 - real(pi)) ** N
    tail = 1 - term
    while tail > eps and k < N:
        k += 1
        term *= real(pi) / (1 - real(pi)) * (N - k + 1) / k
        tail -= term
    return k


def hypergeometric_quantile(m: int, marked: int, drawn: int, eps: float) -> int:
    """The least k with P(Hyp(m, marked, drawn) > k) <= eps, in exact fractions."""
    tail, k = Fraction(1), -1
    while tail > Fraction(eps):
        k += 1
        tail -= Fraction(math.comb(marked, k) * math.comb(m - marked, drawn - k), math.comb(m, drawn))
    return k


def counts(own: int, m: int, P: int, T: int, pi: Any, delta_1: float) -> tuple[int, int]:
    """(n_in, n_out) = (Q(m - own, pi; delta_1 / 2TP), Q(own, min(1, (P - 1) pi); delta_1 / 2TP))."""
    eps = real(delta_1) / (2 * T * P)
    return binomial_quantile(m - own, pi, eps), binomial_quantile(own, min(real(1), (P - 1) * real(pi)), eps)


def gradient_noise(
    own: int, m: int, n: int, L: float, trace: float, s: float, reach: Any, n_in: int
) -> tuple[Any, Any]:
    """(s^2, tau^2) of section 6, from v_*^2, v_1^2 and v_x^2 of section 2.1; reach is D + B."""
    v_star, v_1 = real(s) ** 2 * trace, real(L) * trace + real(L) ** 2
    v_cross = real(trace) * (real(s) ** 2 + L * reach**2) + real(L) ** 2 * reach**2
    return (own * v_star + n_in * v_cross) / (real(m) ** 2 * n), own * v_1 / (real(m) ** 2 * n)


def theorem_a(
    *,
    r: float,
    C0: float,
    C1: float,
    is_norm: bool,
    eta: float,
    L: float,
    m: int,
    n_in: int,
    n_out: int,
    D: float,
    B: float,
    P: int,
    T: int,
    start: float,
    s2: Any,
    tau2: Any,
    delta_2: float,
    delta_3: float,
) -> tuple[list[Any], Any] | None:
    """R_t + x at t = 0..T and sqrt(P / delta_3) y_T; None where the theorem does not apply."""
    r_bar = real(r) + real(C1) * eta * L * n_out / m
    if r_bar >= 1:
        return None
    b_bar = real(C1) * eta * n_in * L * (real(D) + B) / m
    R = [r_bar**t * C0 * start + b_bar * (1 - r_bar**t) / (1 - r_bar) for t in range(T + 1)]
    gamma = real(1) if is_norm else 1 - r_bar
    # x^2 = F sum_(k<T) [s^2 + tau^2 (R_k + x)^2], that is
    # (1 - F T tau^2) x^2 - 2 F tau^2 S_1 x - F (T s^2 + tau^2 S_2) = 0
    F = P * real(C1) ** 2 * real(eta) ** 2 / (gamma * real(delta_2))
    S1, S2 = sum(R[:T], real(0)), sum((y**2 for y in R[:T]), real(0))
    A, half, C = 1 - F * T * tau2, F * tau2 * S1, F * (T * s2 + tau2 * S2)
    if A <= 0:
        return None
    x = (half + CONTEXT.sqrt(half**2 + A * C)) / A
    if max(R) + x > B:
        return None
    y = real(C0) * start
    for _ in range(T):  # y_(t+1)^2 = (r_bar y_t + b_bar)^2 + C_1^2 eta^2 (s^2 + tau^2 y_t^2)
        y = CONTEXT.sqrt((r_bar * y + b_bar) ** 2 + real(C1) ** 2 * real(eta) ** 2 * (s2 + tau2 * y**2))
    return [value + x for value in R], CONTEXT.sqrt(P / real(delta_3)) * y


def oracle_moments(
    spectrum: Sequence[Any], start: Sequence[Any], alpha: Any, beta: Any, s: Any, N: int, T: int
) -> tuple[list[Any], list[Any]]:
    """||Pi_t e_0||^2 and the variance of e_t, t = 0..T, every client in its own cluster; exact for fractions."""
    modes = range(len(spectrum))
    A = [1 + beta - alpha * spectrum[j] for j in modes]
    M = before = X = [e**2 for e in start]  # e_-1 = e_0
    mean = mean_before = list(start)
    path, variance = [sum(M)], [sum(M) - sum(M)]
    for _ in range(T):
        weighted = sum(spectrum[k] * M[k] for k in modes)
        M, X, before = (
            [
                A[j] ** 2 * M[j]
                - 2 * beta * A[j] * X[j]
                + beta**2 * before[j]
                + alpha**2 / N * (spectrum[j] ** 2 * M[j] + spectrum[j] * weighted + s**2 * spectrum[j])
                for j in modes
            ],
            [A[j] * M[j] - beta * X[j] for j in modes],
            M,
        )
        mean, mean_before = [A[j] * mean[j] - beta * mean_before[j] for j in modes], mean
        path.append(sum(e**2 for e in mean))
        variance.append(sum(M) - path[-1])
    return path, variance
