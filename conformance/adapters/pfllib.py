"""PFLlib-style servers: ``Server(args, times)`` that makes its clients, and steps of a round as methods."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from clusterproof.conformance.adapters.torch_side import flat, module, replaced, replaced_losses
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask

ZEROS = (
    *("client_drop_rate", "train_slow_rate", "send_slow_rate", "num_new_clients", "fine_tuning_epoch_new"),
    *("dlg_eval", "dlg_gap", "batch_num_per_client", "few_shot", "top_cnt", "auto_break", "time_select"),
    *("random_join_ratio", "learning_rate_decay", "eval_gap", "global_rounds"),
)
"""Arguments of servers and clients that must have no effect."""


def pfllib_server(
    cls: Callable[..., Any],
    arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _settings: {},
) -> Start:
    """Make an implementation of a server class whose rounds are ``send_models``, training and ``aggregate_parameters``.

    The clients' data come from ``read_client_data`` of the modules that have it, which is replaced, like
    CrossEntropyLoss. Data loaders with ``drop_last=True`` are ``settings={"drop_last": True}`` of ``conform``.

    Parameters
    ----------
    cls
        Called as ``cls(args, 0)``; its ``clients`` have ``train()``, and its model is ``global_model``.
    arguments
        (settings) -> further attributes of ``args``, such as the algorithm's own.
    """

    class ServerRun:
        supports = ("batches", "participation", "strengths")
        dtype = "float32"

        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            shared = {
                **dict.fromkeys(ZEROS, 0),
                **{"model": module(task), "dataset": "", "algorithm": "", "goal": "", "save_folder_name": ""},
                **{"device": "cpu", "num_classes": task.dimension, "num_clients": task.clients},
                **{"join_ratio": 1.0, "time_threthold": np.inf, "learning_rate_decay_gamma": 1.0},
                "batch_size": settings["batch_size"] or int(task.samples.max()),
                "local_learning_rate": settings["step_size"],
                "local_epochs": settings["local_epochs"],
            }
            self._task = task
            with _task_data(task), replaced_losses():
                self._server = cls(SimpleNamespace(**{**shared, **arguments(settings)}), 0)
            if settings["batch_size"] is None:
                for client, samples in zip(self._server.clients, task.samples, strict=True):
                    client.batch_size = int(samples)

        def round(self, participants: Sequence[int]) -> None:
            server = self._server
            server.selected_clients = [server.clients[i] for i in participants]
            server.current_num_join_clients = len(participants)
            with _task_data(self._task), replaced_losses():
                server.send_models()
                for client in server.selected_clients:
                    client.train()
                server.receive_models()
                server.aggregate_parameters()

        @property
        def model(self) -> np.ndarray:
            return flat(self._server.global_model)

    return ServerRun


def _task_data(task: ConformanceTask) -> AbstractContextManager[None]:
    """Let every imported ``read_client_data`` return a client's rows and targets."""

    def read(_dataset: str, client: int, *_: Any, **__: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
        rows, targets = (torch.tensor(array, dtype=torch.float32) for array in task.rows(client))
        return list(zip(rows, targets, strict=True))

    return replaced("read_client_data", read)
