"""Rates on smooth strongly convex functions: the grid, known rates, true functions, exact algebra."""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
from leaderboard_settings import why_not
from tiers import slow_after

from clusterproof.checker.search.semidefinite import minimum
from clusterproof.theory.exact.heavy_ball import spectral_rate
from clusterproof.theory.rates import HeavyBallRate, heavy_ball_at, heavy_ball_rate
from clusterproof.theory.rates.energy import Numbers
from clusterproof.theory.rates.smooth_losses import SmoothRate


def smooth(momentum: object, condition: object, proportion: object, **options: bool) -> SmoothRate:
    found = heavy_ball_rate(momentum, condition, proportion, **options)
    assert isinstance(found, SmoothRate)
    return found


@pytest.mark.parametrize(
    ("condition", "proportion"),
    slow_after(1, "semidefinite programs of further settings", [(4, "1/2"), (100, "1/4")]),
)
def test_rates_over_the_grid_are_certified(condition: int, proportion: str) -> None:
    largest = 0.0
    for tenth in range(10):
        found = heavy_ball_rate(Fraction(tenth, 10), condition, proportion)
        if not isinstance(found, HeavyBallRate):
            continue
        largest = tenth / 10
        assert not why_not(found.claims_file)
        # quadratics belong to the class
        ends = np.array([1 / condition, 1.0]) * float(Fraction(proportion))
        assert float(found.rate) >= spectral_rate(ends, tenth / 10).max() - 1e-12
        assert 1 <= found.prefactor < 100
    # audit of CFL-MGD, section 6.3: .770 .896 .950 / .730 .878 .941 / .709 .867 .936
    audited = {"1": 0.7, "1/2": 0.8, "1/4": 0.9}[proportion]
    assert largest >= (0.9 if condition == 1 else audited)


@pytest.mark.parametrize("disturbance", [False, True])
@pytest.mark.parametrize(
    ("condition", "proportion", "step"),
    slow_after(
        3,
        "semidefinite programs of further settings",
        [
            (4, "1/2", 1),
            (1, 1, 1),
            (5, 1, "9/5"),
            (100, "1/4", 1),
        ],
    ),
)
def test_gradient_descent_has_its_tight_rate(
    condition: int, proportion: object, step: object, disturbance: bool
) -> None:
    found = heavy_ball_rate(0, condition, proportion, step, disturbance=disturbance)
    assert isinstance(found, HeavyBallRate)
    a = Fraction(str(step)) * Fraction(str(proportion))
    tight = max(abs(1 - a), abs(1 - a / condition))
    assert 0 < found.rate - tight <= Fraction(1, 10**6)
    assert 1 <= found.prefactor <= Fraction(1001, 1000)


Function = tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]


def log_cosh(u: np.ndarray) -> float:
    return float(np.sum(np.logaddexp(u, -u) - np.log(2)))


def wavy(m: float, width: float, centre: np.ndarray) -> Function:
    """1-smooth, m-strongly convex with minimum at 0: log cosh between the two curvatures, off centre."""
    gradient_at_zero = (1 - m) * width * np.tanh(-centre / width)

    def raw(x: np.ndarray) -> float:
        return float(
            m / 2 * x @ x + (1 - m) * width**2 * log_cosh((x - centre) / width) - gradient_at_zero @ x
        )

    def gradient(x: np.ndarray) -> np.ndarray:
        return np.asarray(m * x + (1 - m) * width * np.tanh((x - centre) / width) - gradient_at_zero)

    return (lambda x: raw(x) - raw(np.zeros_like(x))), gradient


def lyapunov(
    found: SmoothRate,
    value: Callable[[np.ndarray], float],
    now: np.ndarray,
    last: np.ndarray,
    gradient: np.ndarray,
) -> float:
    p = [float(entry) for entry in found.matrix]
    matrix = np.array([[p[0], p[1], p[2]], [p[1], p[3], p[4]], [p[2], p[4], p[5]]])
    z = np.array([now, last, gradient])
    c = [float(weight) for weight in found.weights]
    return float(np.sum(matrix * (z @ z.T))) + c[0] * value(now) + c[1] * value(last)


@pytest.mark.parametrize("disturbance", [False, True])
@pytest.mark.parametrize(("momentum", "condition", "proportion"), [(0.6, 10, 0.5), (0.8, 100, 0.25)])
def test_lyapunov_function_does_what_is_proved_on_true_functions(
    momentum: float, condition: int, proportion: float, disturbance: bool
) -> None:
    found = smooth(momentum, condition, proportion, disturbance=disturbance)
    rate, prefactor = float(found.rate), float(found.prefactor)
    rng = np.random.default_rng(7)
    for width in (0.01, 0.1, 1.0):
        value, gradient = wavy(1 / condition, width, rng.normal(size=5))
        start = now = last = rng.normal(size=5)
        for t in range(60):
            level = lyapunov(found, value, now, last, gradient(now))
            scale = 1e-12 * (1 + level)
            assert level >= now @ now - scale
            if t == 0:
                assert level <= prefactor**2 * start @ start + scale
            assert np.linalg.norm(now) <= prefactor * rate**t * np.linalg.norm(start) * (1 + 1e-12)
            if disturbance:
                delta = rng.normal(size=5) * 10.0 ** rng.integers(-3, 2)
                moved = lyapunov(found, value, now + delta, last, gradient(now + delta))
                bound = max(level, 0.0) ** 0.5 + float(found.disturbance or 0) * np.linalg.norm(delta)
                assert max(moved, 0.0) ** 0.5 <= bound * (1 + 1e-12) + scale**0.5
                other = lyapunov(found, value, now - delta, last, gradient(now - delta))
                energy = float(found.disturbance or 0) ** 2 * delta @ delta
                assert (moved + other) / 2 <= level + energy + scale
            now, last = now - proportion * gradient(now) + momentum * (now - last), now
            assert lyapunov(found, value, now, last, gradient(now)) <= rate**2 * level + scale


