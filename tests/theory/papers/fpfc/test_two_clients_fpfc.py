"""FPFC with two clients: the claims make the rounds of the method, and the pair's constant is attained."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clusterproof.methods.exact import exact_clients
from clusterproof.methods.pairs import fpfc
from clusterproof.theory.papers.fpfc.rounds_every_loss import all_rounds, duals_of_all_rounds, one_round

LIPSCHITZ, LENGTH = Fraction(2, 3), Fraction(2, 5)
RHO = 1 + LIPSCHITZ
SMOOTHNESS = 3 + RHO
CENTRE = np.array([Fraction(4, 3)])


def square(vector: Any) -> Any:
    return vector @ vector


class Parabola:
    """The function curvature / 2 (x - place)^2."""

    def __init__(self, curvature: Fraction | int, place: Fraction | int) -> None:
        self.curvature, self.place = Fraction(curvature), np.array([Fraction(place)])

    def gradient(self, x: Any) -> Any:
        return self.curvature * (x - self.place)

    def __call__(self, x: Any) -> Any:
        return self.curvature / 2 * square(x - self.place)


class Convex:
    """The function f(x - moved) + added / 2 (x - CENTRE)^2."""

    def __init__(self, f: Parabola, added: Fraction, moved: Any) -> None:
        self.f, self.added, self.moved = f, added, moved

    def gradient(self, x: Any) -> Any:
        return self.f.gradient(x - self.moved) + self.added * (x - CENTRE)

    def __call__(self, x: Any) -> Any:
        return self.f(x - self.moved) + self.added / 2 * square(x - CENTRE)

    def prox(self, x: Any, step: int) -> Any:
        curvatures = self.f.curvature, self.added
        pulled = curvatures[0] * (self.f.place + self.moved) + curvatures[1] * CENTRE
        return (x + step * pulled) / (1 + step * sum(curvatures))


class Problem:
    """What the claims' functions get, for losses and an even penalty, with a start and theta."""

    def __init__(self, losses: Any, penalty: Parabola, models: Any, theta: Any) -> None:
        own = [Convex(loss, SMOOTHNESS - RHO, 0) for loss in losses]
        self.parts = type("Losses", (), {"parts": own}), Convex(penalty, LIPSCHITZ, CENTRE)
        self.minimiser, self.start = CENTRE, models[0]
        self.others = [models[1], CENTRE + penalty.gradient(theta) + RHO * theta]

    def point(self) -> Any:
        return self.others.pop(0)


class Run:
    """States of FPFC after each round, by the method, with L_rho and the gradients of L_0 by their definitions."""

    def __init__(self, losses: Any, penalty: Parabola, models: Any, theta: Any, rho: Any = RHO) -> None:
        self.losses, self.penalty, self.rho, self.models = losses, penalty, rho, models
        self.theta = [[0 * theta, theta], [-theta, 0 * theta]]
        self.dual = [[penalty.gradient(each) for each in row] for row in self.theta]

    def step(self, step_size: Any, steps: int) -> None:
        self.models, self.theta, self.dual = fpfc(
            exact_clients([loss.gradient for loss in self.losses], [steps] * 2),
            self.models,
            self.theta,
            self.dual,
            step_size=step_size,
            augmentation=self.rho,
            shrink=lambda delta: self.rho * delta / (self.rho + self.penalty.curvature),
            participants=range(2),
        )

    def gap(self, i: int, j: int) -> Any:
        return self.models[i] - self.models[j] - self.theta[i][j]

    @property
    def lagrangian(self) -> Any:
        total = sum(loss(model) for loss, model in zip(self.losses, self.models, strict=True))
        for i, j in ((0, 1), (1, 0)):
            gap = self.gap(i, j)
            of_pair = self.penalty(self.theta[i][j]) + self.dual[i][j] @ gap + self.rho / 2 * square(gap)
            total += of_pair / 4
        return total

    def slopes(self, rho: Any) -> list[Any]:
        """grad_w of L_rho, or of L_0 if rho is 0."""
        return [
            self.losses[i].gradient(self.models[i]) + (self.dual[i][j] + rho * self.gap(i, j)) / 2
            for i, j in ((0, 1), (1, 0))
        ]


