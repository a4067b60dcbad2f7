"""Comparison of GL-CFL with IFCA on the same data: the rounds in which both methods find the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clusterproof.running import purity, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.papers.gradient_loss.race import APART, LIMIT, ONE_POINT, Setting
from clusterproof.theory.runs.run import Run

LEVEL = 0.9
"""Purity that a method must reach."""


def race_of(of: Run) -> np.ndarray:
    """Return T and T_IFCA for each run, (2, R). If a run does not find the clusters, the value is rounds + 1."""
    trace = of.trace
    given = {name: trace.settings[name] for name in ("seed", "replicates")}
    # GL-CFL with weight 0 is IFCA, with the same batches and the same initial models
    plain = replace(of.algorithm, weight=0.0)
    ifca = run(plain, of.task, rounds=of.rounds, initial=trace.models[0], **given)
    return np.stack([arrivals(each) for each in (of, Run(of.task, ifca))])


def arrivals(of: Run) -> np.ndarray:
    """Return each run's first round, counted from 1, with purity at least 0.9, (R,), or rounds + 1 if there is none."""
    arrived = np.array([[purity(vote, of.trace.labels) >= LEVEL for vote in votes] for votes in of.votes])
    last = np.ones((1, of.runs), dtype=bool)
    return np.asarray(np.concatenate([arrived.reshape(-1, of.runs), last]).argmax(axis=0) + 1)


def happens(race: np.ndarray, last: int, ours: int, baseline: int, more_than: int = 0) -> tuple[int, int]:
    """Count the runs in which ``ours`` T + ``baseline`` T_IFCA > ``more_than`` is certain, and in which it is possible.

    ``race`` contains T and T_IFCA, (2, R). If a run did not find the clusters by round ``last``, the value is last +
    1.
    """
    factors, late = np.array([[ours], [baseline]]), np.where(race > last, np.inf, race)
    with np.errstate(invalid="ignore"):
        least, most = (
            (factors * np.where(positive, race, late)).sum(axis=0) for positive in (factors > 0, factors < 0)
        )
    return int((least > more_than).sum()), int((most > more_than).sum())


def first_distances(of: Run) -> np.ndarray:
    """Return the distances between initial models and the pooled optimum, in units of the separation, (R, K)."""
    away = np.linalg.norm(of.models[0] - of.task.pooled_optimum, axis=-1)
    return np.asarray(away / of.task.separation)


def race_needs(of: Run) -> Iterator[Hypothesis]:
    """Yield the hypotheses of ``gradient-loss/sooner``, and additional conditions for its checks."""
    setting, task, algorithm = Setting(distance=APART), of.task, of.algorithm
    yield Hypothesis("linear regression", "=", True, isinstance(task, RegressionMixture))
    if not isinstance(task, RegressionMixture):
        return
    yield Hypothesis("new samples", "=", True, task.data == "fresh")
    yield Hypothesis("4 clusters of 10 clients", "=", True, np.bincount(task.labels).tolist() == [10] * 4)
    yield Hypothesis("n'", "=", setting.rows, task.samples)
    yield Hypothesis("d", "=", 20, task.dimension)
    real = (
        ("L/mu", 1.0, float(task.condition_number)),
        ("s/Delta", float(setting.noise), float(task.noise / task.separation)),
        ("eta L", float(setting.step_size), float(algorithm.step_size * task.smoothness)),
        ("--weight", 0.2, float(algorithm.weight)),
        ("participation", 1.0, float(algorithm.participation)),
    )
    for name, needed, here in real:
        yield Hypothesis(name, "=", needed, here, room=1e-9)
    yield Hypothesis("models", "=", 4, of.models.shape[2])
    options = (("similarity", "cosine"), ("sign", "descent"))
    more = (("loss_reduction", "mean"), ("empty_cluster", "when-empty"))
    yield from (of.option(name, value) for name, value in options + more)
    if of.models.shape[2] == 4 and task.clusters > 1:
        yield Hypothesis("models that start about Delta apart", "=", True, _starts_well(of))
    yield Hypothesis("rounds", "<=", LIMIT, of.rounds)


def _starts_well(of: Run) -> bool:
    """Return whether initial models are about Delta away from the pooled optimum, or all near this optimum."""
    distance, start = first_distances(of), of.models[0]
    gaps = np.linalg.norm(start[:, :, None] - start[:, None], axis=-1)[:, *np.triu_indices(4, 1)]
    own = np.linalg.norm(start[..., None, :] - of.task.optima, axis=-1)
    apart = min(float(gaps.min()), float(own.min())) / of.task.separation
    near = distance.min() >= APART / 2 and distance.max() <= 2 * APART and apart >= APART / 2
    return bool(near or distance.max() <= 2 * ONE_POINT)


def starts_together(of: Run) -> bool:
    """Return whether all initial models are near the pooled optimum."""
    return bool(first_distances(of).max() <= 2 * ONE_POINT)
