"""Averages over runs of FPFC and bounds on its traces, with dense loops over the clients and pairs."""

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from fusion_loops import DenseFPFC, dense_paths

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc import runs
from clusterproof.theory.papers.fpfc.theorem_1 import Constants

MIXTURE = QuadraticMixture.random(
    clusters=2, clients=5, dimension=2, condition_number=3.0, separation=2.0, spread=0.3, seed=1
)
TASK = replace(MIXTURE, hessians=1.3 * MIXTURE.hessians)
L_F, LAM, XI, A, RHO = TASK.client_smoothness, 0.6, 0.25, 2.5, 5.5
ALPHA = 0.7 / (L_F + RHO)


def setting(participation: float = 1.0, **options: Any) -> Constants:
    given = {"step_size": ALPHA, "augmentation": RHO, "local_steps": 3} | options
    given |= {"strength": LAM, "smoothing": XI, "concavity": A, "threshold": 0.5}
    return Constants(FPFC(participation=participation, **given), 5, L_F, 0.0)


def participants(
    algorithm: FPFC, task: QuadraticMixture, rounds: int, *seed: Any, replicates: int = 1
) -> Any:
    """The participants that runs of this seed draw, (rounds, replicates, k)."""
    stream, shape = Randomness.from_seed(*seed).participation, np.zeros((replicates, task.clients, 1))
    drawn = [draw_participants(algorithm.participation, task.clients, shape, stream) for _ in range(rounds)]
    return [np.broadcast_to(each, (replicates, np.shape(each)[-1])) for each in drawn]


def factors(one: Constants) -> dict[str, float]:
    """A, A of one local step, B, C_2 and D_0's term of the smoothing, of the statement of the repaired theorem."""
    algorithm, m = one.algorithm, one.clients
    assert algorithm.smoothing is not None
    assert algorithm.concavity is not None
    rho, alpha, lam, xi = algorithm.augmentation, algorithm.step_size, algorithm.strength, algorithm.smoothing
    count = max(1, round(algorithm.participation * m))
    draws = list(combinations(range(m), count))
    share, pair = (float(np.mean([bool({0, *other} & set(draw)) for draw in draws])) for other in ((), (1,)))
    steep = max(lam / xi, 1 / (algorithm.concavity - 1))
    den = rho**2 - steep * rho - 2 * steep**2
    smooth = one.smoothness + rho
    return {
        "A": 2 * smooth / (share * (1 - (1 - alpha * smooth) ** (2 * algorithm.local_steps))),
        "A_1": 2 / (alpha * share * (2 - alpha * smooth)),
        "B": 4 * rho * steep**2 * (m - 1) / (m * pair * den),
        "C": steep**2 / (m * rho * den) / pair,
        "smoothing": (m - 1) * xi * lam / 4,
    }


def distances(path: list[DenseFPFC], task: QuadraticMixture, drawn: Any) -> list[list[float]]:
    """Of every participant: from the minimiser of f_i + rho / 2 ||w - zeta_i||^2, after the round and before it."""
    rows = []
    for (before, after), active in zip(pairwise(path), drawn, strict=True):
        for i in sorted(active):
            pulled = task.hessians[i] @ task.centers[i] + RHO * before.zeta(i)
            rest = np.linalg.solve(task.hessians[i] + RHO * np.eye(2), pulled)
            rows.append([float(np.linalg.norm(one.w[i] - rest)) for one in (after, before)])
    return rows


def test_bounds_on_a_run() -> None:
    one, start = setting(0.4), np.array([[2.0, -1.0]])
    f = factors(one)
    trace = run(one.algorithm, TASK, rounds=5, seed=3, replicates=2, initial=start)
    drawn = participants(one.algorithm, TASK, 5, 3, TASK.name, "fpfc", replicates=2)
    paths = dense_paths(one.algorithm, TASK, start, drawn)
    residuals = np.array([[state.residuals() for state in path[1:]] for path in paths]) ** 2
    means = np.cumsum(residuals, axis=1) / np.arange(1, 6)[:, None]
    gap = (paths[0][0].objective() + f["smoothing"]) / np.arange(1, 6)
    values = np.array([[state.lagrangian() for state in path] for path in paths])
    mappings = [[state.squared_mapping() for state in path[1:]] for path in paths]
    worst = 20 * (LAM * XI / (LAM + XI)) ** 2
    bounds: list[tuple[Any, Any, Any]] = [
        (runs.bound_models, means[..., 0], (f["A"] + f["B"]) * gap / 0.2),
        (runs.bound_duals, means[..., 2], f["C"] * gap / 0.2),
        (runs.bound_mapping, mappings, worst),
        (runs.bound_descent, values[:, 1:], values[:, :-1]),
    ]
    for bound, measured_by_round, allowed in bounds:
        found_bound = bound(TASK, trace, 0.2)
        np.testing.assert_allclose(
            np.asarray(found_bound.measured)[1:, :, 0], np.transpose(measured_by_round), atol=1e-12
        )
        first = np.asarray(found_bound.measured)[0].ravel()
        np.testing.assert_allclose(first, values[:, 0] if bound is runs.bound_descent else [0, 0])
        allowed_by_round = np.asarray(found_bound.bound)[1:].reshape(5, -1)
        np.testing.assert_allclose(allowed_by_round + np.zeros((5, 2)), np.broadcast_to(allowed, (2, 5)).T)
    for rho, bound, name in (
        (RHO, runs.bound_models_by_one_term, "A"),
        (20.0, runs.bound_models_at_large_augmentation, "A_1"),
    ):
        all_pairs = setting(0.4, augmentation=rho, step_size=0.7 / (L_F + rho), pair_rule="all")
        g, trace = factors(all_pairs), run(all_pairs.algorithm, TASK, rounds=5, seed=3, initial=start)
        allowed = g[name] * (paths[0][0].objective() + g["smoothing"]) / np.arange(1, 6) / 0.2
        np.testing.assert_allclose(np.asarray(bound(TASK, trace, 0.2).bound)[1:, 0], allowed)


def test_who_takes_part_is_seen_from_one_coordinate() -> None:
    """Clients that differ in the first coordinate, and start where none has a gradient in the second."""
    centers = np.array([[2.0, 1.0], [-1.0, 1.0], [0.5, 1.0], [3.0, 1.0], [-2.0, 1.0]])
    task = replace(
        TASK, hessians=np.stack([np.diag([0.4 + 0.1 * k, 1.3]) for k in range(5)]), centers=centers
    )
    algorithm, start = setting(0.4).algorithm, np.array([[0.3, 1.0]])
    trace = run(algorithm, task, rounds=6, seed=3, initial=start)
    drawn = [np.sort(each[0]) for each in participants(algorithm, task, 6, 3, task.name, "fpfc")]
    (path,) = dense_paths(algorithm, task, start, [each[None] for each in drawn])
    after, before = np.transpose(distances(path, task, drawn))
    found = runs.bound_local_steps(task, trace)
    assert not np.asarray(found.measured)[0].any()
    rows, clients = np.isfinite(found.bound).nonzero()
    assert [*zip(rows.tolist(), clients.tolist(), strict=True)] == [
        (k + 1, client) for k, each in enumerate(drawn) for client in each.tolist()
    ]
    np.testing.assert_allclose(found.bound[rows, clients], (1 - ALPHA * RHO) ** 3 * before, atol=1e-12)
    np.testing.assert_allclose(np.asarray(found.measured)[rows, clients], after, atol=1e-12)
