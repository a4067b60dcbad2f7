"""What every engine answers, for a chunk of clients that fits into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clusterproof.algorithms.arrays import rows
from clusterproof.neural.engines.clusters import ClusterStart, ClusterSums, ReplicateSums, memberships
from clusterproof.neural.engines.data import Batch, ClientData, Ids, mean_weights
from clusterproof.neural.engines.dense import cross_entropies
from clusterproof.neural.engines.draws.padded_schedule import Ends, PaddedSchedule
from clusterproof.neural.engines.draws.schedule import Schedule
from clusterproof.neural.networks import Network


@dataclass(frozen=True, eq=False)
class Selection:
    """Samples that a local step uses.

    Attributes
    ----------
    clients
        How many clients take the step, the leading ones.
    samples
        Which of each client's samples, (clients, b), padded with 0; all of them where None.
    counts
        How many of them are real, (clients,).
    """

    clients: int
    samples: Ids | None
    counts: Ids

    def columns(self, values: Tensor) -> Tensor:
        """Columns (clients, r, b) of values (k, r, n)."""
        values = values[: self.clients]
        return values if self.samples is None else values.gather(2, self._index(values))

    def columns_of_symmetric(self, values: Tensor) -> Tensor:
        """Columns (clients, n, b) of symmetric matrices (k, n, n), taken as rows, which lie in one piece."""
        values = values[: self.clients]
        if self.samples is None:
            return values
        samples = self._samples(values)
        return values[torch.arange(self.clients, device=values.device)[:, None], samples].mT

    def add(self, values: Tensor, moved: Tensor, scale: float) -> None:
        """Add scale times (clients, r, b) to the columns of values (clients, r, n), in place."""
        if self.samples is None:
            values.add_(moved, alpha=scale)
        else:
            values.scatter_add_(2, self._index(values), moved * scale)

    def of(self, everything: Batch) -> Batch:
        """The step's part of all data of the clients, without the images."""
        if self.samples is None:
            return everything
        targets = everything.targets[: self.clients]
        index = self._samples(targets)
        weights = mean_weights(self.counts, self.samples.shape[1], everything.weights)
        return Batch(lambda: everything.images[:, :0], targets.gather(1, index), weights)

    def _samples(self, like: Tensor) -> Tensor:
        assert self.samples is not None
        if isinstance(self.samples, Tensor):
            return self.samples
        return torch.from_numpy(self.samples).to(like.device)

    def _index(self, values: Tensor) -> Tensor:
        samples = self._samples(values)
        return samples[:, None, :].expand(-1, values.shape[1], -1)


@dataclass(frozen=True, eq=False)
class LocalWork:
    """Local training that k clients are to do.

    Attributes
    ----------
    step_size, momentum, proximal
        Of u <- momentum u + gradient + proximal (w - anchor), w <- w - step_size u.
    data, clients
        Whose data, and which clients (k,).
    width
        Number of samples that all their data are padded to.
    local_steps
        Steps on the full data, where there is no schedule.
    schedule, rows
        Mini-batches of the clients, and where they stand in it, (k,), those with more steps first.
    """

    step_size: float
    momentum: float
    proximal: float
    data: ClientData
    clients: Ids
    width: int
    local_steps: int
    schedule: Schedule | PaddedSchedule | None
    rows: np.ndarray

    def selections(self) -> Iterator[Selection]:
        """Samples of each step, of those clients that are not done yet."""
        if self.schedule is None:
            everything = Selection(len(self.clients), None, self.data.sizes_of(self.clients))
            for _ in range(self.local_steps):
                yield everything
            return
        steps = self.schedule.steps[self.rows]
        for step in range(int(steps.max(initial=0))):
            busy = int(np.count_nonzero(steps > step))
            yield Selection(busy, *self.schedule.batch(self.rows[:busy], step))

    def batches(self) -> Iterator[Batch]:
        """Data of each step, of those clients that are not done yet."""
        if self.schedule is None:
            batch = self.data.whole(self.clients, self.width)
            for _ in range(self.local_steps):
                yield batch
            return
        if isinstance(self.clients, Tensor):
            yield from self.schedule.batches_of(self.data, self.clients, self.rows)
            return
        for selection in self.selections():
            clients = self.clients[: selection.clients]
            assert selection.samples is not None
            yield self.data.chosen(clients, selection.samples, selection.counts)

    def ends(self, *moving: Tensor | None) -> Ends | None:
        """What brings clients, moving in place (k, ...), back to where each ended; None where all end together."""
        if not isinstance(self.schedule, PaddedSchedule):
            return None
        own_steps = self.schedule.own_steps_of(self.rows)
        return None if own_steps is None else Ends(own_steps, [one for one in moving if one is not None])

    def of(self, part: slice | np.ndarray) -> LocalWork:
        """Give the work of some of the clients."""
        return replace(self, clients=self.clients[part], rows=self.rows[part])

    def one(self, position: int) -> LocalWork:
        """Give the work of a single client, without padding where the host knows its size."""
        part = slice(position, position + 1)
        clients = self.clients[part]
        width = self.width if isinstance(clients, Tensor) else int(self.data.sizes_of(clients)[0])
        return replace(self, clients=clients, rows=self.rows[part], width=width)


