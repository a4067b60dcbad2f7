"""The pages of Per-FedAvg, FedBCD and LOCAL: fixed points and rates by plain loops, and wrong runs."""

from typing import Any

import numpy as np
import pytest
from run_pages import called, outcomes, result, row_of

from clusterproof import theory
from clusterproof.algorithms import FedBCD, Local, PerFedAvg
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.pages.facts import ErrorFacts, Rate, Rest

TASK = QuadraticMixture.random(
    clusters=2, clients=6, dimension=3, condition_number=3.0, separation=2.0, spread=0.4, seed=3
)
READING = "baselines/per-fedavg-fo-optimum"


def client_gradient(task: QuadraticMixture, client: int, point: np.ndarray) -> np.ndarray:
    return np.array(task.hessians[client] @ (point - task.centers[client]))


def plain_client(algorithm: Any, task: QuadraticMixture, client: int, own: np.ndarray, z: np.ndarray) -> Any:
    """One client's round, step by step: from its own model, with the server's."""
    x = z if isinstance(algorithm, PerFedAvg) else own
    for _ in range(algorithm.local_steps):
        if isinstance(algorithm, PerFedAvg):
            inner = algorithm.inner_step_size or algorithm.step_size / 2
            gradient = client_gradient(task, client, x - inner * client_gradient(task, client, x))
            if algorithm.gradient == "second-order":
                gradient = gradient - inner * task.hessians[client] @ gradient
        else:
            gradient = client_gradient(task, client, x)
            if isinstance(algorithm, FedBCD) and algorithm.variant == "penalised":
                gradient = gradient + (0.1 if algorithm.proximal is None else algorithm.proximal) * (x - z)
        x = x - algorithm.step_size * gradient
    if isinstance(algorithm, FedBCD) and algorithm.variant == "separate":
        for _ in range(algorithm.local_steps):
            x = x - (0.2 if algorithm.pull is None else algorithm.pull) * (x - z)
    return x


def plain_round(algorithm: Any, task: QuadraticMixture, state: np.ndarray) -> np.ndarray:
    """A round of (z, x_1, ..., x_m); LOCAL's z is not used, Per-FedAvg's x_i are what it sends."""
    z, own = state[0], state[1:]
    sent = np.array([plain_client(algorithm, task, i, own[i], z) for i in range(task.clients)])
    server = getattr(algorithm, "server_step_size", 1.0)
    return np.concatenate([[z - server * (z - sent.mean(axis=0))], sent])


def plain_rest(algorithm: Any, task: QuadraticMixture) -> tuple[np.ndarray, float]:
    """Iterate to the fixed point, and give the spectral radius of a round, column by column."""
    state = np.zeros((task.clients + 1, task.dimension))
    for _ in range(20_000):
        after = plain_round(algorithm, task, state)
        if np.abs(after - state).max() < 1e-15:
            break
        state = after
    zero = plain_round(algorithm, task, 0 * state).ravel()
    columns = [
        plain_round(algorithm, task, unit.reshape(state.shape)).ravel() - zero for unit in np.eye(state.size)
    ]
    matrix = np.stack(columns, axis=1)
    if isinstance(algorithm, Local):  # without the server's model, to which nothing listens
        matrix = matrix[task.dimension :, task.dimension :]
    return state, float(np.abs(np.linalg.eigvals(matrix)).max())


