"""Both sides of SCAFFOLD's printed theorems on two clients, by plain loops."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sides_by_hand import assert_sides, compare, sides_at

from clusterproof.theory.papers.scaffold.printed_rates import TwoClients


@pytest.mark.parametrize(("steep", "meant"), [(4, ()), (0.375, ("theorem-4", "theorem-4-meant"))])
def test_rounds_of_scaffold_by_the_printed_theorems(steep: float, meant: tuple[str, ...]) -> None:
    """Curvatures 3/8 and 4 or 3/8, gradients +-4 at 0, from 1/2; epsilon = 1/1024, K = 4 and S = N."""
    numbers = {"smoothness": 4.0, "strong_convexity": 0.375, "gradient": 4.0, "distance": 0.5}
    numbers |= {"accuracy": 1 / 1024, "local_steps": 4, "steep": steep == 4}
    a, g = np.array([3 / 8, steep]), np.array([4, -4])

    def needed(eta: float, radius: float) -> int:
        x, control, count = 0.5, np.zeros(2), 0
        while abs(x) > radius:
            y = np.full(2, x)
            for _ in range(4):
                y = y - eta * (a * y + g - control)
            control = control - control.mean() + (x - y) / (4 * eta) - (x - y.mean()) / (4 * eta)
            x, count = y.mean(), count + 1
        return count

    third = needed(1 / 16, np.sqrt(2 / 1024 / a.mean()))
    bound = {"start": 4 * 0.5**2 * 1024, "participants": a.mean() * 0.5**2 / 2}
    compare("scaffold/theorem-3-convex", numbers, third, **bound)
    compare("scaffold/theorem-3", numbers, third, rate=4 / 0.375, participants=1)
    for claim in meant:
        compare(f"scaffold/{claim}", numbers, needed(1 / 4, np.sqrt(1 / 1024) / 0.375), rate=4 / (0.375 * 4))


@settings(max_examples=20)
@example(curvature=1, gradient=8, distance=4, steps=4, radius=0.0596)
@given(
    curvature=st.integers(1, 8),
    gradient=st.integers(1, 8),
    distance=st.integers(1, 4),
    steps=st.sampled_from([2, 4, 8]),
    radius=st.floats(0.03, 0.4),
)
def test_rounds_of_fedavg_until_a_ball_are_those_of_plain_loops(
    curvature: int, gradient: int, distance: int, steps: int, radius: float
) -> None:
    """At the best step; a round that jumps past the ball has not arrived."""
    mu, g = curvature / 8, gradient / 4
    clients = TwoClients(
        smoothness=Fraction(1),
        strong_convexity=Fraction(curvature, 8),
        gradient=Fraction(gradient, 4),
        distance=Fraction(distance, 2),
        accuracy=Fraction(1, 1000),
        local_steps=steps,
        steep=True,
    )
    best = math.inf
    for j in range(40):
        eta, x, rounds = 2.0**-j / steps, distance / 2, 0
        while abs(x) > radius * (1 + 1e-12) and x > -radius and rounds < min(best, 5000):
            y, z = x, x
            for _ in range(steps):
                y, z = y - eta * (mu * y + g), z - eta * (z - g)
            x, rounds = (y + z) / 2, rounds + 1
        if abs(x) <= radius * (1 + 1e-12):
            best = min(best, rounds)
    assert clients.fedavg_rounds(radius) == best


@pytest.mark.parametrize("steep", [True, False])
def test_rounds_of_fedavg_by_the_printed_theorem_1(steep: bool) -> None:
    """beta = 4, curvatures 3/8 and 4 or 3/8, gradients +-5/4 at 0, from 3/2; epsilon = 1/1000 and K = 4."""
    numbers: Any = {"smoothness": Fraction(4), "strong_convexity": Fraction(3, 8), "gradient": Fraction(5, 4)}
    rest: Any = {"distance": Fraction(3, 2), "accuracy": Fraction(1, 1000), "local_steps": 4, "steep": steep}
    clients = TwoClients(**numbers, **rest)
    a, g = np.array([3 / 8, 4 if steep else 3 / 8]), np.array([5 / 4, -5 / 4])
    # (A1), the least G and B with mean |a_i x + g_i|^2 <= G^2 + B^2 |grad f|^2 on all x
    b2 = (a**2).mean() / a.mean() ** 2 * 2
    x = np.linspace(-50, 50, 200_001)[:, None]
    g2 = (((a * x + g) ** 2).mean(axis=1) - b2 * (a.mean() * x[:, 0]) ** 2).max()
    start = b2 * 4 / 0.001
    for claim, radius, size in (
        ("convex", np.sqrt(0.002 / a.mean()), 1.5**2),
        ("nonconvex", np.sqrt(0.001) / a.mean(), a.mean() * 1.5**2 / 2),
    ):
        found = sides_at(f"scaffold/theorem-1-{claim}", numbers | rest)
        assert found.measured == clients.fedavg_rounds(float(radius))
        assert found.terms["start"] == pytest.approx(start * size)
        assert found.terms["drift"] == pytest.approx(np.sqrt(4 * g2) / 0.001**1.5, rel=1e-6)


def test_the_printed_theorem_2_and_the_ideal_update() -> None:
    """The best of 4000 steps of two local steps on curvatures 3/4 and 15/2, gradients +-5/4, from -G / mu."""
    a, g, errors = np.array([3 / 4, 15 / 2]), np.array([5 / 4, -5 / 4]), []
    for k in range(4000):
        eta, y, x = 10.0 ** (-7 + 7 * k / 4000) * 2 / 7.5, np.zeros(2), -5 / 3
        shrunk = (1 - eta * a) ** 2
        y = -g / a * (1 - shrunk)
        for _ in range(12):
            x = (shrunk * x + y).mean()
        errors.append(a.mean() / 2 * x**2)
    numbers = {"strong_convexity": 0.75, "gradient": 1.25, "condition_number": 10, "rounds": 12}
    compare("scaffold/theorem-2", numbers, min(errors), bound=1.25**2 / (0.75 * 12**2))
    sides = sides_at("scaffold/equation-6", {"gradient": 1.5, "step_size": 0.75})
    assert_sides(sides, [(-1.125, 1.5)])


@pytest.mark.parametrize("steps", [3, 7])
def test_the_radius_of_a_round_of_scaffold_option_1(steps: int) -> None:
    """Curvatures 1 and 1/10 and eta = 3/4, x* = 0."""
    a, eta, states = np.array([1, 0.1]), 0.75, np.eye(3)
    matrix = []
    for x, *c in states:
        y = np.full(2, x)
        for _ in range(steps):
            y = y - eta * (a * y - np.array(c) + np.mean(c))
        matrix.append([y.mean(), *(a * x)])
    radius = float(np.abs(np.linalg.eigvals(np.array(matrix))).max())
    compare(
        "scaffold/option-1-diverges",
        {"flat": Fraction(1, 10), "pace": 0.75, "local_steps": steps},
        radius,
        one=1,
    )
