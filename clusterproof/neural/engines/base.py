"""Base class for engines, which compute gradients, Hessian products and local training of several clients at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from clusterproof.algorithms import Descent
from clusterproof.neural.client_data import Batch, ClientData, Step
from clusterproof.neural.networks import Network

TAKEN = 2**18
"""Largest number of values that are gathered at once for several steps of a client, about the size of a core's
cache."""


@dataclass(frozen=True, eq=False)
class LocalWork:
    """Local training of k clients with equal batch sizes.

    Attributes
    ----------
    descent
        The recursion of a local step; ``plans`` determines the number of steps.
    data, clients
        The clients' data, and their indices (k,).
    plans
        For each client and each step, the data of the step.
    """

    descent: Descent
    data: ClientData
    clients: np.ndarray
    plans: Sequence[Sequence[Step]]

    @property
    def steps(self) -> int:
        """Number of gradient steps of each client."""
        return len(self.plans[0])

    @property
    def whole(self) -> bool:
        """Whether every step uses all samples of each client, without distortions."""
        return all(
            step.distortions is None and len(step.samples) == size
            for size, plan in zip(self.data.sizes[self.clients], self.plans, strict=True)
            for step in plan
        )

    def batches(self) -> Iterator[Batch]:
        """Yield the samples (k, b) of each step."""
        if self.steps and self.whole:
            whole = self.batch(0)
            yield from (whole for _ in range(self.steps))
        elif len(self.clients) == 1:
            yield from self._batches_of_one()
        else:
            yield from (self.batch(step) for step in range(self.steps))

    def batch(self, step: int) -> Batch:
        """Return the samples (k, b) of one step."""
        return self._take([[plan[step]] for plan in self.plans])

    def _batches_of_one(self) -> Iterator[Batch]:
        """Yield the samples of each step of a single client, gathered for several steps at once."""
        (plan,) = self.plans
        together = max(1, TAKEN // max(1, len(plan[0].samples) * self.data.sample_size)) if plan else 1
        for first in range(0, len(plan), together):
            steps = plan[first : first + together]
            both = self._take([steps])
            ends = np.cumsum([len(step.samples) for step in steps]).tolist()
            for start, end in zip([0, *ends], ends, strict=False):
                yield Batch(both.images[:, start:end], both.targets[:, start:end])

    def _take(self, steps: Sequence[Sequence[Step]]) -> Batch:
        """Return the samples of some steps of each client, concatenated along the second axis, (k, n)."""
        numbers, drawn = [], []
        for client, own in zip(self.clients.tolist(), steps, strict=True):
            numbers.append(np.concatenate([self.data.numbers(client, step.samples) for step in own]))
            drawn += [step.distortions for step in own if step.distortions is not None]
        distortions = np.concatenate(drawn).reshape(len(numbers), -1, drawn[0].shape[-1]) if drawn else None
        return self.data.take(np.stack(numbers), distortions)


class Engine(ABC):
    """Base class for the computation of gradients and local training of clients with the same network.

    Parameters
    ----------
    network
        The network of all clients.
    """

    name: ClassVar[str]
    """Name in configurations."""

    most: ClassVar[dict[str, int]]
    """Largest number of clients at a time, indexed by type of device."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @abstractmethod
    def tensor_gradients(
        self, parameters: dict[str, Tensor], batch: Batch
    ) -> tuple[Sequence[Tensor], Tensor]:
        """Return gradients (k, ...) of the losses on a batch (k, b) for each parameter, and the losses (k,).

        ``parameters`` (k, ...) contains the parameters of each client's point, indexed by name.
        """

    def gradients(self, points: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return gradients (k, d) of the clients' losses on a batch (k, b) at points (k, d), and the losses (k,)."""
        gradients, losses = self.tensor_gradients(self.network.views(points), batch)
        return torch.cat([gradient.flatten(1) for gradient in gradients], dim=1), losses

    @abstractmethod
    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Return the products (k, d) of Hessians with directions, for the losses on a batch (k, b) at points (k, d)."""

    def loss(self, parameters: dict[str, Tensor], images: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of one model on samples (b, ...)."""
        return cross_entropy(self.network.function(parameters, images), targets)

    def gradient_sum(self, model: Tensor, batch: Batch, weights: Tensor) -> Tensor:
        """Return the gradient of a weighted sum of the samples' losses at a model (d,), with weights (n,)."""
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
        """Train the clients locally, in place.

        Parameters
        ----------
        points, buffers
            The clients' initial points and momentum buffers, (k, d), which are overwritten by the final values. Buffers
            are None unless there is momentum or buffers persist between rounds.
        anchors
            Centres of the proximal term, (k, d), or None if there is no proximal term.
        corrections
            Vectors that are added to the gradients, (k, d), or None.
        work
            Batches of the clients, and coefficients of the steps.
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
        sums: tuple[Tensor, Tensor | None],
    ) -> None:
        """Train clients from their clusters' models, and add their final points to the clusters' sums in place.

        Parameters
        ----------
        models, buffers
            Models and buffers of the server, (P, d); clients start without momentum if ``buffers`` is None.
        assignments
            Clusters of the clients, (k,).
        weights
            Weights of the clients in the sums, (k,), or None for equal weights 1.
        work
            Batches of the clients, and coefficients of the steps.
        sums
            Sums of the clients' points and of their buffers for each cluster, (P, d). The second sum is None if clients
            have no buffers.
        """
        points = models[assignments]
        carried = None if buffers is None else buffers[assignments]
        if carried is None and work.descent.momentum:
            carried = torch.zeros_like(points)
        self.train(points, carried, points.clone() if work.descent.proximal else None, None, work)
        membership = one_hot(assignments, len(models)).to(points.dtype)
        if weights is not None:
            membership *= weights[:, None]
        for total, ends in zip(sums, (points, carried), strict=True):
            if total is not None and ends is not None:
                total.addmm_(membership.T, ends)


def descend(
    points: Tensor,
    buffers: Tensor | None,
    anchors: Tensor | None,
    corrections: Tensor | None,
    gradients: Tensor,
    descent: Descent,
) -> None:
    """Take a local step in place, and overwrite the gradients; all arrays have the same shape."""
    if corrections is not None:
        gradients.add_(corrections)
    if anchors is not None:
        gradients.add_(points, alpha=descent.proximal).sub_(anchors, alpha=descent.proximal)
    directions = gradients if buffers is None else buffers.mul_(descent.momentum).add_(gradients)
    points.sub_(directions, alpha=descent.step_size)


def leaves(network: Network, model: Tensor) -> dict[str, Tensor]:
    """Return the parameters of a model (d,), indexed by name, as autograd leaves that share the model's memory."""
    # not `detach`: a leaf changes in place between two steps, and `detach` would share the count of changes
    return {name: view.data.requires_grad_() for name, view in network.views(model).items()}
