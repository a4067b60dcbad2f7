"""Rounds of algorithms with one model that are more than a definition of ``theory``, and FedAvg in two halves."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import Definition
from clusterproof.theory.definitions.fedavg import descend, fedavg_round, mean
from clusterproof.theory.definitions.proxskip import proxskip_iteration


class FedAvg(Definition, name="fedavg"):
    """FedAvg, whose halves are those of implementations that give only one."""

    rule = staticmethod(fedavg_round)

    def trained(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return a client's model after its local steps."""
        gradient = partial(self.task.gradient, client)
        return np.asarray(descend(gradient, received, self.step_size, self.steps(client)))

    def average(self, participants: Sequence[int], ends: Sequence[np.ndarray]) -> None:
        """Move the server's model towards the mean of the participants'."""
        moved = mean(ends, self.weights(participants)) - self.model
        self.model = self.model + self.settings["server_step_size"] * moved


def proxskip_round(
    gradients: Any, model: Any, controls: Any, step_size: Any, steps: Any, probability: Any, weights: Any
) -> tuple[Any, Any]:
    """Return x and all h_i after K iterations, of which the last communicates."""

    def before(gradient: Any, start: Any, control: Any, count: int) -> Any:
        for _ in range(count - 1):
            (start,), _ = proxskip_iteration([gradient], [start], [control], step_size, probability, False)
        return start

    starts = [model for _ in gradients]
    models = list(map(before, gradients, starts, controls, steps))
    models, controls = proxskip_iteration(
        gradients, models, controls, step_size, probability, True, weights=weights
    )
    return models[0], controls


def local_round(gradients: Any, models: Any, step_size: Any, steps: Any) -> Any:
    """Return the participants' models after their local steps."""
    clients = zip(gradients, models, steps, strict=True)
    return [descend(gradient, model, step_size, count) for gradient, model, count in clients]
