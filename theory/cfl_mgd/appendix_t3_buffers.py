"""(A18)-(A22): the momentum T_3 of a round, and what the clients' buffers hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import judge_identity, momentum_runs
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.prescribed_samples import Rounds, Table, confirm_play, play
from theory.two_clusters import confirm_path, exact_path, path_instances
from theory.verdict import Finding

LABELS = (0, 0, 1, 1)
"""True clusters of the four clients of the prescribed runs."""


@register("cfl-mgd/a18", label="(A18)", kind="definition")
def a18(context: Context) -> Finding:
    """The momentum of a round is that of the own clients plus that of the intruders.

    Hypotheses
        Option I as printed.

    Statement
        T_3 = (beta eta / m) sum_(C_1) u_i^t = T_31 + T_32, over C_1 n C*_1 and over C_1 - C*_1, and
        chi_1^(t+1) = chi_1^t - (eta/m) sum_(C_1) g_i^t - T_3.

    Symbols
        u_i^t the buffer that client i holds before round t, after line 15.

    Source
        Zhao et al. (2023), (A18) = (37), with the first line of (32). Definition.

    Checked
        On recorded runs with clients that change cluster: T_31 + T_32 from the algorithm's own
        buffers, against the next model.
    """
    residuals, runs = [], 0
    for one in momentum_runs(context):
        runs += 1
        seen, step = one.seen, one.step / one.task.clients
        for t in range(len(seen.assignments)):
            gradients = seen.gradients[t][seen.assignments[t] == 0].sum(axis=0)
            own = one.sum_over(t, seen.buffers[t], own=True)
            foreign = one.sum_over(t, seen.buffers[t], own=False)
            after = seen.models[t, 0] - step * gradients - one.momentum * step * (own + foreign)
            residuals.append(float(np.abs(after - seen.models[t + 1, 0]).max()))
    return judge_identity(
        residuals, what="chi_1 less gradients, T_31 and T_32 against the next model", runs=runs
    )


def samples_of(instance: Instance) -> tuple[Table, Table, list[Fraction], Fraction]:
    """Choice and gradient batches, first models and momentum of a prescribed run of t + 1 rounds.

    Cluster 1 has clients 0 and 1, cluster 2 clients 2 and 3, chi* = +-1. Gradient batches of clients 0
    and 1 are 1 +- spread, those of 2 and 3 are -1. Client 3 chooses on the outlier +1 in the rounds
    whose bits ``outliers`` has, on -1 otherwise; the other clients choose on their cluster's mean.
    """
    spread, rounds = Fraction(instance["spread"]), int(instance["round"]) + 1
    ordinary = [Fraction(1), Fraction(1), Fraction(-1), Fraction(-1)]
    outlying = [*ordinary[:3], Fraction(1)]
    choice = [outlying if int(instance["outliers"]) >> t & 1 else ordinary for t in range(rounds)]
    gradient = [[1 + spread, 1 - spread, Fraction(-1), Fraction(-1)]] * rounds
    start = Fraction(instance["start"])
    return choice, gradient, [1 - start, -1 + start], Fraction(instance["momentum"])


def formula(rounds: Rounds, t: int, momentum: Fraction) -> list[Fraction]:
    """Right side of (A19) for each client."""
    return [
        sum((momentum ** (t - 1 - k) * rounds.gradients[k][i] for k in range(t)), Fraction(0))
        for i in range(len(LABELS))
    ]


def discrepancy(part: Callable[[int, int], bool] | None) -> Callable[[Instance], tuple[Number, Number]]:
    """Make the evaluation of |u_i - formula|: the largest, or summed over a part of C_1 times beta eta / m.

    Parameters
    ----------
    part
        Whether a client belongs to the sum, by its cluster in round t and its label; None for the
        largest over single clients.
    """

    def evaluate(instance: Instance) -> tuple[Number, Number]:
        choice, gradient, initial, momentum = samples_of(instance)
        rounds, t = play(choice, gradient, initial, momentum), int(instance["round"])
        gaps = [u - v for u, v in zip(rounds.buffers[t], formula(rounds, t, momentum), strict=True)]
        if part is None:
            return max(abs(gap) for gap in gaps), Fraction(0)
        members = zip(gaps, rounds.assignments[t], LABELS, strict=True)
        total = sum((gap for gap, chosen, label in members if part(chosen, label)), Fraction(0))
        return momentum * abs(total) / len(LABELS), Fraction(0)

    return evaluate


def prescribed_instances(*, spread: bool) -> Any:
    """Runs of up to four rounds; with ``spread`` the own clients' batches differ and nobody errs."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {
            "round": st.integers(1, 3),
            "outliers": st.just(0) if spread else st.integers(0, 15),
            "spread": st.sampled_from([Fraction(1, 10), Fraction(1, 4)]) if spread else st.just(Fraction(0)),
            "momentum": st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10),
            "start": st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1, 4)]),
        }
    )


