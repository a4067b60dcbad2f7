"""Real images, divided among clients, as a task for the algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.arrays import rows, to_numpy
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.engines import (
    Batch,
    Chunk,
    ClientData,
    ClusterStart,
    ClusterSums,
    ClusterTotals,
    LocalWork,
    Schedule,
)
from clusterproof.neural.engines.counted_orders import draw_key, random_subsets
from clusterproof.neural.engines.data import Ids
from clusterproof.neural.engines.dense import cross_entropies, hit_rates
from clusterproof.neural.engines.distorted import Distortions, local_work
from clusterproof.neural.image_clients import Batches, ImageClients


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
class ImageTask(ImageClients):
    """Clients who minimise a network's mean cross-entropy on images of their own.

    Models and points are tensors (..., P, d) and (..., k, d), clients integer tensors (..., k), as in
    ``algorithms.Task``, ``CurvedTask``, ``OneBatchTask``, ``ScoredTask``, ``LocalTrainingTask``,
    ``MetaTrainingTask``, ``ClusterTrainingTask`` and ``ClientSamplingTask``.

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

    Mini-batches and participants come from counters, see ``engines.counted_orders``, so that every device has
    the same. On a GPU, clients with equally many samples are never looked up on the host: a round copies nothing
    and waits for nothing. Where sizes differ, the host reads the numbers of the participants, to put those of
    like size together. This was counted on a pretended device; no GPU has run it. Replicates run one after the
    other: each has models of its own that all its clients are scored on, and participants of its own.
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
        return random_subsets(draw_key(generator), count, (*shape, self.clients), self._device)

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
            place = _Place(answer, chunk.rows)
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
        slopes = models.new_empty(*lead, who.shape[-1], count, self.dimension)
        for at in np.ndindex(*lead):
            batches = self._draw(who[at], generator)

            def work(chunk: Chunk, at: tuple[int, ...] = at, batches: Batches = batches) -> None:
                batch = batches(chunk)
                for index in range(count):
                    points = all_models[(*at, index)].expand(len(chunk.positions), -1)
                    own = torch.empty_like(points, memory_format=torch.contiguous_format)
                    found = models.new_empty(len(points))
                    self.chosen_engine.gradients(points, batch, own, found)
                    losses[at][chunk.rows, index] = found
                    slopes[at][chunk.rows, index] = own

            self._passes.each(self._batch_widths(who[at]), work)
        return losses, slopes

    def gradient_sums(
        self, models: Tensor, clients: Tensor, assignments: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Sums of the gradients of each cluster's participants at its model, on a batch of each: (..., P, d).

        The members' samples are taken together, so that no client's gradient is stored.
        """
        lead, who, count = self._spread(models, clients, self._train)
        if isinstance(who, Tensor):
            return self._sums_of_each(models, who, assignments, generator)
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
        own = torch.empty_like(model)[None]

        def work(chunk: Chunk) -> None:
            batch = batches(Chunk(members[chunk.positions], members[chunk.positions], chunk.width))
            together = Batch(
                batch.images.flatten(0, 1)[None], batch.targets.flatten()[None], batch.weights.flatten()[None]
            )
            self.chosen_engine.gradients(model[None], together, own)
            total.add_(own[0])

        self._passes.together(self._batch_widths(clients[members]), work)

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

    def local_training(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        clients: Tensor,
        generator: np.random.Generator,
        *,
        step_size: float,
        momentum: float,
        proximal: float,
        local_steps: int,
    ) -> tuple[Tensor, Tensor | None]:
        """Train every participant on its own, see ``algorithms.LocalTrainingTask``."""
        flat, who = self._flatten(points, clients, self._train)
        own_buffers = None if buffers is None else buffers.expand(points.shape).reshape(flat.shape)
        if anchors is points or not proximal:
            own_anchors = flat if proximal else None
        else:
            own_anchors = None if anchors is None else anchors.expand(points.shape).reshape(flat.shape)
        trained = self._memory.empty_like(flat)
        carried = None if buffers is None and not momentum else self._memory.empty_like(flat)
        schedule = self._schedule(who, local_steps, generator)
        distortions = self._local_distortions(who, schedule, local_steps, generator)

        def work(chunk: Chunk) -> None:
            start = flat[chunk.rows]
            result = _Place(trained, chunk.rows)
            speed = None if carried is None else _Place(carried, chunk.rows)
            self.chosen_engine.train(
                start,
                None if own_buffers is None else own_buffers[chunk.rows],
                start if own_anchors is flat else None if own_anchors is None else own_anchors[chunk.rows],
                local_work(
                    distortions,
                    step_size=step_size,
                    momentum=momentum,
                    proximal=proximal,
                    data=self._train,
                    clients=who[chunk.rows],
                    width=chunk.width,
                    local_steps=local_steps,
                    schedule=schedule,
                    rows=chunk.positions,
                ),
                result.tensor,
                None if speed is None else speed.tensor,
            )
            for place in (result, speed):
                if place is not None:
                    place.store()

        whole = self.chosen_engine.name == "gram"
        widths = self._train.widths_of(who) if whole else self._batch_widths(who)
        self._passes.each(widths, work, steps=None if schedule is None else schedule.steps)
        return trained.view(points.shape), None if carried is None else carried.view(points.shape)

    def meta_training(
        self,
        points: Tensor,
        clients: Tensor,
        generator: np.random.Generator,
        *,
        step_size: float,
        inner_step_size: float,
        local_steps: int,
    ) -> Tensor:
        """Train on losses after a step of descent, see ``algorithms.MetaTrainingTask``; all batches in one draw."""
        flat, who = self._flatten(points, clients, self._train)
        trained = self._memory.empty_like(flat)
        work = LocalWork(
            step_size=step_size,
            momentum=0.0,
            proximal=0.0,
            data=self._train,
            clients=who,
            width=0,
            local_steps=2 * local_steps,
            schedule=None if self._full_batch else self._independent(who, 2 * local_steps, generator),
            rows=np.arange(len(who)),
        )

        def train(chunk: Chunk) -> None:
            place = _Place(trained, chunk.rows)
            own = replace(work.of(chunk.rows), width=chunk.width)
            self.chosen_engine.meta_train(flat[chunk.rows], inner_step_size, own, place.tensor)
            place.store()

        self._passes.each(self._batch_widths(who), train)
        return trained.view(points.shape)

    def cluster_training(
        self,
        models: Tensor,
        buffers: Tensor | None,
        clients: Tensor,
        assignments: Tensor | Callable[[Tensor], Tensor],
        losses_generator: np.random.Generator,
        generator: np.random.Generator,
        *,
        weights: Tensor | None,
        step_size: float,
        momentum: float,
        proximal: float,
        local_steps: int,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Train and add up over clusters, see ``algorithms.ClusterTrainingTask``; losses are of all data."""
        lead, who, _ = self._spread(models, clients, self._train)
        starts = models.expand(*lead, *models.shape[-2:])
        speeds = None if buffers is None else buffers.expand(starts.shape)
        given = None if callable(assignments) else assignments.expand(who.shape)
        factors = None if weights is None else weights.expand(who.shape)
        chosen = torch.empty(who.shape, dtype=torch.int64, device=models.device)
        sums = torch.zeros_like(starts, memory_format=torch.contiguous_format)
        own = torch.zeros_like(sums) if buffers is not None or momentum else None
        schedule = self._schedule(who.reshape(-1), local_steps, generator)
        work = local_work(
            self._local_distortions(who.reshape(-1), schedule, local_steps, generator),
            step_size=step_size,
            momentum=momentum,
            proximal=proximal,
            data=self._train,
            clients=who.reshape(-1),
            width=0,
            local_steps=local_steps,
            schedule=schedule,
            rows=np.arange(math.prod(who.shape)),
        )
        for index, at in enumerate(np.ndindex(*lead)):
            start = ClusterStart(
                starts[at],
                None if speeds is None else speeds[at],
                assignments if given is None else given[at],
                None if factors is None else factors[at],
                own is not None,
            )
            totals = ClusterTotals(start, sums[at], None if own is None else own[at])
            here = slice(index * who.shape[-1], (index + 1) * who.shape[-1])
            self._train_clusters(totals, work.of(here), chosen[at])
        return chosen, sums, own

    def _train_clusters(self, totals: ClusterTotals, work: LocalWork, chosen: Tensor) -> None:
        """Add what participants give to the totals, and write their clusters into ``chosen`` (k,)."""

        def train(chunk: Chunk) -> ClusterSums:
            own = replace(work.of(chunk.rows), width=chunk.width)
            return self.chosen_engine.train_clusters(totals.start.of(chunk.rows), own)

        def add(chunk: Chunk, found: ClusterSums) -> None:
            chosen[chunk.rows] = found.assignments
            totals.add(found)

        self._passes.in_order(
            self._train.widths_of(work.clients),
            train,
            add,
            size=self.chosen_engine.together,
            steps=None if work.schedule is None else work.schedule.steps[work.rows],
            models=len(totals.start.models),
        )
        totals.complete(self.chosen_engine.incomplete)

    def _schedule(self, who: Ids, local_steps: int, generator: np.random.Generator) -> Schedule | None:
        """Draw the mini-batches of clients (k,); None where a step takes all data."""
        if self._full_batch:
            return None
        return Schedule.draw(
            self._train.sizes_of(who),
            self._batch_size,
            local_steps,
            self.local_unit,
            generator,
            self._draws_on(who),
        )

    def _local_distortions(
        self, who: Ids, schedule: Schedule | None, local_steps: int, generator: np.random.Generator
    ) -> Distortions | None:
        """Draw what distorts the images of clients (k,) in local training; None where nothing does."""
        steps = local_steps if schedule is None else int(schedule.steps.max(initial=0))
        return self._distortions(who, steps, generator)

    def _evaluate(self, models: Tensor, clients: Tensor, data: ClientData) -> tuple[Tensor, Tensor]:
        """Losses and accuracies of models (..., P, d) on all data of clients (..., k): both (..., k, P)."""
        lead, who, count = self._spread(models, clients, data)
        all_models = models.expand(*lead, *models.shape[-2:])
        losses, accuracies = (models.new_empty(*lead, who.shape[-1], count) for _ in range(2))
        for at in np.ndindex(*lead):

            def work(chunk: Chunk, at: tuple[int, ...] = at) -> None:
                batch = data.whole(who[at][chunk.rows], chunk.width)
                scores = self.chosen_engine.scores_of_all(all_models[at], batch.images)
                losses[at][chunk.rows] = cross_entropies(scores, batch.targets, batch.weights)
                accuracies[at][chunk.rows] = hit_rates(scores, batch.targets, batch.weights)

            self._passes.each(data.widths_of(who[at]), work, models=count)
        return losses, accuracies


class _Place:
    """Rows of a tensor (k, d) to write to: the very memory where they follow each other, else a copy."""

    def __init__(self, target: Tensor, rows: slice | np.ndarray) -> None:
        self._target, self._rows = target, rows
        if isinstance(rows, slice):
            self.tensor = target[rows]
        else:
            self.tensor = target.new_empty(len(rows), target.shape[1])

    def store(self) -> None:
        """Copy back, where it is a copy."""
        if not isinstance(self._rows, slice):
            self._target[self._rows] = self.tensor
