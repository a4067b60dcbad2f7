"""Rounds of FedAvg, FedLin and SCAFFOLD on all losses of any number of clients, for every number K of local steps.

A loop computes the local steps of all clients. The invariant of the loop bounds mean squared distances after k steps.
The unit is L = 1. A vector such as ``f.parts.gradient(y)`` consists of one vector per client, and ``u @ v`` is the
mean of the clients' inner products.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Function,
    Sides,
    Z,
    at_most,
    claim,
    functions,
    iterate,
    rationals,
    suppose,
)

Curvature = Annotated[Fraction, rationals(0, 1, 12)]
"""The quotient mu / L."""
Length = Annotated[Fraction, rationals(0, 1, 12)]
"""The product eta L."""
Share = Annotated[Fraction, rationals(0, 8, 8, upwards=True)]
"""The parameter t of Young's inequality."""
Losses = Annotated[
    Function, functions(smoothness=1, strong_convexity=lambda curvature: curvature, count="any")
]


FEDLIN_PACE, SCAFFOLD_PACE = Fraction(1, 3), Fraction(1, 4)
"""Largest eta L K."""


def square(vector: Any) -> Any:
    """Return ||v||^2, or the mean of ||v_i||^2 if there is a vector v_i for each client."""
    return vector @ vector


def rate_of_round(pace: Any, curvature: Any) -> Any:
    """Return 1 - eta K mu / 2, the factor of FedLin and SCAFFOLD, from eta L K and mu / L."""
    return 1 - pace * curvature / 2


def drift_of_mean(length: Any, steps: Any, zeta: Any) -> Any:
    """Return FedAvg's (K + 1)^2 K (K - 1) / 3 eta^4 L^2 zeta*^2, from eta L and zeta*^2 / L^2."""
    return (steps + 1) ** 2 * steps * (steps - 1) * length**4 * zeta / 3


# ---- multipliers


def both_ways(pair: tuple[int, int], value: Any) -> dict[str, Any]:
    """Return the given multiplier for both interpolation conditions between two points of the clients."""
    first, second = pair
    return {f"0:{first},{second}:0": value, f"0:{second},{first}:0": value}


def growth(passed: Any) -> Any:
    """Return (k + 2) / (k + 1)."""
    return (passed + 2) / (passed + 1)


def of_runs_apart(length: Any, curvature: Any) -> dict[str, Any]:
    """Return the multipliers for FedAvg: local steps from x and local steps from x* approach each other."""
    rate = 1 - length * curvature
    return {**both_ways((1, 2), 2 * length * rate), "hypothesis 0": rate**2}


def of_drift(length: Any, curvature: Any, passed: Any) -> dict[str, Any]:
    """Return the multipliers for FedAvg that bound the clients' distances after k steps from x*."""
    weight = 2 * length * (1 - length * curvature) * growth(passed)
    return {**both_ways((0, 2), weight), "hypothesis 1": growth(passed)}


def of_mean_drift(length: Any, passed: Any) -> dict[str, Any]:
    """Return the multipliers for FedAvg: from x*, the mean of the clients changes only to second order."""
    weight = 3 * (passed + 2) * length**2
    return {**both_ways((0, 2), 2 * weight), "hypothesis 2": growth(passed), "hypothesis 1": weight}


def of_way(pace: Any, steps: Any, curvature: Any, passed: Any) -> dict[str, Any]:
    """Return the multipliers for FedLin and SCAFFOLD that bound the distances of the clients from x."""
    length = pace / steps
    weight = 2 * length * (1 - length * curvature) * growth(passed)
    return {**both_ways((1, 2), weight), "hypothesis 0": growth(passed)}


def of_bend(pace: Any, steps: Any, passed: Any) -> dict[str, Any]:
    """Return the multipliers for SCAFFOLD that bound the distances from steps along the first gradient."""
    weight = 3 * (passed + 2) * (pace / steps) ** 2
    return {**both_ways((1, 2), 2 * weight), "hypothesis 0": weight, "hypothesis 1": growth(passed)}


