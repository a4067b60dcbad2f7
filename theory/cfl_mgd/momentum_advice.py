"""Which momentum to choose: what the repaired theorems imply."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from algorithms import CFLMGD, run
from synthetic import RegressionMixture
from theory.claim import Context, register
from theory.experiments import experiment
from theory.heavy_ball import spectral_rate
from theory.momentum_advice import best_for_horizon, fastest, helpful_limit, noise_floor
from theory.verdict import Finding, Kind


@register("cfl-mgd/momentum-helps", label="Momentum (ours)", kind="identity")
def momentum_helps(context: Context) -> Finding:
    """On quadratics momentum speeds a cluster up exactly below (1 - eta l_p mu)^2.

    Hypotheses
        Quadratic expected losses with mu among the eigenvalues, eta <= 1/L, no noise.

    Statement
        The rate max_lambda r(eta l_p lambda) is below 1 - eta l_p mu, plain descent's, iff
        0 < beta < (1 - eta l_p mu)^2. The best is beta = (1 - sqrt(eta l_p mu))^2, with rate
        1 - sqrt(eta l_p mu).

    Proof
        Below the best the flattest direction is overdamped and its larger root falls with beta; from
        there on every direction is underdamped with rate sqrt(beta), which passes 1 - eta l_p mu at its
        square.

    Symbols
        l_p ``proportions``, beta ``momentum``, eta ``step_size``.

    Source
        Ours (audit of CFL-MGD, section 6.3). Identity.

    Checked
        Random (eta l_p mu, kappa, beta): spectral radii of the companion matrices by numpy's eigenvalue
        solver against the inequality, and no other momentum on a grid beats the best.
    """
    stream = context.generator("spectra")
    trials = context.number_of_trials(600)
    failures = 0
    for _ in range(trials):
        flattest = float(stream.uniform(0.002, 0.9))
        steepest = float(stream.uniform(flattest, 1.0))
        curvatures = np.linspace(flattest, steepest, 9)
        momentum = float(stream.uniform(1e-4, 0.999))
        companions = np.zeros((9, 2, 2))
        companions[:, 0, 0] = 1 + momentum - curvatures
        companions[:, 0, 1] = -momentum
        companions[:, 1, 0] = 1
        radius = float(np.abs(np.linalg.eigvals(companions)).max())
        limit = helpful_limit(flattest)
        if abs(momentum - limit) > 1e-6:
            failures += (radius < 1 - flattest) != (momentum < limit)
        best = fastest(flattest)
        others = [float(spectral_rate(curvatures, beta).max()) for beta in np.linspace(0, 0.99, 34)]
        failures += spectral_rate(curvatures, best).max() > min(others) + 1e-6
        failures += abs(spectral_rate(flattest, best) - (1 - math.sqrt(flattest))) > 1e-7
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} disagreements over {trials} random spectra and momenta",
        trials=trials,
        failures=int(failures),
    )


def horizon_task() -> tuple[RegressionMixture, np.ndarray, float]:
    """S2's slowest cluster: its task, starting direction and l_p."""
    task = experiment("S2", 0.0).regression
    start = np.ones(task.dimension) / math.sqrt(task.dimension) * 0.5 * task.basin_radius
    return task, start, float(task.proportions.min())


HORIZONS = (10, 20, 40, 80, 160, 320, 640)


@lru_cache
def best_momenta() -> tuple[float, ...]:
    """Best momentum on a grid of 0.015 for each of ``HORIZONS``, by exact second moments."""
    task, start, share = horizon_task()
    rows = share * task.clients * task.samples
    return tuple(
        best_for_horizon(
            task.covariances.eigenvalues[0], start, step=share, noise=float(task.noise), rows=rows,
            rounds=rounds, resolution=0.015,
        )
        for rounds in HORIZONS
    )  # fmt: skip


@register("cfl-mgd/momentum-horizon", label="Momentum and noise (ours)", kind="identity")
def momentum_horizon(context: Context) -> Finding:
    """Noise returns the best momentum to 0 as the horizon grows, since the floor rises with it.

    Hypotheses
        Gaussian regression as in Theorem C, one cluster's exact moments.

    Statement
        The stationary rms is [sum_j (alpha^2 s^2 lambda_j / N)(1 + beta) / ((1 - beta) a_j (2(1 + beta)
        - a_j))]^(1/2), about 1 / sqrt(1 - beta) times that of plain descent; so the momentum with the
        smallest mean squared error after T rounds falls to 0 as T grows.

    Symbols
        N = l_p m n', a_j = alpha lambda_j, T ``rounds``.

    Source
        Ours (audit of CFL-MGD, section 6.3). Identity.

    Checked
        On the slowest cluster of S2: the exact recursion's limit against the closed form; the best
        momentum for T = 10, ..., 640, which must not rise from 20 on and end at 0; and runs of the
        algorithm at T = 40 whose mean squared error at the best momentum is below that at 0 and at 0.95.
    """
    task, start, share = horizon_task()
    spectrum = task.covariances.eigenvalues[0]
    rows = share * task.clients * task.samples
    best = best_momenta()
    trials = max(40, context.number_of_trials(200))
    errors = {}
    for momentum in (0.0, best[2], 0.95):
        trace = run(
            CFLMGD(step_size=1.0, momentum=momentum), task, rounds=40, seed=context.seed, replicates=trials,
            initial=task.optima + start,
        )  # fmt: skip
        errors[momentum] = float(
            (np.asarray(trace.errors)[-1, :, int(np.argmin(task.proportions))] ** 2).mean()
        )
    monotone = bool((np.diff(best[1:]) <= 0).all())
    helps = errors[best[2]] < min(errors[0.0], errors[0.95])
    floors = [
        noise_floor(spectrum, step=share, momentum=momentum, noise=float(task.noise), rows=rows)
        for momentum in (0.0, 0.9)
    ]
    failures = int(not monotone) + int(best[-1] != 0) + int(not helps)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"S2, l_p = {share:g}: best beta at T = {', '.join(map(str, HORIZONS))} is "
        f"{', '.join(f'{beta:.3g}' for beta in best)}; floor {floors[0]:.3g} at beta = 0 and {floors[1]:.3g} at 0.9; "
        f"rms after 40 rounds {errors[0.0] ** 0.5:.3g} (beta = 0), {errors[best[2]] ** 0.5:.3g} (best), "
        f"{errors[0.95] ** 0.5:.3g} (0.95)",
        trials=trials,
        failures=failures,
    )
