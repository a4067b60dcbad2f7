"""Both sides of the claims on (1) to (7) from their statements: loops over devices and models, or fractions."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from plain_loops import replay, scalar_rounds
from sides_by_hand import assert_sides

from clusterproof.algorithms import IFCA, GradientLoss, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.exact.placed import Placed
from clusterproof.theory.papers.gradient_loss import (
    equation_1,
    equation_2,
    equation_3,
    equation_4,
    equation_5,
    euclidean,
    scalar,
)

Plant = Callable[..., Any]
F = Fraction


def scaled(curvature: float, clients: int, **options: Any) -> QuadraticMixture:
    """A random mixture of this smoothness."""
    task = QuadraticMixture.random(clusters=3, clients=clients, seed=4, **options)
    return replace(task, hessians=curvature * task.hessians)


SPREAD = scaled(0.8, 6, dimension=2, condition_number=3.0, spread=0.5)
ALIKE = scaled(0.7, 9, dimension=3, condition_number=4.0)
ROUND = scaled(0.6, 9, dimension=3)
# whole numbers, so that a mean of equal models is that model
EXACT = QuadraticMixture(
    hessians=np.full((4, 1, 1), 0.5),
    centers=np.array([[0.0], [0.0], [4.0], [4.0]]),
    labels=np.array([0, 0, 1, 1]),
)


def stream() -> np.random.Generator:
    return np.random.default_rng(5)


def similarity(
    gradient: Any, move: Any, kind: str = "cosine", sign: str = "descent", step: float = 1.0
) -> float:
    """S of (3), or minus the distance of the text after it; with the descent, of the gradient from -move / alpha."""
    if kind == "euclidean":
        other = move if sign == "as-printed" else -move / step
        return -math.dist(gradient, other)
    cosine = float(np.dot(gradient, move) / math.sqrt(np.dot(gradient, gradient) * np.dot(move, move)))
    return cosine if sign == "as-printed" else -cosine


class Started:
    """A task whose initial models are given."""

    def __init__(self, task: QuadraticMixture, start: np.ndarray) -> None:
        self.task, self.start = task, start

    def __getattr__(self, name: str) -> Any:
        return getattr(self.task, name)

    def initial_models(self, *_: Any) -> np.ndarray:
        return self.start


CENTERS = [F(-2), F(-3, 2), F(1, 3), F(2), F(5, 2)]


def test_rounds_in_fractions() -> None:
    two, starts = [F(0), F(-2)], [F(-1, 2), F(3, 4), F(7, 2)]
    # a device at -1 is as far from a model at 0 as from one at -2
    for centers, models, tied in (
        (CENTERS, starts, False),
        ([F(-1), F(1)], two, True),
        ([F(1), F(-1)], two, True),
        ([F(1), F(-3, 2)], two, False),
    ):
        found = scalar.exact_rounds(centers, models, weight=F(2, 5), step=F(1, 3), rounds=5)
        expected = scalar_rounds(centers, models, F(2, 5), F(1, 3), 5)
        assert [(list(one.choices), list(one.after), one.tied) for one in found] == expected
        assert [one.before for one in found] == [tuple(models), *(one.after for one in found[:-1])]
        assert found[0].tied is tied
    found = scalar.exact_rounds(CENTERS, starts, weight=F(2, 5), step=F(1, 3), rounds=5)
    assert len({one.choices for one in found}) > 1
    for printed, undefined in product((False, True), (-1, 0, 1)):
        how: dict[str, Any] = {"printed": printed, "undefined": undefined}
        # the second model has no device at first, and the third's is at its minimiser
        at_rest, models = [F(-1), F(-1), F(2)], [F(1, 4), F(9), F(2)]
        read = scalar.exact_rounds(at_rest, models, weight=F(2, 5), step=F(1, 3), rounds=4, **how)
        expected = scalar_rounds(at_rest, models, F(2, 5), F(1, 3), 4, **how)
        assert [(list(one.choices), list(one.after), one.tied) for one in read] == expected
    scalar.confirm_rounds(CENTERS, starts, found, weight=F(2, 5), step=F(1, 3))
    last, others = found[-1], found[:-1]
    for changed in (
        replace(last, after=(*last.after[:-1], last.after[-1] + F(1, 1000))),
        replace(last, choices=(*last.choices[:-1], 1 - last.choices[-1])),
    ):
        with pytest.raises(ArithmeticError, match="the run gives"):
            scalar.confirm_rounds(CENTERS, starts, [*others, changed], weight=F(2, 5), step=F(1, 3))
    for options in ({"weight": F(3, 5), "step": F(1, 3)}, {"weight": F(2, 5), "step": F(1, 4)}):
        with pytest.raises(ArithmeticError, match="the run gives"):
            scalar.confirm_rounds(CENTERS, starts, found, **options)


def test_equation_1_on_copies_of_a_row() -> None:
    """lambda = 2/5, models 3/2 and -2: 2/5 S - 3/5 |Z| w^2 / 2, S against the signs of model and move."""
    for point in (F(0), F(1)):
        with pytest.raises(Outside, match="no gradient is 0"):
            equation_1.equation_1(equation_1.TwoModels(point, 1 - point, F(1), F(1), F(2, 5)), 4)
    for moves, few in (((F(1), F(1)), 1), ((F(-1), F(1)), 0), ((F(1), F(-1)), 0)):
        one = equation_1.TwoModels(F(3, 2), F(-2), *moves, F(2, 5))
        agree = [-moves[0], moves[1]]
        for rows in (1, 4):
            scores = [
                F(2, 5) * s - F(3, 5) * rows * w**2 / 2 for s, w in zip(agree, (F(3, 2), F(2)), strict=True)
            ]
            assert one.scores(rows) == scores
        assert_sides(equation_1.equation_1(one, 4), [(few, 0)])
        equation_1.ask_the_algorithm(one, 4)
    for weight, rows in (
        (F(3, 7), 4),
        (F(3, 4), 4),
    ):  # 2 lambda = (1 - lambda) |Z| (4 - 1) / 2 at 1 and 4 rows
        with pytest.raises(Outside, match="tie"):
            equation_1.equation_1(equation_1.TwoModels(F(2), F(1), F(-1), F(1), weight), rows)


def test_the_algorithm_is_asked_about_each_score(plant: Plant) -> None:
    true = scalar.score
    plant(scalar, "score", lambda weight, s, loss: true(weight, s, loss) + F(1, 100) * (loss > 5))
    one = equation_1.TwoModels(F(3, 2), F(2), F(1), F(1), F(2, 5))
    equation_1.ask_the_algorithm(one, 2)
    with pytest.raises(ArithmeticError, match="model 1 on 3 rows"):
        equation_1.ask_the_algorithm(one, 3)


@pytest.mark.parametrize("kind", ["cosine", "euclidean"])
@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_the_mean_loss_and_scores_of_a_batch(kind: str, sign: str) -> None:
    draws = stream()
    features, targets = draws.standard_normal((5, 3)), draws.standard_normal(5)
    models, moves = draws.standard_normal((2, 4, 3))
    gaps = [[float(x @ w - y) for x, y in zip(features, targets, strict=True)] for w in models]
    losses = [sum(gap**2 for gap in row) / 2 / 5 for row in gaps]
    gradients = [sum(gap * x for gap, x in zip(row, features, strict=True)) / 5 for row in gaps]
    one = equation_1.MovedModels(equation_1.Batch(features, targets), models, moves)
    alike = [similarity(g, d, kind, sign, 0.5) for g, d in zip(gradients, moves, strict=True)]
    scores = [0.7 * s - 0.3 * loss for s, loss in zip(alike, losses, strict=True)]
    expected: list[Any] = [np.array([losses] * 3).T, gradients, np.array([scores] * 3).T]
    sides = equation_1.equation_1_mean(one, 7, 0.7, kind, sign)
    for pair, right in zip(sides.pairs, expected, strict=True):
        for side in pair:
            np.testing.assert_allclose(side, right, rtol=1e-9)


def test_equation_2_and_its_moves() -> None:
    numbers = (F(-3, 2), F(5, 2), F(1, 3), F(2, 5))
    mean = F(1, 3) - F(1, 2)
    assert_sides(equation_2.equation_2(*numbers), [(-F(2, 5) * mean, mean)])
    equation_2.run_a_round(*numbers)
    start = SPREAD.initial_models(3, (), stream())
    start[2] += 9.0  # of six devices none chooses it at first
    task, algorithm = SPREAD, GradientLoss(step_size=0.6, weight=0.4)
    trace = run(algorithm, task, rounds=5, initial=start)
    history, choices = replay(algorithm, task, start, np.asarray(trace.assignments), [None] * 5)
    np.testing.assert_array_equal(choices, trace.assignments)
    moves, empty = [], 0
    for before, chosen in zip(history, choices, strict=False):
        for k, w in enumerate(before):
            own = [h @ (w - c) for h, c, p in zip(task.hessians, task.centers, chosen, strict=True) if p == k]
            moves.append(-0.6 * sum(own) / len(own) if own else 0 * w)
            empty += not own
    assert empty
    ((found, right),) = equation_2.equation_2_descent(Placed(task, start), 0.6, 0.4).pairs
    np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(right, moves, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, np.diff(history, axis=0).reshape(-1, 2), rtol=1e-9, atol=1e-12)
    with pytest.raises(Outside, match="alpha <= 1 / L"):
        equation_2.equation_2_descent(Placed(task, start), 1.251, 0.4)


@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_runs_of_4_to_7_and_of_ifca(sign: str) -> None:
    start = SPREAD.pooled_optimum + stream().standard_normal((3, 2))
    fixed: list[tuple[Any, Any, int]] = [
        (
            GradientLoss(step_size=0.6, weight=0.7, sign=sign),
            equation_2.equations_4_7(SPREAD, 0.6, 0.7, sign, stream()),
            4,
        ),
        (IFCA(step_size=0.6, averaging="model"), equation_4.equation_4_ifca(SPREAD, 0.6, stream()), 6),
    ]
    for algorithm, sides, rounds in fixed:
        recorded = np.array(sides["choices"].pairs[0][0], dtype=int)
        history, choices = replay(algorithm, SPREAD, start, recorded, [None] * rounds)
        assert len(recorded) == rounds
        for side in sides["choices"].pairs[0]:
            np.testing.assert_array_equal(side, choices)
        for side in sides["models"].pairs[0]:
            np.testing.assert_allclose(side, history, rtol=1e-9, atol=1e-12)
    with pytest.raises(Outside, match="alpha <= 1 / L"):
        equation_2.equations_4_7(SPREAD, 1.251, 0.7, sign, stream())
    with pytest.raises(Outside, match="alpha <= 1 / L"):
        equation_4.equation_4_ifca(SPREAD, 1.251, stream())


def second_similarities(task: QuadraticMixture, step: float, sign: str) -> list[float]:
    """S of each device with its own cluster, one round after the clusters' initial models."""
    before, found = task.initial_models(3, (), stream()), []
    for label, hessian, center in zip(task.labels, task.hessians, task.centers, strict=True):
        move = -step * hessian @ (before[label] - center)
        found.append(similarity(hessian @ (before[label] + move - center), move, sign=sign))
    return found


