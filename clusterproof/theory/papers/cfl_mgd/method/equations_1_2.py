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


@claim(
    "cfl-mgd/equation-1",
    label="(1), (2)",
    repaired_by="cfl-mgd/equation-1-mean",
    ill_posed=True,
)
def objective(
    clusters: Annotated[int, integers(2, 4, upwards=True)],
    clients_each: Annotated[int, integers(1, 10, upwards=True)],
) -> dict[str, Sides]:
    """The loss of a client is a mean over its rows, and that of a cluster a sum over its clients.

    Statement
        With |D_p| / |D| the share of the data that cluster p owns, C*_p its clients, Y the rows of a client:

    Lines
        (1)
            phi_p(chi) = (|D_p| / |D|) sum_(i in C*_p) phi_i(chi). Two meanings: Assumptions 1-3 and (26) speak of the
            expectation over D_p.
        (2)
            phi_i(chi; Y) = (1 / |Y|) sum_(y in Y) f(chi; y), f(.; y): chi -> R^d. Without a smallest loss; R is meant.

    Source
        Zhao et al. (2023), (1), (2) and the line after it. As meant: ``cfl-mgd/equation-1-mean``.
    """
    clients = clusters * clients_each
    factor = printed_weight(clients, clusters)
    return {
        "(1)": equal(
            (factor, 1),
            words=lambda: (
                f"phi_p has two definitions: with m = {clients} and {clusters} equal clusters (1) is "
                f"{float(factor):g} times the expected loss of Assumptions 1-3"
            ),
        )
    }


Distance = Annotated[int, integers(0, 2, upwards=True)]
"""Of a model from the client's minimiser in one coordinate."""


@objective.line("(2)")
def loss_of_a_client(first_x: Distance, first_y: Distance, second_x: Distance, second_y: Distance) -> Sides:
    """Two models of which neither has the smaller loss in R^2."""
    first, second = np.array([first_x, first_y]) ** 2, np.array([second_x, second_y]) ** 2
    comparable = bool((first <= second).all() or (second <= first).all())
    words = (
        f"(8) needs a smallest loss: of two models with the losses {(first / 2).tolist()} and {(second / 2).tolist()} "
        "in R^2 neither has it, and a gradient would be a d x d matrix; R is meant"
    )
    return at_least(int(comparable), one=1, words=words)


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


@claim("cfl-mgd/equation-1-mean", label="(1), (2), as meant", judges="reading")
def objective_as_meant(
    task: Annotated[QuadraticMixture, drawn(scattered_clusters)], stream: Stream
) -> dict[str, Sides]:
    """With the mean over the cluster's clients, (1) is the expected loss of the assumptions.

    Hypotheses
        Equal amounts of data a client.

    Statement
        phi_p(chi) = (1 / |C*_p|) sum_(i in C*_p) phi_i(chi) has the gradient that vanishes at chi*_p and the curvature
        between mu and L that the assumptions speak of. In (2), f(.; y): R^d -> R.

    Source
        Ours on Zhao et al. (2023), (1), and (2) with R for R^d. Identities.
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
        "(1), gradient": equal((means, expected), (at_optimum, 0.0), rounding=1e-9),
        "(1), least curvature": at_least(quotients, mu=task.strong_convexity),
        "(1), largest curvature": at_most(quotients, smoothness=task.smoothness),
    }


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


@objective_as_meant.line("(2)", evaluations=30)
def scalar_loss_of_a_client(task: Annotated[RegressionMixture, drawn(few_rows)], stream: Stream) -> Sides:
    """The mean of the rows' losses, one by one."""
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
