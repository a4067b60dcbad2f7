"""Both sides of FPFC's printed claims, and of those on special clients, with dense loops and all orders of chance."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fusion_loops import DenseFPFC, dense_paths, mean_squares
from sides_by_hand import assert_sides

from clusterproof.algorithms import CFL, FPFC, Randomness, adjusted_rand_index, run
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.algorithms.participation import draw_participants
from clusterproof.synthetic import QuadraticMixture
from clusterproof.synthetic.softmax import SoftmaxMixture
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.papers.fpfc import (
    bipartition_cost,
    conditions,
    conditions_literal,
    convex,
    large_augmentation,
    mapping_content,
    one_term,
    partial_participation,
    repaired,
    repaired_moments,
    rival,
    theorem_1_duals,
    theorem_1_mapping,
    theorem_1_models,
    waiting_pairs,
    window,
)
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.huber import HuberSum
from clusterproof.theory.papers.fpfc.simplex import Simplex

LEAST = 1e-3  # L_- of convex losses


def scalar_clients(centers: Any, curvature: float = 1.0) -> QuadraticMixture:
    points = np.array(centers, dtype=float)
    hessians = np.full((len(points), 1, 1), curvature)
    return QuadraticMixture(hessians=hessians, centers=points[:, None], labels=np.arange(len(points)))


def fpfc(rho: float, xi: float, steps: int, *, curvature: float = 1.0, **options: Any) -> FPFC:
    """The printed theorem's longest step."""
    given: dict[str, Any] = {
        "strength": 0.6,
        "threshold": 0.5,
        "step_size": 1 / (curvature + 2 * rho - LEAST),
    }
    return FPFC(**given | {"augmentation": rho, "smoothing": xi, "local_steps": steps} | options)


def path_of(algorithm: FPFC, task: QuadraticMixture, start: float, rounds: int) -> list[DenseFPFC]:
    stream, shape = Randomness.from_seed(0, "fpfc", "theorem-1").participation, np.zeros((1, task.clients, 1))
    drawn = [draw_participants(algorithm.participation, task.clients, shape, stream) for _ in range(rounds)]
    path: list[DenseFPFC]
    (path,) = dense_paths(algorithm, task, np.full((1, 1), start), [np.atleast_2d(each) for each in drawn])
    return path


def squared_contraction(algorithm: FPFC, smoothness: float) -> float:
    mu, smooth = algorithm.augmentation - LEAST, smoothness + algorithm.augmentation
    return 1 - algorithm.step_size * 2 * mu * smooth / (smooth + mu)


def first_constant(rho: float, xi: float, smoothness: float, r: float) -> float:
    """C_1 of full participation with r in place of (c - T/2)^-1, lambda = 0.6."""
    smooth, steep = smoothness + rho, 0.6 / xi
    second = 12 * rho**3 / (rho**2 - steep * rho - 2 * steep**2)
    return 6 * (r**2 * smooth**2 + rho**2) / (rho - smoothness - 2 * r * smooth) + second


@pytest.mark.parametrize(("rho", "steps"), [(12, 4), (12, 3)])
def test_the_first_inequality_as_printed(rho: int, steps: int) -> None:
    algorithm, xi = fpfc(rho, 0.42, steps), 0.42
    models, _ = mean_squares(path_of(algorithm, scalar_clients([1, -1, 1]), 2.0, 3))
    c = squared_contraction(algorithm, 1.0)
    first = first_constant(rho, xi, 1.0, 1 / (c ** (-steps / 2) - 1))
    # F(w^0) - F* lies between 0 and F(w^0), the sum of (2 -+ 1)^2 / 2
    gap = (1 + 9 + 1) / 2 if first > 0 else 0.0
    assert (first > 0) is (steps == 4)
    found = theorem_1_models.theorem_1_models(3, rho, 0.7, steps, 3)
    assert_sides(found, models, descent=first * gap / 3, smoothing=first * 3 * xi * 0.6 / 4 / 3)


