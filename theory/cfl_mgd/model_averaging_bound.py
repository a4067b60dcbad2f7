"""(17)-(20): the unrolled bound for model averaging."""

from __future__ import annotations

import math
from fractions import Fraction

from theory.alike_clients import AlikeClients, alike, confirm_next, defined, spell
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with, seek
from theory.verdict import Finding, Kind


def evaluate_17(instance: Instance) -> tuple[Number, Number]:
    """|e_(t+1)| and the first line of (17), M eps_t + (beta (1 + beta) / M) eps_(t-1)^2 / eps_(t-2)^2."""
    one = AlikeClients(instance)
    t = one.round
    return abs(one.error(t + 1)), one.base * abs(one.error(t)) + one.weight / one.base * one.ratio(t - 1)


@register("cfl-mgd/equation-17", label="(17)", kind="upper", replay=replay_with(evaluate_17),
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_17(context: Context) -> Finding:
    """A round grows the error by M, plus a ratio of old errors whose coefficient M divides.

    Hypotheses
        As (16).

    Statement
        eps_(t+1) <= M eps_t + (beta (1 + beta) / M) eps_(t-1)^2 / eps_(t-2)^2, the first line of (17);
        the others repeat it.

    Symbols
        M = max(1 + eta L / |C_p|, beta (1 + beta)) > 1.

    Source
        Zhao et al. (2023), (17). Upper bound. Beyond (16) it divides a term by M > 1. Its last line,
        M^(t+1) eps_(-1) plus something, grows with t and says nothing about convergence. Its
        monotonicity: ``cfl-mgd/equation-17-monotone``.

    Checked
        Runs of equal scalar clients from 1/2, 1 or 2 in rational arithmetic; hypothesis finds the
        simplest violation, and option II is run on it.
    """
    starts = (Fraction(1, 2), Fraction(1), Fraction(2))
    return seek(
        context, alike(starts).filter(defined(evaluate_17)), evaluate_17, violated=spell("first line of (17)"),
        consistent="no run breaks it", confirm=confirm_next,
    )  # fmt: skip


def named_round(start: Fraction) -> int:
    """The paper's t = floor(log2(1 / eps_0)), exactly."""
    t = 0
    while Fraction(2) ** (t + 1) <= 1 / start:
        t += 1
    return t


def evaluate_monotone(instance: Instance) -> tuple[Number, Number]:
    """eps_(t+1) and eps_t at t = floor(log2(1 / eps_0))."""
    t = named_round(Fraction(instance["start"]))
    one = AlikeClients({**instance, "round": t})
    return abs(one.error(t + 1)), abs(one.error(t))


def confirm_monotone(instance: Instance, measured: float) -> None:
    """Confirm eps_(t+1) by a run of option II."""
    confirm_next({**instance, "round": named_round(Fraction(instance["start"]))}, measured)


@register("cfl-mgd/equation-17-monotone", label="(17), sentence after it", kind="upper",
          replay=replay_with(evaluate_monotone), repaired_by="cfl-mgd/lemma-h")  # fmt: skip
def equation_17_monotone(context: Context) -> Finding:
    """At t = floor(log2(1 / eps_0)) the error does not grow, and so it never does.

    Hypotheses
        As (17), eps_0 <= 1.

    Statement
        For t = floor(log2(1 / eps_0)): eps_(t+1) <= eps_t.

    Symbols
        eps_t = ||chi_p^t - chi*_p||.

    Source
        Zhao et al. (2023), the sentence between (17) and (18). Upper bound. With momentum the error
        is not monotone: Lemma H says how far it may rise.

    Checked
        Runs of equal scalar clients from 1/2, 1/4 or 1/10 in rational arithmetic; hypothesis finds
        the simplest violation, and option II is run on it.
    """

    def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
        t = named_round(Fraction(instance["start"]))
        return spell("eps_(t+1) <= eps_t")({**instance, "round": t}, measured, allowed)

    from hypothesis import strategies as st

    starts = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))
    instances = alike(starts).flatmap(
        lambda drawn: st.just({name: number for name, number in drawn.items() if name != "round"})
    )
    return seek(
        context, instances, evaluate_monotone, violated=sentence, consistent="no run breaks it",
        confirm=confirm_monotone,
    )  # fmt: skip


def evaluate_18(instance: Instance) -> tuple[Number, Number]:
    """First and second line of (18)."""
    one = AlikeClients(instance)
    t, base, start = one.round, one.base, abs(one.error(-1))
    factor = one.weight / base
    first = base ** (t + 1) * start
    second = first + one.momentum**2 / (base - 1) * one.error(t - 1) ** 2
    first += sum((factor ** (t - k) * one.ratio(k) for k in range(t)), Fraction(0))
    shift = one.momentum / base
    for k in range(t - 1):
        quotient = abs(one.error(k)) / abs(one.error(k - 1))
        bracket = (quotient - shift) ** 2 - shift**2
        second += one.weight / (base - 1) * bracket * one.error(k - 1) ** 2
    return first, second


