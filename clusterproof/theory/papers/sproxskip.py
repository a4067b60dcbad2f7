"""Claims on Theorem 8 about SProxSkip, with the constants of the ProxSkip paper."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, at_most, claim, integers, iterate, known, rationals, suppose
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients
from clusterproof.theory.papers.proxskip import Start, contraction

Anywhere = Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]
Tenths = Annotated[Fraction, rationals(Fraction(1, 10), 1, 10)]


@claim(
    "sproxskip/repaired",
    label="Theorem 8, repaired",
    source="ours",
    evaluations=400,
    expected="certified",
    headline=True,
)
def repaired(
    strong_convexity: Annotated[Fraction, rationals(Fraction(1, 2), 2, 2, upwards=True)],
    spread: Annotated[Fraction, rationals(0, 2, 2)],
    noise: Anywhere,
    start: Anywhere,
    pace: Tenths,
    probability: Tenths,
    iterations: Annotated[int, integers(1, 4, upwards=True)],
) -> Sides:
    """SProxSkip converges linearly to a neighbourhood of the optimum, with the constants 2 A'' and 2 Var.

    Hypotheses
        f is mu-strongly convex, with expected smoothness A'': E ||g(x, xi) - g(x*, xi)||^2 <= 2 A'' D_f(x, x*); A = 2
        A'', C = 2 Var, Var = E ||g(x*, xi)||^2; 0 < gamma <= min{1 / mu, 1 / A}. The claim is proved for one
        quadratic with the random curvature mu (1 - s) or mu (1 + s), s = ``spread``, so that A'' = mu (1 + s^2). The
        random gradient at 0 is v or -v, depending on the curvature, and gamma is ``pace`` times the largest allowed
        step size. mu is at least 1/2, s at most 2, and ``pace`` and p are at least 1/10.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, (1 - p^2)^T} Psi_0 + gamma^2 C / min{gamma mu, p^2} with Psi_T = ||x_T - x*||^2
        + (gamma^2 / p^2) ||h_T - h*||^2.

    Source
        Variance Reduced ProxSkip (2022), Theorem 8 and its (9), with the constants of the ProxSkip paper (Mishchenko et
        al., 2022), recalled from memory: E ||g(x, xi) - grad f(x*)||^2 is at most twice the sum of the two squares. The
        claim is an upper bound.
    """
    mu, p, smoothness = strong_convexity, probability, strong_convexity * (1 + spread**2)
    suppose("p > 0 and gamma > 0", p > 0 and pace > 0)
    step = pace * min(1 / mu, 1 / (2 * smoothness))
    shrunk, drift = known(  # the values of gamma mu and gamma v
        lambda: (step * mu, step * noise),
        lambda of: (of[0] > 0, of[0] <= 1, of[0] * (1 - 2 * of[0] * (1 + spread**2)) >= 0),
    )
    rate, least = known(
        lambda: (max(1 - shrunk, 1 - p**2), min(shrunk, p**2)),
        lambda of: (of[0] >= 1 - shrunk, of[0] + of[1] == 1, of[0] >= 0, of[1] > 0),
    )

    def iteration(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """Return E x, E x^2 and the power of the rate after the next iteration.

        x+ = (1 - gamma a) x + gamma c, where E a = mu, E c = 0, E a^2 = mu A'', E a c = mu s v, E c^2 = v^2.
        """
        first, second, power = state
        squared = 1 - 2 * shrunk + shrunk**2 * (1 + spread**2)
        next_first = (1 - shrunk) * first
        moved = known(
            lambda: squared * second - 2 * shrunk * spread * drift * first + drift**2,
            lambda of: (of >= next_first**2, of <= (1 - shrunk) * second + 2 * drift**2),
        )
        next_second = known(
            lambda: moved, lambda of: (of >= next_first**2, of <= rate * second + 2 * drift**2)
        )
        return next_first, next_second, rate * power

    def within(state: tuple[Any, Any, Any], _: int) -> tuple[bool, ...]:
        first, second, power = state
        allowed = least * power * start**2 + 2 * drift**2
        return second >= first**2, second >= 0, power >= 0, least * second <= allowed

    begun = (start, start**2, Fraction(1))
    _, distance, power = iterate(iteration, begun, iterations, invariant=within)
    return at_most(distance, start=power * start**2, floor=2 * drift**2 / least)


@claim(
    "sproxskip/additive",
    label="Additive noise",
    source="ours",
    tight=True,
    evaluations=40,
    expected="certified",
    headline=True,
)
def additive(
    clients: PlanarClients,
    start: Start,
    noise_x: Coordinate,
    noise_y: Coordinate,
    other_noise_x: Coordinate,
    other_noise_y: Coordinate,
) -> Sides:
    """With additive noise, the error has a limit of at most gamma^2 V / (1 - rate), rate as in ``proxskip/sharp``.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex, gamma > 0, p is in (0, 1], and the sum of the h_i is 0. The
        gradients are grad f_i(x_i) + xi_i, where xi is independent of the past, with mean 0 and total variance V = E
        sum ||xi_i||^2.

    Statement
        E Psi_T <= rho^T Psi_0 + gamma^2 V (1 + rho + ... + rho^(T-1)), rho = max{(1 - gamma mu)^2, (1 - gamma L)^2, 1
        - p^2}. The check has T = 1 and an arbitrary state. So the statement for every T follows by induction.

    Proved for
        The clients of ``PlanarClients``, as in ``proxskip/sharp``. The noise of a client is one of two opposite
        vectors.

    Source
        Ours. The claim follows from ``proxskip/identity``, to which the noise adds gamma^2 V. Both sides are equal
        for f_i = mu ||.||^2 / 2 and p = 1, for each T. The limit of the error is smaller than in
        ``sproxskip/repaired``.
    """
    errors = (noise_x, noise_y), (other_noise_x, other_noise_y)
    rate, before, after, noise = contraction(clients, start, errors)
    return at_most(after, start=rate * before, noise=noise)


@additive.step("induction", needed=False)
def induction(
    before: NotNegative,
    spare: NotNegative,
    floors: NotNegative,
    rate: NotNegative,
    noise: NotNegative,
    lost: NotNegative,
) -> Sides:
    """Check the induction step from T - 1 to T.

    ``before`` is E Psi_(T-1). Its bound is ``before`` + ``spare``, and ``floors`` is the term of this bound for
    noise. ``noise`` is gamma^2 V. ``lost`` is ``rate * before + noise`` minus the result of the iteration.
    """
    start = rate * (before + spare - floors)
    return at_most(rate * before + noise - lost, start=start, noise=rate * floors + noise)
