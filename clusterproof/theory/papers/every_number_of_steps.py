"""Rounds of FedAvg, FedLin and SCAFFOLD on every pair of losses, for every number K of local steps.

A loop makes the local steps of both clients; its invariant bounds distances after k steps. L is 1.
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
"""mu / L."""
Length = Annotated[Fraction, rationals(0, 1, 12)]
"""eta L."""
Share = Annotated[Fraction, rationals(0, 8, 8, upwards=True)]
"""t of Young's inequality."""
Losses = Annotated[Function, functions(smoothness=1, strong_convexity=lambda curvature: curvature, count=2)]


def square(vector: Any) -> Any:
    """Return ||v||^2."""
    return vector @ vector


# ---- multipliers


def both_ways(client: int, pair: tuple[int, int], value: Any) -> dict[str, Any]:
    """Return a multiplier for both conditions between two points of a client."""
    first, second = pair
    return {f"{client}:{first},{second}:0": value, f"{client}:{second},{first}:0": value}


def growth(passed: Any) -> Any:
    """Return (k + 2) / (k + 1)."""
    return (passed + 2) / (passed + 1)


def of_runs_apart(length: Any, curvature: Any) -> dict[str, Any]:
    """Return the multipliers for FedAvg: a client's steps from x and its steps from x* come nearer to each other."""
    rate = 1 - length * curvature
    pairs = both_ways(0, (1, 2), length * rate) | both_ways(1, (1, 2), length * rate)
    return {**pairs, "hypothesis 0": rate**2}


