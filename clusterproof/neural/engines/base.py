"""What an engine computes for some clients at a time: gradients, products with Hessians, local training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from clusterproof.algorithms import Descent
from clusterproof.neural.client_data import Batch, ClientData, Step
from clusterproof.neural.networks import Network


@dataclass(frozen=True, eq=False)
class LocalWork:
    """Local training of k clients whose batches have the same sizes.

    Attributes
    ----------
    descent
        The recursion of a step; the number of steps is that of ``plans``.
    data, clients
        Whose data, and the clients' indices (k,).
    plans
        What each client uses in each step.
    """

    descent: Descent
    data: ClientData
    clients: np.ndarray
    plans: Sequence[Sequence[Step]]

    @property
    def steps(self) -> int:
        """Gradient steps of each client."""
        return len(self.plans[0])

    @property
    def whole(self) -> bool:
        """Whether every step uses all data of the clients, without distortions."""
        return all(
            step.distortions is None and len(step.samples) == size
            for size, plan in zip(self.data.sizes[self.clients], self.plans, strict=True)
            for step in plan
        )

    def batches(self) -> Iterator[Batch]:
        """Samples of each step."""
        whole = self.batch(0) if self.steps and self.whole else None
        for step in range(self.steps):
            yield whole or self.batch(step)

    def batch(self, step: int) -> Batch:
        """Samples of a step, (k, b)."""
        steps = [plan[step] for plan in self.plans]
        pairs = zip(self.clients.tolist(), steps, strict=True)
        drawn = [each.distortions for each in steps if each.distortions is not None]
        numbers = np.stack([self.data.numbers(client, each.samples) for client, each in pairs])
        return self.data.take(numbers, np.stack(drawn) if drawn else None)


class Engine(ABC):
    """Gradients and local training of clients that have the same network.

    Parameters
    ----------
    network
        Which network.
    """

    name: ClassVar[str]
    """Name in configurations."""

    most: ClassVar[dict[str, int]]
    """Clients at a time at most, by device."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @abstractmethod
    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Gradients (k, ...) of the clients' losses on a batch (k, b), in each parameter, and the losses (k,).

        ``parameters`` (k, ...) has those of each client's point, by name.
        """

    def gradients(self, points: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Gradients (k, d) of the clients' losses on a batch (k, b) at points (k, d), and the losses (k,)."""
        gradients, losses = self.tensor_gradients(self.network.views(points), batch)
        return torch.cat([gradient.flatten(1) for gradient in gradients], dim=1), losses

    @abstractmethod
    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Hessians of the clients' losses on a batch (k, b) at points times directions, all (k, d)."""

    def loss(self, parameters: dict[str, Tensor], images: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of one model on samples (b, ...)."""
        return cross_entropy(self.network.function(parameters, images), targets)

    def gradient_sum(self, model: Tensor, batch: Batch, weights: Tensor) -> Tensor:
        """Gradient of the sum of weights times the losses of samples (n,) at a model (d,)."""
        parameters = leaves(self.network, model)
        scores = self.network.function(parameters, batch.images)
        loss = weights @ cross_entropy(scores, batch.targets, reduction="none")
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(parameters.values()))])

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        corrections: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train locally, in place.

        Parameters
        ----------
        points, buffers
            Where the clients start and then where they end, (k, d); buffers only if there is momentum or they are
            carried from round to round.
        anchors
            Of the proximal term, (k, d); None without it.
        corrections
            What is added to the gradients, (k, d); nothing if None.
        work
            Batches and coefficients.
        """
        parameters = self.network.views(points)
        tensors = [
            [None] * len(parameters) if vectors is None else list(self.network.views(vectors).values())
            for vectors in (buffers, anchors, corrections)
        ]
        for batch in work.batches():
            gradients, _ = self.tensor_gradients(parameters, batch)
            own = zip(parameters.values(), *tensors, strict=True)
            for (point, buffer, anchor, correction), gradient in zip(own, gradients, strict=True):
                descend(point, buffer, anchor, correction, gradient, work.descent)

    def train_clusters(
        self,
        models: Tensor,
        buffers: Tensor | None,
        assignments: Tensor,
        weights: Tensor | None,
        work: LocalWork,
    ) -> tuple[Tensor, Tensor | None]:
        """Train locally from the clusters' models.

        Parameters
        ----------
        models, buffers
            Of the server, (P, d); clients start without momentum if ``buffers`` is None.
        assignments
            Clusters of the clients, (k,).
        weights
            Factors of the clients in the sums, (k,); ones if None.
        work
            Batches and coefficients.

        Returns
        -------
        tuple
            Sums of the points and of the buffers over each cluster's clients, (P, d); the second is None without
            buffers.
        """
        points = models[assignments]
        carried = None if buffers is None else buffers[assignments]
        if carried is None and work.descent.momentum:
            carried = torch.zeros_like(points)
        self.train(points, carried, points.clone() if work.descent.proximal else None, None, work)
        sums = torch.zeros_like(models)
        buffer_sums = None if carried is None else torch.zeros_like(models)
        factors = points.new_ones(len(points)) if weights is None else weights
        for cluster in set(assignments.tolist()):
            members = assignments == cluster
            sums[cluster] = factors[members] @ points[members]
            if carried is not None and buffer_sums is not None:
                buffer_sums[cluster] = factors[members] @ carried[members]
        return sums, buffer_sums


def descend(
    points: Tensor,
    buffers: Tensor | None,
    anchors: Tensor | None,
    corrections: Tensor | None,
    gradients: Tensor,
    descent: Descent,
) -> None:
    """Take a local step in place, from gradients that are overwritten; all of one shape."""
    if corrections is not None:
        gradients.add_(corrections)
    if anchors is not None:
        gradients.add_(points, alpha=descent.proximal).sub_(anchors, alpha=descent.proximal)
    directions = gradients if buffers is None else buffers.mul_(descent.momentum).add_(gradients)
    points.sub_(directions, alpha=descent.step_size)


def leaves(network: Network, model: Tensor) -> dict[str, Tensor]:
    """Parameters of a model (d,) by name, in its memory, at which autograd ends."""
    # not `detach`, which shares the count of changes: a leaf changes in place between two steps
    return {name: view.data.requires_grad_() for name, view in network.views(model).items()}
