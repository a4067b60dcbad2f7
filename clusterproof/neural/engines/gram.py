"""Perceptrons whose local training is carried out in the span of each client's samples, exactly.

The gradient in the first layer's weight W, (h, in), is E'X with the errors E, (n, h), and the client's data X,
(n, in). A local step is linear in W, in what is in its momentum buffer and anchor, and in this gradient. The values XW'
on the data therefore obey the recursion of ``Descent`` with the gradient (XX')E, where only the Gram matrix XX' is
needed: n n h multiplications a step instead of twice n in h. After any number of steps, W is a combination of where it
began, of the buffer and the anchor, and of C'X; the coefficients C, (n, h), obey the recursion with the gradient E,
and the shares of start, buffer and anchor obey it with the gradient 0. W is computed once, at the end.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from clusterproof.neural.engines.base import LocalWork, descend
from clusterproof.neural.engines.by_autograd import VmapEngine
from clusterproof.neural.networks import MLP, Network
from clusterproof.neural.networks.base import split


class GramEngine(VmapEngine):
    """Engine for perceptrons whose clients have fewer samples than a sample has numbers, and use all in each step.

    Parameters
    ----------
    network
        A perceptron.
    """

    name: ClassVar[str] = "gram"

    def __init__(self, network: Network) -> None:
        assert isinstance(network, MLP)
        super().__init__(network)
        shapes = list(network.shapes.items())
        self.first, self.later = dict(shapes[:2]), dict(shapes[2:])
        self.first_size = sum(shape.numel() for shape in self.first.values())
        self.width, self.inputs = shapes[0][1]

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        corrections: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train locally, see ``Engine.train``: every client is a cluster of its own."""
        if corrections is not None or not self._gains(work):  # corrections are not in the span of the samples
            super().train(points, buffers, anchors, corrections, work)
            return
        own = torch.arange(len(points), device=points.device)
        trained, carried = self._combine(points, buffers, anchors, own, None, work)
        points.copy_(trained)
        if buffers is not None and carried is not None:
            buffers.copy_(carried)

    def train_clusters(
        self,
        models: Tensor,
        buffers: Tensor | None,
        assignments: Tensor,
        weights: Tensor | None,
        work: LocalWork,
    ) -> tuple[Tensor, Tensor | None]:
        """Train from the clusters' models, see ``Engine.train_clusters``; no client's first layer is computed."""
        if not self._gains(work):
            return super().train_clusters(models, buffers, assignments, weights, work)
        return self._combine(models, buffers, models, assignments, weights, work)

    def _gains(self, work: LocalWork) -> bool:
        """Whether all steps use all data, and the Gram matrix saves multiplications."""
        size, steps = int(work.data.sizes[work.clients[0]]), work.steps
        multiplications = size * (self.inputs + steps * self.width)
        return work.whole and multiplications < 2 * self.inputs * self.width * (steps - 1)

    def _combine(
        self,
        models: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        assignments: Tensor,
        weights: Tensor | None,
        work: LocalWork,
    ) -> tuple[Tensor, Tensor | None]:
        """Sums of the trained points and buffers over clusters, as ``Engine.train_clusters``.

        ``anchors`` (P, d) are those of the proximal term.
        """
        batch, descent = work.batch(0), work.descent
        features = batch.images.flatten(2)
        gram = (features @ features.mT).add_(1)  # adding 1 accounts for the bias
        vectors = [models, buffers, anchors if descent.proximal else None]
        if buffers is None and descent.momentum:
            vectors[1] = torch.zeros_like(models)
        own = assignments.tolist()

        def values(vector: Tensor, _: int) -> Tensor:
            weight, bias = split(vector[:, : self.first_size], self.first).values()
            pairs = zip(features, own, strict=True)
            return torch.stack([torch.addmm(bias[model], data, weight[model].T) for data, model in pairs])

        parts = (
            lambda vector, _: vector[assignments, self.first_size :],
            values,
            lambda _, __: features.new_zeros(*batch.targets.shape, self.width),
            lambda _, place: torch.eye(3)[place].to(features),
        )
        # each has its start, buffer and anchor: a tensor, or None
        states: list[list[Any]] = [
            [None if vector is None else part(vector, place) for place, vector in enumerate(vectors)]
            for part in parts
        ]
        tails, firsts, coefficients, shares = states
        for _ in range(work.steps):
            leaves = [state[0].detach().requires_grad_() for state in (tails, firsts)]
            loss = self._later_loss(leaves[0], leaves[1], batch.targets)
            tail_gradients, errors = torch.autograd.grad(loss, leaves, materialize_grads=True)
            gradients = (tail_gradients, gram @ errors, errors, torch.zeros_like(shares[0]))
            for (points, momenta, centres), gradient in zip(states, gradients, strict=True):
                descend(points, momenta, centres, None, gradient, descent)

        factors = features.new_ones(len(own)) if weights is None else weights

        def sums(place: int) -> Tensor:
            """Sums of what began as ``vectors[place]``."""
            result = torch.zeros_like(models)
            for cluster in set(own):
                members = assignments == cluster
                combined = (coefficients[place][members] * factors[members, None, None]).flatten(0, 1)
                weight, bias = combined.mT @ features[members].flatten(0, 1), combined.sum(0)
                tail = factors[members] @ tails[place][members]
                result[cluster] = torch.cat([weight.flatten(), bias, tail])
                for share, vector in zip(shares[place], vectors, strict=True):
                    if vector is not None:
                        start = vector[cluster, : self.first_size]
                        result[cluster, : self.first_size] += share * factors[members].sum() * start
            return result

        return sums(0), None if vectors[1] is None else sums(1)

    def _later_loss(self, tails: Tensor, values: Tensor, targets: Tensor) -> Tensor:
        """Sum of the clients' losses, of their later layers (k, d - d_1) and first layers' values (k, n, h)."""
        layers = list(split(tails, self.later).values())
        for weight, bias in zip(layers[::2], layers[1::2], strict=True):
            values = torch.baddbmm(bias[:, None], values.relu(), weight.mT)
        return cross_entropy(values.flatten(0, 1), targets.flatten(), reduction="sum") / targets.shape[1]
