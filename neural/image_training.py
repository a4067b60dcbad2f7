"""Local training of clients with images: alone, and added up over clusters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.engines import (
    Chunk,
    ClusterStart,
    ClusterSums,
    ClusterTotals,
    LocalWork,
    Schedule,
)
from clusterproof.neural.engines.chunks import Block, Place
from clusterproof.neural.engines.data import Ids
from clusterproof.neural.engines.draws.distorted import Distortions, local_work
from clusterproof.neural.engines.draws.padded_schedule import PaddedSchedule
from clusterproof.neural.image_clients import ImageClients


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageTraining(ImageClients):
    """Clients with images who train on their own; arguments as ``ImageClients``.

    Answers what ``algorithms.LocalTrainingTask``, ``MetaTrainingTask`` and ``ClusterTrainingTask`` ask.
    """

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
            result = Place(trained, chunk.rows)
            speed = None if carried is None else Place(carried, chunk.rows)
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
        second_order: bool,
    ) -> Tensor:
        """Train on losses after a step of descent, see ``algorithms.MetaTrainingTask``; all batches in one draw."""
        flat, who = self._flatten(points, clients, self._train)
        trained = self._memory.empty_like(flat)
        steps = (3 if second_order else 2) * local_steps
        schedule = None if self._full_batch else self._independent(who, steps, generator)
        work = local_work(
            self._distortions(who, steps, generator),
            step_size=step_size,
            momentum=0.0,
            proximal=0.0,
            data=self._train,
            clients=who,
            width=0,
            local_steps=steps,
            schedule=schedule,
            rows=np.arange(len(who)),
        )

        def train(chunk: Chunk) -> None:
            place = Place(trained, chunk.rows)
            own = replace(work.of(chunk.rows), width=chunk.width)
            self.chosen_engine.meta_train(
                flat[chunk.rows], inner_step_size, own, place.tensor, second_order=second_order
            )
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
        if lead and isinstance(who, Tensor):
            start = ClusterStart(
                starts.flatten(0, -3),
                None if speeds is None else speeds.flatten(0, -3),
                assignments if given is None else given.flatten(0, -2),
                None if factors is None else factors.flatten(0, -2),
                own is not None,
            )
            self._train_replicates(start, work, chosen, sums, own)
            return chosen, sums, own
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

    def _train_replicates(
        self, start: ClusterStart, work: LocalWork, chosen: Tensor, sums: Tensor, own: Tensor | None
    ) -> None:
        """Train replicates (R, ...) at once, and write their clusters (..., k) and their sums (..., P, d)."""
        assigned, totals = chosen.flatten(0, -2), sums.flatten(0, -3)
        speeds = None if own is None else own.flatten(0, -3)

        def train(block: Block) -> None:
            here = replace(work.of(block.rows), width=block.width)
            found = self.chosen_engine.train_replicates(start.of_block(block), here)
            assigned[block.replicates, block.columns] = found.assignments
            totals[block.replicates].add_(found.points)
            if speeds is not None and found.buffers is not None:
                speeds[block.replicates].add_(found.buffers)

        self._passes.blocks(
            self._train.widths_of(work.clients),
            len(assigned),
            assigned.shape[1],
            train,
            models=start.models.shape[1],
        )

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
            size=lambda _: self.chosen_engine.together,
            steps=None if work.schedule is None else work.schedule.steps[work.rows],
            models=len(totals.start.models),
        )
        totals.complete(self.chosen_engine.incomplete)

    def _schedule(
        self, who: Ids, local_steps: int, generator: np.random.Generator
    ) -> Schedule | PaddedSchedule | None:
        """Draw the mini-batches of clients (k,); None where a step takes all data."""
        if self._full_batch:
            return None
        sizes = self._train.sizes_of(who)
        if isinstance(sizes, Tensor):
            everybody = self._train.sizes
            return PaddedSchedule.draw(
                sizes, everybody, self._batch_size, local_steps, self.local_unit, generator
            )
        return Schedule.draw(
            sizes,
            self._batch_size,
            local_steps,
            self.local_unit,
            generator,
            self._draws_on(who),
        )

    def _local_distortions(
        self,
        who: Ids,
        schedule: Schedule | PaddedSchedule | None,
        local_steps: int,
        generator: np.random.Generator,
    ) -> Distortions | None:
        """Draw what distorts the images of clients (k,) in local training; None where nothing does."""
        steps = local_steps if schedule is None else int(schedule.steps.max(initial=0))
        return self._distortions(who, steps, generator)
