"""Lemma 1, (21)-(23): the probability that a client joins a wrong cluster."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.synthetic import RegressionMixture, TwoPointMixture
from clusterproof.theory.claims import Excluded, Sides, Stream, at_most, claim, drawn, equal, given, suppose
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.random_tasks import random_regression
from clusterproof.theory.exact.two_point_losses import TwoPointLosses

SomeRegression = Annotated[RegressionMixture, drawn(random_regression)]

CONSTANT = 128.0
"""c_1 of the proof: 64 from each of (29) and (30)."""


@claim("cfl-mgd/equation-21", label="(21)", ill_posed=False, evaluations=80)
def equation_21(task: SomeRegression, stream: Stream) -> dict[str, Sides | Excluded]:
    """A client that joins cluster p has a loss there that is at most the loss at its own model.

    Hypotheses
        Client i belongs to cluster 1.

    Statement
        xi_i^(1,p) = {phi_i(chi_1; Y_i) >= phi_i(chi_p; Y_i)} contains the event that i joins p. For
        P = 2 the two are the same, up to ties.

    Symbols
        Y_i the n' rows that the client chooses with.

    Source
        Zhao et al. (2023), (21), a bracket of which is missing. For P > 2 it is larger
        than "divided into p"; and xi^(p,p), the right choice by the text, would be sure by (21).
    """
    suppose("two clusters or more", task.clusters > 1)
    models = task.optima + task.basin_radius * stream.uniform(-1, 1, task.optima.shape)
    clients = np.flatnonzero(task.labels == 0)
    losses = task.losses(models, np.repeat(clients, 50), stream)
    events = losses[:, :1] >= losses[:, 1:]
    joined = np.argmin(losses, axis=-1)[:, None] == np.arange(1, task.clusters)
    return {
        "joined": equal(((joined & ~events).sum(), 0)),
        "P = 2": given("P = 2", task.clusters == 2, lambda: equal(((joined != events).sum(), 0))),
    }


@claim("cfl-mgd/lemma-1", label="Lemma 1, (22)", evaluations=200)
def lemma_1(pair: Pair, *, c_1: float = CONSTANT, power_of_samples: float = 1.0) -> Sides:
    """A client prefers a given wrong model with probability at most c_1 sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        Assumptions 1-4 in the round at hand: ||chi_p - chi*_p|| <= sqrt(mu/L) Delta / 4 for all p;
        sigma^2 bounds the variance of one row's loss at the models that are compared.

    Statement
        P(phi_i(chi_p) >= phi_i(chi_p')) <= c_1 sigma^2 / (Delta^4 mu^2 n'), c_1 = 128.

    Source
        Zhao et al. (2023), Lemma 1 with (24)-(30); the constant is the sum of (29) and (30), and
        (27) lacks a square. Upper bound, loose: 64 is enough, and needed for every n'. For Gaussian rows the
        truth is exponentially small in n'.
    """
    scale = pair.task.separation**4 * pair.task.strong_convexity**2 * pair.task.samples**power_of_samples
    return at_most(pair.exact, chebyshev=c_1 * pair.sigma**2 / scale)


@lemma_1.line("two values")
def lemma_1_of_two_values(
    law: TwoPointLosses, *, c_1: float = CONSTANT, power_of_samples: float = 1.0
) -> Sides:
    """The same for losses with two values, mu = 1 and Delta = 2."""
    spread = float(law.loss_variance)
    return at_most(
        float(law.error_probability), chebyshev=c_1 * spread / (16 * law.samples**power_of_samples)
    )


def crowd(clusters: int, rarity: float = 1e-4) -> TwoPointMixture:
    """Clusters at the corners of a simplex of side 2; a rare jump makes a client of cluster 0 prefer all others."""
    optima = np.eye(clusters) * np.sqrt(2)
    towards = optima[0] - optima[1:].mean(axis=0)
    height = np.linalg.norm(towards)
    models = towards_one(optima, 0, 0.5)
    gap = ((models[1] - optima[0]) ** 2).sum() / 2 - ((models[0] - optima[0]) ** 2).sum() / 2
    lever = float((models[0] - models[1]) @ towards / height)
    jump = (1 + 1e-9) * gap / lever * np.sqrt(rarity / (1 - rarity))
    return TwoPointMixture(
        optima=optima,
        slopes=jump * towards / height,
        centers=(models[0] + models[1]) / 2,
        rarity=rarity,
        labels=np.arange(clusters),
        samples=1,
    )


def towards_one(optima: np.ndarray, own: int, radius: float) -> np.ndarray:
    """Models at a radius from their optima: towards the own one, and the own one towards the others, (P, d)."""
    others = np.delete(optima, own, axis=0).mean(axis=0)
    directions = optima[own] - optima
    directions[own] = others - optima[own]
    return np.asarray(optima + radius * directions / np.linalg.norm(directions, axis=-1, keepdims=True))


Crowd = {"task": crowd(20)}


@claim("cfl-mgd/lemma-1-union", label="Lemma 1, (23)", evaluations=75, example=(Crowd,))
def lemma_1_union(
    task: Annotated[RegressionMixture | TwoPointMixture, drawn(random_regression)], stream: Stream
) -> Sides:
    """A client joins any wrong cluster with probability at most c_1 P sigma^2 / (Delta^4 mu^2 n').

    Hypotheses
        As (22).

    Statement
        The printed (23) repeats the event of (22); meant is its union over p' != p. Then
        P(some wrong model's loss is at most the own one's) <= c_1 P sigma^2 / (Delta^4 mu^2 n'). What is
        checked is more: the sum of the probabilities over p' != p, of which the union is at most.

    Source
        Zhao et al. (2023), Lemma 1, (23). Upper bound; for the sum 64 (P - 1) is enough, and needed as P grows.
    """
    suppose("two clusters or more", task.clusters > 1)
    offsets = stream.standard_normal((50, task.clusters, task.dimension))
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    drawn_ones = task.optima + task.basin_radius * offsets * stream.choice([1.0, 0.5], (50, 1, 1))
    exact, variances = [], []
    for cluster in range(task.clusters):
        models = np.concatenate([drawn_ones, [towards_one(task.optima, cluster, task.basin_radius)]])
        exact.append(task.misclassification_probability(models, cluster).sum(axis=-1))
        variances.append(task.loss_variance(models, cluster).max(axis=-1))
    scale = task.separation**4 * task.strong_convexity**2 * task.samples
    return at_most(np.array(exact), chebyshev=CONSTANT * task.clusters * np.array(variances) / scale)
