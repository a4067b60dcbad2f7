"""Half an implementation: a client or a server alone, completed by the reference's other half."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.averaging import FedAvg
from clusterproof.conformance.observation import Start


@dataclass(frozen=True, eq=False)
class Message:
    """What the reference's client sends: its change y_i - x, its number of samples and of local steps."""

    client: int
    change: np.ndarray
    samples: int
    steps: int


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

    class RuleRun(FedAvg):
        def prepare(self) -> None:
            self.client_states: dict[int, Any] = {}
            self.server_state: Any = None

        def round(self, participants: Sequence[int]) -> None:
            messages = []
            for i in participants:
                steps = self.steps(i)
                if client is None:
                    change = self.local_model(i, self.x) - self.x
                else:
                    gradient = functools.partial(self.task.gradient, i)
                    given = {**self.settings, "local_steps": steps}
                    state = self.client_states.get(i)
                    self.client_states[i], change = client(state, self.x.copy(), gradient, given)
                messages.append(Message(i, np.asarray(change), int(self.task.samples[i]), steps))
            if server is None:
                local = {message.client: self.x + message.change for message in messages}
                self.x = self.server_model(participants, local)
            else:
                self.server_state, model = server(self.server_state, self.x.copy(), messages, self.settings)
                self.x = np.array(model)

    return RuleRun
