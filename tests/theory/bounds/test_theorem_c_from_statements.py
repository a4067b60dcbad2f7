"""Theorems C and C' against their printed statements, which ``helpers/statements.py`` evaluates."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statements
from statements import CONTEXT, real
from test_bounds_from_statements import GAUSSIAN, RELATIVE, assert_parts, directions, distances, gaussian_task

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.theory.bounds.theorem_c import theorem_c_parts
from clusterproof.theory.bounds.theorem_c_prime import theorem_c_prime_parts


@pytest.mark.parametrize("gaussian", GAUSSIAN)
def test_theorem_c(gaussian: tuple) -> None:
    """The moments in exact fractions where the rounds are few; the union over P T of the bound on all rounds."""
    sizes, dimension, kappa, momentum, rounds, noise, samples, step, start, delta = gaussian
    task, spectrum = gaussian_task(sizes, dimension, kappa, noise, samples)
    displacement = directions((len(sizes), dimension), start)
    algorithm = CFLMGD(step_size=step, momentum=momentum)
    trace = run(algorithm, task, rounds=rounds, seed=0, initial=task.optima + displacement)
    allowed = theory.bound("cfl-mgd/theorem-c", task, trace, failure_probability=delta)
    parts = theorem_c_parts(task, algorithm, task.optima + displacement, rounds, delta)
    number = Fraction if rounds <= 12 else real
    P, m = len(sizes), sum(sizes)
    paths, variances = [], []
    for p in range(P):
        squares, variance = statements.oracle_moments(
            [number(x) for x in spectrum],
            [number(x) for x in displacement[p]],
            number(step) * sizes[p] / m,
            number(momentum),
            number(noise),
            sizes[p] * samples,
            rounds,
        )
        variance = [real(x.numerator) / x.denominator if number is Fraction else x for x in variance]
        squares = [real(x.numerator) / x.denominator if number is Fraction else x for x in squares]
        path = [CONTEXT.sqrt(x) for x in squares]
        everywhere = [
            path[t] + CONTEXT.sqrt(P * rounds * variance[t] / real(delta)) for t in range(rounds + 1)
        ]
        assert_parts(parts, p, everywhere, path[-1] + CONTEXT.sqrt(P * variance[-1] / real(delta)))
        np.testing.assert_allclose(allowed.bound[:, p], np.array(everywhere, dtype=float), rtol=RELATIVE)
        paths.append(path)
        variances.append(variance)
    departure = allowed.failure_probability - delta
    np.testing.assert_allclose(
        [parts.all_rounds_failure, parts.last_round_failure], allowed.failure_probability, rtol=1e-12
    )
    separation = distances(task)[0]
    path, variance = np.array(paths, dtype=float).T, np.array(variances, dtype=float).T

    def departure_at(radius: float) -> float:
        pi = statements.worst_pairwise_error(1.0, spectrum.min(), separation, noise, radius, samples)
        return statements.departure(path, variance, radius, m, P, float(pi))

    # The statement holds at any radius B, and a grid of radii costs little against the best one.
    radii = np.linspace(0, separation / (1 + math.sqrt(kappa)), 18)
    k = 1 + int(np.argmin([departure_at(radius) for radius in radii[1:-1]]))
    best = statements.golden_section(departure_at, radii[k - 1], radii[k + 1], steps=20)
    assert departure_at(best) * (1 - 1e-4) <= departure <= departure_at(best) * 1.2


@pytest.mark.parametrize("gaussian", GAUSSIAN)
def test_theorem_c_prime(gaussian: tuple) -> None:
    """The whole bound is the statement's at one rate r, which is nearly the best one after T."""
    sizes, dimension, kappa, momentum, rounds, noise, samples, step, start, delta = gaussian
    samples *= 30  # so that r_bar < 1 at every rate of interest
    task, spectrum = gaussian_task(sizes, dimension, kappa, noise, samples)
    displacement = directions((len(sizes), dimension), start)
    algorithm = CFLMGD(step_size=step, momentum=momentum)
    parts = theorem_c_prime_parts(task, algorithm, task.optima + displacement, rounds, delta)
    for p in range(len(sizes)):
        alpha = step * sizes[p] / sum(sizes)
        modes = [statements.responses(alpha * x, momentum, rounds) for x in spectrum]
        arguments = {
            "paths": np.array([mode[0] for mode in modes]).T,
            "impulses": np.array([mode[1] for mode in modes]).T,
            "spectrum": spectrum,
            "alpha": alpha,
            "N": sizes[p] * samples,
            "s": noise,
            "start": start,
            "P": len(sizes),
            "delta": delta,
        }

        def discrepancy(rate: float, p: int = p, arguments: dict = arguments) -> float:
            bound, last = statements.theorem_c_prime(rate, **arguments)
            return max(np.abs(bound / parts.all_rounds[:, p] - 1).max(), abs(last / parts.last_round[p] - 1))

        rates = np.linspace(0.2, 1, 801)
        k = int(np.argmin([discrepancy(rate) for rate in rates]))
        rate = statements.golden_section(discrepancy, rates[max(k - 1, 0)], rates[min(k + 1, 800)])
        assert discrepancy(rate) < 1e-8
        best = min(statements.theorem_c_prime(rate, **arguments)[1] for rate in rates)
        assert parts.last_round[p] <= best * 1.1
