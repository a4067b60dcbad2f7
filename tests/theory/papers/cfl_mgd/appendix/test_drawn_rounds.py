"""The lines on drawn rounds and runs with false members, client by client from the same draws.

They are those of ``appendix-a3``, ``appendix-a12``, ``appendix-a15`` and ``appendix-a27``.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sides_by_hand import assert_sides, sides_with

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Sides
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.papers.cfl_mgd.appendix.a3_to_a14 import false_members, own_clients
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import displacement
from clusterproof.theory.papers.cfl_mgd.appendix.a26_to_a34 import momentum_on_regressions
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import basin_models, record, simulate_round
from clusterproof.theory.papers.cfl_mgd.lemma_1 import crowd

OPTIMA = np.array([[0.9, 0.1], [-0.5, 0.7], [-0.3, -0.8]])
SPREAD = np.array([np.diag([1.3, 0.4]), np.diag([0.5, 1.1]), np.diag([0.9, 0.6])])
LABELS, MU, SMOOTH, CLIENTS, ROWS = np.repeat([0, 1, 2], [9, 14, 7]), 0.4, 1.3, 30, 5
TASK = RegressionMixture(optima=OPTIMA, covariance=SPREAD, noise=1.2, labels=LABELS, samples=ROWS)
GAP = min(float(np.linalg.norm(OPTIMA[p] - OPTIMA[q])) for p, q in ((0, 1), (0, 2), (1, 2)))
FIRST = Fraction(3, 20), "random"
"""lambda, and where the models are."""


def printed_terms(spread: float, v: float, first: float, second: float) -> tuple[float, float]:
    """The terms of (36) for P = 3, with sigma^2 = ``spread``, lambda_1 and lambda_2."""
    root = math.sqrt(128 * spread * 3 / (CLIENTS * second))
    unit = MU * GAP**2 * ROWS
    return 384 * spread / (MU * GAP**2 * unit * second), v * root / (first * unit * SMOOTH)


def sigma_squared(models: np.ndarray) -> float:
    """The larger variance of a foreign client's loss at its own model and at model 1."""
    return max(float(TASK.loss_variance(models[q], p)) for p in (1, 2) for q in (0, p))


def draw(clients_of: int | None) -> tuple[np.ndarray, list[float], list[np.ndarray], list[np.ndarray]]:
    """Models, v of each cluster, and for each cluster the numbers and summed gradients of its clients in C_1."""
    one = simulate_round(TASK, "random", 6, np.random.default_rng(3))
    one = one if clients_of is None else one.with_clients_of(clients_of)
    counts, totals = [], []
    for p in range(3):
        chosen = [[i for i in range(CLIENTS) if members[i] and LABELS[i] == p] for members in one.members]
        counts.append(np.array([len(each) for each in chosen]))
        totals.append(np.array([g[each].sum(axis=0) for g, each in zip(one.gradients, chosen, strict=True)]))
    return one.models, [math.sqrt(TASK.gradient_variance(one.models[0], p)) for p in range(3)], counts, totals


@pytest.mark.parametrize(("line", "p"), [("(A3)", 0), ("(A12)", 1), ("(A13)", 1)])
def test_the_gradients_of_one_clusters_clients_in_c_1(line: str, p: int) -> None:
    models, v, counts, totals = draw(p)
    mean = SPREAD[p] @ (models[0] - OPTIMA[p]) * (line != "(A13)")
    apart = np.linalg.norm(totals[p] - counts[p][:, None] * mean, axis=-1)
    terms = {"noise": np.sqrt(counts[p] / ROWS) * v[p] / 0.15}
    terms |= {"count": 3 * SMOOTH * counts[p]} if line == "(A13)" else {}
    found: Any = (own_clients if p == 0 else false_members)(TASK, *FIRST, np.random.default_rng(3), 6)
    assert_sides(found[line], apart, **terms)


