"""Flower strategies as the server of an algorithm; the clients make exact gradient steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.averaging import FedProx
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask

__all__ = ["fit_strategy", "train_strategy"]


class _StrategyRun:
    """What both interfaces share: the model as two arrays, and the clients' local steps."""

    supports = ("batches", "participation", "strengths")
    dtype = "float64"

    def __init__(self, make: Callable[..., Any], task: ConformanceTask, settings: Mapping[str, Any]) -> None:
        self._task, self._settings, self._rounds = task, settings, 0
        self.model = task.start.copy()
        self._strategy = self._build(make)

    def _build(self, make: Callable[..., Any]) -> Any:
        return make(self._settings)

    def _train(
        self, client: int, arrays: Sequence[np.ndarray], config: Mapping[str, Any]
    ) -> list[np.ndarray]:
        proximal = config.get("proximal_mu", config.get("proximal-mu", 0.0))
        clients = FedProx(self._task, {**self._settings, "proximal": proximal})
        return _split(clients.local_model(client, np.concatenate(arrays)))


def _split(model: np.ndarray) -> list[np.ndarray]:
    return [model[:1], model[1:]]


class _FitRun(_StrategyRun):
    """``configure_fit`` and ``aggregate_fit``."""

    def _build(self, make: Callable[..., Any]) -> Any:
        from flwr.common import ndarrays_to_parameters

        return make(self._settings, ndarrays_to_parameters(_split(self.model)))

    def round(self, participants: Sequence[int]) -> None:
        from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays

        self._rounds += 1
        proxies = [SimpleNamespace(cid=str(client), client=client) for client in participants]
        manager = SimpleNamespace(
            num_available=lambda: len(proxies),
            all=lambda: {proxy.cid: proxy for proxy in proxies},
            sample=lambda *_, **__: proxies,
            wait_for=lambda *_, **__: True,
        )
        results = []
        parameters = ndarrays_to_parameters(_split(self.model))
        for proxy, fit in self._strategy.configure_fit(self._rounds, parameters, manager):
            arrays = self._train(proxy.client, parameters_to_ndarrays(fit.parameters), fit.config)
            examples = int(self._task.samples[proxy.client])
            status = Status(code=Code.OK, message="")
            results.append((proxy, FitRes(status, ndarrays_to_parameters(arrays), examples, {})))
        aggregated, _ = self._strategy.aggregate_fit(self._rounds, results, [])
        self.model = np.concatenate(parameters_to_ndarrays(aggregated))


class _TrainRun(_StrategyRun):
    """``configure_train`` and ``aggregate_train``."""

    def round(self, participants: Sequence[int]) -> None:
        from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

        self._rounds += 1
        # node 0 is the server
        grid = SimpleNamespace(get_node_ids=lambda: [client + 1 for client in participants])
        sent = ArrayRecord(_split(self.model))
        replies = []
        with _server_process():
            for message in self._strategy.configure_train(self._rounds, sent, ConfigRecord(), grid):
                client = message.metadata.dst_node_id - 1
                (arrays,) = message.content.array_records.values()
                config: Mapping[str, Any] = next(iter(message.content.config_records.values()), {})
                trained = ArrayRecord(self._train(client, arrays.to_numpy_ndarrays(), config))
                metrics = MetricRecord({"num-examples": int(self._task.samples[client])})
                content = RecordDict({"arrays": trained, "metrics": metrics})
                replies.append(Message(content, reply_to=message))
            aggregated, _ = self._strategy.aggregate_train(self._rounds, replies)
        self.model = np.concatenate(aggregated.to_numpy_ndarrays())


@contextmanager
def _server_process() -> Iterator[None]:
    """Identify this process as a server, without which recent versions of Flower make no messages."""
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:
        yield
        return
    names = ("_task_id", "_run_id", "_node_id")
    before = [getattr(TaskIdentity, name) for name in names]
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(TaskIdentity, name, value)


def fit_strategy(make: Callable[..., Any]) -> Start:
    """Make an implementation of a strategy of ``flwr.server.strategy`` (``configure_fit``, ``aggregate_fit``).

    Parameters
    ----------
    make
        (settings, initial parameters) -> strategy. Clients that are sent ``proximal_mu`` use it.
    """
    return _started(_FitRun, make)


def train_strategy(make: Callable[..., Any]) -> Start:
    """Make an implementation of a strategy of ``flwr.serverapp.strategy`` (``configure_train``, ``aggregate_train``).

    Parameters
    ----------
    make
        (settings) -> strategy, with ``min_train_nodes=1`` and ``min_available_nodes=1``: it waits for that many
        clients. Clients that are sent ``proximal-mu`` use it.
    """
    return _started(_TrainRun, make)


def _started(run: type[_StrategyRun], make: Callable[..., Any]) -> Start:
    def start(task: ConformanceTask, settings: Mapping[str, Any]) -> _StrategyRun:
        return run(make, task, settings)

    start.supports, start.dtype = run.supports, run.dtype  # type: ignore[attr-defined]  # what conform asks for
    return start
