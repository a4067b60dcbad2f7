"""(A39)-(A42): what T rounds of a contraction with a floor give."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from theory.claim import Context, register
from theory.counterexample import Evaluate, Instance, Number, encode, replay_with, seek
from theory.verdict import Finding


class Recursion:
    """The worst case of (A37): e_(t+1) = (1 - l mu / 8L) e_t + rho_0, from the rim of the basin.

    Attributes
    ----------
    root
        sqrt(L / mu), rational.
    share, separation
        l and Delta.
    floor
        rho_0 > 0, a part of what (A38) allows.
    decay
        x = l mu / 8L.
    start
        sqrt(mu / L) Delta / 4.
    """

    def __init__(self, instance: Instance) -> None:
        self.root, self.share = Fraction(instance["root"]), Fraction(instance["share"])
        self.separation = Fraction(instance["separation"])
        allowed = self.share / 32 / self.root**3 * self.separation
        self.floor = Fraction(instance["part_of_floor"]) * allowed
        self.decay = self.share / (8 * self.root**2)
        self.start = self.separation / (4 * self.root)

    @property
    def argument(self) -> Fraction:
        """Argument of the logarithm in T: l mu Delta / (32 rho_0 L), at least sqrt(L / mu) by (A38)."""
        return self.share * self.separation / (32 * self.floor * self.root**2)

    @property
    def radius(self) -> Fraction:
        """rho of (A42)."""
        return 16 * self.root**2 / self.share * self.floor

    def rounds(self) -> int:
        """T of Theorem 1, rounded up."""
        return math.ceil(math.log(self.argument) / self.decay)

    def after(self, rounds: int) -> Fraction:
        """e_T, in closed form."""
        kept = (1 - self.decay) ** rounds
        return kept * self.start + (1 - kept) / self.decay * self.floor


def recursions(**more: Any) -> Any:
    """Give a hypothesis strategy of recursions; few rounds, so that fractions stay short."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "root": st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)]),
            "share": st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(1, 10)]),
            "separation": st.sampled_from([Fraction(2), Fraction(1), Fraction(1, 2)]),
            "part_of_floor": st.fractions(Fraction(1, 20), 1, max_denominator=20),
            **more,
        }
    )


def seek_recursion(context: Context, evaluate: Evaluate, **more: Any) -> Finding:
    """Search the recursions for a violation, in rational arithmetic."""
    return seek(
        context,
        recursions(**more),
        evaluate,
        violated=lambda instance, measured, allowed: (
            f"{float(measured):.6g} > {float(allowed):.6g} at sqrt(L/mu) = {encode(instance['root'])}, l = "
            f"{encode(instance['share'])}, Delta = {encode(instance['separation'])}, rho_0 = "
            f"{encode(Recursion(instance).floor)}"
        ),
        consistent="no recursion breaks it; slack: smallest bound / value",
        budget=120,
    )


def evaluate_iterated(instance: Instance) -> tuple[Number, Number]:
    """e_T of the recursion, step by step, and (A39)."""
    one, rounds = Recursion(instance), int(instance["rounds"])
    error = one.start
    for _ in range(rounds):
        error = (1 - one.decay) * error + one.floor
    return error, (1 - one.decay) ** rounds * one.start + one.floor / one.decay


@register("cfl-mgd/a39", label="(A39)", kind="upper", replay=replay_with(evaluate_iterated))
def a39(context: Context) -> Finding:
    """T rounds of (A37) give (1 - l mu / 8L)^T ||e_0|| + (8L / l mu) rho_0.

    Hypotheses
        (A37) in every round, with the same rho_0; see ``cfl-mgd/a37`` for whether it holds.

    Statement
        ||chi_p^T - chi*_p|| <= (1 - l mu / 8L)^T ||chi_p^0 - chi*_p|| + (8L / l mu) rho_0.

    Symbols
        l = min l_p, rho_0 of (A36).

    Source
        Zhao et al. (2023), (A39): a geometric sum. Upper bound, attained as T grows. Each round costs
        P lambda_5 of probability, T P lambda_5 in all, which the paper leaves out.

    Checked
        The recursion with equality in (A37), round by round in rational arithmetic, T up to 30.
    """
    from hypothesis import strategies as st

    return seek_recursion(context, evaluate_iterated, rounds=st.integers(0, 30))


def evaluate_equality(instance: Instance) -> tuple[Number, Number]:
    """Relative difference of the second and third line's end of (A40), T not rounded."""
    one = Recursion(instance)
    exponent = math.log(one.argument) * math.log1p(-float(one.decay)) / float(one.decay)
    return -math.expm1(exponent + math.log(one.argument)), 1e-9


@register("cfl-mgd/a40", label="(A40)", kind="identity", replay=replay_with(evaluate_equality),
          repaired_by="cfl-mgd/a40-meant")  # fmt: skip
