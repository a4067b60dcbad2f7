"""The library's own algorithms, run round by round through their public protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.base import Algorithm
from clusterproof.algorithms.randomness import Randomness
from clusterproof.conformance.forms import ScheduledCoin
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask


class _Scheduled:
    """Stands in for the stream from which participants are drawn: those of the schedule have the smallest keys."""

    def __init__(self) -> None:
        self.participants: list[int] = []

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return keys of all clients."""
        keys = np.ones(shape)
        keys[..., self.participants] = 0.0
        return keys


def from_algorithm(algorithm: str | type[Algorithm[Any]]) -> Start:
    """Make an implementation of one of the library's algorithms, by its class or its name on the command line.

    Parameters
    ----------
    algorithm
        The class; its parameters are set from the settings of the same names.
    """
    cls = ALGORITHMS[algorithm] if isinstance(algorithm, str) else algorithm
    known = {one.name for one in fields(cls)}
    needs = {"server-step": "server_step_size", "participation": "participation"}
    supported = ("strengths", *(support for support, parameter in needs.items() if parameter in known))

    class AlgorithmRun:
        supports = supported
        dtype = "float64"

        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            names = {"local_epochs": "local_steps"}
            given = {names.get(name, name): value for name, value in settings.items()}
            chosen = {name: value for name, value in given.items() if name in known}
            if chosen.get("averaging") == "gradient":
                chosen.pop("local_steps", None)
            self._algorithm: Any = cls(**chosen)
            self._task = task.to_quadratic_mixture()
            count = self._algorithm.model_count(self._task)
            start = np.array([task.start] * count) if task.starts is None else task.starts
            self._state = self._algorithm.initialise(start, self._task)
            self._stream: Any = _Scheduled()
            self._iterations = 1
            if "probability" in known:  # of ProxSkip: an iteration is a local step
                self._stream = ScheduledCoin(task, settings)
                self._iterations = self._stream.local_steps
            self._randomness = replace(Randomness.from_seed(0, "conformance"), participation=self._stream)

        def round(self, participants: Sequence[int]) -> None:
            self._stream.participants = list(participants)
            algorithm = self._algorithm
            if "participation" in known:
                algorithm = replace(algorithm, participation=len(participants) / self._task.clients)
            for _ in range(self._iterations):
                self._state = algorithm.step(self._state, self._task, self._randomness)

        @property
        def model(self) -> np.ndarray:
            models = np.array(self._state.models)
            return models if len(models) > 1 else models[0]

        @property
        def assignments(self) -> np.ndarray | None:
            if len(self._state.models) == 1 or self._state.clients is None:
                return None
            spread = np.full(self._task.clients, -1)
            spread[self._state.clients] = self._state.assignments
            return spread

        def __getattr__(self, name: str) -> Any:
            if name not in ("control", "controls", "personal"):
                raise AttributeError(name)
            value = getattr(self._state, name)
            return np.array(value[0] if name == "control" else value)  # (1, d) of one model

    return AlgorithmRun
