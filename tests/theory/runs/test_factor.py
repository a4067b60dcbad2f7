"""The measured factor a round: its interval on simulated recursions whose factor is known, and where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.runs.factor import measured_factor, slowest_factor
from clusterproof.theory.runs.run import Run

CURVATURES = np.array([0.06, 0.1, 0.2])


def simulate(momentum: float, noise: float, rounds: int, runs: int, seed: int) -> np.ndarray:
    """Lengths of e_(t+1) = e_t + momentum (e_t - e_(t-1)) - a e_t + noise, from ones, (rounds + 1, runs)."""
    stream = np.random.default_rng(seed)
    now = before = np.ones((runs, len(CURVATURES)))
    lengths = [np.linalg.norm(now, axis=-1)]
    for _ in range(rounds):
        drift = momentum * (now - before) - CURVATURES * now
        now, before = now + drift + noise * stream.standard_normal(now.shape), now
        lengths.append(np.linalg.norm(now, axis=-1))
    return np.array(lengths)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("momentum", "runs"), [(0.9, 30), (0.5, 5)])
def test_the_interval_covers_the_factor_without_noise(momentum: float, runs: int) -> None:
    """At momentum 0.9 the error oscillates: (1 - sqrt(0.9))^2 < 0.06. 200 runs, of which 190 are expected."""
    inside, above_point = 0, 0
    exact = simulate(momentum, 0.0, 160, 1, seed=0)[:, 0]
    for seed in range(200):
        found = measured_factor(simulate(momentum, 0.004, 160, runs, seed))
        assert found.value is not None
        assert found.interval is not None
        low, high = found.interval
        assert low <= found.value <= high
        truth = (exact[found.rounds] / exact[0]) ** (1 / found.rounds)
        inside += low <= truth <= high
        above_point += found.value > truth
        assert found.value == pytest.approx(truth, rel=0.02)
    assert inside >= 180
    assert 0 < above_point < 200


def test_the_interval_covers_the_factor_where_noise_grows_with_the_error() -> None:
    """Samples of small noise of their own: at round tau the error brings more noise than is left at the floor."""
    task = RegressionMixture.random(
        clusters=1, clients=5, dimension=5, samples=60, condition_number=4.0, noise=0.003
    )
    algorithm = CFLMGD(step_size=0.5, momentum=0.5)
    start = run(algorithm, task, rounds=0).models[0]
    runs = run(algorithm, task, rounds=45, replicates=40 * 50, seed=3, initial=start)
    inside, covered_by_floor_alone = 0, 0
    for first in range(0, 40 * 50, 50):
        part = slice(first, first + 50)
        trace = replace(
            runs,
            models=runs.models[:, part],
            assignments=runs.assignments[:, part],
            errors=runs.errors[:, part],
        )
        found = slowest_factor(Run(task, trace))
        assert found is not None
        assert found.exact is not None
        low, high = found.measured.interval or (0.0, 0.0)
        inside += low <= found.exact <= high
        low, high = measured_factor(trace.errors[:, :, 0]).interval or (0.0, 0.0)
        covered_by_floor_alone += low <= found.exact <= high
    assert inside >= 34
    assert covered_by_floor_alone < 34


def test_the_numbers_by_hand() -> None:
    """Errors that halve for five rounds and then rest: two runs, one 10 % longer after round 5."""
    halving = 0.5 ** np.arange(6)
    rest = np.full(34, 1e-3)
    errors = np.stack([np.append(halving, rest), np.append(halving, rest)], axis=1)
    errors[5, 1] *= 1.1
    found = measured_factor(errors)
    mean = 0.5**10 * (1 + 1.1**2) / 2
    assert (found.rounds, found.floor_reached, found.falls) == (5, True, True)
    assert found.floor == pytest.approx(1e-3)
    assert found.value == pytest.approx((mean - 1e-6) ** 0.1)
    # t(0.975; 1) = tan(0.475 pi), and the deviation of two numbers is their distance over sqrt 2
    half = np.tan(0.475 * np.pi) * 0.5**10 * (1.1**2 - 1) / mean / 2
    assert found.interval == pytest.approx(
        (max(mean * np.exp(-half) - 1e-6, 0) ** 0.1, (mean * np.exp(half)) ** 0.1)
    )


def test_where_there_is_no_factor() -> None:
    one = measured_factor(simulate(0.5, 0.004, 160, 1, seed=0))
    assert one.value is not None
    assert one.interval is None
    noisy = measured_factor(simulate(0.5, 0.3, 160, 20, seed=0))
    assert noisy.value is None
    assert noisy.floor_reached
    assert noisy.rounds < 5
    short = measured_factor(simulate(0.0, 0.0, 60, 3, seed=0))
    assert short.value is not None
    assert not short.floor_reached
    rising = measured_factor(1.1 ** np.arange(30)[:, None] * np.ones((30, 4)))
    assert rising.value is None
    assert not rising.falls
