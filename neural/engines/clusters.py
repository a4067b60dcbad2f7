"""What a round of local training starts from and gives, where participants share models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from clusterproof.neural.engines.chunks import Block

Share: TypeAlias = float | Tensor
"""A number, or a tensor () of a device that the host does not wait for."""


@dataclass(frozen=True, eq=False)
class ClusterStart:
    """Server models that k participants start from; for ``Engine.train_replicates`` all with a first axis R.

    Attributes
    ----------
    models, buffers
        (P, d); participants start without momentum where ``buffers`` is None.
    assignments
        Cluster of each participant, (k,), or the rule that makes them of losses (k, P).
    weights
        Factors in the sums, (k,); ones where None.
    carries
        Whether sums of buffers are asked for.
    """

    models: Tensor
    buffers: Tensor | None
    assignments: Tensor | Callable[[Tensor], Tensor]
    weights: Tensor | None
    carries: bool

    def of(self, rows: slice | np.ndarray) -> ClusterStart:
        """The same of some of the participants."""
        given = self.assignments
        return replace(
            self,
            assignments=given if callable(given) else given[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def of_block(self, block: Block) -> ClusterStart:
        """The same of some replicates, or of some participants of one."""
        given, here = self.assignments, (block.replicates, block.columns)
        return replace(
            self,
            models=self.models[block.replicates],
            buffers=None if self.buffers is None else self.buffers[block.replicates],
            assignments=given if callable(given) else given[here],
            weights=None if self.weights is None else self.weights[here],
        )


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """What a chunk of participants adds to the sums of their clusters.

    Attributes
    ----------
    assignments
        Cluster of each participant, (k,).
    clusters
        Which of the sums each vector belongs to; a cluster may have more than one, or none.
    points, buffers
        The vectors, (d,) each; no buffers where nobody asked for them.
    of_points, of_buffers
        How much of its cluster's model and of its buffer each vector lacks yet in its leading entries, pairs
        of numbers; none where it is complete. As they are the same for all chunks of a cluster but for a
        factor, they are added at the end.
    """

    assignments: Tensor
    clusters: list[int]
    points: Sequence[Tensor]
    buffers: Sequence[Tensor]
    of_points: Sequence[tuple[Share, Share]] = ()
    of_buffers: Sequence[tuple[Share, Share]] = ()


@dataclass(frozen=True, eq=False)
class ReplicateSums:
    """The same of participants of R replicates at once.

    Attributes
    ----------
    assignments
        Cluster of each participant, (R, k).
    points, buffers
        Sums over each cluster, (R, P, d); no buffers where nobody asked for them.
    """

    assignments: Tensor
    points: Tensor
    buffers: Tensor | None


@dataclass(frozen=True, eq=False)
class ClusterTotals:
    """Sums over all participants, chunk by chunk.

    Attributes
    ----------
    start
        Of all participants.
    points, buffers
        Sums (P, d), zero at first; None for buffers that nobody asked for.
    """

    start: ClusterStart
    points: Tensor
    buffers: Tensor | None
    _shares: dict[tuple[bool, int], tuple[Share, Share]] = field(default_factory=dict, init=False)

    def add(self, found: ClusterSums) -> None:
        """Add what a chunk gives."""
        parts = (
            (self.points, found.points, found.of_points),
            (self.buffers, found.buffers, found.of_buffers),
        )
        for index, (sums, vectors, shares) in enumerate(parts):
            if sums is None:
                continue
            for cluster, vector in zip(found.clusters, vectors, strict=True):
                sums[cluster].add_(vector)
            for cluster, share in zip(found.clusters, shares, strict=False):
                key = (bool(index), cluster)
                known = self._shares.get(key, (0.0, 0.0))
                self._shares[key] = (known[0] + share[0], known[1] + share[1])

    def complete(self, size: int) -> None:
        """Add the shares of models and buffers to the first ``size`` entries of the sums."""
        for (of_buffers, cluster), shares in self._shares.items():
            sums = self.buffers if of_buffers else self.points
            for share, vectors in zip(shares, (self.start.models, self.start.buffers), strict=True):
                if vectors is None or sums is None:
                    continue
                if isinstance(share, Tensor):
                    sums[cluster, :size].add_(vectors[cluster, :size] * share)
                elif share:
                    sums[cluster, :size].add_(vectors[cluster, :size], alpha=share)


def memberships(assigned: Tensor, clusters: int, weights: Tensor | None, *, like: Tensor) -> Tensor:
    """Factor of each participant in each cluster's sum, (..., P, k), of the type of ``like``.

    A product with it takes as long as any, but asks the host for nothing, as picking out members would.
    """
    numbers = torch.arange(clusters, device=like.device)[:, None]
    belongs = (assigned[..., None, :] == numbers).to(like.dtype)
    return belongs if weights is None else belongs * weights[..., None, :]
