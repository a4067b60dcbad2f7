"""The exact second moments against runs of the algorithm."""

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.exact.exact_moments import error_moments


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("momentum", "noise"), [(0.0, 0.0), (0.4, 0.7), (0.8, 0.0)])
def test_moments_of_runs(momentum: float, noise: float) -> None:
    spectrum = np.array([0.2, 0.5, 1.0])
    optima = np.array([[-500.0, 0.0, 0.0], [500.0, 0.0, 0.0]])
    task = RegressionMixture(
        optima=optima, covariance=spectrum, noise=noise, labels=np.repeat([0, 1], [4, 8]), samples=3
    )
    displacement = np.array([[1.0, -2.0, 0.5], [0.3, 0.1, -1.0]])
    algorithm = CFLMGD(step_size=0.8, momentum=momentum)
    trace = run(algorithm, task, rounds=12, seed=5, replicates=20_000, initial=optima + displacement)
    for cluster, proportion in enumerate(task.proportions):
        mean, variance = error_moments(
            spectrum,
            displacement[cluster],
            step=0.8 * proportion,
            momentum=momentum,
            noise=noise,
            rows=proportion * 12 * 3,
            rounds=12,
        )
        errors = trace.models[:, :, cluster] - optima[cluster]
        squared = (errors**2).sum(axis=-1)
        deviation = squared.std(axis=1) / np.sqrt(squared.shape[1])
        assert (np.abs(squared.mean(axis=1) - mean - variance) <= 6 * deviation + 1e-12).all()
        centred = errors.mean(axis=1)
        assert (np.abs((centred**2).sum(axis=-1) - mean) <= 0.03 * (mean + variance) + 1e-12).all()


def test_floor_of_the_audit() -> None:
    """Section 6.3: the stationary rms grows like 1 / sqrt(1 - beta)."""
    spectrum = np.geomspace(0.1, 1.0, 20)
    floors = []
    for momentum in (0.0, 0.9):
        _, variance = error_moments(
            spectrum, np.zeros(20), step=0.1, momentum=momentum, noise=0.3, rows=0.1 * 200 * 2e5, rounds=3000
        )
        floors.append(variance[-1] ** 0.5)
    assert floors[1] / floors[0] == pytest.approx(0.004769 / 0.001515, rel=0.01)