def test_equation_3_in_the_second_round() -> None:
    a, alpha = ROUND.smoothness, 0.37
    offsets = ROUND.initial_models(3, (), stream())[ROUND.labels] - ROUND.centers
    inner = [-alpha * a * a * (1 - alpha * a) * float(e @ e) for e in offsets]
    start = Placed(ROUND, ROUND.initial_models(3, (), stream()))
    assert_sides(equation_3.equation_3_worst(start, alpha), [(inner, inner)])
    worst = second_similarities(ROUND, alpha, "as-printed")
    assert worst == pytest.approx([-1] * 9)
    ((found, least),) = equation_3.equation_3_worst_similarity(start, alpha).pairs
    np.testing.assert_allclose(found, worst, rtol=1e-9)
    assert least == -1
    own, eigenvalues = second_similarities(ALIKE, alpha, "descent"), np.linalg.eigvalsh(ALIKE.hessians)
    r, s = 1 - alpha * eigenvalues.max(), 1 - alpha * eigenvalues.min()
    kantorovich = 2 * math.sqrt(r * s) / (r + s)
    assert_sides(equation_3.equation_3_descent(ALIKE, alpha, stream()), own, kantorovich=kantorovich)
    far = Started(ALIKE, ALIKE.optima[[1, 0, 2]] + 0.1)
    outside: list[tuple[Any, float, str]] = [
        (replace(ALIKE, centers=ALIKE.centers + 0.1 * np.eye(9)[:, :3]), 0.37, "one minimiser"),
        (replace(ALIKE, hessians=ALIKE.hessians[[*range(8), 0]]), 0.37, "one minimiser"),
        (ALIKE, 1.001 / 0.7, "alpha L < 1"),
        (far, 0.37, "chose rightly"),
        (Started(EXACT, np.array([[0.0], [5.0]])), 0.37, "at rest"),
    ]
    for task, step, name in outside:
        with pytest.raises(Outside, match=name):
            equation_3.equation_3_descent(task, step, stream())
    for claim in (equation_3.equation_3_worst, equation_3.equation_3_worst_similarity):
        with pytest.raises(Outside, match="Hessian is a I"):
            claim(Placed(ALIKE, ALIKE.initial_models(3, (), stream())), alpha)


