"""The certified rate on smooth functions, against the programs that answer the same question in floats.

The question: how fast does heavy ball converge, at worst, on L-smooth mu-strongly convex functions? Ours finds
the least rate to 1e-6, rounds and repairs the proof, and checks it in exact rationals. AutoLyap bisects on the
rate of a Lyapunov function to the same accuracy, without an exact check. PEPit has no rates of that kind: it
gets the worst case of 12 rounds from rest, whose 12th root is a lower bound on the rate times C_0^(1/12).

AutoLyap is GPL-3 and is only run here for comparison.
"""

from __future__ import annotations

import warnings
from functools import partial

from autolyap import IterationIndependent, SolverOptions
from autolyap.algorithms import HeavyBallMethod
from autolyap.problemclass import InclusionProblem, SmoothStronglyConvex
from PEPit import PEP
from PEPit.functions import SmoothStronglyConvexFunction

from benchmarks.timing import median_seconds, report_target
from clusterproof.theory.certificates import Certificate, certify

CASES = ((4, 1.0, 0.3), (10, 0.5, 0.3), (4, 1.0, 0.7), (10, 0.5, 0.8))
"""Condition number, proportion, momentum."""

ROUNDS = 12


def ours(condition: int, proportion: float, momentum: float) -> float:
    found = certify(momentum, condition, proportion)
    assert isinstance(found, Certificate)
    return float(found.rate)


def autolyap(condition: int, proportion: float, momentum: float) -> float:
    problem = InclusionProblem([SmoothStronglyConvex(1 / condition, 1.0)])
    method = HeavyBallMethod(gamma=proportion, delta=momentum)
    linear = IterationIndependent.LinearConvergence
    distance, p, zero, t = linear.get_parameters_distance_to_solution(method)
    options = SolverOptions("cvxpy", cvxpy_solver="CLARABEL", cvxpy_accept_inaccurate=False)
    result = linear.bisection_search_rho(
        problem,
        method,
        distance,
        zero,
        p=p,
        t=t,
        S_equals_T=True,
        s_equals_t=True,
        remove_C3=True,
        tol=1e-6,
        solver_options=options,
        verbosity=0,
    )
    return float(result["rho"]) ** 0.5


def pepit(condition: int, proportion: float, momentum: float) -> float:
    problem = PEP()
    function = problem.declare_function(SmoothStronglyConvexFunction, mu=1 / condition, L=1.0)
    optimum = function.stationary_point()
    last = now = problem.set_initial_point()
    problem.set_initial_condition((now - optimum) ** 2 <= 1)
    for _ in range(ROUNDS):
        now, last = now - proportion * function.gradient(now) + momentum * (now - last), now
    problem.set_performance_metric((now - optimum) ** 2)
    worst = problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
    return float(worst) ** (0.5 / ROUNDS)


def main() -> None:
    warnings.simplefilter("ignore")  # of cvxpy, about what the other two ask of it
    print("seconds for a rate, cvxpy and Clarabel in all three, one thread; ours includes the exact check")
    print(f"PEPit: 12th root of the worst case of {ROUNDS} rounds")
    print(f"{'kappa':>5} {'l':>5} {'beta':>5} {'ours':>8} {'AutoLyap':>9} {'PEPit':>8} {'ratio':>7}", end="")
    print(f" {'our rate':>10} {'AutoLyap':>9} {'PEPit':>8}")
    programs = {"ours": ours, "autolyap": autolyap, "pepit": pepit}
    ratios = []
    for case in CASES:
        seconds = median_seconds(
            {name: partial(program, *case) for name, program in programs.items()}, repeats=15
        )
        rates = {name: program(*case) for name, program in programs.items()}
        ratios.append(seconds["ours"] / min(seconds["autolyap"], seconds["pepit"]))
        print(
            f"{case[0]:5d} {case[1]:5.2f} {case[2]:5.2f} {seconds['ours']:8.3f} {seconds['autolyap']:9.3f} "
            f"{seconds['pepit']:8.3f} {ratios[-1]:7.2f} {rates['ours']:10.7f} {rates['autolyap']:9.6f} "
            f"{rates['pepit']:8.5f}"
        )
    report_target("largest ratio to the faster of the two", max(ratios), 0.5, at_most=True)


if __name__ == "__main__":
    main()
