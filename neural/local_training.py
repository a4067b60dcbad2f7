"""Local training of clients with images: of each client, and summed over clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.engines.base import ClusterStart, ClusterSum, LocalWork
from clusterproof.neural.engines.chunks import Chunk
from clusterproof.neural.engines.sampling import Schedule
from clusterproof.neural.image_clients import ImageClients


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalTraining(ImageClients):
    """Clients with images that train locally; arguments as ``ImageClients``.

    Implements ``algorithms.LocalTrainingTask``, ``MetaTrainingTask`` and ``ClusterTrainingTask``.
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
        """Train every participant, see ``algorithms.LocalTrainingTask``."""
        schedule = self._schedule(self._flatten(points, clients)[1], local_steps, generator)
        motion = {"step_size": step_size, "momentum": momentum, "proximal": proximal}
        return self._train_locally(
            points, buffers, anchors, clients, schedule, local_steps, generator, **motion
        )

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
        sizes = self.client_samples[self._flatten(points, clients)[1]]
        schedule = Schedule.draw(sizes, 1, passes, "epoch", generator)
        motion = {"step_size": step_size, "momentum": 0.0, "proximal": 0.0}
        return self._train_locally(points, None, None, clients, schedule, passes, generator, **motion)[0]

    def _train_locally(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        clients: Tensor,
        schedule: Schedule | None,
        local_steps: int,
        generator: np.random.Generator,
        **motion: float,
    ) -> tuple[Tensor, Tensor | None]:
        """Train every participant on the mini-batches of a schedule, or on all of its data if None."""
        flat, indices = self._flatten(points, clients)
        trained = flat.clone(memory_format=torch.contiguous_format)
        anchors = None if anchors is None else anchors.expand(points.shape).reshape(flat.shape)
        carried = torch.zeros_like(trained) if motion["momentum"] or buffers is not None else None
        if carried is not None and buffers is not None:
            carried.view(points.shape).copy_(buffers)
        steps = np.full(len(indices), local_steps) if schedule is None else schedule.steps
        work_of = self._work(indices, schedule, steps, generator, **motion)

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

        self._run(indices, train, steps=steps)
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
        flat, indices = self._flatten(points, clients)
        trained = torch.empty_like(flat, memory_format=torch.contiguous_format)
        count = (3 if second_order else 2) * local_steps
        schedule = None if self._full_batch else self._independent(indices, count, generator)
        steps = np.full(len(indices), count)
        work_of = self._work(
            indices, schedule, steps, generator, step_size=step_size, momentum=0.0, proximal=0.0
        )

        def train(chunk: Chunk) -> None:
            rows = torch.from_numpy(chunk.positions)
            trained[rows] = self.chosen_engine.meta_train(
                flat[rows], inner_step_size, work_of(chunk), second_order=second_order
            )

        self._run(indices, train)
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
        """Train and sum over clusters, see ``algorithms.ClusterTrainingTask``; losses are of all data."""
        lead, models, indices = self._expand(models, clients)
        buffers = None if buffers is None else buffers.expand(models.shape)
        rule = assignments if callable(assignments) else None
        chosen = torch.empty(indices.shape, dtype=torch.int64, device=models.device)
        if not callable(assignments):
            chosen[...] = assignments
        factors = None if weights is None else weights.expand(chosen.shape)
        sums = torch.zeros_like(models, memory_format=torch.contiguous_format)
        buffer_sums = torch.zeros_like(sums) if buffers is not None or momentum else None
        flat = indices.reshape(-1)
        schedule = self._schedule(flat, local_steps, generator)
        steps = np.full(len(flat), local_steps) if schedule is None else schedule.steps
        work_of = self._work(
            flat, schedule, steps, generator, step_size=step_size, momentum=momentum, proximal=proximal
        )
        for replicate, at in enumerate(np.ndindex(*lead)):
            first = replicate * indices.shape[-1]

            def train(
                chunk: Chunk, at: tuple[int, ...] = at, first: int = first
            ) -> tuple[Tensor, list[ClusterSum]]:
                rows = torch.from_numpy(chunk.positions)
                start = ClusterStart(
                    models[at],
                    None if buffers is None else buffers[at],
                    chosen[at][rows] if rule is None else rule,
                    None if factors is None else factors[at][rows],
                )
                return self.chosen_engine.train_clusters(start, work_of(chunk, first))

            def add(chunk: Chunk, result: tuple[Tensor, list[ClusterSum]], at: tuple[int, ...] = at) -> None:
                chosen[at][torch.from_numpy(chunk.positions)], cluster_sums = result
                for cluster_sum in cluster_sums:
                    sums[(*at, cluster_sum.cluster)].add_(cluster_sum.points)
                    if buffer_sums is not None and cluster_sum.buffers is not None:
                        buffer_sums[(*at, cluster_sum.cluster)].add_(cluster_sum.buffers)

            part = slice(first, first + indices.shape[-1])
            self._run(flat[part], train, add, steps=steps[part], models=models.shape[-2])
        return chosen, sums, buffer_sums

    def _schedule(
        self, clients: np.ndarray, local_steps: int, generator: np.random.Generator
    ) -> Schedule | None:
        """Draw the mini-batches of clients (k,); None if a step takes all data."""
        if self._full_batch:
            return None
        sizes = self.client_samples[clients]
        return Schedule.draw(sizes, self._batch_size, local_steps, self.local_unit, generator)

    def _work(
        self,
        clients: np.ndarray,
        schedule: Schedule | None,
        steps: np.ndarray,
        generator: np.random.Generator,
        **motion: Any,
    ) -> Callable[..., LocalWork]:
        """Draw distortions for clients (k,), and return the function that makes the work of a chunk of them."""
        distortions = self._distortions(clients, int(steps.max(initial=0)), generator)

        def work_of(chunk: Chunk, first: int = 0) -> LocalWork:
            rows = first + chunk.positions
            return LocalWork(
                **motion,
                data=self._train,
                clients=clients[rows],
                width=chunk.width,
                steps=int(steps[rows[0]]),
                schedule=schedule,
                rows=rows,
                distortions=distortions,
            )

        return work_of
