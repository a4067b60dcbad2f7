"""Both sides of the claims on CFL-MGD's rounds and their rates, by plain loops over the printed updates."""

from fractions import Fraction as F  # noqa: N817 - a table of fractions
from functools import partial
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_pairs, assert_sides, heavy_ball, sides_with

from clusterproof.synthetic import QuadraticMixture
from clusterproof.theorem import Excluded
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.cfl_mgd.model_averaging.recursion import OptionTwo

HESSIANS = np.array([[[0.9, 0.2], [0.2, 0.5]], [[0.4, -0.1], [-0.1, 0.8]], [[0.7, 0.3], [0.3, 0.6]]])
CENTERS = np.array([[1.0, -0.5], [-0.25, 0.75], [0.5, 2.0]])
ONE_CLUSTER = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))
SCATTERED = QuadraticMixture(
    hessians=np.concatenate([HESSIANS, HESSIANS[::-1]]),
    centers=np.concatenate([CENTERS, CENTERS[:, ::-1] - 0.4]),
    labels=np.array([0, 1, 0, 0, 1, 1]),
)


def stream() -> np.random.Generator:
    return np.random.default_rng(8)


def choices(task: QuadraticMixture, models: np.ndarray) -> list[int]:
    clients = zip(task.hessians, task.centers, strict=True)
    return [min((0, 1), key=lambda p: float((models[p] - c) @ a @ (models[p] - c))) for a, c in clients]


def local(
    a: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray, eta: float, beta: float, steps: int
) -> Any:
    """H steps of u = beta u + A (x - c), x = x - eta u."""
    for _ in range(steps):
        u = beta * u + a @ (x - c)
        x = x - eta * u
    return x, u


def test_equations_8_to_10_on_scattered_clients() -> None:
    models = SCATTERED.optima[stream().permutation(2)]
    draws = stream()
    draws.permutation(2)
    models = models + draws.standard_normal((2, 2))
    assert_pairs(sides_with("equation-8", SCATTERED, stream()), choices(SCATTERED, models))
    eta, beta = 0.8, 0.6
    for claim, steps in (("equation-9-broadcast", 1), ("equation-10-line-16", 3)):
        models, u, path, seen = SCATTERED.optima + stream().standard_normal((2, 2)), np.zeros((6, 2)), [], []
        cluster_u = np.zeros((2, 2))
        for _ in range(6):
            chosen = choices(SCATTERED, models)
            seen.append(chosen)
            starts = u if steps == 1 else cluster_u[chosen]
            ends = [
                local(SCATTERED.hessians[i], SCATTERED.centers[i], models[p], starts[i], eta, beta, steps)
                for i, p in enumerate(chosen)
            ]
            models, u = models.copy(), np.array([v for _, v in ends])
            for p in set(chosen):
                members = [i for i, q in enumerate(chosen) if q == p]
                total = sum(u[i] for i in members)
                average = np.mean([ends[i][0] for i in members], axis=0)
                models[p] = models[p] - eta / 6 * total if steps == 1 else average
                u[members] = cluster_u[p] = total / len(members)
            path.append(models)
        assert any(each != seen[0] for each in seen)
        arguments = (eta, beta) if steps == 1 else (eta, beta, steps)
        assert_pairs(sides_with(claim, SCATTERED, *arguments, stream()), np.array(path))


Rounds = tuple[list[list[F]], list[list[int]], list[list[F]]]


def scalar_rounds(places: list[F], starts: list[F], beta: F, rounds: int, owner: str) -> Rounds:
    """Option I, eta = 1: models, choices, and momenta before line 15, by whose momentum it is."""
    models, chosen, sent, m = [starts], [], [], len(places)
    u, moves = [F(0)] * m, [F(0), F(0)]
    for _ in range(rounds):
        points = models[-1]
        picked = [min((0, 1), key=lambda p: abs(points[p] - c)) for c in places]
        g = [points[p] - c for p, c in zip(picked, places, strict=True)]
        u = [beta * old + new for old, new in zip(u, g, strict=True)]
        totals = [
            sum(((g if owner == "server" else u)[i] for i in range(m) if picked[i] == p), F(0))
            for p in (0, 1)
        ]
        if owner == "server":
            moves = [beta * before - total / m for before, total in zip(moves, totals, strict=True)]
        else:
            moves = [-total / m for total in totals]
        models.append([x + move for x, move in zip(points, moves, strict=True)])
        chosen.append(picked), sent.append(u)  # type: ignore[func-returns-value]
        u = [totals[p] / picked.count(p) for p in picked] if owner == "line 15" else u
    return models, chosen, sent


PLACES = [F(-3, 2), F(-1, 4), F(1, 4), F(1), F(7, 4)]


def test_equation_32_as_long_as_nobody_changes() -> None:
    beta, starts = F(9, 10), [F(0), F(3, 2)]
    runs = [scalar_rounds(PLACES, starts, beta, 6, owner) for owner in ("line 15", "own", "server")]
    chosen = runs[0][1]
    fixed = next(t for t in range(1, 7) if t == 6 or chosen[t] != chosen[0])
    assert 1 < fixed < 6
    value = runs[0][0][: fixed + 1]
    for models, _, _ in runs:
        assert models[: fixed + 1] == value
    found = sides_with("equation-32-fixed-clusters", tuple(PLACES), *starts, beta)
    assert_pairs(found, np.array(value, float), np.array(value, float))