@pytest.mark.parametrize(("curvature", "steps"), [(13.57, 10), (30.0, 1), (1.0, 3)])
def test_the_first_inequality_to_the_letter(curvature: float, steps: int) -> None:
    algorithm = fpfc(5.0, 0.3, steps, curvature=curvature)
    models, _ = mean_squares(path_of(algorithm, scalar_clients([1, -1, 1], curvature), 2.0, 2))
    first = first_constant(5.0, 0.3, curvature, 1 / (squared_contraction(algorithm, curvature) - steps / 2))
    gap = curvature * 11 / 2 if first > 0 else 0.0
    found = conditions_literal.conditions_literal(3, curvature, steps, 2)
    assert_sides(found, models, descent=first * gap / 2, smoothing=first * 3 * 0.3 * 0.6 / 4 / 2)


def test_the_second_and_third_inequality_as_printed() -> None:
    for a, xi, rho, distance in ((3.0, 0.25, 9, 3), (1.5, 0.5, 6, 4), (2.0, 0.25, 9, 2)):
        algorithm = fpfc(rho, xi, 20, strength=1.0, concavity=a)
        path = path_of(algorithm, scalar_clients([distance, -distance]), 0.0, 30)
        found = theorem_1_mapping.theorem_1_mapping(a, xi, rho, distance)
        assert_sides(found, max(one.squared_mapping() for one in path), smoothing=4 * (xi / (1 + xi)) ** 2)
    algorithm = fpfc(5.0, 0.3, 10, pair_rule="both", participation=1 / 3)
    _, duals = mean_squares(path_of(algorithm, scalar_clients([1, -1, 1]), 0.0, 7))
    second = 4 / (3 * 5 * (25 - 2 * 5 - 2 * 4)) / 7
    found = theorem_1_duals.theorem_1_duals(3, 7)
    assert_sides(found, duals, descent=second * 3 / 2, smoothing=second * 3 * 0.3 * 0.6 / 4)


def setting(algorithm: FPFC, smoothness: float = 1.0, least: float = LEAST) -> Constants:
    return Constants(algorithm, 3, smoothness, least)


def test_each_hypothesis_of_the_printed_theorem_binds() -> None:
    """q < 1/2, the step, rho > L_f / (1 - 2q), 2 lambda / xi and 2 / (a - 1)."""
    longest = 1 / (11 - LEAST)
    c = 0.4 ** (2 / 3)  # where q = 2/5 and L_f / (1 - 2q) = 5
    slow = (1 - c) * (11 - LEAST) / (2 * (5 - LEAST) * 6)
    common: list[tuple[FPFC, FPFC]] = [
        (fpfc(5, 0.3, 8), fpfc(5, 0.3, 8, step_size=longest * (1 + 1e-9))),
        (fpfc(4.001, 0.3, 8), fpfc(3.999, 0.3, 8)),
        (fpfc(5, 0.3, 8, concavity=1.401), fpfc(5, 0.3, 8, concavity=1.399)),
    ]
    for inside, outside in common:
        for admissible in (lambda one: one.admissible, conditions_literal.literally_admissible):
            assert admissible(setting(inside))
            assert not admissible(setting(outside))
    assert setting(fpfc(5, 0.3, 3)).admissible
    assert not setting(fpfc(5, 0.3, 2)).admissible
    assert setting(fpfc(5, 0.3, 3, step_size=slow * 1.001)).admissible
    assert not setting(fpfc(5, 0.3, 3, step_size=slow * 0.999)).admissible
    assert conditions_literal.literally_admissible(setting(fpfc(5, 0.3, 1)))
    assert not conditions_literal.literally_admissible(setting(fpfc(5, 0.3, 8), least=5.5))
    # L_f = 7, mu = 4 and L_h = 12: c = 1/2, so that T = 1 divides by 0, and T = 25 by -2 (1/2 - 25/2) - 2 * 12
    for steps, divides in ((1, True), (2, False), (25, True)):
        literal = conditions_literal.literal_first(setting(fpfc(5, 0.3, steps, step_size=1 / 12), 7.0, 1.0))
        assert (literal is None) is divides