def objective(losses: Any, penalty: Parabola, models: Any) -> Any:
    first, second = models
    return losses[0](first) + losses[1](second) + penalty(first - second) / 2


def setting(curvature: Fraction | int) -> tuple[Any, ...]:
    losses = Parabola(-3, 1), Parabola(1, -4)
    models, theta = [np.array([Fraction(7)]), np.array([Fraction(2, 5)])], np.array([Fraction(-3, 7)])
    return losses, Parabola(curvature, 0), models, theta


NAMED = {"lipschitz": LIPSCHITZ, "smoothness": SMOOTHNESS, "length": LENGTH}
CURVATURES = [-LIPSCHITZ, Fraction(-1, 3), LIPSCHITZ]


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("curvature", CURVATURES)
def test_one_round_is_the_methods(curvature: Fraction, steps: int) -> None:
    made = setting(curvature)
    run = Run(*made)
    sides, theta = one_round(f=Problem(*made), steps=steps, **NAMED), run.theta[0][1]
    before, slopes = run.lagrangian, run.slopes(RHO)
    run.step(LENGTH / SMOOTHNESS, steps)
    assert sides.measured == run.lagrangian
    fall = (1 - (1 - LENGTH) ** (2 * steps)) / (2 * SMOOTHNESS)
    den = RHO**2 - LIPSCHITZ * RHO - 2 * LIPSCHITZ**2
    assert dict(sides.terms) == {
        "before": before,
        "local_steps": -fall * sum(map(square, slopes)),
        "pair": -den / (4 * RHO) * square(run.theta[0][1] - theta),
    }
    assert sides.measured <= sum(sides.terms.values())


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("curvature", CURVATURES)
def test_all_rounds_are_the_methods(curvature: Fraction, rounds: int) -> None:
    """A and B are those of the repaired theorem, with m = 2 and p = P = 1."""
    made, steps = setting(curvature), 2
    losses, penalty, *_ = made
    run = Run(*made)
    first, sums = run.lagrangian, [Fraction(0), Fraction(0)]
    for _ in range(rounds):
        run.step(LENGTH / SMOOTHNESS, steps)
        sums[0] += sum(map(square, run.slopes(0)))
        sums[1] += sum(square(run.gap(i, j) / 4) for i, j in ((0, 1), (1, 0)))
    fall = (1 - (1 - LENGTH) ** (2 * steps)) / (2 * SMOOTHNESS)
    den = RHO**2 - LIPSCHITZ * RHO - 2 * LIPSCHITZ**2
    models = all_rounds(f=Problem(*made), steps=steps, rounds=rounds, fall=fall, **NAMED)
    further = [w - slope / SMOOTHNESS for w, slope in zip(run.models, run.slopes(RHO), strict=True)]
    height = first - objective(losses, penalty, further)
    assert models.measured * (1 / fall + 2 * RHO * LIPSCHITZ**2 / den) == sums[0]
    assert sum(models.terms.values()) == height
    assert models.measured <= height
    duals = duals_of_all_rounds(f=Problem(*made), steps=steps, rounds=rounds, **NAMED)
    height = first - objective(losses, penalty, run.models)
    assert duals.measured == sums[1]
    assert sum(duals.terms.values()) == LIPSCHITZ**2 / (2 * RHO * den) * height
    assert duals.measured <= sum(duals.terms.values())


@pytest.mark.parametrize(("lipschitz", "rises"), [(LIPSCHITZ, False), (Fraction(2), True)])
def test_a_concave_penalty_attains_the_pairs_constant_and_lifts_l_below_twice_its_smoothness(
    lipschitz: Fraction, rises: bool
) -> None:
    """Without losses, and with models at rest, only the pair moves, on a penalty of curvature -L_g."""
    rho, theta = 1 + lipschitz, np.array([Fraction(2)])
    at_rest = [theta * (1 + lipschitz / rho) / 2, -theta * (1 + lipschitz / rho) / 2]
    run = Run((Parabola(0, 0),) * 2, Parabola(-lipschitz, 0), at_rest, theta, rho)
    before = run.lagrangian
    run.step(Fraction(1, 2) / rho, 2)
    den = rho**2 - lipschitz * rho - 2 * lipschitz**2
    assert before - run.lagrangian == den / (4 * rho) * square(run.theta[0][1] - theta)
    assert (run.lagrangian > before) == rises
