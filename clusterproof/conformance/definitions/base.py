"""What definitions share: settings, a round of local steps and a mean, and lines that a slip can change."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.conformance.tolerance import Snapshot

T = TypeVar("T")

Change = float | str | Callable[..., Any]
"""A changed line: a factor, the name of what the faulty code has instead of the line's value, or a function of it.

Names, and parameters of the function, are ``value``, ``run``, ``x`` (the server's model), settings and quantities of
the line.
"""

_signature = cache(inspect.signature)

SHARED = {
    "step_size": 0.05,
    "local_epochs": 1,
    "batch_size": None,
    "server_step_size": 1.0,
    "weighting": "samples",
    "drop_last": False,
    "reshuffle": False,
}
"""Settings of every algorithm, with their defaults."""

STEPS = {"drop_last": (False, True), "reshuffle": (False, True)}
"""Settings of every algorithm with local steps whose every value is an admissible form.

With ``reshuffle`` a local step has the gradient of one sample, and every pass takes the samples in a new order.
"""

MEMBERS = {"weighting": ("samples", "clients", "steps"), **STEPS}
"""... with a weighted mean over some of the clients."""

FORMS = {**MEMBERS, "weighting": (*MEMBERS["weighting"], "unbiased", "unbiased-models")}
"""... with a weighted mean over the participants.

``"unbiased"`` adds changes with the weights (N / |S|) n_i / n, which add up to 1 in expectation; ``"unbiased-models"``
adds models with them (Li et al. 2020, On the convergence of FedAvg on non-IID data, scheme II).
"""

DECLARED = {"weight_decay": 0.0, "schedule": "constant", "schedule_rate": 0.5, "schedule_rounds": 4}
"""Settings that an implementation is given only if they are declared, with their values otherwise."""

SCHEDULES: dict[str, Callable[[int, float, int], float]] = {
    "constant": lambda t, rate, rounds: 1.0,
    "exponential": lambda t, rate, rounds: rate**t,
    "step": lambda t, rate, rounds: rate ** (t // rounds),
    "cosine": lambda t, rate, rounds: (1 + math.cos(math.pi * min(t / rounds, 1))) / 2,
    "warm-up": lambda t, rate, rounds: min(1.0, (t + 1) / rounds),
}
"""Factors of the clients' step size in round t = 0, 1, ..., from ``schedule_rate`` and ``schedule_rounds``."""


class Definition:
    """A run of an algorithm exactly as it is defined, in float64.

    A round is FedAvg's here; an algorithm replaces the parts in which it differs. A quantity that a slip can
    change passes through ``line``, which returns it unchanged unless the run was given slips: the code, read
    without ``line``, is the definition.

    Parameters
    ----------
    task
        Losses, numbers of samples and the start.
    settings
        Complete settings.
    slips
        Changes by the name of the line; none for the definition itself. The line ``"round"`` is a whole round,
        whose change takes the run, the round's own function and the participants.
    """

    name: ClassVar[str]
    equation: ClassVar[str]
    """One round in formulas, as reports print it."""
    source: ClassVar[str]
    paper_was_read: ClassVar[bool] = False
    """Whether the definition was compared with the paper's own text."""
    own_settings: ClassVar[Mapping[str, Any]] = {}
    strengths: ClassVar[Mapping[str, float]] = {}
    """Other values of the algorithm's strengths, for the probe that changes each of them."""
    variants: ClassVar[Mapping[str, tuple[Any, ...]]] = FORMS
    """Settings whose every value is an admissible form of the algorithm; forms that are not declared are looked for."""
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Values of further settings that are words; another than the declared one is not looked for."""
    without: ClassVar[tuple[str, ...]] = ()
    """Settings of every other algorithm that this one does not have."""
    lengths: ClassVar[str] = ""
    """Strengths that have a unit of the models or of the losses, so that the run does not scale with the task."""
    server_step: ClassVar[str | None] = "server_step_size"
    """The setting that is the step of the server; None where the algorithm has none."""
    quantities: ClassVar[tuple[str, ...]] = ("model",)
    required: ClassVar[tuple[str, ...]] = ()
    """Quantities that a run must report, as it is judged by what follows from them."""
    needs_all_clients: ClassVar[bool] = False
    """Whether a round of some of the clients is not defined."""
    equal_steps: ClassVar[bool] = False
    """Whether all clients take equally many local steps."""
    clusters: ClassVar[int] = 0
    """Number of models of the probes' starts; 0 for an algorithm with one model."""

    def __init__(
        self,
        task: ConformanceTask,
        settings: Mapping[str, Any],
        slips: Sequence[Mapping[str, Change]] = (),
    ) -> None:
        self.task, self.settings, self._slips = task, settings, slips
        self.memory: dict[Any, Any] = {}
        """What slips remember; a definition does not use it."""
        self.step_size = settings["step_size"]
        self.finished = 0
        self.x: np.ndarray = np.array(task.start, dtype=float)
        self.prepare()
        changes: list[Any] = [slip["round"] for slip in slips if "round" in slip]
        for change in changes:
            self.round = partial(change, self, self.round)  # type: ignore[method-assign]

    def prepare(self) -> None:
        """Set what is carried between rounds to its start."""

    @property
    def model(self) -> np.ndarray:
        """The server's model (d,), or its models (P, d)."""
        return self.x

    def snapshot(self) -> Snapshot:
        """Return a copy of every quantity."""
        return {name: np.array(getattr(self, name), dtype=float) for name in self.quantities}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every setting with its default."""
        shared = {name: value for name, value in SHARED.items() if name not in cls.without}
        return {**shared, **cls.own_settings}

    @classmethod
    def starts(cls, settings: Mapping[str, Any], clients: int) -> int:
        """Return the number of models of a probe's starts; 0 for an algorithm that starts from one model."""
        return cls.clusters

    @classmethod
    def least_participants(cls, settings: Mapping[str, Any]) -> int:
        """Return the number of participants below which a round is not defined."""
        return 1

    @classmethod
    def order_matters(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether the order of the clients has an effect, as it stands for a random choice."""
        return False

    @classmethod
    def judged(cls, settings: Mapping[str, Any], states: Sequence[Snapshot]) -> Mapping[str, Any]:
        """Return the settings that a run is compared under, which may contain what was drawn at random in the run."""
        return settings

    def declared(self, name: str) -> Any:
        """Return a setting of ``DECLARED``."""
        return self.settings.get(name, DECLARED[name])

    def line(self, name: str, value: T, **quantities: Any) -> T:
        """Return the value of a line of the definition, as the run's slips change it."""
        for change in (slip[name] for slip in self._slips if name in slip):
            known = {**self.settings, "x": self.x, **quantities, "run": self, "value": value}
            if isinstance(change, str):
                value = known[change]
            elif callable(change):
                value = change(**{one: known[one] for one in _signature(change).parameters})
            else:
                value = change * value  # type: ignore[assignment, operator]  # a number, or an array
        return value

    def batches(self, client: int) -> int:
        """Return the number of batches of one pass over a client's samples."""
        samples = int(self.task.samples[client])
        if self.settings["reshuffle"]:
            return samples
        size = self.settings["batch_size"] or samples
        return int(max(1, samples // size)) if self.settings["drop_last"] else int(-(-samples // size))

    def steps(self, client: int) -> int:
        """Return the client's number of local steps, K_i = local_epochs x batches."""
        return int(self.line("steps", self.settings["local_epochs"] * self.batches(client), client=client))

    def gradient(self, client: int, point: np.ndarray, step: int = 0) -> np.ndarray:
        """Return g_i at a point, as a local step evaluates it."""
        return self.line("gradient", self.task.gradient(client, point), y=point, client=client, step=step)

    def weights(self, participants: Sequence[int]) -> np.ndarray:
        """Return p_i of the participants, which add up to 1 unless they are unbiased."""
        weighting = self.settings["weighting"]
        if weighting == "samples":
            counts = self.task.samples[list(participants)].astype(float)
        elif weighting == "steps":
            counts = np.array([float(self.steps(i)) for i in participants])
        elif weighting.startswith("unbiased"):
            share = self.task.samples[list(participants)] / self.task.samples.sum()
            return self.line(
                "weights", share * self.task.clients / len(participants), participants=participants
            )
        else:
            counts = np.ones(len(participants))
        return self.line("weights", counts / counts.sum(), participants=participants)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one communication round, with the step size that is scheduled for it."""
        names = ("schedule_rate", "schedule_rounds")
        factor = SCHEDULES[self.declared("schedule")](self.finished, *map(self.declared, names))
        self.step_size = self.settings["step_size"] * factor
        self.exchange(participants)
        self.finished += 1

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out what clients and server do in a round."""
        local = {i: self.local_model(i, self.x) for i in participants}
        self.x = self.server_model(participants, local)

    def local_model(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return y_i after K_i local steps from the received model."""
        y = self.line("start", received, client=client)
        for step in range(self.steps(client)):
            direction = self.gradient(client, y, step) + self.correction(client, y, received)
            direction = self.line("direction", direction, y=y, client=client, step=step)
            y = self.moved(y, direction, self.step_size)
        return self.line("local model", y, client=client)

    def moved(self, y: np.ndarray, direction: np.ndarray, step_size: float) -> np.ndarray:
        """Return the point that a client's optimiser reaches from y, y - eta (direction + weight_decay y)."""
        decay = self.declared("weight_decay")
        return np.asarray(y - step_size * (direction + decay * y if decay else direction))

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return what is added to the gradient, (d,) or 0."""
        return 0.0

    def change(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the weighted mean of the changes, sum_S p_i (y_i - x)."""
        weights = self.weights(participants)
        change = np.asarray(sum(p * (local[i] - self.x) for p, i in zip(weights, participants, strict=True)))
        if self.settings["weighting"] == "unbiased-models":
            change = change + (weights.sum() - 1) * self.x
        return self.line("change", change, participants=participants, weights=weights, local=local)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the next model, x + gamma times the mean change."""
        gamma = self.line("server step", self.settings["server_step_size"])
        change = self.change(participants, local)
        return self.line("new model", np.asarray(self.x + gamma * change), gamma=gamma)
