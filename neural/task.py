"""Real images, divided among clients, as a task for the algorithms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.arrays import rows, to_numpy
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.engines import Batch, Chunk, ClientData
from clusterproof.neural.engines.chunks import Block, Place
from clusterproof.neural.engines.data import Ids
from clusterproof.neural.engines.dense import cross_entropies, hit_rates
from clusterproof.neural.engines.draws.counted_orders import draw_key, random_orders, random_subsets
from clusterproof.neural.image_clients import Batches
from clusterproof.neural.image_training import ImageTraining

SUM_ROWS = 4096
"""Samples whose gradients are added in one product."""


@dataclass(frozen=True)
class Scores:
    """How every model does on every test holder.

    Attributes
    ----------
    losses, accuracies
        Mean cross-entropies and shares of right predictions, (..., m_test, P).
    """

    losses: Tensor
    accuracies: Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageTask(ImageTraining):
    """Clients who minimise a network's mean cross-entropy on images of their own.

    Models and points are tensors (..., P, d) and (..., k, d), clients integer tensors (..., k), as in
    ``algorithms.Task``, ``CurvedTask``, ``OneBatchTask``, ``ScoredTask``, ``LocalTrainingTask``,
    ``MetaTrainingTask``, ``ClusterTrainingTask``, ``ClientSamplingTask`` and ``OrderingTask``.

    Parameters
    ----------
    partition
        Who holds which images.
    network
        What is trained.
    batch_size
        Samples of a gradient; all of a client's where None or where it has fewer. ``losses`` always uses
        all of them.
    local_unit
        What a local step is: one gradient ``"step"`` on the next batch of a walk through random orders of
        the client's data, or one ``"epoch"``, a whole pass, with as many steps as the client has batches.
    device, dtype
        Where to compute and in which precision, ``"float32"`` or ``"float64"``.
    engine
        ``"gram"``, ``"batched"``, ``"serial"`` or ``"auto"``, see ``clusterproof.neural.engines.choose_engine``.
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
        If an argument is out of range, network and partition do not fit, or the device is not there.

    Notes
    -----
    On a CPU every client is computed by one thread, with the engines that ``"auto"`` chooses there, and sums
    over clients are formed in one order: results have the same bits whatever the number of threads is, and
    those of single clients whatever ``chunk`` is. In sums, on a GPU and in batched convolutions the libraries
    may add in another order for another number of clients at a time.

    Mini-batches and participants come from counters, see ``engines.draws.counted_orders``, so that every device has
    the same. On a GPU clients are never looked up on the host: a round copies nothing and waits for nothing.
    Where sizes differ, all data are padded to the largest, and with epochs everybody takes as many steps as the
    client with most, of which those past its own do not count; only Gram matrices, where they are asked for by
    name with epochs, then still ask for the participants. Distortions come from counters, too. This was
    counted on a pretended device; no GPU has run it. Replicates run one after the other on a CPU; on a GPU together,
    in no more launches than one. ``replicates.ImageReplicates`` has seeds' own data, too.
    """

    def reference_optima(self, target: str) -> None:
        """Give None: nobody knows a network's optimum."""

    def initial_models(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Tensor:
        """Draw independent starting models by PyTorch's default law, (*shape, count, d)."""
        drawn = self.network.initial((*shape, count), generator, np.dtype(self.dtype))
        return torch.from_numpy(drawn).to(self._device)

    def draw_participants(self, count: int, shape: tuple[int, ...], generator: np.random.Generator) -> Tensor:
        """Draw ``count`` of the clients uniformly without replacement, ascending integers (*shape, count).

        The same on every device, and made there: nothing is copied.
        """
        key = draw_key(generator)
        own = () if isinstance(key, Tensor) else shape  # each seed draws its own as if it were alone
        return random_subsets(key, count, (*own, self.clients), self._device)

    def draw_orders(self, shape: tuple[int, ...], generator: np.random.Generator) -> Tensor:
        """Draw a uniform permutation of the last axis for every index of the others, as ``draw_participants`` draws."""
        key = draw_key(generator)
        # of several seeds each draws its own, as if it were alone
        return random_orders(key, shape[1:] if isinstance(key, Tensor) else shape, self._device)

    def losses(self, models: Tensor, clients: Tensor, generator: np.random.Generator) -> Tensor:
        """Mean losses of models (..., P, d) on all of each client's training data: (..., k, P)."""
        return self._evaluate(models, clients, self._train)[0]

    def scores(self, models: Tensor) -> Scores:
        """Score models (..., P, d) on every test holder."""
        holders = torch.arange(len(self._test.sizes), device=self._device)
        return Scores(*self._evaluate(models, holders, self._test))

    def accuracies(self, points: Tensor, clients: Tensor) -> Tensor:
        """Share of each client's own test data that its point (..., k, d) predicts right, (..., k).

        Raises
        ------
        InvalidArgument
            If the partition's test data are not the training clients' own.
        """
        if not self.partition.paired:
            raise InvalidArgument(
                "partition",
                self.partition.name,
                "has test data of other clients than it trains",
                "use `scores`, or a paired partition",
            )
        flat, who = self._flatten(points, clients, self._test)
        found = flat.new_empty(len(who))

        def work(chunk: Chunk) -> None:
            batch = self._test.whole(who[chunk.rows], chunk.width)
            scores = self.chosen_engine.scores_of_each(flat[chunk.rows], batch.images)
            found[chunk.rows] = hit_rates(scores, batch.targets, batch.weights)[:, 0]

        self._passes.each(self._test.widths_of(who), work)
        return found.view(points.shape[:-1])

    def gradients(self, points: Tensor, clients: Tensor, generator: np.random.Generator) -> Tensor:
        """Gradients at the clients' own points (..., k, d), on a batch of each: (..., k, d)."""
        flat, who = self._flatten(points, clients, self._train)
        answer = self._memory.empty_like(flat)
        batches = self._draw(who, generator)

        def work(chunk: Chunk) -> None:
            place = Place(answer, chunk.rows)
            self.chosen_engine.gradients(flat[chunk.rows], batches(chunk), place.tensor)
            place.store()

        self._passes.each(self._batch_widths(who), work)
        return answer.view(points.shape)

    def losses_and_gradients(
        self, models: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Losses (..., k, P) and gradients (..., k, P, d) of models (..., P, d) on one batch a client."""
        lead, who, count = self._spread(models, clients, self._train)
        all_models = models.expand(*lead, *models.shape[-2:])
        losses = models.new_empty(*lead, who.shape[-1], count)
        slopes = models.new_empty(*losses.shape, self.dimension)
        for at in np.ndindex(*lead):
            own = (losses[at][None], slopes[at][None])
            self._of_every_model(all_models[at][None], who[at][None], generator, *own)
        return losses, slopes

    def _of_every_model(
        self, models: Tensor, who: Ids, generator: np.random.Generator, losses: Tensor, slopes: Tensor
    ) -> None:
        """The same of replicates' models (R, P, d), all batches in one draw: into (R, k, P) and (R, k, P, d)."""
        (replicates, clients), everybody = who.shape, who.reshape(-1)
        own = torch.arange(replicates, device=models.device).repeat_interleave(clients)
        flat_losses, flat_slopes = losses.view(-1, losses.shape[2]), slopes.view(-1, *slopes.shape[2:])
        batches = self._draw(everybody, generator)

        def work(chunk: Chunk) -> None:
            batch, clients_here = batches(chunk), len(chunk.positions)
            for index, starts in enumerate(models.unbind(1)):
                if isinstance(who, Tensor):
                    points = starts.index_select(0, own[chunk.rows])
                else:  # on the host, one replicate after the other
                    points = starts.expand(clients_here, -1)
                slope, loss = models.new_empty(points.shape), models.new_empty(clients_here)
                self.chosen_engine.gradients(points, batch, slope, loss)
                flat_losses[chunk.rows, index] = loss
                flat_slopes[chunk.rows, index] = slope

        self._passes.each(self._batch_widths(everybody), work)

    def gradient_sums(
        self, models: Tensor, clients: Tensor, assignments: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Sums of the gradients of each cluster's participants at its model, on a batch of each: (..., P, d).

        The members' samples are taken together, so that no client's gradient is stored.
        """
        lead, who, count = self._spread(models, clients, self._train)
        if isinstance(who, Tensor):
            return self._sums_of_each(models, clients.expand(who.shape), assignments, generator)
        chosen = np.broadcast_to(to_numpy(assignments), who.shape)
        all_models = models.expand(*lead, *models.shape[-2:])
        sums = models.new_zeros(*lead, count, self.dimension)
        for at in np.ndindex(*lead):
            batches = self._draw(who[at], generator)
            for index in range(count):
                members = np.flatnonzero(chosen[at] == index)
                self._add_gradients(all_models[(*at, index)], who[at], members, batches, sums[(*at, index)])
        return sums

    def _sums_of_each(
        self, models: Tensor, clients: Tensor, assignments: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """The same from each participant's own gradient, which asks the host for nothing."""
        points = rows(models, assignments.expand(clients.shape))
        slopes = self.gradients(points, clients, generator)
        numbers = torch.arange(models.shape[-2], device=models.device)[:, None]
        return (assignments[..., None, :] == numbers).to(slopes.dtype) @ slopes

    def _add_gradients(
        self, model: Tensor, clients: np.ndarray, members: np.ndarray, batches: Batches, total: Tensor
    ) -> None:
        """Add the gradients at one model (d,) of some of the clients (k,) to ``total`` (d,)."""

        def work(chunk: Chunk) -> Tensor:
            batch = batches(Chunk(members[chunk.positions], members[chunk.positions], chunk.width))
            together = Batch(
                batch.images.flatten(0, 1)[None], batch.targets.flatten()[None], batch.weights.flatten()[None]
            )
            own = torch.empty_like(model)[None]
            self.chosen_engine.gradients(model[None], together, own)
            return own[0]

        def add(_: Chunk, slope: Tensor) -> None:
            total.add_(slope)

        self._passes.in_order(
            self._batch_widths(clients[members]),
            work,
            add,
            size=lambda width: math.ceil(SUM_ROWS / width),
        )

    def hessian_products(
        self, points: Tensor, directions: Tensor, clients: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Hessians of the clients' losses at points times directions, on a batch of each, all (..., k, d)."""
        flat, who = self._flatten(points, clients, self._train)
        ahead = directions.expand(points.shape).reshape(flat.shape)
        answer = torch.empty_like(flat)
        batches = self._draw(who, generator)

        def work(chunk: Chunk) -> None:
            bent = self.chosen_engine.hessian_products(flat[chunk.rows], ahead[chunk.rows], batches(chunk))
            answer[chunk.rows] = bent

        self._passes.each(self._batch_widths(who), work)
        return answer.view(points.shape)

    def _evaluate(self, models: Tensor, clients: Tensor, data: ClientData) -> tuple[Tensor, Tensor]:
        """Losses and accuracies of models (..., P, d) on all data of clients (..., k): both (..., k, P)."""
        lead, who, count = self._spread(models, clients, data)
        all_models = models.expand(*lead, *models.shape[-2:])
        losses, accuracies = (models.new_empty(*lead, who.shape[-1], count) for _ in range(2))
        if lead and isinstance(who, Tensor):
            self._evaluate_together(all_models, who, data, losses, accuracies)
            return losses, accuracies
        for at in np.ndindex(*lead):

            def work(chunk: Chunk, at: tuple[int, ...] = at) -> None:
                batch = data.whole(who[at][chunk.rows], chunk.width)
                scores = self.chosen_engine.scores(all_models[at], batch)
                losses[at][chunk.rows] = cross_entropies(scores, batch.targets, batch.weights)
                accuracies[at][chunk.rows] = hit_rates(scores, batch.targets, batch.weights)

            self._passes.each(data.widths_of(who[at]), work, models=count)
        return losses, accuracies

    def _evaluate_together(
        self, models: Tensor, who: Tensor, data: ClientData, losses: Tensor, accuracies: Tensor
    ) -> None:
        """The same of all replicates at once, into losses and accuracies (..., k, P) in one piece."""
        clients, count = who.shape[-1], models.shape[-2]
        starts, everybody = models.reshape(-1, *models.shape[-2:]), who.reshape(-1)
        results = [(losses.view(-1, count), cross_entropies), (accuracies.view(-1, count), hit_rates)]

        def work(block: Block) -> None:
            batch = data.whole(everybody[block.rows], block.width)
            own = starts[block.replicates]
            images = batch.images.view(len(own), -1, *batch.images.shape[1:])
            scores = self.chosen_engine.scores_of_replicates(own, images).flatten(0, 1)
            for target, measure in results:
                target[block.rows] = measure(scores, batch.targets, batch.weights)

        self._passes.blocks(data.widths_of(everybody), len(starts), clients, work, models=count)
