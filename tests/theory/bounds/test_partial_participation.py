"""Theorem D with partial participation and option II: printed values, runs, and a client's own path."""

from typing import Any

import numpy as np
import pytest
from tiers import slow_after
from tolerance import assert_close

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.gaussian import (
    along_eigenvectors,
    gaussian_dynamics,
    reference_models,
)
from clusterproof.theory.bounds.theorem_d import theorem_d, theorem_d_recorded

FAILURE = (0.01, 0.02, 0.02)
ROUNDS = 12
NORMS = np.full(2, 0.125)


def task(**changes: Any) -> RegressionMixture:
    optima = np.zeros((2, 10))
    optima[:, 0] = (1.0, -1.0)
    arguments: dict[str, Any] = {
        "optima": optima,
        "covariance": geometric_spectrum(10, 4.0),
        "labels": make_labels(40, 2),
        "noise": 0.5,
        "samples": 2000,
    }
    return RegressionMixture(**(arguments | changes))


def starts(replicates: int, norm: float = 0.125) -> np.ndarray:
    drawn = np.random.default_rng(0).standard_normal((replicates, 2, 10))
    return norm * drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def recorded(trace: Trace) -> np.ndarray:
    """Own participants, (rounds, replicates, P)."""
    present = trace.assignments >= 0
    return np.stack([(present & (trace.labels == p)).sum(axis=-1) for p in range(2)], axis=-1)


@pytest.mark.parametrize(
    ("options", "printed", "ratio"),
    slow_after(
        3,
        "300 runs of further settings",
        [
            ({"normalisation": "cluster", "participation": 0.5}, 0.031684, (2.0, 2.25)),
            ({"normalisation": "participants", "participation": 0.5}, 0.049153, (4.2, 4.7)),
            ({"averaging": "model", "local_steps": 5, "participation": 0.5}, 0.032630, (2.05, 2.3)),
        ],
    ),
)
def test_before_the_run_as_printed(
    options: dict[str, Any], printed: float, ratio: tuple[float, float]
) -> None:
    algorithm = CFLMGD(step_size=1.0, momentum=0.3, **options)
    bound = theorem_d(gaussian_dynamics(task(), algorithm), NORMS, rounds=ROUNDS, failure=FAILURE)
    np.testing.assert_allclose(bound.last_reach, printed, rtol=5e-3)
    trace = run(algorithm, task(), rounds=ROUNDS, seed=1, replicates=300, initial=task().optima + starts(300))
    errors = np.asarray(trace.errors)
    assert not (errors > bound.reach[:, None]).any()
    ratios = bound.last_reach / np.quantile(errors[-1], 0.95, axis=0)
    assert ratio[0] <= ratios.min() <= ratios.max() <= ratio[1]


def test_on_the_record_of_all_clients_as_in_advance() -> None:
    for samples in (2000, 10):
        few = task(samples=samples)
        dynamics = gaussian_dynamics(few, CFLMGD(step_size=1.0, momentum=0.3))
        start = along_eigenvectors(few, few.optima + starts(1)[0])
        expected = theorem_d(dynamics, start, rounds=ROUNDS, failure=FAILURE)
        assert expected.false_members.any() == (samples == 10)
        all_clients = np.full((ROUNDS, 1, 2), 20)
        tube = theorem_d_recorded(dynamics, start, all_clients, failure=FAILURE, counted=True)
        assert_close(tube.reach, expected.reach)
        assert_close(tube.last_reach, expected.last_reach)


