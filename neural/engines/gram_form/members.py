"""Clients of a chunk, put together by the cluster whose model they train."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from clusterproof.neural.engines.clusters import Share, memberships
from clusterproof.neural.engines.samples import Samples


@dataclass(frozen=True, eq=False)
class Members:
    """Clients of one cluster in a chunk.

    Attributes
    ----------
    cluster
        Which.
    rows
        Their places in the chunk, (r,); all on a GPU, where the factors tell members from others.
    samples
        Theirs; those of all on a GPU.
    factors
        Of each in the sum of the cluster, (r,); ones where None.
    size
        Sum of the factors.
    """

    cluster: int
    rows: Tensor
    samples: Samples
    factors: Tensor | None
    size: Share

    def values(self, weight: Tensor, bias: Tensor) -> Tensor:
        """What a layer of their cluster, (h, in) and (h,), gives on their samples: (h, r, n)."""
        return self.samples.values(weight[None], bias[None])[0]

    def coefficients(self, everybody: Tensor) -> Tensor:
        """Their own of coefficients (k, h, n), times the factors: (h, r n)."""
        if everybody.device.type == "cuda":
            own = everybody.transpose(0, 1).index_select(1, self.rows).flatten(1)
        else:  # picking rows of a transposed tensor takes a CPU twice as long
            own = torch.cat([everybody[row] for row in self.rows.tolist()], dim=1)
        if self.factors is not None:
            own.view(len(own), len(self.rows), -1).mul_(self.factors[:, None])
        return own

    def tails(self, everybody: Tensor) -> Tensor:
        """Sum of their own of vectors (k, e), times the factors: (e,)."""
        own = everybody.index_select(0, self.rows)
        return (own if self.factors is None else own.mul_(self.factors[:, None])).sum(0)


def by_cluster(
    assigned: Tensor, samples: Samples, weights: Tensor | None, clusters: int, *, like: Tensor
) -> list[Members]:
    """Put clients with assignments (k,), samples and weights (k,) together; factors are of the type of ``like``."""
    if assigned.device.type == "cuda":
        everybody = torch.arange(len(assigned), device=assigned.device)
        factors = memberships(assigned, clusters, weights, like=like)
        return [Members(index, everybody, samples, own, own.sum()) for index, own in enumerate(factors)]
    found = []
    for cluster in sorted(set(assigned.tolist())):
        rows = torch.nonzero(assigned == cluster)[:, 0]
        own = None if weights is None else weights[rows]
        size = float(len(rows) if own is None else own.sum())
        data = samples if len(rows) == len(assigned) else samples.of(rows)
        found.append(Members(cluster, rows, data, own, size))
    return found
