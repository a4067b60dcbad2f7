"""Theorems on the distance to the optimum after t rounds, each stated once for runs and for the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from clusterproof.theory.bounds.hypotheses import Hypothesis


@dataclass(frozen=True, kw_only=True)
class RoundCase:
    """Numbers to which the theorems apply; a leaderboard's setting has exact numbers, a run has floats.

    Attributes
    ----------
    smoothness, strong_convexity
        L and mu of every client.
    step_size, local_steps, server_step_size, probability
        eta, K, eta_g and p. A parameter that the algorithm lacks is 0, but K is then 1.
    proximal
        Weight of the proximal term if it changes the local steps; else 0.
    distance
        D = |x_0 - x*|; one number, or one for each run, (R,).
    heterogeneity
        zeta*, the root of the mean of |grad f_i(x*)|^2; None if it is unknown.
    exact_rounds
        Hypotheses under which every round uses all clients and exact gradients.
    equal_weights
        Further hypotheses, under which the server takes the plain mean.
    room
        Largest relative excess over a limit that rounding may cause; 0 for exact numbers.
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

    def needs_plain_means(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses of theorems whose server takes the plain mean of all clients' exact steps."""
        yield from self.exact_rounds
        yield from self.equal_weights
        yield Hypothesis("server step size", "=", 1, float(self.server_step_size))

    def needs_short_rounds(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses of theorems about one round of K steps with eta L K <= 1."""
        yield from self.needs_plain_means()
        yield Hypothesis("mu < L", "=", True, bool(self.strong_convexity < self.smoothness))
        pace = float(self.step_size * self.smoothness * self.local_steps)
        yield Hypothesis("eta L K", "<=", 1, pace, room=self.room)


@dataclass(frozen=True, kw_only=True)
class RoundTheorem:
    """An upper bound on E|x_t - x*|^2, or on |x_t - x*|^2 of every run.

    Attributes
    ----------
    claim
        Id of the claim that states the theorem; empty if no claim states it.
    algorithm, client_class
        The algorithm, and the largest class of clients: ``"convex"`` contains ``"strong"``.
    needs
        Function of a case that yields its hypotheses.
    squared_bound
        Function of a case and t that gives the bound; t may be an array.
    rate, weight
        Factor by which |x - x*|^2 plus ``weight`` times the controls' mean square falls in a round; None if the theorem
        has no such factor.
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
    """Return the theorem that |x - x*|^2 + weight * mean |control - its limit|^2 falls by a rate, from controls 0."""

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
