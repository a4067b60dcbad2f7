"""Local training of perceptrons on the clients' Gram matrices, exactly; see ``gram_steps``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import ClassVar

import torch
from torch import Tensor

from clusterproof.neural.engines import dense
from clusterproof.neural.engines.batched import DenseEngine
from clusterproof.neural.engines.clusters import ClusterStart, ClusterSums
from clusterproof.neural.engines.data import Batch, Ids
from clusterproof.neural.engines.engine import LocalWork, start_buffers
from clusterproof.neural.engines.gram_form.gram_steps import FirstLayer, LaterLayers, Shares, walk
from clusterproof.neural.engines.gram_form.members import Members, by_cluster
from clusterproof.neural.engines.perceptrons import PerceptronEngine
from clusterproof.neural.engines.products import multiply
from clusterproof.neural.engines.samples import Samples

STORED_BYTES = 2**30
"""Gram matrices are kept from round to round up to this size, and formed anew beyond it."""


@dataclass
class GramMatrices:
    """X X' + 1 of clients, the ones for the bias, as many as fit."""

    stored: dict[tuple[int, int], Tensor] = field(default_factory=dict)
    size: int = 0
    lock: Lock = field(default_factory=Lock)
    """Threads with other clients store theirs at the same time."""

    def __reduce__(self) -> tuple[type[GramMatrices], tuple[()]]:
        """Copy, and store on disk, as one that is empty: a lock is its process's own."""
        return GramMatrices, ()

    def of(self, clients: Ids, width: int, all_features: Callable[[], Tensor]) -> Tensor:
        """Gram matrices (k, n, n) of clients (k,) padded to a width, whose data (k, n, in) are asked for if needed.

        They are formed of all numbers of a sample: their bits must not hang on who else takes part.
        """
        if isinstance(clients, Tensor):  # whose numbers the host does not know, and a GPU forms them at once
            features = all_features()
            return multiply(features, features.mT).add_(1)
        keys = [(int(client), width) for client in clients]
        found = [self.stored.get(key) for key in keys]
        missing = [place for place, matrix in enumerate(found) if matrix is None]
        if missing:
            features = all_features()[missing]
            formed = multiply(features, features.mT).add_(1)
            with self.lock:
                for place, matrix in zip(missing, formed, strict=True):
                    found[place] = matrix
                    if self.size + matrix.nbytes <= STORED_BYTES:
                        self.stored[keys[place]] = matrix
                        self.size += matrix.nbytes
        return torch.stack([matrix for matrix in found if matrix is not None])


