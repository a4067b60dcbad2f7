"""A solver that fails, panics, stalls or returns wrong values may cost a proof, but never proves a falsehood."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
import pytest
from leaderboard_settings import why_not

from clusterproof.theory.rates import HeavyBallRate, NoRate, heavy_ball_at, heavy_ball_rate
from clusterproof.theory.rates.lyapunov_search import Search

pytestmark = pytest.mark.slow(reason="solves many semidefinite programs")

Solve = Callable[..., Any]
Plant = Callable[..., Any]


class Panic(BaseException):
    """An exception like Clarabel's panic, not derived from Exception."""


@dataclasses.dataclass
class Faulty:
    """In place of ``clarabel.DefaultSolver``: fails, gives up or lies."""

    error: BaseException | None = None
    status: str = "Solved"
    number: float = 1.0

    def __call__(self, quadratic: Any, cost: Any, matrix: Any, vector: Any, *rest: Any) -> Any:
        rng = np.random.default_rng(5)
        self.x, self.z = self.number * rng.normal(size=len(cost)), rng.normal(size=len(vector))
        self.obj_val = -0.1
        return self

    def solve(self) -> Any:
        if self.error is not None:
            raise self.error
        return self


@pytest.mark.parametrize(
    "solver",
    [
        Faulty(Panic("called `Result::unwrap()` on an `Err` value")),
        Faulty(ZeroDivisionError()),
        Faulty(),
        Faulty(number=np.nan),
        Faulty(status="AlmostSolved"),
        Faulty(status="PrimalInfeasible"),
    ],
)
@pytest.mark.parametrize("disturbance", [False, True])
def test_a_solver_that_fails_or_lies_gives_no_rate(
    monkeypatch: pytest.MonkeyPatch, solver: Faulty, disturbance: bool
) -> None:
    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    found = heavy_ball_rate(0.3, 4, 1, disturbance=disturbance)
    assert isinstance(found, NoRate)
    assert not found
    assert "does not show divergence" in found.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_the_user_can_interrupt(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(clarabel, "DefaultSolver", Faulty(error))
    with pytest.raises(type(error)):
        heavy_ball_rate(0.3, 4, 1)


def test_a_proof_does_not_depend_on_those_before() -> None:
    """The same problem gives the same bits: no solver starts from another problem's solution."""
    cold = heavy_ball_at(Fraction(9995, 10_000), 0.2, 20, Fraction(1, 4), 0.7)
    assert isinstance(cold, HeavyBallRate)
    for momentum, condition_number in ((0.5, 20), (0.9, 5)):
        heavy_ball_at(Fraction(9995, 10_000), momentum, condition_number, Fraction(1, 3))
    assert heavy_ball_at(Fraction(9995, 10_000), 0.2, 20, Fraction(1, 4), 0.7) == cold


def test_a_panic_now_and_then_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def now_and_then(honest: Solve) -> Solve:
        def solve(*arguments: Any, **options: Any) -> Any:
            calls[0] += 1
            if calls[0] % 3 == 1:
                raise Panic
            return honest(*arguments, **options)

        return solve

    expected = heavy_ball_rate(0.3, 4, 1)
    monkeypatch.setattr(clarabel, "DefaultSolver", now_and_then(clarabel.DefaultSolver))
    found = heavy_ball_rate(0.3, 4, 1)
    assert calls[0] > 6
    assert isinstance(found, HeavyBallRate)
    assert isinstance(expected, HeavyBallRate)
    assert float(found.rate) == pytest.approx(float(expected.rate), abs=1e-5)


def test_tolerances_are_not_below_what_clarabel_bears(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    class Listening(Faulty):
        def __call__(self, *arguments: Any) -> Any:
            settings = arguments[-1]
            asked.extend((settings.tol_feas, settings.tol_gap_abs, settings.tol_gap_rel))
            return super().__call__(*arguments)

    monkeypatch.setattr(clarabel, "DefaultSolver", Listening())
    heavy_ball_rate(0.3, 4, 1)
    assert asked
    assert min(asked) >= 1e-10


def test_proofs_of_other_rates_are_not_believed(plant: Plant) -> None:
    """A solver that returns the solution at rate .668 for every rate."""
    honest = Search.candidates
    plant(Search, "margin", lambda search, rate_squared: 1.0)
    plant(Search, "candidates", lambda search, rate: honest(search, Fraction(668, 1000)))
    found = heavy_ball_rate(0.3, 4, 1)
    if isinstance(found, HeavyBallRate):
        assert not why_not(found.claims_file)
        assert float(found.rate) > 0.6678
