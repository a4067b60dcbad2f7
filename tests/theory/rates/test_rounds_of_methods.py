"""A round as its claim states it, of all clients as one, is that of the clients one after the other, on quadratics."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from clusterproof.methods.averaging import fedavg, fedprox
from clusterproof.methods.controls import proxskip, scaffold
from clusterproof.methods.exact import ExactClients, SolvingClient, exact_clients
from clusterproof.theory.rates import every_client

CLIENTS, DIMENSION, STEPS, SERVER, PROBABILITY, WEIGHT = 3, 2, 3, 0.75, 0.25, 0.5
STREAM = np.random.default_rng(0)
ROOTS = STREAM.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / 3
HESSIANS = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(DIMENSION) / 5
MODEL, SPREAD, CONTROLS = (STREAM.standard_normal(shape) for shape in ((2,), (3, 2), (3, 2)))
SPREAD, CONTROLS = (each - each.mean(axis=0) for each in (SPREAD, CONTROLS))


def joined(vectors: np.ndarray) -> np.ndarray:
    """Return the clients' vectors (m, d) as one, of which @ is the mean of the inner products."""
    return np.broadcast_to(vectors, (CLIENTS, DIMENSION)).ravel() / CLIENTS**0.5


class Joint:
    """The clients' losses d_i' A_i d_i / 2 as one function."""

    minimiser = np.zeros(CLIENTS * DIMENSION)

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return A_i d_i of every client."""
        return np.einsum("mij,mj->mi", HESSIANS, point.reshape(CLIENTS, DIMENSION)).ravel()

    def prox(self, point: np.ndarray, step: int) -> np.ndarray:
        """Return the minimisers of f_i(y) + ||y - d_i||^2 / 2."""
        return np.linalg.solve(HESSIANS + np.eye(DIMENSION), point.reshape(CLIENTS, DIMENSION, 1)).ravel()


@pytest.fixture(autouse=True)
def _true_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the clients' mean in place of a vector of which only products are known."""

    def mean_of(_: Joint, vector: np.ndarray, split: Any) -> np.ndarray:
        mean = np.tile(vector.reshape(CLIENTS, DIMENSION).mean(axis=0), CLIENTS)
        split[0].append(mean)
        split[1].append(vector - mean)
        return mean

    monkeypatch.setattr(every_client, "mean_of", mean_of)


def stated(rule: str, setting: tuple[Any, ...], *more: np.ndarray) -> float:
    """Return the squares after rounds as the claim has them."""
    split = [joined(MODEL)], [joined(CONTROLS), *map(joined, more)]
    return float(getattr(every_client, rule)(Joint(), split, setting))


def gradients(shifts: np.ndarray) -> list[Any]:
    """Return A_i d + s_i of every client."""
    return [lambda d, i=i: HESSIANS[i] @ d + shifts[i] for i in range(CLIENTS)]


def mean_square(vectors: Any) -> float:
    """Return the mean of the squares of the clients' vectors."""
    return float(np.square(vectors).sum() / CLIENTS)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold(option: str, rounds: int) -> None:
    clients = exact_clients(gradients(0 * CONTROLS), [STEPS] * CLIENTS)
    settings = {"step_size": 1, "option": option, "server_step_size": SERVER}
    x, control, controls = MODEL, 0 * MODEL, list(CONTROLS)
    for _ in range(rounds):
        x, control, controls = scaffold(clients, x, control, controls, **settings)
    expected = x @ x + WEIGHT * mean_square(np.array(controls) - control)
    found = stated("scaffold_rounds", (rounds, STEPS, SERVER, option, WEIGHT))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("participants", [1, 2, 3])
def test_fedavg_and_fedprox_with_sampled_clients(participants: int) -> None:
    """The expectation over all choices; the deviation that the claim begins with is -grad f_i(x*)."""

    def minimiser(i: int, w: np.ndarray) -> np.ndarray:
        return np.linalg.solve(HESSIANS[i] + np.eye(DIMENSION), w + CONTROLS[i])

    averaged, solved = [], []
    for chosen in combinations(range(CLIENTS), participants):
        own = [gradients(-CONTROLS)[i] for i in chosen]
        clients = exact_clients(own, [STEPS] * participants)
        averaged.append(fedavg(clients, MODEL, step_size=1, server_step_size=SERVER))
        solving = [SolvingClient(lambda w, i=i: minimiser(i, w)) for i in chosen]
        solved.append(fedprox(ExactClients(solving, CLIENTS), MODEL, step_size=None, proximal=1))
    sampling = (CLIENTS - participants) / (participants * (CLIENTS - 1))
    expected = np.mean([x @ x for x in averaged]), np.mean([x @ x for x in solved])
    assert stated("fedavg_rounds", (1, STEPS, SERVER, sampling)) == pytest.approx(expected[0], rel=1e-12)
    for of_mean in (False, True):
        found = stated("fedprox_rounds", (1, sampling, of_mean))
        assert found == pytest.approx(expected[1], rel=1e-12)


@pytest.mark.parametrize("iterations", [1, 2])
def test_proxskip(iterations: int) -> None:
    clients = exact_clients(gradients(0 * CONTROLS), [1] * CLIENTS)
    branches = [(1.0, list(MODEL + SPREAD), list(CONTROLS))]
    for _ in range(iterations):
        branches = [
            (share * (PROBABILITY if coin else 1 - PROBABILITY), *proxskip(
                clients, x, h, step_size=1, probability=PROBABILITY, communicates=coin
            ))
            for share, x, h in branches
            for coin in (True, False)
        ]  # fmt: skip
    expected = sum(share * (mean_square(x) + WEIGHT * mean_square(h)) for share, x, h in branches)
    found = stated("proxskip_iterations", (iterations, WEIGHT, PROBABILITY), SPREAD)
    assert found == pytest.approx(expected, rel=1e-12)
