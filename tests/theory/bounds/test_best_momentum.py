"""The momentum advice against the audit's numbers and independent minimisation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from clusterproof import checker
from clusterproof.checker import Kind
from clusterproof.common import InvalidArgument
from clusterproof.theory.bounds.best_momentum import (
    best_for_horizon,
    fastest,
    helpful_limit,
    noise_floor,
)
from clusterproof.theory.exact.heavy_ball import error_moments, spectral_rate
from clusterproof.theory.papers.cfl_mgd.repaired.momentum_advice import horizon_task
from clusterproof.theory.rates import HeavyBallRate, heavy_ball_rate
from clusterproof.theory.rates.outcome import ClaimsFile


@pytest.mark.parametrize("flattest", [0.01, 0.05, 0.3])
def test_fastest_minimises_the_rate(flattest: float) -> None:
    curvatures = np.linspace(flattest, 1.0, 50)
    minimum = optimize.minimize_scalar(
        lambda beta: float(spectral_rate(curvatures, beta).max()),
        bounds=(0, 0.999),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert fastest(flattest) == pytest.approx(minimum.x, abs=1e-4)
    limit = helpful_limit(flattest)
    assert spectral_rate(curvatures, limit - 1e-4).max() < 1 - flattest
    assert spectral_rate(curvatures, limit + 1e-4).max() > 1 - flattest


def test_floors_of_the_audit() -> None:
    """Section 6.3: 0.001515 / .002136 / .003461 / .004769 / .006744 at beta 0 / .5 / .81 / .9 / .95, up to scale."""
    task, _, share = horizon_task()
    spectrum = task.covariances.eigenvalues[0]
    rows = share * task.clients * task.samples
    ours = [
        noise_floor(spectrum, step=share, momentum=beta, noise=0.3, rows=rows)
        for beta in (0.0, 0.5, 0.81, 0.9, 0.95)
    ]
    audit = np.array([0.001515, 0.002136, 0.003461, 0.004769, 0.006744])
    np.testing.assert_allclose(np.array(ours) / ours[0], audit / audit[0], rtol=0.01)
    _, variance = error_moments(
        spectrum, np.zeros(20), step=share, momentum=0.9, noise=0.3, rows=rows, rounds=4000
    )
    assert variance[-1] ** 0.5 == pytest.approx(ours[3], rel=1e-3)


@pytest.mark.parametrize(("rounds", "noise"), [(2, 3.0), (6, 0.0), (25, 0.5)])
def test_the_best_momentum_has_the_least_error_of_drawn_recursions(rounds: int, noise: float) -> None:
    """Moments by a dense recursion: E e e' of one round of rows, for every momentum of the grid."""
    spectrum, start, step, rows = np.array([0.1, 1.0]), np.array([1.0, -0.5]), 0.5, 40

    def error(momentum: float) -> float:
        pair = np.concatenate([start, start])
        second = np.outer(pair, pair)
        sigma = np.diag(spectrum)
        for _ in range(rounds):
            top = np.hstack([np.diag(1 + momentum - step * spectrum), -momentum * np.eye(2)])
            moved = np.vstack([top, np.eye(2, 4)])
            e = second[:2, :2]
            drawn = sigma @ e @ sigma + np.trace(sigma @ e) * sigma + noise**2 * sigma
            second = moved @ second @ moved.T
            second[:2, :2] += step**2 / rows * drawn
        return float(np.trace(second[:2, :2]))

    found = best_for_horizon(
        spectrum, start, step=step, noise=noise, rows=rows, rounds=rounds, resolution=0.09
    )
    assert found == pytest.approx(min(np.arange(12) * 0.09, key=error))
    for resolution in (0, 0.5):
        with pytest.raises(InvalidArgument, match="resolution"):
            best_for_horizon(
                spectrum, start, step=step, noise=noise, rows=rows, rounds=1, resolution=resolution
            )


@pytest.mark.slow(reason="a certificate for each of many momenta")
def test_best_momentum_falls_with_the_horizon() -> None:
    """What ``cfl-mgd/momentum-horizon`` states, by a search of its own."""
    task, start, share = horizon_task()
    rows = share * task.clients * task.samples
    spectrum = task.covariances.eigenvalues[0]

    def best(rounds: int, noise: float) -> float:
        return best_for_horizon(
            spectrum, start, step=share, noise=noise, rows=rows, rounds=rounds, resolution=0.02
        )

    assert best(640, 0.3) == 0.0
    assert 0.7 < best(40, 0.3) < 0.9
    assert best(640, 0.0) > 0.5
    assert best(160, 3.0) <= best(160, 0.3)


@pytest.mark.slow(reason="several seconds")
def test_proved_rates_show_that_momentum_helps_on_smooth_losses(plant: Callable[..., Any]) -> None:
    verdict = checker.check("cfl-mgd/momentum-certified")
    assert verdict.verdict is Kind.CONSISTENT, (
        verdict.reason
    )  # the search for a rate is of the library, not of the kernel
    assert 0 < (verdict.worst or 0) < 1
    # audit 6.3: kappa = 10, l_p = 1/2: .881 at its best against .95
    found = heavy_ball_rate("2/5", 10, "1/2", function_class="smooth")
    assert isinstance(found, HeavyBallRate)
    assert float(found.rate) < 0.92
    # a rate that the kernel does not certify must not be believed
    plant(ClaimsFile, "verdicts", lambda _: [replace(verdict, verdict=Kind.INCONCLUSIVE)])
    with pytest.raises(ArithmeticError, match="the kernel certified no rate"):
        checker.check("cfl-mgd/momentum-certified")
