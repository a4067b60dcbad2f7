"""The library's own algorithms, run round by round through their public protocol."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.protocol import Algorithm
from clusterproof.algorithms.randomness import Randomness
from clusterproof.conformance.forms import ScheduledCoin
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask


class _Scheduled:
    """A task of the library whose participants are those of the schedule."""

    def __init__(self, task: ConformanceTask) -> None:
        self._task = task.to_quadratic_mixture()
        self.participants: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def draw_participants(self, count: int, shape: tuple[int, ...], generator: Any) -> np.ndarray:
        """Return the participants of the round instead of a random choice."""
        return np.broadcast_to(np.array(self.participants), (*shape, count))


def from_algorithm(algorithm: str | type[Algorithm[Any]] | Algorithm[Any]) -> Start:
    """Make an implementation of one of the library's algorithms.

    Parameters
    ----------
    algorithm
        Its class, its name on the command line, or an instance. Parameters are set from the settings of the same
        names; an instance keeps the others.
    """
    of_name: Any = ALGORITHMS[algorithm] if isinstance(algorithm, str) else algorithm
    make = of_name if isinstance(of_name, type) else functools.partial(replace, of_name)
    known = {one.name for one in fields(of_name)}
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
            self._algorithm: Any = make(**chosen)
            self._task = _Scheduled(task)
            count = self._algorithm.model_count(self._task)
            start = np.array([task.start] * count) if task.starts is None else task.starts
            self._state = self._algorithm.initialise(start, self._task)
            self._randomness, self._iterations = Randomness.from_seed(0, "conformance"), 1
            if "probability" in known:  # of ProxSkip: an iteration is a local step
                coin: Any = ScheduledCoin(task, settings)
                self._randomness = replace(self._randomness, participation=coin)
                self._iterations = coin.local_steps

        def round(self, participants: Sequence[int]) -> None:
            self._task.participants = list(participants)
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
