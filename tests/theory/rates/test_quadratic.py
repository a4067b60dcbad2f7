"""Rates on quadratics: against the spectrum and against brute force over modes and rounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from leaderboard_settings import why_not
from tiers import examples

from clusterproof.common import InvalidArgument
from clusterproof.theory.rates import HeavyBallRate, heavy_ball_at, heavy_ball_rate, lyapunov_matrix
from clusterproof.theory.rates.outcome import ClaimsFile
from clusterproof.theory.rates.parameters import Parameters, root_above, round_up
from clusterproof.theory.rates.quadratics import constants

UNIT = st.integers(1, 40).map(lambda k: Fraction(k, 40))
MOMENTA = st.integers(0, 39).map(lambda k: Fraction(k, 40))


def quadratic(momentum: object, condition: object, proportion: object, step: object = 1) -> HeavyBallRate:
    found = heavy_ball_rate(momentum, condition, proportion, step, function_class="quadratic")
    assert isinstance(found, HeavyBallRate)
    return found


def with_number(file: ClaimsFile, name: str, number: Fraction) -> ClaimsFile:
    """The evidence beside a source with another value of a constant."""
    lines = file.source.splitlines(keepends=True)
    (place,) = (n for n, line in enumerate(lines) if line.startswith(f"{name} = "))
    lines[place] = f"{name} = {number!r}\n"
    return ClaimsFile("".join(lines), file.evidence)


def spectral_radius(curvature: float, momentum: float) -> float:
    companion = np.array([[1 + momentum - curvature, -momentum], [1.0, 0.0]])
    return float(np.abs(np.linalg.eigvals(companion)).max())


def responses(curvatures: np.ndarray, momentum: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """|e_t| from rest and after an impulse, by the plain recursion."""
    runs = []
    for before in (1.0, 0.0):
        now, last = np.ones_like(curvatures), np.full_like(curvatures, before)
        history = [now]
        for _ in range(rounds):
            now, last = now - curvatures * now + momentum * (now - last), now
            history.append(now)
        runs.append(np.abs(history))
    return runs[0], runs[1]


@pytest.mark.slow(reason="a second or more")
@given(momentum=MOMENTA, condition=st.integers(1, 60), proportion=UNIT, step=st.integers(1, 12))
@settings(max_examples=examples(30))
def test_rate_is_the_spectral_radius_and_the_constants_hold_at_every_round_and_mode(
    momentum: Fraction, condition: int, proportion: Fraction, step: int
) -> None:
    largest = float(proportion * step / 4)
    assume(largest < 2 * (1 + momentum))
    found = quadratic(momentum, condition, proportion, Fraction(step, 4))
    assert not why_not(found.claims_file)
    assert found.disturbance is not None
    curvatures = np.linspace(largest / condition, largest, 301)
    radius = max(spectral_radius(a, float(momentum)) for a in (curvatures[0], curvatures[-1]))
    # eigenvalues of a defective matrix are known to the root of the rounding error
    assert -5e-8 <= float(found.rate) - radius <= 1.1e-6
    rounds = int(min(400, 8 / (1 - float(found.rate))))
    weights = float(found.rate) ** np.arange(rounds + 1)[:, None]
    start, impulse = responses(curvatures, float(momentum), rounds)
    assert (start <= float(found.prefactor) * weights + 1e-12).all()
    assert (impulse <= float(found.disturbance) * weights + 1e-12).all()


@pytest.mark.parametrize(
    ("momentum", "condition", "proportion", "rate", "prefactor"),
    [
        # one double-rooted mode apart, the constants are known exactly
        (0, 4, 1, Fraction(3, 4), 1.0),  # gradient descent
        ("0.25", 1, 1, Fraction(1, 2), (16 / 15) ** 0.5),  # A = beta: W = e^2 - e e' / 4 + e'^2 / 4
    ],
)
def test_constants_where_they_are_known(
    momentum: object, condition: int, proportion: object, rate: Fraction, prefactor: float
) -> None:
    found = quadratic(momentum, condition, proportion)
    assert found.rate == rate
    assert float(found.prefactor) == pytest.approx(prefactor, rel=1e-8)


def test_constants_of_real_roots_are_near_what_the_run_has() -> None:
    """A quadratic form of two squares is at most twice as large as the larger of both."""
    found = quadratic("0.3", 10, "0.5")
    start, impulse = responses(np.array([0.05]), 0.3, 300)
    scale = float(found.rate) ** 300
    assert found.disturbance is not None
    assert 1 - 1e-6 <= float(found.prefactor) / (start[-1, 0] / scale) < 2**0.5
    assert 1 - 1e-6 <= float(found.disturbance) / (impulse[-1, 0] / scale) < 2


@pytest.mark.slow(reason="a second or more")
@given(momentum=MOMENTA, condition=st.integers(1, 60), proportion=UNIT)
@settings(max_examples=examples(8))
def test_smaller_numbers_are_refused(momentum: Fraction, condition: int, proportion: Fraction) -> None:
    found = quadratic(momentum, condition, proportion)
    assert found.disturbance is not None
    lower = {
        "RATE": found.rate - Fraction(12, 10**7),
        "PREFACTOR": found.prefactor * Fraction(999_999, 10**6) - Fraction(2, 10**9),
        "DISTURBANCE": found.disturbance * Fraction(999_999, 10**6) - Fraction(2, 10**9),
    }
    file = found.claims_file
    for name, number in lower.items():
        assert why_not(with_number(file, name, number)), name
    assert not why_not(with_number(file, "PREFACTOR", found.prefactor + 1))


@pytest.mark.parametrize(("momentum", "step"), [(0, 2), ("0.5", 3), ("0.9", "3.8"), (0, "2.5")])
def test_steps_that_diverge_have_no_rate(momentum: object, step: object) -> None:
    for function_class in ("quadratic", "smooth"):
        found = heavy_ball_rate(momentum, 4, 1, step, function_class=function_class)
        assert not isinstance(found, HeavyBallRate)
        assert not found
        assert "does not converge" in found.reason


@pytest.mark.slow(reason="a second or more")
@given(momentum=st.floats(0.0, 0.95), curvature=st.floats(0.01, 1.5), excess=st.floats(0.01, 0.3))
def test_lyapunov_matrix_is_the_sum_of_the_series(momentum: float, curvature: float, excess: float) -> None:
    rate = spectral_radius(curvature, momentum) + excess
    companion = np.array([[1 + momentum - curvature, -momentum], [1.0, 0.0]]) / rate
    expected, power = np.zeros((2, 2)), np.eye(2)
    for _ in range(4000):
        expected += np.outer(power[0], power[0])
        power = companion @ power
    np.testing.assert_allclose(lyapunov_matrix(curvature, momentum, rate), expected, rtol=1e-6, atol=1e-9)


def test_lyapunov_matrix_needs_a_rate_above_the_spectral_radius() -> None:
    with pytest.raises(InvalidArgument, match=r"rate is 0.5, but it must be .* greater than 0.7"):
        lyapunov_matrix(0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("momentum", 1),
        ("momentum", -0.1),
        ("momentum", "nan"),
        ("momentum", float("inf")),
        ("momentum", "1e999"),
        ("momentum", None),
        ("momentum", True),
        ("condition_number", "1/2"),
        ("condition_number", "1/0"),
        ("condition_number", 10**40),
        ("proportion", 0),
        ("proportion", 1.5),
        ("proportion", "0." + "3" * 100),
        ("step_size", 0),
        ("step_size", "one"),
        ("function_class", "convex"),
    ],
)
def test_bad_parameters_are_named(argument: str, value: object) -> None:
    arguments = {"momentum": 0.5, "condition_number": 4, "proportion": 0.5, "function_class": "quadratic"}
    with pytest.raises(InvalidArgument) as caught:
        heavy_ball_rate(**(arguments | {argument: value}))
    assert caught.value.argument == {"function_class": "class"}.get(argument, argument)


@pytest.mark.parametrize("root", [2, 10, 100])
def test_the_best_chosen_rate_is_near_the_envelope_of_critical_damping(root: int) -> None:
    q = 1 - Fraction(1, root)  # kappa = root^2 and the tuned momentum q^2
    parameters = Parameters(
        momentum=q**2, condition_number=Fraction(root**2), proportion=Fraction(1), step_size=Fraction(1)
    )
    rates = [q + Fraction(share, 200) * (1 - q) for share in range(1, 200)]
    found = [(rate, constants(parameters, rate)) for rate in rates]
    chosen = [(float(rate), float(each[0][0]) ** 0.5) for rate, each in found if each is not None]
    for rounds in (root, 3 * root, 10 * root, 30 * root):
        envelope = float(q) ** rounds * (1 + rounds / root)
        ratio = min(prefactor * rate**rounds for rate, prefactor in chosen) / envelope
        assert 1 <= ratio < 1.37 * 2**0.5  # the parts of a mode add up; a quadratic form adds their squares


def test_where_all_losses_are_one_quadratic_any_rate_above_the_attained_one_is_proved() -> None:
    for rate, proved in ((Fraction(4, 5), True), (Fraction(7, 10), False)):  # sqrt(1/2) is attained
        found = heavy_ball_at(rate, Fraction(1, 2), 1, Fraction(1, 3))
        assert (found is not None) == proved
        assert found is None or not why_not(found.claims_file)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        ("1/4", "1/2"),
        ("2", "71/50"),
        ("0", "0"),
        ("0.0025", "1/20"),
        ("0.00250001", "3/50"),
        ("1/9", "17/50"),
    ],
)
def test_roots_and_numbers_are_rounded_up_to_the_next_hundredth(value: str, rounded: str) -> None:
    assert root_above(Fraction(value), 2) == Fraction(rounded)
    assert round_up(Fraction(rounded), 2) == Fraction(rounded)
    assert round_up(Fraction(rounded) + Fraction(1, 10**9), 2) == Fraction(rounded) + Fraction(1, 100)


def test_a_step_size_of_one_is_the_default() -> None:
    for function_class in ("smooth", "quadratic"):
        default = heavy_ball_rate("0.3", 4, "1/2", function_class=function_class)
        assert default == heavy_ball_rate("0.3", 4, "1/2", step_size=1, function_class=function_class)