def confirm_samples(instance: Instance, measured: float) -> None:
    """Run the very algorithm on the samples."""
    confirm_play(*samples_of(instance))


def seek_discrepancy(context: Context, evaluate: Any, what: str, *, spread: bool) -> Finding:
    """Search the prescribed runs for a difference and confirm it with the very algorithm."""
    return seek(
        context,
        prescribed_instances(spread=spread),
        evaluate,
        violated=lambda instance, measured, _: (
            f"{what} is off by {encode(measured)} at t = {instance['round']}: m = 4, two clusters at +-1, |e_0| = "
            f"{encode(instance['start'])}, beta = {encode(instance['momentum'])}, "
            + (
                f"gradient batches 1 +- {encode(instance['spread'])}"
                if spread
                else "client 3 errs in rounds "
                + ", ".join(
                    str(t) for t in range(4) if int(instance["outliers"]) >> t & 1 and t <= instance["round"]
                )
            )
        ),
        consistent="no prescribed run tells the two sides apart",
        budget=300,
        confirm=confirm_samples,
    )


single = discrepancy(None)
own_part = discrepancy(lambda chosen, label: chosen == 0 and label == 0)
foreign_part = discrepancy(lambda chosen, label: chosen == 0 and label != 0)


@register("cfl-mgd/a19", label="(A19)", kind="identity", replay=replay_with(single),
          repaired_by="cfl-mgd/a19-sums")  # fmt: skip
def a19(context: Context) -> Finding:
    """A client's buffer holds its own past gradients.

    Hypotheses
        Option I as printed, u_i^0 = 0.

    Statement
        u_i^t = sum_(k < t) beta^(t-1-k) g_i^k for all t >= 1.

    Symbols
        u_i^t the buffer that enters round t, after line 15.

    Source
        Zhao et al. (2023), (A19). Identity; line 15 replaces u_i by its cluster's mean u_p.

    Checked
        Two own clients whose gradient batches differ, nobody in a wrong cluster: hypothesis searches
        momentum, start and round in rational arithmetic, and the algorithm's own buffers confirm.
    """
    return seek_discrepancy(context, single, "u_i", spread=True)


@register("cfl-mgd/a20", label="(A20)", kind="identity", replay=replay_with(own_part),
          repaired_by="cfl-mgd/a19-sums")  # fmt: skip
def a20(context: Context) -> Finding:
    """The own clients' momentum is the sum of their own past gradients.

    Hypotheses
        Option I as printed.

    Statement
        T_31 = (eta beta / m) sum over C_1 n C*_1 of sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        C_1 the clients that chose model 1 in round t.

    Source
        Zhao et al. (2023), (A20), by (A19). Identity; fails after a round with an intruder, whose
        gradient line 15 has mixed in.

    Checked
        Gradients without noise, a client of cluster 2 whose choice batch is an outlier in some rounds:
        hypothesis searches rounds, momentum and start in rational arithmetic, and the algorithm confirms.
    """
    return seek_discrepancy(context, own_part, "T_31", spread=False)


@register("cfl-mgd/a21", label="(A21)", kind="identity", replay=replay_with(foreign_part),
          repaired_by="cfl-mgd/a19-sums")  # fmt: skip
def a21(context: Context) -> Finding:
    """The intruders' momentum is the sum of their own past gradients.

    Hypotheses
        Option I as printed.

    Statement
        T_32 = (eta beta / m) sum over C_1 - C*_1 of sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        C_1 - C*_1 the intruders in round t.

    Source
        Zhao et al. (2023), (A21), by (A19). Identity; fails for an intruder that was one before.

    Checked
        As (A20).
    """
    return seek_discrepancy(context, foreign_part, "T_32", spread=False)