@pytest.mark.parametrize("reset", [False, True])
def test_in_advance_with_all_clients_is_on_the_record(reset: bool) -> None:
    """Nothing is drawn, so that both speak of one run: its error by mode is e <- (1 - a) e + beta (e - its past)."""
    algorithm = CFLMGD(step_size=1.0, momentum=0.6, averaging="model", local_steps=3, reset_momentum=reset)
    dynamics, rounds = gaussian_dynamics(task(), algorithm), 4
    before = theorem_d(dynamics, NORMS, rounds=rounds, failure=FAILURE)
    after = theorem_d_recorded(dynamics, NORMS, np.full((rounds, 1, 2), 20), failure=FAILURE)
    assert_close(before.reach, after.reach)
    error = past = np.ones(10)
    for step in range(3 * rounds):
        if reset and step % 3 == 0:
            past = error
        error, past = (1 - geometric_spectrum(10, 4.0)) * error + 0.6 * (error - past), error
        if step % 3 == 2:
            for response in (before.response, after.response):
                ours = response[(step + 1) // 3, 0, 0]
                np.testing.assert_allclose(np.sort(ours), np.sort(error), rtol=0, atol=1e-12)


def test_one_local_step_is_option_one_that_divides_by_the_cluster() -> None:
    counts = np.random.default_rng(0).integers(0, 6, (ROUNDS, 3, 2))
    counts[..., 1] = 10 - counts[..., 0]
    first = CFLMGD(
        step_size=1.0, momentum=0.3, normalisation="cluster", empty_cluster="freeze", participation=0.25
    )
    second = CFLMGD(step_size=1.0, momentum=0.3, averaging="model", participation=0.25)
    bounds = [
        theorem_d_recorded(gaussian_dynamics(task(), algorithm), NORMS, counts, failure=FAILURE).reach
        for algorithm in (first, second)
    ]
    assert_close(*bounds)


def test_rounds_without_participants() -> None:
    """A frozen cluster keeps bound and path; one that coasts moves on; neither receives noise."""
    counts = np.full((6, 1, 2), 5)
    counts[3] = [0, 10]
    base = {"step_size": 1.0, "momentum": 0.5, "normalisation": "cluster", "participation": 0.25}
    tubes, responses = {}, {}
    for empty in ("freeze", "coast"):
        dynamics = gaussian_dynamics(task(), CFLMGD(empty_cluster=empty, **base))
        bound = theorem_d_recorded(dynamics, NORMS, counts, failure=FAILURE)
        tubes[empty], responses[empty] = bound, bound.response[:, 0, 0]
    frozen = tubes["freeze"].deviation[:, 0]
    assert frozen[4] == pytest.approx(frozen[3], rel=1e-3)
    np.testing.assert_array_equal(responses["freeze"][4], responses["freeze"][3])
    coasting = responses["coast"]
    np.testing.assert_allclose(coasting[4], coasting[3] + 0.5 * (coasting[3] - coasting[2]))


@pytest.mark.slow(reason="a second or more")
def test_runs_with_empty_clusters_stay_below() -> None:
    for options in (
        {"normalisation": "cluster", "empty_cluster": "freeze"},
        {"averaging": "model", "local_steps": 3},
    ):
        algorithm = CFLMGD(step_size=1.0, momentum=0.3, participation=0.1, **options)
        initial = task().optima + starts(40)
        trace = run(algorithm, task(), rounds=ROUNDS, seed=4, replicates=40, initial=initial)
        counts = recorded(trace)
        assert (counts == 0).any()
        start = along_eigenvectors(task(), initial)
        bound = theorem_d_recorded(gaussian_dynamics(task(), algorithm), start, counts, failure=FAILURE)
        path = reference_models(task(), start, bound.response)
        distance = np.linalg.norm(trace.models - path, axis=-1)
        allowed = bound.deviation.reshape(distance.shape)
        assert np.isfinite(allowed).all()
        assert (distance <= allowed + 1e-13).all()
        assert (distance[-1] / allowed[-1]).max() > 0.5


def test_a_cluster_that_may_be_empty_has_no_bound_before_the_run() -> None:
    labels = np.repeat([0, 1, 2], [60, 40, 20])
    optima = np.zeros((3, 10))
    optima[[0, 1, 2], [0, 1, 2]] = np.sqrt(2)
    three = task(labels=labels, optima=optima)
    algorithm = CFLMGD(step_size=1.0, momentum=0.3, normalisation="cluster", participation=0.05)
    bound = theorem_d(gaussian_dynamics(three, algorithm), np.full(3, 0.1), rounds=ROUNDS, failure=FAILURE)
    assert not bound.applicable


def test_misassignment_is_added_or_counted() -> None:
    close = task(samples=25)
    for options in ({"normalisation": "cluster"}, {}, {"normalisation": "participants"}):
        algorithm = CFLMGD(step_size=1.0, momentum=0.3, participation=0.5, **options)
        dynamics = gaussian_dynamics(close, algorithm)
        counts = np.full((4, 1, 2), 10)
        plain = theorem_d_recorded(dynamics, NORMS, counts, failure=FAILURE)
        counted = theorem_d_recorded(dynamics, NORMS, counts, failure=FAILURE, counted=True)
        assert plain.misassignment[0] > 0.01
        assert counted.misassignment[0] == 0
        assert counted.false_members.any()
        assert (counted.reach >= plain.reach).all()
    averaging = gaussian_dynamics(
        close, CFLMGD(step_size=1.0, momentum=0.3, averaging="model", local_steps=2)
    )
    with pytest.raises(InvalidArgument, match="counted"):
        theorem_d_recorded(averaging, NORMS, counts, failure=FAILURE, counted=True)