def test_what_is_outside_of_the_printed_theorem_is_refused() -> None:
    outside: list[tuple[Any, tuple[Any, ...], str]] = [
        (theorem_1_models.theorem_1_models, (3, 3, 0.5, 8, 2), "hypotheses of Theorem 1"),
        (theorem_1_mapping.theorem_1_mapping, (3.0, 0.5, 1, 2), r"rho > 2 / \(a - 1\)"),
        (theorem_1_mapping.theorem_1_mapping, (3.0, 0.5, 4, 2), "hypotheses of Theorem 1"),
        (conditions.conditions, (3, 0.5), r"rho > L_f / \(1 - 2c\) > 0"),
        (repaired.models_of_opposed_clients, (1.01, 3), "F is least"),
        (repaired.duals_of_opposed_clients, (1.01, 3), "F is least"),
        (one_term.opposed_clients, (1.01, 3), "F is least"),
        (repaired.models_of_opposed_clients, (-0.01, 3), "F is least"),
    ]
    for claim, numbers, name in outside:
        with pytest.raises(Outside, match=name):
            claim(*numbers)
    # alpha (L + mu) = 2/5 and L = 3 mu: c = 1 - 2 alpha mu L / (L + mu)
    assert_sides(
        conditions.slow_contraction(Fraction(3), Fraction(2, 5)), 1 - 2 * (0.4 / 4) * 3 / 4, half=0.5
    )


@pytest.mark.parametrize(("strain", "rounds"), [(0.75, 3), (1.0, 5)])
def test_two_opposed_clients(strain: float, rounds: int) -> None:
    """rho = 5, L_g = 2, den = 7, three steps of 1 / 6, D_0 = 1 / 8."""
    algorithm = fpfc(5.0, 0.5, 3, strength=1.0, step_size=1 / 6)
    models, duals = mean_squares(path_of(algorithm, scalar_clients([strain / 2, -strain / 2]), 0.0, rounds))
    steps, gap = 2 / (1 / 6 * (2 - 1)), 1 / 8 / rounds
    bound = {"local_steps": steps * gap, "pairs": 4 * 5 * 4 / (2 * 7) * gap}
    assert_sides(repaired.models_of_opposed_clients(strain, rounds), models, **bound)
    assert_sides(one_term.opposed_clients(strain, rounds), models, local_steps=steps * gap)
    assert_sides(repaired.duals_of_opposed_clients(strain, rounds), duals, smoothing=4 / (2 * 5 * 7) * gap)


@pytest.mark.parametrize("clients", [2, 3])
def test_alike_clients_over_all_orders_of_participants(clients: int) -> None:
    center, orders = (
        0.5 / (2 * math.sqrt(clients)),
        np.array(list(product(range(clients), repeat=4))).T[..., None],
    )

    def mean(setting: Constants, kind: int, curvature: float) -> float:
        task = scalar_clients([center] * clients, curvature)
        paths = dense_paths(setting.algorithm, task, np.zeros((1, 1)), orders)
        return float(np.mean([mean_squares(path)[kind] for path in paths]))

    given = {"strength": 1.0, "threshold": 0.5, "participation": 1 / clients}
    steep = fpfc(10_000.0, 0.5, 10, curvature=1000.0, **given)
    duals = mean(Constants(steep, clients, 1000.0, LEAST), 1, 1000.0)
    pair = 2 / clients
    factor = 4 / (clients * 1e4 * (1e8 - 2e4 - 8)) / 4
    terms = {"descent": factor * clients * 500 * center**2, "smoothing": factor * clients / 8}
    assert_sides(partial_participation.theorem_1_participation(clients, 4), duals, **terms)
    halves = {name: term / pair for name, term in terms.items()}
    assert_sides(repaired.repaired_duals(clients, 4), duals, **halves)
    for share, rho in ((0.5, 5.0), (1.0, 16.0)):
        weak = fpfc(rho, 0.5, 1, **given | {"step_size": share / (10_000 + rho)})
        models = mean(Constants(weak, clients, 1e4, 0.0), 0, 1e4)
        assert repaired_moments.expected_models(clients, share, 4, rho) == pytest.approx(models, rel=1e-9)
        steps, den = 2 * clients * (10_000 + rho) / share / (2 - share), rho**2 - 2 * rho - 8
        gap = (clients * 5000 * center**2 + (clients - 1) / 8) / 400
        bound = {"local_steps": steps * gap}
        sides: Any = large_augmentation.alike_clients(clients, share)
        if rho == 5:
            bound |= {"pairs": 4 * rho * 4 * (clients - 1) / (clients * pair * den) * gap}
            sides = repaired.models_of_alike_clients(clients, share)
        assert_sides(sides, repaired_moments.expected_models(clients, share, 400, rho), **bound)


