"""Both sides of FPFC's printed claims, and of those on scalar clients, with dense loops and all participants."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from fusion_loops import DenseFPFC, dense_paths, mean_squares
from sides_by_hand import assert_sides

from clusterproof.algorithms import FPFC, Randomness
from clusterproof.algorithms.participation import draw_participants
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.fpfc import (
    conditions,
    differences,
    large_augmentation,
    one_term,
    partial_participation,
    repaired,
    repaired_moments,
    theorem_1_duals,
    theorem_1_mapping,
    theorem_1_models,
    theorem_1_models_positive,
)
from clusterproof.theory.papers.fpfc.constants import Constants

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


@pytest.mark.parametrize(("rho", "steps"), [(12, 4), (12, 3), (5.75, 3)])
def test_the_first_inequality_with_the_r_that_allows_more(rho: float, steps: int) -> None:
    xi = 0.42 if rho == 12 else 0.5
    algorithm = fpfc(rho, xi, steps)
    models, _ = mean_squares(path_of(algorithm, scalar_clients([1, -1, 1]), 2.0, 3))
    q = squared_contraction(algorithm, 1.0) ** (steps / 2)
    first = max(first_constant(rho, xi, 1.0, r) for r in (q / (1 - q), q))
    # F(w^0) - F* lies between 0 and F(w^0), the sum of (2 -+ 1)^2 / 2
    gap = (1 + 9 + 1) / 2 if first > 0 else 0.0
    assert (first > 0) is (rho == 12)
    found = theorem_1_models.theorem_1_models(3, Fraction(rho), xi, steps, 3)
    assert_sides(found, models, descent=first * gap / 3, smoothing=first * 3 * xi * 0.6 / 4 / 3)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9, 1.0])
def test_the_second_inequality_of_a_pair_by_the_proximal_map_of_the_dense_loops(share: float) -> None:
    lam, xi, a = 1.5, 0.5, 2.75
    one = DenseFPFC(fpfc(9.0, xi, 1, strength=lam, concavity=a), scalar_clients([0.0]), np.zeros((1, 1)))
    worst, found = 1.5 * 0.5 / 2, theorem_1_mapping.theorem_1_mapping(share, lam, xi, a - 2)
    short, middle, concave = share * worst, worst + share * (xi - worst), lam + share * (a - 1) * lam
    assert one.unit_prox(short * (1 + lam / xi)) == pytest.approx(0)
    assert_sides(found["theta + v is short"], short * (1 + lam / xi), strength=lam)
    assert_sides(found["theta of length 0 to the worst"], short, worst=worst)
    moved = middle - one.unit_prox(middle * (1 + lam / xi))
    assert_sides(found["theta from there to xi"], moved, worst=worst)
    beyond = one.unit_prox(concave + (a * lam - concave) / (a - 1))
    assert_sides(found["theta beyond lambda"], [(beyond, concave)])


def test_the_third_inequality_where_only_pairs_of_two_participants_are_updated() -> None:
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
        assert setting(inside).admissible
        assert not setting(outside).admissible
    assert setting(fpfc(5, 0.3, 3)).admissible
    assert not setting(fpfc(5, 0.3, 2)).admissible
    assert setting(fpfc(5, 0.3, 3, step_size=slow * 1.001)).admissible
    assert not setting(fpfc(5, 0.3, 3, step_size=slow * 0.999)).admissible


def test_what_is_outside_of_the_printed_theorem_is_refused() -> None:
    outside: list[tuple[Any, tuple[Any, ...], str]] = [
        (theorem_1_models.theorem_1_models, (3, Fraction(3), 0.3, 8, 2), "hypotheses of Theorem 1"),
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
    steps, gap = 2 * 6, 1 / 8 / rounds
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
    for share, rho, steps in ((0.5, 5.0, 3), (0.1, 5.0, 1), (1.0, 16.0, 1), (0.5, 16.0, 3)):
        weak = fpfc(rho, 0.5, steps, **given | {"step_size": share / (10_000 + rho)})
        one = Constants(weak, clients, 1e4, 0.0)
        assert one == replace(repaired_moments.weakly_coupled(clients, share, rho, steps), algorithm=weak)
        assert repaired_moments.expected_models(one, 4) == pytest.approx(mean(one, 0, 1e4), rel=1e-9)
        # one step of a length that lowers a function of curvature L_h as much as the steps do; of those only the
        # first one counts at a large augmentation
        counted = steps if rho == 5 else 1
        factor = 2 * clients * (10_000 + rho) / (1 - (1 - share) ** (2 * counted))
        den = rho**2 - 2 * rho - 8
        gap = (clients * 5000 * center**2 + (clients - 1) / 8) / 400
        bound = {"local_steps": factor * gap}
        sides: Any = large_augmentation.alike_clients(clients, share, steps)
        if rho == 5:
            bound |= {"pairs": 4 * rho * 4 * (clients - 1) / (clients * pair * den) * gap}
            sides = repaired.models_of_alike_clients(clients, share, steps)
        assert_sides(sides, repaired_moments.expected_models(one, 400), **bound)


@pytest.mark.parametrize("steps", [1, 3])
def test_alike_clients_that_all_take_part_stay_together(steps: int) -> None:
    # zeta is the model itself, so that w - c is a share rho / L_h of zeta - c and the rest shrinks in every step
    rest = 0.97**steps
    center, keeps = 0.5 / (2 * math.sqrt(3)), (5 + 10_000 * rest) / 10_005
    models = np.mean([3 * (1e4 * center * keeps**k) ** 2 for k in range(1, 201)])
    gap = (3 * 5000 * center**2 + 2 / 8) / 200
    assert_sides(one_term.alike_clients(3, steps), models, local_steps=2 * 10_005 / (1 - rest**2) * gap)


def test_alike_and_opposed_clients_where_the_first_constant_is_positive() -> None:
    clients, center = 2, 0.5 / (2 * math.sqrt(2))
    algorithm = fpfc(1e4, 0.5, 10, curvature=1000.0, strength=1.0, participation=1 / clients)
    setting = Constants(algorithm, clients, 1000.0, LEAST)
    moments = repaired_moments.expected_models(setting, 4)
    orders = np.array(list(product(range(clients), repeat=4))).T[..., None]
    paths = dense_paths(algorithm, scalar_clients([center] * 2, 1000.0), np.zeros((1, 1)), orders)
    assert moments == pytest.approx(np.mean([mean_squares(path)[0] for path in paths]), rel=1e-9)
    c = squared_contraction(algorithm, 1000.0)
    first = clients * first_constant(1e4, 0.3, 1000.0, 1 / (c**-5 - 1))
    terms = {"descent": first * clients * 500 * center**2 / 400, "smoothing": first * clients / 8 / 400}
    found = theorem_1_models_positive.alike_clients(clients)
    assert_sides(found, repaired_moments.expected_models(setting, 400), **terms)
    algorithm = fpfc(5.0, 0.5, 10, strength=1.0, step_size=1 / 11)
    models, _ = mean_squares(path_of(algorithm, scalar_clients([0.5, -0.5]), 0.0, 5))
    first = first_constant(5.0, 0.3, 1.0, 1 / ((1 - 2 / 11 * 30 / 11) ** -5 - 1))
    assert_sides(theorem_1_models_positive.opposed_clients(5), models, smoothing=first * 2 / 8 / 5)


def test_the_hypotheses_under_which_the_first_constant_is_positive_bind() -> None:
    suppose = theorem_1_models_positive.suppose_positive
    c = squared_contraction(fpfc(5, 0.3, 4), 1.0)
    assert c**2 < 1 / 3 < c**1.5  # q of T = 4 and T = 3
    least = [(1 + q) / (1 - 3 * q) for q in (c**2.5, c**2)]
    assert least[0] < 5 < least[1]
    suppose(setting(fpfc(5, 0.3, 5)))
    for steps, name in ((4, "rho > L_f"), (3, "q = c")):
        with pytest.raises(Outside, match=name):
            suppose(setting(fpfc(5, 0.3, steps)))
    signs = set()
    for smoothness in np.linspace(0.05, 4.95, 50):  # C_1's first denominator changes its sign there
        one = setting(fpfc(5, 0.3, 8, curvature=smoothness), smoothness)
        signs.add(positive := one.least_augmentation < 5)
        assert (one.first_denominator > 0) is positive
    assert signs == {True, False}


def test_arbitrary_differences() -> None:
    """Lengths on every piece of the penalty, by the proximal map of the dense loops."""
    lam, a, xi, lengths = 1.5, 2.6, 0.5, np.array([0.0, 0.3, 0.375, 0.6, 2.2, 9.0])
    one = DenseFPFC(fpfc(9.0, xi, 1, strength=lam, concavity=a), scalar_clients([0.0]), np.zeros((1, 1)))
    gradients = [
        lam * t / xi if t <= xi else lam if t <= lam else max(0, a * lam - t) / (a - 1) for t in lengths
    ]
    moves = sum(2 * (t - one.unit_prox(t + v)) ** 2 for t, v in zip(lengths, gradients, strict=True))
    given = differences.Setting(lam, a, xi, 4, lengths)
    worst = (lam * xi / (lam + xi)) ** 2
    assert given.squared_mapping == pytest.approx(moves)
    assert given.bound == pytest.approx(16 * worst)
    assert_sides(repaired.repaired_mapping(given), moves, smoothing=12 * worst)
    for change, name in (
        ({"smoothing": lam}, "0 < xi < lambda"),
        ({"concavity": 2.0}, "a > 2"),
        ({"clients": 5}, "m .* lengths"),
        ({"lengths": -lengths}, "m .* lengths"),
    ):
        with pytest.raises(Outside, match=name):
            repaired.repaired_mapping(replace(given, **change))
    again = differences.read(differences.write(given))
    assert (again.strength, again.lengths.tolist()) == (lam, lengths.tolist())
