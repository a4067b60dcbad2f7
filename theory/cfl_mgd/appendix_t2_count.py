"""(A15)-(A17): the number of intruders, and the bound on T_2."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from theory.cfl_mgd.appendix_records import Round, basin_models, judge_markov, noisy_regression
from theory.cfl_mgd.appendix_t2 import intrusion
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.two_point_law import (
    binomial_upper_tail,
    confirm_choices,
    error_probability,
    needed_samples,
    two_point_instances,
)
from theory.verdict import Finding, Kind

CONSTANT = 128
"""c_1 of Lemma 1 and (A15)."""


@register("cfl-mgd/a15", label="(A15)", kind="upper")
def a15(context: Context) -> Finding:
    """The expected number of intruders is at most c_1 m sigma^2 / (mu^2 Delta^4 n').

    Hypotheses
        Assumptions 1-4 in the round at hand, sigma^2 at the models that are compared.

    Statement
        E |C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 Delta^4 n'), c_1 = 128.

    Symbols
        C_1 - C*_1 the intruders, n' ``samples``, Delta ``separation``.

    Source
        Zhao et al. (2023), (A15), from Lemma 1. Upper bound; (1 - l_1) m is enough for m.

    Checked
        The exact F tails of random regressions, at models in the basin.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(150)
    slack, failures = math.inf, 0
    for _ in range(trials):
        task = noisy_regression(stream)
        models = basin_models(task, stream)
        expected, variance = 0.0, 0.0
        for cluster in range(1, task.clusters):
            # the others stay where they are: a client joins C_1 only if model 1 beats its own
            pair = np.where(np.arange(task.clusters)[:, None] == 0, models[0], models[cluster])
            own = float(task.proportions[cluster]) * task.clients
            expected += own * float(task.misclassification_probability(pair, cluster)[0])
            variance = max(variance, float(task.loss_variance(models[[0, cluster]], cluster).max()))
        scale = task.strong_convexity**2 * task.separation**4 * task.samples
        bound = CONSTANT * task.clients * variance / scale
        failures += expected > bound * (1 + 1e-9)
        slack = min(slack, bound / expected) if expected > 1e-200 else slack
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"exact expected numbers of clients that prefer model 1 to their own, on {trials} random regressions; "
        "slack is the smallest bound / expectation",
        slack=slack,
        trials=trials,
        failures=failures,
    )


def count_threshold(instance: Instance) -> Fraction:
    """c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n') with m the clients of both clusters."""
    clients = Fraction(instance["own"]) + Fraction(instance["foreign"])
    rarity = Fraction(instance["level"]) * Fraction(instance["samples"])
    return CONSTANT * clients * Fraction(needed_samples(instance)) / rarity


def evaluate_printed_count(instance: Instance) -> tuple[Number, Number]:
    """P(|C_1 - C*_1| <= threshold), and 1 - lambda_2."""
    tail = binomial_upper_tail(
        int(instance["foreign"]), error_probability(instance), count_threshold(instance)
    )
    return 1 - tail, 1 - Fraction(instance["level"])


def evaluate_count(instance: Instance) -> tuple[Number, Number]:
    """P(|C_1 - C*_1| > threshold), and lambda_2."""
    tail = binomial_upper_tail(
        int(instance["foreign"]), error_probability(instance), count_threshold(instance)
    )
    return tail, Fraction(instance["level"])


def count_instances() -> Any:
    """Laws with two values, numbers of clients of each cluster, and lambda_2."""
    from hypothesis import strategies as st

    return two_point_instances(
        own=st.integers(1, 3),
        foreign=st.integers(1, 6),
        level=st.sampled_from([Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(99, 100)]),
    )


@register("cfl-mgd/a16", label="(A16)", kind="probability", replay=replay_with(evaluate_printed_count),
          repaired_by="cfl-mgd/a16-meant")  # fmt: skip
def a16(context: Context) -> Finding:
    """There are few intruders with probability at most 1 - lambda_2.

    Hypotheses
        As (A15), lambda_2 in (0, 1).

    Statement
        P(|C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n')) <= 1 - lambda_2.

    Symbols
        As (A15).

    Source
        Zhao et al. (2023), (A16), as printed: the inequality points the wrong way.

    Checked
        Two scalar clusters, samples with two values: hypothesis searches law, models, clients and
        lambda_2, the probability is a binomial sum in rational arithmetic, and a round of the algorithm
        with one client for each possible batch confirms who joins C_1.
    """
    return seek(
        context,
        count_instances(),
        evaluate_printed_count,
        violated=lambda instance, measured, allowed: (
            f"P(few intruders) = {encode(measured)} > 1 - lambda_2 = {encode(allowed)}: chi* = +-1, mu = L = 1, "
            f"{instance['foreign']} clients of cluster 2 with samples -1 + {encode(instance['jump'])} at rate "
            f"{encode(instance['rarity'])}, n' = {instance['samples']}"
        ),
        consistent="no law with two values breaks it",
        confirm=lambda instance, _: confirm_choices(instance),
    )


@register("cfl-mgd/a16-meant", label="(A16), meant", kind="probability", replay=replay_with(evaluate_count))
def a16_meant(context: Context) -> Finding:
    """There are few intruders with probability at least 1 - lambda_2.

    Hypotheses
        As (A16).

    Statement
        P(|C_1 - C*_1| <= c_1 m sigma^2 / (mu^2 lambda_2 Delta^4 n')) >= 1 - lambda_2.

    Symbols
        As (A15).

    Source
        Zhao et al. (2023), (A16) as (A17) uses it. Probability, by Markov's inequality on (A15).

    Checked
        As (A16), exactly.
    """
    return seek(
        context,
        count_instances(),
        evaluate_count,
        violated=lambda instance, measured, allowed: (
            f"P(many intruders) = {encode(measured)} > lambda_2 = {encode(allowed)} at {instance}"
        ),
        consistent="no law with two values breaks it; slack: smallest lambda_2 / P(many intruders)",
        budget=300,
    )


def bound_broken(one: Round, level: float) -> np.ndarray:
    """Whether (A17) fails in each replicate, lambda_1 = lambda_2."""
    norms, _, deviation = intrusion(one)
    task = one.task
    spread = max(one.loss_variance(p) for p in range(1, task.clusters))
    strong, separation, samples = task.strong_convexity, task.separation, task.samples
    count = 3 * CONSTANT * spread / (strong**2 * level * separation**4 * samples)
    cross = deviation * math.sqrt(CONSTANT * spread * task.clusters / (task.clients * level))
    return np.asarray(
        norms > count + cross / (level * strong * task.smoothness * separation**2 * samples) + 1e-12
    )


@register("cfl-mgd/a17", label="(A17)", kind="probability")
def a17(context: Context) -> Finding:
    """The intruders move model 1 by at most the two terms of (36).

    Hypotheses
        As (A14) and (A15), eta = 1/L.

    Statement
        With probability at least 1 - P lambda_1 - lambda_2, ||T_2|| <= c_1 sigma^2 / (mu^2 lambda_2 Delta^4
        n') + c_2 v sigma sqrt(P) / (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)), c_1 = 384 = 3 * 128,
        c_2 = sqrt(128).

    Symbols
        As (A14) and (A15).

    Source
        Zhao et al. (2023), (A17) = (36), from (A14) and (A16) as meant. Probability.

    Checked
        Drawn rounds on random regressions with misclassified clients, max ||chi*|| <= 1,
        lambda_1 = lambda_2 = 0.1, 0.5, 0.9.
    """
    return judge_markov(
        context, bound_broken, lambda one, level: (one.task.clusters + 1) * level, what="(A17)"
    )