ALGORITHMS = [
    PerFedAvg(step_size=1.0),
    PerFedAvg(step_size=0.9, inner_step_size=0.7, local_steps=3),
    PerFedAvg(step_size=0.9, gradient="second-order", local_steps=2),
    FedBCD(step_size=0.8),
    FedBCD(step_size=0.8, proximal=0.5, local_steps=2, server_step_size=0.5),
    FedBCD(step_size=0.8, variant="separate", pull=0.3, local_steps=2),
    Local(step_size=0.7, local_steps=2),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fixed_point_and_rate_are_those_of_plain_loops(algorithm: Any) -> None:
    page = theory.compare(TASK, trace := run(algorithm, TASK, rounds=60))
    state, radius = plain_rest(algorithm, TASK)
    found, rate, error = (result(page, kind) for kind in (Rest, Rate, ErrorFacts))
    rest = state[1:] if isinstance(algorithm, Local) else state[:1]
    distances = np.linalg.norm(trace.models - rest, axis=(-1, -2))
    first, last = rate.first, rate.last
    assert last - first >= 3
    assert rate.value == pytest.approx((distances[last] / distances[first]) ** (1 / (last - first)), abs=6e-5)
    assert (rate.limit, found.factor) == (pytest.approx(radius), pytest.approx(radius))
    if isinstance(algorithm, Local):
        away = np.linalg.norm(rest - TASK.optima[TASK.labels], axis=-1)
        assert dict(found.constants) == pytest.approx({"nearest": away.min(), "farthest": away.max()})
    else:
        assert found.distance == pytest.approx(np.linalg.norm(rest[0] - TASK.pooled_optimum))
    if isinstance(algorithm, FedBCD) and algorithm.variant == "penalised":
        away = np.linalg.norm(state[1:] - TASK.centers, axis=-1)
        assert dict(found.constants) == pytest.approx({"nearest": away.min(), "farthest": away.max()})
    end = trace.models[-1]
    if isinstance(algorithm, PerFedAvg):
        inner = algorithm.inner_step_size or algorithm.step_size / 2
        gap = np.linalg.norm(rest[0] - minimiser_of_f(TASK, inner))
        assert found.constants["gap"] == pytest.approx(gap, abs=1e-8)
        away = np.linalg.norm(end - TASK.optima, axis=-1)
        assert (error.nearest, error.farthest) == pytest.approx((away.min(), away.max()))
        after = [end[0] - inner * client_gradient(TASK, i, end[0]) for i in range(TASK.clients)]
        left = np.linalg.norm(np.array(after) - TASK.optima[TASK.labels], axis=-1)
        assert error.stepped == pytest.approx((left.min(), left.max()))


def minimiser_of_f(task: QuadraticMixture, inner: float) -> np.ndarray:
    """Minimise mean phi_i(w - alpha grad phi_i(w)) by plain gradient descent with gradients by differences."""

    def loss(w: np.ndarray) -> float:
        total = 0.0
        for i in range(task.clients):
            away = w - inner * client_gradient(task, i, w) - task.centers[i]
            total += away @ task.hessians[i] @ away / 2
        return total / task.clients

    units = np.eye(task.dimension)
    # F is a quadratic, whose differences are exact
    gradient = np.array([(loss(u) - loss(-u)) / 2 for u in units])
    hessian = np.array(
        [[(loss(u + v) - loss(u - v) - loss(v - u) + loss(-u - v)) / 4 for v in units] for u in units]
    )
    return np.array(np.linalg.solve(hessian, -gradient))


@pytest.mark.parametrize("inner", [0.3, 0.6])
def test_the_reading_that_first_order_minimises_f(inner: float) -> None:
    algorithm = PerFedAvg(step_size=0.9, inner_step_size=inner)
    different = theory.compare(TASK, run(algorithm, TASK, rounds=80))
    row = row_of(different, READING)
    assert row.outcome == "is broken"
    gap = np.linalg.norm(plain_rest(algorithm, TASK)[0][0] - minimiser_of_f(TASK, inner))
    assert row.measured == pytest.approx(gap)
    equal = QuadraticMixture(
        hessians=np.broadcast_to(TASK.hessians[0], TASK.hessians.shape),
        centers=TASK.centers,
        labels=TASK.labels,
    )
    assert outcomes(theory.compare(equal, run(algorithm, equal, rounds=80)))[READING] == "holds"
    early = theory.compare(TASK, run(algorithm, TASK, rounds=1, initial=TASK.pooled_optimum[None] + 5))
    assert outcomes(early)[READING] == "inconclusive"


def test_a_wrong_run_of_default_steps_is_told() -> None:
    """Of a setting that is left out the definition has a default of its own."""
    trace = run(PerFedAvg(step_size=0.9), TASK, rounds=5)
    with pytest.raises(AssertionError, match="and the run is without noise"):
        theory.assert_same_law(TASK, called(trace, step_size=1.0))
