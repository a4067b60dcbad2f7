"""What the hypotheses of CFL-MGD's theory speak of, measured at the server's models of one round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from clusterproof.algorithms.arrays import Array, to_numpy
from clusterproof.algorithms.randomness import generator
from clusterproof.neural.diagnosis.curvature import Curvature, curvature, mean_gradient
from clusterproof.neural.diagnosis.dispersion import (
    draw_samples,
    gradient_variance,
    loss_gaps,
    loss_variances,
    sample_losses,
    wrong_choices,
)
from clusterproof.neural.diagnosis.measured_number import Estimate
from clusterproof.neural.diagnosis.task_variants import Views
from clusterproof.neural.runs.matching import match_models

SCALES = (1.0, 2.0, 4.0)
"""Multiples of a model at which the loss's variance is taken: a bound for every model covers them all."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much a measurement may ask of the task, for each cluster and round.

    Parameters
    ----------
    clients
        Clients whose mean loss's Hessian is searched for its extreme eigenvalues.
    others
        Further clients on whom the two eigenvectors are tried.
    products
        Hessian products of each of them.
    loss_draws, gradient_draws
        Samples whose losses and gradients the variances are taken over.
    gap_clients
        Clients over whom the models' losses are compared.
    choices
        Clients, of all clusters together, who choose a model.
    chunk
        Clients, or samples, whose gradients or products are held at a time.
    """

    clients: int = 4
    others: int = 32
    products: int = 28
    loss_draws: int = 512
    gradient_draws: int = 128
    gap_clients: int = 32
    choices: int = 400
    chunk: int = 16


DEFAULT_BUDGET = Budget()


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterObservation:
    """Measured for one true cluster p and the model chi_p that belongs to it.

    Attributes
    ----------
    cluster, model
        Index of the true cluster and of its model.
    curvature
        Ends of the Hessian's spectrum of phi_p at chi_p.
    gradient_norm
        ||grad phi_p(chi_p)|| of the mean over the clients whose Hessians were asked.
    norm
        ||chi_p||.
    losses, gaps
        phi_p at every model, and its excess over phi_p(chi_p), (P,).
    loss_variance, difference_variance
        Variances over y ~ D_p of f(chi_q; y), and of f(chi_q; y) - f(chi_p; y), (P,).
    scaled_variance
        Variance of f(c chi_p; y) for the multiples c in ``SCALES``, (3,).
    gradient_variance
        v^2 at chi_p.
    intruder_variance
        The same at chi_p over samples of the nearest other cluster.
    wrong, asked
        Clients that chose another model on a batch, of so many.
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
    """One round's measurements.

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
        Of those clusters, (Q, d).
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
    def diameter(self) -> float:
        """Largest distance of two models."""
        return float(self.distances.max())


def measure(
    seen: Views,
    models: Array,
    assignments: np.ndarray,
    *,
    round_number: int,
    step_size: float,
    budget: Budget = DEFAULT_BUDGET,
    seed: int = 0,
) -> Observation:
    """Measure the server's models of one round.

    Parameters
    ----------
    seen
        The task.
    models
        Of the server, (P, d), finite.
    assignments
        Last known choice of every client, (m,); -1 for none.
    round_number, step_size
        Rounds done, and eta.
    budget
        How much to ask.
    seed
        Which clients and samples; the clients are the same at every round.
    """
    labels = np.asarray(seen.batch.labels)
    own = match_models(assignments, labels, int(models.shape[-2]), seen.batch.clusters)
    chosen = assignments >= 0
    stream = generator(seed, "diagnosis", "samples", round_number)
    asked = _shuffled(np.arange(len(labels)), seed, "choices")[: budget.choices]
    wrong = wrong_choices(seen.batch, models, own[labels[asked]], asked, stream)
    matched = np.flatnonzero(own >= 0)
    placed = to_numpy(models).astype(float)[own[matched]]
    distances = np.stack([np.linalg.norm(placed - one, axis=-1) for one in placed])
    nearest = matched[np.argmin(distances + np.diag(np.full(len(matched), np.inf)), axis=-1)]
    cells, gradients = [], []
    for cluster, neighbour in zip(matched.tolist(), nearest.tolist(), strict=True):
        here = labels[asked] == cluster
        cell, gradient = _measure_cluster(
            seen, models, cluster, int(own[cluster]), neighbour, wrong[here], stream, budget, seed
        )
        cells.append(cell)
        gradients.append(gradient)
    return Observation(
        round=round_number,
        step_size=step_size,
        clusters=tuple(cells),
        distances=distances,
        run_wrong=float((assignments != own[labels])[chosen].mean()) if chosen.any() else math.nan,
        models=placed,
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
    """Measure one cluster at its model ``own``; also gives its mean gradient there (d,)."""
    labels = np.asarray(seen.batch.labels)
    members = _shuffled(np.flatnonzero(labels == cluster), seed, f"cluster {cluster}")
    searched = members[: budget.clients + budget.others]
    model = models[own, :]
    gradient = mean_gradient(seen.whole, model, searched, chunk=budget.chunk)
    compared = members[: budget.gap_clients]
    losses, gaps = loss_gaps(seen.whole, models, own, compared, len(members), stream)
    drawn = draw_samples(seen, cluster, budget.loss_draws, stream)
    samples = sample_losses(drawn, models, stream)
    variance, difference = loss_variances(samples, own, complete=drawn.complete)
    multiples = model[None, :] * _column(SCALES, model)
    scaled = sample_losses(drawn, multiples, stream)
    own_gradients, foreign_gradients = (
        gradient_variance(
            draw_samples(seen, whose, budget.gradient_draws, stream), model, stream, chunk=budget.chunk
        )
        for whose in (cluster, neighbour)
    )
    observed = ClusterObservation(
        cluster=cluster,
        model=own,
        curvature=curvature(
            seen.whole,
            model,
            searched[: budget.clients],
            searched[budget.clients :],
            len(members),
            seed=seed,
            products=budget.products,
            chunk=budget.chunk,
        ),
        gradient_norm=float(np.linalg.norm(gradient)),
        norm=float(np.linalg.norm(to_numpy(model).astype(float))),
        losses=losses,
        gaps=gaps,
        loss_variance=variance,
        difference_variance=difference,
        scaled_variance=loss_variances(scaled, 0, complete=drawn.complete)[0],
        gradient_variance=own_gradients,
        intruder_variance=foreign_gradients,
        wrong=int(wrong.sum()),
        asked=len(wrong),
    )
    return observed, gradient


def _column(values: tuple[float, ...], model: Array) -> Array:
    """Numbers as a column (n, 1) of the model's library and precision."""
    xp = array_namespace(model)
    return xp.asarray(values, dtype=model.dtype, device=device(model))[:, None]


def _shuffled(clients: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """Clients in an order that is random but the same at every round, so that any first few are a sample."""
    return generator(seed, "diagnosis", purpose).permutation(clients)
