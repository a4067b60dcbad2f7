"""(A7), (A8): the bound on T_1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import Round, judge_markov
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.random_tasks import random_mixture
from theory.verdict import Finding, Kind


def step_instances() -> Any:
    """Clients, own clients and those of them that stay: at least a quarter."""
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries(
        {"clients": st.integers(2, 40), "own": st.integers(1, 39), "shared": st.integers(1, 39)}
    )
    return instances.filter(
        lambda one: one["own"] < one["clients"] and one["shared"] <= one["own"] <= 4 * one["shared"]
    )


def printed_step(instance: Instance) -> tuple[Number, Number]:
    """p / (4 L) and h for the first cluster, p = 1, L = 1."""
    return Fraction(1, 4), Fraction(instance["shared"]) / Fraction(instance["clients"])


def meant_step(instance: Instance) -> tuple[Number, Number]:
    """l / (4 L) and h, with L = 1 and two clusters."""
    clients, own = Fraction(instance["clients"]), Fraction(instance["own"])
    return min(own, clients - own) / clients / 4, Fraction(instance["shared"]) / clients


@register("cfl-mgd/a7-step-printed", label="before (A7), printed", kind="lower", replay=replay_with(printed_step),
          repaired_by="cfl-mgd/a7-step")  # fmt: skip
def a7_step_printed(context: Context) -> Finding:
    """Where a quarter of the own clients stay, the effective step is at least p / 4L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L; p read as the cluster's number, so 1.

    Statement
        h = (eta/m) |C_1 n C*_1| >= p / (4 L).

    Symbols
        h the paper's eta-hat.

    Source
        Zhao et al. (2023), the line before (A7). A misprint of l for p.

    Checked
        hypothesis searches numbers of clients for the simplest h < 1 / (4 L); with p = P it fails
        all the more.
    """
    return seek(
        context,
        step_instances(),
        printed_step,
        violated=lambda instance, measured, allowed: (
            f"m = {instance['clients']}, l_1 m = {instance['own']}, |C_1 n C*_1| = {instance['shared']}: "
            f"L h = {encode(allowed)} < p / 4 = {encode(measured)}"
        ),
        consistent="no numbers of clients break it",
    )


@register("cfl-mgd/a7-step", label="before (A7), meant", kind="lower", replay=replay_with(meant_step))
def a7_step(context: Context) -> Finding:
    """Where a quarter of the own clients stay, the effective step is at least l / 4L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L.

    Statement
        l / (4 L) <= h = (eta/m) |C_1 n C*_1| <= 1/L.

    Symbols
        h the paper's eta-hat, l = min l_p.

    Source
        Zhao et al. (2023), what (A7) uses. Attained at l_1 = l.

    Checked
        hypothesis searches numbers of clients, in rational arithmetic.
    """
    return seek(
        context,
        step_instances(),
        meant_step,
        violated=lambda instance, measured, allowed: (
            f"h = {encode(allowed)} < {encode(measured)} at {instance}"
        ),
        consistent="no numbers of clients break it; slack: smallest h / (l / 4L)",
        budget=300,
    )


@register("cfl-mgd/a7", label="(A7)", kind="upper")
def a7(context: Context) -> Finding:
    """Where a quarter of the own clients stay, the descent contracts by 1 - l mu / 8L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L, Assumptions 1 and 2.

    Statement
        ||T_11|| <= (1 - l mu / 8L) ||chi_1 - chi*_1||.

    Symbols
        l = min l_p ``proportions``.

    Source
        Zhao et al. (2023), (A7), from (A2) with h >= l / 4L and L / (mu + L) >= 1/2. Upper bound; with
        ``cfl-mgd/a2-sharp`` it is 1 - l mu / 4L, and with all own clients 1 - l mu / L.

    Checked
        On random regressions, quadratics and ridge-logistic losses, for every number of own clients
        from a quarter to all of them, at distances 0.01 to 10.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(100)
    worst, failures = 0.0, 0
    for _ in range(trials):
        task = random_mixture(stream)
        smallest = float(task.proportions.min())
        for cluster in range(task.clusters):
            own = round(float(task.proportions[cluster]) * task.clients)
            shared = stream.integers(math.ceil(own / 4), own + 1, (30, 1))
            shared[0] = math.ceil(own / 4)
            offsets = stream.standard_normal((30, task.dimension)) * 10.0 ** stream.uniform(-2, 1, (30, 1))
            slopes = task.expected_gradient(task.optima[cluster] + offsets, cluster)
            moved = offsets - shared / (task.clients * task.smoothness) * slopes
            allowed = (1 - smallest / (8 * task.condition_number)) * np.linalg.norm(offsets, axis=-1)
            ratio = float((np.linalg.norm(moved, axis=-1) / (allowed + 1e-12)).max())
            worst = max(worst, ratio)
            failures += ratio > 1 + 1e-9
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest ||T_11|| / ((1 - l mu / 8L) ||chi - chi*||) over {trials} tasks, 30 points a cluster",
        measured=worst,
        bound=1.0,
        slack=1 / worst,
        trials=trials,
        failures=failures,
    )


def descent_broken(one: Round, level: float) -> np.ndarray:
    """Whether (A8) fails in each replicate."""
    task = one.task
    smooth, share = task.smoothness, float(task.proportions.min())
    after = one.models[0] - task.optima[0] - one.total(0) / (task.clients * smooth)
    floor = 2 * one.gradient_deviation(0) / (level * smooth * math.sqrt(share * task.clients * task.samples))
    distance = float(np.linalg.norm(one.models[0] - task.optima[0]))
    bound = (1 - share / (8 * task.condition_number)) * distance + floor
    return np.asarray(np.linalg.norm(after, axis=-1) > bound + 1e-12)


@register("cfl-mgd/a8", label="(A8)", kind="probability")
def a8(context: Context) -> Finding:
    """The own clients' part of a round contracts by 1 - l mu / 8L up to 2 v / (lambda_0 L sqrt(l m n')).

    Hypotheses
        Assumptions 1-4, eta = 1/L, models in the basin, v at chi_1.

    Statement
        With probability at least 1 - lambda_0 - 2 exp(-clm), c = 1/8,
        ||T_1|| <= (1 - l mu / 8L) ||chi_1 - chi*_1|| + 2 v / (lambda_0 L sqrt(l m n')).

    Symbols
        l ``proportions`` (the smallest), n' ``samples``, m ``clients``.

    Source
        Zhao et al. (2023), (A8) = (35), from (A3), (A6) and (A7). Probability; with at most l_1 m own
        clients the floor is v sqrt(l_1) / (lambda_0 L sqrt(m n')), smaller by up to 2 / l.

    Checked
        Drawn rounds on random regressions with misclassified clients, lambda_0 = 0.1, 0.5, 0.9.
    """
    return judge_markov(
        context,
        descent_broken,
        lambda one, level: level + 2 * math.exp(-float(one.task.proportions.min()) * one.task.clients / 8),
        what="(A8)",
    )