def test_a8_and_what_false_members_add_in_a14_and_a17() -> None:
    models, v, counts, totals = draw(None)
    e = models[0] - OPTIMA[0]
    found: Any = own_clients(TASK, Fraction(1, 100), "random", np.random.default_rng(3), 6)["(A8)"]
    kept = (1 - 7 / 30 * MU / SMOOTH / 8) * np.linalg.norm(e)
    noise = 2 * v[0] / (0.01 * SMOOTH * math.sqrt(7 * ROWS))
    after = np.linalg.norm(e - totals[0] / (CLIENTS * SMOOTH), axis=-1)
    assert_sides(found, after, contraction=kept, noise=noise)
    assert found.failure == pytest.approx(0.01 + 2 * math.exp(-7 / 8))
    moved = np.linalg.norm(totals[1] + totals[2], axis=-1) / (CLIENTS * SMOOTH)
    count, cross = printed_terms(sigma_squared(models), max(v[1:]), 0.15, 0.15)
    assert_sides(displacement(TASK, *FIRST, np.random.default_rng(3), 6), moved, count=count, cross=cross)
    _, v, counts, totals = draw(1)
    number = counts[1] + counts[2]
    noise = max(v[1:]) * math.sqrt(3) / (0.15 * CLIENTS * math.sqrt(ROWS) * SMOOTH) * np.sqrt(number)
    moved = np.linalg.norm(totals[1] + totals[2], axis=-1) / (CLIENTS * SMOOTH)
    found = false_members(TASK, *FIRST, np.random.default_rng(3), 6)["(A14)"]
    assert isinstance(found, Sides)
    assert_sides(found, moved, count=3 / CLIENTS * number, noise=noise)
    assert found.failure == pytest.approx(3 * 0.15)


def test_a33_on_runs_of_which_some_leave_the_basin() -> None:
    beta, t, sides = 0.7, 2, []
    start, draws = start_of(TASK, 4)
    algorithm = CFLMGD(step_size=1 / SMOOTH, momentum=beta, momentum_owner="client")
    initial = np.broadcast_to(start, (5, *start.shape))
    run = record(TASK, algorithm, rounds=t + 1, initial=initial, seed=draws)
    for models, chosen, buffers in zip(run.models[t], run.assignments[t], run.buffers[t], strict=True):
        inside = np.linalg.norm(models - OPTIMA, axis=-1).max() <= math.sqrt(MU / SMOOTH) * GAP / 4
        carried = np.linalg.norm(buffers[(chosen == 0) & (LABELS != 0)].sum(axis=0)) / (CLIENTS * SMOOTH)
        v = max(math.sqrt(TASK.gradient_variance(models[0], p)) for p in (1, 2))
        count, cross = printed_terms(sigma_squared(models), v * math.sqrt(t) / (1 - beta), 0.1, 0.1)
        sides.append((inside * beta * carried, beta * count, beta * cross))
    measured, counts, crosses = zip(*sides, strict=True)
    assert 0 < sum(size > 0 for size in measured) < 5
    found = momentum_on_regressions(TASK, beta, t, np.random.default_rng(4), 5)
    assert_sides(found, measured, count=counts, cross=crosses)


def start_of(task: RegressionMixture, seed: int) -> tuple[np.ndarray, int]:
    """Random models in the basin, and the seed of a run."""
    stream = np.random.default_rng(seed)
    return basin_models(task, stream), int(stream.integers(2**31))


def prefers(own: np.ndarray, other: np.ndarray, p: int, rows: int = ROWS) -> float:
    """P(F >= (Q + A) / (Q - A)) for a client of cluster p, from the variances of its residuals at two models."""
    d, f = own - OPTIMA[p], other - OPTIMA[p]
    a, b, c = (1.44 + x @ SPREAD[p] @ y for x, y in ((d, d), (f, f), (d, f)))
    q = math.sqrt((a + b) ** 2 - 4 * c**2)
    return float(stats.f.sf((q + b - a) / (q - b + a), rows, rows))


