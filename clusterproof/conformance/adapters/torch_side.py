"""Conformance tasks for PyTorch code: a module, data loaders and a loss."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from clusterproof.conformance.tasks import ConformanceTask

__all__ = ["LinearModel", "flat", "load_flat", "loader", "loss", "module", "replaced", "replaced_losses"]

loss = nn.MSELoss()
"""Mean squared error over samples and outputs, which makes a client's loss exactly f_i."""


class LinearModel(nn.Module):
    """The model w in two parameter tensors, of 1 and d - 1 entries.

    Two tensors reveal mistakes in code that treats tensors one by one.
    """

    def __init__(self, start: torch.Tensor) -> None:
        super().__init__()
        self.first = nn.Parameter(start[:1].clone())
        self.rest = nn.Parameter(start[1:].clone())

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return X w of samples, (B, d, d) -> (B, d), or the logits of a two-class task's samples, (B, p) -> (B, 2)."""
        entries = torch.cat([self.first, self.rest])
        return rows @ entries if rows.ndim == 3 else rows @ entries.reshape(2, -1).T


def module(task: ConformanceTask, dtype: torch.dtype = torch.float32) -> LinearModel:
    """Return a module at the task's start."""
    return LinearModel(torch.tensor(task.start, dtype=dtype))


def loader(
    task: ConformanceTask,
    client: int,
    batch_size: int | None,
    shuffle: bool = True,
    dtype: torch.dtype = torch.float32,
    drop_last: bool = False,
) -> DataLoader:
    """Return a client's data; samples of quadratic losses are equal, so that any batch has the exact gradient."""
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
    """Replace the object of this name, or ``old``, in every imported module that has it."""
    with ExitStack() as stack:
        for place in list(sys.modules.values()):
            found = getattr(place, "__dict__", {}).get(name)
            if found is not None and (old is None or found is old):
                stack.enter_context(patch.object(place, name, new))
        yield


@contextmanager
def replaced_losses() -> Iterator[None]:
    """Replace CrossEntropyLoss by MSELoss, for code whose loss cannot be chosen.

    Afterwards ``torch.nn``, ``torch.nn.functional`` and the modules that imported either name are restored.
    """
    functional = nn.functional
    with (
        replaced("CrossEntropyLoss", nn.MSELoss, nn.CrossEntropyLoss),
        replaced("cross_entropy", functional.mse_loss, functional.cross_entropy),
    ):
        yield
