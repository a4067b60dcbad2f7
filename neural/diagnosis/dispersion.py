"""Variances of losses and gradients within a cluster, gaps between models, and wrong choices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, like, to_numpy
from clusterproof.neural.diagnosis.curvature import repeated
from clusterproof.neural.diagnosis.measured_number import Estimate, exact, mean_over, variance_over
from clusterproof.neural.diagnosis.task_variants import Views


@dataclass(frozen=True, eq=False)
class Draws:
    """Samples y ~ D_p of a cluster.

    Attributes
    ----------
    task
        One sample a client.
    clients
        The clients whose samples they are, (n,).
    complete
        Whether they are all that there is, each once; independent draws otherwise.
    """

    task: Any
    clients: np.ndarray
    complete: bool


def draw_samples(seen: Views, cluster: int, draws: int, generator: np.random.Generator) -> Draws:
    """Draw from a cluster's distribution.

    Where a client's loss is not random, D_p is the law of the client, and all are taken if they are no more
    than ``draws``.
    """
    task = seen.whole if seen.single is None else seen.single
    members = np.flatnonzero(np.asarray(task.labels) == cluster)
    if seen.single is None and len(members) <= draws:
        return Draws(task, members, complete=True)
    return Draws(task, generator.choice(members, draws), complete=False)


def sample_losses(drawn: Draws, models: Array, generator: np.random.Generator) -> np.ndarray:
    """Losses f(chi; y) of all models (P, d) on the samples, (n, P)."""
    losses = drawn.task.losses(models, like(drawn.clients, models), generator)
    return np.asarray(to_numpy(losses), dtype=float)


def gradient_variance(drawn: Draws, model: Array, generator: np.random.Generator, *, chunk: int) -> Estimate:
    """v^2 of Assumption 3: E ||grad f(chi; y) - grad phi_p(chi)||^2 over y ~ D_p at one model (d,).

    Independent draws come in groups of ``chunk``, each of which estimates it.
    """
    groups = []
    total = np.zeros(int(model.shape[-1]))
    squares = 0.0
    size = max(2, chunk)
    for start in range(0, len(drawn.clients), size):
        part = like(drawn.clients[start : start + size], model)
        points = repeated(model, len(part))
        gradients = to_numpy(drawn.task.gradients(points, part, generator)).astype(float)
        total += gradients.sum(axis=0)
        squares += float((gradients**2).sum())
        if len(gradients) > 1:
            groups.append(float(gradients.var(axis=0, ddof=1).sum()))
    count = len(drawn.clients)
    around = max(0.0, squares - float(total @ total) / count)
    if drawn.complete:
        return exact(around / count)
    spread = np.std(groups, ddof=1) / math.sqrt(len(groups)) if len(groups) > 1 else math.inf
    return Estimate(np.asarray(around / (count - 1)), np.asarray(spread), len(groups))


def loss_variances(losses: np.ndarray, own: int, *, complete: bool) -> tuple[Estimate, Estimate]:
    """sigma^2 at every model, and the variance of f(chi_q; y) - f(chi_own; y), both (P,), from (n, P)."""
    differences = losses - losses[:, own, None]
    return variance_over(losses, complete=complete), variance_over(differences, complete=complete)


def loss_gaps(
    task: Any, models: Array, own: int, clients: np.ndarray, members: int, generator: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """phi_p at every model, and its excess over that at the own one, both (P,), from whole losses."""
    losses = to_numpy(task.losses(models, like(clients, models), generator)).astype(float)
    return mean_over(losses, members), mean_over(losses - losses[:, own, None], members)


def wrong_choices(
    task: Any, models: Array, own: np.ndarray, clients: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Whether each client's smallest loss on a batch is not that of model ``own`` (k,), booleans (k,).

    Clients of a cluster that has no model (-1) choose wrongly whatever they choose.
    """
    losses = task.losses(models, like(clients, models), generator)
    return np.asarray(to_numpy(argmin_smallest_index(losses)) != own)