@register("cfl-mgd/equation-18", label="(18)", kind="upper", replay=replay_with(evaluate_18),
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_18(context: Context) -> Finding:
    """The sum of ratios in (17) is at most a sum of squared errors.

    Hypotheses
        As (17), t >= 1.

    Statement
        M^(t+1) eps_(-1) + sum_(k<t) (beta (1 + beta) / M)^(t-k) eps_k^2 / eps_(k-1)^2
        <= M^(t+1) eps_(-1) + (beta (1 + beta) / (M - 1)) sum_(k<t-1) [(eps_k / eps_(k-1) - beta / M)^2
        - beta^2 / M^2] eps_(k-1)^2 + (beta^2 / (M - 1)) eps_(t-1)^2.

    Symbols
        M as (17).

    Source
        Zhao et al. (2023), (18), from its first to its second line. Upper bound. The left side's sum
        does not change when all errors are scaled, the right side's vanishes with them.

    Checked
        Both lines along runs of equal scalar clients from 1/2, 1/4 or 1/100 in rational arithmetic;
        hypothesis finds the simplest violation.
    """
    starts = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 100))
    admissible = alike(starts).filter(lambda instance: instance["round"] >= 1).filter(defined(evaluate_18))
    return seek(
        context, admissible, evaluate_18, violated=spell("first against second line of (18)"),
        consistent="no run breaks it",
    )  # fmt: skip


@register("cfl-mgd/equation-19", label="(19)", kind="upper",
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_19(context: Context) -> Finding:
    """The start is at most a term of order 1 / T plus more than the start.

    Hypotheses
        As (18); t <= log2(1 / eps_0), so that eps_0 <= 1, and eps_(-1) = eps_0 at rest.

    Statement
        eps_0 <= (2 M^3 / beta) (1 / (T + 2)) (eta L / |C_p| + beta (1 + beta)) log2(1 / eps_0)
        + ((M^(t+2) - 1) / (M - 1)) eps_(-1).

    Symbols
        M as (17).

    Source
        Zhao et al. (2023), (19). Upper bound; of eps_0, not of eps_T.

    Proof that it says nothing
        (M^(t+2) - 1) / (M - 1) = 1 + M + ... + M^(t+1) > 1 and the first term is not negative:
        every eps_0 in (0, 1] satisfies it, whatever the algorithm does.

    Checked
        The coefficient of eps_(-1) in rational arithmetic, over random M > 1 and t, is at least 1 + M,
        and the right side is compared with eps_0.
    """
    stream = context.generator("parameters")
    trials = context.number_of_trials(300)
    coefficients, broken = [], 0
    for _ in range(trials):
        # any M > 1, whatever the algorithm
        base = 1 + Fraction(int(stream.integers(1, 200)), 100)
        t, start = int(stream.integers(0, 12)), Fraction(int(stream.integers(1, 101)), 100)
        coefficient = (base ** (t + 2) - 1) / (base - 1)
        coefficients.append(coefficient / (1 + base))
        leading = 2 * base**3 * math.log2(1 / float(start))
        broken += leading < 0 or coefficient * start < start
    smallest = float(min(coefficients))
    return Finding(
        verdict=Kind.VACUOUS if smallest >= 1 and broken == 0 else Kind.CONSISTENT,
        reason="(M^(t+2) - 1) / (M - 1) = 1 + M + ... + M^(t+1) > 1: the right side exceeds eps_0 by itself, for every "
        f"eps_0 <= 1; smallest coefficient / (1 + M) over {trials} random M and t",
        measured=smallest,
        bound=1.0,
        trials=trials,
        failures=0,
    )


def right_side_20(base: float, momentum: float, start: float, rounds: int, growth: float) -> float:
    """Right side of (20); ``growth`` is eta L / |C_p|."""
    first = 2 * base**3 / (momentum * (rounds + 2)) * (growth + momentum * (1 + momentum))
    return first * math.log2(1 / start) + base ** (rounds + 3) / (base - 1) * start


@register("cfl-mgd/equation-20", label="(20)", kind="upper",
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def equation_20(context: Context) -> Finding:
    """The start is at most a term of order 1 / T plus 27/4 of the start.

    Hypotheses
        As (19).

    Statement
        eps_0 <= (2 M^3 / beta) (1 / (T + 2)) (eta L / |C_p| + beta (1 + beta)) log2(1 / eps_0)
        + (M^(T+3) / (M - 1)) eps_0.

    Symbols
        M as (17), T the number of rounds.

    Source
        Zhao et al. (2023), (20), "the upper bound of the rate of convergence". Upper bound; of eps_0.

    Proof that it says nothing
        M^(T+3) / (M - 1) >= M^3 / (M - 1) >= 27/4, attained at M = 3/2, T = 0, and the first term is
        not negative for eps_0 <= 1. The right side tends to infinity with T.

    Checked
        4 M^3 - 27 (M - 1) = (2 M - 3)^2 (M + 3) in rational arithmetic at random M, which proves the
        inequality for all M > 1, and the right side for growing T and for eps_0 > 1.
    """
    stream = context.generator("parameters")
    trials = context.number_of_trials(300)
    wrong, smallest = 0, math.inf
    for number in stream.integers(1, 300, trials):
        base = 1 + Fraction(int(number), 100)
        wrong += 4 * base**3 - 27 * (base - 1) != (2 * base - 3) ** 2 * (base + 3)
        smallest = min(smallest, float(base**3 / (base - 1)))
    growing = [right_side_20(1.9, 0.9, 0.5, rounds, 0.5) for rounds in (0, 10, 50)]
    vacuous = wrong == 0 and smallest >= 6.75 and growing == sorted(growing)
    return Finding(
        verdict=Kind.VACUOUS if vacuous else Kind.CONSISTENT,
        reason="M^(T+3) / (M - 1) >= 27/4 > 1, since 4 M^3 - 27 (M - 1) = (2 M - 3)^2 (M + 3): true for every "
        f"eps_0 <= 1; at M = 1.9, beta = .9, eps_0 = .5 the right side is {growing[0]:.3g}, {growing[1]:.3g} and "
        f"{growing[2]:.3g} for T = 0, 10 and 50",
        measured=smallest,
        bound=1.0,
        trials=trials,
        failures=0,
    )
