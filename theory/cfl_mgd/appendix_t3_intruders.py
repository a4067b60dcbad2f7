"""(A28)-(A32): the intruders' momentum T_32, with the steps of (A22)-(A25) again."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import judge_identity, momentum_runs
from theory.cfl_mgd.appendix_t3_buffers import foreign_part, seek_discrepancy
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.prescribed_samples import Table, confirm_play, play
from theory.two_clusters import exact_path
from theory.verdict import Finding


@register("cfl-mgd/a28", label="(A28)", kind="identity")
def a28(context: Context) -> Finding:
    """The intruders' past gradients are their distance from the present gradient, plus that gradient.

    Hypotheses
        None: algebra.

    Statement
        T_3p = sum over C_1 n C*_p of S_i = sum over C_1 n C*_p of (S_i - grad phi_p(chi_1)) +
        |C_1 n C*_p| grad phi_p(chi_1), S_i = sum_(k < t) beta^(t-1-k) g_i^k.

    Symbols
        C_1 n C*_p the clients of cluster p that chose model 1 in round t.

    Source
        Zhao et al. (2023), (A28). Identity. The line after it is ``cfl-mgd/a28-sum``.

    Checked
        On recorded runs of random regressions with intruders.
    """
    residuals, runs = [], 0
    for one in momentum_runs(context):
        runs += 1
        for t in range(1, len(one.seen.assignments)):
            sums = one.formula(t)
            for cluster in range(1, one.task.clusters):
                chosen = (one.seen.assignments[t] == 0) & (one.task.labels == cluster)
                slope = one.task.expected_gradient(one.seen.models[t, 0], cluster)
                right = (sums[chosen] - slope).sum(axis=0) + chosen.sum() * slope
                residuals.append(float(np.abs(sums[chosen].sum(axis=0) - right).max()))
    return judge_identity(residuals, what="both lines of (A28)", runs=runs)


@register("cfl-mgd/a28-sum", label="after (A28)", kind="identity", replay=replay_with(foreign_part),
          repaired_by="cfl-mgd/a19-sums")  # fmt: skip
def a28_sum(context: Context) -> Finding:
    """The intruders' momentum is the sum of the T_3p.

    Hypotheses
        Option I as printed.

    Statement
        T_32 = (beta eta / m) sum_(p >= 2) T_3p.

    Symbols
        T_32 of (A18), T_3p of (A28).

    Source
        Zhao et al. (2023), the line after (A28), by (A21). Identity; line 15 breaks it.

    Checked
        As (A21).
    """
    return seek_discrepancy(context, foreign_part, "T_32", spread=False)


def law(instance: Instance) -> dict[Fraction, Fraction]:
    """Give the values of y + 1 for the client of cluster 2, and their probabilities."""
    rarity = Fraction(instance["rarity"])
    return {Fraction(0): 1 - 2 * rarity, Fraction(2): rarity, Fraction(-2): rarity}


def loss_variance(instance: Instance) -> Fraction:
    """sigma^2 of f = (chi - y)^2 / 2 at chi = 1.5, beyond every model of the basins that is compared."""
    losses = {(Fraction(5, 2) - noise) ** 2 / 2: weight for noise, weight in law(instance).items()}
    mean = sum(loss * weight for loss, weight in losses.items())
    return sum(((loss - mean) ** 2 * weight for loss, weight in losses.items()), Fraction(0))


def scripts(instance: Instance) -> Iterator[tuple[Fraction, Table, Table, list[Fraction]]]:
    """Give every outcome of the gradient batches before round t, with probability, tables and models.

    Cluster 1 has m - 1 clients without noise and chi_1^0 = chi*_1 = 1; cluster 2 has one client and
    chi_2^0 = -1 + start. That client chooses on -1 in rounds 0 .. t - 1 and on its rare value +1 in
    round t: choices and gradients are on batches of their own, so this says nothing of the gradients.
    """
    clients, t = int(instance["clients"]), int(instance["round"])
    others = [Fraction(1)] * (clients - 1)
    choice = [[*others, Fraction(-1)]] * t + [[*others, Fraction(1)]]
    probabilities = law(instance)
    for noise in product(probabilities, repeat=t):
        gradient = [[*others, -1 + value] for value in noise] + [[*others, Fraction(-1)]]
        initial = [Fraction(1), -1 + Fraction(instance["start"])]
        weight = prod((probabilities[value] for value in noise), start=Fraction(1))
        yield weight, choice, gradient, initial


def distances(instance: Instance) -> list[tuple[Fraction, Fraction]]:
    """Probability and sum_k beta^(t-1-k) g^k - grad phi_2(chi_1) for every outcome; 0 if no intruder."""
    momentum, t = Fraction(instance["momentum"]), int(instance["round"])
    found = []
    for weight, choice, gradient, initial in scripts(instance):
        rounds = play(choice, gradient, initial, momentum)
        past = sum((momentum ** (t - 1 - k) * rounds.gradients[k][-1] for k in range(t)), Fraction(0))
        intrudes = rounds.assignments[t][-1] == 0
        found.append((weight, past - (rounds.models[t][0] + 1) if intrudes else Fraction(0)))
    return found


def noise_bound(instance: Instance) -> Fraction:
    """v^2 t / (1 - beta)^2, with one intruder and n' = 1."""
    variance = sum(weight * value**2 for value, weight in law(instance).items())
    return Fraction(variance * int(instance["round"]) / (1 - Fraction(instance["momentum"])) ** 2)


