"""The momentum advice against a dense recursion, and what it says of rates without a certificate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterproof import checker
from clusterproof.checker import Kind
from clusterproof.common import InvalidArgument
from clusterproof.theory.bounds.best_momentum import (
    best_for_horizon,
)
from clusterproof.theory.papers.cfl_mgd.repaired.momentum_advice import horizon_task
from clusterproof.theory.rates.outcome import ClaimsFile


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
def test_a_rate_that_the_kernel_does_not_certify_is_not_believed(plant: Callable[..., Any]) -> None:
    verdict = checker.check("cfl-mgd/lemma-2", evaluations=10)
    plant(ClaimsFile, "verdicts", lambda _: [replace(verdict, verdict=Kind.INCONCLUSIVE)])
    with pytest.raises(ArithmeticError, match="the kernel certified no rate"):
        checker.check("cfl-mgd/momentum-certified")
