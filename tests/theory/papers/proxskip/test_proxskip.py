"""ProxSkip: the identity (P) and the sharp rate against a plain implementation on losses that are not quadratic."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.theory.definitions.proxskip import proxskip_iteration
from clusterproof.theory.exact.planar_clients import PlanarClients, squares, vector
from clusterproof.theory.papers.proxskip import Start

F = Fraction
Gradient = Callable[[np.ndarray], np.ndarray]


def log_cosh(stream: np.random.Generator, dimension: int) -> tuple[Gradient, float, float]:
    """mu |x|^2 / 2 + sum of s_j log cosh(<w_j, x> - b_j), with L and mu."""
    mu, rows = float(stream.uniform(0.01, 0.5)), stream.standard_normal((3, dimension))
    shifts, strengths = stream.standard_normal(3), stream.uniform(0.1, 1, 3)
    curvature = np.linalg.eigvalsh(rows.T @ (strengths[:, None] * rows))[-1]
    return lambda x: mu * x + rows.T @ (strengths * np.tanh(rows @ x - shifts)), mu + float(curvature), mu


def logistic(stream: np.random.Generator, dimension: int) -> tuple[Gradient, float, float]:
    """mu |x|^2 / 2 + mean of log(1 + exp(-<w_j, x>)), with L and mu."""
    mu, rows = float(stream.uniform(0.01, 0.5)), stream.standard_normal((5, dimension))
    curvature = np.linalg.eigvalsh(rows.T @ rows / 20)[-1]
    return lambda x: mu * x - rows.T @ (1 / (1 + np.exp(rows @ x))) / 5, mu + float(curvature), mu


@pytest.mark.parametrize("loss", [log_cosh, logistic])
def test_the_identity_and_the_rate_on_losses_that_are_not_quadratic(
    loss: Callable[..., tuple[Gradient, float, float]],
) -> None:
    stream = np.random.default_rng(5)
    for _ in range(60):
        clients, dimension = int(stream.integers(1, 6)), int(stream.integers(1, 5))
        losses = [loss(stream, dimension) for _ in range(clients)]
        largest, mu = max(one[1] for one in losses), min(one[2] for one in losses)
        gamma, p = float(stream.uniform(0.05, 2.5)) / largest, float(stream.uniform(0.1, 1))
        # any x*: tilting every loss by one vector, to make it a minimiser of the mean, changes nothing below
        optimum = stream.standard_normal(dimension)
        models = optimum + stream.standard_normal((clients, dimension))
        at_optimum = np.stack([gradient(optimum) for gradient, *_ in losses])
        at_models = np.stack([gradient(x) for (gradient, *_), x in zip(losses, models, strict=True)])
        at_models, at_optimum = at_models - at_optimum.mean(axis=0), at_optimum - at_optimum.mean(axis=0)
        controls = stream.standard_normal((clients, dimension))
        controls -= controls.mean(axis=0)
        points = models - gamma * (at_models - controls)
        mean = np.tile(points.mean(axis=0), (clients, 1))
        states = ((models, controls), (mean, controls + p / gamma * (mean - points)), (points, controls))
        before, communicates, skips = (
            float(((x - optimum) ** 2).sum() + (gamma / p) ** 2 * ((h - at_optimum) ** 2).sum())
            for x, h in states
        )
        expected = p * communicates + (1 - p) * skips
        moved = models - gamma * at_models - optimum + gamma * at_optimum
        kept = (1 - p**2) * (gamma / p) ** 2 * ((controls - at_optimum) ** 2).sum()
        right = float((moved**2).sum() + kept)
        assert abs(expected - right) <= 1e-12 * max(expected, before, 1)
        rate = max((1 - gamma * mu) ** 2, (1 - gamma * largest) ** 2, 1 - p**2)
        assert expected <= rate * before * (1 + 1e-12)


CLIENTS = PlanarClients(3, F(2), F(3, 10), F(3, 4), F(1), F(2, 5), F(-1, 2), 1)
START = (F(3, 2), F(-1), F(1, 2), F(1, 3), F(1), F(-1, 2), F(3, 4))
NOISE = F(1), F(1, 2), F(-1, 3), F(2)


def by_client(clients: PlanarClients, start: Start, noise: tuple[F, F, F, F] = (F(0),) * 4) -> tuple[F, F, F]:
    """Psi, E Psi+ and gamma^2 V, client by client, by the definition's iteration on arrays."""
    p, gamma = start.probability, start.step_length / clients.smoothness
    models = vector(start.x, start.y) + clients.deviations(start.spread_x, start.spread_y)
    controls = clients.deviations(start.control_x, start.control_y)
    errors = np.array([noise[2:] if i % 2 else noise[:2] for i in range(clients.clients)], dtype=object)

    def psi(x: Any, h: Any) -> F:
        found: F = (squares(np.array(x)) + (gamma / p) ** 2 * squares(np.array(h))).sum()
        return found

    after = F(0)
    for sign, (coin, share) in product((1, -1), ((True, p), (False, 1 - p))):
        gradients = clients.functions(sign * errors)
        state = proxskip_iteration(gradients, list(models), list(controls), gamma, p, coin)
        after += share / 2 * psi(*state)
    return psi(models, controls), after, gamma**2 * squares(errors).sum()


@pytest.mark.parametrize("p", [F(3, 4), F(1, 4)])
def test_an_iteration_of_two_kinds_is_that_of_their_clients(p: F) -> None:
    """One of two kinds of clients stands for several."""
    start = Start(*START, p)
    before, after, _ = by_client(CLIENTS, start)
    flat, steep = 1 - F(3, 8) * F(3, 10), 1 - F(3, 4)
    rates = {"proxskip/sharp": max(flat**2, steep**2, 1 - p**2), "proxskip/theorem-6": max(flat, 1 - p**2)}
    for name, rate in rates.items():
        sides: Any = theory.find_claim(name).function(CLIENTS, start)
        assert (sides.measured, sides.terms) == (after, {"start": rate * before})
    before, after, added = by_client(CLIENTS, start, NOISE)
    sides = theory.find_claim("sproxskip/additive").function(CLIENTS, start, *NOISE)
    assert sides.measured == after
    assert sides.terms == {"start": rates["proxskip/sharp"] * before, "noise": added}


def test_the_one_step_constant_of_two_scalars() -> None:
    """Curvatures 1 and 2, gamma = p = 1/2: 3/4, from the controls."""
    clients = PlanarClients(2, F(2), F(1), F(0), F(100), F(1), F(100), 0)
    start = Start(F(0), F(0), F(0), F(0), F(0), F(1), F(1), F(1, 2))
    before, after, _ = by_client(clients, start)
    assert after == F(3, 4) * before