def a40(context: Context) -> Finding:
    """After T = (8L / l mu) log(l mu Delta / (32 rho_0 L)) rounds, exactly 8 rho_0 sqrt(L / mu) / l is left.

    Hypotheses
        (A38), ||chi_p^0 - chi*_p|| on the rim of the basin.

    Statement
        (sqrt(mu / L) Delta / 4) (1 - l mu / 8L)^((8L / l mu) log(l mu Delta / (32 rho_0 L))) =
        (sqrt(mu / L) Delta / 4) exp(-log(l mu Delta / (32 rho_0 L))) = (8 rho_0 / l) sqrt(L / mu).

    Symbols
        As (A39).

    Source
        Zhao et al. (2023), (A40), as printed: (1 - x)^(1/x) = 1/e. Identity; it is less, since
        log(1 - x) < -x.

    Checked
        hypothesis searches l, L / mu, Delta and rho_0 for a relative difference above 1e-9; the logarithms
        are floating point, the difference is at least (x / 2) log(...) up to second order.
    """
    return seek_recursion(context, evaluate_equality)


def evaluate_remainder(instance: Instance) -> tuple[Number, Number]:
    """What is left of e_0 after T rounds, rounded up, and (8 rho_0 / l) sqrt(L / mu)."""
    one = Recursion(instance)
    return (1 - one.decay) ** one.rounds() * one.start, 8 * one.floor / one.share * one.root


@register("cfl-mgd/a40-meant", label="(A40), meant", kind="upper", replay=replay_with(evaluate_remainder))
def a40_meant(context: Context) -> Finding:
    """After T rounds, rounded up, at most 8 rho_0 sqrt(L / mu) / l is left of the start.

    Hypotheses
        As (A40); T = (8L / l mu) log(l mu Delta / (32 rho_0 L)) rounded up to an integer.

    Statement
        (1 - l mu / 8L)^T ||chi_p^0 - chi*_p|| <= (8 rho_0 / l) sqrt(L / mu).

    Symbols
        As (A39).

    Source
        What (A41) of Zhao et al. (2023) uses of (A40). Upper bound.

    Checked
        hypothesis searches l, L / mu, Delta and rho_0, in rational arithmetic.
    """
    return seek_recursion(context, evaluate_remainder)


def evaluate_sum(instance: Instance) -> tuple[Number, Number]:
    """(8 rho_0 / l) sqrt(L / mu) + (8L / mu l) rho_0, and (16 L / mu l) rho_0."""
    one = Recursion(instance)
    return 8 * one.floor / one.share * (one.root + one.root**2), one.radius


@register("cfl-mgd/a41", label="(A41)", kind="tight", replay=replay_with(evaluate_sum))
def a41(context: Context) -> Finding:
    """What is left of the start and the floors together are at most (16 L / mu l) rho_0.

    Hypotheses
        (A39) and (A40) as meant.

    Statement
        ||chi_p^T - chi*_p|| <= (8 rho_0 / l) sqrt(L / mu) + (8L / mu l) rho_0 <= (16 L / mu l) rho_0.

    Symbols
        As (A39).

    Source
        Zhao et al. (2023), (A41). Upper bound, the second an equality at L = mu.

    Checked
        hypothesis searches l, L / mu, Delta and rho_0, in rational arithmetic.
    """
    return seek_recursion(context, evaluate_sum)


def evaluate_end(instance: Instance) -> tuple[Number, Number]:
    """e_T of the recursion after T rounds, rounded up, and rho of (A42)."""
    one = Recursion(instance)
    return one.after(one.rounds()), one.radius


@register("cfl-mgd/a42", label="(A42)", kind="upper", replay=replay_with(evaluate_end))
def a42(context: Context) -> Finding:
    """After T rounds the error is at most rho = (16 L / mu l) rho_0.

    Hypotheses
        (A37) in every round and (A38), were they true; T rounded up.

    Statement
        rho = (16 L / mu l) rho_0, T = (8L / l mu) log(Delta / 2 rho), which is that of (A40).

    Symbols
        As (A39).

    Source
        Zhao et al. (2023), (A42). Upper bound, conditional: ``cfl-mgd/a38`` finds (A38) unsatisfiable with
        the paper's constants.

    Checked
        The recursion with equality in (A37) from the rim of the basin, in rational arithmetic.
    """
    return seek_recursion(context, evaluate_end)


def evaluate_printed(instance: Instance) -> tuple[Number, Number]:
    """e_T of the recursion after the T of Theorem 1, and its printed rho, for a given p."""
    one = Recursion(instance)
    radius = 16 * one.root**2 / Fraction(instance["p"]) * one.floor
    rounds = math.ceil(max(0.0, math.log(one.separation / (2 * radius))) / one.decay)
    return one.after(rounds), radius


@register("cfl-mgd/a42-printed", label="Theorem 1, rho", kind="upper", replay=replay_with(evaluate_printed),
          repaired_by="cfl-mgd/a42")  # fmt: skip
def a42_printed(context: Context) -> Finding:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds the error is at most rho = (16 L / mu p) rho_0.

    Hypotheses
        As (A42); p the number of the cluster.

    Statement
        rho = (16 L / mu p) rho_0, p in the place of l.

    Symbols
        As (A39).

    Source
        Zhao et al. (2023), Theorem 1, as printed. Upper bound; a misprint of (A42). Since p >= 1 >= 2 l, the
        floor (8L / l mu) rho_0 of (A39) alone reaches it.

    Checked
        As (A42), hypothesis searching p = 1 .. 4 too.
    """
    from hypothesis import strategies as st

    return seek_recursion(context, evaluate_printed, p=st.integers(1, 4))
