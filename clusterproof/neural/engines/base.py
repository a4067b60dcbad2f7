"""What an engine computes for a chunk of clients, here by ``torch.func``: scores, gradients and local training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, grad_and_value, vmap
from torch.nn.functional import cross_entropy

from clusterproof.algorithms import Descent
from clusterproof.neural.client_data import Batch, ClientData
from clusterproof.neural.engines.distortion import distorted
from clusterproof.neural.engines.sampling import Schedule
from clusterproof.neural.networks import Network

CONVOLVED = 64
"""Images that a CPU convolves at a time: 500 took it 1.2 to 1.7 times as long on TensorFlow's tutorial network."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalWork:
    """Local training of k clients that take equally many steps.

    Attributes
    ----------
    descent
        The recursion of a step; its number of steps is that of the schedule.
    data, clients
        Whose data, and the clients' indices (k,).
    width
        Number of samples that all their data are padded to.
    schedule, rows
        Mini-batches of all participants, and the clients' rows in it, (k,).
    distortions
        What distorts the images of each step of all participants, see ``draw_distortions``; None for nothing.
    """

    descent: Descent
    data: ClientData
    clients: np.ndarray
    width: int
    schedule: Schedule
    rows: np.ndarray
    distortions: Tensor | None

    @property
    def steps(self) -> int:
        """Gradient steps of each client."""
        return int(self.schedule.steps[self.rows[0]])

    def whole(self) -> Batch:
        """All data of the clients."""
        return self.data.whole(self.clients, self.width)

    def batches(self) -> Iterator[Batch]:
        """Data of each step."""
        data = self.data if self.distortions is None else self.data.as_stored
        whole = data.whole(self.clients, self.width) if self.schedule.orders is None else None
        for step in range(self.steps):
            batch = whole or data.chosen(self.clients, *self.schedule.batch(self.rows, step))
            if self.distortions is not None:
                drawn = self.distortions[torch.from_numpy(self.rows), step, : batch.targets.shape[1]]
                images = distorted(batch.images, self.data.preprocessing, drawn.to(batch.images.device))
                batch = replace(batch, images=images)
            yield batch


ClusterSums: TypeAlias = dict[int, tuple[Tensor, Tensor | None]]
"""Weighted sums of a cluster's points and of their momentum buffers, (d,) each, by cluster; None without buffers."""


