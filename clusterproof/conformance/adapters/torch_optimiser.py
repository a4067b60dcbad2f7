"""A PyTorch optimiser as the local step of an algorithm; the server takes the reference's mean."""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from clusterproof.conformance.adapters.torch_side import flat, load_flat, loader, loss, module
from clusterproof.conformance.forms import FedAvgInHalves
from clusterproof.conformance.observation import Start


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
