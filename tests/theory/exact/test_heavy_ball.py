"""Closed forms of momentum on quadratics, against matrix powers; gradients at one point, against interpolation."""

from dataclasses import dataclass
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.theory.exact.heavy_ball import (
    impulse_energy,
    propagators,
    spectral_rate,
    start_envelope,
)
from clusterproof.theory.exact.one_point import gap, gradient_square, square_after
from clusterproof.theory.exact.random_tasks import random_mixture

curvatures = st.floats(1e-3, 1.0)
momenta = st.floats(0.0, 0.98)


def companion(curvature: float, momentum: float) -> np.ndarray:
    return np.array([[1 + momentum - curvature, -momentum], [1.0, 0.0]])


@given(curvature=curvatures, momentum=momenta, rounds=st.integers(0, 60))
def test_propagators_are_powers_of_the_companion_matrix(
    curvature: float, momentum: float, rounds: int
) -> None:
    start, impulse = propagators(curvature, momentum, rounds)
    power = np.linalg.matrix_power(companion(curvature, momentum), rounds)
    np.testing.assert_allclose(start[-1], (power @ [1.0, 1.0])[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(impulse[-1], (power @ [1.0, 0.0])[0], rtol=1e-9, atol=1e-12)


@given(curvature=st.floats(-0.5, 3.5), momentum=momenta)
def test_spectral_rate_is_the_spectral_radius(curvature: float, momentum: float) -> None:
    radius = np.abs(np.linalg.eigvals(companion(curvature, momentum))).max()
    # a double eigenvalue is resolved to the root of the rounding error only
    assert spectral_rate(curvature, momentum) == pytest.approx(radius, abs=1e-7)


@given(smallest=curvatures, share=st.floats(0.0, 1.0), momentum=momenta)
def test_the_envelope_bounds_every_curvature_between(smallest: float, share: float, momentum: float) -> None:
    largest = smallest + share * (1 - smallest)
    grid = np.linspace(smallest, largest, 200)
    start, _ = propagators(grid, momentum, 80)
    assert (
        np.abs(start).max(axis=1) <= start_envelope(smallest, largest, momentum, 80) * (1 + 1e-9) + 1e-13
    ).all()


@given(curvature=curvatures, momentum=st.floats(0.01, 0.98), ulps=st.integers(-4, 4))
def test_rounding_of_a_curvature_moves_the_envelope_by_rounding_only(
    curvature: float, momentum: float, ulps: int
) -> None:
    for kink in (curvature, (1 - momentum**0.5) ** 2, 1 - momentum):
        if not 1e-3 <= kink * (1 + 1e-15) <= 1:
            continue
        perturbed = kink + ulps * np.spacing(kink)
        moved, still = (start_envelope(a, a, momentum, 15) for a in (perturbed, kink))
        np.testing.assert_allclose(moved, still, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("smallest", "momentum"), [(0.05, 0.0), (0.05, 0.3), (0.01, 0.5), (0.002, 0.81)])
def test_the_envelope_is_attained_where_overdamped(smallest: float, momentum: float) -> None:
    start, _ = propagators(smallest, momentum, 100)
    assert (start_envelope(smallest, 0.2, momentum, 100) >= start * (1 - 1e-12)).all()
    assert start_envelope(smallest, smallest, momentum, 100) == pytest.approx(start, rel=1e-12)


@pytest.mark.slow(reason="a second or more")
@given(curvature=st.floats(0.02, 1.0), momentum=st.floats(0.0, 0.9))
def test_impulse_energy_is_the_sum_of_squares(curvature: float, momentum: float) -> None:
    _, impulse = propagators(curvature, momentum, 4000)
    assert impulse_energy(curvature, momentum) == pytest.approx((impulse**2).sum(), rel=1e-9)


@dataclass(frozen=True)
class Plane:
    """A vector of the plane."""

    x: F
    y: F

    def __sub__(self, other: "Plane") -> "Plane":
        return Plane(self.x - other.x, self.y - other.y)

    def __mul__(self, factor: F) -> "Plane":
        return Plane(factor * self.x, factor * self.y)

    def __matmul__(self, other: "Plane") -> F:
        return self.x * other.x + self.y * other.y


def slacks(kappa: F, gradient: Plane, value: F) -> list[F]:
    """The conditions between the point (1, 0) and the minimiser 0, where the value is 0, both ways."""
    point: Any = (Plane(F(1), F(0)), gradient, value)
    minimiser: Any = (Plane(F(0), F(0)), Plane(F(0), F(0)), F(0))
    of_class = FunctionClass(smoothness=kappa, strong_convexity=F(1))
    pairs = ((point, minimiser), (minimiser, point))
    return [slack for one, other in pairs for slack in of_class.of_two(one, other)]


@pytest.mark.parametrize("kappa", [F(3, 2), F(7)])
def test_the_shares_are_all_gradients_and_values_of_the_class(kappa: F) -> None:
    # along (1 - along) is a square, so that the gradient has rational coordinates
    for along, root, bent_root in product((F(1, 5), F(9, 10), F(1, 2)), (1, -1), (F(0), F(3, 5), F(1))):
        half = {F(1, 5): F(2, 5), F(9, 10): F(3, 10), F(1, 2): F(1, 2)}[along]
        bent, z = bent_root**2, Plane(along, root * bent_root * half)
        gradient = Plane(F(1), F(0)) - z * (1 - kappa)
        assert gradient_square(kappa, along, bent) == gradient @ gradient
        step = Plane(F(1), F(0)) - gradient * F(2, 7)
        assert square_after(F(2, 7), kappa, along, bent) == step @ step
        low, high = (gap(kappa, along, bent, raised) for raised in (F(0), F(1)))
        assert slacks(kappa, gradient, low)[0] == slacks(kappa, gradient, high)[1] == 0
        assert min(slacks(kappa, gradient, (low + high) / 2)) >= 0
        for value in (low - F(1, 100), high + F(1, 100)):
            assert min(slacks(kappa, gradient, value)) < 0
        assert (low == high) == (bent == 1)  # no larger share, and none of a gradient that is more along
    for along in (F(-1, 50), F(51, 50)):
        steep = Plane(1 + (kappa - 1) * along, F(0))
        assert all(min(slacks(kappa, steep, F(n, 50) * kappa)) < 0 for n in range(101))


@pytest.mark.parametrize("seed", range(6))
def test_the_expected_losses_of_drawn_tasks_have_shares(seed: int) -> None:
    stream = np.random.default_rng(seed)
    task = random_mixture(stream)
    mu, kappa = task.strong_convexity, task.condition_number
    for p, optimum in enumerate(task.optima):
        for d in stream.standard_normal((5, len(optimum))):
            gradient = np.asarray(task.expected_gradient((optimum + d)[None], p))[0]
            value = float(task.expected_loss((optimum + d)[None], p)[0] - task.expected_loss(optimum, p))
            square = d @ d
            if kappa < 1 + 1e-9:
                np.testing.assert_allclose((gradient, 2 * value), (mu * d, mu * square), rtol=1e-6)
                continue
            z = (gradient / mu - d) / (kappa - 1)
            along, length = z @ d / square, z @ z / square
            assert -1e-9 <= along**2 <= length + 1e-9 <= along + 2e-9
            bent = (length - along**2) / max(along - along**2, 1e-12)
            low, high = (mu * square * gap(kappa, along, bent, raised) for raised in (0, 1))
            assert low - 1e-7 * square <= value <= high + 1e-7 * square