def evaluate_square(instance: Instance) -> tuple[Number, Number]:
    """Both sides of (A29), given one intruder."""
    return sum(weight * gap**2 for weight, gap in distances(instance)), noise_bound(instance)


def evaluate_root(instance: Instance) -> tuple[Number, Number]:
    """Both sides of (A30), squared."""
    return sum(weight * abs(gap) for weight, gap in distances(instance)) ** 2, noise_bound(instance)


def evaluate_probability(instance: Instance) -> tuple[Number, Number]:
    """Probability that the bound of (A31) fails, and lambda_4."""
    level = Fraction(instance["level"])
    allowed = noise_bound(instance) / level**2
    return sum((weight for weight, gap in distances(instance) if gap**2 > allowed), Fraction(0)), level


def confirm_scripts(instance: Instance, _measured: float) -> None:
    """Run the very algorithm on every outcome."""
    for _, choice, gradient, initial in scripts(instance):
        confirm_play(choice, gradient, initial, Fraction(instance["momentum"]))


def intruder_instances(**more: Any) -> Any:
    """Up to five clients and two rounds, noise rare enough for n' = 1 >= 256 (P - 1) sigma^2 / 16."""
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries(
        {
            "clients": st.integers(2, 5),
            "round": st.integers(1, 2),
            "momentum": st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10),
            "start": st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(-1, 2)]),
            "rarity": st.sampled_from([Fraction(1, 10**k) for k in (3, 4, 5)]),
            **more,
        }
    )
    return instances.filter(lambda one: 16 * loss_variance(one) <= 1)


def describe(instance: Instance) -> str:
    """Spell the law and the run out."""
    return (
        f"chi* = +-1, mu = L = 1, n' = 1, m = {instance['clients']}, one client of cluster 2 with samples -1, or "
        f"-1 +- 2 with probability {encode(instance['rarity'])} each, chi_1 = 1, chi_2^0 = -1 + "
        f"{encode(instance['start'])}, beta = {encode(instance['momentum'])}, it errs in round {instance['round']} only"
    )


def seek_intruder(context: Context, evaluate: Any, what: str, **more: Any) -> Finding:
    """Search runs with one intruder for a violation; the algorithm is run on every outcome."""
    return seek(
        context,
        intruder_instances(**more),
        evaluate,
        violated=lambda instance, measured, allowed: (
            f"{what}: {float(measured):.4g} > {float(allowed):.4g} at {describe(instance)}"
        ),
        consistent=f"{what}: no run with one intruder breaks it",
        budget=300,
        confirm=confirm_scripts,
    )


