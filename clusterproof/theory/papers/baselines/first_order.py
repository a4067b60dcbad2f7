"""Rates of two methods with one model, for every number of rounds, for comparison with federated methods."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Function,
    Operator,
    Sides,
    Z,
    at_most,
    claim,
    functions,
    iterate,
    operators,
    rationals,
    suppose,
)

Nonexpansive = Annotated[Operator, operators(monotone=False, lipschitz=1)]
Lipschitz = Annotated[Function, functions(lipschitz=1)]
Step = Annotated[Fraction, rationals(0, 4, 8, upwards=True)]


@claim("baselines/halpern", label="Halpern's iteration, every N", expected="certified")
def halpern(operator: Nonexpansive, rounds: int = Z[1:]) -> Sides:
    """||x_N - T x_N||^2 <= 4 ||x_0 - x*||^2 / (N + 1)^2 for every N and every nonexpansive T.

    Statement
        The method is x_(k+1) = x_0 / (k + 2) + (k + 1) / (k + 2) T x_k, and T x* = x*.

    Source
        Restated after Lieder, *On the convergence rate of the Halpern-iteration* (2021).
    """

    def next_state(state: Any) -> Any:
        x, k = state
        return operator.start / (k + 2) + (k + 1) * operator(x) / (k + 2), k + 1

    def says(state: Any, passed: Any) -> Any:
        x, k = state
        rest = x - operator(x)
        return k == passed, k * (rest @ rest) / 2 + rest @ (x - operator.start) <= 0

    x, _ = iterate(next_state, (operator.start, 0), rounds, invariant=says)
    rest = x - operator(x)
    return at_most(rest @ rest, start=4 * operator.distance**2 / (rounds + 1) ** 2)


@claim(
    "baselines/best-subgradient-iterate",
    label="subgradient method, best iterate, every N",
    expected="certified",
)
def best_subgradient_iterate(step_size: Step, f: Lipschitz, rounds: int = Z[1:]) -> Sides:
    """min_(k<N) f(x_k) - f* <= ||x_0 - x*||^2 / (2 h N) + h M^2 / 2 for every N and every step h.

    Statement
        The method is x_(k+1) = x_k - h g_k, where g_k is a subgradient of a convex f with ||g_k|| <= M = 1.

    Source
        Restated after Shor, *Minimization methods for non-differentiable functions* (1985).
    """
    suppose("0 < h", step_size > 0)

    def next_state(state: Any) -> Any:
        x, best = state
        best = x if f(x) <= f(best) else best
        return x - step_size * f.gradient(x), best

    def says(state: Any, passed: Any) -> Any:
        x, best = state
        apart = x - f.minimiser
        gained = 2 * step_size * passed * (f(best) - f.minimum)
        return gained + apart @ apart <= f.distance**2 + passed * step_size**2

    _, best = iterate(next_state, (f.start, f.start), rounds, invariant=says)
    start = f.distance**2 / (2 * step_size * rounds)
    return at_most(f(best) - f.minimum, start=start, floor=step_size / 2)
