"""Conformance tasks for PyTorch code: modules, data loaders and losses, and clients that train with an optimiser."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from clusterproof.conformance.forms import FedAvgInHalves
from clusterproof.conformance.observation import Start
from clusterproof.conformance.tasks import ConformanceTask

__all__ = [
    "LinearModel",
    "flat",
    "load_flat",
    "loader",
    "loss",
    "module",
    "replaced",
    "replaced_losses",
    "torch_optimiser",
]

loss = nn.MSELoss()
"""Mean squared error over samples and outputs. With this loss function, a client's loss is exactly f_i."""


class LinearModel(nn.Module):
    """Module with the model w in two parameter tensors, one with 1 entry and one with d - 1 entries.

    With two tensors, the runs also reveal mistakes in code that processes each tensor separately.
    """

    def __init__(self, start: torch.Tensor) -> None:
        super().__init__()
        self.first = nn.Parameter(start[:1].clone())
        self.rest = nn.Parameter(start[1:].clone())

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return X w for samples X, (B, d, d) -> (B, d). For a two-class task, return the logits, (B, p) -> (B, 2)."""
        entries = torch.cat([self.first, self.rest])
        return rows @ entries if rows.ndim == 3 else rows @ entries.reshape(2, -1).T


def module(task: ConformanceTask, dtype: torch.dtype = torch.float32) -> LinearModel:
    """Return a module whose parameters are the initial model of the task."""
    return LinearModel(torch.tensor(task.start, dtype=dtype))


def loader(
    task: ConformanceTask,
    client: int,
    batch_size: int | None,
    shuffle: bool = True,
    dtype: torch.dtype = torch.float32,
    drop_last: bool = False,
) -> DataLoader:
    """Return a data loader for a client's samples.

    For quadratic losses all samples of a client are equal, so any batch has the exact gradient.
    """
    rows, targets = task.rows(client)
    labels = torch.tensor(targets, dtype=dtype if task.labels is None else torch.long)
    data = TensorDataset(torch.tensor(rows, dtype=dtype), labels)
    return DataLoader(data, batch_size=batch_size or len(data), shuffle=shuffle, drop_last=drop_last)


def flat(model: nn.Module) -> np.ndarray:
    """Return a module's parameters as one array (d,)."""
    return nn.utils.parameters_to_vector(model.parameters()).detach().cpu().numpy()


def load_flat(model: nn.Module, values: np.ndarray) -> None:
    """Write one array (d,) to a module's parameters."""
    vector = torch.tensor(np.asarray(values), dtype=next(model.parameters()).dtype)
    nn.utils.vector_to_parameters(vector, model.parameters())


@contextmanager
def replaced(name: str, new: Any, old: Any = None) -> Iterator[None]:
    """Replace the object with this name in every imported module; if ``old`` is given, replace only ``old`` itself."""
    with ExitStack() as stack:
        for place in list(sys.modules.values()):
            found = getattr(place, "__dict__", {}).get(name)
            if found is not None and (old is None or found is old):
                stack.enter_context(patch.object(place, name, new))
        yield


@contextmanager
def replaced_losses() -> Iterator[None]:
    """Replace CrossEntropyLoss with MSELoss, for code in which the loss is fixed.

    Afterwards restore ``torch.nn``, ``torch.nn.functional`` and the modules that imported either name.
    """
    functional = nn.functional
    with (
        replaced("CrossEntropyLoss", nn.MSELoss, nn.CrossEntropyLoss),
        replaced("cross_entropy", functional.mse_loss, functional.cross_entropy),
    ):
        yield


def torch_optimiser(
    cls: Callable[..., torch.optim.Optimizer],
    *,
    dtype: str = "float32",
    received: Callable[[torch.optim.Optimizer, list[torch.Tensor]], None] | None = None,
    **options: Any,
) -> Start:
    """Make an implementation of FedAvg whose clients train with an optimiser, such as ``torch.optim.SGD``.

    Parameters
    ----------
    cls
        Class of the optimiser, called as ``cls(parameters, lr=step_size, **options)`` for each client and round.
    dtype
        Type of the model.
    received
        Function that is called with the optimiser and copies of the received parameters before the local steps.
    options
        Options of the optimiser. If an option is a function, it is called with the settings.
    """
    kind = getattr(torch, dtype)

    class OptimiserRun(FedAvgInHalves):
        conform_options = MappingProxyType({"dtype": dtype})  # the type decides the tolerance

        def trained(self, client: int, received_model: np.ndarray) -> np.ndarray:
            settings, model = self.settings, module(self.task, kind)
            load_flat(model, received_model)
            chosen = {key: value(settings) if callable(value) else value for key, value in options.items()}
            optimiser = cls(model.parameters(), lr=settings["step_size"], **chosen)
            if received is not None:
                received(optimiser, [parameter.detach().clone() for parameter in model.parameters()])
            data = loader(
                self.task, client, settings["batch_size"], dtype=kind, drop_last=settings["drop_last"]
            )
            for _ in range(settings["local_epochs"]):
                for rows, targets in data:
                    optimiser.zero_grad()
                    loss(model(rows), targets).backward()
                    optimiser.step()
            return flat(model).astype(float)

        def exchange(self, participants: Sequence[int]) -> None:
            self.average(participants, [self.trained(client, self.model) for client in participants])

    return OptimiserRun
