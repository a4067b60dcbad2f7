"""Adapters that use a Flower strategy as the server of an algorithm; the clients take exact gradient steps."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from clusterproof.conformance.forms import FedAvgInHalves
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.methods.exact import descend


class _StrategyRun(FedAvgInHalves):
    """A run whose server is a Flower strategy; server and clients send the model as two arrays."""

    conform_options = MappingProxyType(
        {"supports": ("batches", "participation", "strengths"), "dtype": "float64"}
    )
    rounds = 0

    def sent_back(
        self, client: int, arrays: Sequence[np.ndarray], config: Mapping[str, Any]
    ) -> list[np.ndarray]:
        """Return a client's model after its local steps."""
        strength, received = config.get("proximal_mu", config.get("proximal-mu", 0.0)), np.concatenate(arrays)
        gradient, steps = partial(self.task.gradient, client), self.steps(client)
        return _split(
            descend(lambda y: gradient(y) + strength * (y - received), received, self.step_size, steps)
        )


def _split(model: np.ndarray) -> list[np.ndarray]:
    return [model[:1], model[1:]]


def fit_strategy(make: Callable[..., Any]) -> Start:
    """Make an implementation from a strategy of ``flwr.server.strategy`` (``configure_fit``, ``aggregate_fit``).

    Parameters
    ----------
    make
        Function (settings, initial parameters) -> strategy. If a client receives ``proximal_mu``, it adds a proximal
        term with this weight to its loss.
    """
    from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays

    class FitRun(_StrategyRun):
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            super().__init__(task, settings)
            self.strategy = make(settings, ndarrays_to_parameters(_split(self.model)))

        def round(self, participants: Sequence[int]) -> None:
            self.rounds += 1
            proxies = [SimpleNamespace(cid=str(client), client=client) for client in participants]
            manager = SimpleNamespace(
                num_available=lambda: len(proxies),
                all=lambda: {proxy.cid: proxy for proxy in proxies},
                sample=lambda *_, **__: proxies,
                wait_for=lambda *_, **__: True,
            )
            results = []
            parameters = ndarrays_to_parameters(_split(self.model))
            for proxy, fit in self.strategy.configure_fit(self.rounds, parameters, manager):
                arrays = self.sent_back(proxy.client, parameters_to_ndarrays(fit.parameters), fit.config)
                examples = int(self.task.samples[proxy.client])
                status = Status(code=Code.OK, message="")
                results.append((proxy, FitRes(status, ndarrays_to_parameters(arrays), examples, {})))
            aggregated, _ = self.strategy.aggregate_fit(self.rounds, results, [])
            self.model = np.concatenate(parameters_to_ndarrays(aggregated))

    return FitRun


def train_strategy(make: Callable[..., Any]) -> Start:
    """Make an implementation of a strategy of ``flwr.serverapp.strategy`` (``configure_train``, ``aggregate_train``).

    Parameters
    ----------
    make
        Function (settings) -> strategy. Set ``min_train_nodes=1`` and ``min_available_nodes=1``, because the strategy
        waits for these numbers of clients. If a client receives ``proximal-mu``, it adds a proximal term with this
        weight to its loss.
    """
    from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

    class TrainRun(_StrategyRun):
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            super().__init__(task, settings)
            self.strategy = make(settings)

        def round(self, participants: Sequence[int]) -> None:
            self.rounds += 1
            # node 0 is the server
            grid = SimpleNamespace(get_node_ids=lambda: [client + 1 for client in participants])
            sent = ArrayRecord(_split(self.model))
            replies = []
            with _server_process():
                for message in self.strategy.configure_train(self.rounds, sent, ConfigRecord(), grid):
                    client = message.metadata.dst_node_id - 1
                    (arrays,) = message.content.array_records.values()
                    config: Mapping[str, Any] = next(iter(message.content.config_records.values()), {})
                    trained = ArrayRecord(self.sent_back(client, arrays.to_numpy_ndarrays(), config))
                    metrics = MetricRecord({"num-examples": int(self.task.samples[client])})
                    content = RecordDict({"arrays": trained, "metrics": metrics})
                    replies.append(Message(content, reply_to=message))
                aggregated, _ = self.strategy.aggregate_train(self.rounds, replies)
            self.model = np.concatenate(aggregated.to_numpy_ndarrays())

    return TrainRun


def _server_process() -> AbstractContextManager[Any]:
    """Identify this process as a server; otherwise recent versions of Flower create no messages."""
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:
        return nullcontext()
    return patch.multiple(TaskIdentity, _task_id=1, _run_id=1, _node_id=1)