class Engine:
    """Losses, gradients and local training of many clients of any network on any device, in one pass.

    ``torch.func.vmap`` over the clients, of ``torch.func.grad`` of the loss; other engines replace what they do faster.

    Parameters
    ----------
    network
        Which network.
    """

    name: ClassVar[str] = "vmap"
    """Name in configurations."""

    chunk: ClassVar[dict[str, int]] = {"cpu": 16, "cuda": 512}
    """Clients at a time at most, by device: more are not faster, and a constant makes runs repeatable."""

    pads: ClassVar[bool] = True
    """Whether clients of similar size are padded to one width; otherwise those of a chunk have one size."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def scores(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point (k, d) of each client on its images (k, b, C, H, W): (k, b, classes)."""
        scores: Tensor = vmap(self.network.function)(self.network.views(points), images)
        return scores

    def gradients(self, points: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Gradients (k, d) of the clients' losses at points (k, d), and the losses (k,)."""
        gradients, losses = vmap(grad_and_value(self.loss))(
            self.network.views(points), batch.images, batch.targets, batch.weights
        )
        return torch.cat([gradients[name].flatten(1) for name in self.network.shapes], dim=1), losses

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Hessians of the clients' losses at points times directions, all (k, d)."""

        def derivative_along(point: Tensor, direction: Tensor, *samples: Tensor) -> Tensor:
            gradient = grad(lambda at: self.loss(self.network.views(at), *samples))(point)
            return torch.dot(gradient, direction)

        # backward twice: forward over backward asks for rules that torch still compiles in a deprecated way
        products: Tensor = vmap(grad(derivative_along))(
            points, directions, batch.images, batch.targets, batch.weights
        )
        return products

    def scores_of_models(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of all models (P, d) on each client's images (k, b, C, H, W): (k, P, b, classes)."""
        together = images.flatten(0, 1)
        few = self.network.convolutional and images.device.type == "cpu"
        parts = torch.split(together, CONVOLVED if few else max(1, len(together)))
        scores = [
            torch.cat([self.network.function(self.network.views(model), part) for part in parts])
            for model in models
        ]
        return torch.stack([score.view(*images.shape[:2], -1) for score in scores], dim=1)

    def loss(self, parameters: dict[str, Tensor], images: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Weighted cross-entropy of one model on images (b, C, H, W)."""
        losses: Tensor = cross_entropy(self.network.function(parameters, images), targets, reduction="none")
        return (losses * weights).sum()

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
            Steps, step size and so on.
        """
        for batch in work.batches():
            gradients, _ = self.gradients(points, batch)
            descend(points, buffers, anchors, corrections, gradients, work.descent)

    def train_clusters(
        self,
        models: Tensor,
        buffers: Tensor | None,
        assignments: Tensor,
        weights: Tensor | None,
        work: LocalWork,
    ) -> ClusterSums:
        """Train locally from the clusters' models.

        Parameters
        ----------
        models, buffers
            Of the server, (P, d); participants start without momentum if ``buffers`` is None.
        assignments
            Of the participants, (k,).
        weights
            Factors of the participants in the sums, (k,); ones if None.
        work
            Steps, step size and so on.

        Returns
        -------
        dict
            The sums of each cluster that has participants.
        """
        points = models[assignments]
        momenta = None if buffers is None else buffers[assignments]
        if momenta is None and work.descent.momentum:
            momenta = torch.zeros_like(points)
        self.train(points, momenta, points.clone() if work.descent.proximal else None, None, work)
        sums: ClusterSums = {}
        for cluster, members in members_of(assignments).items():
            factors = points.new_ones(len(members)) if weights is None else weights[members]
            sums[cluster] = (
                factors @ points[members],
                None if momenta is None else factors @ momenta[members],
            )
        return sums


def descend(
    points: Tensor,
    buffers: Tensor | None,
    anchors: Tensor | None,
    corrections: Tensor | None,
    gradients: Tensor,
    descent: Descent,
) -> None:
    """Take a local step in place, from gradients that are overwritten; all (k, d)."""
    if corrections is not None:
        gradients.add_(corrections)
    if anchors is not None and descent.proximal:
        gradients.add_(points, alpha=descent.proximal).sub_(anchors, alpha=descent.proximal)
    directions = gradients if buffers is None else buffers.mul_(descent.momentum).add_(gradients)
    points.sub_(directions, alpha=descent.step_size)


def members_of(assignments: Tensor) -> dict[int, list[int]]:
    """Positions of each cluster's participants in assignments (k,), by cluster."""
    members: dict[int, list[int]] = {}
    for position, cluster in enumerate(assignments.tolist()):
        members.setdefault(cluster, []).append(position)
    return dict(sorted(members.items()))


def cross_entropies(scores: Tensor, batch: Batch) -> Tensor:
    """Weighted cross-entropies (k, P) of scores (k, P, b, classes) on a batch."""
    targets = batch.targets[:, None, :, None].expand(*scores.shape[:-1], 1)
    losses = torch.logsumexp(scores, -1) - scores.gather(-1, targets).squeeze(-1)
    return (losses * batch.weights[:, None]).sum(-1)


def accuracies(scores: Tensor, batch: Batch) -> Tensor:
    """Weighted shares (k, P) of samples whose largest score, of (k, P, b, classes), is their class's."""
    is_right = scores.argmax(-1) == batch.targets[:, None]
    return (is_right * batch.weights[:, None]).sum(-1)
