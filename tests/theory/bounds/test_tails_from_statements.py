"""Theorem D before the run against its printed statement, and against runs."""

import math
from typing import Any

import numpy as np
import pytest
import statements
import tube_statements
from scipy.stats import beta as beta_law
from test_bounds_from_statements import directions, gaussian_task
from test_tubes_from_statements import assert_nearly_least, assert_proved, misassignment, tube_task

from clusterproof import theory
from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.theory.bounds.gaussian import along_eigenvectors, gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d

# own clients, drawn, options, rows, local steps' options; kappa = 4, d = 4, s = 1/2, beta = .3, eta = 1, T = 6
BEFORE = [
    ((30, 10), 24, {"normalisation": "cluster"}),
    ((20, 20), 20, {"normalisation": "clients"}),
    ((10, 15, 15), 36, {"normalisation": "participants"}),
    ((20, 20), 20, {"averaging": "model", "local_steps": 3}),
]


@pytest.mark.parametrize("before", BEFORE)
def test_theorem_d_before_the_run(before: tuple) -> None:
    """The least count k_- (divisor k, option II), or the mean step, the largest count and the fluctuation."""
    sizes, drawn, options = before
    samples, noise, momentum, T, delta = 20_000, 0.5, 0.3, 6, (0.01, 0.02, 0.03)
    task, spectra, _ = tube_task(sizes, 4, 4.0, samples, noise, "common")
    P, m = len(sizes), sum(sizes)
    displacement = directions((P, 4), 0.125)
    algorithm = CFLMGD(step_size=1.0, momentum=momentum, participation=drawn / m, **options)
    start = along_eigenvectors(task, task.optima + displacement)
    tube = theorem_d(gaussian_dynamics(task, algorithm), start, rounds=T, failure=delta)
    H = algorithm.local_steps
    everywhere, at_last = math.log((2 if H > 1 else 1) * P * T / delta[1]), math.log(P / delta[2])
    inside = math.log(2 * drawn * T * (H - 1) / delta[1]) if H > 1 else 0.0
    for p in range(P):
        tail = delta[0] / (T * P)
        if "averaging" in options or options["normalisation"] == "cluster":
            k = drawn - statements.hypergeometric_quantile(m, m - sizes[p], drawn, tail)
            N, mean, fluctuation = k, 1.0, 0.0
        else:
            k = statements.hypergeometric_quantile(m, sizes[p], drawn, tail)
            N = m if options["normalisation"] == "clients" else drawn
            mean, fluctuation = sizes[p] / m * drawn / N, tube_statements.step_fluctuation(1.0, m, drawn, N)
        steps = np.repeat(mean * spectra[p][None], T * H, axis=0)
        never = np.zeros(T * H, dtype=bool)
        path, response = tube_statements.varying_responses(steps, momentum, never, never)
        growth = np.linalg.norm(path * displacement[p], axis=1)
        for t in range(1, T * H + 1):
            past = tube_statements.participation_past(
                t,
                response[t, :t],
                members=np.full(T, k),
                divisor=np.full(T, N),
                rows=samples,
                step=1.0,
                local_steps=H,
                reach=tube.steps[:, p],
                inside=t % H > 0,
                fluctuation=fluctuation,
            )
            needed = tube_statements.arguments(past, spectra[p], spectra, noise)
            assert_proved(tube.searches[t - 1], (p,), needed, inside if t % H else everywhere, 4)
            np.testing.assert_allclose(
                tube.steps[t, p], growth[t] + tube.searches[t - 1].radius[p], rtol=1e-8
            )
        assert_proved(tube.searches[-1], (p,), needed, at_last, 4)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("options", [{"normalisation": "cluster"}, {"normalisation": "participants"}])