@register("cfl-mgd/a29", label="(A29)", kind="upper", replay=replay_with(evaluate_square),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def a29(context: Context) -> Finding:
    """The intruders' weighted past gradients are near the present one, up to noise.

    Hypotheses
        Assumptions 1-4 with the constants of the proof; given the clusters.

    Statement
        E ||sum over C_1 n C*_p of (S_i - grad phi_p(chi_1))||^2 <= |C_1 n C*_p| v^2 t / ((1 - beta)^2 n').

    Symbols
        S_i as (A28), v ``gradient_variance`` (its root), n' ``samples``.

    Source
        Zhao et al. (2023), (A29): the three steps of (A23). Upper bound. An intruder's past gradients were
        mostly taken at its own model, where they vanish; grad phi_p(chi_1) has length mu Delta.

    Checked
        Two scalar clusters, one client of the second with rare samples of +-2 that make it err:
        hypothesis searches clients, momentum, start, round and rarity; the expectation is summed over all
        gradient batches in rational arithmetic, and the algorithm is run on every one.
    """
    return seek_intruder(context, evaluate_square, "(A29)")


@register("cfl-mgd/a30", label="(A30)", kind="upper", replay=replay_with(evaluate_root),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def a30(context: Context) -> Finding:
    """The distance of (A29) is, in expectation, at most v sqrt(|C_1 n C*_p| t / n') / (1 - beta).

    Hypotheses
        As (A29).

    Statement
        E ||sum over C_1 n C*_p of (S_i - grad phi_p(chi_1))|| <= (v / (1 - beta)) sqrt(|C_1 n C*_p| t / n').

    Symbols
        As (A29).

    Source
        Zhao et al. (2023), (A30), the root of (A29). Upper bound.

    Checked
        As (A29); both sides are squared to stay rational.
    """
    return seek_intruder(context, evaluate_root, "(A30), squared")


@register("cfl-mgd/a31", label="(A31)", kind="probability", replay=replay_with(evaluate_probability),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def a31(context: Context) -> Finding:
    """The distance of (A29) is mostly at most v sqrt(|C_1 n C*_p| t / n') / ((1 - beta) lambda_4).

    Hypotheses
        As (A29), lambda_4 in (0, 1).

    Statement
        Given the clusters, with probability at least 1 - lambda_4, ||sum over C_1 n C*_p of (S_i - grad
        phi_p(chi_1))|| <= (v / ((1 - beta) lambda_4)) sqrt(|C_1 n C*_p| t / n').

    Symbols
        As (A29).

    Source
        Zhao et al. (2023), (A31), Markov's inequality on (A30). Probability.

    Checked
        As (A29), lambda_4 = 1/2 or 1/10.
    """
    from hypothesis import strategies as st

    levels = st.sampled_from([Fraction(1, 2), Fraction(1, 10)])
    return seek_intruder(context, evaluate_probability, "failure probability of (A31)", level=levels)


def evaluate_total(instance: Instance) -> tuple[Number, Number]:
    """Probability, at least, that the bound of (A32) fails with one intruder; and P lambda_4.

    Outcomes with noise in some gradient are left out. The square root is compared by squares.
    """
    momentum, t, level = Fraction(instance["momentum"]), int(instance["round"]), Fraction(instance["level"])
    path = exact_path(1 / Fraction(instance["clients"]), momentum, Fraction(instance["start"]), t)
    buffer = abs(sum((momentum ** (t - 1 - k) * path[k] for k in range(t)), Fraction(0)))
    excess = buffer - 3
    fails = excess > 0 and excess**2 > 2 * noise_bound(instance) / level**2
    return (law(instance)[Fraction(0)] ** t if fails else Fraction(0)), 2 * level


def confirm_total(instance: Instance, _measured: float) -> None:
    """Run the very algorithm without noise, and compare T_32 from its own buffers with the bound."""
    clients, t = int(instance["clients"]), int(instance["round"])
    ordinary = [*[Fraction(1)] * (clients - 1), Fraction(-1)]
    choice = [ordinary] * t + [[Fraction(1)] * clients]
    initial = [Fraction(1), -1 + Fraction(instance["start"])]
    rounds = confirm_play(choice, [ordinary] * (t + 1), initial, Fraction(instance["momentum"]))
    if rounds.assignments[t] != [0] * clients or abs(rounds.buffers[t][-1]) <= 3:
        raise ArithmeticError(f"(A32): the run's intruder has u = {float(rounds.buffers[t][-1])}")


@register("cfl-mgd/a32", label="(A32)", kind="probability", replay=replay_with(evaluate_total),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def a32(context: Context) -> Finding:
    """The intruders' momentum is at most 3 L beta eta times their share, plus noise.

    Hypotheses
        As (A10) and (A31).

    Statement
        Given the clusters, with probability at least 1 - P lambda_4, ||T_32|| <= (3 L beta eta / m)
        |C_1 - C*_1| + (beta eta v sqrt(P) / (m (1 - beta) lambda_4)) sqrt(|C_1 - C*_1| t / n').

    Symbols
        C_1 - C*_1 the intruders.

    Source
        Zhao et al. (2023), (A32), from (A28) and (A31). Probability. An intruder brings the buffer of
        the cluster that it comes from, up to ||e|| / (1 - beta) for a small one.

    Checked
        As (A29), with more clients and rounds: at least the outcome without gradient noise fails, whose
        probability is exact; the algorithm is run on it.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.sampled_from([10, 20, 50, 100]),
            "round": st.integers(1, 20),
            "momentum": st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)]),
            "start": st.sampled_from([Fraction(1, 2), Fraction(1, 4)]),
            "rarity": st.sampled_from([Fraction(1, 10**k) for k in (4, 6, 8)]),
            "level": st.just(Fraction(1, 4)),
        }
    )
    return seek(
        context,
        instances,
        evaluate_total,
        violated=lambda instance, measured, allowed: (
            f"||T_32|| exceeds the bound with probability at least {float(measured):.6g} > P lambda_4 = "
            f"{float(allowed):.3g} at {describe(instance)}"
        ),
        consistent="no run with one intruder breaks it",
        budget=600,
        confirm=confirm_total,
    )
