"""Local training of clients with images: of each client, and summed over clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.arrays import to_numpy
from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import ClusterSums, LocalWork
from clusterproof.neural.engines.chunks import Chunk
from clusterproof.neural.engines.distortion import draw_distortions
from clusterproof.neural.engines.sampling import Schedule
from clusterproof.neural.image_clients import ImageClients


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalTraining(ImageClients):
    """Clients with images that train locally; arguments as ``ImageClients``.

    Implements ``algorithms.TrainingTask``.
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
        """Train every participant, see ``algorithms.TrainingTask``."""
        schedule = self._schedule(to_numpy(clients), local_steps, generator)
        motion = {"step_size": step_size, "momentum": momentum, "proximal": proximal}
        return self._train_locally(points, buffers, anchors, clients, schedule, generator, **motion)

    def reshuffled_training(
        self,
        points: Tensor,
        clients: Tensor,
        generator: np.random.Generator,
        *,
        step_size: float,
        passes: int,
    ) -> Tensor:
        """Take passes over each client's images, one image a step, see ``algorithms.TrainingTask``."""
        sizes = self.client_samples[to_numpy(clients)]
        schedule = Schedule.draw(sizes, 1, passes, "epoch", generator)
        return self._train_locally(points, None, None, clients, schedule, generator, step_size=step_size)[0]

    def _train_locally(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        clients: Tensor,
        schedule: Schedule,
        generator: np.random.Generator,
        **motion: float,
    ) -> tuple[Tensor, Tensor | None]:
        """Train every participant on the mini-batches of a schedule."""
        indices, trained = to_numpy(clients), points.clone(memory_format=torch.contiguous_format)
        carried = None if buffers is None else buffers.clone(memory_format=torch.contiguous_format)
        if carried is None and motion.get("momentum"):
            carried = torch.zeros_like(trained)
        work_of = self._work(indices, schedule, generator, **motion)

        def train(chunk: Chunk) -> None:
            rows = chunk.rows
            start, buffer, anchor = (
                None if vectors is None else vectors[rows] for vectors in (trained, carried, anchors)
            )
            assert start is not None
            self.chosen_engine.train(start, buffer, anchor, work_of(chunk))
            if not isinstance(rows, slice):  # copies, not views
                trained[rows] = start
                if carried is not None and buffer is not None:
                    carried[rows] = buffer

        self._run(indices, train, steps=schedule.steps)
        return trained, carried

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
        """Train on losses after a step of descent, see ``algorithms.TrainingTask``; all batches in one draw."""
        indices = to_numpy(clients)
        trained = torch.empty_like(points, memory_format=torch.contiguous_format)
        schedule = self._schedule(
            indices, (3 if second_order else 2) * local_steps, generator, independent=True
        )
        work_of = self._work(indices, schedule, generator, step_size=step_size)

        def train(chunk: Chunk) -> None:
            trained[chunk.index] = self.chosen_engine.meta_train(
                points[chunk.index], inner_step_size, work_of(chunk), second_order=second_order
            )

        self._run(indices, train)
        return trained

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
        """Train and sum over clusters, see ``algorithms.TrainingTask``; losses are of all data."""
        indices = to_numpy(clients)
        chosen = torch.empty(indices.shape, dtype=torch.int64, device=models.device)
        sums = torch.zeros_like(models, memory_format=torch.contiguous_format)
        buffer_sums = torch.zeros_like(sums) if buffers is not None or momentum else None
        schedule = self._schedule(indices, local_steps, generator)
        work_of = self._work(
            indices, schedule, generator, step_size=step_size, momentum=momentum, proximal=proximal
        )

        def train(chunk: Chunk) -> tuple[Tensor, ClusterSums]:
            chosen_by = assignments if callable(assignments) else assignments[chunk.index]
            factors = None if weights is None else weights[chunk.index]
            return self.chosen_engine.train_clusters(models, buffers, chosen_by, factors, work_of(chunk))

        def add(chunk: Chunk, result: tuple[Tensor, ClusterSums]) -> None:
            chosen[chunk.index], cluster_sums = result
            for cluster, (point_sum, buffer_sum) in cluster_sums.items():
                sums[cluster].add_(point_sum)
                if buffer_sums is not None and buffer_sum is not None:
                    buffer_sums[cluster].add_(buffer_sum)

        self._run(indices, train, add, steps=schedule.steps, models=len(models))
        return chosen, sums, buffer_sums

    def _schedule(
        self,
        clients: np.ndarray,
        local_steps: int,
        generator: np.random.Generator,
        *,
        independent: bool = False,
    ) -> Schedule:
        """Draw the mini-batches of clients (k,), ``independent`` ones without passes; none if a step takes all data."""
        sizes = self.client_samples[clients]
        if self._full_batch:
            return Schedule(sizes, self._batch_size, np.full(len(clients), local_steps), None)
        if independent:
            return Schedule.independent(sizes, self._batch_size, local_steps, generator)
        return Schedule.draw(sizes, self._batch_size, local_steps, self.local_unit, generator)

    def _batches(self, clients: np.ndarray, generator: np.random.Generator) -> Callable[[Chunk], Batch]:
        """Draw a batch for each of clients (k,), and return the function that gives those of a chunk."""
        work_of = self._work(clients, self._schedule(clients, 1, generator, independent=True), generator)
        return lambda chunk: next(work_of(chunk).batches())

    def _work(
        self, clients: np.ndarray, schedule: Schedule, generator: np.random.Generator, **motion: float
    ) -> Callable[[Chunk], LocalWork]:
        """Draw distortions for clients (k,), and return the function that makes the work of a chunk of them."""
        distortions = None
        if self.preprocessing.random:
            steps, indices = int(schedule.steps.max(initial=0)), torch.from_numpy(clients)
            distortions = draw_distortions(self.preprocessing, indices, steps, self._batch_size, generator)
        return lambda chunk: LocalWork(
            **motion,
            data=self._train,
            clients=clients[chunk.positions],
            width=chunk.width,
            schedule=schedule,
            rows=chunk.positions,
            distortions=distortions,
        )
