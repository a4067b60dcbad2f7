"""A billion clients as a few numbers: how many of each true cluster choose each model, and the sums of their gradients.

With fresh data a client's choice depends on the models and on its true cluster alone, and clients are independent. The
numbers of clients that choose each model are therefore multinomial, and given them the sums of gradients have the law
of ``exact_law``: what a server sees of a round costs the same whatever the number of clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import clusterproof.synthetic.exact_law as exact_law
from clusterproof.algorithms import CFLMGD, IFCA, Algorithm, InvalidArgument, Trace, run
from clusterproof.algorithms.validation import check_count
from clusterproof.synthetic.regression import RegressionMixture
from clusterproof.synthetic.wrapped import WrappedTask

DRAWS = 100_000
"""Clients of each true cluster whose choices are drawn one by one where there are more than two models."""


@dataclass(frozen=True, eq=False)
class RegressionPopulation(WrappedTask):
    """Any number of clients with fresh Gaussian regression data, pooled; a task for ``run_pooled``.

    Exact in law for two models, where a client's choice is the comparison of two mean squares, an F tail. For
    more models the shares that choose each are those among ``draws`` clients, drawn exactly: unbiased, with
    the variance of a share pi being pi (1 - pi) (1/N + 1/draws - 1/(N draws)) instead of pi (1 - pi) / N, a
    standard error of at most 1 / (2 sqrt(draws)) more; exact again where a true cluster has at most so many.

    Its ``clients`` are the pairs of a true cluster and a model, and sums are scaled so that an algorithm that divides
    by their number divides by that of the real clients.

    Parameters
    ----------
    task
        Gives optima, covariances, noise and samples; fresh data. Its own clients play no part.
    sizes
        Clients of each true cluster N_q, (Q,), each at least 1.
    models
        How many models the algorithm keeps (P).
    draws
        See above.

    Raises
    ------
    InvalidArgument
        If the data are not fresh, or a number is out of range.
    """

    task: RegressionMixture
    sizes: tuple[int, ...]
    models: int
    draws: int = DRAWS

    def __post_init__(self) -> None:
        """Validate the arguments."""
        if self.task.data != "fresh" or self.task.sampling != "exact":
            raise InvalidArgument(
                "task", f"data = {self.task.data!r}", "must have fresh data, sampled exactly", "make it so"
            )
        if len(self.sizes) != self.task.clusters:
            raise InvalidArgument(
                "sizes", self.sizes, f"must be {self.task.clusters} numbers", "give one a true cluster"
            )
        for size in self.sizes:
            check_count("sizes", size, at_least=1, at_most=10**15, remedy="give each true cluster a client")
        check_count("models", self.models, at_least=1, at_most=1000, remedy="give the number of models")
        check_count("draws", self.draws, at_least=1, remedy="100000 is the default")

    @property
    def clients(self) -> int:
        """Pairs of a true cluster and a model, Q P."""
        return len(self.sizes) * self.models

    @property
    def labels(self) -> np.ndarray:
        """The true cluster of each pair, (Q P,)."""
        return np.repeat(np.arange(len(self.sizes)), self.models)

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the task, the sizes in place of its labels."""
        kept = {name: value for name, value in self.task.settings.items() if name != "labels"}
        return {**kept, "task": "regression-population", "sizes": list(self.sizes), "draws": self.draws}

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """0 for the model of the pair and 1 for the others: those who choose a model are its pair, (..., k, P)."""
        chosen = np.asarray(clients) % self.models
        found = (chosen[..., None] != np.arange(self.models)).astype(float)
        return np.broadcast_to(found, (*models.shape[:-2], *found.shape[-2:]))

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Refuse: no single client is ever drawn."""
        raise InvalidArgument("averaging", "model", "asks single clients", "use averaging = 'gradient'")

    def gradient_sums(
        self, models: np.ndarray, clients: np.ndarray, assignments: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw who chooses what, and the sums of their gradients, over the number of clients times Q P: (..., P, d)."""
        counts = self.draw_choices(models, generator)
        sums = self.task.draw_gradient_sums(models, counts, generator)
        return sums * (self.clients / sum(self.sizes))

    def draw_choices(self, models: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draw how many clients of each true cluster choose each of models (..., P, d): integers (..., Q, P).

        Each row sums to the cluster's size.
        """
        shares = self.choice_shares(models, generator)
        counts = np.empty(shares.shape, dtype=np.int64)
        for cluster, size in enumerate(self.sizes):
            own = shares[..., cluster, :]
            if self.models > 2 and size <= self.draws:
                counts[..., cluster, :] = np.rint(own * size)  # these are the clients themselves
            else:
                counts[..., cluster, :] = generator.multinomial(size, own)
        return counts

    def choice_shares(self, models: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the probability that a client of each true cluster chooses each model, (..., Q, P).

        Exact for two models, else the shares among clients that are drawn one by one.
        """
        shares = np.ones((*models.shape[:-2], len(self.sizes), self.models))
        if self.models == 1:
            return shares
        covariance = exact_law.residual_covariance(
            models, self.task.optima, self.task.covariances, self.task.noise
        )
        if self.models == 2:
            from clusterproof.synthetic.misclassification import pairwise_error

            first, second = covariance[..., 0, 0], covariance[..., 1, 1]
            cross = covariance[..., 0, 1]
            to_second = pairwise_error(first, second, cross, self.task.samples)
            to_first = pairwise_error(second, first, cross, self.task.samples)
            # where two models are one, both are 1, and ties go to the first
            shares[..., 0] = np.where(to_first < 0.5, to_first, np.where(to_first == 1, 1, 1 - to_second))
            shares[..., 1] = np.where(to_first < 0.5, 1 - to_first, np.where(to_first == 1, 0, to_second))
            return shares
        for cluster, size in enumerate(self.sizes):
            drawn = min(size, self.draws)
            own = covariance[..., cluster : cluster + 1, :, :]
            labels = np.zeros(drawn, dtype=np.int64)
            losses = exact_law.draw_losses(own, labels, self.task.samples, generator)
            chosen = losses.argmin(axis=-1)[..., None] == np.arange(self.models)
            shares[..., cluster, :] = chosen.mean(axis=-2)
        return shares


def run_pooled(
    algorithm: Algorithm[Any], population: RegressionPopulation, *, rounds: int, seed: int = 0, **options: Any
) -> Trace:
    """Run an algorithm on a population; ``options`` are those of ``run``.

    The trace's models and errors have the law of a run with all clients. Its assignments are those of the pairs, and
    mean nothing: ``choice_shares`` says who chooses what.

    Raises
    ------
    InvalidArgument
        If the algorithm is not IFCA or CFL-MGD with gradient averaging, server momentum, full participation and
        sums divided by the number of clients.
    """
    usual = {
        "averaging": "gradient",
        "participation": 1.0,
        "momentum_owner": "server",
        "normalisation": "clients",
        "empty_cluster": "coast",
    }
    if not isinstance(algorithm, IFCA | CFLMGD):
        raise InvalidArgument("algorithm", algorithm.name, "must be ifca or cfl-mgd", "choose one of the two")
    for name, value in usual.items():
        if getattr(algorithm, name, value) != value:
            raise InvalidArgument(
                name, getattr(algorithm, name), f"must be {value!r} for a pooled run", "leave it out"
            )
    if algorithm.model_count(population.task) != population.models:
        raise InvalidArgument(
            "models", population.models, "must be the algorithm's number of models", "give the same"
        )
    return run(algorithm, population, rounds=rounds, seed=seed, **options)
