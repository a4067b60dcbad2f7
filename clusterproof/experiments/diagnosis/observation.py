"""The quantities in the hypotheses of CFL-MGD's theory, measured at the server's models of one round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, like, to_numpy
from clusterproof.algorithms.randomness import generator
from clusterproof.experiments.diagnosis.curvature import Curvature, client_vectors, curvature, mean_vector
from clusterproof.experiments.diagnosis.estimates import Estimate, mean_over, variance_over
from clusterproof.experiments.diagnosis.task_variants import TaskVariants
from clusterproof.neural.runs.measurement import match_models


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a measurement may cost, for each cluster and round.

    Parameters
    ----------
    clients
        Clients whose mean loss's Hessian is searched for its extreme eigenvalues.
    others
        Further clients at which the two eigenvectors are evaluated, and the models' losses compared.
    products
        Hessian-vector products per cluster for finding the extreme eigenvalues.
    loss_draws
        Samples of losses for the variances.
    choices
        Number of clients, over all clusters, that choose a model.
    chunk
        Number of clients, or samples, whose gradients or products are in memory at once.
    """

    clients: int = 4
    others: int = 32
    products: int = 28
    loss_draws: int = 512
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
    gaps
        Excess of phi_p at every model over phi_p(chi_p), (P,).
    loss_variance, difference_variance
        Variances over y ~ D_p of f(chi_q; y), and of f(chi_q; y) - f(chi_p; y), (P,).
    wrong, asked
        Number of clients that chose another model on a batch, and number of clients that chose.
    """

    cluster: int
    model: int
    curvature: Curvature
    gradient_norm: float
    norm: float
    gaps: Estimate
    loss_variance: Estimate
    difference_variance: Estimate
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
    run_wrong
        Share of the clients whose last choice in the run is not their cluster's model.
    models
        Models of these clusters, (Q, d).
    """

    round: int
    step_size: float
    clusters: tuple[ClusterObservation, ...]
    run_wrong: float
    models: np.ndarray

    @property
    def separation(self) -> float:
        """Smallest distance of two models."""
        from scipy.spatial.distance import pdist

        return float(pdist(self.models).min())

    def distances_to(self, other: Observation) -> list[float]:
        """Return the distances of models to those of the same clusters in another round."""
        pairs = [
            (ours, theirs)
            for ours, cell in enumerate(self.clusters)
            for theirs, another in enumerate(other.clusters)
            if cell.cluster == another.cluster
        ]
        return [float(np.linalg.norm(self.models[ours] - other.models[theirs])) for ours, theirs in pairs]


def measure(
    seen: TaskVariants,
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
    chosen = assignments >= 0
    return Observation(
        round=round_number,
        step_size=step_size,
        clusters=tuple(
            _measure_cluster(
                seen, models, cluster, own, wrong[labels[asked] == cluster], stream, budget, seed
            )
            for cluster, own in zip(clusters.tolist(), matched_model[clusters].tolist(), strict=True)
        ),
        run_wrong=float((assignments != matched_model[labels])[chosen].mean()) if chosen.any() else math.nan,
        models=to_numpy(models).astype(float)[matched_model[clusters]],
    )


def _measure_cluster(
    seen: TaskVariants,
    models: Array,
    cluster: int,
    own: int,
    wrong: np.ndarray,
    stream: np.random.Generator,
    budget: Budget,
    seed: int,
) -> ClusterObservation:
    """Measure one cluster at its model, of index ``own``."""
    whole, chunk = seen.whole, budget.chunk
    members = _shuffled(np.flatnonzero(np.asarray(seen.batch.labels) == cluster), seed, f"cluster {cluster}")
    asked, others = np.split(members[: budget.clients + budget.others], [budget.clients])
    model = models[own, :]
    searched = np.concatenate([asked, others])
    gradient = mean_vector(client_vectors(whole.gradients, (model,), searched, chunk=chunk), len(searched))
    losses = to_numpy(whole.losses(models, like(searched, models), stream)).astype(float)
    # samples y ~ D_p: batches of one sample, or clients if their losses are not random, each once if they are few
    task = seen.whole if seen.single is None else seen.single
    samples = np.flatnonzero(np.asarray(task.labels) == cluster)
    complete = seen.single is None and len(samples) <= budget.loss_draws
    if not complete:
        samples = stream.choice(samples, budget.loss_draws)
    drawn = to_numpy(task.losses(models, like(samples, models), stream)).astype(float)
    return ClusterObservation(
        cluster=cluster,
        model=own,
        curvature=curvature(
            whole, model, asked, others, len(members), seed=seed, products=budget.products, chunk=chunk
        ),
        gradient_norm=float(np.linalg.norm(gradient)),
        norm=float(np.linalg.norm(to_numpy(model).astype(float))),
        gaps=mean_over(losses - losses[:, own, None], len(members)),
        loss_variance=variance_over(drawn, complete=complete),
        difference_variance=variance_over(drawn - drawn[:, own, None], complete=complete),
        wrong=int(wrong.sum()),
        asked=len(wrong),
    )


def _shuffled(clients: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """Shuffle clients, in the same order at every round, so that any first few are a random sample."""
    return generator(seed, "diagnosis", purpose).permutation(clients)
