"""(1) and (2): the objective, as printed and as meant."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.synthetic import QuadraticMixture, RegressionMixture, direct_simulation
from clusterproof.theory.claims import Sides, Stream, at_least, at_most, claim, drawn, equal, integers
from clusterproof.theory.exact.random_tasks import random_regression


def printed_weight(clients: int, clusters: int) -> Fraction:
    """Factor of (1) over the mean loss of a cluster: |D_p| / |D| times |C*_p|, equal clusters."""
    return Fraction(1, clusters) * Fraction(clients, clusters)


@claim("cfl-mgd/equation-1", label="(1)", repaired_by="cfl-mgd/equation-1-mean", ill_posed=True)
def equation_1(
    clusters: Annotated[int, integers(2, 4, upwards=True)],
    clients_each: Annotated[int, integers(1, 10, upwards=True)],
) -> Sides:
    """The cluster's loss is |D_p| / |D| times the sum of its clients' losses.

    Hypotheses
        None: it is a definition.

    Statement
        phi_p(chi) = (|D_p| / |D|) sum_(i in C*_p) phi_i(chi).

    Symbols
        |D_p| / |D| the share of the data that cluster p owns, C*_p its clients.

    Source
        Zhao et al. (2023), (1). Definition. Assumptions 1-3 and (26) speak of another phi_p, the
        expectation over D_p; read so: ``cfl-mgd/equation-1-mean``.
    """
    clients = clusters * clients_each
    factor = printed_weight(clients, clusters)
    words = (
        f"phi_p has two definitions: with m = {clients} and {clusters} equal clusters (1) is {float(factor):g} times "
        "the expected loss of Assumptions 1-3"
    )
    return equal((factor, 1), words=words)


def scattered_clusters(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two clusters of 4 to 11 quadratic clients in all, a Hessian and a centre for each."""
    clients, dimension = int(stream.integers(4, 12)), int(stream.integers(1, 5))
    roots = stream.standard_normal((clients, dimension, dimension))
    hessians = roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(dimension)
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2,
        centers=stream.standard_normal((clients, dimension)),
        labels=np.sort(np.concatenate([[0, 1], stream.integers(0, 2, clients - 2)])),
    )


@claim("cfl-mgd/equation-1-mean", label="(1), as meant", judges="reading")
def equation_1_mean(
    task: Annotated[QuadraticMixture, drawn(scattered_clusters)], stream: Stream
) -> dict[str, Sides]:
    """With the mean over the cluster's clients, (1) is the expected loss of the assumptions.

    Hypotheses
        Equal amounts of data a client.

    Statement
        phi_p(chi) = (1 / |C*_p|) sum_(i in C*_p) phi_i(chi) has the gradient that vanishes at chi*_p
        and the curvature between mu and L that the assumptions speak of.

    Symbols
        chi*_p ``optima``, L ``smoothness``, mu ``strong_convexity``.

    Source
        Ours on Zhao et al. (2023), (1). Identity.
    """
    directions = stream.standard_normal(task.optima.shape)
    means, expected, at_optimum = np.zeros((3, *task.optima.shape))
    for cluster, optimum in enumerate(task.optima):
        members = np.flatnonzero(task.labels == cluster)
        for client in members:
            offset = optimum + directions[cluster] - task.centers[client]
            means[cluster] += task.hessians[client] @ offset / len(members)
        expected[cluster] = task.expected_gradient(optimum + directions[cluster], cluster)
        at_optimum[cluster] = task.expected_gradient(optimum, cluster)
    quotients = (means * directions).sum(axis=-1) / (directions**2).sum(axis=-1)
    return {
        "gradient": equal((means, expected), (at_optimum, 0.0), rounding=1e-9),
        "least curvature": at_least(quotients, mu=task.strong_convexity),
        "largest curvature": at_most(quotients, smoothness=task.smoothness),
    }


Distance = Annotated[int, integers(0, 2, upwards=True)]
"""Of a model from the client's minimiser in one coordinate."""


@claim("cfl-mgd/equation-2", label="(2)", repaired_by="cfl-mgd/equation-2-scalar", ill_posed=True)
def equation_2(first_x: Distance, first_y: Distance, second_x: Distance, second_y: Distance) -> Sides:
    """A client's loss is the mean of f(chi; y), which takes values in R^d.

    Hypotheses
        None: it is a definition.

    Statement
        phi_i(chi; Y) = (1 / |Y|) sum_(y in Y) f(chi; y), f(.; y): chi -> R^d.

    Symbols
        Y the client's rows, d the number of parameters.

    Source
        Zhao et al. (2023), (2) and the line after it. Definition; R is meant:
        ``cfl-mgd/equation-2-scalar``.
    """
    first, second = np.array([first_x, first_y]) ** 2, np.array([second_x, second_y]) ** 2
    comparable = bool((first <= second).all() or (second <= first).all())
    words = (
        f"(8) needs a smallest loss: of two models with the losses {(first / 2).tolist()} and {(second / 2).tolist()} "
        "in R^2 neither has it, and a gradient would be a d x d matrix; R is meant"
    )
    return at_least(int(comparable), one=1, words=words)


def few_rows(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression with at most 40 rows a client."""
    task = random_regression(stream)
    return RegressionMixture(
        optima=task.optima,
        covariance=task.covariances.matrices,
        noise=task.noise,
        labels=task.labels,
        samples=min(task.samples, 40),
    )


@claim("cfl-mgd/equation-2-scalar", label="(2), as meant", judges="reading", evaluations=30)
def equation_2_scalar(task: Annotated[RegressionMixture, drawn(few_rows)], stream: Stream) -> Sides:
    """A client's loss is the mean of the scalar losses of its rows.

    Hypotheses
        f(.; y): R^d -> R.

    Statement
        phi_i(chi; Y) = (1 / |Y|) sum_(y in Y) f(chi; y).

    Symbols
        |Y| = n' ``samples``.

    Source
        Zhao et al. (2023), (2) with R for R^d. Identity.
    """
    models = task.optima + stream.standard_normal(task.optima.shape)
    labels = np.zeros(2, dtype=int)
    features, errors = direct_simulation.draw_data(labels, task.covariances, task.noise, task.samples, stream)
    optima = task.optima[labels]
    losses = direct_simulation.losses(models, optima, features, errors)
    means = np.zeros_like(losses)
    for client, number in np.ndindex(means.shape):
        for x, error in zip(features[client], errors[client], strict=True):
            residual = float(x @ optima[client]) + float(error) - float(x @ models[number])
            means[client, number] += 0.5 * residual**2 / task.samples
    return equal((losses / (1 + means), means / (1 + means)), rounding=1e-10)
