"""What public federated code does, in the manner of IFCA's: a loop over the clients by autograd.

A copy of the model for each client, and ``torch.optim.SGD``. It gets its data as ready tensors; ours gathers bytes.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.neural_engine.work import ORDERS, STEP_SIZE, Work
from clusterproof.neural.engines import Schedule
from clusterproof.neural.partitions.partition import Partition


class Loop:
    """One client after the other by module, optimiser and autograd, on the batches that ours draws."""

    def __init__(self, work: Work, partition: Partition, device: str) -> None:
        self.work, held = work, partition.train
        scaled = torch.tensor(held.pixels[held.indices] / 255.0, dtype=torch.float32, device=device)
        targets = torch.as_tensor(held.targets, device=device)
        self.whole = list(zip(scaled, targets, strict=True))
        self.data = [[own] for own in self.whole]
        if work.batch_size is not None:
            stream = np.random.default_rng(ORDERS)
            drawn = Schedule.draw(held.sizes, work.batch_size, work.steps, "step", stream)
            steps = [drawn.batch(np.arange(work.clients), step) for step in range(work.steps)]
            self.data = [
                [(x[samples[row]], y[samples[row]]) for samples, _ in steps]
                for row, (x, y) in enumerate(self.whole)
            ]
        self.module = work.module().to(device)

    def train(self, point: Tensor) -> list[nn.Module]:
        """Trained models of all clients, from one model (d,)."""
        nn.utils.vector_to_parameters(point.clone(), self.module.parameters())
        trained = []
        for batches in self.data:
            model = copy.deepcopy(self.module)
            optimiser = torch.optim.SGD(model.parameters(), lr=STEP_SIZE, momentum=self.work.momentum)
            for step in range(self.work.steps):
                inputs, targets = batches[step % len(batches)]
                optimiser.zero_grad()
                cross_entropy(model(inputs), targets).backward()
                optimiser.step()
            trained.append(model)
        return trained

    def whole_round(self, models: Tensor) -> Tensor:
        """Choose by the loss, train, and average each model's clients: (P, d)."""
        chosen = []
        for inputs, targets in self.whole:
            losses = []
            for model in models:
                nn.utils.vector_to_parameters(model.clone(), self.module.parameters())
                with torch.no_grad():
                    losses.append(float(cross_entropy(self.module(inputs), targets)))
            chosen.append(int(np.argmin(losses)))
        moved = models.clone()
        for index in sorted(set(chosen)):
            own = [at for at, choice in enumerate(chosen) if choice == index]
            everybody, self.data = self.data, [self.data[at] for at in own]
            moved[index] = self.round(models[index]).mean(0)
            self.data = everybody
        return moved

    def round(self, point: Tensor) -> Tensor:
        """The same as vectors, (k, d)."""
        return torch.stack(
            [nn.utils.parameters_to_vector(model.parameters()).detach() for model in self.train(point)]
        )
