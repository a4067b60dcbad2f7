"""What clients send from one common model: the data of the figures on clustering by updates."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import FedAvg, generator, run
from clusterproof.algorithms.parts.aggregation import local_descent
from clusterproof.synthetic import RegressionMixture


def pretrained_model(
    task: RegressionMixture, seed: int, *, rounds: int, step_size: float, local_steps: int
) -> np.ndarray:
    """Give the model (d,) that FedAvg on everybody reaches."""
    algorithm = FedAvg(step_size=step_size, local_steps=local_steps)
    return np.asarray(run(algorithm, task, rounds=rounds, seed=seed).models[-1, 0])


def updates(
    task: RegressionMixture,
    model: np.ndarray,
    source: np.random.Generator,
    *,
    step_size: float,
    local_steps: int,
) -> np.ndarray:
    """Give every client's local training from one model (d,), less that model, (m, d)."""
    start = np.broadcast_to(model, (task.clients, task.dimension))
    everybody = np.arange(task.clients)
    points = local_descent(task, start, everybody, source, step_size=step_size, local_steps=local_steps)
    return np.asarray(points - start)


def after_fedavg(
    task: RegressionMixture, seed: int, figure: str, *, rounds: int, step_size: float, local_steps: int
) -> np.ndarray:
    """Give the updates (m, d) that follow ``rounds`` of FedAvg, from streams of the figure's own."""
    model = pretrained_model(task, seed, rounds=rounds, step_size=step_size, local_steps=local_steps)
    source = generator(seed, f"figures/{figure}", "updates")
    return updates(task, model, source, step_size=step_size, local_steps=local_steps)
