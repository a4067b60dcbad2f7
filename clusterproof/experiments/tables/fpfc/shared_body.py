"""FPFC as its published code has it on images: the last layer is fused, everything below is averaged."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from clusterproof.algorithms import FPFC, Randomness, Task
from clusterproof.algorithms.arrays import Array, array_namespace, replace_rows, rows
from clusterproof.algorithms.finiteness import check_finite
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.algorithms.participation import draw_participants

if TYPE_CHECKING:
    from clusterproof.neural.task import ImageTask


@dataclass(frozen=True, kw_only=True)
class SharedBodyFPFC(FPFC):
    """FPFC of the last ``d - body`` coordinates; the participants' others are averaged, whatever their cluster.

    Parameters
    ----------
    body
        Number of leading coordinates that are averaged: all layers but the last.

    Notes
    -----
    Read in the authors' code for MNIST and Fashion-MNIST, not in the paper, whose Algorithm 1 fuses
    whole models. Who is absent keeps the body it had. A local step is one gradient on one batch.
    """

    body: int

    @classmethod
    def of(cls, algorithm: FPFC, task: ImageTask) -> SharedBodyFPFC:
        """Take the parameters of FPFC, with passes over the data turned into as many steps on average."""
        parameters = {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}
        batches = 1 if task.batch_size is None else task.partition.train.sizes.mean() / task.batch_size
        parameters["local_steps"] = max(1, round(algorithm.local_steps * batches))
        head = sum(shape.numel() for shape in list(task.network.shapes.values())[-2:])
        return cls(**parameters, body=task.dimension - head)

    def step(self, state: FusionState, task: Task, randomness: Randomness) -> FusionState:
        """Carry out one round."""
        models = state.models
        xp = array_namespace(models)
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        heads = replace(state, models=models[..., self.body :])
        anchors = self.anchors(heads, clients)
        points = rows(models, clients)
        for _ in range(self.local_steps):
            gradients = task.gradients(points, clients, randomness.gradient)
            pull = self.augmentation * (points[..., self.body :] - anchors)
            gradients = xp.concat([gradients[..., : self.body], gradients[..., self.body :] + pull], axis=-1)
            points = points - self.step_size * gradients
        check_finite(points, clients, self.step_size)
        updated = self.update(heads, clients, points[..., self.body :])
        body = xp.mean(points[..., : self.body], axis=-2, keepdims=True)
        body = xp.broadcast_to(body, (*points.shape[:-1], self.body))
        joined = xp.concat([body, points[..., self.body :]], axis=-1)
        return replace(updated, models=replace_rows(models, clients, joined))

    def initialise(self, models: Array, task: Task) -> FusionState:
        """Start with all clients at the given model (..., 1, d)."""
        whole = super().initialise(models, task)
        heads = super().initialise(models[..., self.body :], task)
        return replace(heads, models=whole.models)
