"""Theorems on the distance to the optimum after t rounds, for pages of runs and for the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.theory.bounds.hypotheses import Hypothesis


@dataclass(frozen=True, kw_only=True)
class RoundCase:
    """The quantities in the theorems: exact numbers from a setting of the leaderboard, or floats from a run.

    Attributes
    ----------
    smoothness, strong_convexity
        L and mu of every client.
    step_size, local_steps, server_step_size, probability
        eta, K, eta_g and p. If the algorithm has no local steps, K is 1. All other missing parameters are 0.
    proximal
        Coefficient of the proximal term if it changes the local steps, otherwise 0.
    distance
        D = |x_0 - x*|, a number or an array with one number per run, (R,).
    heterogeneity
        zeta*, the root of the mean of |grad f_i(x*)|^2, or None if it is unknown.
    exact_rounds
        Hypotheses that ensure that every round uses all clients and exact gradients.
    equal_weights
        Hypotheses that ensure that the server takes the unweighted mean.
    room
        Largest relative excess over a limit that we attribute to rounding, or 0 for exact numbers.
    """

    smoothness: Any
    strong_convexity: Any
    step_size: Any
    local_steps: int
    server_step_size: Any
    probability: Any
    proximal: Any
    distance: Any
    heterogeneity: Any
    exact_rounds: tuple[Hypothesis, ...]
    equal_weights: tuple[Hypothesis, ...]
    room: float

    @property
    def pace(self) -> float:
        """The product eta L K."""
        return float(self.step_size * self.smoothness * self.local_steps)

    def needs_plain_means(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses of theorems in which the server takes the unweighted mean of exact local steps."""
        yield from self.exact_rounds
        yield from self.equal_weights
        yield Hypothesis("server step size", "=", 1, float(self.server_step_size))

    def needs_several_curvatures(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses of theorems about unweighted means of all clients' exact steps with mu < L."""
        yield from self.needs_plain_means()
        yield Hypothesis("mu < L", "=", True, bool(self.strong_convexity < self.smoothness))

    def needs_short_rounds(self, longest: Fraction = Fraction(1)) -> Iterator[Hypothesis]:
        """Yield the hypotheses of theorems about rounds of K steps with eta L K <= ``longest``."""
        yield from self.needs_several_curvatures()
        yield Hypothesis("eta L K", "<=", float(longest), self.pace, room=self.room)


@dataclass(frozen=True, kw_only=True)
class RoundTheorem:
    """An upper bound on E|x_t - x*|^2, or on |x_t - x*|^2 in every run.

    Attributes
    ----------
    claim
        Id of the claim that states the theorem, or "" if no claim states it.
    algorithm, client_class
        The algorithm, and the largest class of clients for which the theorem holds: ``"convex"`` contains ``"strong"``.
    needs
        Function that yields the theorem's hypotheses for a case.
    squared_bound
        Function of a case and of t that returns the bound. Here t may be an array.
    rate, weight
        Each round multiplies |x - x*|^2 + ``weight`` * (mean square of the controls) by at most ``rate``. None if the
        theorem has no such factor.
    """

    claim: str
    algorithm: str
    client_class: str
    needs: Callable[[RoundCase], Iterator[Hypothesis]]
    squared_bound: Callable[[RoundCase, Any], Any]
    rate: Callable[[RoundCase], Any] | None = None
    weight: Callable[[RoundCase], Any] | None = None


def contraction_theorem(
    *,
    claim: str,
    algorithm: str,
    needs: Callable[[RoundCase], Iterator[Hypothesis]],
    rate: Callable[[RoundCase], Any],
    weight: Callable[[RoundCase], Any],
) -> RoundTheorem:
    """Return the theorem that a round multiplies |x - x*|^2 + weight * mean |control - limit|^2 by at most a rate."""

    def squared_bound(case: RoundCase, rounds: Any) -> Any:
        controls = float(weight(case)) * float(case.heterogeneity) ** 2
        return float(rate(case)) ** rounds * (case.distance * case.distance + controls)

    return RoundTheorem(
        claim=claim,
        algorithm=algorithm,
        client_class="strong",
        needs=needs,
        squared_bound=squared_bound,
        rate=rate,
        weight=weight,
    )
