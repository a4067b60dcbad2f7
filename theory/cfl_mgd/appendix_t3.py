"""(A33), (A34): the bound on T_32 and on the whole momentum T_3."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import MomentumRun, momentum_runs
from theory.cfl_mgd.appendix_t2_count import CONSTANT
from theory.cfl_mgd.appendix_t3_momentum import seek_run
from theory.cfl_mgd.appendix_t3_own import evaluate_momentum
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.statistics import judge_failures
from theory.two_clusters import exact_path
from theory.two_point_law import binomial_upper_tail, error_probability, needed_samples
from theory.verdict import Finding, Kind

LEVEL = 0.1
"""lambda_2 = lambda_4 on random runs."""


def at_round(instance: Instance) -> tuple[Instance, Fraction]:
    """Give the law and models of round t in the form of ``two_point_law``, and |u_2^t|."""
    momentum, t, start = Fraction(instance["momentum"]), int(instance["round"]), Fraction(instance["start"])
    clients, foreign = Fraction(instance["clients"]), Fraction(instance["foreign"])
    first = exact_path(1 - foreign / clients, momentum, start, t)
    second = exact_path(foreign / clients, momentum, start, t)
    buffer = sum((momentum ** (t - 1 - k) * second[k] for k in range(t)), Fraction(0))
    law = {"samples": 1, "rarity": instance["rarity"], "jump": instance["jump"]}
    return {**law, "first": -first[t], "second": -second[t]}, abs(buffer)


def evaluate_count(instance: Instance) -> tuple[Number, Number]:
    """P(||T_32|| > c_5 beta sigma^2 / (mu^2 lambda_2 Delta^4)) after rounds without noise; and lambda_2."""
    law, buffer = at_round(instance)
    level, foreign = Fraction(instance["level"]), int(instance["foreign"])
    if buffer == 0:
        return Fraction(0), level
    threshold = 3 * CONSTANT * needed_samples(law) * Fraction(instance["clients"]) / (level * buffer)
    return binomial_upper_tail(foreign, error_probability(law), threshold), level


def run_broken(one: MomentumRun) -> bool | None:
    """Whether (A33) fails in the last round of a run; None outside of the basin."""
    task, seen, t = one.task, one.seen, len(one.seen.assignments) - 1
    models = seen.models[t]
    if np.linalg.norm(models - task.optima, axis=-1).max() > task.basin_radius:
        return None
    others = range(1, task.clusters)
    deviation = math.sqrt(max(float(task.gradient_variance(models[0], p)) for p in others))
    spread = max(float(task.loss_variance(models[[0, p]], p).max()) for p in others)
    strong, separation, samples = task.strong_convexity, task.separation, task.samples
    size = (
        one.momentum * one.step / task.clients * np.linalg.norm(one.sum_over(t, seen.buffers[t], own=False))
    )
    count = 3 * CONSTANT * one.momentum * spread / (strong**2 * LEVEL * separation**4 * samples)
    cross = (
        one.momentum * deviation * math.sqrt(CONSTANT * spread * task.clusters * t / (task.clients * LEVEL))
    )
    cross /= LEVEL * strong * task.smoothness * separation**2 * samples * (1 - one.momentum)
    return bool(size > count + cross)


@register("cfl-mgd/a33", label="(A33)", kind="probability", replay=replay_with(evaluate_count))
def a33(context: Context) -> Finding:
    """The intruders' momentum is at most the last two terms of (38).

    Hypotheses
        As (A32) and (A16) as meant, eta = 1/L.

    Statement
        With probability at least 1 - lambda_2 - P lambda_4, ||T_32|| <= c_5 beta sigma^2 / (mu^2 lambda_2
        Delta^4 n') + c_6 beta sigma v sqrt(P t) / (lambda_4 mu L Delta^2 n' (1 - beta) sqrt(m lambda_2)),
        c_5 = 384 = 3 * 128, c_6 = sqrt(128).

    Symbols
        As (A32).

    Source
        Zhao et al. (2023), (A33). Probability. Its derivation is false, since (A32) is. No instance was
        found that breaks the conclusion: by line 15 the buffer of a client from cluster q is the last
        displacement of model q over eta |C_q| / m, at most 2 B L m / |C_q| within the basin, and c_1 = 128
        is at least twice what Chebyshev's inequality needs. For hundreds of clusters this leaves no room.

    Checked
        Two scalar clusters: hypothesis searches law, clients, momentum, start and round for P(||T_32|| >
        first term) > lambda_2, exactly, after rounds without noise; and the last rounds of recorded runs
        of random regressions with intruders, lambda_2 = lambda_4 = 0.1.
    """
    from hypothesis import strategies as st

    laws: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(2, 20),
            "foreign": st.integers(1, 19),
            "round": st.integers(1, 12),
            "momentum": st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]),
            "start": st.sampled_from([Fraction(1, 2), Fraction(-1, 2)]),
            "rarity": st.sampled_from([Fraction(1, k) for k in (5, 10, 50, 1000)]),
            "jump": st.fractions(Fraction(1, 4), 3, max_denominator=4),
            "level": st.sampled_from([Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)]),
        }
    )
    instances = laws.filter(lambda one: one["foreign"] < one["clients"])
    searched = seek(
        context, instances, evaluate_count,
        violated=lambda instance, measured, allowed: f"{float(measured):.3g} > {encode(allowed)} at {instance}",
        consistent="no law with two values breaks it", budget=150,
    )  # fmt: skip
    outcomes = [run_broken(one) for one in momentum_runs(context, default=80, rounds=3)]
    inside = [broken for broken in outcomes if broken is not None]
    allowed = LEVEL * (1 + 3)
    finding = judge_failures(
        sum(inside), len(inside) or 1, allowed, context.significance,
        reason=f"no law with two values breaks it in {searched.trials} tries; it fails in {sum(inside)} of "
        f"{len(inside)} runs of random regressions within the basin; its derivation through (A32) is false",
    )  # fmt: skip
    if searched.verdict is Kind.VIOLATED:
        return searched
    return replace(finding, slack=searched.slack)


@register("cfl-mgd/a34", label="(A34)", kind="probability", replay=replay_with(evaluate_momentum),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def a34(context: Context) -> Finding:
    """The momentum of a round is at most the four terms of (38).

    Hypotheses
        As (A27) and (A33).

    Statement
        With probability at least 1 - lambda_2 - lambda_3 - P lambda_4 - 2 exp(-clm), ||T_3|| <= c_3 beta v
        sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) + c_4 l + the bound of (A33), c_3 = 1/2, c_4 = 1/4.

    Symbols
        As (A27) and (A33).

    Source
        Zhao et al. (2023), (A34) = (38), from (A27) and (A33). Probability; inherits (A27).

    Checked
        As (A27): without noise and intruders T_3 = T_31, and the right side is l / 4.
    """
    return seek_run(context, evaluate_momentum, "(A34), l / 4")
