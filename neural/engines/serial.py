"""One client after the other: the fastest way through convolutions on a CPU, and the least memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from clusterproof.neural.engines.batched import DenseEngine, scores_one_by_one
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.engine import Engine, LocalWork, descend, start_buffers, weighted_loss
from clusterproof.neural.networks import MLP


@dataclass(frozen=True)
class SerialEngine(Engine):
    """Each client on its own samples, in place, and without padding but on a GPU, whose host does not know sizes."""

    name: ClassVar[str] = "serial"
    together: ClassVar[int] = 1

    @cached_property
    def _dense(self) -> DenseEngine | None:
        """What computes perceptrons by hand."""
        return DenseEngine(self.network) if isinstance(self.network, MLP) else None

    def scores_of_all(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of models (P, d) on each client's images: (k, P, classes, b)."""
        if self._dense is not None:
            return self._dense.scores_of_all(models, images)
        return torch.cat([scores_one_by_one(self, models, own[None]) for own in images])

    def scores_of_each(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point (k, d) of each client on its images: (k, 1, classes, b)."""
        return torch.cat(
            [self.scores_of_all(point[None], own[None]) for point, own in zip(points, images, strict=True)]
        )

    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses, see ``Engine.gradients``."""
        known = batch.weights.device.type == "cpu"
        for client, real in enumerate(batch.weights > 0):
            part = slice(client, client + 1)
            own = Batch(batch.images[part], batch.targets[part], batch.weights[part])
            if known and not real.all():
                own = Batch(own.images[:, real], own.targets[:, real], own.weights[:, real])
            if self._dense is not None:
                self._dense.gradients(points[part], own, out[part], None if losses is None else losses[part])
            else:
                loss, slopes = self._slopes(self._leaves(points[client].clone()), own)
                for place, slope in zip(self.network.views(out[client]).values(), slopes, strict=True):
                    place.copy_(slope)
                if losses is not None:
                    losses[client] = loss

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        work: LocalWork,
        out_points: Tensor,
        out_buffers: Tensor | None,
    ) -> None:
        """Train locally, see ``Engine.train``."""
        train = self._train_one if self._dense is None else self._dense.train
        for client in range(len(points)):
            part = slice(client, client + 1)
            train(
                points[part],
                None if buffers is None else buffers[part],
                None if anchors is None else anchors[part],
                work.one(client),
                out_points[part],
                None if out_buffers is None else out_buffers[part],
            )

    def _train_one(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        work: LocalWork,
        out_points: Tensor,
        out_buffers: Tensor | None,
    ) -> None:
        """Train one client, all (1, d), in place and tensor by tensor."""
        out_points.copy_(points)
        leaves = self._leaves(out_points[0])
        velocities: list[Tensor | None] = [None] * len(leaves)
        if out_buffers is not None:
            velocities = list(self.network.views(start_buffers(buffers, out_buffers)[0]).values())
        pulls: list[Tensor | None] = [None] * len(leaves)
        if anchors is not None:
            pulls = list(self.network.views(anchors[0]).values())
        ends = work.ends(out_points, out_buffers)
        for step, batch in enumerate(work.batches()):
            _, slopes = self._slopes(leaves, batch)
            for leaf, velocity, pull, slope in zip(leaves.values(), velocities, pulls, slopes, strict=True):
                descend(leaf.detach(), velocity, pull, slope, work)
            if ends is not None:
                ends.note(step + 1)
        if ends is not None:
            ends.restore()

    def _leaves(self, point: Tensor) -> dict[str, Tensor]:
        """Tensors of a model (d,) by name, in its own memory, for autograd to start from."""
        # not `detach`, which counts changes of the whole tensor: other threads change other clients' rows
        return {name: view.data.requires_grad_() for name, view in self.network.views(point).items()}

    def _slopes(self, leaves: dict[str, Tensor], batch: Batch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Loss () of one client and its gradient in every leaf; the graph is let go."""
        images = batch.images[0]
        if self.network.convolutional:
            images = images.contiguous(memory_format=torch.channels_last)
        scores = self.network.function(leaves, images)
        loss = weighted_loss(scores, batch.targets[0], batch.weights[0])
        return loss.detach(), torch.autograd.grad(loss, list(leaves.values()))
