"""Many clients in each product: perceptrons by hand, other networks by ``torch.func.vmap``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clusterproof.neural.engines import dense
from clusterproof.neural.engines.data import Batch
from clusterproof.neural.engines.engine import Engine, LocalWork, descend, start_buffers, weighted_loss
from clusterproof.neural.engines.products import accumulate, multiply
from clusterproof.neural.engines.samples import DenseSamples, Samples
from clusterproof.neural.networks import MLP

CONVOLVED = 64
"""Images that a CPU convolves at a time: 500 took it 1.2 to 1.7 times as long on TensorFlow's tutorial network."""


@dataclass(frozen=True)
class DenseEngine(Engine):
    """Perceptrons, with gradients written by hand and updates in place.

    Parameters
    ----------
    mostly_zero
        Whether the images are, see ``samples.are_mostly_zero``.
    """

    name: ClassVar[str] = "batched"

    network: MLP
    mostly_zero: bool = False

    @property
    def lists(self) -> bool:
        """Whether it takes samples as lists of what is not 0."""
        return self.mostly_zero

    def samples(self, batch: Batch) -> Samples:
        """The samples of clients, for the products of first layers."""
        return DenseSamples(batch.features) if batch.listed is None else batch.listed

    def scores(self, models: Tensor, batch: Batch) -> Tensor:
        """Scores of models on each client's samples, see ``Engine.scores``."""
        if batch.listed is None:
            return super().scores(models, batch)
        layers = self.network.layers(models)
        first = batch.listed.values(*layers[0])
        return self.scores_behind(layers[1:], first.clamp_min_(0) if layers[1:] else first)

    def scores_of_all(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of models (P, d) on each client's images: (k, P, classes, b).

        The first layers of all models are one matrix, and make one product with a client's images.
        """
        features = images.flatten(2)
        layers = self.network.layers(models)
        stacked = [(layers[0][0].flatten(0, 1), layers[0][1].flatten())]
        first = dense.first_values(stacked, features)
        return dense.remaining_values(layers[1:], first.view(len(first), len(models), -1, first.shape[-1]))[
            -1
        ]

    @staticmethod
    def scores_behind(later: dense.Layers, values: Tensor) -> Tensor:
        """Scores (k, P, classes, n) of P models from what ReLU has made of first layers' values (P, h, k, n)."""
        if values.device.type == "cpu":  # each client by itself, whose bits do not hang on the others then
            return dense.values_behind(later, values.permute(2, 0, 1, 3))[-1]
        scores = dense.values_behind(later, values.flatten(2))[-1]
        return scores.view(len(scores), -1, *values.shape[2:]).permute(2, 0, 1, 3)

    def scores_of_replicates(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of replicates' models, see ``Engine.scores_of_replicates``."""
        clients, samples = images.shape[1:3]
        layers = self.network.layers(models)
        stacked = [(layers[0][0].flatten(1, 2), layers[0][1].flatten(1))]
        first = dense.first_values(stacked, images.flatten(3).flatten(1, 2))
        scores = dense.remaining_values(layers[1:], first.view(*models.shape[:2], -1, first.shape[-1]))[-1]
        return scores.view(*scores.shape[:-1], clients, samples).permute(0, 3, 1, 2, 4).contiguous()

    def scores_of_each(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point (k, d) of each client on its images: (k, 1, classes, b)."""
        layers = self.network.layers(points)
        return dense.remaining_values(layers[1:], dense.first_values(layers, images.flatten(2)))[-1][:, None]

    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses, see ``Engine.gradients``."""
        layers, slopes = self.network.layers(points), self.network.layers(out)
        features = batch.features
        values = dense.remaining_values(layers[1:], dense.first_values(layers, features))
        if losses is not None:
            losses.copy_(dense.cross_entropies(values[-1][:, None], batch.targets, batch.weights)[:, 0])
        truth = batch.truth(self.network.classes)
        errors = dense.all_errors(layers[1:], values, dense.to_errors(values[-1], truth, batch.weights))
        inputs = [features, *(value.mT for value in values)]
        for (weight, bias), error, below in zip(slopes, errors, inputs, strict=False):
            multiply(error, below, out=weight)
            torch.sum(error, -1, out=bias)

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
        out_points.copy_(points)
        velocities = None
        if out_buffers is not None:
            velocities = self.network.layers(start_buffers(buffers, out_buffers))
        pulled = anchors if work.proximal else None
        layers, ends = self.network.layers(out_points), work.ends(out_points, out_buffers)
        for step, batch in enumerate(work.batches()):
            busy = len(batch.targets)
            here = leading(layers, busy)
            features = batch.features
            values = dense.remaining_values(here[1:], dense.first_values(here, features))
            truth = batch.truth(self.network.classes)
            errors = dense.all_errors(here[1:], values, dense.to_errors(values[-1], truth, batch.weights))
            inputs = [features, *(value.mT for value in values)]
            fast = None if velocities is None else leading(velocities, busy)
            buffers_here, anchors_here = (
                None if one is None else one[:busy] for one in (out_buffers, pulled)
            )
            vectors = (out_points[:busy], buffers_here, anchors_here)
            step_layers(here, fast, errors, inputs, vectors, work)
            if ends is not None:
                ends.note(step + 1)
        if ends is not None:
            ends.restore()


def step_layers(
    layers: dense.Layers,
    velocities: dense.Layers | None,
    errors: list[Tensor],
    inputs: list[Tensor],
    vectors: tuple[Tensor, Tensor | None, Tensor | None],
    work: LocalWork,
) -> None:
    """Move layers in place, their gradients added where they are needed and stored nowhere.

    Parameters
    ----------
    layers, velocities
        Weights and biases, and their momentum buffers; None for none.
    errors, inputs
        Factors of each layer's gradient.
    vectors
        In whose memory layers and velocities are, and those that pull them, (k, d) each; None for none. What does
        not hang on the layer is done to all at once.
    work
        Step size and so on.
    """
    points, buffers, anchors = vectors
    if buffers is None:
        keep = 1.0 if anchors is None else 1 - work.step_size * work.proximal
        moving, scale = layers, -work.step_size
    else:
        assert velocities is not None
        moving, keep, scale = velocities, work.momentum, 1.0
    for (weight, bias), error, below in zip(moving, errors, inputs, strict=False):
        accumulate(weight, error, below, keep=keep, scale=scale)
        if keep != 1:
            bias.mul_(keep)
        bias.add_(error.sum(-1), alpha=scale)
    if buffers is None:
        if anchors is not None:
            points.add_(anchors, alpha=work.step_size * work.proximal)
        return
    if anchors is not None:
        buffers.add_(points, alpha=work.proximal).sub_(anchors, alpha=work.proximal)
    points.sub_(buffers, alpha=work.step_size)


def leading(layers: dense.Layers, count: int) -> dense.Layers:
    """Layers of the first clients."""
    return [(weight[:count], bias[:count]) for weight, bias in layers]


@dataclass(frozen=True)
class VmapEngine(Engine):
    """Any network: PyTorch's own gradients, of all clients in one pass."""

    name: ClassVar[str] = "batched"

    def scores_of_all(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of models (P, d) on each client's images: (k, P, classes, b)."""
        return scores_one_by_one(self, models, images)

    def scores_of_replicates(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of replicates' models, see ``Engine.scores_of_replicates``."""
        together = images.flatten(1, 2)
        scores = [self.network.logits(model, together) for model in models.unbind(1)]
        return torch.stack([part.view(*images.shape[:3], -1).mT for part in scores], dim=2)

    def scores_of_each(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point (k, d) of each client on its images: (k, 1, classes, b)."""
        return self.network.logits(points, images).mT[:, None]

    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses, see ``Engine.gradients``."""

        def loss(parameters: dict[str, Tensor], images: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
            scores = self.network.function(parameters, images)
            return weighted_loss(scores, targets, weights)

        slopes, found = torch.func.vmap(torch.func.grad_and_value(loss))(
            self.network.views(points), batch.images, batch.targets, batch.weights
        )
        torch.cat([slopes[part.name].flatten(1) for part in self.network.layout], dim=1, out=out)
        if losses is not None:
            losses.copy_(found)

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
        out_points.copy_(points)
        velocities = None if out_buffers is None else start_buffers(buffers, out_buffers)
        slopes, ends = torch.empty_like(out_points), work.ends(out_points, out_buffers)
        for step, batch in enumerate(work.batches()):
            busy = len(batch.targets)
            self.gradients(out_points[:busy], batch, slopes[:busy])
            descend(
                out_points[:busy],
                None if velocities is None else velocities[:busy],
                None if anchors is None else anchors[:busy],
                slopes[:busy],
                work,
            )
            if ends is not None:
                ends.note(step + 1)
        if ends is not None:
            ends.restore()


def scores_one_by_one(engine: Engine, models: Tensor, images: Tensor) -> Tensor:
    """Scores of models (P, d), each on all clients' images at once: (k, P, classes, b).

    On a CPU convolutions have so few images at a time that what they give stays in its nearest memory.
    """
    network = engine.network
    everything = images.flatten(0, 1)
    few = network.convolutional and images.device.type == "cpu"
    parts = torch.split(everything, CONVOLVED if few else len(everything))
    scores = [
        torch.cat([network.function(views, part) for part in parts]) for views in map(network.views, models)
    ]
    return torch.stack([part.view(*images.shape[:2], -1).mT for part in scores], dim=1)
