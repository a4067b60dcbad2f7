"""The library's own algorithms, run round by round through their public protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.fpfc import FusionState, group_averages
from clusterproof.algorithms.protocol import Algorithm
from clusterproof.algorithms.randomness import Randomness
from clusterproof.conformance.forms import ScheduledCoin
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask

INAPPLICABLE = {
    ("averaging", "gradient"): ("local_steps",),
    ("variant", "penalised"): ("pull",),
    ("variant", "separate"): ("proximal",),
    ("penalty", "l1"): ("concavity", "smoothing"),
    ("thresholds", "relative"): ("mean_threshold", "client_threshold"),
    ("method", "fedavg"): ("proximal",),
    ("method", "per-fedavg"): ("proximal",),
}
"""Parameters that the library's classes refuse with the value of another."""


class _Scheduled:
    """A task of the library in which what is random is given: the participants and the order of clients and samples.

    Attributes
    ----------
    participants
        Those of the round.
    samples
        Number of samples of a mini-batch; None without batches.
    """

    def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
        self._task = task.to_quadratic_mixture()
        self.participants: list[int] = []
        self.samples = settings["batch_size"]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def draw_participants(self, count: int, shape: tuple[int, ...], generator: Any) -> np.ndarray:
        """Return the participants of the round instead of a random choice."""
        return np.broadcast_to(np.array(self.participants), (*shape, count))

    def draw_orders(self, shape: tuple[int, ...], generator: Any) -> np.ndarray:
        """Return the given order of the participants instead of a random one."""
        return np.broadcast_to(np.arange(shape[-1]), shape)

    def reshuffled_training(
        self, points: np.ndarray, clients: np.ndarray, generator: Any, *, step_size: float, passes: int
    ) -> np.ndarray:
        """Return the models after passes over the samples, which are equal, so that their order has no effect."""
        trained = points.copy()
        for row, client in enumerate(clients):
            for _ in range(passes * int(self._task.client_samples[client])):
                gradient = self._task.gradients(trained[row : row + 1], clients[row : row + 1], generator)
                trained[row] -= step_size * gradient[0]
        return trained


def from_algorithm(algorithm: str | type[Algorithm[Any]], **parameters: Any) -> Start:
    """Make an implementation of one of the library's algorithms, by its class or its name on the command line.

    Parameters
    ----------
    algorithm
        The class; its parameters are set from the settings of the same names.
    parameters
        Further parameters, of which there are no settings, such as FPFC's ``reuse_memory``.
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
            for pair, refused in INAPPLICABLE.items():
                if pair in settings.items():
                    chosen = {name: value for name, value in chosen.items() if name not in refused}
            self._algorithm: Any = cls(**chosen, **parameters)
            self._task = _Scheduled(task, settings)
            self._samples = task.samples
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
            if cls.target == "clients" or len(self._state.models) == 1 or self._state.clients is None:
                return None
            spread = np.full(self._task.clients, -1)
            spread[self._state.clients] = self._state.assignments
            return spread

        @property
        def groups(self) -> np.ndarray | None:
            grouped = cls.target == "clients" and self._state.assignments is not None
            return np.array(self._state.assignments) if grouped else None

        @property
        def group_models(self) -> np.ndarray | None:
            if not isinstance(self._state, FusionState):
                return None
            weights = self._samples.astype(float)
            return np.array(group_averages(self._state.models, self._state.assignments, weights))

        @property
        def pair_variables(self) -> tuple[np.ndarray, np.ndarray]:
            """The theta and v of all pairs, both (N, N, d)."""
            models, pairs = self._state.models, self._state.pairs
            theta = models[:, None] - models[None]
            v = np.zeros_like(theta)
            for page, span in pairs.spans():
                first, second, factors = pairs.first[span], pairs.second[span], pairs.factors[span][:, None]
                for table, values in (
                    (theta, factors * page),
                    (v, self._algorithm.augmentation * (1 - factors) * page),
                ):
                    table[first, second], table[second, first] = values, -values
            return theta, v

        differences = property(
            lambda self: self.pair_variables[0] if isinstance(self._state, FusionState) else None
        )
        duals = property(
            lambda self: self.pair_variables[1] if isinstance(self._state, FusionState) else None
        )

        def __getattr__(self, name: str) -> Any:
            if name not in ("control", "controls", "personal"):
                raise AttributeError(name)
            value = getattr(self._state, name)
            return np.array(value[0] if name == "control" else value)  # (1, d) of one model

    return AlgorithmRun
