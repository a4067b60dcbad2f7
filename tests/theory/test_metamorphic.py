"""What must not change, or must change along, for every bound and verdict; ``test_symmetries`` has the algorithms."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings, target
from hypothesis import strategies as st

from clusterproof import theory
from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.exact.heavy_ball import propagators, start_envelope


@settings(max_examples=examples(300))
@given(
    smallest=st.floats(1e-3, 1.0),
    share=st.floats(0, 1),
    momentum=st.floats(0, 0.99),
    place=st.floats(0, 1),
    rounds=st.integers(1, 80),
)
def test_lemma_h_survives_a_search_for_its_weakest_place(
    smallest: float, share: float, momentum: float, place: float, rounds: int
) -> None:
    largest = smallest + share * (1 - smallest)
    curvature = smallest + place * (largest - smallest)
    response = abs(float(propagators(curvature, momentum, rounds)[0][-1]))
    bound = float(start_envelope(smallest, largest, momentum, rounds)[-1])
    if bound > 1e-12:
        target(response / bound)
    assert response <= bound * (1 + 1e-9) + 1e-13


@pytest.mark.slow(reason="a second or more")
def test_shifting_s1_changes_no_verdict_of_a_run() -> None:
    one = experiment("S1", None)
    moved = dataclasses.replace(one.regression, optima=one.regression.optima + 7.0)
    initial = one.initial(np.random.default_rng(1), 30)
    for task, start in ((one.regression, initial), (moved, initial + 7.0)):
        trace = run(one.algorithm, task, rounds=12, seed=1, initial=start, replicates=30)
        for claim_id in ("cfl-mgd/theorem-a", "cfl-mgd/theorem-d"):
            theory.assert_holds(claim_id, task, trace)


def on_a_run(theorem: str) -> Callable[..., np.ndarray]:
    def bound(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
        trace = run(algorithm, task, rounds=6, seed=0, initial=task.optima + start)
        return theory.bound(f"cfl-mgd/{theorem}", task, trace).bound

    return bound


def by_theorem_d_in_advance(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
    distances = np.full(task.clusters, start * np.sqrt(task.dimension))
    dynamics = gaussian_dynamics(task, algorithm)
    return theorem_d(dynamics, distances, rounds=6, failure=(0.01, 0.02, 0.02)).reach


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("bound_of", "participation"),
    [
        *((on_a_run(f"theorem-{name}"), 1.0) for name in "ad"),
        (on_a_run("theorem-d"), 0.75),
        (by_theorem_d_in_advance, 0.75),
    ],
)
def test_bounds_follow_the_units_of_targets_and_of_features(
    bound_of: Callable[..., np.ndarray], participation: float
) -> None:
    """Targets times a and features times b: models times a / b, curvatures times b^2, steps divided by it."""
    targets, features = 8.0, 0.5
    task = RegressionMixture.random(
        clusters=2, clients=40, dimension=3, condition_number=2.0, noise=0.1, samples=20_000
    )
    scaled = dataclasses.replace(
        task,
        optima=targets / features * task.optima,
        covariance=features**2 * task.covariances.matrices,
        noise=targets * task.noise,
    )
    algorithm = CFLMGD(step_size=0.8, momentum=0.3, participation=participation)
    slower = dataclasses.replace(algorithm, step_size=0.8 / features**2)
    usual = bound_of(task, algorithm, 0.05)
    assert np.isfinite(usual).all()
    length = targets / features
    np.testing.assert_allclose(bound_of(scaled, slower, 0.05 * length), length * usual, rtol=1e-6)