def of_drift(client: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers for FedAvg that bound a client's distance after k steps from x*."""

    def multipliers(length: Any, curvature: Any, passed: Any) -> dict[str, Any]:
        weight = 2 * length * (1 - length * curvature) * growth(passed)
        return {**both_ways(client, (0, 2), weight), f"hypothesis {1 + client}": growth(passed)}

    return multipliers


def of_mean_drift(length: Any, passed: Any) -> dict[str, Any]:
    """Return the multipliers for FedAvg: from x*, the mean of the clients moves only in the second order."""
    weight = 3 * (passed + 2) * length**2
    pairs = both_ways(0, (0, 2), weight) | both_ways(1, (0, 2), weight)
    return {**pairs, "hypothesis 3": growth(passed), "hypothesis 1": weight / 2, "hypothesis 2": weight / 2}


def of_way(client: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers for FedLin and SCAFFOLD that bound the distance of a client from x."""

    def multipliers(pace: Any, steps: Any, curvature: Any, passed: Any) -> dict[str, Any]:
        length = pace / steps
        weight = 2 * length * (1 - length * curvature) * growth(passed)
        return {**both_ways(client, (1, 2), weight), f"hypothesis {client}": growth(passed)}

    return multipliers


def of_bend(client: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers for SCAFFOLD that bound a client's distance from its first gradient step alone."""

    def multipliers(pace: Any, steps: Any, passed: Any) -> dict[str, Any]:
        weight = 3 * (passed + 2) * (pace / steps) ** 2
        pairs = both_ways(client, (1, 2), 2 * weight)
        return {**pairs, f"hypothesis {client}": weight, f"hypothesis {2 + client}": growth(passed)}

    return multipliers


def of_progress(place: int) -> Callable[..., dict[str, Any]]:
    """Return the multipliers for FedLin and SCAFFOLD: the mean's progress towards x*, by the hypothesis at a place."""

    def multipliers(pace: Any, steps: Any) -> dict[str, Any]:
        half = pace / steps / 2
        pairs = {f"{client}:{pair}:0": half for client in (0, 1) for pair in ("0,2", "2,1")}
        return {f"hypothesis {place}": 1, "hypothesis 0": half, "hypothesis 1": half, **pairs}

    return multipliers


def of_fedlin(pace: Any) -> dict[str, Any]:
    """Return the multipliers of FedLin's line."""
    ways = {"hypothesis 0": Fraction(1, 2), "hypothesis 1": Fraction(1, 2)}
    return {"hypothesis 2": 2, **ways, "0:1,0:0": pace, "1:1,0:0": pace}


def of_scaffold(pace: Any) -> dict[str, Any]:
    """Return the multipliers of SCAFFOLD's line."""
    bends = {"hypothesis 2": Fraction(1, 3), "hypothesis 3": Fraction(1, 3)}
    return {"hypothesis 4": 2, **bends, "0:1,0:0": pace, "1:1,0:0": pace}


# ---- claims


@claim(
    "fedavg/every-number-of-steps",
    label="Drift bound, squared, every loss and every K",
    source="ours",
    expected="certified",
    multipliers={
        "round 0": of_runs_apart,
        "round 1": of_drift(0),
        "round 2": of_drift(1),
        "round 3": of_mean_drift,
        "line 0": lambda share: {"hypothesis 0": 1 + share, "hypothesis 3": (1 + 1 / share) / 3},
    },
)
def fedavg_every_number_of_steps(
    curvature: Curvature, length: Length, share: Share, f: Losses, steps: int = Z[1:]
) -> Sides:
    """A round of FedAvg contracts to within the drift of its clients at the optimum, for every K.

    Hypotheses
        Two clients have exact gradients and L-smooth, mu-strongly convex losses with mu < L; eta <= 1 / L.

    Statement
        ||x+ - x*||^2 <= (1 + t) (1 - eta mu)^(2K) ||x - x*||^2 + (1 + 1/t) (K + 1)^2 K (K - 1) / 3 eta^4 L^2 zeta*^2
        for every t > 0 and every K, with zeta*^2 = mean ||grad f_i(x*)||^2.

    Proof
        Compare each client's steps from x with its steps from x*. The distance between the two runs contracts. The run
        from x* drifts, but the mean over clients drifts only in the second order.

    Source
        Ours: ``fedavg/every-loss`` has a smaller drift for K = 1, 2, 3.
    """
    suppose("mu < L", curvature < 1)
    suppose("0 < t", share > 0)
    star, (first, second) = f.minimiser, f.parts
    g, h = first.gradient(star), second.gradient(star)
    zeta = (square(g) + square(h)) / 2

    def next_state(state: Any) -> Any:
        y, z, p, q, rate, k = state
        y, z = y - length * first.gradient(y), z - length * second.gradient(z)
        p, q = p - length * first.gradient(p), q - length * second.gradient(q)
        return y, z, p, q, (1 - length * curvature) ** 2 * rate, k + 1

    def says(state: Any, passed: Any) -> Any:
        y, z, p, q, rate, k = state
        return (
            k == passed,
            rate >= 0,
            (square(y - p) + square(z - q)) / 2 <= rate * f.distance**2,
            square(p - star) <= k * (k + 1) * length**2 * square(g),
            square(q - star) <= k * (k + 1) * length**2 * square(h),
            3 * square((p + q) / 2 - star) <= (k + 1) ** 2 * k * (k - 1) * length**4 * zeta,
        )

    start = f.start, f.start, star, star, 1, 0
    y, z, _, _, rate, _ = iterate(next_state, start, steps, invariant=says)
    drift = (steps + 1) ** 2 * steps * (steps - 1) * length**4 * zeta / 3
    return at_most(
        square((y + z) / 2 - star),
        contraction=(1 + share) * rate * f.distance**2,
        drift=(1 + 1 / share) * drift,
    )


@claim(
    "fedlin/every-number-of-steps",
    label="FedLin, one round, every loss and every K",
    source="ours",
    expected="certified",
    multipliers={
        "round 0": of_way(0),
        "round 1": of_way(1),
        "round 2": of_progress(2),
        "line 0": of_fedlin,
    },
)
def fedlin_every_number_of_steps(
    curvature: Curvature,
    pace: Annotated[Fraction, rationals(0, Fraction(1, 3), 12)],
    f: Losses,
    steps: int = Z[1:],
) -> Sides:
    """A round of FedLin contracts by 1 - eta K mu / 2 on every pair of losses, for every K.

    Hypotheses
        Two clients have exact gradients and L-smooth, mu-strongly convex losses with mu < L; eta K <= 1 / (3 L).

    Statement
        ||x+ - x*||^2 <= (1 - eta K mu / 2) ||x - x*||^2 for every K.

    Source
        Ours: ``fedlin/every-loss`` has the sharp rate for K = 1, 2, 3.
    """
    suppose("mu < L", curvature < 1)
    x, star, length, (first, second) = f.start, f.minimiser, pace / steps, f.parts
    a, b = first.gradient(x), second.gradient(x)
    g, gap = (a + b) / 2, (first(x) + second(x)) / 2 - f.minimum

    def next_state(state: Any) -> Any:
        y, z, k = state
        return y - length * (first.gradient(y) - a + g), z - length * (second.gradient(z) - b + g), k + 1

    def says(state: Any, passed: Any) -> Any:
        y, z, k = state
        least = k * length * (gap + curvature / 4 * f.distance**2)
        return (
            k == passed,
            square(y - x) <= k * (k + 1) * length**2 * square(g),
            square(z - x) <= k * (k + 1) * length**2 * square(g),
            least - (k - 1) * k * (k + 1) / 3 * length**3 * square(g) <= (x - (y + z) / 2) @ (x - star),
        )

    y, z, _ = iterate(next_state, (x, x, 0), steps, invariant=says)
    return at_most(square((y + z) / 2 - star), rate=(1 - pace * curvature / 2) * f.distance**2)


@claim(
    "scaffold/every-number-of-steps",
    label="SCAFFOLD II, one round, every loss and every K",
    source="ours",
    expected="certified",
    multipliers={
        "round 0": of_way(0),
        "round 1": of_way(1),
        "round 2": of_bend(0),
        "round 3": of_bend(1),
        "round 4": of_progress(4),
        "line 0": of_scaffold,
    },
)
def scaffold_every_number_of_steps(
    curvature: Curvature,
    pace: Annotated[Fraction, rationals(0, Fraction(1, 4), 12)],
    f: Losses,
    steps: int = Z[1:],
) -> Sides:
    """A round of SCAFFOLD II contracts by 1 - eta K mu / 2 on every pair of losses, for every K.

    Hypotheses
        Two clients have exact gradients and L-smooth, mu-strongly convex losses with mu < L; eta K <= 1 / (4 L), eta_g
        = 1, and c is the mean of the c_i.

    Statement
        Psi+ <= (1 - eta K mu / 2) Psi for every K, with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c - grad
        f_i(x*)||^2.

    Source
        Ours: ``scaffold/every-loss`` has the sharp rate for K = 1, 2, 3.
    """
    suppose("mu < L", curvature < 1)
    x, star, length, (first, second) = f.start, f.minimiser, pace / steps, f.parts
    h = f.point() - star  # c_1 - c, and c_2 - c is -h
    a, b, g = first.gradient(x), second.gradient(x), first.gradient(star)
    gap, one, two = (first(x) + second(x)) / 2 - f.minimum, square(a - h), square(b + h)

    def next_state(state: Any) -> Any:
        y, z, k = state
        return y - length * (first.gradient(y) - h), z - length * (second.gradient(z) + h), k + 1

    def says(state: Any, passed: Any) -> Any:
        y, z, k = state
        most = (k + 1) ** 2 * k * (k - 1) * length**4
        least = k * length * (gap + curvature / 4 * f.distance**2)
        return (
            k == passed,
            square(y - x) <= k * (k + 1) * length**2 * one,
            square(z - x) <= k * (k + 1) * length**2 * two,
            3 * square(x - y + k * length * (h - a)) <= most * one,
            3 * square(x - z - k * length * (h + b)) <= most * two,
            least - (k - 1) * k * (k + 1) / 6 * length**3 * (one + two) <= (x - (y + z) / 2) @ (x - star),
        )

    y, z, _ = iterate(next_state, (x, x, 0), steps, invariant=says)
    after = (z - y) / 2 + pace * (h - g)  # (K eta) (c_1+ - c+ - grad f_1(x*))
    psi = f.distance**2 + pace**2 * square(h - g)
    return at_most(square((y + z) / 2 - star) + square(after), rate=(1 - pace * curvature / 2) * psi)