def variance_of_losses(chi: np.ndarray, p: int) -> float:
    return float((1.44 + (chi - OPTIMA[p]) @ SPREAD[p] @ (chi - OPTIMA[p])) ** 2 / 2)


def test_expected_false_members_and_errors_of_regressions() -> None:
    """(A4), (A15), Lemma 1's union and its exact form."""
    models = simulate_round(TASK, "random", 1, np.random.default_rng(3)).models
    expected = 14 * prefers(models[1], models[0], 1) + 7 * prefers(models[2], models[0], 2)
    spread = max(variance_of_losses(models[q], p) for p in (1, 2) for q in (0, p))
    bound = 128 * CLIENTS * spread / (MU**2 * GAP**4 * ROWS)
    assert_sides(
        sides_with("appendix-a15", TASK, np.random.default_rng(3), statement="(A15), regressions"),
        expected,
        chebyshev=bound,
    )
    errors = []
    for p in range(3):
        spread = max(variance_of_losses(chi, p) for chi in models)
        rows = math.ceil(256 * 2 * spread / (MU**2 * GAP**4))
        errors.append(sum(prefers(models[p], models[q], p, rows) for q in range(3) if q != p))
    assert_sides(
        sides_with("appendix-a4", TASK, np.random.default_rng(3), statement="(A4), regressions"),
        errors,
        half=0.5,
    )
    stream, basin = np.random.default_rng(3), math.sqrt(MU / SMOOTH) * GAP / 4
    offsets = stream.standard_normal((50, 3, 2))
    offsets *= stream.choice([1.0, 0.5], (50, 1, 1)) / np.linalg.norm(offsets, axis=-1, keepdims=True)
    sums, bounds = np.zeros((3, 51)), np.zeros((3, 51))
    for p in range(3):
        towards = OPTIMA[p] - OPTIMA
        towards[p] = OPTIMA.sum(axis=0) / 2 - OPTIMA[p] * 3 / 2
        towards /= np.linalg.norm(towards, axis=-1, keepdims=True)
        for k, each in enumerate([*offsets, towards]):
            chi = OPTIMA + basin * each
            sums[p, k] = sum(prefers(chi[p], chi[q], p) for q in range(3) if q != p)
            bounds[p, k] = 128 * 3 * max(variance_of_losses(x, p) for x in chi) / (GAP**4 * MU**2 * ROWS)
    assert_sides(sides_with("lemma-1-union", TASK, np.random.default_rng(3)), sums, chebyshev=bounds)
    stream, radius = np.random.default_rng(3), 0.3 * GAP / (1 + math.sqrt(SMOOTH / MU))
    offsets = stream.standard_normal((100, 3, 2))
    offsets[:20, 0], offsets[:20, 1] = OPTIMA[1] - OPTIMA[0], OPTIMA[0] - OPTIMA[1]
    every = OPTIMA + radius * offsets / np.linalg.norm(offsets, axis=-1, keepdims=True)
    worst = max(prefers(chi[0], chi[q], 0) for chi in every for q in (1, 2))
    a, b = math.sqrt(SMOOTH) * radius, math.sqrt(MU) * (GAP - radius)
    u = (b - a) / math.sqrt(4 * 1.44 + (b - a) ** 2)
    assert a * b < 1.44
    found = sides_with("lemma-1-worst-case", TASK, 0.3, np.random.default_rng(3))
    assert_sides(found, worst, pi=stats.f.sf((1 + u) / (1 - u), ROWS, ROWS))


def test_a_jump_that_makes_a_client_prefer_every_other_model() -> None:
    """One client in 10^4 errs between 20 models, at the variance that attains Cantelli's 64 x / (1 + 64 x)."""
    found = sides_with("lemma-1-union", crowd(20), np.random.default_rng(3))
    assert float(found.measured[0, -1]) == pytest.approx(19e-4)
    assert float(found.terms["chebyshev"][0, -1]) == pytest.approx(128 * 20 / 64 * 1e-4 / (1 - 1e-4))
