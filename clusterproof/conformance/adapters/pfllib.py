"""Adapter for the servers of PFLlib: ``Server(args, times)`` creates the clients, and ``train()`` runs the rounds."""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from clusterproof.conformance.adapters.torch_side import flat, module, replaced, replaced_losses
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask

__all__ = ["pfllib_server"]

ZEROS = (
    *("client_drop_rate", "train_slow_rate", "send_slow_rate", "num_new_clients", "fine_tuning_epoch_new"),
    *("dlg_eval", "dlg_gap", "batch_num_per_client", "few_shot", "top_cnt", "auto_break", "time_select"),
    *("random_join_ratio", "learning_rate_decay", "global_rounds"),
)
"""Arguments of servers and clients that the adapter sets to 0.

With the value 0, most of these arguments have no effect, and ``global_rounds`` = 0 means one round.
"""


def pfllib_server(
    cls: Callable[..., Any],
    arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _settings: {},
) -> Start:
    """Make an implementation from a server class: each round calls its ``train()`` with ``global_rounds = 0``.

    ``select_clients()`` returns the participants, and ``num_join_clients`` is the number of participants. The adapter
    switches off the methods that evaluate or save. The adapter replaces CrossEntropyLoss. It also replaces
    ``read_client_data`` in every module that has this function. For data loaders with ``drop_last=True``, call
    ``conform`` with ``settings={"drop_last": True}``. A subclass of the returned class can have more attributes, such
    as ``control``, which it reads from ``self.server``.

    Parameters
    ----------
    cls
        Class of the server, called as ``cls(args, 0)``. The server's attribute ``clients`` lists the clients in order,
        and ``global_model`` is the model.
    arguments
        Function (settings) -> further attributes of ``args``, such as the parameters of the algorithm.
    """

    class ServerRun:
        conform_options = MappingProxyType(
            {"supports": ("batches", "participation", "strengths"), "dtype": "float64"}
        )

        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            shared = {
                **dict.fromkeys(ZEROS, 0),
                **dict.fromkeys(("dataset", "algorithm", "goal", "save_folder_name"), ""),
                "model": module(task, torch.float64),
                "device": "cpu",
                "num_classes": task.dimension,
                "num_clients": task.clients,
                "join_ratio": 1.0,
                "time_threthold": np.inf,
                "learning_rate_decay_gamma": 1.0,
                "eval_gap": 1,
                "batch_size": settings["batch_size"] or int(task.samples.max()),
                "local_learning_rate": settings["step_size"],
                "local_epochs": settings["local_epochs"],
            }
            self._task = task
            with _task_data(task), replaced_losses():
                self.server = cls(SimpleNamespace(**{**shared, **arguments(settings)}), 0)
            for name in dir(self.server):
                if name.startswith(("evaluate", "save_")) and callable(getattr(self.server, name)):
                    setattr(self.server, name, lambda *_, **__: None)
            if settings["batch_size"] is None:
                for client, samples in zip(self.server.clients, task.samples, strict=True):
                    client.batch_size = int(samples)

        def round(self, participants: Sequence[int]) -> None:
            server = self.server
            server.select_clients = lambda: [server.clients[i] for i in participants]
            server.num_join_clients = server.current_num_join_clients = len(participants)
            # the end of ``train`` prints the best accuracy, and the mean time of the rounds after the first
            server.rs_test_acc, server.rs_test_acc_per, server.Budget = [0.0], [0.0], [0.0]
            with _task_data(self._task), replaced_losses(), redirect_stdout(io.StringIO()):
                server.train()

        @property
        def model(self) -> np.ndarray:
            return flat(self.server.global_model)

    return ServerRun


def _task_data(task: ConformanceTask) -> AbstractContextManager[None]:
    """Replace every imported ``read_client_data`` by a function that returns the data of the task's clients."""

    def read(_dataset: str, client: int, *_: Any, **__: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
        rows, targets = (torch.tensor(array, dtype=torch.float64) for array in task.rows(client))
        return list(zip(rows, targets, strict=True))

    return replaced("read_client_data", read)