def test_equation_3_as_printed_on_two_devices() -> None:
    """Models -3/8 and 3/4 at steps of 1/3 move to -5/12 and 2/3: G is 1/12, 7/6 at -1/2 and -11/12, 1/6 at 1/2."""
    one = equation_3.TwoDevices(F(-3, 8), F(3, 4), F(1, 3))
    gradients, similarities = [[F(1, 12), F(7, 6)], [F(-11, 12), F(1, 6)]], [[-1, -1], [1, -1]]
    scores = [
        [F(s, 5) - F(4, 5) * g**2 / 2 for s, g in zip(*rows, strict=True)]
        for rows in zip(similarities, gradients, strict=True)
    ]
    assert equation_3.printed_scores(one) == scores
    gains = [scores[0][1] - scores[0][0], scores[1][0] - scores[1][1]]
    assert_sides(equation_3.equation_3(one), gains, zero=0)
    assert equation_3.ask_the_algorithm(one) == pytest.approx(float(max(gains)))
    outside = {"chose rightly": (F(-3, 2), F(-5, 4)), "is 0": (F(-1, 2), F(1, 4))}
    for name, starts in outside.items():
        with pytest.raises(Outside, match=name):
            equation_3.equation_3(equation_3.TwoDevices(*starts, F(1, 3)))


