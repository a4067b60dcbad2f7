"""What must not change, or must change along, for every algorithm, bound and verdict."""

import dataclasses

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings, target
from hypothesis import strategies as st

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, IFCA, FedAvg, Local, Trace, run
from clusterproof.algorithms.protocol import Algorithm
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.synthetic.strategies import quadratic_mixtures, regression_mixtures
from clusterproof.theory.bounds.audit_settings import experiment, tuned_momentum
from clusterproof.theory.bounds.bound_parts import Bound, BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.setting import setting_of
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.bounds.theorem_c import theorem_c_parts
from clusterproof.theory.exact.heavy_ball import propagators, start_envelope

OPTIONS: list[Algorithm] = [
    CFLMGD(step_size=0.5, momentum=0.6),
    CFLMGD(step_size=0.5, momentum=0.6, momentum_owner="client"),
    CFLMGD(step_size=0.5, momentum=0.6, normalisation="cluster", empty_cluster="freeze"),
    CFLMGD(step_size=0.5, momentum=0.6, averaging="model", local_steps=3),
    CFLMGD(step_size=0.5, momentum=0.6, averaging="model", local_steps=3, reset_momentum=True),
    CFLMGD(step_size=0.2, momentum=0.3, update_order="as-printed"),
    IFCA(step_size=0.5),
    IFCA(step_size=0.5, averaging="model", local_steps=2),
    FedAvg(step_size=0.5, local_steps=2),
    Local(step_size=0.5, local_steps=2),
]
ROUNDS = 6
every_option = pytest.mark.parametrize(
    "algorithm", OPTIONS, ids=lambda one: f"{one.name}-{OPTIONS.index(one)}"
)


def start_of(algorithm: Algorithm, task: QuadraticMixture, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    count = algorithm.model_count(task)
    references = task.reference_optima(algorithm.target)
    return references + 0.1 * rng.standard_normal((count, task.dimension))


def go(algorithm: Algorithm, task: QuadraticMixture, initial: np.ndarray) -> Trace:
    return run(algorithm, task, rounds=ROUNDS, initial=initial)


@every_option
@settings(max_examples=8)
@given(task=quadratic_mixtures(), seed=st.integers(0, 1000))
def test_permuting_clients_permutes_the_run(algorithm: Algorithm, task: QuadraticMixture, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(task.clients)
    permuted = QuadraticMixture(
        hessians=task.hessians[order], centers=task.centers[order], labels=task.labels[order]
    )
    initial = start_of(algorithm, task, seed)
    own = initial[order] if algorithm.target == "clients" else initial
    first, second = go(algorithm, task, initial), go(algorithm, permuted, own)
    models = first.models[:, order] if algorithm.target == "clients" else first.models
    np.testing.assert_allclose(second.models, models, atol=1e-9)


@every_option
@settings(max_examples=8)
@given(task=quadratic_mixtures(), seed=st.integers(0, 1000))
def test_rotating_and_shifting_the_models_rotates_and_shifts_the_run(
    algorithm: Algorithm, task: QuadraticMixture, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((task.dimension, task.dimension)))[0]
    shift = rng.standard_normal(task.dimension)
    hessians = rotation.T @ task.hessians @ rotation
    transformed = QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, 1, 2)) / 2,
        centers=task.centers @ rotation + shift,
        labels=task.labels,
    )
    initial = start_of(algorithm, task, seed)
    first, second = go(algorithm, task, initial), go(algorithm, transformed, initial @ rotation + shift)
    np.testing.assert_allclose(second.models, first.models @ rotation + shift, atol=1e-8)
    np.testing.assert_allclose(second.errors, first.errors, atol=1e-8)


@every_option
@settings(max_examples=8)
@given(
    task=quadratic_mixtures(), seed=st.integers(0, 1000), length=st.floats(0.1, 10), height=st.floats(0.1, 10)
)
def test_changing_units_changes_nothing_else(
    algorithm: Algorithm, task: QuadraticMixture, seed: int, length: float, height: float
) -> None:
    """chi in other units, losses in other units: mu, L and the step follow, kappa stays."""
    scaled = QuadraticMixture(
        hessians=task.hessians * height, centers=task.centers * length, labels=task.labels
    )
    adapted = dataclasses.replace(algorithm, step_size=algorithm.step_size / height)
    initial = start_of(algorithm, task, seed)
    first, second = go(algorithm, task, initial), go(adapted, scaled, initial * length)
    np.testing.assert_allclose(second.models, first.models * length, atol=1e-9 * length)
    assert scaled.condition_number == pytest.approx(task.condition_number)


@every_option
@settings(max_examples=8)
@given(task=quadratic_mixtures(), seed=st.integers(0, 1000))
def test_duplicating_every_client_changes_nothing(
    algorithm: Algorithm, task: QuadraticMixture, seed: int
) -> None:
    doubled = QuadraticMixture(
        hessians=np.repeat(task.hessians, 2, axis=0),
        centers=np.repeat(task.centers, 2, axis=0),
        labels=np.repeat(task.labels, 2),
    )
    initial = start_of(algorithm, task, seed)
    own = np.repeat(initial, 2, axis=0) if algorithm.target == "clients" else initial
    first, second = go(algorithm, task, initial), go(algorithm, doubled, own)
    models = np.repeat(first.models, 2, axis=1) if algorithm.target == "clients" else first.models
    np.testing.assert_allclose(second.models, models, atol=1e-9)


@pytest.mark.parametrize(
    "algorithm", [one for one in OPTIONS if one.target == "clusters"], ids=lambda one: one.name
)
@settings(max_examples=8)
@given(task=quadratic_mixtures(clusters=(2, 3)), seed=st.integers(0, 1000))
def test_relabelling_clusters_relabels_the_run(
    algorithm: Algorithm, task: QuadraticMixture, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(task.clusters)
    relabelled = QuadraticMixture(
        hessians=task.hessians, centers=task.centers, labels=np.argsort(order)[task.labels]
    )
    initial = start_of(algorithm, task, seed)
    first, second = go(algorithm, task, initial), go(algorithm, relabelled, initial[order])
    np.testing.assert_allclose(second.models, first.models[:, order], atol=1e-9)
    np.testing.assert_allclose(second.errors, first.errors[:, order], atol=1e-9)


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
