"""Per-FedAvg's batches and its second-order gradient."""

import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument, PerFedAvg, Randomness, State, run
from clusterproof.synthetic import LogisticMixture, RegressionMixture
from clusterproof.synthetic.wrapped import WrappedTask

NOISY = RegressionMixture.random(clusters=1, clients=1, dimension=2, condition_number=3, noise=0.5, samples=5)


@pytest.mark.parametrize("gradient", ["first-order", "second-order"])
def test_the_three_batches_are_independent(gradient):
    """With independent batches the mean step is the product of the mean Hessians: E[H''] E[A'] E[v]."""
    alpha, beta, replicates = 0.8, 1.0, 40_000
    start = NOISY.optima + np.array([[1.0, 2.0]])
    algorithm = PerFedAvg(step_size=beta, inner_step_size=alpha, gradient=gradient)
    trace = run(algorithm, NOISY, rounds=1, replicates=replicates, initial=start)
    steps = (trace.models[0] - trace.models[1])[:, 0]
    curvature = NOISY.covariances.matrices[0]
    shrink = np.eye(2) - alpha * curvature
    expected = beta * curvature @ shrink @ np.array([1.0, 2.0])
    if gradient == "second-order":
        expected = shrink @ expected
    errors = steps.std(axis=0) / np.sqrt(replicates)
    assert (np.abs(steps.mean(axis=0) - expected) < 5 * errors).all()


def test_the_second_order_gradient_is_the_derivative_of_the_loss_after_the_inner_step():
    """On a task that is not quadratic, against a difference quotient."""
    task = LogisticMixture.random(clusters=1, clients=1, dimension=3, data="population", seed=2)
    alpha, point = 0.3, np.array([0.5, -1.0, 0.25])

    def after(model):
        return task.expected_loss(model - alpha * task.expected_gradient(model, 0), 0)

    quotient = [(after(point + h) - after(point - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    algorithm = PerFedAvg(step_size=1.0, inner_step_size=alpha, gradient="second-order")
    moved = algorithm.step(State(point[None], None, None), task, Randomness.from_seed(0)).models[0]
    np.testing.assert_allclose(point - moved, quotient, rtol=0, atol=1e-9)


def test_the_inner_step_is_half_the_outer_one_where_it_is_left_out():
    kept = {"rounds": 5, "initial": np.array([[1.0, 2.0]])}
    same = run(PerFedAvg(step_size=0.4, inner_step_size=0.2), NOISY, **kept)
    assert run(PerFedAvg(step_size=0.4), NOISY, **kept).models.tobytes() == same.models.tobytes()


def test_personalising_takes_one_inner_step():
    task = RegressionMixture.random(clusters=2, clients=4, dimension=2, data="population")
    points = np.zeros((4, 2))
    moved = PerFedAvg(step_size=0.1, inner_step_size=0.5).personalise(
        points, np.arange(4), task, Randomness.from_seed(0)
    )
    gradients = [task.expected_gradient(np.zeros(2), label) for label in task.labels]
    np.testing.assert_allclose(moved, -0.5 * np.array(gradients), rtol=1e-14)


class WithoutCurvature(WrappedTask):
    """A task that answers gradients and nothing of second order."""

    task = NOISY

    def losses(self, models, clients, generator):
        return NOISY.losses(models, clients, generator)

    def gradients(self, points, clients, generator):
        return NOISY.gradients(points, clients, generator)


def test_a_task_without_hessian_products_is_refused_by_the_second_order_gradient_alone():
    task = WithoutCurvature()
    with pytest.raises(InvalidArgument, match=r"task = 'WithoutCurvature': .*`hessian_products`; .*'first"):
        run(PerFedAvg(step_size=0.1, gradient="second-order"), task, rounds=1)
    assert run(PerFedAvg(step_size=0.1), task, rounds=1).rounds == 1
