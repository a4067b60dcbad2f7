"""Updates of clients from a common model: data of the figures on clustering by updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.algorithms import Descent, FedAvg, generator, run
from clusterproof.synthetic import RegressionMixture

STEP_SIZE, LOCAL_STEPS, PRETRAINING = 0.2, 5, 20
"""Of FedAvg, before the updates that SoFL's figures cluster."""


def make_task(seed: int, data: str = "fresh") -> RegressionMixture:
    """Return the task of SoFL's figures: 60 clients in 4 clusters."""
    sizes: dict[str, Any] = {"clusters": 4, "clients": 60, "dimension": 10, "samples": 100}
    return RegressionMixture.random(**sizes, separation=2.0, noise=0.5, data=data, seed=seed)


def after_fedavg(
    task: RegressionMixture, seed: int, figure: str, *, rounds: int, step_size: float, local_steps: int
) -> np.ndarray:
    """Return the updates (m, d) of all clients from the common model after ``rounds`` of FedAvg.

    The stream of the last training is that of ``figure``, the figure's name.
    """
    algorithm = FedAvg(step_size=step_size, local_steps=local_steps)
    start = np.asarray(run(algorithm, task, rounds=rounds, seed=seed).models[-1])
    points, clients = np.broadcast_to(start, (task.clients, task.dimension)), np.arange(task.clients)
    source = generator(seed, f"figures/{figure}", "updates")
    trained = task.local_steps(points, clients, source, Descent(step_size, local_steps)).points
    return np.asarray(trained - start)