def test_theorem_d_with_misassigned_clients(options: dict[str, Any]) -> None:
    """Counted with partial participation, where misassignment is too probable to be added to delta."""
    sizes, samples, noise, T, delta = (30_000, 10_000), 12, 0.7, 4, 0.2
    task, spectra, _ = tube_task(sizes, 4, 1.0, samples, noise, "common")
    P = len(sizes)
    displacement = directions((P, 4), 0.2)
    algorithm = CFLMGD(step_size=1.0, momentum=0.2, participation=0.5, **options)
    trace = run(algorithm, task, rounds=T, seed=0, initial=task.optima + displacement)
    allowed = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=delta)
    np.testing.assert_allclose(allowed.failure_probability, delta, rtol=1e-12)
    took_part = trace.assignments >= 0
    members = np.stack([(took_part & (trace.labels == p)).sum(-1) for p in range(P)], axis=-1)
    K = int(members[0].sum())
    level, at_last = math.log(P * T / (0.4 * delta)), math.log(P / (0.4 * delta))
    pairwise = misassignment(task, spectra, allowed.bound)
    counted = 0
    for p in range(P):
        k = members[:, p]
        tail = 0.2 * delta / (2 * T * P)
        n_in = np.array([statements.binomial_quantile(K - k[t], pairwise[t], tail) for t in range(T)])
        n_out = np.array([statements.binomial_quantile(k[t], (P - 1) * pairwise[t], tail) for t in range(T)])
        counted += n_in.sum() + n_out.sum()
        N = {"cluster": k, "clients": np.full(T, sum(sizes)), "participants": np.full(T, K)}[
            options["normalisation"]
        ]
        never = np.zeros(T, dtype=bool)
        path, response = tube_statements.varying_responses((k / N)[:, None] * spectra[p], 0.2, never, never)
        growth = np.linalg.norm(path * displacement[p], axis=1)
        for t in range(1, T + 1):
            past = tube_statements.counted_past(
                t,
                response[t, :t],
                members=k,
                divisor=None if N is k else N,
                rows=samples,
                step=1.0,
                L=1.0,
                reach=allowed.bound[:, p],
                diameter=task.diameter,
                n_in=n_in,
                n_out=n_out,
            )
            needed = tube_statements.arguments(past, spectra[p], spectra, noise)
            assert_nearly_least(allowed.deviation[t, p] - needed.bias, needed, level if t < T else at_last, 4)
        assert_nearly_least(allowed.last[p] - growth[T] - needed.bias, needed, at_last, 4)
    assert counted > 10


def assert_frequency(broken: np.ndarray, allowed: float) -> None:
    """The Clopper-Pearson lower limit of the frequency, at confidence 1 - 1e-9, is at most what is allowed."""
    count = int(broken.sum())
    lower = beta_law.ppf(1e-9, count, len(broken) - count + 1) if count else 0.0
    assert lower <= allowed


REGRESSIONS = [
    ("theorem-d", (2000, 2000), 1.0, 14, 0.7, 0.0, {}, 0.2),
    ("theorem-d", (30, 10), 4.0, 2000, 0.5, 0.5, {}, 0.05),
    ("theorem-d", (20, 20), 1.0, 300, 0.5, 0.3, {"participation": 0.5, "normalisation": "cluster"}, 0.3),
    (
        "theorem-d",
        (20, 20),
        4.0,
        2000,
        0.5,
        0.3,
        {"averaging": "model", "local_steps": 3, "participation": 0.5},
        0.1,
    ),
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("regression", REGRESSIONS)
def test_runs_on_regressions(regression: tuple) -> None:
    """Runs break the bound on all rounds, the deviation and the last bound no more often than is allowed."""
    name, sizes, kappa, samples, noise, momentum, options, delta = regression
    task, _ = gaussian_task(sizes, 1, kappa, noise, samples)
    algorithm = CFLMGD(step_size=1.0, momentum=momentum, **options)
    initial = task.optima + directions((len(sizes), 1), 0.2)
    trace = run(algorithm, task, rounds=6, seed=1, replicates=200, initial=initial)
    allowed = theory.bound(f"cfl-mgd/{name}", task, trace, failure_probability=delta)
    failure = allowed.failure_probability
    assert failure <= delta + 0.05
    broken = (trace.errors > allowed.bound).any(axis=(0, 2))
    if allowed.deviation is not None:
        distance = np.linalg.norm(trace.models - allowed.reference, axis=-1)
        broken |= (distance > allowed.deviation).any(axis=(0, 2)) | (trace.errors[-1] > allowed.last).any(
            axis=-1
        )
    assert_frequency(broken, failure)