def test_alike_clients_that_all_take_part_stay_together() -> None:
    center, keeps = 0.5 / (2 * math.sqrt(3)), 1 - 0.03 * 10_000 / 10_005
    models = np.mean([3 * (1e4 * center * keeps**k) ** 2 for k in range(1, 201)])
    gap = (3 * 5000 * center**2 + 2 / 8) / 200
    assert_sides(one_term.alike_clients(3), models, local_steps=2 * 10_005 / 0.03 / 1.97 * gap)


def test_arbitrary_differences() -> None:
    """Lengths on every piece of the penalty, by the proximal map of the dense loops."""
    lam, a, xi, lengths = 1.5, 2.6, 0.5, np.array([0.0, 0.3, 0.375, 0.6, 2.2, 9.0])
    one = DenseFPFC(fpfc(9.0, xi, 1, strength=lam, concavity=a), scalar_clients([0.0]), np.zeros((1, 1)))
    slopes = [
        lam * t / xi if t <= xi else lam if t <= lam else max(0, a * lam - t) / (a - 1) for t in lengths
    ]
    moves = sum(2 * (t - one.unit_prox(t + v)) ** 2 for t, v in zip(lengths, slopes, strict=True))
    given = mapping_content.Setting(lam, a, xi, 4, lengths)
    worst = (lam * xi / (lam + xi)) ** 2
    assert_sides(mapping_content.mapping_of_any_differences(given), moves, smoothing=16 * worst)
    assert_sides(repaired.repaired_mapping(given), moves, smoothing=12 * worst)
    for change, name in (
        ({"smoothing": lam}, "0 < xi < lambda"),
        ({"concavity": 2.0}, "a > 2"),
        ({"clients": 5}, "m .* lengths"),
        ({"lengths": -lengths}, "m .* lengths"),
    ):
        with pytest.raises(Outside, match=name):
            mapping_content.mapping_of_any_differences(replace(given, **change))
    again = mapping_content.read(mapping_content.write(given))
    assert (again.strength, again.lengths.tolist()) == (lam, lengths.tolist())


def test_the_bipartition_and_its_cost() -> None:
    for clients in (2, 5, 7):
        points = np.random.default_rng(3).standard_normal((clients, 3))
        cosine = [[a @ b / math.sqrt((a @ a) * (b @ b)) for b in points] for a in points]
        cuts = [sides for sides in product((0, 1), repeat=clients) if len(set(sides)) == 2]
        pairs = [(i, j) for i in range(clients) for j in range(clients)]
        least = min(max(cosine[i][j] for i, j in pairs if cut[i] != cut[j]) for cut in cuts)
        found = bipartition_cost.bipartition(clients, np.random.default_rng(3))
        assert_sides(found, [(least, least), ((clients - 1) * (clients - 2),) * 2])
    # three operations for each of 21 pairs, and the sum of seven models; a length of each of seven updates
    assert_sides(
        bipartition_cost.bipartition_cost(7, 11),
        (3 * 21 + 7) * 11,
        cosines_and_lengths=(21 + 7) * 11,
        cut=6 * 5,
    )


