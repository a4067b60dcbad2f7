"""Convert rules of clients and servers, functions for whole runs, and coins to implementations for ``conform``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from clusterproof.conformance.definitions import Definition
from clusterproof.conformance.observation import Start, Unusable, as_array
from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.exact import ExactClient, ExactClients, descend


@dataclass(frozen=True, eq=False)
class Message:
    """A client's message to the server: the change y_i - x, the number of samples and the number of local steps."""

    client: int
    change: np.ndarray
    samples: int
    steps: int


class FedAvgInHalves(Definition, name="fedavg"):
    """FedAvg with separate rules for client and server. An implementation can provide one of them and use the other."""

    def trained(self, client: int, received: np.ndarray) -> np.ndarray:
        """Return a client's model after its local steps."""
        gradient = partial(self.task.gradient, client)
        return np.asarray(descend(gradient, received, self.step_size, self.steps(client)))

    def average(self, participants: Sequence[int], ends: Sequence[np.ndarray]) -> None:
        """Move the server's model towards the mean of the participants' models."""
        trained = [ExactClient(None, path=lambda *_, end=end: end) for end in ends]
        clients = ExactClients(trained, self.task.clients, list(self.weights(participants)))
        settings = {"step_size": self.step_size, "server_step_size": self.settings["server_step_size"]}
        self.model = fedavg(clients, self.model, **settings)


def from_rules(*, client: Any = None, server: Any = None) -> Start:
    """Make an implementation from a client's rule, a server's rule, or both; a missing rule is FedAvg's rule.

    Parameters
    ----------
    client
        Function (state, received, gradient, settings) -> (state, message). ``received`` (d,) is the server's model, and
        ``gradient`` is a function of a point. ``settings["local_steps"]`` is the client's number of steps K_i, and
        ``message`` is the change y_i - x (d,). The initial state is None.
    server
        Function (state, x, messages, settings) -> (state, x). ``messages`` is a list of ``Message``. The initial state
        is None.
    """

    class RuleRun(FedAvgInHalves):
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            super().__init__(task, settings)
            self.client_states: dict[int, Any] = {}
            self.server_state: Any = None

        def trained(self, client_number: int, received: np.ndarray) -> np.ndarray:
            if client is None:
                return super().trained(client_number, received)
            gradient = partial(self.task.gradient, client_number)
            given = {**self.settings, "local_steps": self.steps(client_number)}
            state = self.client_states.get(client_number)
            self.client_states[client_number], change = client(state, received.copy(), gradient, given)
            return np.asarray(received + change)

        def exchange(self, participants: Sequence[int]) -> None:
            ends = [self.trained(i, self.model) for i in participants]
            if server is None:
                self.average(participants, ends)
                return
            samples = self.task.samples
            messages = [
                Message(i, end - self.model, int(samples[i]), self.steps(i))
                for i, end in zip(participants, ends, strict=True)
            ]
            self.server_state, model = server(self.server_state, self.model.copy(), messages, self.settings)
            self.model = np.array(model)

    return RuleRun


def replayed(function: Callable[[ConformanceTask, Mapping[str, Any], Sequence[Sequence[int]]], Any]) -> Start:
    """Convert a function that runs all rounds to an implementation, which calls it with one more round each time.

    Parameters
    ----------
    function
        Function of the task, the settings and the participants of each round. It returns the models before the first
        and after each round, (R + 1, d) or (R + 1, P, d). Equal arguments must give equal models.
    """

    class ReplayedRun:
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            self._task, self._settings = task, dict(settings)
            self._schedule: list[list[int]] = []
            self.model = self._last()

        def round(self, participants: Sequence[int]) -> None:
            self._schedule.append(list(participants))
            self.model = self._last()

        def _last(self) -> np.ndarray:
            schedule = [list(participants) for participants in self._schedule]
            models = as_array(function(self._task, dict(self._settings), schedule), "the result")
            if models.ndim < 2 or len(models) != len(self._schedule) + 1:
                raise Unusable(
                    f"{len(self._schedule)} rounds give an array {models.shape}; give the start and one model per round"
                )
            return np.asarray(models[-1])

    return update_wrapper(ReplayedRun, function, ("conform_options",), ())


class ScheduledCoin:
    """A random generator for ProxSkip's coin, with which the clients communicate in every K-th local step.

    Pass this object to the code as its random generator, and let ``round`` perform ``local_steps`` iterations.

    Attributes
    ----------
    local_steps
        Number of iterations per round: K = local epochs x batches.
    """

    def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
        self.local_steps, self._draws = FedAvgInHalves(task, settings).steps(0), 0

    def random(self, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Return 0 in each K-th call and 1 in all other calls; 0 is below every probability."""
        self._draws += 1
        return np.full(shape, float(self._draws % self.local_steps > 0))
