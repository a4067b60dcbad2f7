"""What definitions share: settings, a round of local steps and a mean, and lines that a slip can change."""

import inspect
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
}
"""Settings of every algorithm, with their defaults."""

FORMS = {"weighting": ("samples", "clients", "steps"), "drop_last": (False, True)}
"""Settings of every algorithm with a weighted mean whose every value is an admissible form."""


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
    """Settings whose every value is an admissible form of the algorithm."""
    server_step: ClassVar[str | None] = "server_step_size"
    """The setting that is the step of the server; None where the algorithm has none."""
    quantities: ClassVar[tuple[str, ...]] = ("model",)
    needs_all_clients: ClassVar[bool] = False
    """Whether a round of some of the clients is not defined."""
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
        self.x: np.ndarray = np.array(task.start, dtype=float)
        self.prepare()
        for change in (slip["round"] for slip in slips if "round" in slip):
            self.round = partial(change, self, self.round)  # type: ignore[operator, method-assign]

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
        return {**SHARED, **cls.own_settings}

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
        size = self.settings["batch_size"] or samples
        return int(max(1, samples // size)) if self.settings["drop_last"] else int(-(-samples // size))

    def steps(self, client: int) -> int:
        """Return the client's number of local steps, K_i = local_epochs x batches."""
        return int(self.line("steps", self.settings["local_epochs"] * self.batches(client), client=client))

    def gradient(self, client: int, point: np.ndarray, step: int = 0) -> np.ndarray:
        """Return g_i at a point, as a local step evaluates it."""
        return self.line("gradient", self.task.gradient(client, point), y=point, client=client, step=step)

    def weights(self, participants: Sequence[int]) -> np.ndarray:
        """Return p_i of the participants, which add up to 1."""
        weighting = self.settings["weighting"]
        if weighting == "samples":
            counts = self.task.samples[list(participants)].astype(float)
        elif weighting == "steps":
            counts = np.array([float(self.steps(i)) for i in participants])
        else:
            counts = np.ones(len(participants))
        return self.line("weights", counts / counts.sum(), participants=participants)

    def round(self, participants: Sequence[int]) -> None:
        """Carry out one communication round."""
        local = {i: self.local_model(i, self.x) for i in participants}
        self.x = self.server_model(participants, local)

    def local_model(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return y_i after K_i local steps from the received model."""
        y = self.line("start", received, client=client)
        for step in range(self.steps(client)):
            direction = self.gradient(client, y, step) + self.correction(client, y, received)
            y = y - self.step_size * self.line("direction", direction, y=y, client=client, step=step)
        return self.line("local model", y, client=client)

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return what is added to the gradient, (d,) or 0."""
        return 0.0

    def change(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the weighted mean of the changes, sum_S p_i (y_i - x)."""
        weights = self.weights(participants)
        change = np.asarray(sum(p * (local[i] - self.x) for p, i in zip(weights, participants, strict=True)))
        return self.line("change", change, participants=participants, weights=weights, local=local)

    def server_model(self, participants: Sequence[int], local: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the next model, x + gamma times the mean change."""
        gamma = self.line("server step", self.settings["server_step_size"])
        change = self.change(participants, local)
        return self.line("new model", np.asarray(self.x + gamma * change), gamma=gamma)