def option_two(
    x: np.ndarray, u: np.ndarray, eta: float, beta: float, steps: int, task: Any = ONE_CLUSTER
) -> Any:
    ends = [local(a, c, x, u, eta, beta, steps) for a, c in zip(task.hessians, task.centers, strict=True)]
    return tuple(np.mean([end[k] for end in ends], axis=0) for k in (0, 1))


def rest_of_option_two(
    eta: float, beta: float, steps: int, task: Any = ONE_CLUSTER
) -> tuple[np.ndarray, float]:
    """The fixed point of chi and the spectral radius, from the images of 0 and of the unit vectors."""
    d = task.dimension
    offset = np.concatenate(option_two(np.zeros(d), np.zeros(d), eta, beta, steps, task))
    images = [
        np.concatenate(option_two(z[:d], z[d:], eta, beta, steps, task)) - offset for z in np.eye(2 * d)
    ]
    matrix = np.array(images).T
    point = np.linalg.solve(np.eye(2 * d) - matrix, offset)
    return point[:d], float(np.abs(np.linalg.eigvals(matrix)).max())


@pytest.mark.parametrize(("reset", "steps", "ends"), [(False, 4, True), (True, 3, True), (False, 1, False)])
def test_the_recursion_of_option_2_and_its_end(reset: bool, steps: int, ends: bool) -> None:
    eta, beta = (0.7, 0.45) if ends else (0.15, 0.85)
    x, u, path, sizes = stream().standard_normal(2), np.zeros(2), [], []
    for _ in range(26):
        path.append(x)
        sizes.append(1 + np.abs(x if reset else np.concatenate([x, u])).max())
        x, u = option_two(x, 0 * u if reset else u, eta, beta, steps)
    one = OptionTwo(ONE_CLUSTER, eta, beta, steps, reset)
    found = sides_with("model-averaging-recursion", one, stream(), line="every round")
    assert_pairs(found, np.array(path) / np.array(sizes)[:, None])
    if not ends:
        assert rest_of_option_two(eta, beta, steps)[1] > 0.8
        end = sides_with("model-averaging-recursion", one, stream(), line="end")
        assert end == Excluded("rho(M) < 0.8")
        return
    for _ in range(200):
        x, u = option_two(x, 0 * u if reset else u, eta, beta, steps)
    assert_pairs(sides_with("model-averaging-recursion", one, stream(), line="end"), x)


def test_drift_of_option_2() -> None:
    beta, steps = 0.6, 4
    best = np.linalg.solve(HESSIANS.sum(axis=0), np.einsum("mij,mj->i", HESSIANS, CENTERS))
    pulls = np.array([a @ a @ (best - c) for a, c in zip(HESSIANS, CENTERS, strict=True)])
    c_h = sum((1 - beta**k) / (1 - beta) for j in range(steps) for k in range(1, j + 1)) / steps
    expected = c_h * np.linalg.solve(HESSIANS.mean(axis=0), pulls.mean(axis=0))
    mu = np.linalg.eigvalsh(HESSIANS.mean(axis=0))[0]
    unit = c_h / mu * np.linalg.norm(pulls, axis=-1).mean()
    errors = []
    for eta in (1e-3, 5e-4):
        drift = (rest_of_option_two(eta, beta, steps)[0] - best) / eta
        errors.append(np.linalg.norm(drift - expected) / unit)
    names = "formula", "half the step"
    found = [sides_with("model-averaging-drift", ONE_CLUSTER, beta, steps, line=name) for name in names]
    assert float(found[0].measured) == pytest.approx(errors[0], rel=1e-6)
    assert found[0].terms == {"second_order": 0.05}
    assert float(found[1].measured) == pytest.approx(errors[1], rel=1e-6)
    assert found[1].terms["half"] == pytest.approx(0.6 * errors[0], rel=1e-6)


def test_a_reset_keeps_option_2_stable() -> None:
    beta, steps = 0.8, 5
    responses = [
        float(heavy_ball(F(a), F(4, 5), F(1), steps)[-1]) for a in np.linalg.eigvalsh(HESSIANS).ravel()
    ]
    factor = max(map(abs, responses))
    best = np.linalg.solve(HESSIANS.sum(axis=0), np.einsum("mij,mj->i", HESSIANS, CENTERS))
    x, path = best + 3 * stream().standard_normal(2), []
    for _ in range(16):
        path.append(x)
        x, _ = option_two(x, np.zeros(2), 1.0, beta, steps)
    for _ in range(200):
        x, _ = option_two(x, np.zeros(2), 1.0, beta, steps)
    distances = np.linalg.norm(np.array(path) - x, axis=-1)
    reset = partial(sides_with, "model-averaging-reset", ONE_CLUSTER, beta, steps)
    found = {name: reset(stream(), line=name) for name in ("rounds", "factor")}
    assert_sides(found["factor"], factor, one=1)
    np.testing.assert_allclose(found["rounds"].measured, distances[1:], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        found["rounds"].terms["factor"], factor * distances[:-1], rtol=1e-6, atol=1e-12
    )
    steep = QuadraticMixture(hessians=1.2 * HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))
    with pytest.raises(Outside, match="curvatures"):
        sides_with("model-averaging-reset", steep, beta, steps, stream())
