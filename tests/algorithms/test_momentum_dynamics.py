"""Noise-free runs against closed forms: heavy ball, the printed order, and what local momentum does."""

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture, strategies
from clusterproof.theory.exact.heavy_ball import propagators, spectral_rate


def modes(task, models):
    """Coordinates (rounds + 1, P, d) of each cluster's error along its Hessian's eigenvectors."""
    eigenvalues, vectors = np.linalg.eigh(task.cluster_hessians)
    return eigenvalues, np.einsum("pij,tpi->tpj", vectors, models - task.optima)


SEPARATED = strategies.quadratic_mixtures(condition_number=(1, 4), separation=(1, 4))


@settings(max_examples=examples(40))
@given(SEPARATED, st.floats(0, 0.99), st.sampled_from(["clients", "cluster"]))
def test_option_one_is_heavy_ball_with_the_cluster_share_of_the_step(task, momentum, normalisation):
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum, normalisation=normalisation)
    trace = run(algorithm, task, rounds=25, seed=3)
    np.testing.assert_array_equal(trace.assignments, np.broadcast_to(task.labels, (25, task.clients)))
    eigenvalues, found = modes(task, trace.models)
    shares = task.proportions if normalisation == "clients" else np.ones(task.clusters)
    curvature = shares[:, None] * eigenvalues / task.smoothness
    expected = propagators(curvature, momentum, 25)[0] * found[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(found).max()))


@settings(max_examples=examples(40))
@given(SEPARATED, st.floats(0, 0.99), st.integers(1, 4), st.booleans())
def test_option_two_with_equal_clients_is_heavy_ball_of_all_local_steps(task, momentum, steps, reset):
    algorithm = CFLMGD(
        step_size=1 / task.smoothness,
        momentum=momentum,
        averaging="model",
        local_steps=steps,
        reset_momentum=reset,
    )
    trace = run(algorithm, task, rounds=8, seed=3)
    eigenvalues, found = modes(task, trace.models)
    response = propagators(eigenvalues / task.smoothness, momentum, 8 * steps)[0]
    factors = response[steps] ** np.arange(9)[:, None, None] if reset else response[::steps]
    np.testing.assert_allclose(found, factors * found[0], rtol=0, atol=1e-12 * max(1.0, np.abs(found).max()))


def one_client(curvature):
    return QuadraticMixture(hessians=[[[curvature]]], centers=[[0.0]], labels=[0])


def test_the_printed_order_diverges_where_the_intended_one_converges():
    """Audit 5.1: a = .5, beta = .9 has radius 1.183, |x_60| = 1.1e4; intended .949."""
    task, start = one_client(0.5), np.array([[1.0]])
    delayed = np.array([[1 + 0.9, -(0.9 + 0.5)], [1.0, 0.0]])
    radius = np.abs(np.linalg.eigvals(delayed)).max()
    assert radius == pytest.approx(1.183, abs=5e-4)
    kept = {"step_size": 1.0, "momentum": 0.9}
    printed = run(CFLMGD(update_order="as-printed", **kept), task, rounds=61, initial=start).models.ravel()
    # nothing has arrived in the first round, so that the run is one round late
    for t in range(1, 61):
        expected = np.linalg.matrix_power(delayed, t) @ np.ones(2)
        assert printed[t + 1] == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert abs(printed[61]) == pytest.approx(1.1e4, rel=0.05)
    intended = run(CFLMGD(**kept), task, rounds=400, initial=start).models.ravel()
    assert float(spectral_rate(0.5, 0.9)) == pytest.approx(0.949, abs=5e-4)
    assert np.abs(intended[300:]).max() < 0.949**300 * 5