def test_the_window_and_its_stationary_point() -> None:
    task = QuadraticMixture.random(
        clusters=2, clients=5, dimension=2, condition_number=3.0, separation=6.0, spread=0.02, seed=3
    )
    task = replace(task, hessians=1.7 * task.hessians)
    slopes = [h @ (w - c) for h, w, c in zip(task.hessians, task.client_optima, task.centers, strict=True)]
    same = [(i, j) for i in range(5) for j in range(5) if task.labels[i] == task.labels[j]]
    sizes = [int((task.labels == label).sum()) for label in task.labels]
    assert set(sizes) == {2, 3}
    least = max(5 / sizes[i] * np.linalg.norm(slopes[i] - slopes[j]) for i, j in same)
    largest = np.linalg.norm(task.optima[0] - task.optima[1]) / 2.6
    assert window.window(task, 2.6) == pytest.approx((least, largest))
    assert least < 0.9 * largest
    for name, sides in window.fusion_window(task, 2.6, 0.3).items():
        ((residual, zero),) = sides.pairs
        np.testing.assert_allclose(residual, zero, atol=1e-12, err_msg=name)
    with pytest.raises(Outside, match="window is not empty"):
        window.fusion_window(task, float(2.6 * largest / least * 1.001), 0.3)


def huber_gradient(loss: HuberSum, point: np.ndarray) -> np.ndarray:
    total = np.zeros(len(point))
    for x, y in zip(loss.features, loss.targets, strict=True):
        total += max(-loss.width, min(loss.width, float(x @ point - y))) * x
    return total


@pytest.mark.parametrize("draw", [0, 3, 7])
@pytest.mark.parametrize("steps", [2, 3])
def test_local_steps_on_sums_of_huber_losses(draw: int, steps: int) -> None:
    def drawn() -> tuple[HuberSum, float, np.random.Generator]:
        stream = np.random.default_rng(draw)
        loss = HuberSum.draw(stream)
        steepest = max(np.linalg.eigvalsh(sum(np.outer(x, x) for x in loss.features)))
        assert loss.smoothness == pytest.approx(steepest)
        return loss, steepest * 10 ** stream.uniform(-3, 1), stream

    loss, rho, stream = drawn()
    step = stream.choice([0.5, 1.0]) / (loss.smoothness + rho)
    anchor, start = stream.standard_normal((2, loss.dimension))
    point, slopes = start, []
    for _ in range(steps):
        slopes.append(huber_gradient(loss, point) + rho * (point - anchor))
        point = point - step * slopes[-1]
    lost = huber_gradient(loss, start) - huber_gradient(loss, point)
    found = one_term.convexity(steps, draw)
    assert found.measured == pytest.approx(lost @ lost / 2 + 2 * lost @ (slopes[0] - lost))
    assert found.terms["later"] == pytest.approx(-sum(slope @ slope for slope in slopes[1:]))
    loss, rho, stream = drawn()
    anchor, start = stream.standard_normal((2, loss.dimension))
    ends = [start]
    for _ in range(steps):
        slope = huber_gradient(loss, ends[-1]) + rho * (ends[-1] - anchor)
        ends.append(ends[-1] - slope / (loss.smoothness + rho))
    values = [loss.value(w) + rho / 2 * (w - anchor) @ (w - anchor) for w in (start, ends[-1])]
    later = large_augmentation.later_steps(steps, draw)
    assert later.measured == pytest.approx(values[0] - values[1], rel=1e-9, abs=1e-12)
    assert later.terms["squared"] == pytest.approx(
        rho / 8 * (ends[-1] - start) @ (ends[-1] - start), abs=1e-12
    )


