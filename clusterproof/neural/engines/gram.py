"""Perceptrons whose local training is carried out in the span of each client's samples, exactly.

The gradient in the first layer's weight W, (h, in), is E'X with the errors E, (n, h), and the client's data X,
(n, in). After any number of steps W is therefore a combination of where it began, of the momentum buffer and the
anchor that came with it, and of C'X with a coefficient matrix C, (n, h). A step needs only XW', and XX'C of the Gram
matrix XX': n n h multiplications instead of twice n in h, and W is computed once, at the end. A mini-batch of b
samples uses b rows of XX' and changes b rows of C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.client_data import Batch, mean_weights
from clusterproof.neural.engines.base import (
    ClusterSums,
    Engine,
    LocalWork,
    descend,
    members_of,
)
from clusterproof.neural.networks import MLP, Network
from clusterproof.neural.networks.base import split

STORED_BYTES = 2**30
"""Total size in bytes up to which Gram matrices are kept from round to round; the others are recomputed."""


Combinations: TypeAlias = tuple[Tensor, np.ndarray, Tensor]
"""Points, or momentum buffers, of k clients after local training, before their first layers are computed.

Coefficients of the samples in the first layer's weight (C), (k, n, h); shares of the start, its buffer and the anchor
in the first layer, (3,); and the later layers, (k, d - d_1).
"""


class GramEngine(Engine):
    """Engine for perceptrons whose clients have fewer samples than input features, or not many more.

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
        self._grams: dict[tuple[int, int], Tensor] = {}

    def scores_of_models(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of all models on each client's images, see ``Engine.scores_of_models``."""
        return self._later_scores(models, self._first_values(models, images.flatten(2)))

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        corrections: Tensor | None,
        work: LocalWork,
    ) -> None:
        """Train locally, see ``Engine.train``: every client is a cluster of its own.

        Corrections are not in the span of the samples; with them every gradient is computed.
        """
        if corrections is not None:
            super().train(points, buffers, anchors, corrections, work)
            return
        sums = self.train_clusters(points, buffers, torch.arange(len(points)), None, work, anchors)
        for client, (point, buffer) in sums.items():
            points[client] = point
            if buffers is not None and buffer is not None:
                buffers[client] = buffer

    def train_clusters(
        self,
        models: Tensor,
        buffers: Tensor | None,
        assignments: Tensor,
        weights: Tensor | None,
        work: LocalWork,
        anchors: Tensor | None = None,
    ) -> ClusterSums:
        """Train from the clusters' models, see ``Engine.train_clusters``; no client's first layer is computed.

        ``anchors`` (P, d) are those of the proximal term, the models if None.
        """
        anchors = models if anchors is None else anchors
        whole = work.whole()
        features = whole.images.flatten(2)
        values: list[Tensor | None] = []
        vectors = (models, buffers, anchors if work.descent.proximal else None)
        for vector in vectors:
            if vector is None:
                values.append(None)
            elif values and vector is models:
                values.append(values[0])
            else:
                pairs = zip(features, assignments.tolist(), strict=True)
                of_clients = [self._first_values(vector[model, None], data)[0] for data, model in pairs]
                values.append(torch.stack(of_clients))
        tails = [None if vector is None else vector[assignments, self.first_size :] for vector in vectors]
        points, momenta = self._steps(whole, self._gram(work, features), values, tails, work)
        sums: ClusterSums = {}
        for cluster, members in members_of(assignments).items():
            factors = None if weights is None else weights[members]
            samples = features[members].flatten(0, 1)
            parts = [None if vector is None else vector[cluster, : self.first_size] for vector in vectors]
            sums[cluster] = (
                _total(points, members, factors, samples, parts),
                None if momenta is None else _total(momenta, members, factors, samples, parts),
            )
        return sums

    def _steps(
        self,
        whole: Batch,
        gram: Tensor,
        values: list[Tensor | None],
        tails: list[Tensor | None],
        work: LocalWork,
    ) -> tuple[Combinations, Combinations | None]:
        """Carry out all local steps; points, and buffers where there is momentum or they are carried.

        Parameters
        ----------
        whole, gram
            All data of the clients, and XX' + 1 of each, (k, n, n).
        values, tails
            First layer's values (k, n, h) on the data, and later layers (k, d - d_1), of start, buffer and anchor.
        work
            Step size and other settings of the local training.
        """
        start, (tail, tail_buffer, tail_anchor) = values[0], tails
        assert start is not None
        assert tail is not None
        coefficients, rates = torch.zeros_like(start), None
        if tail_buffer is not None or work.descent.momentum:
            rates = torch.zeros_like(start)
            tail_buffer = torch.zeros_like(tail) if tail_buffer is None else tail_buffer
        shares, rate_shares = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
        layers = _layers(tail, self.later)
        for step in range(work.steps):
            rows, targets, weights, index = gram, whole.targets, whole.weights, None
            if work.schedule.orders is not None:
                samples, counts = work.schedule.batch(work.rows, step)
                index = torch.from_numpy(samples).to(gram.device)[..., None]
                rows = _gather(gram, index)
                targets = targets.gather(1, index[..., 0])
                weights = mean_weights(counts, samples.shape[1], weights)
            first = multiply(rows, coefficients)
            for share, value in zip(shares.tolist(), values, strict=True):
                if value is not None and share:
                    first.add_(value if index is None else _gather(value, index), alpha=share)
            activations = [first]
            for weight, bias in layers:
                activations.append(multiply(activations[-1].clamp_(min=0), weight.mT).add_(bias[:, None]))
            errors = torch.softmax(activations.pop(), -1)
            errors.scatter_add_(-1, targets[..., None], errors.new_tensor(-1).expand(*targets.shape, 1))
            errors.mul_(weights[..., None])
            gradients = [tail[:, :0]]
            for (weight, _), inputs in zip(layers[::-1], activations[::-1], strict=True):
                gradients[:0] = [multiply(errors.mT, inputs).flatten(1), errors.sum(1)]
                errors = torch.ops.aten.threshold_backward(multiply(errors, weight), inputs, 0)
            descend(tail, tail_buffer, tail_anchor, None, torch.cat(gradients, dim=1), work.descent)
            if rates is None:
                if work.descent.proximal:
                    coefficients.mul_(1 - work.descent.step_size * work.descent.proximal)
                _add(coefficients, errors, index, -work.descent.step_size)
            else:
                _add(rates.mul_(work.descent.momentum), errors, index, 1)
                if work.descent.proximal:
                    rates.add_(coefficients, alpha=work.descent.proximal)
                coefficients.sub_(rates, alpha=work.descent.step_size)
            rate_shares = work.descent.momentum * rate_shares + work.descent.proximal * (shares - [0, 0, 1])
            shares = shares - work.descent.step_size * rate_shares
        momenta = None if rates is None or tail_buffer is None else (rates, rate_shares, tail_buffer)
        return (coefficients, shares, tail), momenta

    def _first_values(self, models: Tensor, features: Tensor) -> Tensor:
        """Values of the first layers of models (P, d) on data (..., n, in), before ReLU: (..., P, n, h)."""
        [(weight, bias)] = _layers(models[:, : self.first_size], self.first)
        values = multiply(features, weight.flatten(0, 1).mT).add_(bias.flatten())
        return values.view(*values.shape[:-1], *bias.shape).transpose(-2, -3)

    def _later_scores(self, models: Tensor, values: Tensor) -> Tensor:
        """Scores (k, P, n, classes) of models (P, d) from their first layers' values (k, P, n, h)."""
        for weight, bias in _layers(models[:, self.first_size :], self.later):
            values = multiply(values.clamp(min=0), weight.mT).add_(bias[:, None])
        return values

    def _gram(self, work: LocalWork, features: Tensor) -> Tensor:
        """XX' + 1 of each client, (k, n, n); adding 1 accounts for the bias."""
        keys = [(int(client), work.width) for client in work.clients]
        if any(key not in self._grams for key in keys):
            grams = multiply(features, features.mT).add_(1)
            if (len(self._grams) + len(keys)) * grams[0].nbytes <= STORED_BYTES:
                self._grams.update(zip(keys, grams, strict=True))
            return grams
        return torch.stack([self._grams[key] for key in keys])


