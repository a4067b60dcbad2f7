"""The algorithm of an example paper: local steps, and a mean weighted by the numbers of samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class OurFedAvg:
    """FedAvg, as a server that calls its clients."""

    def __init__(self, task: Any, settings: Mapping[str, Any]) -> None:
        self.task, self.settings = task, settings
        self._model: np.ndarray = task.start.copy()

    @property
    def model(self) -> np.ndarray:
        """The server's model, (d,)."""
        return self._model.copy()

    def train(self, client: int) -> np.ndarray:
        """Return the client's model, (d,), after its local epochs."""
        model, size = self.model, self.settings["batch_size"] or self.task.samples[client]
        for _ in range(self.settings["local_epochs"] * -(-self.task.samples[client] // size)):
            model -= self.settings["step_size"] * self.task.gradient(client, model)
        return model

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one round with these clients."""
        models = [self.train(client) for client in participants]
        mean = np.average(models, axis=0, weights=self.task.samples[participants])
        self._model += self.settings["server_step_size"] * (mean - self._model)
