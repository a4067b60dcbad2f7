"""Theorem D: printed values, the statement written out, limits, and the frequency of failures."""

import math

import numpy as np
import pytest
from plain_tube import plain_tube

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.gaussian import (
    GaussianDynamics,
    along_eigenvectors,
    gaussian_dynamics,
)
from clusterproof.theory.bounds.rows import GaussianRows
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.bounds.tube import Tube

FAILURE = (0.01, 0.02, 0.02)


def audit(name: str, momentum: float | None) -> Tube:
    setting = experiment(name, momentum)
    dynamics = gaussian_dynamics(setting.regression, setting.algorithm)
    return theorem_d(dynamics, np.array(setting.setting.start), rounds=setting.rounds, failure=FAILURE)


def dynamics(
    own: list[int],
    spectra: list[list[float]],
    *,
    momentum: float,
    noise: float,
    samples: int,
    step: float = 1.0,
) -> GaussianDynamics:
    eigenvalues = np.array(spectra, dtype=float)
    return GaussianDynamics(
        rows=GaussianRows(
            smoothness=float(eigenvalues.max()),
            strong_convexity=float(eigenvalues.min()),
            separation=2.0 if len(own) > 1 else math.inf,
            noise=noise,
            samples=samples,
        ),
        own=np.array(own),
        spectra=eigenvalues,
        common_covariance=bool((eigenvalues == eigenvalues[0]).all()),
        diameter=2.5 if len(own) > 1 else 0.0,
        algorithm=CFLMGD(step_size=step, momentum=momentum),
    )


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("name", "momentum", "expected"),
    [
        ("S1", 0.0, [0.009138] * 2),
        ("S1", None, [0.009361] * 2),
        ("S2", 0.0, [0.00327, 0.00716, 0.01595, 0.03562]),
        ("S2", 0.5, [0.000402, 0.000760, 0.003060, 0.015840]),
        ("S2", None, [0.000578, 0.000573, 0.000567, 0.000698]),
        ("S3", 0.0, [0.008132] * 3),
        ("S3", None, [0.005968] * 3),
        ("S5", 0.0, [0.008639] * 2),
        ("S5", None, [0.007576] * 2),
    ],
)
def test_last_round_as_printed(name: str, momentum: float | None, expected: list[float]) -> None:
    np.testing.assert_allclose(audit(name, momentum).last_reach, expected, rtol=5e-3)


def test_all_rounds_and_counts_as_printed() -> None:
    np.testing.assert_allclose(
        audit("S1", 0.0).reach[[1, 6, 12], 0], [0.135256, 0.013888, 0.010029], rtol=1e-3
    )
    assert audit("S5", 0.0).false_members[:, 0].tolist() == [24, 10, 6, 5, 5, 5, 5, 5]


LONG = pytest.mark.slow(reason="sums over 300 rounds, each written out")
EQUAL, DIFFERENT = [[0.8, 1.0]] * 2, [[0.6, 1.0], [0.7, 0.9]]
WRITTEN_OUT = [
    # own clients, spectra, momentum, noise, samples, rounds
    ([1500, 500], [[0.3, 0.6, 1.0]] * 2, 0.4, 0.5, 16, 8),  # misassigned clients, one covariance
    ([1500, 500], [[0.4, 0.5, 1.0], [0.5, 0.7, 0.9]], 0.4, 0.5, 16, 8),  # and two covariances
    ([20, 20], [[1.0]] * 2, 0.09, 0.5, 50, 8),  # d = 1, N3
    ([50, 30, 20], [[0.1, 1.0]] * 3, 0.8, 0.3, 20_000, 8),
    ([150, 150], [[0.7, 1.0]] * 2, 0.1, 0.5, 16, 3),
    ([150, 150], [[0.7, 1.0], [0.8, 0.9]], 0.1, 0.5, 16, 3),
    ([1500, 1500], EQUAL, 0.1, 0.5, 16, 100),  # disturbances that have died out
    pytest.param([1500, 1000], [[0.6, 1.0]] * 2, 0.3, 0.5, 16, 300, marks=LONG),
    pytest.param([1500, 1500], DIFFERENT, 0.3, 0.5, 16, 300, marks=LONG),
]


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("own", "spectra", "momentum", "noise", "samples", "rounds"), WRITTEN_OUT)
def test_the_recursion_is_the_statement_written_out(
    own: list[int],
    spectra: list[list[float]],
    momentum: float,
    noise: float,
    samples: int,
    rounds: int,
) -> None:
    given = dynamics(own, spectra, momentum=momentum, noise=noise, samples=samples)
    start = np.full(len(own), 0.1)
    tube = theorem_d(given, start, rounds=rounds, failure=FAILURE)
    reach, last = plain_tube(
        own=given.own,
        samples=samples,
        spectra=given.spectra,
        common=given.common_covariance,
        step=1.0,
        momentum=momentum,
        noise=noise,
        separation=2.0,
        diameter=2.5,
        start=start,
        rounds=rounds,
        failure=FAILURE,
    )
    assert tube.false_members.any() == (samples < 30)
    assert rounds < 100 or tube.false_members[-1].any()
    np.testing.assert_allclose(tube.reach, reach, rtol=3e-4)  # W is reused while its inputs hardly change
    np.testing.assert_allclose(tube.last_reach, last, rtol=3e-4)
    assert (tube.reach >= reach * (1 - 1e-6)).all()