def test_the_lines_say_what_the_sentence_needs() -> None:
    """Each side of each line at one function, a start, an error before and a disturbance, by the formulas."""
    found = smooth(0.6, 10, "1/2", disturbance=True)
    value, gradient = wavy(0.1, 0.1, np.ones(3))
    now, last, delta = np.random.default_rng(1).normal(size=(3, 3))
    f = Known(value, gradient, now, iter([last, delta]))
    rate, prefactor, disturbance = (
        float(each or 0) for each in (found.rate, found.prefactor, found.disturbance)
    )
    after = now - 0.5 * gradient(now) + 0.6 * (now - last)
    level = lyapunov(found, value, now, last, gradient(now))
    step = 1e-6
    slope = [
        lyapunov(found, value, now + step * unit, last, gradient(now + step * unit)) - level
        for unit in np.eye(3)
    ] / np.array(step)
    moved = lyapunov(found, value, now + delta, last, gradient(now + delta))
    expected = {
        "contraction": (lyapunov(found, value, after, now, gradient(after)), rate**2 * level),
        "distance": (now @ now, level),
        "start": (lyapunov(found, value, now, now, gradient(now)), prefactor**2 * now @ now),
        "moved": (moved, level + slope @ delta + disturbance**2 * delta @ delta),
        "short_slope": (slope @ slope, 4 * disturbance**2 * level),
    }
    assert [line.__name__ for line in found.lines] == list(expected)
    exact = astuple(found.numbers)
    numbers = Numbers(*(tuple(map(float, n)) if isinstance(n, tuple) else float(n) for n in exact))
    for line in found.lines:
        points = replace(f, points=iter([last, delta]))
        sides = [float(each) for each in line(points, numbers)]
        assert sides == pytest.approx(expected[line.__name__], rel=1e-4), line.__name__


@dataclass(frozen=True)
class Known:
    """A function with its minimum, 0, at 0, as a claim's function sees it."""

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    start: np.ndarray
    points: Iterator[np.ndarray]
    minimiser: float = 0.0
    minimum: float = 0.0

    def __call__(self, x: np.ndarray) -> float:
        return self.value(x)

    def point(self) -> np.ndarray:
        return next(self.points)


def test_wrong_statements_with_the_same_proof_are_refused() -> None:
    found = smooth(0.7, 4, "1/2", disturbance=True)
    assert found.disturbance is not None
    more = Fraction(11, 10)
    of_method = {
        "momentum": found.parameters.momentum * more,
        "step_size": more,
        "condition_number": Fraction(8),
    }
    wrong = [
        {"rate": found.rate - Fraction(1, 10**5)},
        {"prefactor": found.prefactor * Fraction(99, 100)},
        {"disturbance": found.disturbance * Fraction(99, 100)},
        {"matrix": (*found.matrix[:5], found.matrix[5] - 1)},
        {"weights": (found.weights[0] + 1, found.weights[1])},
        *({"parameters": replace(found.parameters, **{name: value})} for name, value in of_method.items()),
    ]
    assert not why_not(found.claims_file)
    for change in wrong:
        assert "inconclusive: the kernel does not show it" in why_not(replace(found, **change).claims_file), (
            change
        )


def test_weaker_statements_with_the_same_proof_are_accepted() -> None:
    found = smooth(0.5, 10, "1/2")
    assert not why_not(replace(found, prefactor=found.prefactor + 1).claims_file)
    assert why_not(replace(found, prefactor=found.prefactor - Fraction(1, 100)).claims_file)


@pytest.mark.parametrize(("momentum", "norm"), [(0.6, False), (0.1, True)])
def test_a_larger_rate_buys_smaller_constants(momentum: float, norm: bool) -> None:
    least = smooth(momentum, 10, "1/2", disturbance=True)
    slower = heavy_ball_at(Fraction(97, 100), momentum, 10, "1/2", norm=norm)
    assert isinstance(slower, SmoothRate)
    assert not why_not(slower.claims_file)
    assert slower.disturbance is not None
    assert least.disturbance is not None
    assert slower.rate == Fraction(97, 100)
    if not norm:
        assert slower.prefactor < least.prefactor
        assert slower.disturbance < least.disturbance
    assert (slower.weights == (0, 0)) == norm
    assert heavy_ball_at(Fraction(80, 100), momentum, 10, "1/2", norm=norm) is None


@pytest.mark.parametrize("place", ["value", "unknowns", "dual", "status"])
def test_an_answer_of_the_solver_counts_where_it_is_optimal_and_every_number_finite(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least x with x >= 1, whose answer is spoilt in one number."""
    problem = (np.array([[-1.0]]), np.array([-1.0]), np.array([1.0]), (0, 1, ()))
    right = minimum(*problem)
    assert right is not None
    assert (right.value, *right.unknowns, *right.dual) == pytest.approx((1, 1, 1), rel=1e-6)
    answer = SimpleNamespace(x=[1.0, 1.0], z=[1.0, 1.0], obj_val=1.0, status="Solved")
    monkeypatch.setattr(clarabel, "DefaultSolver", lambda *_: SimpleNamespace(solve=lambda: answer))
    assert minimum(*problem) is not None
    wrong = {"value": {"obj_val": np.inf}, "unknowns": {"x": [1.0, np.nan]}, "dual": {"z": [np.nan, 1.0]}}
    vars(answer).update(wrong.get(place, {"status": "AlmostSolved"}))
    assert minimum(*problem) is None
