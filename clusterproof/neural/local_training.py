"""Local training of clients with images: of each client, and summed over clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms import Descent, Trained
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.client_data import Batch
from clusterproof.neural.engines.base import ClusterSums, LocalWork
from clusterproof.neural.engines.chunks import Chunk
from clusterproof.neural.engines.distortion import draw_distortions
from clusterproof.neural.engines.sampling import Schedule
from clusterproof.neural.image_clients import ImageClients


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalTraining(ImageClients):
    """Clients with images that train locally; arguments as ``ImageClients``."""

    def local_steps(
        self,
        points: Tensor,
        clients: Tensor,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: Tensor | None = None,
        anchors: Tensor | None = None,
        corrections: Tensor | None = None,
    ) -> Trained:
        """Carry out local steps, each of them a ``local_unit``, see ``Task.local_steps``."""
        indices, trained = to_numpy(clients), points.clone(memory_format=torch.contiguous_format)
        carried = None if buffers is None else buffers.clone(memory_format=torch.contiguous_format)
        if carried is None and descent.momentum:
            carried = torch.zeros_like(trained)
        centres = (points if anchors is None else anchors) if descent.proximal else None
        schedule = self._schedule(indices, descent, generator)
        work_of = self._work(indices, schedule, generator, descent)

        def train(chunk: Chunk) -> None:
            rows = chunk.rows
            start, buffer, anchor, correction = (
                None if vectors is None else vectors[rows]
                for vectors in (trained, carried, centres, corrections)
            )
            assert start is not None
            self.chosen_engine.train(start, buffer, anchor, correction, work_of(chunk))
            if not isinstance(rows, slice):  # copies, not views
                trained[rows] = start
                if carried is not None and buffer is not None:
                    carried[rows] = buffer

        self._run(indices, train, steps=schedule.steps)
        return Trained(trained, carried, points.new_tensor(schedule.steps)[:, None])

    def local_sums(
        self,
        models: Tensor,
        clients: Tensor,
        assignments: Tensor,
        generator: np.random.Generator,
        descent: Descent,
        *,
        buffers: Tensor | None = None,
        weights: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Train and sum over clusters without storing every participant's model, see ``Task.local_sums``."""
        indices = to_numpy(clients)
        sums = torch.zeros_like(models, memory_format=torch.contiguous_format)
        buffer_sums = torch.zeros_like(sums) if buffers is not None or descent.momentum else None
        schedule = self._schedule(indices, descent, generator)
        work_of = self._work(indices, schedule, generator, descent)

        def train(chunk: Chunk) -> ClusterSums:
            factors = None if weights is None else weights[chunk.index]
            return self.chosen_engine.train_clusters(
                models, buffers, assignments[chunk.index], factors, work_of(chunk)
            )

        def add(_: Chunk, cluster_sums: ClusterSums) -> None:
            for cluster, (point_sum, buffer_sum) in cluster_sums.items():
                sums[cluster].add_(point_sum)
                if buffer_sums is not None and buffer_sum is not None:
                    buffer_sums[cluster].add_(buffer_sum)

        self._run(indices, train, add, steps=schedule.steps, models=len(models))
        return sums, buffer_sums

    def _schedule(self, clients: np.ndarray, descent: Descent, generator: np.random.Generator) -> Schedule:
        """Draw the mini-batches of clients (k,); none if a step takes all data."""
        sizes, steps = self.client_samples[clients], descent.steps
        steps = np.full(len(clients), steps) if isinstance(steps, int) else to_numpy(steps)[..., 0]
        if descent.reshuffled:
            return Schedule.draw(sizes, 1, steps, "epoch", generator)
        if self._full_batch:
            return Schedule(sizes, self._batch_size, steps, None)
        return Schedule.draw(sizes, self._batch_size, steps, self.local_unit, generator)

    def _batches(self, clients: np.ndarray, generator: np.random.Generator) -> Callable[[Chunk], Batch]:
        """Draw a batch for each of clients (k,), and return the function that gives those of a chunk.

        Raises
        ------
        InvalidArgument
            If a local step is a pass over mini-batches.
        """
        sizes = self.client_samples[clients]
        if self._full_batch:
            schedule = Schedule(sizes, self._batch_size, np.ones_like(sizes), None)
        elif self.local_unit == "epoch":
            rule = "is a pass over a client's data, and the algorithm asks for single gradients"
            raise InvalidArgument("local_unit", self.local_unit, rule, "use 'step'")
        else:
            schedule = Schedule.independent(sizes, self._batch_size, 1, generator)
        work_of = self._work(clients, schedule, generator, Descent(0.0))
        return lambda chunk: next(work_of(chunk).batches())

    def _work(
        self, clients: np.ndarray, schedule: Schedule, generator: np.random.Generator, descent: Descent
    ) -> Callable[[Chunk], LocalWork]:
        """Draw distortions for clients (k,), and return the function that makes the work of a chunk of them."""
        distortions = None
        if self.preprocessing.random:
            steps, indices = int(schedule.steps.max(initial=0)), torch.from_numpy(clients)
            distortions = draw_distortions(self.preprocessing, indices, steps, self._batch_size, generator)
        return lambda chunk: LocalWork(
            descent=descent,
            data=self._train,
            clients=clients[chunk.positions],
            width=chunk.width,
            schedule=schedule,
            rows=chunk.positions,
            distortions=distortions,
        )
