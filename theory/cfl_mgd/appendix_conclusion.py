"""(A35)-(A38): the contraction in one round, its floor, and the condition on it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from theory.cfl_mgd.lemma_2 import confirm, evaluate, sentence
from theory.cfl_mgd.printed_floor import FloorConstants, printed_floor
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.experiments import experiment
from theory.settings import Setting
from theory.verdict import Finding, Kind


def seek_round(context: Context) -> Finding:
    """Search two noise-free scalar clusters for a round that breaks the contraction."""
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(2, 10),
            "own": st.integers(1, 9),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "start": st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(1, 10)]),
            "round": st.integers(0, 6),
        }
    )
    return seek(
        context,
        instances.filter(lambda instance: instance["own"] < instance["clients"]),
        evaluate,
        violated=sentence,
        consistent="no instance of two scalar clusters breaks it",
        budget=2000,
        confirm=confirm,
    )


@register("cfl-mgd/a35", label="(A35)", kind="probability", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/lemma-h")  # fmt: skip
def a35(context: Context) -> Finding:
    """In a round the error of cluster 1 shrinks by 1 - l mu / 8L, up to seven terms.

    Hypotheses
        As (A8), (A17) and (A34).

    Statement
        With probability at least 1 - lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 -
        4 exp(-clm), ||chi_1^(t+1) - chi*_1|| <= (1 - l mu / 8L) ||chi_1^t - chi*_1|| + the floors of (A8),
        (A17) and (A34).

    Symbols
        l = min l_p ``proportions``.

    Source
        Zhao et al. (2023), (A35). Probability; inherits (A34). The union counts the event of (A6) twice
        and is below 1 only for l m > 8 log 4 = 11.1.

    Checked
        On two scalar clusters with v = sigma = 0, where the floors are l / 4 and nothing is random:
        hypothesis searches for the simplest violation in rational arithmetic, and the algorithm is run.
    """
    return seek_round(context)


def floor_of_descent(setting: Setting, deviation: float, level: float) -> float:
    """Last term of (A8)."""
    root = math.sqrt(min(setting.proportions) * setting.clients * setting.samples)
    return 2 * deviation / (level * setting.smoothness * root)


def floor_of_intruders(
    setting: Setting, deviation: float, spread: float, level: float, scale: float
) -> float:
    """Bound of (A17) for scale = 1; of (A33) for scale = beta and v replaced by v sqrt(t) / (1 - beta)."""
    gap = setting.strong_convexity * setting.separation**2
    share = spread**2 / (gap**2 * setting.samples)
    noise = deviation * math.sqrt(setting.clusters / setting.samples) / (level * setting.smoothness)
    return scale * (384 * share / level + noise * math.sqrt(128 * share / (setting.clients * level)))


def floor_of_momentum(setting: Setting, deviation: float, spread: float, level: float, t: int) -> float:
    """Bound of (A34)."""
    beta, share = setting.momentum, min(setting.proportions)
    carried = deviation * math.sqrt(t) / (1 - beta)
    root = math.sqrt(share / (setting.clients * setting.samples))
    own = beta * carried * root / (2 * level * setting.smoothness) + share / 4
    return own + floor_of_intruders(setting, carried, spread, level, beta)


@register("cfl-mgd/a36", label="(A36)", kind="definition")
def a36(context: Context) -> Finding:
    """rho_0 is the sum of the floors of (A8), (A17) and (A34).

    Hypotheses
        None: a definition.

    Statement
        rho_0 = 2 v / (lambda_0 L sqrt(l m n')) + c_1 sigma^2 / (mu^2 lambda_2 Delta^4 n') + c_2 v sigma
        sqrt(P) / (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)) + c_3 beta v sqrt(l t) / (lambda_3 (1 - beta) L
        sqrt(m n')) + c_4 l + c_5 beta sigma^2 / (mu^2 lambda_2 Delta^4 n') + c_6 beta sigma v sqrt(P t) /
        (lambda_4 mu L Delta^2 n' (1 - beta) sqrt(m lambda_2)), and lambda_5 = lambda_0 + P lambda_1 +
        2 lambda_2 + lambda_3 + P lambda_4 + 4 exp(-clm).

    Symbols
        As (A8), (A17), (A34).

    Source
        Zhao et al. (2023), (A36). Definition. It grows with t, which (A37), (A39) and Theorem 1 forget, and
        its term c_4 l is a length only in units of (A10).

    Checked
        The formula that the claims on Theorem 1 use against the three floors, written anew from (A8), (A17)
        and (A34), on random settings, momentum and rounds.
    """
    stream = context.generator("settings")
    trials = context.number_of_trials(200)
    worst = 0.0
    base = experiment("S2", 0.5).setting
    for _ in range(trials):
        setting = replace(
            base,
            clients=int(stream.integers(10, 1000)),
            samples=int(10 ** stream.uniform(0, 5)),
            momentum=float(stream.uniform(0, 0.99)),
            smoothness=float(stream.uniform(0.5, 3)),
            strong_convexity=float(stream.uniform(0.01, 0.5)),
            separation=float(stream.uniform(0.1, 3)),
        )
        v, sigma, level = (float(number) for number in stream.uniform(0.01, 1, 3))
        t = int(stream.integers(1, 100))
        whole = printed_floor(
            setting, round_number=t, gradient_deviation=v, loss_deviation=sigma, failure=level,
            constants=FloorConstants(),
        )  # fmt: skip
        parts = (
            floor_of_descent(setting, v, level)
            + floor_of_intruders(setting, v, sigma, level, 1.0)
            + floor_of_momentum(setting, v, sigma, level, t)
        )
        worst = max(worst, abs(whole / parts - 1))
    return Finding(
        verdict=Kind.VIOLATED if worst > 1e-10 else Kind.CONSISTENT,
        reason=f"largest relative difference of (A36) and the three floors over {trials} settings",
        measured=worst,
        bound=1e-10,
        trials=trials,
        failures=int(worst > 1e-10),
    )


@register("cfl-mgd/a37", label="(A37)", kind="probability", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/lemma-h")  # fmt: skip
def a37(context: Context) -> Finding:
    """In a round every cluster's error shrinks by 1 - l mu / 8L, up to rho_0.

    Hypotheses
        As (A35).

    Statement
        With probability at least 1 - P lambda_5, for all p, ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L)
        ||chi_p^t - chi*_p|| + rho_0.

    Symbols
        rho_0 and lambda_5 of (A36).

    Source
        Zhao et al. (2023), (A37) = (31) of Lemma 2. Probability; inherits (A35). "For any lambda_5 in
        (0, 1)" needs l m > 8 log 4.

    Checked
        As (A35).
    """
    return seek_round(context)


@register("cfl-mgd/a38", label="(A38)", kind="hypothesis", repaired_by="cfl-mgd/theorem-b")
def a38(context: Context) -> Finding:
    """The floor is small enough for the iterates to stay in the basin.

    Hypotheses
        (A36) with c_4 = 1/4, max ||chi*|| <= 1 and so Delta <= 2.

    Statement
        rho_0 <= (l / 32) (mu / L)^(3/2) Delta.

    Symbols
        l = min l_p, Delta ``separation``.

    Source
        Zhao et al. (2023), (A38). It is what keeps ||chi_p - chi*_p|| <= sqrt(mu / L) Delta / 4 under (A37):
        ``cfl-mgd/a38-invariance``.

    Checked
        rho_0 >= c_4 l = l / 4, even without noise and momentum, while the right side is at most l / 16: no
        instance meets it. Counted on random (l, L / mu, Delta) and the corner l = 1/2, L = mu, Delta = 2.
    """
    stream = context.generator("triples")
    trials = context.number_of_trials(1_000_000)
    share = stream.uniform(1e-9, 0.5, trials)
    condition = 10 ** stream.uniform(0, 4, trials)
    separation = stream.uniform(0, 2, trials)
    share[0], condition[0], separation[0] = 0.5, 1.0, 2.0
    right = share / 32 * condition**-1.5 * separation
    met = int((FloorConstants().c4 * share <= right).sum())
    best = float((right / share).max()) * 4
    return Finding(
        verdict=Kind.CONSISTENT if met else Kind.VACUOUS,
        reason=f"l/4 <= rho_0 <= (l/32) (mu/L)^(3/2) Delta <= l/16 is met by {met} of {trials} triples "
        f"(l, L/mu, Delta); the right side is at most {best:.3g} of c_4 l",
        measured=float(met),
        bound=0.0,
        slack=best,
        trials=trials,
        failures=0,
    )


def evaluate_invariance(instance: Instance) -> tuple[Number, Number]:
    """Bound of (A37) on the next error, and the basin radius; L / mu is a square."""
    root, share = Fraction(instance["root"]), Fraction(instance["share"])
    separation = Fraction(instance["separation"])
    radius = separation / (4 * root)
    floor = Fraction(instance["part_of_floor"]) * share / 32 / root**3 * separation
    return (1 - share / (8 * root**2)) * Fraction(instance["part_of_radius"]) * radius + floor, radius


@register(
    "cfl-mgd/a38-invariance", label="after (A38)", kind="tight", replay=replay_with(evaluate_invariance)
)
def a38_invariance(context: Context) -> Finding:
    """Under (A37) and (A38) the basin is never left.

    Hypotheses
        (A37) and (A38), were they true.

    Statement
        ||chi_p^t - chi*_p|| <= sqrt(mu / L) Delta / 4 implies the same for t + 1.

    Symbols
        As (A38).

    Source
        Zhao et al. (2023), the line after (A38). Tight: an equality on the rim with equality in (A38).

    Checked
        hypothesis searches l, sqrt(L / mu), Delta, the error and the floor, in rational arithmetic.
    """
    from hypothesis import strategies as st

    part = st.fractions(0, 1, max_denominator=8)
    instances: Any = st.fixed_dictionaries(
        {
            "root": st.fractions(1, 20, max_denominator=8),
            "share": st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=100),
            "separation": st.fractions(Fraction(1, 10), 2, max_denominator=10),
            "part_of_radius": part,
            "part_of_floor": part,
        }
    )
    return seek(
        context,
        instances,
        evaluate_invariance,
        violated=lambda instance, measured, allowed: f"{encode(measured)} > {encode(allowed)} at {instance}",
        consistent="no numbers break it; slack: smallest radius / bound on the next error",
        budget=100,
    )