def _layers(vectors: Tensor, shapes: Mapping[str, torch.Size]) -> list[tuple[Tensor, Tensor]]:
    """Return weights (..., out, in) and biases (..., out) as views of the layers' vectors."""
    tensors = list(split(vectors, shapes).values())
    return list(zip(tensors[::2], tensors[1::2], strict=True))


def multiply(left: Tensor, right: Tensor) -> Tensor:
    """Multiply matrices (..., p, q) and (..., q, r) into (..., p, r).

    On a CPU NumPy is used: its products do not depend on the leading axes, bit for bit, and are up to twice
    as fast as torch's on one thread. As torch's they do not warn of what is not finite: some kernels say that an
    operation was invalid where none was.
    """
    if left.device.type == "cpu":
        with np.errstate(all="ignore"):
            return torch.from_numpy(np.matmul(left.numpy(), right.numpy()))
    return left @ right


def _total(
    combinations: Combinations,
    members: list[int],
    factors: Tensor | None,
    samples: Tensor,
    vectors: list[Tensor | None],
) -> Tensor:
    """Return the sum over r ``members`` of their points or buffers, (d,), each multiplied by its factor if given.

    ``samples`` (r n, in) are those of the members, and ``vectors`` (d_1,) what their shares are of.
    """
    coefficients, shares, tails = combinations
    combined, later = coefficients[members], tails[members]
    size = float(len(members))
    if factors is not None:
        combined.mul_(factors[:, None, None])
        later.mul_(factors[:, None])
        size = float(factors.sum())
    combined = combined.flatten(0, 1)
    first = torch.cat([multiply(combined.mT, samples).flatten(), combined.sum(0)])
    for share, vector in zip(shares.tolist(), vectors, strict=True):
        if vector is not None and share:
            first.add_(vector, alpha=share * size)
    return torch.cat([first, later.sum(0)])


def _gather(values: Tensor, index: Tensor) -> Tensor:
    """Rows (k, b, h) of values (k, n, h) at indices (k, b, 1)."""
    return values.gather(1, index.expand(-1, -1, values.shape[2]))


def _add(values: Tensor, change: Tensor, index: Tensor | None, scale: float) -> None:
    """Add scale times (k, b, h) to the rows of values (k, n, h) at indices (k, b, 1); to all rows if None."""
    if index is None:
        values.add_(change, alpha=scale)
    else:
        values.scatter_add_(1, index.expand_as(change), change * scale)
