"""What must not change, or must change along, for every bound and verdict; ``test_symmetries`` has the algorithms."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings, target
from hypothesis import strategies as st

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.strategies import regression_mixtures
from clusterproof.theory.bounds.audit_settings import experiment, tuned_momentum
from clusterproof.theory.bounds.bound_parts import Bound, BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.setting import setting_of
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.bounds.theorem_c import theorem_c_parts
from clusterproof.theory.bounds.theorem_c_prime import theorem_c_prime_parts
from clusterproof.theory.bounds.theorem_e import theorem_e
from clusterproof.theory.exact.heavy_ball import propagators, start_envelope


def parts_of(bound: Bound, task: RegressionMixture, momentum: float) -> BoundParts:
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum)
    start = np.full(task.clusters, task.basin_radius / 2)
    return bound.parts(setting_of(task, algorithm, start, 15))


@pytest.mark.parametrize("bound", [TheoremB(), CorollaryB1()], ids=["B", "B1"])
@settings(max_examples=examples(40))
@given(task=regression_mixtures(clusters=(2, 3)), seed=st.integers(0, 1000), length=st.floats(0.2, 5))
def test_bounds_follow_the_task(bound: Bound, task: RegressionMixture, seed: int, length: float) -> None:
    """Relabelled, rotated, shifted and measured in other units: the bound moves along."""
    rng = np.random.default_rng(seed)
    momentum = tuned_momentum(task)
    parts = parts_of(bound, task, momentum)
    order = rng.permutation(task.clusters)
    matrices = task.covariances.matrices
    relabelled = dataclasses.replace(
        task, optima=task.optima[order], covariance=matrices[order], labels=np.argsort(order)[task.labels]
    )
    np.testing.assert_allclose(
        parts_of(bound, relabelled, momentum).last_round, parts.last_round[order], rtol=1e-9
    )
    rotation = np.linalg.qr(rng.standard_normal((task.dimension, task.dimension)))[0]
    turned = rotation.T @ matrices @ rotation
    transformed = dataclasses.replace(
        task,
        optima=task.optima @ rotation + rng.standard_normal(task.dimension),
        covariance=(turned + np.swapaxes(turned, 1, 2)) / 2,
    )
    tuned = tuned_momentum(transformed)
    np.testing.assert_allclose(parts_of(bound, transformed, tuned).last_round, parts.last_round, rtol=1e-4)
    scaled = dataclasses.replace(task, optima=length * task.optima, noise=length * task.noise)
    np.testing.assert_allclose(
        parts_of(bound, scaled, momentum).last_round, length * parts.last_round, rtol=1e-6
    )


@settings(max_examples=8)
@given(task=regression_mixtures(clusters=(2, 3)), seed=st.integers(0, 1000))
def test_theorem_c_follows_rotations(task: RegressionMixture, seed: int) -> None:
    rng = np.random.default_rng(seed)
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.4)
    models = task.initial_models(task.clusters, (), rng)
    rotation = np.linalg.qr(rng.standard_normal((task.dimension, task.dimension)))[0]
    turned = rotation.T @ task.covariances.matrices @ rotation
    transformed = dataclasses.replace(
        task, optima=task.optima @ rotation, covariance=(turned + np.swapaxes(turned, 1, 2)) / 2
    )
    again = CFLMGD(step_size=1 / (transformed.smoothness * (1 + 1e-12)), momentum=0.4)
    first = theorem_c_parts(task, algorithm, models, 10)
    second = theorem_c_parts(transformed, again, models @ rotation, 10)
    np.testing.assert_allclose(second.last_round, first.last_round, rtol=1e-6)


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


@pytest.mark.slow(reason="60 tasks with 20 runs each")
@settings(max_examples=examples(60))
@given(
    noise=st.sampled_from([0.0, 0.3, 2.0]),
    condition=st.floats(1, 20),
    share=st.floats(0.1, 0.9),
    momentum=st.floats(0, 0.9),
    samples=st.sampled_from([5000, 10**5, 10**6]),
    seed=st.integers(0, 200),
)
def test_theorem_b_survives_a_search_for_its_weakest_task(
    noise: float, condition: float, share: float, momentum: float, samples: int, seed: int
) -> None:
    """observed / bound is what hypothesis maximises; where the hypotheses hold it stays below 1."""
    task = RegressionMixture.random(
        clusters=2,
        clients=40,
        dimension=4,
        condition_number=condition,
        separation=2.0,
        noise=noise,
        samples=samples,
        proportions=(share, 1 - share),
        seed=seed,
    )
    algorithm = CFLMGD(step_size=1.0, momentum=momentum)
    start = np.full(2, task.basin_radius / 2)
    parts = TheoremB().best_parts(setting_of(task, algorithm, start, 20))
    if not parts.applicable:
        return
    trace = run(algorithm, task, rounds=20, seed=seed, replicates=20)
    ratios = np.asarray(trace.errors) / (parts.all_rounds[:, None, :] * (1 + 1e-9))
    target(float(np.median(ratios.max(axis=(0, 2)))))
    assert (ratios.max(axis=(0, 2)) > 1).sum() <= 6  # each of 20 runs may fail with probability 0.03


def test_shifting_s1_changes_no_verdict_of_a_run() -> None:
    one = experiment("S1", None)
    moved = dataclasses.replace(one.regression, optima=one.regression.optima + 7.0)
    initial = one.initial(np.random.default_rng(1), 30)
    for task, start in ((one.regression, initial), (moved, initial + 7.0)):
        trace = run(one.algorithm, task, rounds=12, seed=1, initial=start, replicates=30)
        for claim_id in ("cfl-mgd/theorem-b", "cfl-mgd/corollary-b1", "cfl-mgd/theorem-c"):
            theory.assert_holds(claim_id, task, trace)


def on_a_run(theorem: str) -> Callable[..., np.ndarray]:
    def bound(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
        trace = run(algorithm, task, rounds=6, seed=0, initial=task.optima + start)
        return theory.bound(f"cfl-mgd/{theorem}", task, trace).bound

    return bound


def by_theorem_c_prime(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
    return theorem_c_prime_parts(task, algorithm, task.optima + start, 6).all_rounds


def by_theorem_e_in_advance(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
    distances = np.full(task.clusters, start * np.sqrt(task.dimension))
    dynamics = gaussian_dynamics(task, algorithm)
    return theorem_e(dynamics, distances, rounds=6, failure=(0.01, 0.02, 0.02)).tube.reach


@pytest.mark.parametrize(
    ("bound_of", "participation"),
    [
        *((on_a_run(f"theorem-{name}"), 1.0) for name in "abcde"),
        (on_a_run("theorem-e"), 0.75),
        (by_theorem_c_prime, 1.0),
        (by_theorem_e_in_advance, 0.75),
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
