"""Runs of FPFC against loops, and its Theorem 1 as printed."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from fusion_loops import DenseFPFC, dense_paths

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.algorithms.penalties import SCAD
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc import partial_participation, repaired, runs
from clusterproof.theory.papers.fpfc.measured import Averages, run_averages, unit_prox_lengths
from clusterproof.theory.papers.fpfc.scalar_rounds import ScalarSetting
from clusterproof.theory.papers.fpfc.theorem_1 import WEAK_CONVEXITY, Constants

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


Plant = Callable[..., Any]
F = Fraction


def setting_of(clients: int, rho: float, smoothing: float, local_steps: int, **options: Any) -> Constants:
    """Clients of curvature 1, strength 0.6, the largest step size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=local_steps,
        strength=0.6,
        smoothing=smoothing,
        augmentation=rho,
        threshold=0.5,
        **options,
    )
    return Constants(algorithm, clients, 1.0, WEAK_CONVEXITY)


def run_of(setting: Constants, minimisers: list[float], start: float, **how: int) -> Averages:
    count = len(minimisers)
    task = QuadraticMixture(
        hessians=np.ones((count, 1, 1)),
        centers=np.array(minimisers)[:, None],
        labels=np.zeros(count, dtype=int),
    )
    return run_averages(setting.algorithm, task, np.full((1, 1), start), seed=0, **how)


@pytest.mark.parametrize("minimisers", [(1, -1), (1, -1, 1), (4, -1, 0, 9)])
def test_rounds_in_exact_numbers_are_those_of_the_algorithm(minimisers: tuple[int, ...]) -> None:
    """On the parabola, the line, the concave part and the constant part of SCAD."""
    for rho, smoothing, steps in ((F(23, 4), F(1, 2), 3), (F(5), F(3, 10), 1), (F(12), F(12, 25), 7)):
        exact = ScalarSetting(rho, smoothing, steps)
        setting = setting_of(len(minimisers), float(rho), float(smoothing), steps)
        run = run_of(setting, [*map(float, minimisers)], 2.0, rounds=4, replicates=1)
        found = exact.mean_squared_gradient([*map(F, minimisers)], F(2), 4)
        assert run.models.item() == pytest.approx(float(found), rel=1e-9)
        low, high = exact.power
        assert float(low) == pytest.approx(setting.power, rel=1e-12)
        assert low**2 <= exact.squared_power < high**2
        assert float(exact.most_of_first(low, high)) == pytest.approx(
            setting.first_of(setting.power), rel=1e-9
        )
        assert float(exact.second_denominator) == pytest.approx(setting.second_denominator, rel=1e-12)


def test_where_no_pair_moves_the_difference_of_two_clients_is_at_least_that_of_their_means() -> None:
    setting = setting_of(2, 5.0, 0.3, 10, pair_rule="both", participation=0.5)
    run = run_of(setting, [1.0, -1.0], 0.0, rounds=40, replicates=400)
    least = float(ScalarSetting(F(5), F(3, 10), 10).least_squared_difference(2, 40)) / 8
    assert least <= run.duals.mean() <= 1.05 * least


def test_the_constants_are_those_of_the_statement() -> None:
    setting = setting_of(clients=3, rho=5, smoothing=0.3, local_steps=4)
    c = 1 - 2 / (1 + 10 - 1e-3) * (5 - 1e-3) * 6 / (6 + 5 - 1e-3)
    r = 1 / (c**-2 - 1)
    assert setting.contraction == pytest.approx(c, rel=1e-12)
    assert setting.inexactness == pytest.approx(r, rel=1e-12)
    denominators = 5 - 1 - 2 * r * 6, 25 - 2 * 5 - 2 * 4
    assert setting.first == pytest.approx(
        6 * (r**2 * 36 + 25) / denominators[0] + 12 * 125 / denominators[1], rel=1e-12
    )
    other = 5 - 1 - 2 * c**2 * 6
    assert setting.first_of(setting.power) == pytest.approx(
        6 * (c**4 * 36 + 25) / other + 12 * 125 / denominators[1], rel=1e-12
    )
    assert setting.second == pytest.approx(4 / (3 * 5 * denominators[1]), rel=1e-12)
    assert setting.mapping_bound == pytest.approx(9 * 0.36 * 0.09 / 0.81, rel=1e-12)
    assert setting.start == pytest.approx(3 * 0.3 * 0.6 / 4, rel=1e-12)


def test_a_clients_gradient_has_the_multipliers_of_its_pairs() -> None:
    """Clients 1, 2, 3 and pairs 12, 13, 23: L_f (w_i - c) and a third of the sum of v_ij, where v_ji = -v_ij."""
    forms = partial_participation.gradient_rows(repaired.weakly_coupled(3, 0.5))
    expected = 10_000 * np.array([2, 3, 5]) + np.array([7 + 11, -7 + 13, -11 - 13]) / 3
    assert forms @ [2, 3, 5, 7, 11, 13] == pytest.approx(expected, rel=1e-12)


def test_pairs_take_part_as_often_as_counted() -> None:
    algorithm = FPFC(
        step_size=0.1, strength=0.6, smoothing=0.3, augmentation=5.0, threshold=0.4, participation=0.3
    )
    setting = Constants(algorithm, 10, 1.0, 0.0)
    stream = np.random.default_rng(0)
    drawn = np.array([stream.permutation(10)[:3] for _ in range(20_000)])
    assert setting.pair_participation == pytest.approx((drawn < 2).any(axis=1).mean(), abs=0.01)


@pytest.mark.parametrize("concavity", [1.2, 1.8, 2.0, 2.5, 3.7])
def test_the_unit_proximal_map_is_a_global_minimiser(concavity: float) -> None:
    penalty = SCAD(strength=1.0, concavity=concavity)
    grid = np.linspace(0, 6, 6001)
    for length in np.linspace(0, 6, 101):
        found = unit_prox_lengths(penalty, np.array([length]))[0]
        value = penalty.value(found) + 0.5 * (found - length) ** 2
        assert value <= (penalty.value(grid) + 0.5 * (grid - length) ** 2).min() + 1e-12


def test_the_mapping_of_a_pair_is_largest_where_the_proof_says() -> None:
    """At t = lambda xi / (lambda + xi) theta + v has length lambda, and the proximal map gives 0."""
    lam, xi, worst = 1.5, 0.5, Fraction(3, 8)
    for length in (worst, *(Fraction(k, 50) for k in range(400))):
        t = float(length)
        target = t + (lam / xi * t if t <= xi else SCAD(strength=lam, concavity=3.0).derivative(t))
        grid = np.linspace(0, 12, 24_001)
        values = SCAD(strength=lam, concavity=3.0).value(grid) + (grid - target) ** 2 / 2
        sides: Any = repaired.repaired_mapping(Fraction(3, 2), Fraction(1, 3), Fraction(3), length)
        assert np.sqrt(sides.measured) == pytest.approx(abs(t - grid[values.argmin()]), abs=6e-4)
        assert sides.allowed == pytest.approx(float(worst) ** 2)
        assert sides.measured <= sides.allowed * (1 + 1e-12)
        assert length != worst or sides.measured == pytest.approx(sides.allowed)
