"""Clients for the figures about clustering, and their updates from a common model."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np
from msgspec import Meta

from clusterproof.algorithms import Descent, FedAvg, SoFL
from clusterproof.algorithms.self_organising_map import best_matching_units
from clusterproof.common import generator
from clusterproof.figures.illustration import Count, Illustration, NotNegative, Positive
from clusterproof.figures.style import describe
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture

Grid: TypeAlias = Annotated[int, Meta(ge=2, le=40)]


class OfUpdates(Illustration):
    """Base class of figures about the updates of 60 clients in 4 clusters after some rounds of FedAvg.

    Parameters
    ----------
    separation
        Smallest distance between the optima of two clusters.
    noise
        Standard deviation of the noise in a target.
    samples
        Number of samples per client and round.
    step_size, local_steps
        Step size and number of local steps of FedAvg, for the rounds before the updates and for the updates
        themselves.
    rounds
        Number of rounds of FedAvg before the updates.
    grid
        Number of neurons along each side of SoFL's map.
    """

    separation: Positive = 2.0
    noise: NotNegative = 0.5
    samples: Count = 100
    step_size: Annotated[float, Meta(gt=0, lt=2)] = 0.2
    local_steps: Annotated[int, Meta(ge=1, le=1000)] = 5
    rounds: Annotated[int, Meta(ge=0, le=10_000)] = 20
    grid: Grid

    def task(self, data: str = "fresh") -> RegressionMixture:
        """Return the regression task with 60 clients in 4 clusters."""
        law = self.chosen("separation", "noise", "samples", "seed")
        return RegressionMixture.random(clusters=4, clients=60, dimension=10, data=data, **law)

    def updates(self, data: str = "fresh") -> np.ndarray:
        """Run FedAvg, and return the next updates of all clients, (m, d)."""
        local = self.chosen("rounds", "step_size", "local_steps")
        return after_fedavg(self.task(data), self.seed, self.name, **local)

    @property
    def source(self) -> str:
        """Describe, for a caption, how the updates are computed."""
        task = self.task()
        return (
            f"{self.rounds} rounds of FedAvg ({self.local_steps} local steps, $\\eta = {self.step_size:g}$) on "
            f"Gaussian regression: {describe(task)}, $\\Delta = {task.separation:g}$"
        )

    def train_map(
        self, stream: str, data: str = "fresh", **options: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Train SoFL's map on the updates, and return neurons (grid, grid, e), updates (m, e), and winners (m,)."""
        source = generator(self.seed, f"figures/{self.name}", stream)
        algorithm = SoFL(**self.chosen("step_size", "local_steps", "grid"), **options)
        neurons, vectors = algorithm.train_map(self.updates(data), source)
        return neurons, vectors, best_matching_units(neurons, vectors)


def on_simplex(corners: np.ndarray, separation: float, clients: int, **law: Any) -> RegressionMixture:
    """Return clusters of equal size whose optima have distance ``separation``.

    ``corners`` (P, d) has orthonormal rows.
    """
    clusters, dimension = corners.shape
    return RegressionMixture(
        optima=separation / np.sqrt(2) * (corners - corners.mean(axis=0)),
        covariance=np.ones(dimension),
        labels=np.repeat(np.arange(clusters), clients // clusters),
        **law,
    )


def after_fedavg(
    task: RegressionMixture, seed: int, figure: str, *, rounds: int, step_size: float, local_steps: int
) -> np.ndarray:
    """Return the updates (m, d) of all clients from the common model after ``rounds`` rounds of FedAvg.

    The training for the updates uses the random stream for ``figure``, the name of the figure.
    """
    algorithm = FedAvg(step_size=step_size, local_steps=local_steps)
    start = np.asarray(run(algorithm, task, rounds=rounds, seed=seed).models[-1])
    points, clients = np.broadcast_to(start, (task.clients, task.dimension)), np.arange(task.clients)
    source = generator(seed, f"figures/{figure}", "updates")
    trained = task.local_steps(points, clients, source, Descent(step_size, local_steps)).points
    return np.asarray(trained - start)