def test_the_printed_local_order_diverges_for_any_momentum_at_unit_curvature():
    """Audit 5.2: eta lambda = 1 and beta = .1 has radius 1.049."""
    kept = {"step_size": 1.0, "momentum": 0.1, "averaging": "model"}
    task, start = one_client(1.0), np.array([[1.0]])
    printed = run(CFLMGD(update_order="as-printed", **kept), task, rounds=201, initial=start).models.ravel()
    growth = np.abs(np.linalg.eigvals([[1.1, -1.1], [1.0, 0.0]])).max()
    assert growth == pytest.approx(1.049, abs=5e-4)
    assert np.abs(printed[150:]).max() > growth**150
    assert np.abs(run(CFLMGD(**kept), task, rounds=60, initial=start).models[-1]).max() < 1e-12


LOCAL_STEPS = {"step_size": 1.0, "averaging": "model", "local_steps": 5}


def round_matrix(curvatures, momentum, steps):
    """M = mean of B_i^H on (chi, u), written out by hand: audit section 4."""
    powers = []
    for curvature in curvatures:
        one = np.array([[1 - curvature, -momentum], [curvature, momentum]])
        powers.append(np.linalg.matrix_power(one, steps))
    return np.mean(powers, axis=0)


def test_averaged_momentum_diverges_though_every_client_converges():
    """Audit section 4: lambda = (.01, 1), beta = .9, H = 5 has rho(M) = 1.3307."""
    task = QuadraticMixture(hessians=[[[0.01]], [[1.0]]], centers=[[0.0], [0.0]], labels=[0, 0])
    matrix = round_matrix((0.01, 1.0), 0.9, 5)
    radius = np.abs(np.linalg.eigvals(matrix)).max()
    assert radius == pytest.approx(1.3307, abs=5e-5)
    start = np.array([[0.5]])
    run_of = run(CFLMGD(momentum=0.9, **LOCAL_STEPS), task, rounds=60, initial=start).models.ravel()
    expected = [(np.linalg.matrix_power(matrix, t) @ [0.5, 0.0])[0] for t in range(61)]
    np.testing.assert_allclose(run_of, expected, rtol=1e-10)
    assert np.abs(run_of[[10, 30, 60]]) == pytest.approx([5.82, 1.8e3, 9.3e6], rel=0.03)
    assert run_of[60] / run_of[59] == pytest.approx(radius, rel=1e-6)
    for curvature in (0.01, 1.0):
        assert np.abs(np.linalg.eigvals(round_matrix((curvature,), 0.9, 5))).max() < 0.8


def test_resetting_the_momentum_keeps_local_steps_stable():
    task = QuadraticMixture(hessians=[[[0.01]], [[1.0]]], centers=[[0.0], [0.0]], labels=[0, 0])
    algorithm = CFLMGD(momentum=0.9, reset_momentum=True, **LOCAL_STEPS)
    models = run(algorithm, task, rounds=60, initial=np.array([[0.5]])).models.ravel()
    factor = np.mean([propagators(curvature, 0.9, 5)[0][5] for curvature in (0.01, 1.0)])
    assert abs(factor) < 1
    np.testing.assert_allclose(models, 0.5 * factor ** np.arange(61), rtol=1e-10)


def test_unequal_clients_bias_local_steps_as_the_fixed_point_says():
    """Audit section 4: z_inf = (I - M)^-1 mean (I - B_i^H)(c_i, 0); one local step has no bias."""
    curvatures, centers, momentum = np.array([0.2, 1.0]), np.array([-1.0, 1.0]), 0.3
    task = QuadraticMixture(hessians=curvatures[:, None, None], centers=centers[:, None], labels=[0, 0])
    for steps in (1, 4):
        matrix, offset = np.zeros((2, 2)), np.zeros(2)
        for curvature, center in zip(curvatures, centers, strict=True):
            power = round_matrix((curvature,), momentum, steps)
            matrix += power / 2
            offset += (np.eye(2) - power) @ [center, 0.0] / 2
        limit = np.linalg.solve(np.eye(2) - matrix, offset)[0]
        algorithm = CFLMGD(step_size=1.0, momentum=momentum, averaging="model", local_steps=steps)
        models = run(algorithm, task, rounds=200, initial=np.array([[0.5]])).models
        assert models[-1, 0, 0] == pytest.approx(limit, abs=1e-12)
        assert (abs(limit - task.optima[0, 0]) < 1e-12) == (steps == 1)
