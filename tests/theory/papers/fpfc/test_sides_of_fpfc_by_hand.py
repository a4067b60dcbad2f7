"""Both sides of FPFC's claims from their statements, with dense loops over the clients and pairs."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from fusion_loops import DenseFPFC, dense_paths, mean_squares
from sides_by_hand import assert_sides

from clusterproof.algorithms import FPFC, Randomness, run
from clusterproof.algorithms.participation import draw_participants
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Expectation, Outside
from clusterproof.theory.papers.fpfc import (
    descent,
    large_augmentation,
    local_steps,
    measured,
    one_term,
    repaired,
    repaired_steps,
    runs,
)
from clusterproof.theory.papers.fpfc.constants import Constants

Plant = Callable[..., Any]
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


def start_and_seed() -> tuple[np.ndarray, int]:
    """What a claim draws first from the stream 5: the common start, and the seed of its run."""
    stream = np.random.default_rng(5)
    return 3 * stream.standard_normal((1, 2)), int(stream.integers(2**31))


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


@pytest.mark.parametrize("rule", ["either", "all"])
def test_averages_over_runs(rule: str) -> None:
    algorithm, start = setting(0.4, pair_rule=rule).algorithm, np.array([[2.0, -1.0]])
    found = measured.run_averages(algorithm, TASK, start, rounds=6, replicates=3, seed=4)
    drawn = participants(algorithm, TASK, 6, 4, "fpfc", "theorem-1", replicates=3)
    paths = dense_paths(algorithm, TASK, start, drawn)
    np.testing.assert_allclose(
        [found.models, found.duals], np.transpose([mean_squares(path) for path in paths])
    )
    assert found.mapping == pytest.approx(max(one.squared_mapping() for path in paths for one in path))
    assert found.start == pytest.approx(paths[0][0].objective())
    ends = sorted(path[-1].objective() for path in paths)
    assert found.end == pytest.approx(ends[0])
    assert ends[0] < 0.999 * ends[1]


@pytest.mark.parametrize("participation", [1.0, 0.4])
@pytest.mark.parametrize("rho", [RHO, 20.0])
def test_the_repaired_theorem_on_a_setting(plant: Plant, participation: float, rho: float) -> None:
    plant(repaired, "ROUNDS", 7)
    plant(repaired, "REPLICATES", 3)
    one = setting(participation, augmentation=rho, step_size=0.7 / (L_F + rho))
    case, f, (start, seed) = (one, TASK), factors(one), start_and_seed()
    drawn = participants(one.algorithm, TASK, 7, seed, "fpfc", "theorem-1", replicates=3)
    paths = dense_paths(one.algorithm, TASK, start, drawn)
    models, duals = np.transpose([mean_squares(path) for path in paths])
    fall = paths[0][0].objective() - min(path[-1].objective() for path in paths)
    gap = (fall + f["smoothing"]) / 7
    descents = {"descent": f["C"] * fall / 7, "smoothing": f["C"] * f["smoothing"] / 7}
    claims: list[tuple[Any, np.ndarray, dict[str, float]]] = [
        (repaired.repaired_models, models, {"local_steps": f["A"] * gap, "pairs": f["B"] * gap}),
        (repaired.duals_of_runs, duals, descents),
    ]
    if participation == 1:
        claims.append((one_term.one_term, models, {"local_steps": f["A"] * gap}))
    if rho == 20:
        large = large_augmentation.one_term_large_augmentation
        claims.append((large, models, {"local_steps": f["A_1"] * gap}))
    for claim, samples, terms in claims:
        sides = claim(case, np.random.default_rng(5))
        if participation == 1:
            assert_sides(sides, samples[0], **terms)
        else:
            assert isinstance(sides, Expectation)
            assert (sides.sense, sides.range) == ("at_most", (0, np.inf))
            np.testing.assert_allclose(sides.samples, samples)
            assert float(sides.allowed) == pytest.approx(sum(terms.values()))
    largest = max(state.squared_mapping() for path in paths for state in path)
    mapping = repaired.mapping_of_runs(case, np.random.default_rng(5))
    assert_sides(mapping, largest, smoothing=5 * 4 * (LAM * XI / (LAM + XI)) ** 2)


@pytest.mark.parametrize("rule", ["either", "all"])
def test_the_lagrangian_round_by_round(rule: str) -> None:
    """Descent, and the five lines of the proof that are followed on a run."""
    one, (start, seed) = setting(0.4), start_and_seed()
    algorithm = replace(one.algorithm, pair_rule=rule)
    (path,) = dense_paths(algorithm, TASK, start, participants(algorithm, TASK, 60, seed, "fpfc", "descent"))
    values = [state.lagrangian() for state in path]
    found = descent.descent((one, TASK), rule, np.random.default_rng(5))
    assert_sides(replace(found, terms={"before": found.terms["before"]}), values[1:], before=values[:-1])
    other = replace(one, algorithm=algorithm)
    (path,) = dense_paths(algorithm, TASK, start, participants(algorithm, TASK, 25, seed, "fpfc", "steps"))
    steep = max(LAM / XI, 1 / (A - 1))
    den, rows = RHO**2 - steep * RHO - 2 * steep**2, []
    for before, after in pairwise(path):
        between = deepcopy(before)
        between.w = after.w
        squares = 0.0
        for i in range(5):
            gaps = before.w[i] - before.w - before.theta[i]
            gradient = TASK.hessians[i] @ (before.w[i] - TASK.centers[i])
            gradient = gradient + (before.v[i] + RHO * gaps).sum(axis=0) / 5
            squares += gradient @ gradient if (after.w[i] != before.w[i]).any() else 0.0
        moved, dual = ((after.theta - before.theta) ** 2).sum(), ((after.v - before.v) ** 2).sum()
        lowers = (1 - (1 - ALPHA * (L_F + RHO)) ** 6) / (2 * (L_F + RHO))
        first = [before.lagrangian() - between.lagrangian(), lowers * squares]
        second = [between.lagrangian() - after.lagrangian(), den / (4 * 5 * RHO) * moved]
        rows.append([*first, *second, dual, steep**2 * moved, after.lagrangian() - after.objective(), 0.0])
    columns = np.transpose(rows)
    names = {
        "local_fall": "descent",
        "fall_of_pairs": "descent",
        "duals_follow": "steepest",
        "from_below": "nothing",
    }
    for (name, term), (left, right) in zip(names.items(), columns.reshape(4, 2, -1), strict=True):
        claim = getattr(repaired_steps, name)
        sides = claim((other, TASK), np.random.default_rng(5))
        np.testing.assert_allclose(sides.measured, left, rtol=1e-9, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(sides.terms[term] + 0 * left, right, rtol=1e-9, atol=1e-10, err_msg=name)
    ((gap, zero),) = repaired_steps.two_gradients((other, TASK), np.random.default_rng(5)).pairs
    assert zero == 0
    np.testing.assert_allclose(gap, np.zeros(25), atol=1e-12)


def test_the_norms_of_a_round_where_every_pair_is_updated() -> None:
    """a has the multipliers of the round before, M the gap besides, and the next a the models of the next round."""
    start, seed = start_and_seed()
    one = setting(0.4, pair_rule="all")
    drawn = participants(one.algorithm, TASK, 25, seed, "fpfc", "norms")
    (path,) = dense_paths(one.algorithm, TASK, start, drawn)

    def squares(at: DenseFPFC, dual: np.ndarray) -> list[float]:
        gradients = [
            h @ (w - c) + v.sum(axis=0) / 5
            for h, w, c, v in zip(TASK.hessians, at.w, TASK.centers, dual, strict=True)
        ]
        return [float(gradient @ gradient) for gradient in gradients]

    rows: list[Any] = []
    earlier = path[0].v
    for before, after in pairwise(path):
        gap = before.w[:, None] - before.w[None] - before.theta
        left = np.array(squares(before, before.v)) + squares(after, before.v)
        rows.append([left, squares(before, earlier), squares(before, before.v + RHO * gap)])
        earlier = before.v
    left, old, gradients = np.swapaxes(rows, 0, 1)
    found = one_term.norms_fall((one, TASK), np.random.default_rng(5))
    terms = {name: term for name, term in found.terms.items() if name != "rounding"}
    assert_sides(replace(found, terms=terms), left, before=old, gradients=gradients)


def distances(path: list[DenseFPFC], task: QuadraticMixture, drawn: Any) -> list[list[float]]:
    """Of every participant: from the minimiser of f_i + rho / 2 ||w - zeta_i||^2, after the round and before it."""
    rows = []
    for (before, after), active in zip(pairwise(path), drawn, strict=True):
        for i in sorted(active):
            pulled = task.hessians[i] @ task.centers[i] + RHO * before.zeta(i)
            rest = np.linalg.solve(task.hessians[i] + RHO * np.eye(2), pulled)
            rows.append([float(np.linalg.norm(one.w[i] - rest)) for one in (after, before)])
    return rows


def test_bounds_on_a_run_and_its_local_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    one, (start, seed) = setting(0.4), start_and_seed()
    f, keeps = factors(one), (1 - ALPHA * RHO) ** 3
    monkeypatch.setattr(local_steps, "ROUNDS", 5)
    drawn = participants(one.algorithm, TASK, 5, seed, TASK.name, "fpfc")
    (path,) = dense_paths(one.algorithm, TASK, start, drawn)
    after, before = np.transpose(distances(path, TASK, [each[0] for each in drawn]))
    found = local_steps.local_steps((one, TASK), np.random.default_rng(5))
    assert_sides(
        replace(found, terms={"contraction": found.terms["contraction"]}), after, contraction=keeps * before
    )
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


def test_hypotheses_of_the_repaired_theorem() -> None:
    """Just inside, and just outside, of each; L_g = lambda / xi = 2.4, and 1 / (a - 1) where that is larger."""
    steep = LAM / XI
    one = setting()
    repaired.suppose_the_hypotheses(setting(augmentation=2.001 * steep, step_size=0.01))
    for change, name in (
        ({"augmentation": 2 * steep, "step_size": 0.01}, "rho > 2 L_g"),
        ({"step_size": 1.001 / (L_F + RHO)}, "alpha"),
        ({"pair_rule": "both"}, "pairs with a participant"),
        ({"start": "own"}, "common start"),
    ):
        with pytest.raises(Outside, match=name):
            repaired.suppose_the_hypotheses(setting(**change))
    large = large_augmentation.suppose_large_augmentation
    large(setting(augmentation=8 * steep, step_size=0.01))
    with pytest.raises(Outside, match="8 L_g"):
        large(setting(augmentation=7.999 * steep, step_size=0.01))
    waits = setting(0.4)
    with pytest.raises(Outside, match="every pair"):
        one_term.suppose_every_pair(waits)
    for kept in (one, setting(0.4, pair_rule="all")):
        one_term.suppose_every_pair(kept)
    flat = replace(one, algorithm=replace(one.algorithm, concavity=2.0))
    with pytest.raises(Outside, match="a > 2"):
        repaired.mapping_of_runs((flat, TASK), np.random.default_rng(5))
    assert (setting(0.3).active, setting(0.01).active) == (2, 1)
    assert setting(0.3).pair_participation == pytest.approx(1 - 3 / 10)