def test_distances_instead_of_cosines() -> None:
    """Own gradient 3/2, alpha = 1/4: -|3/2 + 3/8|; the other -|-1 + 1/8|, at an average of 1/2."""
    two = euclidean.TwoClusters(F(3, 2), F(-1), F(1, 2), F(1, 4))
    assert_sides(euclidean.equation_3_euclidean(two), -F(7, 8) + F(15, 8), zero=0)
    assert euclidean.preference_for_the_other(two) == pytest.approx(1)
    for other, average in ((F(1), F(1, 2)), (F(-1), F(-1, 2)), (F(0), F(1))):
        with pytest.raises(Outside, match="are opposite"):
            euclidean.equation_3_euclidean(euclidean.TwoClusters(F(3, 2), other, average, F(1, 4)))
    gradients, averages = stream().standard_normal((2, 3, 4))
    averages[0] = gradients[0]
    distances = [-math.dist(g, a) for g, a in zip(gradients, averages, strict=True)]
    pairs = euclidean.equation_3_euclidean_descent(3, 4, -1.7, stream()).pairs
    np.testing.assert_allclose(pairs[0], [distances] * 2, rtol=1e-9, atol=1e-13)
    # losses 2 and 1, distances 1/2 and 3, lambda = 2/5: -1/5 - 6/5 and -6/5 - 3/5, or 4/5 - 6/5 and 2/15 - 3/5
    for numbers, choices in (
        ((F(2), F(1), F(1, 2), F(3), F(2, 5)), (0, 0)),
        ((F(3), F(1), F(1, 2), F(3), F(2, 5)), (1, 1)),
        ((F(2), F(1), F(1), F(3), F(2, 5)), (0, 1)),
    ):
        assert_sides(euclidean.equation_3_inverse(*numbers), [choices])
    for distances_at_a_tie in ((F(3, 2), F(3)), (F(1, 2), F(2))):
        with pytest.raises(Outside, match="tie"):
            euclidean.equation_3_inverse(F(2), F(1), *distances_at_a_tie, F(2, 5))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("sign", ["descent", "as-printed"])
