"""SCAFFOLD with the mistakes that seven public issues report, written again from the issues' text.

``clusterproof conform tests/conformance/published_scaffold_mistakes.py:Plato382 --as scaffold`` finds the first.
"""

from typing import Any, ClassVar

import numpy as np


class Scaffold:
    """Option II, as a user writes it; the classes below change one line each."""

    SIGN: ClassVar[int] = 1
    """Sign of the correction in a local step."""

    def __init__(self, task: Any, settings: Any) -> None:
        self.task, self.settings, self.model = task, settings, task.start.copy()
        self.common, self.own = self.initial_controls()

    def initial_controls(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros_like(self.model), np.zeros((self.task.clients, len(self.model)))

    def counted_steps(self, epochs: int, batches: int) -> int:
        return epochs * batches

    def train(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        step_size, epochs = self.settings["step_size"], self.settings["local_epochs"]
        samples = self.task.samples[client]
        batches = -(-samples // (self.settings["batch_size"] or samples))
        model, correction = self.model.copy(), self.SIGN * (self.common - self.own[client])
        for _ in range(epochs * batches):
            model = model - step_size * (self.task.gradient(client, model) + correction)
        drift = (self.model - model) / (self.counted_steps(epochs, batches) * step_size)
        return model, self.own[client] - self.common + drift

    def change(self, new: np.ndarray, participants: list[int]) -> np.ndarray:
        return (new - self.own[participants]).sum(axis=0)

    def averaged_over(self, participants: list[int]) -> int:
        return int(self.task.clients)

    def round(self, participants: list[int]) -> None:
        trained = [self.train(client) for client in participants]
        models, new = (np.array(each) for each in zip(*trained, strict=True))
        change = self.change(new, participants)
        self.own[participants] = new
        self.model = self.model + self.settings["server_step_size"] * (models - self.model).mean(axis=0)
        self.common = self.common + change / self.averaged_over(participants)


class Plato382(Scaffold):
    """The server adds the new controls, not their changes."""

    def change(self, new: np.ndarray, participants: list[int]) -> np.ndarray:
        return np.asarray(new.sum(axis=0))


class NIIDBench8(Scaffold):
    """The controls start at random."""

    def initial_controls(self) -> tuple[np.ndarray, np.ndarray]:
        stream = np.random.default_rng(0)
        return stream.normal(size=self.model.shape), stream.normal(size=(self.task.clients, len(self.model)))


class NIIDBench12(Scaffold):
    """The server divides by the number of participants, not by the number of clients."""

    def averaged_over(self, participants: list[int]) -> int:
        return len(participants)


class Fedbiomed734(Scaffold):
    """The correction has the wrong sign."""

    SIGN = -1


class PFLlib160(Scaffold):
    """K counts the batches of one epoch."""

    def counted_steps(self, epochs: int, batches: int) -> int:
        return batches


class KarhouTam1(Scaffold):
    """The change is taken after the controls were overwritten, and is 0."""

    def change(self, new: np.ndarray, participants: list[int]) -> np.ndarray:
        return np.zeros_like(self.model)


class KiLjl1(Scaffold):
    """K counts epochs."""

    def counted_steps(self, epochs: int, batches: int) -> int:
        return epochs