def of_progress(place: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers for FedLin and SCAFFOLD that prove the progress of the clients' mean towards x*."""

    def multipliers(pace: Any, steps: Any) -> dict[str, Any]:
        length = pace / steps
        return {f"hypothesis {place}": 1, "hypothesis 0": length, "0:0,2:0": length, "0:2,1:0": length}

    return multipliers


def of_fedlin(pace: Any) -> dict[str, Any]:
    """Return the multipliers for the claim on FedLin."""
    return {"hypothesis 1": 2, "hypothesis 0": 1, "0:1,0:0": 2 * pace}


def of_scaffold(pace: Any) -> dict[str, Any]:
    """Return the multipliers for the claim on SCAFFOLD."""
    return {"hypothesis 2": 2, "hypothesis 1": Fraction(2, 3), "0:1,0:0": 2 * pace}


# ---- claims


@claim(
    "fedavg/every-number-of-steps",
    label="Drift bound, squared, every loss, N and K",
    source="ours",
    expected="certified",
    multipliers={
        "round 0": of_runs_apart,
        "round 1": of_drift,
        "round 2": of_mean_drift,
        "line 0": lambda share: {"hypothesis 0": 1 + share, "hypothesis 2": (1 + 1 / share) / 3},
    },
)
def fedavg_every_number_of_steps(
    curvature: Curvature, length: Length, share: Share, f: Losses, steps: int = Z[1:]
) -> Sides:
    """For every N and K, a round of FedAvg contracts the distance from the optimum, and adds at most the drift there.

    Hypotheses
        Any number N of clients have exact gradients and L-smooth, mu-strongly convex losses with mu < L; eta <= 1 / L.

    Statement
        ||x+ - x*||^2 <= (1 + t) (1 - eta mu)^(2K) ||x - x*||^2 + (1 + 1/t) (K + 1)^2 K (K - 1) / 3 eta^4 L^2 zeta*^2
        for every t > 0, every N and every K, with zeta*^2 = mean ||grad f_i(x*)||^2.

    Proof
        Compare the local steps of each client from x with its local steps from x*. The distance between both
        sequences contracts. The local steps from x* drift away from x*, but their mean over the clients drifts only
        to second order.

    Source
        Ours. ``fedavg/every-loss`` states a smaller drift for K = 1, 2, 3.
    """
    suppose("mu < L", curvature < 1)
    suppose("0 < t", share > 0)
    star, clients = f.minimiser, f.parts
    zeta = square(clients.gradient(star))

    def next_state(state: Any) -> Any:
        y, p, rate, k = state
        y, p = y - length * clients.gradient(y), p - length * clients.gradient(p)
        return y, p, (1 - length * curvature) ** 2 * rate, k + 1

    def says(state: Any, passed: Any) -> Any:
        y, p, rate, k = state
        return (
            k == passed,
            rate >= 0,
            square(y - p) <= rate * f.distance**2,
            square(p - star) <= k * (k + 1) * length**2 * zeta,
            3 * square(clients.mean(p) - star) <= (k + 1) ** 2 * k * (k - 1) * length**4 * zeta,
        )

    y, _, rate, _ = iterate(next_state, (f.start, star, 1, 0), steps, invariant=says)
    return at_most(
        square(clients.mean(y) - star),
        contraction=(1 + share) * rate * f.distance**2,
        drift=(1 + 1 / share) * drift_of_mean(length, steps, zeta),
    )


@claim(
    "fedlin/every-number-of-steps",
    label="FedLin, one round, every loss, N and K",
    source="ours",
    expected="certified",
    multipliers={"round 0": of_way, "round 1": of_progress(1), "line 0": of_fedlin},
)
def fedlin_every_number_of_steps(
    curvature: Curvature,
    pace: Annotated[Fraction, rationals(0, FEDLIN_PACE, 12)],
    f: Losses,
    steps: int = Z[1:],
) -> Sides:
    """A FedLin round multiplies the squared distance by at most 1 - eta K mu / 2, for all losses, N and K.

    Hypotheses
        Any number N of clients have exact gradients and L-smooth, mu-strongly convex losses with mu < L; eta K <= 1 /
        (3 L).

    Statement
        ||x+ - x*||^2 <= (1 - eta K mu / 2) ||x - x*||^2 for every N and K.

    Source
        Ours. ``fedlin/every-loss`` states the best possible rate for K = 1, 2, 3.
    """
    suppose("mu < L", curvature < 1)
    x, star, length, clients = f.start, f.minimiser, pace / steps, f.parts
    own, common, gap = clients.gradient(x), f.gradient(x), f(x) - f.minimum

    def next_state(state: Any) -> Any:
        y, k = state
        return y - length * (clients.gradient(y) - own + common), k + 1

    def says(state: Any, passed: Any) -> Any:
        y, k = state
        least = k * length * (gap + curvature / 4 * f.distance**2)
        return (
            k == passed,
            square(y - x) <= k * (k + 1) * length**2 * square(common),
            least - (k - 1) * k * (k + 1) / 3 * length**3 * square(common)
            <= (x - clients.mean(y)) @ (x - star),
        )

    y, _ = iterate(next_state, (x, 0), steps, invariant=says)
    return at_most(square(clients.mean(y) - star), rate=rate_of_round(pace, curvature) * f.distance**2)


@claim(
    "scaffold/every-number-of-steps",
    label="SCAFFOLD II, one round, every loss, N and K",
    source="ours",
    expected="certified",
    multipliers={
        "round 0": of_way,
        "round 1": of_bend,
        "round 2": of_progress(2),
        "line 0": of_scaffold,
    },
)
def scaffold_every_number_of_steps(
    curvature: Curvature,
    pace: Annotated[Fraction, rationals(0, SCAFFOLD_PACE, 12)],
    f: Losses,
    steps: int = Z[1:],
) -> Sides:
    """A round of SCAFFOLD II multiplies Psi by at most 1 - eta K mu / 2, for all losses, N and K.

    Hypotheses
        Any number N of clients have exact gradients and L-smooth, mu-strongly convex losses with mu < L; eta K <= 1 /
        (4 L), eta_g = 1, and c is the mean of the c_i. All clients take part.

    Statement
        Psi+ <= (1 - eta K mu / 2) Psi for every N and K, with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c - grad
        f_i(x*)||^2.

    Source
        Ours. ``scaffold/every-loss`` states the best possible rate for K = 1, 2, 3.
    """
    suppose("mu < L", curvature < 1)
    x, star, length, clients = f.start, f.minimiser, pace / steps, f.parts
    free = clients.point() - star
    h = free - clients.mean(free)  # c_i - c of each client
    goal, first, gap = clients.gradient(star), clients.gradient(x) - h, f(x) - f.minimum

    def next_state(state: Any) -> Any:
        y, k = state
        return y - length * (clients.gradient(y) - h), k + 1

    def says(state: Any, passed: Any) -> Any:
        y, k = state
        most = (k + 1) ** 2 * k * (k - 1) * length**4
        least = k * length * (gap + curvature / 4 * f.distance**2)
        return (
            k == passed,
            square(y - x) <= k * (k + 1) * length**2 * square(first),
            3 * square(x - y - k * length * first) <= most * square(first),
            least - (k - 1) * k * (k + 1) / 3 * length**3 * square(first)
            <= (x - clients.mean(y)) @ (x - star),
        )

    y, _ = iterate(next_state, (x, 0), steps, invariant=says)
    after = clients.mean(y) - y + pace * (h - goal)  # (K eta) (c_i+ - c+ - grad f_i(x*))
    psi = f.distance**2 + pace**2 * square(h - goal)
    return at_most(square(clients.mean(y) - star) + square(after), rate=rate_of_round(pace, curvature) * psi)
