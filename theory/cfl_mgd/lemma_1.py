"""Lemma 1, (21)-(23): the probability that a client joins a wrong cluster."""

from __future__ import annotations

import numpy as np

from theory.basin_pairs import Pair, check_pairs, evaluator
from theory.claim import Context, register
from theory.counterexample import replay_with
from theory.random_tasks import random_regression
from theory.verdict import Finding, Kind

CONSTANT = 128.0
"""c_1 of the proof: 64 from each of (29) and (30)."""


def printed_bound(pair: Pair, constant: float = CONSTANT) -> float:
    """c_1 sigma^2 / (Delta^4 mu^2 n')."""
    task = pair.task
    return constant * pair.sigma**2 / (task.separation**4 * task.strong_convexity**2 * task.samples)


@register("cfl-mgd/equation-21", label="(21)", kind="definition")
def equation_21(context: Context) -> Finding:
    """A client that joins cluster p has a loss there that is at most the loss at its own model.

    Hypotheses
        Client i belongs to cluster 1.

    Statement
        xi_i^(1,p) = {phi_i(chi_1; Y_i) >= phi_i(chi_p; Y_i)} contains the event that i joins p. For
        P = 2 the two are the same, up to ties.

    Symbols
        Y_i the n' rows that the client chooses with.

    Source
        Zhao et al. (2023), (21), a bracket of which is missing. Definition. For P > 2 it is larger
        than "divided into p"; and xi^(p,p), the right choice by the text, would be sure by (21).

    Checked
        Choices of clients with drawn batches on random regressions with two or three clusters.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(60)
    outside = mismatches = 0
    for _ in range(trials):
        task = random_regression(stream)
        models = task.optima + task.basin_radius * stream.uniform(-1, 1, task.optima.shape)
        clients = np.flatnonzero(task.labels == 0)
        losses = task.losses(models, np.repeat(clients, 50), stream)
        chosen = np.argmin(losses, axis=-1)
        for p in range(1, task.clusters):
            event = losses[:, 0] >= losses[:, p]
            outside += int(((chosen == p) & ~event).sum())
            if task.clusters == 2:
                mismatches += int(((chosen == p) != event).sum())
    failures = outside + mismatches
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{outside} clients joined a cluster outside the event, and {mismatches} of those with P = 2 were "
        f"in the event without joining, over {trials} regressions",
        trials=trials,
        failures=failures,
    )


@register(
    "cfl-mgd/lemma-1", label="Lemma 1, (22)", kind="upper", replay=replay_with(evaluator(printed_bound))
)
def lemma_1(context: Context) -> Finding:
    """A client prefers a given wrong model with probability at most c_1 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        Assumptions 1-4 in the round at hand: ||chi_p - chi*_p|| <= sqrt(mu/L) Delta / 4 for all p;
        sigma^2 bounds the variance of one row's loss at the models that are compared.

    Statement
        P(phi_i(chi_p) >= phi_i(chi_p')) <= c_1 sigma^2 / (Delta^4 mu^2 n'), c_1 = 128.

    Symbols
        Delta ``separation``, n' ``samples``.

    Source
        Zhao et al. (2023), Lemma 1 with (24)-(30); the constant is the sum of (29) and (30), and
        (27) lacks a square. Upper bound, loose: the truth is exponentially small in n'.

    Checked
        The exact probability of Gaussian regression (F distribution) at pairs of models anywhere
        in the basin, hypothesis searching for the largest ratio. Sharper: ``cfl-mgd/lemma-1-cantelli``
        and ``cfl-mgd/lemma-1-exact``.
    """
    return check_pairs(printed_bound, context, name="128 sigma^2 / (Delta^4 mu^2 n')")


@register("cfl-mgd/lemma-1-union", label="Lemma 1, (23)", kind="upper")
def lemma_1_union(context: Context) -> Finding:
    """A client joins any wrong cluster with probability at most c_1 P sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        As (22).

    Statement
        The printed (23) repeats the event of (22); meant is its union over p' != p. Then
        P(some wrong model's loss is at most the own one's) <= c_1 P sigma^2 / (Delta^4 mu^2 n').

    Symbols
        P ``clusters``, Delta ``separation``, n' ``samples``.

    Source
        Zhao et al. (2023), Lemma 1, (23). Upper bound; P - 1 is enough.

    Checked
        Sum of the exact pairwise probabilities on random regressions with two or three clusters,
        each with a covariance of its own, at random models in and on the basin.
    """
    stream = context.generator("tasks")
    trials = context.number_of_trials(150)
    worst, failures = np.inf, 0
    for _ in range(trials):
        task = random_regression(stream)
        offsets = stream.standard_normal((50, task.clusters, task.dimension))
        offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
        models = task.optima + task.basin_radius * offsets * stream.choice([1.0, 0.5], (50, 1, 1))
        for cluster in range(task.clusters):
            exact = task.misclassification_probability(models, cluster).sum(axis=-1)
            variance = np.max(
                [task.loss_variance(models[:, other], cluster) for other in range(task.clusters)], axis=0
            )
            scale = task.separation**4 * task.strong_convexity**2 * task.samples
            bound = CONSTANT * task.clusters * variance / scale
            # below this the exact probability is zero for every purpose
            likely = exact > 1e-200
            ratio = np.where(likely, bound / np.where(likely, exact, 1.0), np.inf)
            failures += int((ratio < 1 - 1e-9).any())
            worst = min(worst, float(ratio.min()))
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{failures} of {trials} regressions break it; slack is the smallest bound / exact union bound",
        slack=worst,
        trials=trials,
        failures=failures,
    )
