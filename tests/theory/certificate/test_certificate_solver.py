"""A solver that fails, panics, stalls or lies costs the certificate, never the truth."""

import importlib.util
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import clarabel
import cvxpy
import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.certificate import Certificate, NoCertificate, certify, solving, verify
from clusterproof.theory.certificate.search import Search

Solve = Callable[..., Any]
Plant = Callable[..., Any]


class Panic(BaseException):
    """What Clarabel raises, by its nature."""


def failing(error: BaseException) -> Solve:
    def solve(problem: cvxpy.Problem, **options: object) -> None:
        raise error

    return solve


def noise(status: str) -> Solve:
    def solve(problem: cvxpy.Problem, **options: object) -> None:
        rng = np.random.default_rng(3)
        for variable in problem.variables():
            variable.save_value(np.abs(rng.normal(size=variable.shape)))
        problem._status = status

    return solve


def nothing(problem: cvxpy.Problem, **options: object) -> None:
    for variable in problem.variables():
        variable.save_value(None)
    problem._status = "optimal"


def not_finite(problem: cvxpy.Problem, **options: object) -> None:
    for variable in problem.variables():
        variable.save_value(np.full(variable.shape, np.nan))
    problem._status = "optimal"


@pytest.mark.parametrize(
    "solve",
    [
        failing(Panic("called `Result::unwrap()` on an `Err` value")),
        failing(cvxpy.error.SolverError("Solver 'CLARABEL' failed.")),
        failing(MemoryError()),
        failing(ZeroDivisionError()),
        noise("optimal_inaccurate"),
        noise("user_limit"),
        noise("infeasible"),
        noise("optimal"),
        nothing,
        not_finite,
    ],
)
@pytest.mark.parametrize("disturbance", [False, True])
def test_a_solver_that_fails_or_lies_gives_no_certificate(
    monkeypatch: pytest.MonkeyPatch, solve: Solve, disturbance: bool
) -> None:
    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    found = certify(0.3, 4, 1, disturbance=disturbance)
    assert isinstance(found, NoCertificate)
    assert not found
    assert "does not show divergence" in found.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_the_user_can_interrupt(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(cvxpy.Problem, "solve", failing(error))
    with pytest.raises(type(error)):
        certify(0.3, 4, 1)


class Stuck:
    """In place of ``clarabel.DefaultSolver``."""

    def __init__(self, error: BaseException | None, status: str = "Solved") -> None:
        self.error, self.status = error, status

    def __call__(self, quadratic: Any, cost: Any, matrix: Any, vector: Any, *rest: Any) -> Any:
        rng = np.random.default_rng(5)
        self.x, self.z = rng.normal(size=len(cost)), rng.normal(size=len(vector))
        self.obj_val = -0.1
        return self

    def solve(self) -> Any:
        if self.error is not None:
            raise self.error
        return self


@pytest.mark.parametrize(
    "solver",
    [Stuck(Panic()), Stuck(OSError()), Stuck(None), Stuck(None, "MaxTime"), Stuck(None, "AlmostSolved")],
)
def test_a_solver_below_cvxpy_that_fails_or_lies_gives_no_wrong_rate(
    monkeypatch: pytest.MonkeyPatch, solver: Stuck
) -> None:
    expected = certify(0.3, 4, 1)
    assert isinstance(expected, Certificate)
    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    found = certify(0.3, 4, 1)
    if isinstance(found, Certificate):  # the rate was claimed at random: the proof is another solver's
        assert verify(found)
        assert found.rate >= expected.rate - Fraction(1, 10**6)
    monkeypatch.setattr(clarabel, "DefaultSolver", Stuck(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        certify(0.3, 4, 1)


def test_a_panic_now_and_then_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def now_and_then(honest: Solve) -> Solve:
        def solve(*arguments: Any, **options: Any) -> Any:
            calls[0] += 1
            if calls[0] % 3 == 1:
                raise Panic
            return honest(*arguments, **options)

        return solve

    expected = certify(0.3, 4, 1)
    monkeypatch.setattr(cvxpy.Problem, "solve", now_and_then(cvxpy.Problem.solve))
    monkeypatch.setattr(cvxpy.Problem, "get_problem_data", now_and_then(cvxpy.Problem.get_problem_data))
    monkeypatch.setattr(clarabel, "DefaultSolver", now_and_then(clarabel.DefaultSolver))
    found = certify(0.3, 4, 1)
    assert calls[0] > 6
    assert isinstance(found, Certificate)
    assert isinstance(expected, Certificate)
    assert float(found.rate) == pytest.approx(float(expected.rate), abs=1e-5)


def test_a_solver_at_its_time_limit_gives_no_certificate(plant: Plant) -> None:
    plant(solving, "SECONDS", 1e-9)
    assert not certify(0.3, 4, 1)


def test_a_solver_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    calls = [0]

    def solve(problem: cvxpy.Problem, **options: object) -> None:
        calls[0] += 1
        time.sleep(0.25)
        problem._status = "user_limit"

    plant("clusterproof.theory.certificate.certify", "SECONDS", 1.0)
    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    assert not certify(0.6, 10, "1/2")
    assert 1 <= calls[0] <= 8  # tens of rates and tilts would be left


@pytest.mark.parametrize("status", ["optimal_inaccurate", "user_limit", "infeasible", "unbounded", None])
def test_only_optimal_is_an_answer(monkeypatch: pytest.MonkeyPatch, status: str | None) -> None:
    variable = cvxpy.Variable()
    problem = cvxpy.Problem(cvxpy.Minimize(variable), [variable >= 1])
    assert solving.solve(problem)
    monkeypatch.setattr(cvxpy.Problem, "solve", noise(status or ""))
    assert not solving.solve(problem)


def test_tolerances_are_not_below_what_clarabel_bears(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def solve(problem: cvxpy.Problem, **options: Any) -> None:
        asked.extend(value for name, value in options.items() if name.startswith("tol"))

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    certify(0.3, 4, 1)
    assert asked
    assert min(asked) >= 1e-8


def test_claims_of_a_margin_are_not_believed(plant: Plant) -> None:
    """A solver that calls every rate feasible, as SCS does near the limit."""
    expected = certify(0.3, 4, 1)
    assert isinstance(expected, Certificate)
    plant(Search, "margin", lambda search, rate_squared, tolerance: (1.0, 1.0))
    found = certify(0.3, 4, 1)
    assert not found or (verify(found) and isinstance(found, Certificate) and found.rate >= expected.rate)


def test_proofs_of_other_rates_are_not_believed(plant: Plant) -> None:
    """A solver that answers every question with what is true at .668 only."""
    honest = Search.candidate
    plant(Search, "margin", lambda search, rate_squared, tolerance: (1.0, 1.0))
    plant(Search, "candidate", lambda search, rate, tilt: honest(search, 0.668, tilt))
    found = certify(0.3, 4, 1)
    assert not found or (isinstance(found, Certificate) and verify(found) and float(found.rate) > 0.6678)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: set[str] = set()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else object())
    quadratic = certify(0.3, 4, 1, function_class="quadratic")
    assert quadratic
    for module, package in (("cvxpy", "cvxpy"), ("clarabel", "clarabel"), ("flint", "python-flint")):
        missing = {module}
        with pytest.raises(InvalidArgument, match=f"needs {package}; install the extra `certify`"):
            certify(0.3, 4, 1)
    with pytest.raises(InvalidArgument, match="python-flint"):
        verify("{}")