def test_lines_of_the_proofs_on_numbers() -> None:
    gradient, gradients = np.array([1.0, 0.0]), []
    for k in range(3):  # directions at 50, 10 and -30 degrees
        gradients.append(gradient)
        unit = np.array([math.cos(math.radians(50 - 40 * k)), math.sin(math.radians(50 - 40 * k))])
        gradient = gradient - (unit @ gradient) * unit
    lost, found = gradients[0] - gradient, one_term.turning(3, 40)
    assert found.measured == pytest.approx(lost @ lost / 2 + 2 * lost @ gradient)
    assert found.terms["later"] == pytest.approx(-sum(one @ one for one in gradients[1:]))
    a, m, x = Fraction(3), Fraction(5), Fraction(7)
    left = a**2 + m**2 - ((a + m) / 2) ** 2 - ((a + m) / 2 - x) ** 2
    assert_sides(one_term.norms(a, m, x), [(left, (a - (m - x)) ** 2 / 2 + x**2 / 2 + 2 * x * (m - x))])
    assert_sides(large_augmentation.constant(3 / 4), 1 / 2 - 1 / 16 - 7 / 4 / 8 - (11 / 4) ** 2 / 64, zero=0)
    for draw in (2, 3):
        signs = np.random.default_rng(draw).uniform(-1, 1, 3)
        derivatives = signs / 8 if draw == 2 else np.sign(signs) / 8
        least = min(np.linalg.eigvalsh(large_augmentation.pair_form(derivatives, 1.5)))
        assert_sides(large_augmentation.pairs_pay(3, 1.5, draw), least, zero=0)


def test_a_run_of_the_simplex_leaves_the_parabola_where_it_is_shorter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Simplex(4, 3.0, 0.5)
    curvature, rho = 1e-4 * 30, 30.0
    assert one.rounds == int(math.log(50) * 4 * (curvature + rho) / (0.5 * (curvature + 10)))
    waiting_pairs.stay_on_the_parabola(4, 3.0, 0.5)
    monkeypatch.setattr(waiting_pairs, "SMOOTHING", 0.95)
    with pytest.raises(ArithmeticError, match=r"a pair is 0\.9\d* long"):
        waiting_pairs.stay_on_the_parabola(4, 3.0, 0.5)
    with pytest.raises(Outside, match="rho > 2 L_g"):
        waiting_pairs.one_term_waiting(4, 2.0, 0.5)


def test_the_runs_of_table_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 clients in 4 clusters, 105 parameters: FPFC and FPFC-l1 with six of them a round, CFL with all."""
    monkeypatch.setattr(rival, "ROUNDS", 20)
    monkeypatch.setattr(convex, "ROUNDS", 20)
    task = SoftmaxMixture(clients=20, clusters=4, features=20, classes=5, largest=500, seed=2)
    common: dict[str, Any] = {"step_size": 0.1, "local_steps": 10}
    options: dict[str, Any] = common | {"strength": 0.4, "participation": 0.3, "reuse_memory": True}
    fused, plain = FPFC(**options), FPFC(**options, penalty="l1")
    cut = CFL(**common, mean_threshold=0.1, client_threshold=0.2)
    assert rival.uploads() == 120
    asked: list[Any] = []

    def recorded(algorithm: Any, task: Any, **how: Any) -> Any:
        asked.append((algorithm, task.settings, how))
        return run(algorithm, task, **how)

    monkeypatch.setattr(rival, "run", recorded)
    monkeypatch.setattr(convex, "run", recorded)
    scored: list[tuple[Callable[..., rival.Outcome], Any, Any, int]] = [
        (rival.fpfc.__wrapped__, (2, 0.4), fused, 20),
        (convex.row.__wrapped__, (2, 0.4), plain, 20),
        (rival.cfl.__wrapped__, (2,), cut, 6),
    ]
    for function, numbers, algorithm, rounds in scored:
        found = function(*numbers)
        assert asked.pop() == (algorithm, task.settings, {"rounds": rounds, "seed": 2})
        trace = run(algorithm, task, rounds=rounds, seed=2)
        groups, models = trace.last_assignments, trace.models[-1]
        if algorithm is not cut:
            models = group_averages(models, groups, task.sizes)
        assert found.accuracy == pytest.approx(sum(task.accuracies(models, np.arange(20))) / 20)
        assert found.clusters == len(set(groups.tolist()))
        assert found.adjusted_rand_index == pytest.approx(adjusted_rand_index(groups, task.labels))
    monkeypatch.setattr(convex, "row", lambda *_: SimpleNamespace(adjusted_rand_index=0.7))
    assert_sides(convex.convex(0.2, 1), 0.7, almost=0.999)