def test_the_margin_of_the_losses(reduction: str, sign: str) -> None:
    task = RegressionMixture.random(clusters=3, clients=20, dimension=4, samples=6, separation=0.5, seed=2)
    draws = stream()
    models, moves = draws.standard_normal((2, 3, 4))
    losses, gradients = task.losses_and_gradients(models, np.arange(20), draws)
    excess, factor = [], 6 if reduction == "sum" else 1
    for row, own in zip(losses, gradients, strict=True):
        alike = [similarity(g, d, sign=sign) for g, d in zip(own, moves, strict=True)]
        scores = [0.7 * s - 0.3 * factor * loss for s, loss in zip(alike, row, strict=True)]
        excess.append(row[scores.index(max(scores))] - min(row))
    assert max(excess) > 0
    found = equation_4.loss_margin(task, 0.7, reduction, sign, stream())
    assert_sides(found, excess, margin=2 * 0.7 / 0.3 / factor)


def test_definitions_on_generic_fractions() -> None:
    # minimiser 1/2: losses 9/8 and 2, so that S = 0 chooses the first; from 0 S is -1 and 1, lambda = 2/5
    assert_sides(equation_4.equation_3_first_round(F(1, 2), F(2), F(-3, 2), F(2, 5)), [(0, 0)])
    assert_sides(equation_4.equation_3_first_round(F(3, 2), F(5, 2), F(1, 4), F(1, 2)), [(0, 1)])
    for numbers in ((F(1, 2), F(1), F(0), F(2, 5)), (F(3, 2), F(5, 2), F(1, 4), F(9, 73))):
        with pytest.raises(Outside, match="tie"):
            equation_4.equation_3_first_round(*numbers)
    # gradients of the sum: 7 at w = 1, 2, and 4 where 2 / |Z| is met
    for alpha, rows, after, near in (
        (F(3, 10), 7, -F(11, 10), 0),
        (F(3, 10), 2, F(2, 5), 1),
        (F(1, 2), 4, F(-1), 1),
    ):
        sides = equation_5.equation_5_batch(alpha, rows)
        assert_sides(sides["step"], [(after, after)])
        assert_sides(sides["not away"], [(near, near)])


def test_line_12_moves_at_half_the_speed() -> None:
    """By hand: with w_i^0 = w^0 = 1, b = 0 and alpha = 1/2 each model is sent twice."""
    right = [F(1, 2) ** t for t in range(7)]
    late = [equation_5.by_line_12(F(0), F(1), F(1, 2), rounds) for rounds in range(7)]
    assert late == [1, 1, F(1, 2), F(1, 2), F(1, 4), F(1, 4), F(1, 8)]
    assert late[6] == right[3] != right[6]
    found = equation_5.algorithm_line_12(F(3, 2), F(-1, 2), F(2, 5))
    assert_sides(found, [(F(3, 2) - 2 * F(9, 25), F(3, 10))])
    equation_5.run_the_rounds(F(3, 2), F(-1, 2), F(2, 5))
