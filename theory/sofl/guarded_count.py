"""The guard: the number of clusters by the silhouette of the clients, with one cluster allowed."""

from __future__ import annotations

import numpy as np

from algorithms import SoFL, cluster_count, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.statistics import judge_failures
from theory.verdict import Finding

DIMENSION = 40
"""Of the models."""

ALLOWED = 0.05
"""Share of the runs in which the number may be wrong."""

COUNTS = (1, 2, 4, 8)
"""True numbers of clusters that are tried."""


def clustered_clients(clusters: int, stream: np.random.Generator) -> QuadraticMixture:
    """Twenty-four clients whose first updates from zero have cosine about 0.8 inside a cluster, 0 outside.

    One cluster has a weak common direction: cosine about 0.1, as homogeneous clients near the
    optimum.
    """
    labels = np.arange(24) * clusters // 24
    strength = 2.0 if clusters > 1 else 1 / 3
    directions = np.linalg.qr(stream.standard_normal((DIMENSION, DIMENSION)))[0][:clusters]
    noise = stream.standard_normal((24, DIMENSION)) / np.sqrt(DIMENSION)
    return QuadraticMixture(
        hessians=np.broadcast_to(np.eye(DIMENSION), (24, DIMENSION, DIMENSION)),
        centers=strength * directions[labels] + noise,
        labels=labels,
    )


def counted(task: QuadraticMixture, rule: str, seed: int) -> int:
    """Number of clusters after the one clustering of SoFL."""
    algorithm = SoFL(step_size=0.1, pretraining=0, cluster_count=rule)
    trace = run(algorithm, task, rounds=1, seed=seed, initial=np.zeros((1, DIMENSION)))
    return cluster_count(trace.last_assignments)


@register(
    "sofl/guarded-count", label="Algorithm 1, line 14, repaired (ours)", kind="probability", quick=False
)
def guarded_count(context: Context) -> Finding:
    """The silhouette of the clients, with one cluster allowed, finds 1, 2, 4 and 8 clusters.

    Hypotheses
        24 clients in K equal clusters with updates at a cosine of about 0.8 inside and 0 across; for K = 1
        about 0.1. The map has 5 x 5 neurons that start at samples and SoFL's schedule.

    Statement
        P(K_hat != K) <= 0.05, where K_hat is the number k of 2 .. z whose partition of the clients, by k-means
        on the z winners, has the largest mean cosine silhouette, and 1 where that is below 0.25.

    Symbols
        ``cluster_count="silhouette"``; z the number of winners. Clusters at a large cosine of each other may
        be merged, so that 0.25 is no general constant.

    Source
        Ours on Zhang and Qiao (2024), Algorithm 1, line 14. Needs scikit-learn, the extra `cluster`. It
        replaces ``sofl/elbow-exact-winners``, where k = z is allowed, and ``sofl/one-cluster``.

    Checked
        SoFL's own clustering on random tasks, one in four for each K; the printed elbow on the same tasks
        for comparison.
    """
    trials = context.number_of_trials(16)
    failures, printed = 0, 0
    missed: dict[int, int] = dict.fromkeys(COUNTS, 0)
    for trial in range(trials):
        clusters = COUNTS[trial % len(COUNTS)]
        task = clustered_clients(clusters, context.generator("task", trial))
        seed = int(context.generator("map", trial).integers(2**31))
        failures += counted(task, "silhouette", seed) != clusters
        wrong = counted(task, "elbow", seed) != clusters
        printed += wrong
        missed[clusters] += wrong
    where = ", ".join(f"{count} of K = {clusters}" for clusters, count in missed.items() if count)
    return judge_failures(
        failures,
        trials,
        ALLOWED,
        context.significance,
        reason=f"the number is wrong in {failures} of {trials} clusterings, K = 1, 2, 4, 8 in turn; with the printed "
        f"elbow in {printed}" + (f" ({where})" if where else ""),
        measured=failures / trials,
        bound=ALLOWED,
    )