@dataclass(frozen=True)
class GramEngine(DenseEngine):
    """Perceptrons whose clients have fewer samples than a sample has numbers, or not many more."""

    name: ClassVar[str] = "gram"

    matrices: GramMatrices = field(default_factory=GramMatrices, repr=False, compare=False)

    def train(
        self,
        points: Tensor,
        buffers: Tensor | None,
        anchors: Tensor | None,
        work: LocalWork,
        out_points: Tensor,
        out_buffers: Tensor | None,
    ) -> None:
        """Train locally, see ``Engine.train``."""
        pulled = anchors if work.proximal else None
        ends = self.network.layout[1].offset + self.network.layout[1].size
        out_points[:, ends:] = points[:, ends:]
        if out_buffers is not None:
            start_buffers(None if buffers is None else buffers[:, ends:], out_buffers[:, ends:])
        tails = (None if one is None else one[:, ends:] for one in (out_buffers, pulled))
        later = LaterLayers.make(self.network, out_points[:, ends:], *tails)

        everything = work.data.whole(work.clients, work.width)
        features = everything.features
        start = dense.first_values(self.network.layers(points), features)
        carried = self._first_values(buffers, features)
        target = start if pulled is points else self._first_values(pulled, features)
        for arrived in walk(
            FirstLayer(start, carried, target),
            later,
            everything,
            self.matrices.of(work.clients, features.shape[1], lambda: features),
            work,
            carries=out_buffers is not None,
        ):
            done = arrived.clients
            vectors = [None if one is None else one[done] for one in (points, buffers, pulled)]
            self._assemble(arrived.moves, arrived.place, features[done], vectors, out_points[done])
            if arrived.rates is not None and out_buffers is not None:
                self._assemble(arrived.rates, arrived.speed, features[done], vectors, out_buffers[done])

    def meta_train(
        self, points: Tensor, inner_step_size: float, work: LocalWork, out: Tensor, *, second_order: bool
    ) -> None:
        """Train on the loss after a step of descent: on a GPU, which waits for launches, in packed order."""
        if points.device.type == "cuda":
            PerceptronEngine(self.network).meta_train(
                points, inner_step_size, work, out, second_order=second_order
            )
        else:
            super().meta_train(points, inner_step_size, work, out, second_order=second_order)

    def train_clusters(self, start: ClusterStart, work: LocalWork) -> ClusterSums:
        """Train from the clusters' models, see ``Engine.train_clusters``.

        The first layer of a client is never put together: a cluster's sum is one product of all its members'
        coefficients and samples, plus the members' shares of its model and buffer.
        """
        network = self.network
        everything = work.data.whole(work.clients, work.width)
        samples = self.samples(everything)
        assigned, begun = self._choose(start, everything, samples)
        count, models = len(start.models), start.models
        groups = by_cluster(assigned, samples, start.weights, count, like=models)
        if begun is None:
            begun = self._of_members(groups, models, samples, assigned)
        carried = None
        if start.buffers is not None:
            carried = self._of_members(groups, start.buffers, samples, assigned)
        tails = start.models[:, network.first_size :][assigned]
        pulls = tails.clone() if work.proximal else None
        speeds = None
        if start.carries:
            speeds = (
                start.buffers[:, network.first_size :][assigned]
                if start.buffers is not None
                else torch.zeros_like(tails)
            )
        points: list[Tensor] = []
        buffers: list[Tensor] = []
        clusters, of_points, of_buffers = [], [], []
        for arrived in walk(
            FirstLayer(begun, carried, begun if work.proximal else None),
            LaterLayers.make(network, tails, speeds, pulls),
            everything,
            self.matrices.of(work.clients, everything.targets.shape[1], lambda: everything.features),
            work,
            carries=start.carries,
        ):
            done = arrived.clients
            if done != slice(0, len(assigned)):
                weights = None if start.weights is None else start.weights[done]
                some = torch.arange(done.start, done.stop, device=models.device)
                groups = by_cluster(assigned[done], samples.of(some), weights, count, like=models)
            for group in groups:
                clusters.append(group.cluster)
                points.append(self._sum(group, arrived.moves, tails[done]))
                of_points.append(arrived.place.times(group.size))
                if arrived.rates is not None and speeds is not None:
                    buffers.append(self._sum(group, arrived.rates, speeds[done]))
                    of_buffers.append(arrived.speed.times(group.size))
        return ClusterSums(assigned, clusters, points, buffers, of_points, of_buffers)

    @property
    def incomplete(self) -> int:
        """Leading entries of vectors in ``ClusterSums`` that lack their shares: the first layer."""
        return self.network.first_size

    def _choose(
        self, start: ClusterStart, everything: Batch, samples: Samples
    ) -> tuple[Tensor, Tensor | None]:
        """Assignments (k,), and what the chosen first layers give (k, h, n) where all models are asked."""
        if not callable(start.assignments):
            return start.assignments, None
        layers = self.network.layers(start.models)
        first = samples.values(*layers[0])
        scores = self.scores_behind(layers[1:], first.clamp_min(0) if layers[1:] else first)
        assigned = start.assignments(dense.cross_entropies(scores, everything.targets, everything.weights))
        return assigned, _chosen(first, assigned)

    def _of_members(
        self, groups: list[Members], vectors: Tensor, samples: Samples, assigned: Tensor
    ) -> Tensor:
        """What the first layers of the clusters' vectors (P, d) give on their members' samples, (k, h, n)."""
        weights, biases = self.network.layers(vectors)[0]
        if vectors.device.type == "cuda":
            return _chosen(samples.values(weights, biases), assigned)
        found: Tensor | None = None
        for group in groups:
            own = group.values(weights[group.cluster], biases[group.cluster])
            if found is None:
                found = own.new_empty(len(assigned), len(own), own.shape[2])
            for place, row in enumerate(group.rows.tolist()):
                found[row].copy_(own[:, place])
        assert found is not None
        return found

    def _sum(self, group: Members, coefficients: Tensor, tails: Tensor) -> Tensor:
        """Sum (d,) of members' vectors, from coefficients (k, h, n) and later layers (k, d - d_1) of a chunk.

        In the first layer it lacks what the vectors contain of their cluster's.
        """
        own = group.coefficients(coefficients)
        total = tails.new_empty(self.network.dimension)
        weight, bias = self.network.layers(total)[0]
        group.samples.combine(own, weight)
        bias.copy_(own.sum(1))
        total[self.network.first_size :] = group.tails(tails)
        return total

    def _first_values(self, vectors: Tensor | None, features: Tensor) -> Tensor | None:
        if vectors is None:
            return None
        return dense.first_values(self.network.layers(vectors), features)

    def _assemble(
        self,
        coefficients: Tensor,
        shares: Shares,
        features: Tensor,
        vectors: list[Tensor | None],
        out: Tensor,
    ) -> None:
        """Put the first layer together from coefficients (k, h, n) in the samples and shares of vectors."""
        firsts = (None if one is None else self.network.layers(one)[0] for one in vectors)
        weights, biases = zip(*(layer or (None, None) for layer in firsts), strict=True)
        weight, bias = self.network.layers(out)[0]
        shares.of(multiply(coefficients, features, out=weight), *weights)
        bias.copy_(coefficients.sum(-1))
        shares.of(bias, *biases)


def _chosen(first: Tensor, assigned: Tensor) -> Tensor:
    """What a client's own cluster's layer gives, (k, h, n), of what those of all clusters give, (P, h, k, n)."""
    if first.device.type == "cpu":  # one pass, where an index and what makes it contiguous are two
        found = first.new_empty(first.shape[2], first.shape[1], first.shape[3])
        for client, cluster in enumerate(assigned.tolist()):
            found[client].copy_(first[cluster, :, client])
        return found
    clients = torch.arange(len(assigned), device=assigned.device)
    return first.permute(2, 0, 1, 3)[clients, assigned].contiguous()
