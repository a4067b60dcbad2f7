"""Adapter that runs the algorithms of this library round by round, through their public methods."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from clusterproof.algorithms import ALGORITHMS, FedNova, GradientLoss
from clusterproof.algorithms.base import Algorithm, Descent, Trained
from clusterproof.algorithms.fpfc import FusionState, group_averages
from clusterproof.common.randomness import Randomness
from clusterproof.conformance.forms import ScheduledCoin
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.synthetic import QuadraticMixture

INAPPLICABLE = {
    ("averaging", "gradient"): ("local_steps",),
    ("variant", "penalised"): ("pull",),
    ("variant", "separate"): ("proximal",),
    ("penalty", "l1"): ("concavity", "smoothing"),
    ("thresholds", "relative"): ("mean_threshold", "client_threshold"),
    ("method", "fedavg"): ("proximal",),
    ("method", "per-fedavg"): ("proximal",),
}
"""Pairs of a parameter and its value, each with the parameters that the library's classes reject for this value."""


class _Scheduled:
    """Random generator that always selects the scheduled participants, because it draws the lowest keys for them."""

    def __init__(self) -> None:
        self.participants: list[int] = []

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return one key per client: 0 for the scheduled participants and 1 for all others."""
        keys = np.ones(shape)
        keys[..., self.participants] = 0.0
        return keys

    def permutation(self, clients: int) -> np.ndarray:
        """Return the participants, followed by all other clients."""
        return np.array(sorted(range(clients), key=lambda client: client not in self.participants))

    def choice(self, clients: int, *_: Any, **__: Any) -> np.ndarray:
        """Return the participants."""
        return np.array(self.participants)


class _InOrder:
    """Random generator that never shuffles, so the participants are in the given order."""

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return ascending keys."""
        return np.broadcast_to(np.arange(float(shape[-1])), shape)


@dataclass(frozen=True, eq=False)
class _Clients(QuadraticMixture):
    """The clients of a task. All samples of a client are equal, so their order has no effect.

    Attributes
    ----------
    samples
        Number of samples in a mini-batch, or None if every step uses all samples.
    by_epochs
        Whether a local step is a pass over a client's mini-batches.
    """

    samples: int | None = None
    by_epochs: bool = False

    @classmethod
    def of(cls, task: ConformanceTask, settings: Mapping[str, Any], *, by_epochs: bool) -> Self:
        """Return the clients of a task."""
        given = task.to_quadratic_mixture()
        shown = {name: getattr(given, name) for name in ("hessians", "centers", "labels", "client_samples")}
        return cls(**shown, samples=settings["batch_size"], by_epochs=by_epochs)

    def local_steps(
        self, points: Any, clients: Any, generator: Any, descent: Descent, **others: Any
    ) -> Trained:
        """Perform local steps; one pass over the samples consists of one step per sample."""
        if self.by_epochs and self.samples is not None:
            batches = -(-np.asarray(self.client_samples)[clients] // self.samples)
            descent = replace(descent, steps=descent.steps * batches[..., None])
        if descent.reshuffled:
            passes = descent.steps * np.asarray(self.client_samples)[clients][..., None]
            descent = replace(descent, reshuffled=False, steps=passes)
        return super().local_steps(points, clients, generator, descent, **others)


def _of_all_pairs(clients: int, values: np.ndarray) -> np.ndarray:
    """Convert one vector per pair i < j, (M, d), to one vector per ordered pair, (N, N, d)."""
    table = np.zeros((clients, clients, values.shape[-1]))
    table[np.triu_indices(clients, 1)] = values
    return np.asarray(table - np.swapaxes(table, 0, 1))


def from_algorithm(algorithm: str | type[Algorithm[Any]] | Algorithm[Any], **parameters: Any) -> Start:
    """Make an implementation from an algorithm of this library.

    Parameters
    ----------
    algorithm
        Class of the algorithm, its name on the command line, or an instance. Each setting replaces the parameter of the
        same name; an instance keeps its other parameters.
    parameters
        Further parameters that are not settings, such as FPFC's ``reuse_memory``.
    """
    of_name: Any = ALGORITHMS[algorithm] if isinstance(algorithm, str) else algorithm
    make = of_name if isinstance(of_name, type) else functools.partial(replace, of_name)
    known = {one.name for one in fields(of_name)}
    needs = {"server-step": "server_step_size", "participation": "participation"}
    supported = ["strengths", *(support for support, parameter in needs.items() if parameter in known)]
    by_epochs = of_name is FedNova  # FedNova equals FedAvg if all clients take the same number of steps
    supported += ["batches"] * by_epochs

    class AlgorithmRun:
        conform_options = MappingProxyType({"supports": tuple(supported), "dtype": "float64"})

        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            names = {"local_epochs": "local_steps", "personal_epochs": "personal_steps"}
            given = {names.get(name, name): value for name, value in settings.items()}
            chosen = {name: value for name, value in given.items() if name in known}
            for pair, refused in INAPPLICABLE.items():
                if pair in settings.items():
                    chosen = {name: value for name, value in chosen.items() if name not in refused}
            self._algorithm: Any = make(**chosen, **parameters)
            self._task = _Clients.of(task, settings, by_epochs=by_epochs)
            self._samples = task.samples
            count = self._algorithm.model_count(self._task)
            start = np.array([task.start] * count) if task.starts is None else task.starts
            self._state = self._algorithm.initialise(start, self._task)
            self._stream: Any = _Scheduled()
            self._iterations = 1
            if "probability" in known:  # ProxSkip: an iteration is a local step
                self._stream = ScheduledCoin(task, settings)
                self._iterations = self._stream.local_steps
            self._randomness = replace(Randomness.from_seed(0, "conformance"), participation=self._stream)
            if isinstance(self._algorithm, GradientLoss):
                orders: Any = _InOrder()
                self._randomness = replace(self._randomness, clustering=orders)
            self._hand_out()

        def round(self, participants: Sequence[int]) -> None:
            self._stream.participants = list(participants)
            algorithm = self._algorithm
            if "participation" in known:
                algorithm = replace(algorithm, participation=len(participants) / self._task.clients)
            for _ in range(self._iterations):
                self._state = algorithm.step(self._state, self._task, self._randomness)

            self._hand_out()

        def _hand_out(self) -> None:
            """Set the attributes that ``conform`` reads from the current state."""
            state, models = self._state, np.array(self._state.models)
            self.model = models if len(models) > 1 else models[0]
            if of_name.target == "clients":
                if state.assignments is not None:
                    self.groups = np.array(state.assignments)
            elif len(models) > 1 and state.clients is not None:
                self.assignments = np.full(self._task.clients, -1)
                self.assignments[state.clients] = state.assignments
            if isinstance(state, FusionState):
                weights = self._samples.astype(float)
                self.group_models = np.array(group_averages(models, state.assignments, weights))
                delta, factors = state.pairs.delta, state.pairs.factor[:, None]
                self.differences = _of_all_pairs(len(models), factors * delta)
                self.duals = _of_all_pairs(len(models), self._algorithm.augmentation * (1 - factors) * delta)
            for name in ("control", "controls", "personal"):
                if hasattr(state, name):
                    value = getattr(state, name)
                    setattr(
                        self, name, np.array(value[0] if name == "control" else value)
                    )  # (1, d) for one model

    return AlgorithmRun
