"""The quantities in the hypotheses of CFL-MGD's theory, measured at the server's models of one round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, like, to_numpy
from clusterproof.algorithms.randomness import generator
from clusterproof.experiments.diagnosis.curvature import Curvature, client_vectors, curvature, mean_vector
from clusterproof.experiments.diagnosis.estimates import Estimate, exact, mean_over, variance_over
from clusterproof.experiments.diagnosis.task_variants import Views
from clusterproof.neural.runs.measurement import match_models

SCALES = (1.0, 2.0, 4.0)
"""Multiples of a model at which the loss's variance is measured; a bound on all models must hold at each."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a measurement may cost, for each cluster and round.

    Parameters
    ----------
    clients
        Clients whose mean loss's Hessian is searched for its extreme eigenvalues.
    others
        Further clients at which the two eigenvectors are evaluated.
    products
        Hessian-vector products per cluster for finding the extreme eigenvalues.
    loss_draws, gradient_draws
        Samples of losses and gradients for the variances.
    gap_clients
        Clients over which the models' losses are compared.
    choices
        Number of clients, over all clusters, that choose a model.
    chunk
        Number of clients, or samples, whose gradients or products are in memory at once.
    """

    clients: int = 4
    others: int = 32
    products: int = 28
    loss_draws: int = 512
    gradient_draws: int = 128
    gap_clients: int = 32
    choices: int = 400
    chunk: int = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterObservation:
    """Measurements for one true cluster p and the model chi_p that is matched to it.

    Attributes
    ----------
    cluster, model
        Index of the true cluster and of its model.
    curvature
        Ends of the Hessian's spectrum of phi_p at chi_p.
    gradient_norm
        ||grad phi_p(chi_p)|| of the mean over the clients of ``curvature``.
    norm
        ||chi_p||.
    losses, gaps
        phi_p at every model, and its excess over phi_p(chi_p), (P,).
    loss_variance, difference_variance
        Variances over y ~ D_p of f(chi_q; y), and of f(chi_q; y) - f(chi_p; y), (P,).
    scaled_variance
        Variance of f(c chi_p; y) for the multiples c in ``SCALES``, (3,).
    gradient_variance, intruder_variance
        v^2 at chi_p over samples of the cluster, and of the nearest other cluster.
    wrong, asked
        Number of clients that chose another model on a batch, and number of clients that chose.
    """

    cluster: int
    model: int
    curvature: Curvature
    gradient_norm: float
    norm: float
    losses: Estimate
    gaps: Estimate
    loss_variance: Estimate
    difference_variance: Estimate
    scaled_variance: Estimate
    gradient_variance: Estimate
    intruder_variance: Estimate
    wrong: int
    asked: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """Measurements of one round.

    Attributes
    ----------
    round
        Rounds done.
    step_size
        eta of the round.
    clusters
        The true clusters that have a model.
    distances
        Between those clusters' models, (Q, Q).
    run_wrong
        Share of the clients whose last choice in the run is not their cluster's model.
    models, gradients
        Models of these clusters and their mean gradients, (Q, d).
    """

    round: int
    step_size: float
    clusters: tuple[ClusterObservation, ...]
    distances: np.ndarray
    run_wrong: float
    models: np.ndarray
    gradients: np.ndarray

    @property
    def separation(self) -> float:
        """Smallest distance of two models."""
        return float(self.distances[~np.eye(len(self.distances), dtype=bool)].min())

    @property
    def rows(self) -> dict[int, int]:
        """Row of ``models`` by cluster."""
        return {cell.cluster: row for row, cell in enumerate(self.clusters)}


def measure(
    seen: Views,
    models: Array,
    assignments: np.ndarray,
    *,
    round_number: int,
    step_size: float,
    budget: Budget,
    seed: int = 0,
) -> Observation:
    """Measure the server's models of one round.

    Parameters
    ----------
    seen
        The task.
    models
        The server's models, (P, d), finite.
    assignments
        Last known choice of every client, (m,); -1 for none.
    round_number, step_size
        Rounds done, and eta.
    budget
        Limits on the cost.
    seed
        Seed of the sampled clients, which are the same at every round, and of their samples.
    """
    labels = np.asarray(seen.batch.labels)
    matched_model = match_models(assignments, labels, int(models.shape[-2]), seen.batch.clusters)
    stream = generator(seed, "diagnosis", "samples", round_number)
    asked = _shuffled(np.arange(len(labels)), seed, "choices")[: budget.choices]
    losses = seen.batch.losses(models, like(asked, models), stream)
    # clients of a cluster that has no model (-1) choose wrongly whatever they choose
    wrong = to_numpy(argmin_smallest_index(losses)) != matched_model[labels[asked]]
    clusters = np.flatnonzero(matched_model >= 0)
    cluster_models = to_numpy(models).astype(float)[matched_model[clusters]]
    distances = np.stack([np.linalg.norm(cluster_models - model, axis=-1) for model in cluster_models])
    nearest = clusters[np.argmin(distances + np.diag(np.full(len(clusters), np.inf)), axis=-1)]
    cells, gradients = [], []
    for cluster, neighbour in zip(clusters.tolist(), nearest.tolist(), strict=True):
        its_wrong = wrong[labels[asked] == cluster]
        model = int(matched_model[cluster])
        cell, gradient = _measure_cluster(
            seen, models, cluster, model, neighbour, its_wrong, stream, budget, seed
        )
        cells.append(cell)
        gradients.append(gradient)
    chosen = assignments >= 0
    return Observation(
        round=round_number,
        step_size=step_size,
        clusters=tuple(cells),
        distances=distances,
        run_wrong=float((assignments != matched_model[labels])[chosen].mean()) if chosen.any() else math.nan,
        models=cluster_models,
        gradients=np.stack(gradients),
    )


def _measure_cluster(
    seen: Views,
    models: Array,
    cluster: int,
    own: int,
    neighbour: int,
    wrong: np.ndarray,
    stream: np.random.Generator,
    budget: Budget,
    seed: int,
) -> tuple[ClusterObservation, np.ndarray]:
    """Measure one cluster at its model, of index ``own``; also return its mean gradient there, (d,)."""
    whole, chunk = seen.whole, budget.chunk
    members = _shuffled(np.flatnonzero(np.asarray(seen.batch.labels) == cluster), seed, f"cluster {cluster}")
    asked, others = np.split(members[: budget.clients + budget.others], [budget.clients])
    model = models[own, :]
    searched = np.concatenate([asked, others])
    gradient = mean_vector(client_vectors(whole.gradients, (model,), searched, chunk=chunk), len(searched))
    compared = members[: budget.gap_clients]
    losses = to_numpy(whole.losses(models, like(compared, models), stream)).astype(float)
    task, clients, complete = _draw_samples(seen, cluster, budget.loss_draws, stream)
    samples, scaled = (
        to_numpy(task.losses(points, like(clients, points), stream)).astype(float)
        for points in (models, model[None, :] * _column(SCALES, model))
    )
    own_gradients, foreign_gradients = (
        _gradient_variance(
            _draw_samples(seen, source, budget.gradient_draws, stream), model, stream, chunk=chunk
        )
        for source in (cluster, neighbour)
    )
    observed = ClusterObservation(
        cluster=cluster,
        model=own,
        curvature=curvature(
            whole, model, asked, others, len(members), seed=seed, products=budget.products, chunk=chunk
        ),
        gradient_norm=float(np.linalg.norm(gradient)),
        norm=float(np.linalg.norm(to_numpy(model).astype(float))),
        losses=mean_over(losses, len(members)),
        gaps=mean_over(losses - losses[:, own, None], len(members)),
        loss_variance=variance_over(samples, complete=complete),
        difference_variance=variance_over(samples - samples[:, own, None], complete=complete),
        scaled_variance=variance_over(scaled, complete=complete),
        gradient_variance=own_gradients,
        intruder_variance=foreign_gradients,
        wrong=int(wrong.sum()),
        asked=len(wrong),
    )
    return observed, gradient


def _draw_samples(
    seen: Views, cluster: int, draws: int, stream: np.random.Generator
) -> tuple[Any, np.ndarray, bool]:
    """Draw samples y ~ D_p of a cluster.

    Return the task on which to evaluate them, the index of a client for each sample, and whether these are
    all clients of the cluster. If a client's loss is random, the task has batches of one sample. Otherwise a
    sample is a client: each is taken once if the cluster has at most ``draws`` clients.
    """
    task = seen.whole if seen.single is None else seen.single
    members = np.flatnonzero(np.asarray(task.labels) == cluster)
    if seen.single is None and len(members) <= draws:
        return task, members, True
    return task, stream.choice(members, draws), False


def _gradient_variance(
    drawn: tuple[Any, np.ndarray, bool], model: Array, stream: np.random.Generator, *, chunk: int
) -> Estimate:
    """v^2 of Assumption 3: E ||grad f(chi; y) - grad phi_p(chi)||^2 over y ~ D_p at one model (d,).

    Independent samples are split into groups of ``chunk``; the spread of the groups' estimates gives the
    standard error.
    """
    task, clients, complete = drawn
    groups, total, squares, count = [], 0.0, 0.0, len(clients)
    for part in client_vectors(task.gradients, (model,), clients, chunk=max(2, chunk), stream=stream):
        gradients = to_numpy(part).astype(float)
        total = total + gradients.sum(axis=0)
        squares += float((gradients**2).sum())
        if len(gradients) > 1:
            groups.append(float(gradients.var(axis=0, ddof=1).sum()))
    deviations = max(0.0, squares - float(np.square(total).sum()) / count)
    if complete:
        return exact(deviations / count)
    error = np.std(groups, ddof=1) / math.sqrt(len(groups)) if len(groups) > 1 else math.inf
    return Estimate(np.asarray(deviations / (count - 1)), np.asarray(error), len(groups))


def _column(values: tuple[float, ...], model: Array) -> Array:
    """Return the numbers as a column (n, 1) of the model's library and precision."""
    xp = array_namespace(model)
    return xp.asarray(values, dtype=model.dtype, device=device(model))[:, None]


def _shuffled(clients: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """Shuffle clients, in the same order at every round, so that any first few are a random sample."""
    return generator(seed, "diagnosis", purpose).permutation(clients)
