"""The closed forms of momentum on quadratics, against matrix powers and dense grids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.theory.exact.heavy_ball import (
    impulse_energy,
    propagators,
    spectral_rate,
    start_envelope,
)

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