@register("cfl-mgd/a19-sums", label="(A19)-(A21), meant", kind="identity")
def a19_sums(context: Context) -> Finding:
    """Over a cluster whose members never changed, the buffers sum to the past gradients.

    Hypotheses
        Option I as printed, C_1^0 = ... = C_1^t.

    Statement
        sum_(C_1) u_i^t = sum_(C_1) sum_(k < t) beta^(t-1-k) g_i^k, so that
        T_3 = (eta beta / m) sum_(C_1) sum_(k < t) beta^(t-1-k) g_i^k = beta (chi_1^(t-1) - chi_1^t).

    Symbols
        As (A18).

    Source
        What remains of (A19)-(A21) of Zhao et al. (2023) under line 15, which keeps sums. Identity.

    Checked
        On recorded runs of random regressions with 400 rows, in the rounds up to which cluster 1 kept
        its members; single buffers do differ from (A19) there.
    """
    residuals, single_gaps, runs = [], [0.0], 0
    for one in momentum_runs(context, samples=400):
        runs += 1
        seen, step = one.seen, one.step / one.task.clients
        first = seen.assignments[0] == 0
        for t in range(1, len(seen.assignments)):
            if not np.array_equal(seen.assignments[t] == 0, first):
                break
            gap = (seen.buffers[t] - one.formula(t))[first]
            displaced = seen.models[t - 1, 0] - seen.models[t, 0] - step * seen.buffers[t][first].sum(axis=0)
            residuals.append(float(max(np.abs(gap.sum(axis=0)).max(initial=0), np.abs(displaced).max())))
            single_gaps.append(float(np.abs(gap).max(initial=0)))
    finding = judge_identity(residuals or [0.0], what="sums over an unchanged cluster", runs=runs)
    return replace(finding, reason=f"{finding.reason}; single buffers differ by up to {max(single_gaps):.2g}")


@register("cfl-mgd/a22", label="(A22)", kind="identity")
def a22(context: Context) -> Finding:
    """The weighted sum of past gradients is its distance from the present gradient, plus that gradient.

    Hypotheses
        None: algebra.

    Statement
        (eta beta / m) sum over C_1 n C*_1 of S_i = (eta beta / m) sum over C_1 n C*_1 of (S_i - grad
        phi^1(chi_1)) + (eta beta / m) |C_1 n C*_1| grad phi^1(chi_1), S_i = sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        As (A20).

    Source
        Zhao et al. (2023), (A22), second line. Identity. (A23)-(A25) repeat it without the
        parentheses: ``cfl-mgd/a22-parentheses``.

    Checked
        On recorded runs of random regressions with intruders.
    """
    residuals, runs = [], 0
    for one in momentum_runs(context):
        runs += 1
        task, step = one.task, one.momentum * one.step / one.task.clients
        for t in range(1, len(one.seen.assignments)):
            sums, slope = one.formula(t), task.expected_gradient(one.seen.models[t, 0], 0)
            count = ((one.seen.assignments[t] == 0) & (task.labels == 0)).sum()
            left = step * one.sum_over(t, sums, own=True)
            right = step * one.sum_over(t, sums - slope, own=True) + step * count * slope
            residuals.append(float(np.abs(left - right).max()))
    return judge_identity(residuals, what="both lines of (A22)", runs=runs)


def evaluate_parentheses(instance: Instance) -> tuple[Number, Number]:
    """Difference of T_31 and (A22) with the gradient outside of the sum, on two noise-free clusters."""
    clients, own = Fraction(instance["clients"]), Fraction(instance["own"])
    t, momentum = int(instance["round"]), Fraction(instance["momentum"])
    path = exact_path(own / clients, momentum, Fraction(instance["start"]), t)
    weighted = own * sum(momentum ** (t - 1 - k) * path[k] for k in range(t))
    left = momentum / clients * weighted
    right = momentum / clients * ((weighted - path[t]) + own * path[t])
    return abs(left - right), Fraction(0)


@register("cfl-mgd/a22-parentheses", label="(A22) in (A23)", kind="identity",
          replay=replay_with(evaluate_parentheses), repaired_by="cfl-mgd/a22")  # fmt: skip
def a22_parentheses(context: Context) -> Finding:
    """(A22) holds with the difference as (A23)-(A25) print it, without parentheses.

    Hypotheses
        None: algebra.

    Statement
        T_31 = (eta beta / m) [sum over C_1 n C*_1 of S_i - grad phi^1(chi_1)] + (eta beta / m)
        |C_1 n C*_1| grad phi^1(chi_1), the first gradient outside of the sum.

    Symbols
        As (A22).

    Source
        Zhao et al. (2023), (A23)-(A25) and (A29)-(A31), which drop the parentheses of (A22) and (A28).
        Meant is (A22).

    Checked
        Two noise-free scalar clusters: hypothesis searches clients, momentum, start and round for the
        simplest difference, in rational arithmetic. One own client makes none.
    """
    return seek(
        context,
        path_instances(),
        evaluate_parentheses,
        violated=lambda instance, measured, _: (
            f"the sides differ by {encode(measured)} at m = {instance['clients']}, |C_1 n C*_1| = {instance['own']}, "
            f"|e_0| = {encode(instance['start'])}, beta = {encode(instance['momentum'])}, t = {instance['round']}"
        ),
        consistent="no run tells the two sides apart",
        confirm=confirm_path,
    )
