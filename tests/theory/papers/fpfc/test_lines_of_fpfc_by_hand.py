"""Lines of FPFC's proofs, the window, the bipartition and convex penalties, from their statements."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_sides

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.fpfc import (
    bipartition,
    convex,
    large_augmentation,
    one_term,
    repaired_steps,
    waiting_pairs,
    window,
)
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.huber import HuberSum
from clusterproof.theory.papers.fpfc.simplex import Simplex


def test_the_bipartition_and_its_comparisons() -> None:
    for clients in (2, 5, 7):
        points = np.random.default_rng(3).standard_normal((clients, 3))
        cosine = [[a @ b / math.sqrt((a @ a) * (b @ b)) for b in points] for a in points]
        cuts = [sides for sides in product((0, 1), repeat=clients) if len(set(sides)) == 2]
        pairs = [(i, j) for i in range(clients) for j in range(clients)]
        least = min(max(cosine[i][j] for i, j in pairs if cut[i] != cut[j]) for cut in cuts)
        found = bipartition.bipartition(clients, np.random.default_rng(3))
        assert_sides(found, [(least, least), ((clients - 1) * (clients - 2),) * 2])


def test_the_window_and_its_stationary_point() -> None:
    task = QuadraticMixture.random(
        clusters=2, clients=5, dimension=2, condition_number=3.0, separation=6.0, spread=0.02, seed=3
    )
    task = replace(task, hessians=1.7 * task.hessians)
    gradients = [h @ (w - c) for h, w, c in zip(task.hessians, task.client_optima, task.centers, strict=True)]
    same = [(i, j) for i in range(5) for j in range(5) if task.labels[i] == task.labels[j]]
    sizes = [int((task.labels == label).sum()) for label in task.labels]
    assert set(sizes) == {2, 3}
    least = max(5 / sizes[i] * np.linalg.norm(gradients[i] - gradients[j]) for i, j in same)
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
    point, gradients = start, []
    for _ in range(steps):
        gradients.append(huber_gradient(loss, point) + rho * (point - anchor))
        point = point - step * gradients[-1]
    lost = huber_gradient(loss, start) - huber_gradient(loss, point)
    found = one_term.convexity(steps, draw)
    assert found.measured == pytest.approx(lost @ lost / 2 + 2 * lost @ (gradients[0] - lost))
    squares = [gradient @ gradient for gradient in gradients]
    allowed = -min(sum(squares[1:]), 2 / 3 * sum(squares)) if steps == 3 else 0
    assert found.terms["later"] == pytest.approx(allowed)
    loss, rho, stream = drawn()
    anchor, start = stream.standard_normal((2, loss.dimension))
    ends = [start]
    for _ in range(steps):
        gradient = huber_gradient(loss, ends[-1]) + rho * (ends[-1] - anchor)
        ends.append(ends[-1] - gradient / (loss.smoothness + rho))
    values = [loss.value(w) + rho / 2 * (w - anchor) @ (w - anchor) for w in (start, ends[-1])]
    later = large_augmentation.later_steps(steps, draw)
    assert later.measured == pytest.approx(values[0] - values[1], rel=1e-9, abs=1e-12)
    assert later.terms["squared"] == pytest.approx(
        rho / 8 * (ends[-1] - start) @ (ends[-1] - start), abs=1e-12
    )


def a_setting(share: float, steps: int, participation: float = 1.0) -> Constants:
    """Clients of curvature 3, rho = 5, so that L_h = 8, with steps of a share of 1 / L_h."""
    algorithm = FPFC(
        step_size=share / 8,
        local_steps=steps,
        strength=1.0,
        smoothing=0.5,
        augmentation=5.0,
        threshold=0.5,
        participation=participation,
    )
    return Constants(algorithm, 4, 3.0, 0.0)


@pytest.mark.parametrize("share", [1e-3, 0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 7, 20_000])
def test_the_factor_of_the_local_steps_is_attained_by_a_parabola_of_the_largest_curvature(
    share: float, steps: int
) -> None:
    """T steps of gradient descent on 4 w^2 from 1, where the gradient is 8: 64 / A is what they lower it by."""
    one, point = a_setting(share, steps), 1.0
    for _ in range(steps):
        point -= share / 8 * 8 * point
    assert 64 / one.local_steps_factor == pytest.approx(4 - 4 * point**2, rel=1e-9)
    assert a_setting(share, steps, 0.5).local_steps_factor == pytest.approx(2 * one.local_steps_factor)
    if steps == 1:
        assert one.local_steps_factor == pytest.approx(2 / (share / 8 * (2 - share)))
        assert one.local_steps_factor == pytest.approx(one.first_step_factor)
    if steps == 20_000:
        assert one.local_steps_factor == pytest.approx(2 * 8)


@pytest.mark.parametrize("kind", ["convex", "concave", "neither"])
@pytest.mark.parametrize("steps", [1, 3, 10])
def test_local_steps_lower_every_smooth_function_by_as_much(kind: str, steps: int) -> None:
    """Sums of sqrt(1 + (b w + c)^2), of their negatives and of sines, in the plane; |second derivatives| at most 1."""
    stream, ratios = np.random.default_rng(steps), []
    for _ in range(200):
        b, c, a = stream.standard_normal((5, 2)), stream.standard_normal(5), stream.uniform(0, 1, 5)
        smoothness = np.linalg.norm((b.T * a) @ b, 2)
        a = {"convex": a, "concave": -a, "neither": a * stream.choice([-1, 1], 5)}[kind]
        z = stream.uniform(0.05, 1)

        def value(point: np.ndarray, a: Any = a, b: Any = b, c: Any = c) -> float:
            inner = b @ point + c
            return float(a @ (np.sin(inner) if kind == "neither" else np.sqrt(1 + inner**2)))

        def gradient(point: np.ndarray, a: Any = a, b: Any = b, c: Any = c) -> Any:
            inner = b @ point + c
            return (a * (np.cos(inner) if kind == "neither" else inner / np.sqrt(1 + inner**2))) @ b

        start = point = stream.standard_normal(2)
        lengths = []
        for _ in range(steps):
            lengths.append(float(np.linalg.norm(gradient(point))))
            point = point - z / smoothness * gradient(point)
        assert all(after >= (1 - z) * before * (1 - 1e-12) for before, after in pairwise(lengths))
        # A of a client whose h_i this is, there in units of L_h = 8
        factor = a_setting(z, steps).local_steps_factor * smoothness / 8
        ratios.append(lengths[0] ** 2 / factor / (value(start) - value(point)))
    assert 0.3 < max(ratios) <= 1 + 1e-9


def test_the_lines_of_the_local_steps_on_numbers() -> None:
    found = repaired_steps.one_step(0.4, -0.5, 0.25)
    assert_sides(found["gradient"], 1.2, smooth=0.6)
    assert_sides(found["fall"], 0.4 - 0.16 * 0.25 / 2, smooth=0.4 - 0.16 / 2)
    # three steps, and a fourth one before them
    left, right = (1 - 0.7**8) / 2, 0.3 - 0.09 / 2 + 0.49 * (1 - 0.7**6) / 2
    assert left == pytest.approx(right)
    assert_sides(repaired_steps.all_steps(0.3, 0.7**6), [(left, right)])
    # curvature 1/2 along the first step, of length 1/2 from gradient 1; -1 along the second one, of length 3/8
    half, slope = Fraction(1, 2), Fraction(3, 4)
    fall = half - half * half**2 / 2 + slope * slope / 2 + (slope / 2) ** 2 / 2
    sides = repaired_steps.scalar_functions("1/2 -1", 2)
    assert_sides(sides, fall, descent=(1 - Fraction(1, 16)) / 2)


def test_lines_of_the_proofs_on_numbers() -> None:
    gradient, gradients = np.array([1.0, 0.0]), []
    for k in range(3):  # directions at 50, 10 and -30 degrees
        gradients.append(gradient)
        unit = np.array([math.cos(math.radians(50 - 40 * k)), math.sin(math.radians(50 - 40 * k))])
        gradient = gradient - (unit @ gradient) * unit
    lost, found = gradients[0] - gradient, one_term.turning(3, 40)
    assert found.measured == pytest.approx(lost @ lost / 2 + 2 * lost @ gradient)
    squares = [one @ one for one in gradients]
    assert found.terms["later"] == pytest.approx(-min(squares[1] + squares[2], 2 / 3 * sum(squares)))
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


@pytest.mark.parametrize("strength", [Fraction(1, 4), Fraction(3, 8)])
def test_two_clusters_of_two_under_a_convex_penalty_by_multipliers(strength: Fraction) -> None:
    """w_i - b_i + (lambda / 4) sum_j z_ij = 0, z_ij the sign of w_i - w_j, or within [-1, 1] where that is 0."""
    b = [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(11, 10)]
    w = convex.minimiser(convex.minimisers_of(Fraction(1, 10)), strength)
    assert w[0] == w[1] == Fraction(1, 20) + strength / 2
    assert w[2] == w[3] == Fraction(21, 20) - strength / 2
    assert strength != Fraction(1, 4) or w == [Fraction(7, 40)] * 2 + [Fraction(37, 40)] * 2
    within = 2 * (b[0] - b[1]) / strength  # z_12 = z_34, the pull of a client's own cluster
    assert abs(within) <= 1
    across = 2
    for i, z in enumerate((within - across, -within - across, within + across, -within + across)):
        assert w[i] - b[i] + strength / 4 * z == 0
    assert_sides(convex.convex(Fraction(1, 10), strength), 6, all_but_one=5)


def test_a_convex_penalty_that_is_too_weak_or_too_strong_recovers_nothing() -> None:
    """Below 2 s all four stay apart, and from 1 on all fuse: four and two pairs are right."""
    assert_sides(convex.convex(Fraction(1, 10), Fraction(1, 10)), 4, all_but_one=5)
    assert_sides(convex.convex(Fraction(1, 2), Fraction(1)), 2, all_but_one=5)


def test_models_that_are_not_those_of_the_algorithm_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    convex.run_the_algorithm(Fraction(1, 10), Fraction(1, 4))
    true = convex.minimiser
    monkeypatch.setattr(convex, "minimiser", lambda b, strength: true(b, strength * Fraction(101, 100)))
    with pytest.raises(ArithmeticError, match="a model of FPFC-l1"):
        convex.run_the_algorithm(Fraction(1, 10), Fraction(1, 4))
