"""FPFC's constants: admissible settings, local steps; and FPFC by hand: moments, losses, runs, expectations."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.special
from tolerance import assert_close

from clusterproof.algorithms import FPFC
from clusterproof.checker.claims import Outside
from clusterproof.checker.claims.judge import judge
from clusterproof.common import Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc import fusion as window
from clusterproof.theory.papers.fpfc import repaired
from clusterproof.theory.papers.fpfc.one_term import LARGEST, HuberSum, one_term_waiting, pair_form
from clusterproof.theory.papers.fpfc.simplex import SLOPE, SMOOTHING, Simplex
from clusterproof.theory.papers.fpfc.theorem_1 import Constants

LEAST = 1e-3  # L_- of convex losses


def fpfc(rho: float, xi: float, steps: int, *, curvature: float = 1.0, **options: Any) -> FPFC:
    """The printed theorem's longest step."""
    given: dict[str, Any] = {
        "strength": 0.6,
        "threshold": 0.5,
        "step_size": 1 / (curvature + 2 * rho - LEAST),
    }
    return FPFC(**given | {"augmentation": rho, "smoothing": xi, "local_steps": steps} | options)


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


def test_the_hypotheses_under_which_the_first_constant_is_positive_bind() -> None:
    suppose = repaired.suppose_positive
    mu, smooth = 5 - LEAST, 6
    c = 1 - 2 / (11 - LEAST) * mu * smooth / (smooth + mu)
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
        assert (one.first_denominator_of(one.inexactness) > 0) is positive
    assert signs == {True, False}


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


Plant = Callable[..., Any]


def test_a_mean_over_random_participants_is_no_exact_number() -> None:
    """A mean of 1.1 from 12 runs does not refute an expectation of at most 1; without randomness it does."""
    setting, _ = repaired.opposed(1.0)

    def broken(participation: float, means: np.ndarray) -> bool:
        algorithm = replace(setting.algorithm, participation=participation)
        conclusion = repaired.expected(replace(setting, algorithm=algorithm), means, first=0.75, second=0.25)
        return judge({"": conclusion}, 1e-9)[""].broken

    assert broken(1.0, np.full(12, 1.1))
    assert not broken(0.3, np.linspace(0.9, 1.3, 12))
    assert broken(0.3, 100 * np.linspace(0.9, 1.3, 12))


@pytest.mark.slow(reason="two long runs")
def test_the_algorithm_returns_the_oracle_inside_the_window_and_not_outside() -> None:
    task = QuadraticMixture.random(clusters=3, clients=12, dimension=3, separation=6, spread=0.05, seed=3)
    least, largest = window.window(task, 3.7)
    assert least < 0.8 * largest
    distances = {}
    for strength in (0.2 * least, 0.5 * (least + largest), 3 * largest):
        algorithm = FPFC(step_size=0.3, strength=strength, smoothing=1e-4 * strength, start="own")
        state = algorithm.initialise(task.centers, task)
        for _ in range(600):
            state = algorithm.step(state, task, Randomness.from_seed(0))
        distances[strength] = np.abs(np.asarray(state.models) - task.client_optima).max()
    below, inside, _ = distances.values()
    assert inside < 1e-3
    assert below > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_the_values_of_huber_losses_are_scipys(seed: int) -> None:
    stream = np.random.default_rng(seed)
    loss = HuberSum(stream.standard_normal((6, 2)), stream.standard_normal(6), (0.3, 1.7, 0.05)[seed])
    for point in 2 * stream.standard_normal((5, 2)):
        away = loss.features @ point - loss.targets
        assert loss.value(point) == pytest.approx(scipy.special.huber(loss.width, away).sum())


@pytest.mark.parametrize(("clients", "rounds"), [(3, 4), (4, 3), (5, 2)])
@pytest.mark.parametrize(("ratio", "share"), [(2.001, 0.1), (3.0, 1.0)])
def test_expectations_are_means_over_all_orders_of_participants(clients, rounds, ratio, share):
    one = Simplex(clients, ratio, share)
    algorithm, task, stream = one.setting.algorithm, one.task, np.random.default_rng(0)
    start = algorithm.initialise(np.zeros((1, clients)), task)
    total = 0.0
    for order in product(range(clients), repeat=rounds):
        state = start
        for client in order:
            before = np.asarray(state.models)[client]
            anchor = np.asarray(algorithm.anchors(state, np.array([client])))[0]
            pull = one.curvature * (before - task.centers[client]) + algorithm.augmentation * (
                before - anchor
            )
            state = algorithm.update(state, np.array([client]), (before - algorithm.step_size * pull)[None])
            total += float(algorithm.residuals(state, task, stream).models) ** 2
    assert_close(one.mean_squared_gradients(rounds), total / clients**rounds)


def test_the_form_of_a_pair_is_what_its_updates_are_worth():
    """The form against its definition, for random moves and derivatives of the penalty's gradient."""
    stream = np.random.default_rng(2)
    for size in (1, 2, 4):
        derivatives, moves, later = LARGEST * stream.uniform(-1, 1, size), *stream.standard_normal((2, size))
        doubled = float(stream.uniform(1, 2))
        dual, worth, last = derivatives * moves, 0.0, 0.0
        for x, u, s, d in zip(moves, dual, derivatives, later, strict=True):
            worth += x**2 / 2 + s * x**2 / 2 - u**2 - doubled * (2 - doubled) * u**2 + d**2 / 8
            worth -= doubled * last * (x + u - last - d)
            last = u
        point = np.concatenate([moves, later])
        assert_close(point @ pair_form(derivatives, doubled) @ point, worth)


def test_without_the_term_of_the_pairs_the_bound_is_two_starts_over_the_steps():
    clients, ratio, share = 8, 3.0, 0.1
    one = Simplex(clients, ratio, share)
    start = (clients - 1) * SLOPE * SMOOTHING**2 / 4
    step_size = share / (ratio * SLOPE + one.curvature)
    sides = one_term_waiting(clients, ratio, share)
    assert_close(sides.allowed, 2 * start / (step_size / clients * (2 - share) * one.rounds))
    assert_close(sides.measured, one.mean_squared_gradients(one.rounds) / one.rounds)
