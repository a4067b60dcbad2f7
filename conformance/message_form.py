"""Half an implementation: a client or a server alone, completed by the reference's other half."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask


@dataclass(frozen=True, eq=False)
class Message:
    """What the reference's client sends: its change y_i - x, its number of samples and of local steps."""

    client: int
    change: np.ndarray
    samples: int
    steps: int


def count_steps(task: ConformanceTask, client: int, settings: Mapping[str, Any]) -> int:
    """Return a client's number of local steps K_i, local_epochs times the batches of one pass."""
    size = settings["batch_size"]
    return int(settings["local_epochs"]) * (1 if size is None else -(-int(task.samples[client]) // size))


def local_model(
    received: np.ndarray,
    gradient: Callable[[np.ndarray], np.ndarray],
    steps: int,
    step_size: float,
    proximal: float = 0.0,
) -> np.ndarray:
    """Return y (d,) after exact gradient steps from the received model, with FedProx's term if ``proximal`` > 0."""
    y = received
    for _ in range(steps):
        y = y - step_size * (gradient(y) + proximal * (y - received))
    return y


def _plain_client(
    state: Any,
    received: np.ndarray,
    gradient: Callable[[np.ndarray], np.ndarray],
    settings: Mapping[str, Any],
) -> tuple[Any, np.ndarray]:
    """Make FedAvg's local steps and return the change."""
    return state, local_model(received, gradient, settings["local_steps"], settings["step_size"]) - received


def _plain_server(
    state: Any, x: np.ndarray, messages: Sequence[Message], settings: Mapping[str, Any]
) -> tuple[Any, np.ndarray]:
    """Make FedAvg's server step: the weighted mean of the changes."""
    counts = {"samples": [m.samples for m in messages], "steps": [m.steps for m in messages]}
    weights = np.array(counts.get(settings["weighting"], [1] * len(messages)), dtype=float)
    mean = sum(p * message.change for p, message in zip(weights / weights.sum(), messages, strict=True))
    return state, x + settings["server_step_size"] * mean


def from_rules(*, client: Any = None, server: Any = None) -> Start:
    """Make an implementation of a client's rule, a server's rule, or both; the missing half is FedAvg's.

    Parameters
    ----------
    client
        (state, received, gradient, settings) -> (state, message): ``received`` (d,) is the server's model,
        ``gradient`` a function of a point, ``settings["local_steps"]`` the client's number of steps K_i, and
        ``message`` the change y_i - x (d,). The state is None at first.
    server
        (state, x, messages, settings) -> (state, x): ``messages`` is a list of ``Message``. The state is None at
        first.
    """
    client_rule, server_rule = client or _plain_client, server or _plain_server

    class RuleRun:
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            self._task, self._settings = task, settings
            self._states: dict[int, Any] = {}
            self._server_state: Any = None
            self.model = task.start.copy()

        def round(self, participants: Sequence[int]) -> None:
            messages = []
            for i in participants:
                steps = count_steps(self._task, i, self._settings)
                self._states[i], change = client_rule(
                    self._states.get(i),
                    self.model.copy(),
                    functools.partial(self._task.gradient, i),
                    {**self._settings, "local_steps": steps},
                )
                messages.append(Message(i, np.asarray(change), int(self._task.samples[i]), steps))
            self._server_state, model = server_rule(
                self._server_state, self.model.copy(), messages, self._settings
            )
            self.model = np.array(model)

    return RuleRun