@dataclass(frozen=True)
class Engine(ABC):
    """A way to compute losses, gradients and local training of many clients of one network.

    Parameters
    ----------
    network
        Which network.

    Notes
    -----
    Inputs are never written to, so that a call that ran out of memory can be made again.
    """

    name: ClassVar[str]
    """Name in configurations."""

    together: ClassVar[int] = 16
    """Clients whose results are added up in one go; more win nothing."""

    network: Network

    @property
    def row(self) -> int | None:
        """Numbers that a stored sample is to be filled up to, with a one and zeros; None where with none."""
        return None

    def scores(self, models: Tensor, batch: Batch) -> Tensor:
        """Scores of models (P, d) on each client's samples: (k, P, classes, b)."""
        return self.scores_of_all(models, batch.images)

    @property
    def lists(self) -> bool:
        """Whether it takes samples as lists of what is not 0."""
        return False

    @abstractmethod
    def scores_of_all(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of models (P, d) on each client's images (k, b, C, H, W): (k, P, classes, b)."""

    @abstractmethod
    def scores_of_each(self, points: Tensor, images: Tensor) -> Tensor:
        """Scores of a point (k, d) of each client on its images: (k, 1, classes, b)."""

    @abstractmethod
    def gradients(self, points: Tensor, batch: Batch, out: Tensor, losses: Tensor | None = None) -> None:
        """Gradients of the losses at points (k, d) into ``out`` (k, d), and the losses (k,) where asked for."""

    @abstractmethod
    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        work: LocalWork,
        out_points: Tensor,
        out_buffers: Tensor | None,
    ) -> None:
        """Train locally.

        Parameters
        ----------
        points, buffers, anchors
            Where the clients start, (k, d); buffers that are None start from zero.
        work
            What they are to do.
        out_points, out_buffers
            Where the results go, (k, d); None where momentum is 0 and nobody asks for buffers.
        """

    def meta_train(
        self, points: Tensor, inner_step_size: float, work: LocalWork, out: Tensor, *, second_order: bool
    ) -> None:
        """Train on the loss after a step of descent, see ``algorithms.MetaTrainingTask``; all (k, d).

        ``work`` has two steps for each local one, the batch of the descent and that of the gradient behind it, and
        with ``second_order`` a third, that of the Hessian.
        """
        out.copy_(points)
        slopes, ahead = torch.empty_like(out), torch.empty_like(out)
        batches = [work.batches()] * (3 if second_order else 2)
        for first, second, *third in zip(*batches, strict=True):  # one iterator: all batches of a step
            self.gradients(out, first, slopes)
            torch.sub(out, slopes, alpha=inner_step_size, out=ahead)
            self.gradients(ahead, second, slopes)
            for batch in third:
                slopes.sub_(self.hessian_products(out, slopes, batch), alpha=inner_step_size)
            out.sub_(slopes, alpha=work.step_size)

    def train_clusters(self, start: ClusterStart, work: LocalWork) -> ClusterSums:
        """Train locally from the clusters' models, after the clients have chosen theirs where they are to.

        All data of the clients must fit into the width that ``work`` pads them to.
        """
        if callable(start.assignments):
            batch = work.data.whole(work.clients, work.width)
            scores = self.scores(start.models, batch)
            assigned = start.assignments(cross_entropies(scores, batch.targets, batch.weights))
        else:
            assigned = start.assignments
        points = start.models[assigned]
        buffers = None if start.buffers is None else start.buffers[assigned]
        ends = torch.empty_like(points)
        own = torch.empty_like(points) if start.carries else None
        self.train(points, buffers, points if work.proximal else None, work, ends, own)
        if ends.device.type == "cuda":
            belongs = memberships(assigned, len(start.models), start.weights, like=ends)
            own_sums = [] if own is None else list(belongs @ own)
            return ClusterSums(assigned, list(range(len(belongs))), list(belongs @ ends), own_sums)
        for results in (ends, own):
            if results is not None and start.weights is not None:
                results.mul_(start.weights[:, None])
        return ClusterSums(assigned, assigned.tolist(), list(ends), [] if own is None else list(own))

    def train_replicates(self, start: ClusterStart, work: LocalWork) -> ReplicateSums:
        """Train as ``train_clusters``, R replicates at once, whose launches are those of one.

        No replicate's numbers enter another's, not even where they are not finite.

        Parameters
        ----------
        start
            What the participants start from: models (R, P, d), and so on.
        work
            What they are to do, (R k,), those of a replicate side by side.
        """
        replicates, clusters = start.models.shape[:2]
        if callable(start.assignments):
            batch = work.data.whole(work.clients, work.width)
            scores = self.scores_of_replicates(
                start.models, batch.images.view(replicates, -1, *batch.images.shape[1:])
            )
            losses = cross_entropies(scores.flatten(0, 1), batch.targets, batch.weights)
            assigned = start.assignments(losses.view(replicates, -1, clusters))
        else:
            assigned = start.assignments
        points = rows(start.models, assigned).flatten(0, 1)
        buffers = None if start.buffers is None else rows(start.buffers, assigned).flatten(0, 1)
        ends = torch.empty_like(points)
        own = torch.empty_like(points) if start.carries else None
        self.train(points, buffers, points if work.proximal else None, work, ends, own)
        belongs = memberships(assigned, clusters, start.weights, like=ends)
        shape = (replicates, -1, ends.shape[1])
        return ReplicateSums(
            assigned, belongs @ ends.view(shape), None if own is None else belongs @ own.view(shape)
        )

    def scores_of_replicates(self, models: Tensor, images: Tensor) -> Tensor:
        """Scores of models (R, P, d) on images (R, k, b, C, H, W) of their replicates: (R, k, P, classes, b)."""
        return torch.stack([self.scores_of_all(*one) for one in zip(models, images, strict=True)])

    @property
    def incomplete(self) -> int:
        """Leading entries of vectors in ``ClusterSums`` that lack their shares."""
        return 0

    def hessian_products(self, points: Tensor, directions: Tensor, batch: Batch) -> Tensor:
        """Hessians of the clients' losses at points times directions, all (k, d)."""

        def along(point: Tensor, direction: Tensor, *samples: Tensor) -> Tensor:
            slope: Tensor = torch.func.grad(self.loss)(point, *samples)
            return slope @ direction

        if not self.network.vectorises:
            own = (points, directions, batch.images, batch.targets, batch.weights)
            return torch.stack([torch.func.grad(along)(*one) for one in zip(*own, strict=True)])
        # backward twice: forward over backward asks for rules that torch still compiles in a deprecated way
        products: Tensor = torch.func.vmap(torch.func.grad(along))(
            points, directions, batch.images, batch.targets, batch.weights
        )
        return products

    def loss(self, point: Tensor, images: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Weighted cross-entropy of one model (d,) on images (b, C, H, W)."""
        scores = self.network.function(self.network.views(point), images)
        found: Tensor = weighted_loss(scores, targets, weights)
        return found


def weighted_loss(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross-entropy of scores (b, classes)."""
    each: Tensor = torch.nn.functional.cross_entropy(scores, targets, reduction="none")
    return (each * weights).sum()


def start_buffers(buffers: Tensor | None, out: Tensor) -> Tensor:
    """Write the buffers that local training starts with into ``out``."""
    return out.zero_() if buffers is None else out.copy_(buffers)


def descend(
    points: Tensor, buffers: Tensor | None, anchors: Tensor | None, gradients: Tensor, work: LocalWork
) -> None:
    """Take one local step in place, from gradients that may be overwritten; all (k, d)."""
    if anchors is not None and work.proximal:
        gradients.add_(points, alpha=work.proximal).sub_(anchors, alpha=work.proximal)
    direction = gradients if buffers is None else buffers.mul_(work.momentum).add_(gradients)
    points.sub_(direction, alpha=work.step_size)
