"""(29) and (30): Chebyshev for the two losses, against exact chi-square tails."""

from __future__ import annotations

from collections.abc import Callable

from theory.basin_pairs import Pair, pairs
from theory.claim import Context, register
from theory.counterexample import Evaluate, Instance, Number, encode, replay_with, seek
from theory.loss_tails import at_most, exceeds, midpoint
from theory.verdict import Finding


def chebyshev(pair: Pair, constant: float = 64.0) -> float:
    """64 sigma^2 / (Delta^4 mu^2 n')."""
    task = pair.task
    return constant * pair.sigma**2 / (task.separation**4 * task.strong_convexity**2 * task.samples)


def against_chebyshev(tail: Callable[[Pair], float], constant: float = 64.0) -> Evaluate:
    """Make the evaluation of a tail against Chebyshev's bound."""

    def evaluate(instance: Instance) -> tuple[Number, Number]:
        pair = Pair(instance)
        return tail(pair), chebyshev(pair, constant) * (1 + 1e-9)

    return evaluate


def own_above(pair: Pair) -> float:
    """Left side of (29)."""
    return exceeds(pair, 0, midpoint(pair))


def other_below(pair: Pair) -> float:
    """Left side of (30)."""
    return at_most(pair, 1, midpoint(pair))


def check_tail(tail: Callable[[Pair], float], context: Context, name: str, constant: float = 64.0) -> Finding:
    """Search the basin for a pair of models whose exact tail exceeds Chebyshev's bound."""
    budget = 300
    return seek(
        context, pairs(), against_chebyshev(tail, constant),
        violated=lambda instance, measured, allowed: (
            f"{name} = {float(measured):.4g} exceeds {constant:g} sigma^2 / (Delta^4 mu^2 n') = {float(allowed):.4g} "
            "at " + ", ".join(f"{key} {encode(number)}" for key, number in instance.items())
        ),
        consistent=f"exact {name} is within {constant:g} sigma^2 / (Delta^4 mu^2 n') at "
        f"{context.number_of_trials(budget)} pairs of models in the basin; slack: smallest ratio",
        budget=budget,
    )  # fmt: skip


@register("cfl-mgd/equation-29", label="(29)", kind="upper", replay=replay_with(against_chebyshev(own_above)))
def equation_29(context: Context) -> Finding:
    """The own loss exceeds delta with probability at most 64 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        Models in the paper's basin; sigma^2 bounds the variance of one row's loss at both models;
        delta = (phi^1(chi_1) + phi^1(chi_p)) / 2.

    Statement
        P(phi_i(chi_1) > delta) <= 64 sigma^2 / (Delta^4 mu^2 n').

    Symbols
        n' ``samples``, Delta ``separation``, mu ``strong_convexity``.

    Source
        Zhao et al. (2023), (29): Chebyshev with the gap mu Delta^2 / 8 of (28) and variance
        sigma^2 / n'. Upper bound, loose: the truth is exponentially small in n'.

    Checked
        Gaussian regression: the exact chi-square tail at pairs of models in the basin, hypothesis
        searching for the largest ratio.
    """
    return check_tail(own_above, context, "P(phi_i(chi_1) > delta)")


@register(
    "cfl-mgd/equation-30", label="(30)", kind="upper", replay=replay_with(against_chebyshev(other_below))
)
def equation_30(context: Context) -> Finding:
    """The other loss is at most delta with probability at most 64 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        As (29).

    Statement
        P(phi_i(chi_p) <= delta) <= 64 sigma^2 / (Delta^4 mu^2 n').

    Symbols
        n' ``samples``, Delta ``separation``, mu ``strong_convexity``.

    Source
        Zhao et al. (2023), (30). Upper bound, loose.

    Checked
        As (29).
    """
    return check_tail(other_below, context, "P(phi_i(chi_p) <= delta)")
