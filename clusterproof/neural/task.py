"""Real images, divided among clients, as a task for the algorithms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.client_data import Batch, ClientData
from clusterproof.neural.engines.base import accuracies, cross_entropies
from clusterproof.neural.engines.chunks import Chunk
from clusterproof.neural.local_training import LocalTraining

SUM_ROWS = 4096
"""Samples whose gradients are added in one product."""


@dataclass(frozen=True)
class Scores:
    """How every model does on every test holder.

    Attributes
    ----------
    losses, accuracies
        Mean cross-entropies and shares of right predictions, (m_test, P).
    """

    losses: Tensor
    accuracies: Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageTask(LocalTraining):
    """Clients that minimise a network's mean cross-entropy on their images.

    Models and points are tensors (P, d) and (k, d), clients integer tensors (k,), without replicate axes; else as in
    ``algorithms.Task``.

    Parameters
    ----------
    partition
        Images of each client.
    network
        What is trained.
    batch_size
        Samples of a gradient; all of a client's where None or where it has fewer. ``losses`` always uses
        all of them.
    local_unit
        What a local step is: one gradient ``"step"`` on the next batch of random orders of the client's data, or
        one ``"epoch"``, a whole pass, with as many steps as the client has batches.
    device, dtype
        Where to compute and in which precision, ``"float32"`` or ``"float64"``.
    engine
        ``"gram"``, ``"vmap"``, ``"serial"`` or ``"auto"``, see ``clusterproof.neural.engines.choose_engine``.
    chunk
        Clients at a time; from the free memory where None.
    precision
        Of products on a GPU: ``"highest"``, or the faster and coarser ``"tf32"`` or ``"bf16"``.
    preprocessing
        What is done to images. A gradient of training sees them distorted; where an algorithm chooses models
        by the losses of the batch whose gradients it takes, so does the choice.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, network and partition do not fit, or the device is missing.

    Notes
    -----
    On a CPU every client is computed by one thread, and sums over clients are formed in one order: results have the
    same bits whatever the number of threads is. For another ``chunk``, and on a GPU, the libraries may add in another
    order.

    Mini-batches and distortions come from counters on the host, see ``engines.sampling``: every device
    has the same.
    """

    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Tensor:
        """Draw independent starting models by PyTorch's default law, (count, d).

        Raises
        ------
        InvalidArgument
            If replicates are asked for.
        """
        if shape:
            rule = "is a number of runs in one, and networks are trained one run at a time"
            raise InvalidArgument("replicates", shape[0], rule, "leave it out, and call once a seed")
        drawn = self.network.initial((count,), generator, np.dtype(self.dtype))
        return torch.from_numpy(drawn).to(self._device)

    def losses(self, models: Tensor, clients: Tensor, generator: np.random.Generator) -> Tensor:
        """Mean losses of models (P, d) on all of each client's training data: (k, P)."""
        return self._evaluate(models, clients, self._train)[0]

    def scores(self, models: Tensor) -> Scores:
        """Score models (P, d) on every test holder."""
        holders = torch.arange(len(self._test.sizes), device=self._device)
        return Scores(*self._evaluate(models, holders, self._test))

    def accuracies(self, points: Tensor, clients: Tensor) -> Tensor:
        """Share of each client's test data that its point (k, d) predicts right, (k,).

        Raises
        ------
        InvalidArgument
            If the partition's test data are not the training clients'.
        """
        if not self.partition.paired:
            raise InvalidArgument(
                "partition",
                self.partition.name,
                "has test data of other clients than it trains",
                "use `scores`, or a paired partition",
            )
        indices = to_numpy(clients)
        shares = points.new_empty(len(indices))

        def score(chunk: Chunk) -> None:
            batch = self._test.whole(indices[chunk.positions], chunk.width)
            scores = self.chosen_engine.scores(points[chunk.index], batch.images)
            shares[chunk.index] = accuracies(scores[:, None], batch)[:, 0]

        self._run(indices, score, data=self._test)
        return shares

    def gradients(self, points: Tensor, clients: Tensor, generator: np.random.Generator) -> Tensor:
        """Gradients at the clients' points (k, d), on a batch of each: (k, d)."""
        indices = to_numpy(clients)
        gradients = torch.empty_like(points, memory_format=torch.contiguous_format)
        batch_of = self._batches(indices, generator)

        def compute(chunk: Chunk) -> None:
            index = chunk.index
            gradients[index], _ = self.chosen_engine.gradients(points[index], batch_of(chunk))

        self._run(indices, compute)
        return gradients

    def losses_and_gradients(
        self, models: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Losses (k, P) and gradients (k, P, d) of models (P, d) on one batch a client."""
        indices = to_numpy(clients)
        losses = models.new_empty(len(indices), len(models))
        gradients = models.new_empty(*losses.shape, self.dimension)
        batch_of = self._batches(indices, generator)

        def compute(chunk: Chunk) -> None:
            index, batch = chunk.index, batch_of(chunk)
            for model, point in enumerate(models):
                results = self.chosen_engine.gradients(point.expand(len(index), -1), batch)
                gradients[index, model], losses[index, model] = results

        self._run(indices, compute)
        return losses, gradients

    def gradient_sums(
        self, models: Tensor, clients: Tensor, assignments: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Sums of the gradients of each cluster's participants at its model, on a batch of each: (P, d).

        The members' samples are taken as one batch, so that no client's gradient is stored.
        """
        indices, chosen = to_numpy(clients), to_numpy(assignments)
        sums = torch.zeros_like(models, memory_format=torch.contiguous_format)
        batch_of = self._batches(indices, generator)
        for cluster in range(len(models)):
            members = np.flatnonzero(chosen == cluster)

            def compute(chunk: Chunk, cluster: int = cluster, members: np.ndarray = members) -> Tensor:
                batch = batch_of(replace(chunk, positions=members[chunk.positions]))
                is_real = batch.weights > 0
                parts = (batch.images, batch.targets, batch.weights)
                together = Batch(*(part[is_real][None] for part in parts))
                return self.chosen_engine.gradients(models[cluster, None], together)[0][0]

            def add(_: Chunk, gradient: Tensor, cluster: int = cluster) -> None:
                sums[cluster].add_(gradient)

            self._run(indices[members], compute, add, at_once=math.ceil(SUM_ROWS / self._batch_size))
        return sums

    def hessian_products(
        self, points: Tensor, directions: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Hessians of the clients' losses at points times directions, on a batch of each, all (k, d)."""
        indices = to_numpy(clients)
        products = torch.empty_like(points, memory_format=torch.contiguous_format)
        batch_of = self._batches(indices, generator)

        def compute(chunk: Chunk) -> None:
            index, batch = chunk.index, batch_of(chunk)
            products[index] = self.chosen_engine.hessian_products(points[index], directions[index], batch)

        self._run(indices, compute)
        return products

    def _evaluate(self, models: Tensor, clients: Tensor, data: ClientData) -> tuple[Tensor, Tensor]:
        """Losses and accuracies of models (P, d) on all data of clients (k,): both (k, P)."""
        indices = to_numpy(clients)
        losses, shares = (models.new_empty(len(indices), len(models)) for _ in range(2))

        def score(chunk: Chunk) -> None:
            index, batch = chunk.index, data.whole(indices[chunk.positions], chunk.width)
            scores = self.chosen_engine.scores_of_models(models, batch.images)
            losses[index], shares[index] = cross_entropies(scores, batch), accuracies(scores, batch)

        self._run(indices, score, data=data, models=len(models))
        return losses, shares