def test_number_of_uses_of_the_norm_inequality_is_the_size_of_the_union() -> None:
    tube = audit("S2", 0.5)
    assert tube.evaluations == (4 * 80, 0, 4)


def test_limits() -> None:
    noiseless = dynamics([10], [[0.5, 1.0]], momentum=0.3, noise=0.0, samples=50)
    silent = theorem_d(noiseless, np.zeros((1, 2)), rounds=5, failure=FAILURE)
    assert (silent.reach == 0).all()
    alone = dynamics([10], [[0.5, 1.0]], momentum=0.3, noise=1.0, samples=50)
    tube = theorem_d(alone, np.array([100.0]), rounds=5, failure=FAILURE)
    assert tube.applicable  # one cluster has no basin to leave
    assert not tube.false_members.any()
    still = theorem_d(alone, np.array([0.7]), rounds=0, failure=FAILURE)
    assert still.reach.tolist() == [[pytest.approx(0.7)]]
    assert still.last_reach[0] == pytest.approx(0.7)


def test_a_start_with_its_direction_is_never_looser() -> None:
    setting = experiment("S2", 0.5)
    given = gaussian_dynamics(setting.regression, setting.algorithm)
    start = along_eigenvectors(setting.regression, setting.initial(np.random.default_rng(0), 1)[0])
    known = theorem_d(given, start, rounds=setting.rounds, failure=FAILURE)
    norms = theorem_d(given, np.linalg.norm(start, axis=-1), rounds=setting.rounds, failure=FAILURE)
    assert (known.reach <= norms.reach * (1 + 1e-9)).all()
    assert (known.last_reach[:3] < 0.95 * norms.last_reach[:3]).all()


def test_a_tube_that_leaves_the_basin_is_no_number() -> None:
    given = dynamics([20, 20], [[0.25, 1.0]] * 2, momentum=0.0, noise=1.0, samples=30)
    tube = theorem_d(given, np.full(2, 0.9 * 2 / 3), rounds=20, failure=FAILURE)
    assert not tube.applicable
    assert np.isinf(tube.last_reach).all()
    assert np.isfinite(tube.reach[0]).all()


@pytest.mark.slow(reason="1500 runs of explicit rows")
@pytest.mark.parametrize(
    ("settings", "everywhere", "last"),
    [
        # d = 1, 60 rows; purely multiplicative noise; few rows and misassigned clients
        ({"own": [30], "dimension": 1, "samples": 2, "noise": 0.5, "rounds": 12}, 0.05, 0.05),
        ({"own": [30], "dimension": 1, "samples": 2, "noise": 0.0, "rounds": 12}, 0.02, 0.02),
        ({"own": [20, 20], "dimension": 2, "samples": 8, "noise": 0.3, "rounds": 8}, 0.05, 0.05),
    ],
)
def test_frequency_of_failures_with_explicit_rows(
    settings: dict[str, object], everywhere: float, last: float
) -> None:
    """At delta = (.05, .5, .4) single runs break it far less often than allowed, but sometimes."""
    sizes = settings["own"]
    assert isinstance(sizes, list)
    optima = np.zeros((len(sizes), int(settings["dimension"])))  # type: ignore[call-overload]
    optima[:, 0] = np.linspace(-1, 1, len(sizes)) if len(sizes) > 1 else 0.0
    task = RegressionMixture(
        optima=optima,
        covariance=np.ones(optima.shape[1]),
        noise=settings["noise"],
        labels=np.repeat(np.arange(len(sizes)), sizes),
        samples=settings["samples"],
        sampling="direct",
    )
    algorithm = CFLMGD(step_size=1.0, momentum=0.2)
    initial = task.optima + 0.1 * (np.arange(optima.shape[1]) == 0)
    rounds = int(settings["rounds"])  # type: ignore[call-overload]
    tube = theorem_d(
        gaussian_dynamics(task, algorithm), initial - task.optima, rounds=rounds, failure=(0.05, 0.5, 0.4)
    )
    assert tube.applicable
    trace = run(algorithm, task, rounds=rounds, seed=5, replicates=1500, initial=initial)
    errors = np.asarray(trace.errors)
    assert (errors > tube.reach[:, None]).any(axis=(0, 2)).mean() <= everywhere
    assert (errors[-1] > tube.last_reach).any(axis=-1).mean() <= last


@pytest.mark.slow(reason="a second or more")
def test_long_horizons_are_stable() -> None:
    task = RegressionMixture(
        optima=np.eye(2),
        covariance=geometric_spectrum(2, 4.0),
        labels=make_labels(10, 2),
        noise=0.1,
        samples=10_000,
    )
    given = gaussian_dynamics(task, CFLMGD(step_size=1.0, momentum=0.9))
    tube = theorem_d(given, np.full(2, 0.05), rounds=1000, failure=FAILURE)
    late = tube.reach[-500:]
    assert np.isfinite(late).all()
    assert late.max() <= late.min() * (1 + 1e-3)
