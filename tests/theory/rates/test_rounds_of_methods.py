"""A round as its claim states it, of means and deviations over clients, is that of the methods, on quadratics."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clusterproof.methods.averaging import fedavg, fedprox
from clusterproof.methods.controls import proxskip, scaffold
from clusterproof.methods.exact import ExactClients, SolvingClient, exact_clients
from clusterproof.theory.rates.rounds import local_steps, skipped

CLIENTS, DIMENSION, STEPS, SERVER, PROBABILITY = 3, 2, 3, 0.75, 0.25
STREAM = np.random.default_rng(0)
ROOTS = STREAM.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / 3
HESSIANS = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(DIMENSION) / 5
MODEL, SPREAD, CONTROLS = (STREAM.standard_normal(shape) for shape in ((2,), (3, 2), (3, 2)))
SPREAD, CONTROLS = (each - each.mean(axis=0) for each in (SPREAD, CONTROLS))


def joined(vectors: np.ndarray) -> np.ndarray:
    """Return the clients' vectors (m, d) as one, of which @ is the mean of the inner products."""
    return vectors.ravel() / CLIENTS**0.5


class Joint:
    """The clients' losses d_i' A_i d_i / 2 as one function; a new point has the clients' mean of the last gradient."""

    minimiser = np.zeros(CLIENTS * DIMENSION)

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return A_i d_i of every client."""
        self.last = np.einsum("mij,mj->mi", HESSIANS, point.reshape(CLIENTS, DIMENSION)).ravel()
        return self.last

    def prox(self, point: np.ndarray, step: int) -> np.ndarray:
        """Return the minimisers of f_i(y) + ||y - d_i||^2 / 2."""
        ends = np.linalg.solve(HESSIANS + np.eye(DIMENSION), point.reshape(CLIENTS, DIMENSION, 1)).ravel()
        self.last = point - ends
        return ends

    def point(self) -> np.ndarray:
        """Return the part of the last gradient that is the same for every client."""
        every = self.last.reshape(CLIENTS, DIMENSION)
        return (every * 0 + every.mean(axis=0)).ravel()


def gradients(shifts: np.ndarray) -> list[Any]:
    """Return A_i d + s_i of every client."""
    return [lambda d, i=i: HESSIANS[i] @ d + shifts[i] for i in range(CLIENTS)]


def mean_square(vectors: Any) -> float:
    """Return the mean of the squares of the clients' vectors, minus their mean."""
    apart = np.asarray(vectors) - np.mean(vectors, axis=0)
    return float((apart**2).sum() / CLIENTS)


def certified(kind: str, option: str = "", weight: float = 0.0) -> float:
    """Return the squares after a round as the claim has them."""
    server = 1.0 if kind == "prox" else SERVER
    steps = 1 if kind == "prox" else STEPS
    setting = kind, 1, steps, server, 0, option, weight, 0
    every = np.tile(MODEL, (CLIENTS, 1))
    return float(local_steps(Joint(), ([joined(every)], [joined(CONTROLS)]), setting))


@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold(option: str) -> None:
    clients = exact_clients(gradients(0 * CONTROLS), [STEPS] * CLIENTS)
    settings = {"step_size": 1, "option": option, "server_step_size": SERVER}
    x, _, controls = scaffold(clients, MODEL, 0, list(CONTROLS), **settings)
    expected = x @ x + 0.5 * mean_square(controls)
    assert certified("steps", option, 0.5) == pytest.approx(expected, rel=1e-12)


def test_fedavg_and_fedprox() -> None:
    """The controls of the claim are the negative gradients at the optimum."""
    clients = exact_clients(gradients(-CONTROLS), [STEPS] * CLIENTS)
    x = fedavg(clients, MODEL, step_size=1, server_step_size=SERVER)
    assert certified("steps") == pytest.approx(x @ x, rel=1e-12)
    minimisers = [
        lambda w, i=i: np.linalg.solve(HESSIANS[i] + np.eye(DIMENSION), w + CONTROLS[i])
        for i in range(CLIENTS)
    ]
    y = fedprox(ExactClients([*map(SolvingClient, minimisers)], CLIENTS), MODEL, step_size=None, proximal=1)
    assert certified("prox") == pytest.approx(y @ y, rel=1e-12)


def test_proxskip() -> None:
    models = MODEL + SPREAD
    expected = 0.0
    for coin, chance in ((True, PROBABILITY), (False, 1 - PROBABILITY)):
        clients = exact_clients(gradients(0 * CONTROLS), [1] * CLIENTS)
        settings = {"step_size": 1, "probability": PROBABILITY, "communicates": coin}
        x, h = proxskip(clients, list(models), list(CONTROLS), **settings)
        expected += chance * float((np.square(x).sum() + 0.5 * np.square(h).sum()) / CLIENTS)
    split = [joined(np.tile(MODEL, (CLIENTS, 1)))], [joined(CONTROLS), joined(SPREAD)]
    setting = "steps", 1, 1, Fraction(1), 0, "", 0.5, PROBABILITY
    assert float(skipped(Joint(), split, setting)) == pytest.approx(expected, rel=1e-12)
