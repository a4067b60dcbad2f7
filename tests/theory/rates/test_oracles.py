"""Proved rates against two independent programs: worst cases of PEPit, rates of AutoLyap."""

import math
import warnings

import pytest
from autolyap import IterationIndependent, SolverOptions
from autolyap.algorithms import HeavyBallMethod
from autolyap.problemclass import InclusionProblem, SmoothStronglyConvex
from PEPit import PEP
from PEPit.functions import SmoothStronglyConvexFunction, SmoothStronglyConvexQuadraticFunction
from tiers import slow_after

from clusterproof.theory.rates import HeavyBallRate, heavy_ball_rate


def worst_case(momentum: float, condition: float, step: float, rounds: int, quadratic: bool) -> float:
    """Largest |x_N - x*| from rest at distance 1, by PEPit."""
    problem = PEP()
    kind = SmoothStronglyConvexQuadraticFunction if quadratic else SmoothStronglyConvexFunction
    function = problem.declare_function(kind, mu=1 / condition, L=1.0)
    optimum = function.stationary_point()
    last = now = problem.set_initial_point()
    problem.set_initial_condition((now - optimum) ** 2 <= 1)
    for _ in range(rounds):
        now, last = now - step * function.gradient(now) + momentum * (now - last), now
    problem.set_performance_metric((now - optimum) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of cvxpy, about what PEPit asks of it
        return float(problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)) ** 0.5


@pytest.mark.parametrize("disturbance", [False, True])
@pytest.mark.parametrize(
    ("condition", "proportion", "momentum", "rounds"),
    slow_after(
        2,
        "exact worst cases of further settings",
        [
            (4, 1, 0.3, 6),
            (4, 0.25, 0.9, 5),
            (10, 0.5, 0, 8),
            (100, 0.5, 0.8, 6),
            (1.1, 0.5, 0.5, 6),
        ],
    ),
)
def test_worst_cases_never_exceed_what_is_proved(
    condition: float, proportion: float, momentum: float, rounds: int, disturbance: bool
) -> None:
    found = heavy_ball_rate(momentum, condition, proportion, disturbance=disturbance)
    assert isinstance(found, HeavyBallRate) or (disturbance and momentum == 0.9)
    if isinstance(found, HeavyBallRate):
        for n in (1, rounds):
            worst = worst_case(momentum, condition, proportion, n, quadratic=False)
            allowed = float(found.prefactor) * float(found.rate) ** n
            assert 0.01 * allowed < worst <= allowed + 2e-5


def lyapunov_rate(momentum: float, condition: float, step: float, history: int) -> float:
    """Least rate of the distance that AutoLyap finds; infinite where its solver fails."""
    problem = InclusionProblem([SmoothStronglyConvex(1 / condition, 1.0)])
    method = HeavyBallMethod(gamma=step, delta=momentum)
    linear = IterationIndependent.LinearConvergence
    distance, p, t_matrix, t = linear.get_parameters_distance_to_solution(method, h=history)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = linear.bisection_search_rho(
            problem,
            method,
            distance,
            t_matrix,
            p=p,
            t=t,
            h=history,
            S_equals_T=True,
            s_equals_t=True,
            remove_C3=True,
            tol=1e-7,
            solver_options=SolverOptions("cvxpy", cvxpy_solver="CLARABEL", cvxpy_accept_inaccurate=False),
            verbosity=0,
        )
    return math.inf if result["rho"] is None else float(result["rho"]) ** 0.5


@pytest.mark.parametrize(
    ("condition", "proportion", "momentum", "history"),
    slow_after(
        3,
        "another library's search of further settings",
        [
            (4, 1, 0.3, 0),
            (10, 0.5, 0, 1),
            (10, 0.5, 0.8, 0),
        ],
    ),
)
def test_rates_agree_with_autolyap(condition: int, proportion: float, momentum: float, history: int) -> None:
    """Cases in which AutoLyap's own search is not stopped early by its solver."""
    found = heavy_ball_rate(momentum, condition, proportion)
    assert isinstance(found, HeavyBallRate)
    rate = lyapunov_rate(momentum, condition, proportion, history)
    assert float(found.rate) == pytest.approx(rate, abs=1e-4)
