"""Which momentum speeds up CFL-MGD: on quadratics, with noise, and on smooth losses."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Excluded, Sides, at_least, at_most, claim, equal, given
from clusterproof.checker.claims.expectation import Expectation, expectation
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.claims.ranges import choice, reals
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.best_momentum import best_for_horizon, fastest, helpful_limit, noise_floor
from clusterproof.theory.exact.heavy_ball import error_moments, spectral_rate
from clusterproof.theory.rates import HeavyBallRate, heavy_ball_rate

OTHERS = np.linspace(0, 0.99, 34)
"""Momenta for the comparison with the best momentum."""


@claim(
    "cfl-mgd/momentum-helps",
    label="Momentum",
    source="ours",
    evaluations=400,
    expected="consistent, tight within 2",
    headline=True,
    places="abstract; introduction; section 2; section 2.2; after (4); section 6.3; section 7",
)
def momentum_helps(
    flattest: Annotated[float, reals(0.002, 0.9)],
    steepest: Annotated[float, reals(lambda flattest: flattest, 1)],
    momentum: Annotated[float, reals(1e-4, 0.999)],
) -> dict[str, Sides | Excluded]:
    """On quadratics, momentum accelerates the convergence of cluster p exactly if it is below (1 - eta l_p mu)^2.

    Hypotheses
        Expected losses are quadratic with mu among the eigenvalues, eta <= 1/L, and there is no noise.

    Statement
        The rate max_lambda r(eta l_p lambda) is below the rate 1 - eta l_p mu of plain descent iff 0 < beta < (1 - eta
        l_p mu)^2. The best momentum is beta = (1 - sqrt(eta l_p mu))^2, with rate 1 - sqrt(eta l_p mu).

    Proof
        For momentum below the best value, the flattest direction is overdamped, and its larger root decreases with
        beta. For larger momentum, every direction is underdamped with rate sqrt(beta), which exceeds 1 - eta l_p mu
        for beta > (1 - eta l_p mu)^2.

    Source
        Ours.
    """
    curvatures = np.linspace(flattest, steepest, 9)
    companions = np.zeros((9, 2, 2))
    companions[:, 0, 0] = 1 + momentum - curvatures
    companions[:, 0, 1] = -momentum
    companions[:, 1, 0] = 1
    radius = float(np.abs(np.linalg.eigvals(companions)).max())
    limit, best = helpful_limit(flattest), fastest(flattest)
    helps = bool(momentum < limit)
    others = np.array([spectral_rate(curvatures, beta).max() for beta in OTHERS])
    # a double root is accurate only to the square root of the machine precision
    return {
        "below the limit": given("below", helps, lambda: at_most(radius, plain=1 - flattest, rounding=1e-7)),
        "above the limit": given(
            "above", not helps, lambda: at_least(radius, plain=1 - flattest, rounding=1e-7)
        ),
        "at the limit": equal((spectral_rate(curvatures, limit).max(), 1 - flattest), rounding=1e-7),
        "best": at_most(spectral_rate(curvatures, best).max(), other=others, rounding=1e-6),
        "rate of the best": equal((spectral_rate(flattest, best), 1 - math.sqrt(flattest)), rounding=1e-7),
    }


def horizon_task() -> tuple[RegressionMixture, np.ndarray, float]:
    """Return the task, initial direction and l_p of the slowest of four unequal clusters."""
    task = experiment("S2", 0.0).regression
    start = np.ones(task.dimension) / math.sqrt(task.dimension) * 0.5 * task.basin_radius
    return task, start, float(task.proportions.min())


HORIZONS = (10, 20, 40, 80, 160, 320, 640)


@lru_cache
def best_momenta() -> tuple[float, ...]:
    """Return the best momentum on a grid with spacing 0.015 for each of ``HORIZONS``, from exact second moments."""
    task, start, share = horizon_task()
    rows = share * task.clients * task.samples
    return tuple(
        best_for_horizon(
            task.covariances.eigenvalues[0],
            start,
            step=share,
            noise=float(task.noise),
            rows=rows,
            rounds=rounds,
            resolution=0.015,
        )
        for rounds in HORIZONS
    )


@claim(
    "cfl-mgd/momentum-horizon",
    label="Momentum and noise",
    source="ours",
    expected="consistent, tight within 2",
    places="abstract; after (4); section 6.3",
)
def momentum_horizon(rounds: Annotated[int, choice(*HORIZONS[2:])]) -> dict[str, Sides | Excluded]:
    """With noise, the best momentum tends to 0 as the number of rounds grows.

    Hypotheses
        The task is a Gaussian regression, and every client chooses its own cluster. The moments are exact, for one
        cluster.

    Statement
        The stationary root mean square error is [sum_j (alpha^2 s^2 lambda_j / N)(1 + beta) / ((1 - beta) a_j (2(1 +
        beta) - a_j))]^(1/2), about 1 / sqrt(1 - beta) times its value for plain descent. So the momentum with the
        smallest mean squared error after T rounds decreases to 0 as T grows.

    Symbols
        N = l_p m n', a_j = alpha lambda_j, and T is ``rounds``.

    Source
        Ours.
    """
    best = dict(zip(HORIZONS, best_momenta(), strict=True))
    last = rounds == HORIZONS[-1]
    return {
        "falls": at_most(best[rounds], earlier=best[rounds // 2]),
        "ends at 0": given("T = 640", last, lambda: at_most(best[rounds], nothing=0.0)),
    }


@momentum_horizon.step("floor")
def floor(momentum: Annotated[float, choice(0.0, 0.5, 0.81, 0.9, 0.95)]) -> Sides:
    """For many samples, the noise is additive, and the limit of the exact recursion equals the closed form."""
    task, start, share = horizon_task()
    spectrum, rows = task.covariances.eigenvalues[0], 1e12
    known = {"step": share, "momentum": momentum, "noise": float(task.noise), "rows": rows}
    _, moments = error_moments(spectrum, 0 * start, rounds=4000, **known)
    return equal(
        (math.sqrt(rows * moments[-1]), math.sqrt(rows) * noise_floor(spectrum, **known)), rounding=1e-9
    )


@momentum_horizon.step("runs", replicates=10_000)
def runs(replicates: Replicates, stream: Stream) -> dict[str, Expectation]:
    """After 40 rounds, the mean squared error of runs equals the exact value, and is smallest for the best momentum."""
    task, start, share = horizon_task()
    spectrum, rows = task.covariances.eigenvalues[0], round(share * task.clients * task.samples)
    alone = RegressionMixture(
        optima=np.zeros((1, task.dimension)),
        covariance=spectrum,
        noise=task.noise,
        labels=np.zeros(1, dtype=int),
        samples=rows,
    )
    seed, initial = int(stream.integers(2**31)), alone.optima + start

    def squares(momentum: float) -> np.ndarray:
        algorithm = CFLMGD(step_size=share, momentum=momentum)
        trace = run(algorithm, alone, rounds=40, seed=seed, replicates=replicates, initial=initial)
        return np.asarray(trace.errors)[-1, :, 0] ** 2

    best = best_momenta()[HORIZONS.index(40)]
    momenta = (best, 0.0, 0.95)
    errors = np.stack([squares(momentum) for momentum in momenta], axis=-1)
    exact = [
        sum(each[-1] for each in error_moments(
            spectrum, start, step=share, momentum=momentum, noise=float(task.noise), rows=rows, rounds=40
        ))
        for momentum in momenta
    ]  # fmt: skip
    return {
        "exact": expectation(errors, equal=exact),
        "smaller": expectation(errors[:, :1] - errors[:, 1:], at_most=0.0),
    }


CASES = (
    (4, Fraction(1), Fraction(3, 10)),
    (4, Fraction(1, 2), Fraction(3, 10)),
    (4, Fraction(1, 4), Fraction(1, 2)),
    (10, Fraction(1), Fraction(2, 5)),
    (10, Fraction(1, 2), Fraction(2, 5)),
    (10, Fraction(1, 4), Fraction(7, 10)),
    (100, Fraction(1), Fraction(1, 2)),
    (100, Fraction(1, 2), Fraction(3, 5)),
    (100, Fraction(1, 4), Fraction(4, 5)),
)
"""Condition number, proportion and momentum."""


@claim(
    "cfl-mgd/momentum-certified",
    label="Momentum on smooth losses",
    source="ours",
    quick=False,
    expected="consistent, tight within 2",
    places="abstract; after (4); section 7",
)
def momentum_certified(case: Annotated[int, choice(*range(len(CASES)))]) -> Sides:
    """On every smooth strongly convex loss, a given momentum has a faster rate than plain descent.

    Hypotheses
        phi_p is L-smooth and mu-strongly convex, not necessarily quadratic. Option I is noise-free with eta = 1/L, in
        nine cases: kappa in {4, 10, 100} and l_p in {1, 1/2, 1/4}. Each case has its own momentum.

    Statement
        ||chi_p^t - chi*_p|| <= C_0 r^t ||e_0|| for all t with r < 1 - l_p mu / L. Here 1 - l_p mu / L is the rate of
        plain descent, which the quadratic of curvature mu attains.

    Proof
        Each case has a Lyapunov function in rational numbers.

    Source
        Ours.
    """
    condition, proportion, momentum = CASES[case]
    found = heavy_ball_rate(momentum, condition, proportion, function_class="smooth")
    if not isinstance(found, HeavyBallRate) or any(
        each.verdict is not Kind.CERTIFIED for each in found.claims_file.verdicts()
    ):
        raise ArithmeticError("the kernel certified no rate, so that nothing can be said of it")
    return at_most(found.rate, plain=1 - proportion / condition)
