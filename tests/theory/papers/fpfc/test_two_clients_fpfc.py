"""A round of FPFC for two clients: the claim makes the round of the method, and its constants are attained."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clusterproof.methods.exact import exact_clients
from clusterproof.methods.pairs import fpfc
from clusterproof.theory.papers.fpfc.two_clients import round_of_two_clients


def square(vector: Any) -> Any:
    return vector @ vector


class Parabola:
    """The function curvature / 2 (x - centre)^2; called, it has a parabola of curvature ``added`` more, as phi has."""

    def __init__(self, curvature: Fraction, centre: Fraction, added: Fraction) -> None:
        self.curvature, self.centre, self.added = curvature, np.array([centre]), added

    def alone(self, x: Any) -> Any:
        return self.curvature * (x - self.centre)

    def value(self, x: Any) -> Any:
        return self.curvature / 2 * square(x - self.centre)

    def gradient(self, x: Any) -> Any:
        return self.alone(x) + self.added * x

    def __call__(self, x: Any) -> Any:
        return self.value(x) + self.added / 2 * square(x)

    def prox(self, x: Any, step: Any) -> Any:
        return (x + step * self.curvature * self.centre) / (1 + step * (self.curvature + self.added))


class Problem:
    """Two losses and a penalty, as the claim's function gets them, with models and theta."""

    def __init__(self, losses: tuple[Parabola, Parabola], penalty: Parabola, *points: Any) -> None:
        pair = type("Losses", (), {"parts": losses})
        self.parts = pair, penalty
        self.start, *self.others = points

    def point(self) -> Any:
        return self.others.pop(0)


def lagrangian(losses: Any, penalty: Any, rho: Any, models: Any, theta: Any, dual: Any) -> Any:
    """L_rho by its definition, with every ordered pair of different clients."""
    total = sum(loss.value(model) for loss, model in zip(losses, models, strict=True))
    for i, j in ((0, 1), (1, 0)):
        gap = models[i] - models[j] - theta[i][j]
        of_pair = penalty.value(theta[i][j]) + dual[i][j] @ gap + rho / 2 * square(gap)
        total += of_pair / 4
    return total


def by_the_method(
    losses: Any, penalty: Parabola, models: Any, theta: Any, rho: Any, step_size: Any, steps: int
) -> tuple[Any, Any, Any]:
    """L_rho before and after a round, and theta after it; the penalty is even."""
    zero = 0 * theta
    differences = [[zero, theta], [-theta, zero]]
    duals = [[penalty.alone(each) for each in row] for row in differences]
    before = lagrangian(losses, penalty, rho, models, differences, duals)
    after, differences, duals = fpfc(
        exact_clients([loss.alone for loss in losses], [steps] * 2),
        models,
        differences,
        duals,
        step_size=step_size,
        augmentation=rho,
        shrink=lambda delta: rho * delta / (rho + penalty.curvature),
        participants=range(2),
    )
    return before, lagrangian(losses, penalty, rho, after, differences, duals), differences[0][1]


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("curvature", [Fraction(-1), Fraction(-1, 3), Fraction(1)])
def test_the_claim_makes_the_round_of_the_method(curvature: Fraction, steps: int) -> None:
    smoothness, rho, length = Fraction(3), Fraction(5, 2), Fraction(2, 3)
    losses = Parabola(-smoothness, Fraction(1), smoothness), Parabola(Fraction(1), Fraction(-4), smoothness)
    penalty = Parabola(curvature, Fraction(0), Fraction(1))
    models, theta = [np.array([Fraction(7)]), np.array([Fraction(2, 5)])], np.array([Fraction(-3, 7)])
    sides = round_of_two_clients(
        smoothness=smoothness,
        augmentation=rho,
        length=length,
        f=Problem(losses, penalty, *models, theta),
        steps=steps,
    )
    step_size = length / (smoothness + rho)
    before, after, moved = by_the_method(losses, penalty, models, theta, rho, step_size, steps)
    assert sides.measured == after
    terms = dict(sides.terms)
    assert terms["before"] == before
    assert terms["pair"] == -(rho**2 - rho - 2) / (4 * rho) * square(moved - theta)
    couplings = (models[0] - models[1] - theta) * rho + penalty.alone(theta)
    m, n = losses[0].alone(models[0]) + couplings / 2, losses[1].alone(models[1]) - couplings / 2
    fall = (1 - (1 - length) ** (2 * steps)) / (2 * (smoothness + rho))
    assert terms["local_steps"] == -fall * (square(m) + square(n))
    assert after <= sum(terms.values())


@pytest.mark.parametrize(("rho", "rises"), [(Fraction(3), False), (Fraction(3, 2), True)])
def test_a_concave_penalty_attains_the_pairs_constant_and_lifts_l_below_twice_its_smoothness(
    rho: Fraction, rises: bool
) -> None:
    """Without losses, and with models at rest, only the pair moves, on a penalty of curvature -L_g."""
    theta = np.array([Fraction(2)])
    losses = (Parabola(Fraction(0), Fraction(0), Fraction(1)),) * 2
    penalty = Parabola(Fraction(-1), Fraction(0), Fraction(1))
    at_rest = [theta * (1 + 1 / rho) / 2, -theta * (1 + 1 / rho) / 2]
    before, after, moved = by_the_method(losses, penalty, at_rest, theta, rho, Fraction(1, 2) / rho, 2)
    assert before - after == (rho**2 - rho - 2) / (4 * rho) * square(moved - theta)
    assert (after > before) == rises
